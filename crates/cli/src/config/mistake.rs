//! One mistake in a file: where, what, what would be right, and the line with a mark under the place.

use std::fmt;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// One mistake.
#[derive(Debug)]
pub(super) struct Mistake {
    path: PathBuf,
    spot: Option<Spot>,
    message: String,
}

/// A place in a text, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Spot {
    /// From 1.
    line: usize,
    /// In characters, from 1.
    column: usize,
    /// The line as it is shown, and a second one with a mark under the place.
    shown: [String; 2],
}

/// Of a longer line so many characters around the place are shown.
const WIDEST: usize = 120;

impl Spot {
    fn new(text: &str, place: &Range<usize>) -> Self {
        let start = boundary(text, place.start);
        let before = &text[..start];
        let first = before.rfind('\n').map_or(0, |at| at + 1);
        let end = text[start..].find('\n').map_or(text.len(), |at| start + at);
        let line = text[first..end].trim_end_matches('\r');
        // What goes over several lines is marked as far as the first one reaches.
        let last = boundary(text, place.end).clamp(start, end);
        let at = text[first..start].chars().count();
        let wide = text[start..last].trim_end().chars().count().max(1);
        Self { line: before.matches('\n').count() + 1, column: at + 1, shown: excerpt(line, at, wide) }
    }
}

/// The nearest place at or before another where a character begins.
fn boundary(text: &str, place: usize) -> usize {
    (0..=place.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// A line and the mark under it, cut to what is around the place.
fn excerpt(line: &str, at: usize, wide: usize) -> [String; 2] {
    let length = line.chars().count();
    let from = if length <= WIDEST { 0 } else { at.saturating_sub(WIDEST / 3) };
    let to = length.min(from + WIDEST);
    let cut = if from > 0 { "…" } else { "" };
    let shown = line.chars().skip(from).take(to - from).map(plain);
    // A tab stays one, so that the mark stands under its place however wide it is.
    let blank = |character: char| if character == '\t' { '\t' } else { ' ' };
    let indent: String = line.chars().skip(from).take(at - from).map(blank).collect();
    // What ends with its line can be marked behind it.
    let mark = "^".repeat(wide.min((to + 1).saturating_sub(at).max(1)));
    let rest = if to < length { "…" } else { "" };
    [
        format!("{cut}{}{rest}", shown.collect::<String>()),
        format!("{}{indent}{mark}", " ".repeat(cut.chars().count())),
    ]
}

/// What a terminal would obey or hide is shown as a character of the same width.
fn plain(character: char) -> char {
    let hidden = character.is_control() && character != '\t'
        || matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    if hidden { '\u{fffd}' } else { character }
}

impl Mistake {
    /// A mistake at a place in a text.
    pub(super) fn at(path: &Path, text: &str, place: &Range<usize>, message: &str) -> Self {
        Self { path: path.to_owned(), spot: Some(Spot::new(text, place)), message: one_line(message) }
    }

    /// A file that cannot be read.
    pub(super) fn of_file(path: &Path, error: &io::Error) -> Self {
        Self { path: path.to_owned(), spot: None, message: format!("cannot be read: {error}") }
    }

    /// Where it is, for the order in which mistakes are told: line and column.
    pub(super) fn place(&self) -> Option<(usize, usize)> {
        self.spot.as_ref().map(|spot| (spot.line, spot.column))
    }

    /// The file it is in.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// What is wrong.
    pub(super) fn message(&self) -> &str {
        &self.message
    }

    /// Returns it with the line it is in and a mark under the place.
    pub(super) fn drawn(&self) -> String {
        let Some(spot) = &self.spot else { return self.to_string() };
        let number = spot.line.to_string();
        let margin = " ".repeat(number.len());
        let [line, mark] = &spot.shown;
        format!("{self}\n {number} | {line}\n {margin} | {mark}")
    }
}

/// Some messages of the parser have several lines, and names may hold anything.
fn one_line(message: &str) -> String {
    message.trim().replace('\n', "; ").chars().map(plain).collect()
}

impl fmt::Display for Mistake {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.spot {
            Some(Spot { line, column, .. }) => {
                write!(formatter, "{path}:{line}:{column}: {}", self.message)
            }
            None => write!(formatter, "{path}: {}", self.message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(text: &str, place: Range<usize>) -> String {
        Mistake::at(Path::new("t.toml"), text, &place, "wrong").drawn()
    }

    #[test]
    fn the_mark_is_under_the_place() {
        assert_eq!(
            drawn("[a]\r\n\té = 5\r\n", 11..12),
            "t.toml:2:6: wrong\n 2 | \té = 5\n   | \t    ^",
            "columns are characters, and a tab is as wide as above"
        );
        assert_eq!(
            drawn("x = \n", 4..4),
            "t.toml:1:5: wrong\n 1 | x = \n   |     ^",
            "behind the end of a line"
        );
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
