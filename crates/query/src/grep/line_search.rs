//! Finds matches in a text and the lines they begin in.
//!
//! The text is searched as a whole, so no line is too long and a match may span lines; a line counts once, however many
//! matches begin in it. Outside of the data, strings in quotes are also searched in their decoded form. In a diff, the
//! line that names the file is shown before the first match in that file.

use std::ops::Range;

use super::diff_file::DiffFile;
use super::expression::Expression;
use super::shown::piece;

pub(super) struct LineSearch<'t> {
    expression: &'t Expression,
    text: &'t [u8],
    /// Lines shown before and after a matching line.
    context: u64,
    /// The range of the data, whose strings are searched one by one.
    data: Range<usize>,
    /// Where the search continues.
    at: usize,
    /// The next match; the outer `None` means that it has not been searched for.
    next_match: Option<Option<Range<usize>>>,
    /// The next string in quotes that matches, likewise.
    next_quoted: Option<Option<Range<usize>>>,
    /// The beginning of the last line whose number is known, and that number.
    counted: (usize, u64),
    /// The last line that was shown.
    last_shown: u64,
    /// The file that a line of a diff is in.
    diff_file: Option<DiffFile>,
}

/// A line with a match.
pub(super) struct MatchingLine {
    number: u64,
    line: Range<usize>,
    /// The line of a diff that names the file, and its number.
    file: Option<(u64, Range<usize>)>,
    /// The match, in the text.
    found: Range<usize>,
}

impl<'t> LineSearch<'t> {
    pub(super) fn new(expression: &'t Expression, text: &'t [u8], data: Range<u64>, context: u64) -> Self {
        let position = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX).min(text.len());
        Self {
            expression,
            text,
            context,
            data: position(data.start)..position(data.end),
            at: 0,
            next_match: None,
            next_quoted: None,
            counted: (0, 1),
            last_shown: 0,
            diff_file: None,
        }
    }

    /// Shows the file of each match, if the text is a diff.
    pub(super) fn in_diff(self, is_diff: bool) -> Self {
        Self { diff_file: is_diff.then(DiffFile::default), ..self }
    }

    /// Returns where the next match begins.
    pub(super) fn peek(&mut self) -> Option<usize> {
        self.next().map(|found| found.start)
    }

    fn next(&mut self) -> Option<Range<usize>> {
        if self.next_match.is_none() {
            self.next_match = Some(self.find());
        }
        if self.next_quoted.is_none() {
            self.next_quoted = Some(self.find_quoted());
        }
        let all = [&self.next_match, &self.next_quoted];
        all.into_iter().flatten().flatten().min_by_key(|found| found.start).cloned()
    }

    fn find(&self) -> Option<Range<usize>> {
        let found = self.expression.find_beginning(self.text, self.at.min(self.text.len()))?;
        // A line feed at the end of the text does not begin another line.
        let after_end = found.start == self.text.len() && self.text.last().is_none_or(|&byte| byte == b'\n');
        (!after_end && self.at <= self.text.len()).then_some(found)
    }

    fn find_quoted(&self) -> Option<Range<usize>> {
        if self.at < self.data.start
            && let Some(found) = self.expression.find_quoted(&self.text[..self.data.start], self.at)
        {
            return Some(found);
        }
        let after = if self.at < self.data.start { self.data.end } else { self.at };
        let after = if self.data.contains(&after) { self.data.end } else { after };
        self.expression.find_quoted(self.text, after)
    }

    /// Ignores matches that begin before an offset.
    pub(super) fn skip_to(&mut self, offset: u64) {
        self.go_on(usize::try_from(offset).unwrap_or(usize::MAX));
    }

    fn go_on(&mut self, offset: usize) {
        self.at = self.at.max(offset);
        for next in [&mut self.next_match, &mut self.next_quoted] {
            if matches!(next, Some(Some(found)) if found.start < self.at) {
                *next = None;
            }
        }
    }

    /// Returns the line of the match that [`peek`](Self::peek) found, and continues after the line.
    pub(super) fn take(&mut self) -> MatchingLine {
        let found = self.next().unwrap_or(self.text.len()..self.text.len());
        let start = line_start(self.text, found.start);
        let line = start..line_end(self.text, found.start);
        let (counted, number) = self.counted;
        let number = number + feeds(&self.text[counted.min(start)..start]);
        self.counted = (start, number);
        self.go_on(line.end + 1);
        let text = self.text;
        let file = self.diff_file.as_mut().and_then(|file| file.of(text, line.clone()));
        MatchingLine { number, line, file, found }
    }

    /// Returns a matching line with its context; lines that were shown already are not shown again, and a matching line
    /// is not shown as the context of another.
    pub(super) fn shown(&mut self, matching: &MatchingLine) -> String {
        let MatchingLine { number, line, file, found } = matching;
        let mut before = Vec::new();
        let mut start = line.start;
        while (before.len() as u64) < self.context
            && start > 0
            && number - before.len() as u64 > self.last_shown + 1
        {
            let end = start - 1;
            start = line_start(self.text, end);
            before.push(format!("{}- {}", number - 1 - before.len() as u64, self.piece(start..end)));
        }
        let mut lines: Vec<String> = Vec::new();
        if let Some((at, name)) = file
            && (self.last_shown + 1..number - before.len() as u64).contains(at)
        {
            lines.push(format!("{at}- {}", self.piece(name.clone())));
        }
        lines.extend(before.into_iter().rev());
        let inside = found.start - line.start..found.end.min(line.end).saturating_sub(line.start);
        let inside = inside.start..inside.end.max(inside.start);
        lines.push(format!("{number}: {}", piece(without_return(&self.text[line.clone()]), inside)));
        self.last_shown = *number;
        let next = if self.context > 0 { self.peek().unwrap_or(usize::MAX) } else { 0 };
        let mut start = line.end + 1;
        for _ in 0..self.context {
            if start >= self.text.len() {
                break;
            }
            let end = line_end(self.text, start);
            if next <= end {
                break;
            }
            self.last_shown += 1;
            lines.push(format!("{}- {}", self.last_shown, self.piece(start..end)));
            start = end + 1;
        }
        lines.join("\n")
    }

    fn piece(&self, line: Range<usize>) -> String {
        piece(without_return(&self.text[line]), 0..0)
    }
}

fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

fn line_start(text: &[u8], at: usize) -> usize {
    text[..at].iter().rposition(|&byte| byte == b'\n').map_or(0, |feed| feed + 1)
}

fn line_end(text: &[u8], at: usize) -> usize {
    text[at..].iter().position(|&byte| byte == b'\n').map_or(text.len(), |feed| at + feed)
}

fn feeds(text: &[u8]) -> u64 {
    text.iter().filter(|&&byte| byte == b'\n').count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Host;

    fn lines(pattern: &str, text: &str, context: u64) -> Vec<String> {
        let expression = Expression::new(pattern, text.as_bytes(), Host::Worker).unwrap();
        let is_diff = super::super::diff_file::is_diff(text);
        let mut search = LineSearch::new(&expression, text.as_bytes(), 0..0, context).in_diff(is_diff);
        let mut all = Vec::new();
        while search.peek().is_some() {
            let found = search.take();
            all.push(search.shown(&found));
        }
        all
    }

    #[test]
    fn each_matching_line_once_with_its_number() {
        assert_eq!(lines("a", "a a\nb\nca\n", 0), ["1: a a", "3: ca"]);
        assert_eq!(lines("^$", "x\n\ny\n", 0), ["2: "]);
        assert_eq!(lines("x*", "x\ny\n", 0), ["1: x", "2: y"]);
        assert_eq!(lines("b$", "ab\r\nb\r\n", 0), ["1: ab", "2: b"]);
        assert_eq!(lines("one\\s+two", "one\ntwo\none two", 0), ["1: one", "3: one two"]);
        assert_eq!(lines("^a\"b$", "x\nsay \"a\\\"b\" \"\n", 0), ["2: say \"a\\\"b\" \""]);
        assert!(lines("x", "", 0).is_empty() && lines("z", "x\n", 0).is_empty());
    }

    #[test]
    fn context_is_shown_once() {
        assert_eq!(
            lines("x", "a\nb\nx1\nc\nx2\nd\ne\nf\nx3", 1),
            ["2- b\n3: x1\n4- c", "5: x2\n6- d", "8- f\n9: x3"]
        );
        assert_eq!(lines("x", "x1\nx2\n", 2), ["1: x1", "2: x2"]);
    }

    #[test]
    fn the_file_of_a_diff_is_shown_once_before_its_matches() {
        let diff = "diff -ru a b\n--- a/x.rs\n+++ b/x.rs\n@@ -1 +1 @@\n-one\n+two\n+two\n\
                    --- a/left.rs\n+++ /dev/null\n@@ -1 +0 @@\n-two\n--- a/y.rs\n+++ b/y.rs\n@@ -1 +1 @@\n one\n";
        assert_eq!(
            lines("^.two", diff, 0),
            ["3- +++ b/x.rs\n6: +two", "7: +two", "8- --- a/left.rs\n11: -two"]
        );
        assert_eq!(lines("one", diff, 0), ["3- +++ b/x.rs\n5: -one", "13- +++ b/y.rs\n15:  one"]);
        assert_eq!(
            lines("one", diff, 2),
            [
                "3- +++ b/x.rs\n4- @@ -1 +1 @@\n5: -one\n6- +two\n7- +two",
                "13- +++ b/y.rs\n14- @@ -1 +1 @@\n15:  one"
            ]
        );
        assert_eq!(lines("^@@ -1 \\+0", diff, 0), ["8- --- a/left.rs\n10: @@ -1 +0 @@"]);
        // No file is shown before a line that names it, or in a text that is not a diff.
        assert_eq!(lines("y\\.rs", diff, 0), ["12: --- a/y.rs", "13: +++ b/y.rs"]);
        assert_eq!(lines("two", "--- one\n+++ two\n- two\n", 0), ["2: +++ two", "3: - two"]);
    }
}
