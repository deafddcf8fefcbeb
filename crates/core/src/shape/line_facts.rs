//! What all texts have in common: how many lines and characters, their beginning and end, any line by its number.
//!
//! The strategies for texts gather these facts in their one pass and use them to write lines and to fill the frame.

use std::io;

use super::draft::{Draft, LeftOut};
use super::line_writer::LineWriter;
use crate::lines::{Line, Lines, MAX_LINE_BYTES};
use crate::profile::node::SparseIndex;
use crate::text::Text;
use crate::{visible, write};

/// Facts about the lines of a text.
#[derive(Debug, Default)]
pub(crate) struct LineFacts {
    pub(crate) lines: u64,
    pub(crate) characters: u64,
    /// The characters of the longest line.
    pub(crate) longest: u64,
    /// The number of the longest line, from 1.
    pub(crate) longest_line: u64,
    /// How many lines were too long to be searched whole.
    cut_lines: u64,
    /// The characters of the last line.
    last_characters: u64,
    /// The characters beyond what is shown of a line, for texts of many lines and of few.
    beyond_cut: [u64; 2],
    pub(crate) colours: bool,
    index: SparseIndex,
}

impl LineFacts {
    /// Gathers the facts of a text; passes every line with its number, from 1, to `visit`.
    pub(crate) fn gather(text: &Text<'_>, mut visit: impl FnMut(u64, &Line<'_>)) -> io::Result<Self> {
        let mut facts = Self::default();
        let mut lines = Lines::new(text);
        while let Some(line) = lines.next()? {
            facts.lines += 1;
            facts.characters += line.characters;
            facts.cut_lines += u64::from(line.length > line.bytes.len() as u64);
            facts.last_characters = line.characters;
            for (beyond, limit) in
                facts.beyond_cut.iter_mut().zip([MAX_LINE_CHARACTERS, FEW_LINES_CHARACTERS])
            {
                *beyond += line.characters.saturating_sub(limit as u64);
            }
            let end = line.at + line.length;
            facts.index.push(line.at);
            if line.characters > facts.longest {
                (facts.longest, facts.longest_line) = (line.characters, facts.lines);
            }
            facts.colours |= visible::has_colours(line.bytes);
            visit(facts.lines, &line);
            // What ends the line: a line feed, perhaps after a carriage return; nothing after the last one.
            facts.characters += lines.position() - end;
        }
        Ok(facts)
    }

    /// Returns `count` lines from line number `first` on.
    pub(crate) fn read(&self, text: &Text<'_>, first: u64, count: u64) -> io::Result<Vec<(u64, String)>> {
        let Some((start, offset)) = self.index.before(first.saturating_sub(1)) else { return Ok(Vec::new()) };
        let mut lines = Lines::from(text, offset)?;
        let mut out = Vec::new();
        let mut number = start;
        while (out.len() as u64) < count {
            let Some(line) = lines.next()? else { break };
            number += 1;
            if number >= first {
                out.push((number, shown(&line, self.max_shown_characters())));
            }
        }
        Ok(out)
    }

    /// Returns whether some line was too long to be searched whole.
    pub(super) fn has_cut_lines(&self) -> bool {
        self.cut_lines > 0
    }

    /// Notes that long lines were searched whole, too.
    pub(super) fn all_was_searched(&mut self) {
        self.cut_lines = 0;
    }

    /// Returns the end of the last line, if the line is too long to be shown.
    pub(super) fn end_of_long_line(&self, text: &Text<'_>) -> io::Result<Option<String>> {
        if self.last_characters <= MAX_LINE_CHARACTERS as u64 {
            return Ok(None);
        }
        let length = text.length()?;
        let bytes = text.read(length.saturating_sub(4 * MAX_LINE_CHARACTERS as u64)..length)?;
        let end = visible::text(&String::from_utf8_lossy(&bytes));
        let end = end.trim_end();
        let start = end.char_indices().rev().nth(MAX_LINE_CHARACTERS - 1).map_or(0, |(at, _)| at);
        Ok(Some(format!("…{}", end[start..].trim_start_matches('\u{fffd}'))))
    }

    /// Returns `17,209 lines`.
    pub(crate) fn count(&self) -> String {
        write::plural(self.lines, "line")
    }

    /// Writes the sizes: lines, characters, and the longest line if it is very long.
    pub(crate) fn summary(&self) -> String {
        let mut out = format!("{}, {} characters", self.count(), write::grouped(self.characters));
        if self.longest > 2000 {
            out.push_str(&format!(
                ", longest line {} characters (L{})",
                write::grouped(self.longest),
                self.longest_line
            ));
        }
        out
    }

    /// Returns a writer of the lines of the text that these facts are about.
    pub(crate) fn writer<'l>(&'l self, text: &'l Text<'l>) -> LineWriter<'l> {
        LineWriter { facts: self, text }
    }

    /// Fills the frame of a text that is shown by lines; `below` lists what the overview shows of it, each by the title
    /// under which it is.
    pub(crate) fn describe(&self, draft: &mut Draft<'_>, kind: &str, below: &[&str]) {
        draft.frame.what = format!("{} of {kind}", self.count());
        draft.frame.below = below.join(", ");
        if self.colours {
            draft.frame.notes.push("Colour codes are not shown.".into());
        }
        if self.cut_lines > 0 {
            let (lines, limit) = (write::plural(self.cut_lines, "line"), write::size(MAX_LINE_BYTES as u64));
            draft
                .frame
                .notes
                .push(format!("Only the first {limit} of {lines} were searched for words and errors."));
        }
        let shown = draft.lines.len() as u64;
        draft.leave_out(LeftOut::new("", "lines", shown, self.lines));
        if shown == self.lines {
            // Every line has a place, but of a long one only the beginning.
            let cut = self.beyond_cut[usize::from(self.max_shown_characters() == FEW_LINES_CHARACTERS)];
            draft.leave_out(LeftOut::new("", "characters", self.characters - cut, self.characters));
        }
        let first = self.first_not_shown(draft).unwrap_or(1);
        let last = (first + 49).min(self.lines);
        draft.frame.next = vec![format!("\"lines\":\"{first}-{last}\""), "\"grep\":\"text\"".into()];
    }

    /// Returns how much of a line is shown: more where there are few lines.
    fn max_shown_characters(&self) -> usize {
        if self.lines <= 3 { FEW_LINES_CHARACTERS } else { MAX_LINE_CHARACTERS }
    }

    /// Returns the number of the first line that the draft does not show.
    pub(super) fn first_not_shown(&self, draft: &Draft<'_>) -> Option<u64> {
        (1..=self.lines).find(|line| !draft.lines.contains(line))
    }
}

/// The maximum number of characters shown of one line.
pub(super) const MAX_LINE_CHARACTERS: usize = 240;
/// The same for a text of few lines.
const FEW_LINES_CHARACTERS: usize = 3 * MAX_LINE_CHARACTERS;

/// Returns a line as shown: with its indentation, and with its length if it is cut.
pub(crate) fn shown(line: &Line<'_>, limit: usize) -> String {
    let bytes = &line.bytes[..line.bytes.len().min(limit * 8)];
    let text = visible::text(&String::from_utf8_lossy(bytes));
    let text = text.trim_end();
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}… ({} characters)", &text[..end], write::grouped(line.characters)),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Span;

    #[test]
    fn what_ends_a_line_is_counted() {
        for (text, summary) in [
            ("one\r\ntwo\r\n", "2 lines, 10 characters"),
            ("one\n\u{e9}\n\nx", "4 lines, 8 characters"),
            ("", "0 lines, 0 characters"),
        ] {
            let source = text.as_bytes();
            let text = Text::plain(&source, Span::whole(&source));
            assert_eq!(LineFacts::gather(&text, |_, _| ()).unwrap().summary(), summary);
        }
    }
}
