//! Decodes and writes JSON strings.
//!
//! Decoding accepts what a strict parser would refuse: an unknown escape stays as it is, and a lone surrogate, which
//! UTF-8 cannot represent, stays as its six characters. The same code decodes Python's string literals.

use crate::quote;

/// The length of the longest escape, a surrogate pair. (Python's `\Uxxxxxxxx` is shorter.)
pub(crate) const MAX_ESCAPE_BYTES: usize = 12;

/// Decodes the inside of a string literal, appends it to `out` and returns how many raw bytes it used.
///
/// It uses all of them, except that an escape that may be cut off at the end of the block is left for the next block,
/// unless this is the `last` one.
///
/// JSON inside a JSON string has an escape every few bytes, where one search per escape costs more than it saves. So
/// the backslashes of sixteen bytes are found together, and the bytes between them are copied sixteen at a time.
/// Decoded text is never longer than the raw text, so `out` grows only once.
pub(crate) fn decode_into(raw: &[u8], last: bool, out: &mut Vec<u8>) -> usize {
    let begin = out.len();
    out.resize(begin + raw.len() + WORD_BYTES, 0);
    let decoded = &mut out[begin..];
    let (mut used, mut made) = (0, 0);
    while used < raw.len() {
        (used, made) = decode_simple(raw, decoded, used, made);
        let run = raw[used..].iter().take(WORD_BYTES).position(|&byte| byte == b'\\');
        let run = run.unwrap_or(WORD_BYTES.min(raw.len() - used));
        decoded[made..made + run].copy_from_slice(&raw[used..used + run]);
        (used, made) = (used + run, made + run);
        if raw.get(used) != Some(&b'\\') {
            continue;
        }
        let rest = &raw[used..];
        if !last && rest.len() < MAX_ESCAPE_BYTES {
            break;
        }
        let length = match rest.get(1).map_or(0, |&kind| ONE_BYTE_ESCAPES[kind as usize]) {
            0 => {
                let (length, written) = decode_rare(rest, &mut decoded[made..]);
                made += written;
                length
            }
            simple => {
                decoded[made] = simple;
                made += 1;
                2
            }
        };
        used += length;
    }
    out.truncate(begin + made);
    used
}

/// How many bytes are examined together.
const WORD_BYTES: usize = quote::WORD_BYTES;

/// Decodes from `used` on, up to an escape that is not one of [`ONE_BYTE_ESCAPES`] or to near the end; returns the new
/// `used` and `made`.
fn decode_simple(raw: &[u8], decoded: &mut [u8], mut used: usize, mut made: usize) -> (usize, usize) {
    // Each step copies a whole word from where the last escape ended, which may reach past the word examined.
    while let Some(window) = raw.get(used..used + 2 * WORD_BYTES + 2) {
        let mut backslashes = quote::equal(quote::word(window), b'\\');
        let mut from = 0;
        while backslashes != 0 {
            let at = backslashes.trailing_zeros() as usize / 8;
            backslashes &= backslashes - 1;
            if at < from {
                // The second of two backslashes.
                continue;
            }
            decoded[made..made + WORD_BYTES].copy_from_slice(&window[from..from + WORD_BYTES]);
            made += at - from;
            let simple = ONE_BYTE_ESCAPES[window[at + 1] as usize];
            if simple == 0 {
                return (used + at, made);
            }
            decoded[made] = simple;
            made += 1;
            from = at + 2;
        }
        if from < WORD_BYTES {
            decoded[made..made + WORD_BYTES].copy_from_slice(&window[from..from + WORD_BYTES]);
            made += WORD_BYTES - from;
        }
        used += from.max(WORD_BYTES);
    }
    (used, made)
}

/// The byte that the character after a backslash decodes to; 0 if that is not a single byte.
const ONE_BYTE_ESCAPES: [u8; 256] = {
    let mut table = [0; 256];
    let pairs = *b"\"\"\\\\//''n\nt\tr\rb\x08f\x0c";
    let mut at = 0;
    while at < pairs.len() {
        table[pairs[at] as usize] = pairs[at + 1];
        at += 2;
    }
    table
};

/// Decodes an escape that is not one of [`ONE_BYTE_ESCAPES`]; returns its length and how many bytes it decoded to.
fn decode_rare(rest: &[u8], to: &mut [u8]) -> (usize, usize) {
    let mut stays = |length: usize| {
        to[..length].copy_from_slice(&rest[..length]);
        (length, length)
    };
    let Some(unit) = hex4(rest, 2).filter(|_| rest[1] == b'u') else { return stays(rest.len().min(2)) };
    if let Some(character) = char::from_u32(unit) {
        return (6, character.encode_utf8(to).len());
    }
    if (0xd800..0xdc00).contains(&unit)
        && rest.get(6) == Some(&b'\\')
        && rest.get(7) == Some(&b'u')
        && let Some(low) = hex4(rest, 8).filter(|low| (0xdc00..0xe000).contains(low))
        && let Some(character) = char::from_u32(0x1_0000 + ((unit - 0xd800) << 10) + (low - 0xdc00))
    {
        return (12, character.encode_utf8(to).len());
    }
    stays(6)
}

fn hex4(rest: &[u8], at: usize) -> Option<u32> {
    let digits = rest.get(at..at + 4)?;
    digits.iter().try_fold(0, |value, &digit| Some(value << 4 | char::from(digit).to_digit(16)?))
}

/// Decodes the inside of a string literal.
pub(crate) fn decode(raw: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    decode_into(raw, true, &mut out);
    out
}

/// Decodes the inside of a string literal to text; invalid UTF-8 becomes U+FFFD.
pub(crate) fn decode_text(raw: &[u8]) -> String {
    match String::from_utf8(decode(raw)) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    }
}

/// Appends a text as a JSON string with its quotes.
///
/// Non-ASCII characters stay as they are, except U+2028, U+2029 and U+0085, which some clients treat as line breaks.
pub(crate) fn write(text: &str, out: &mut String) {
    out.push('"');
    write_inside(text, out);
    out.push('"');
}

/// Appends a text as the inside of a JSON string.
pub(crate) fn write_inside(text: &str, out: &mut String) {
    if is_plain(text) {
        return out.push_str(text);
    }
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

/// Returns whether a text certainly has nothing to escape. Words are examined as a whole, which the compiler vectorizes.
fn is_plain(text: &str) -> bool {
    // The bytes that U+0085, U+2028 and U+2029 begin with are among these.
    let may_need_escape =
        |byte: u8| (byte < b' ') | (byte == b'"') | (byte == b'\\') | (byte == 0xc2) | (byte == 0xe2);
    let (words, rest) = text.as_bytes().as_chunks::<WORD_BYTES>();
    words.iter().all(|word| !word.iter().fold(false, |any, &byte| any | may_need_escape(byte)))
        && !rest.iter().any(|&byte| may_need_escape(byte))
}

/// Appends a text as a JSON string with its quotes; invisible characters become escapes.
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

/// Appends a character as `\uXXXX`, or as a surrogate pair if it is outside the BMP.
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
