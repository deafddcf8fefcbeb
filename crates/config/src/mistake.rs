//! A mistake in a file: where it is, what is wrong, what would be right, and the line with a marker under the place.
//!
//! File content is shown on a terminal, so control and invisible characters are replaced before they are printed.

use std::fmt;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// One mistake.
#[derive(Debug)]
pub struct Mistake {
    path: PathBuf,
    location: Option<Location>,
    message: String,
}

/// A place in a file, and how to show it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Location {
    /// Counted from 1.
    line: usize,
    /// In characters, counted from 1.
    column: usize,
    /// The line, and a second one with a marker under the place.
    excerpt: [String; 2],
}

/// Characters shown of a line; of a longer one, those around the place.
const MAX_EXCERPT_CHARACTERS: usize = 120;

impl Location {
    fn new(text: &str, place: &Range<usize>) -> Self {
        let start = boundary(text, place.start);
        let before = &text[..start];
        let first = before.rfind('\n').map_or(0, |at| at + 1);
        let end = text[start..].find('\n').map_or(text.len(), |at| start + at);
        let line = text[first..end].trim_end_matches('\r');
        // A place that spans several lines is marked to the end of the first.
        let last = boundary(text, place.end).clamp(start, end);
        let at = text[first..start].chars().count();
        let wide = text[start..last].trim_end().chars().count().max(1);
        Self { line: before.matches('\n').count() + 1, column: at + 1, excerpt: excerpt(line, at, wide) }
    }
}

/// Returns the last character boundary at or before a place.
fn boundary(text: &str, place: usize) -> usize {
    (0..=place.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// Returns a line and the marker under it, cut to the text around the place.
fn excerpt(line: &str, at: usize, wide: usize) -> [String; 2] {
    let length = line.chars().count();
    let from =
        if length <= MAX_EXCERPT_CHARACTERS { 0 } else { at.saturating_sub(MAX_EXCERPT_CHARACTERS / 3) };
    let to = length.min(from + MAX_EXCERPT_CHARACTERS);
    let cut = if from > 0 { "…" } else { "" };
    let shown = line.chars().skip(from).take(to - from).map(printable);
    // A tab stays a tab, so that the marker is under its place however wide a tab is.
    let blank = |character: char| if character == '\t' { '\t' } else { ' ' };
    let indent: String = line.chars().skip(from).take(at - from).map(blank).collect();
    // A place at the end of a line is marked behind it.
    let marker = "^".repeat(wide.min((to + 1).saturating_sub(at).max(1)));
    let rest = if to < length { "…" } else { "" };
    [
        format!("{cut}{}{rest}", shown.collect::<String>()),
        format!("{}{indent}{marker}", " ".repeat(cut.chars().count())),
    ]
}

/// Replaces a character that a terminal would obey or hide by a visible one.
fn printable(character: char) -> char {
    let hidden = character.is_control() && character != '\t'
        || matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    if hidden { '\u{fffd}' } else { character }
}

impl Mistake {
    /// Returns a mistake at a place in a text.
    pub(crate) fn at(path: &Path, text: &str, place: &Range<usize>, message: &str) -> Self {
        Self { path: path.to_owned(), location: Some(Location::new(text, place)), message: one_line(message) }
    }

    /// Returns the mistake of a file that cannot be read.
    pub(crate) fn unreadable(path: &Path, error: &io::Error) -> Self {
        Self { path: path.to_owned(), location: None, message: format!("cannot be read: {error}") }
    }

    /// Returns its line and column, both counted from 1.
    pub fn place(&self) -> Option<(usize, usize)> {
        self.location.as_ref().map(|location| (location.line, location.column))
    }

    /// Returns the file it is in.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns what is wrong, and what would be right.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the mistake with its line and a marker under the place.
    pub fn with_excerpt(&self) -> String {
        let Some(location) = &self.location else { return self.to_string() };
        let number = location.line.to_string();
        let margin = " ".repeat(number.len());
        let [line, marker] = &location.excerpt;
        format!("{self}\n {number} | {line}\n {margin} | {marker}")
    }
}

/// Puts a message on one line: the parser's may have several, and names may hold any character.
fn one_line(message: &str) -> String {
    message.trim().replace('\n', "; ").chars().map(printable).collect()
}

impl fmt::Display for Mistake {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.location {
            Some(Location { line, column, .. }) => {
                write!(formatter, "{path}:{line}:{column}: {}", self.message)
            }
            None => write!(formatter, "{path}: {}", self.message),
        }
    }
}

/// Every mistake in the files that were read; at least one.
#[derive(Debug)]
pub struct Mistakes(pub Vec<Mistake>);

impl fmt::Display for Mistakes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.0.len() == 1 { "" } else { "s" };
        write!(formatter, "{} mistake{plural} in the configuration:", self.0.len())?;
        self.0.iter().try_for_each(|mistake| write!(formatter, "\n{}", mistake.with_excerpt()))
    }
}

impl std::error::Error for Mistakes {}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(text: &str, place: Range<usize>) -> String {
        Mistake::at(Path::new("t.toml"), text, &place, "wrong").with_excerpt()
    }

    #[test]
    fn the_mark_is_under_the_place() {
        assert_eq!(
            drawn("[a]\r\n\té = 5\r\n", 11..12),
            "t.toml:2:6: wrong\n 2 | \té = 5\n   | \t    ^",
            "columns count characters, and a tab stays a tab"
        );
        assert_eq!(drawn("x = \n", 4..4), "t.toml:1:5: wrong\n 1 | x = \n   |     ^", "at the end of a line");
        assert_eq!(drawn("x = \"\"\"a\nb", 4..9), "t.toml:1:5: wrong\n 1 | x = \"\"\"a\n   |     ^^^^");
        assert_eq!(drawn("", 0..0), "t.toml:1:1: wrong\n 1 | \n   | ^");
        assert_eq!(drawn("x", 9..12), "t.toml:1:2: wrong\n 1 | x\n   |  ^", "beyond the end");
    }

    #[test]
    fn a_long_line_is_cut_around_the_place() {
        let text = format!("a = \"{}\" wrong = \"{}\"", "x".repeat(300), "y".repeat(300));
        let place = text.find("wrong").unwrap();
        let drawn = drawn(&text, place..place + 5);
        let lines: Vec<&str> = drawn.lines().collect();
        assert_eq!(lines[0], "t.toml:1:308: wrong");
        let at = lines[2].find('^').unwrap();
        assert_eq!(lines[1].chars().skip(at).take(5).collect::<String>(), "wrong");
        assert!(lines[1].starts_with(" 1 | …x") && lines[1].ends_with("y…"), "{drawn}");
        assert!(lines[1].chars().count() < 130, "{drawn}");
    }

    #[test]
    fn nothing_in_a_file_moves_the_terminal() {
        let drawn = drawn("x = \"\u{1b}[2J\u{202e}\"", 4..5);
        assert!(!drawn.contains(['\u{1b}', '\u{202e}']), "{drawn:?}");
        assert_eq!(one_line("no key a\u{1b}[2J\nb"), "no key a\u{fffd}[2J; b");
    }
}
