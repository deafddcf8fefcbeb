//! Trims texts whose first and last characters are nearly always visible ASCII, which shows without decoding them.

/// Returns a text without the white space around it.
#[inline]
pub(crate) fn trim(text: &str) -> &str {
    let trimmed = text.trim_ascii();
    match trimmed.as_bytes() {
        [b'!'..=b'~', .., b'!'..=b'~'] | [b'!'..=b'~'] | [] => trimmed,
        _ => trimmed.trim(),
    }
}

/// Returns a text without the white space at its beginning.
#[inline]
pub(crate) fn trim_start(text: &str) -> &str {
    match text.as_bytes() {
        [b'!'..=b'~', ..] | [] => text,
        [b' ', b'!'..=b'~', ..] => &text[1..],
        _ => text.trim_start(),
    }
}

/// Returns a text without the white space at its end.
#[inline]
pub(crate) fn trim_end(text: &str) -> &str {
    match text.as_bytes() {
        [.., b'!'..=b'~'] | [] => text,
        _ => text.trim_end(),
    }
}

/// Returns the lines of a text without the white space at their ends.
pub(crate) fn trimmed_lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = memchr::memchr(b'\n', rest.as_bytes());
        let line = &rest[..end.unwrap_or(rest.len())];
        rest = end.map_or("", |end| &rest[end + 1..]);
        Some(trim_end(line))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_as_the_standard_library() {
        for text in
            ["", " ", "a", " a", "a ", "  a b  ", "\u{b}a\u{b}", "\u{a0}é\u{2003}", "é", " é", "\t\r\n", "\0"]
        {
            assert_eq!((trim(text), trim_start(text)), (text.trim(), text.trim_start()), "{text:?}");
            assert_eq!(trim_end(text), text.trim_end(), "{text:?}");
            let lines = format!("{text}\n{text}\r\n\n{text}");
            assert_eq!(
                trimmed_lines(&lines).collect::<Vec<_>>(),
                lines.lines().map(str::trim_end).collect::<Vec<_>>()
            );
        }
    }
}
