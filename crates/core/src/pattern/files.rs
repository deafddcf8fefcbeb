//! Several files in one text, as `read_multiple_files` tools return them: a line with the path and a colon, the
//! content, a line of dashes.
//!
//! Each file is a record with its path, its size and its content. Content that is JSON is read as data; any other is a
//! string.

use crate::json::value::{ReadLimits, Value};
use crate::json::{Dialect, Event, Scanner, StringToken, compact, string};
use crate::pattern::RecordLines;
use crate::profile::ProfileBuilder;
use crate::source::Span;
use crate::text::Text;

/// Returns whether a line separates two files.
pub(super) fn is_separator(line: &str) -> bool {
    line.trim_end() == "---"
}

/// Returns the path and the content of a file.
fn parts(raw: &RecordLines) -> (String, String) {
    let path = raw.lines.first().map_or("", |line| line.trim_end().trim_end_matches(':'));
    let mut content = raw.lines.get(1..).unwrap_or_default().join("\n");
    content.truncate(content.trim_end().len());
    (path.to_owned(), content)
}

pub(super) fn feed(raw: &RecordLines, at: u64, builder: &mut ProfileBuilder) {
    let (path, content) = parts(raw);
    builder.open(true, at);
    builder.key(&StringToken::unescaped("file"), at);
    builder.string(&StringToken::unescaped(&path), at);
    builder.key(&StringToken::unescaped("bytes"), at);
    builder.number(content.len().to_string().as_bytes(), at);
    builder.key(&StringToken::unescaped("content"), at);
    let source = content.as_bytes();
    let text = Text::plain(&source, Span::whole(&source));
    if is_json(&text) {
        // All values inside a file get the file's offset, because the file is read again as one record.
        let mut scanner = Scanner::new(&text, Dialect::Json);
        let _ = builder.scan_value_at(&mut scanner, at);
    } else {
        builder.string(&StringToken::unescaped(&content), at);
    }
    builder.close(at + raw.bytes);
}

/// Returns whether a text is strictly valid JSON, an array or an object: it is embedded in other JSON, which it must
/// not break.
fn is_json(text: &Text<'_>) -> bool {
    let mut scanner = Scanner::new(text, Dialect::Json);
    let container = matches!(scanner.next(), Ok(Event::StartObject | Event::StartArray));
    if !container {
        return false;
    }
    while scanner.depth() > 0 {
        let strict = match scanner.next() {
            Ok(Event::Number(raw)) => is_strict_number(raw),
            Ok(Event::String(token) | Event::Key(token)) => is_strict_string(token.raw),
            Ok(_) => true,
            Err(_) => false,
        };
        if !strict {
            return false;
        }
    }
    scanner.next().is_ok() && !scanner.begin_next().unwrap_or(true)
}

fn is_strict_number(raw: &[u8]) -> bool {
    let digits = |bytes: &[u8]| bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let unsigned = raw.strip_prefix(b"-").unwrap_or(raw);
    let whole = digits(unsigned);
    let mut rest = &unsigned[whole..];
    let leading_zero = whole > 1 && unsigned[0] == b'0';
    if let Some(fraction) = rest.strip_prefix(b".") {
        let length = digits(fraction);
        rest = &fraction[length..];
        if length == 0 {
            return false;
        }
    }
    if let Some((b'e' | b'E', exponent)) = rest.split_first() {
        let exponent = exponent.strip_prefix(b"+").or(exponent.strip_prefix(b"-")).unwrap_or(exponent);
        let length = digits(exponent);
        rest = &exponent[length..];
        if length == 0 {
            return false;
        }
    }
    whole > 0 && !leading_zero && rest.is_empty()
}

fn is_strict_string(raw: &[u8]) -> bool {
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'\\', &raw[at..]) {
        at += found + 1;
        at += match raw.get(at) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => 1,
            Some(b'u')
                if raw.get(at + 1..at + 5).is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit)) =>
            {
                5
            }
            _ => return false,
        };
    }
    std::str::from_utf8(raw).is_ok()
}

pub(super) fn json(raw: &RecordLines) -> String {
    let (path, content) = parts(raw);
    let source = content.as_bytes();
    let text = Text::plain(&source, Span::whole(&source));
    let mut out = String::from("{\"file\":");
    string::write_visible(&path, &mut out);
    out.push_str(&format!(",\"bytes\":{},\"content\":", content.len()));
    let parsed = is_json(&text)
        .then(|| compact::value(&mut Scanner::new(&text, Dialect::Json), Dialect::Json, usize::MAX).ok())
        .flatten()
        .filter(|compact| compact.whole);
    match parsed {
        Some(compact) => out.push_str(&compact.text),
        None => string::write_visible(&content, &mut out),
    }
    out.push('}');
    out
}

pub(super) fn object(raw: &RecordLines) -> Value {
    let (path, content) = parts(raw);
    let source = content.as_bytes();
    let text = Text::plain(&source, Span::whole(&source));
    let value = if is_json(&text) {
        Value::read(&mut Scanner::new(&text, Dialect::Json), ReadLimits::RECORD).unwrap_or(Value::Null)
    } else {
        Value::string(&content)
    };
    Value::object(vec![
        ("file".into(), Value::string(&path)),
        ("bytes".into(), Value::Number(content.len().to_string().into())),
        ("content".into(), value),
    ])
}
