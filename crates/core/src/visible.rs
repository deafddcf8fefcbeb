//! Makes upstream text safe to show: no control, direction or invisible characters.
//!
//! Characters that a model or a terminal would not show, or would obey, are written as `\u{202e}`; the stored bytes stay
//! exact. Only terminal colour codes are removed without a mark in place, since they carry no data: the frame says that
//! there were some.

use crate::json::string;

/// Returns whether a character must be escaped to be shown.
pub fn is_hidden(character: char) -> bool {
    matches!(character,
        '\0'..='\u{8}' | '\u{b}'..='\u{1f}' | '\u{7f}'..='\u{9f}'
        | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// Appends a text with hidden characters escaped; line feeds and tabs stay.
pub(crate) fn push(text: &str, out: &mut String) {
    let text = strip_colours(text);
    for character in text.chars() {
        if is_hidden(character) {
            out.push_str(&format!("\\u{{{:x}}}", character as u32));
        } else {
            out.push(character);
        }
    }
}

/// Returns a text with hidden characters escaped; line feeds and tabs stay.
pub fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    push(text, &mut out);
    out
}

/// Returns a text with hidden characters escaped; almost always the same one.
pub(crate) fn escaped(text: String) -> String {
    if text.chars().any(is_hidden) { self::text(&text) } else { text }
}

/// Returns a JSON document in which hidden characters are JSON escapes, so that its values stay the same.
pub fn json(document: &str) -> String {
    let mut out = String::with_capacity(document.len());
    for character in document.chars() {
        // A carriage return is white space between values; strings cannot have one.
        if is_hidden(character) && character != '\r' {
            string::push_escape(character, &mut out);
        } else {
            out.push(character);
        }
    }
    out
}

/// Returns a text on one line: runs of white space become one space, hidden characters are escaped.
pub fn line(text: &str) -> String {
    let folded = text.split_whitespace().collect::<Vec<_>>().join(" ");
    self::text(&folded)
}

/// Returns a text on one line of at most `limit` characters, with `…` where it was cut.
pub fn cut(text: &str, limit: usize) -> String {
    // The beginning is enough, since folding only shortens.
    let head: String = text.chars().take(limit * 4 + 64).collect();
    let shown = line(&head);
    match shown.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", shown[..end].trim_end()),
        None if head.len() < text.len() => format!("{shown}…"),
        None => shown,
    }
}

/// Returns a text on one line of at most `limit` characters; a path that is too long keeps its end.
pub(crate) fn cut_name(text: &str, limit: usize) -> String {
    let shown = line(&text.chars().take(limit * 8 + 64).collect::<String>());
    let count = shown.chars().count();
    let path = shown.matches('/').count() > 1 && !shown.contains(' ');
    if count <= limit || !path {
        return cut(text, limit);
    }
    format!("…{}", shown.chars().skip(count - limit).collect::<String>())
}

/// Returns a key as written in a path: as a JSON string if it contains characters that have a meaning in paths, so that
/// [`read_key`](crate::view::read_key) gives back exactly this key.
pub(crate) fn key(key: &str) -> String {
    let plain = !key.is_empty()
        && key.trim() == key
        && !key.contains(['.', '[', ']', '"', '*', '\\', ',', '|', '\n', '\r', '\t'])
        && !key.chars().any(is_hidden);
    if plain {
        return key.to_owned();
    }
    let mut quoted = String::new();
    string::write_visible(key, &mut quoted);
    quoted
}

/// Returns whether the text contains terminal colour codes.
pub(crate) fn has_colours(text: &[u8]) -> bool {
    memchr::memmem::find(text, b"\x1b[").is_some()
}

/// Returns the text without terminal colour codes (`ESC [ … m`); other sequences stay and are shown escaped.
pub(crate) fn strip_colours(text: &str) -> std::borrow::Cow<'_, str> {
    if !has_colours(text.as_bytes()) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("\u{1b}[") {
        out.push_str(&rest[..start]);
        let codes = &rest[start + 2..];
        let end = codes.find(|c: char| !(c.is_ascii_digit() || c == ';' || c == ':')).unwrap_or(codes.len());
        if codes[end..].starts_with(['m', 'K']) {
            rest = &codes[end + 1..];
        } else {
            out.push_str("\u{1b}[");
            rest = codes;
        }
    }
    out.push_str(rest);
    out.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_shown() {
        assert_eq!(text("a\u{202e}b\u{1b}]0;x\u{7}"), "a\\u{202e}b\\u{1b}]0;x\\u{7}");
        assert_eq!(text("tag \u{e0041} zero\u{200b}width"), "tag \\u{e0041} zero\\u{200b}width");
        assert_eq!(text("é 中 😀\n\tok"), "é 中 😀\n\tok");
    }

    #[test]
    fn json_keeps_its_values() {
        let document = "{\"a\u{202e}\": \"\u{e0041}é\"}\r\n";
        assert_eq!(json(document), "{\"a\\u202e\": \"\\udb40\\udc41é\"}\r\n");
    }

    #[test]
    fn colours_go_other_sequences_stay() {
        assert_eq!(text("\u{1b}[1m\u{1b}[33mwarning\u{1b}[0m: x\u{1b}[2J"), "warning: x\\u{1b}[2J");
    }

    #[test]
    fn cutting_marks_what_is_left_out() {
        assert_eq!(cut("one two three", 7), "one two…");
        assert_eq!(cut("one  two", 20), "one two");
        assert_eq!(cut(&"x ".repeat(5000), 3), "x x…");
    }
}
