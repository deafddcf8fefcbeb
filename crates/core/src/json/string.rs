//! JSON strings: undoing escapes and writing them.
//!
//! Decoding is lenient where a strict parser would refuse: an unknown escape stays as it is, and a lone
//! surrogate, which UTF-8 cannot hold, stays as its six characters. The same code reads Python's string
//! literals, whose escapes are a superset.

use crate::quote;

/// The longest escape: a surrogate pair. (Python's `\Uxxxxxxxx` is shorter.)
pub(crate) const LONGEST_ESCAPE: usize = 12;

/// Decodes the inside of a string literal, appends it to `out` and returns how many raw bytes were used: all of
/// them, except that an escape which the end may have cut is left for the next block, unless this is the `last`.
///
/// JSON inside a JSON string has an escape every few bytes, where the call of a search costs more than what it
/// searches; so the backslashes of sixteen bytes are found together, and the bytes before each are copied sixteen at a
/// time. A decoded text is never longer than its escapes, so room is made once.
pub(crate) fn decode_into(raw: &[u8], last: bool, out: &mut Vec<u8>) -> usize {
    let begin = out.len();
    out.resize(begin + raw.len() + WORD, 0);
    let room = &mut out[begin..];
    let (mut used, mut made) = (0, 0);
    while used < raw.len() {
        (used, made) = decode_simple(raw, room, used, made);
        let run = raw[used..].iter().take(WORD).position(|&byte| byte == b'\\');
        let run = run.unwrap_or(WORD.min(raw.len() - used));
        room[made..made + run].copy_from_slice(&raw[used..used + run]);
        (used, made) = (used + run, made + run);
        if raw.get(used) != Some(&b'\\') {
            continue;
        }
        let rest = &raw[used..];
        if !last && rest.len() < LONGEST_ESCAPE {
            break;
        }
        let length = match rest.get(1).map_or(0, |&kind| SIMPLE[kind as usize]) {
            0 => {
                let (length, written) = decode_rare(rest, &mut room[made..]);
                made += written;
                length
            }
            simple => {
                room[made] = simple;
                made += 1;
                2
            }
        };
        used += length;
    }
    out.truncate(begin + made);
    used
}

/// How many bytes are looked at together.
const WORD: usize = quote::WORD;

/// Decodes from `used` on, up to an escape that is not one character, or close to the end; returns how far it came.
fn decode_simple(raw: &[u8], room: &mut [u8], mut used: usize, mut made: usize) -> (usize, usize) {
    // Each step copies a word from where the last escape ended, which may be just behind the word it looks at.
    while let Some(window) = raw.get(used..used + 2 * WORD + 2) {
        let mut backslashes = quote::equal(quote::word(window), b'\\');
        let mut from = 0;
        while backslashes != 0 {
            let at = backslashes.trailing_zeros() as usize / 8;
            backslashes &= backslashes - 1;
            if at < from {
                // The second of two.
                continue;
            }
            room[made..made + WORD].copy_from_slice(&window[from..from + WORD]);
            made += at - from;
            let simple = SIMPLE[window[at + 1] as usize];
            if simple == 0 {
                return (used + at, made);
            }
            room[made] = simple;
            made += 1;
            from = at + 2;
        }
        if from < WORD {
            room[made..made + WORD].copy_from_slice(&window[from..from + WORD]);
            made += WORD - from;
        }
        used += from.max(WORD);
    }
    (used, made)
}

/// What the character after a backslash stands for, where that is one byte; 0 elsewhere.
const SIMPLE: [u8; 256] = {
    let mut table = [0; 256];
    let pairs = *b"\"\"\\\\//''n\nt\tr\rb\x08f\x0c";
    let mut at = 0;
    while at < pairs.len() {
        table[pairs[at] as usize] = pairs[at + 1];
        at += 2;
    }
    table
};

/// Decodes an escape that is not a [`SIMPLE`] one; returns its length and how many bytes it made.
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
