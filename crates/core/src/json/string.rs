//! JSON strings: undoing escapes and writing them.
//!
//! Decoding is lenient where a strict parser would refuse: an unknown escape stays as it is, and a lone
//! surrogate, which UTF-8 cannot hold, stays as its six characters. The same code reads Python's string
//! literals, whose escapes are a superset.

/// The longest escape: a surrogate pair. (Python's `\Uxxxxxxxx` is shorter.)
pub(crate) const LONGEST_ESCAPE: usize = 12;

/// Decodes the escape at the start of `rest` (which begins with a backslash) and returns its length.
pub(crate) fn decode_escape(rest: &[u8], out: &mut Vec<u8>) -> usize {
    let Some(&kind) = rest.get(1) else {
        out.push(b'\\');
        return 1;
    };
    let simple = match kind {
        b'"' | b'\\' | b'/' | b'\'' => kind,
        b'n' => b'\n',
        b't' => b'\t',
        b'r' => b'\r',
        b'b' => 0x08,
        b'f' => 0x0c,
        b'u' => return decode_unicode(rest, out),
        _ => {
            out.extend_from_slice(&rest[..2]);
            return 2;
        }
    };
    out.push(simple);
    2
}

fn decode_unicode(rest: &[u8], out: &mut Vec<u8>) -> usize {
    let Some(unit) = hex4(rest, 2) else {
        out.extend_from_slice(&rest[..2]);
        return 2;
    };
    if let Some(character) = char::from_u32(unit) {
        push_char(character, out);
        return 6;
    }
    if (0xd800..0xdc00).contains(&unit)
        && rest.get(6) == Some(&b'\\')
        && rest.get(7) == Some(&b'u')
        && let Some(low) = hex4(rest, 8).filter(|low| (0xdc00..0xe000).contains(low))
    {
        let code = 0x1_0000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
        if let Some(character) = char::from_u32(code) {
            push_char(character, out);
            return 12;
        }
    }
    out.extend_from_slice(&rest[..6]);
    6
}

fn hex4(rest: &[u8], at: usize) -> Option<u32> {
    let digits = rest.get(at..at + 4)?;
    digits.iter().try_fold(0, |value, &digit| Some(value << 4 | char::from(digit).to_digit(16)?))
}

fn push_char(character: char, out: &mut Vec<u8>) {
    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
}

/// Decodes the inside of a string literal.
pub(crate) fn decode(raw: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(raw.len());
    let mut used = 0;
    while let Some(run) = memchr::memchr(b'\\', &raw[used..]) {
        out.extend_from_slice(&raw[used..used + run]);
        used += run;
        used += decode_escape(&raw[used..], &mut out);
    }
    out.extend_from_slice(&raw[used..]);
    out
}

/// Decodes the inside of a string literal to text; bytes that are no UTF-8 become U+FFFD.
pub(crate) fn decode_text(raw: &[u8]) -> String {
    match String::from_utf8(decode(raw)) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    }
}

/// Appends a text as a JSON string with its quotes.
///
/// Non-ASCII characters stay as they are, except U+2028, U+2029 and U+0085, which some clients take for the end
/// of a line.
pub(crate) fn write(text: &str, out: &mut String) {
    out.push('"');
    write_inside(text, out);
    out.push('"');
}

/// Appends a text as the inside of a JSON string.
pub(crate) fn write_inside(text: &str, out: &mut String) {
    let mut plain_from = 0;
    for (at, character) in text.char_indices() {
        let escape = match character {
            '"' => "\\\"",
            '\\' => "\\\\",
            '\n' => "\\n",
            '\t' => "\\t",
            '\r' => "\\r",
            '\u{8}' => "\\b",
            '\u{c}' => "\\f",
            '\u{2028}' => "\\u2028",
            '\u{2029}' => "\\u2029",
            '\u{85}' => "\\u0085",
            control if control < ' ' => {
                out.push_str(&text[plain_from..at]);
                out.push_str(&format!("\\u{:04x}", control as u32));
                plain_from = at + 1;
                continue;
            }
            _ => continue,
        };
        out.push_str(&text[plain_from..at]);
        out.push_str(escape);
        plain_from = at + character.len_utf8();
    }
    out.push_str(&text[plain_from..]);
}

/// Appends a text as a JSON string with its quotes; characters a reader would not see become escapes.
pub(crate) fn write_visible(text: &str, out: &mut String) {
    let mut plain = String::new();
    out.push('"');
    for character in text.chars() {
        if crate::visible::is_hidden(character) {
            write_inside(&plain, out);
            plain.clear();
            push_escape(character, out);
        } else {
            plain.push(character);
        }
    }
    write_inside(&plain, out);
    out.push('"');
}

/// Appends a character as `\uXXXX`, beyond the basic plane as two of them.
pub(crate) fn push_escape(character: char, out: &mut String) {
    for unit in character.encode_utf16(&mut [0; 2]) {
        out.push_str(&format!("\\u{unit:04x}"));
    }
}

/// Returns how many bytes [`write_inside`] would append.
pub(crate) fn written_len(text: &str) -> usize {
    text.chars()
        .map(|character| match character {
            '"' | '\\' | '\n' | '\t' | '\r' | '\u{8}' | '\u{c}' => 2,
            '\u{2028}' | '\u{2029}' | '\u{85}' => 6,
            control if control < ' ' => 6,
            other => other.len_utf8(),
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_undone() {
        for (raw, text) in [
            (r#"a\"b\\c\/d"#, "a\"b\\c/d"),
            (r"\n\t\r\b\f", "\n\t\r\u{8}\u{c}"),
            (r"\u00e9\u4e2d\ud834\udd1e", "é中𝄞"),
            (r"lone \ud800 and \udada\n", "lone \\ud800 and \\udada\n"),
            (r"\ud800\u0041", "\\ud800A"),
            (r"odd \q \u12 \", "odd \\q \\u12 \\"),
        ] {
            assert_eq!(decode_text(raw.as_bytes()), text, "{raw}");
        }
    }

    #[test]
    fn writing_escapes_what_json_and_clients_need() {
        let mut out = String::new();
        write("é \"q\" \\ \n \u{1} \u{2028}", &mut out);
        assert_eq!(out, "\"é \\\"q\\\" \\\\ \\n \\u0001 \\u2028\"");
        assert_eq!(written_len("é \"q\" \\ \n \u{1} \u{2028}") + 2, out.len());
    }
}
