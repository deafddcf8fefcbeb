//! Finds a place in a source file inside a line: `src/a.rs:12:5`, `a.ts(3,1)`, `File "a.py", line 7`.

/// A place in a source file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SourceLocation<'l> {
    pub(crate) path: &'l str,
    pub(crate) line: u64,
    /// The offset in the searched text at which the place ends.
    pub(crate) end: usize,
}

impl std::fmt::Display for SourceLocation<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.path, self.line)
    }
}

/// Returns the first place that a text names.
pub(crate) fn find(text: &str) -> Option<SourceLocation<'_>> {
    quoted(text).or_else(|| {
        // The number after a path: `a.rs:12`, `a.ts(12,5)`, `A.java:[12,5]`.
        text.char_indices().filter(|(_, c)| matches!(c, ':' | '(')).find_map(|(at, _)| ending_at(text, at))
    })
}

/// Returns the place with which a text begins.
pub(crate) fn leading(text: &str) -> Option<SourceLocation<'_>> {
    let word = text.split([' ', '\t']).next()?;
    let place = find(word)?;
    text.starts_with(place.path).then_some(place)
}

/// Reads `File "a.py", line 7`.
fn quoted(text: &str) -> Option<SourceLocation<'_>> {
    let start = text.find("File \"")? + 6;
    let length = text[start..].find('"')?;
    let rest = text[start + length..].strip_prefix("\", line ")?;
    let (line, digits) = number(rest)?;
    Some(SourceLocation { path: &text[start..start + length], line, end: start + length + 8 + digits })
}

/// Reads the place whose path ends at an offset, where there is a colon or a parenthesis.
fn ending_at(text: &str, at: usize) -> Option<SourceLocation<'_>> {
    let (before, mark) = (&text[..at], text.as_bytes()[at]);
    let start = before.rfind([' ', '\t', '(', '"', '\'', '<', '`', '[']).map_or(0, |at| at + 1);
    let path = before[start..].trim_start_matches("file://");
    if !is_path(path) {
        return None;
    }
    let rest = &text[at + 1..];
    let bracket = usize::from(mark == b':' && rest.starts_with('['));
    let word = if rest.starts_with("line ") { 5 } else { 0 };
    let (line, digits) = number(&rest[bracket + word..])?;
    let mut end = at + 1 + bracket + word + digits;
    // The column.
    let after = &text[end..];
    if after.starts_with([':', ','])
        && let Some((_, digits)) = number(&after[1..])
    {
        end += 1 + digits;
    }
    let closing = if mark == b'(' { ")" } else { "]" };
    if mark == b'(' || bracket == 1 {
        end += text[end..].starts_with(closing).then_some(1)?;
    }
    Some(SourceLocation { path, line, end })
}

/// Returns whether a word is the path of a file: it has an extension of letters, or a folder.
fn is_path(word: &str) -> bool {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let is_extension = (1..=6).contains(&extension.len())
        && extension.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && extension.starts_with(|c: char| c.is_ascii_alphabetic());
    // `http://host.com:80` is not a file.
    is_extension && !word.contains("//") && !word.contains(',')
}

fn number(text: &str) -> Option<(u64, usize)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    (1..=7).contains(&digits).then(|| text[..digits].parse().ok().map(|number| (number, digits))).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_many_tools() {
        for (text, place, rest) in [
            ("src/a.rs:12:5: error: no", "src/a.rs:12", ": error: no"),
            ("  --> src/b.rs:3:1", "src/b.rs:3", ""),
            ("src/a.ts(3,14): error TS1: x", "src/a.ts:3", ": error TS1: x"),
            ("[ERROR] /w/A.java:[7,2] cannot find", "/w/A.java:7", " cannot find"),
            ("  File \"/app/m.py\", line 12, in run", "/app/m.py:12", ", in run"),
            ("    at run (/app/m.js:4:9)", "/app/m.js:4", ")"),
            ("   at N.C.M() in /src/C.cs:line 12", "/src/C.cs:12", ""),
            ("\tat a.b.C.d(C.java:40)", "C.java:40", ")"),
            ("    a_test.go:12: want 1", "a_test.go:12", ": want 1"),
        ] {
            let found = find(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!((found.to_string().as_str(), &text[found.end..]), (place, rest));
        }
        for text in
            ["at 12:30:45 x", "http://example.com:80/", "version 1.2: 3 changes", "a: 12", "x.y: z", ""]
        {
            assert_eq!(find(text), None, "{text}");
        }
    }
}
