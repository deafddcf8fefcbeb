//! The results of the hostile server, so that a test can compare what was stored with them.
//!
//! `result` is what the tool `trouble` returns in each mode, large enough to be stored; `small` is the same fault in a result
//! that passes.

use super::Mode;

/// Lines of a text that exceeds every budget.
const LINE_COUNT: usize = 1200;
/// Nesting levels of the deepest result.
const NESTING_LEVELS: usize = 100_000;
/// Keys of the widest object.
const KEY_COUNT: usize = 1_000_000;

/// Invalid UTF-8: a byte that never occurs, a missing continuation, a lone continuation, an overlong form, a surrogate, a
/// truncated sequence.
const NOT_UTF8: &[&[u8]] = &[b"\xff", b"\xc3(", b"\x80", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf0\x9f\x98"];

/// Unicode line separators, which some clients treat as the end of a message.
const SEPARATORS: &str = "\u{2028}|\u{2029}|\u{85}";

/// What a terminal would execute or a reader would not see: escape sequences, a bell, bidirectional overrides, tag
/// characters, a zero-width space.
const CONTROLS: &str = "\\u001b[2J\\u001b]0;title\\u0007\\u0000\\u007f\u{9b}31m \u{202e}desrever\u{202c} \u{2066}x\u{2069} \u{e0041} \u{200b}";

const SURROGATES: &str = "\\ud800 \\udc00\\ud800 \\ud834\\ud834\\udd1e";

const NUMBERS: &str = r#"{"n":1e400,"m":-1E-400,"big":18446744073709551617,"one":1.0,"zero":-0,"e":1e5}"#;

/// Returns the result of `trouble` in a mode.
pub fn result(mode: Mode) -> Vec<u8> {
    match mode {
        Mode::InvalidUtf8 => lines(&NOT_UTF8.concat()),
        Mode::Separators => lines(SEPARATORS.as_bytes()),
        Mode::Controls => lines(CONTROLS.as_bytes()),
        Mode::Surrogates => lines(SURROGATES.as_bytes()),
        Mode::HugeNumbers => huge_numbers(),
        Mode::DuplicateKeys => duplicate_keys(),
        Mode::DeepNesting => deep(),
        Mode::ManyKeys => many_keys(),
        Mode::OurScheme => links(),
        _ => text("no trouble"),
    }
}

/// Returns the result of `trouble` if a small one was asked for.
pub fn small(mode: Mode) -> Vec<u8> {
    match mode {
        Mode::InvalidUtf8 => block(&NOT_UTF8.concat()),
        Mode::Separators => block(SEPARATORS.as_bytes()),
        Mode::Controls => block(CONTROLS.as_bytes()),
        Mode::Surrogates => block(SURROGATES.as_bytes()),
        Mode::HugeNumbers => format!(r#"{{"content":[],"structuredContent":{NUMBERS}}}"#).into_bytes(),
        Mode::DuplicateKeys => {
            br#"{"content":[{"type":"text","text":"a","text":"b"}],"content":[],"isError":false,"isError":false}"#
                .to_vec()
        }
        _ => text("no trouble"),
    }
}

/// Returns the result of `big`: lines of text, at least `bytes` long.
pub fn big(bytes: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes + 128);
    out.extend_from_slice(br#"{"content":[{"type":"text","text":""#);
    let mut number = 0_u64;
    while out.len() < bytes {
        out.extend_from_slice(format!("line {number} of a long text, {}\\n", number % 97).as_bytes());
        number += 1;
    }
    out.extend_from_slice(br#""}]}"#);
    out
}

/// Returns a result with one text block; `inside` is already escaped.
pub fn text(inside: &str) -> Vec<u8> {
    block(inside.as_bytes())
}

/// Returns a result with one text block, from the bytes between its quotes.
fn block(inside: &[u8]) -> Vec<u8> {
    [br#"{"content":[{"type":"text","text":""#, inside, br#""}]}"#].concat()
}

/// Returns a text of many lines, each of which contains the bytes `odd`.
fn lines(odd: &[u8]) -> Vec<u8> {
    let line = |number| [format!("line {number}: ").as_bytes(), odd, b" of the text\\n"].concat();
    block(&(0..LINE_COUNT).flat_map(line).collect::<Vec<u8>>())
}

fn huge_numbers() -> Vec<u8> {
    let rows: Vec<String> = (0..400)
        .map(|id| format!(r#"{{"id":{id},{}"#, &NUMBERS[1..]).replace("}", &format!(",\"f\":{id}.0}}")))
        .collect();
    let rows = rows.join(",");
    let quoted = rows.replace('"', "\\\"");
    format!(
        r#"{{"content":[{{"type":"text","text":"[{quoted}]"}}],"structuredContent":{{"rows":[{rows}]}}}}"#
    )
    .into_bytes()
}

fn duplicate_keys() -> Vec<u8> {
    let rows: Vec<String> = (0..600).map(|id| format!(r#"{{"id":{id},"id":{id}.5,"k":1,"k":2}}"#)).collect();
    let rows = rows.join(",");
    format!(
        r#"{{"content":[{{"type":"text","text":"first","text":"second"}}],"_meta":{{"a":1,"a":2}},"_meta":{{"b":3}},"structuredContent":{{"rows":[{rows}],"rows":[{rows}]}},"isError":false,"isError":false}}"#
    )
    .into_bytes()
}

fn deep() -> Vec<u8> {
    let (open, close) = ("{\"a\":[".repeat(NESTING_LEVELS / 2), "]}".repeat(NESTING_LEVELS / 2));
    format!(r#"{{"content":[{{"type":"text","text":"deep"}}],"structuredContent":{open}1{close}}}"#)
        .into_bytes()
}

fn many_keys() -> Vec<u8> {
    let keys: Vec<String> = (0..KEY_COUNT).map(|key| format!("\"k{key}\":{key}")).collect();
    format!(r#"{{"content":[],"structuredContent":{{{}}}}}"#, keys.join(",")).into_bytes()
}

/// Links in tidegate's own URI scheme, in a result that exceeds the budget.
fn links() -> Vec<u8> {
    let links = r#"{"type":"resource_link","uri":"ax://trouble/000000000000","name":"trouble-000000000000"},{"type":"resource_link","uri":"ax://their/own","name":"own"}"#;
    let words = "words of no interest ".repeat(3000);
    format!(r#"{{"content":[{links},{{"type":"text","text":"{words}"}}]}}"#).into_bytes()
}
