//! What every text shares: how many lines and characters, its beginning and its end, any line by its number.

use std::io;

use super::draft::Draft;
use crate::lines::{Line, Lines};
use crate::profile::node::SparseIndex;
use crate::text::Text;
use crate::{visible, write};

/// Facts about the lines of a text.
#[derive(Debug, Default)]
pub(crate) struct LineFacts {
    pub(crate) lines: u64,
    pub(crate) characters: u64,
    /// The longest line: its characters and its number from 1.
    pub(crate) longest: u64,
    pub(crate) longest_line: u64,
    pub(crate) colours: bool,
    index: SparseIndex,
}

impl LineFacts {
    /// Reads a text line by line, hands every line with its number (from 1) to `visit`, and gathers the facts.
    pub(crate) fn gather(text: &Text<'_>, mut visit: impl FnMut(u64, &Line<'_>)) -> io::Result<Self> {
        let mut facts = Self::default();
        let mut lines = Lines::new(text);
        while let Some(line) = lines.next()? {
            facts.lines += 1;
            facts.characters += line.characters + 1;
            facts.index.push(line.at);
            if line.characters > facts.longest {
                (facts.longest, facts.longest_line) = (line.characters, facts.lines);
            }
            facts.colours |= visible::has_colours(line.bytes);
            visit(facts.lines, &line);
        }
        let ends_with_line_feed = text.ends_with_line_feed()?;
        facts.characters -= u64::from(facts.lines > 0 && !ends_with_line_feed);
        Ok(facts)
    }

    /// Returns some lines, from number `first` (from 1) on.
    pub(crate) fn read(&self, text: &Text<'_>, first: u64, count: u64) -> io::Result<Vec<(u64, String)>> {
        let Some((start, offset)) = self.index.before(first.saturating_sub(1)) else { return Ok(Vec::new()) };
        let mut lines = Lines::from(text, offset)?;
        let mut out = Vec::new();
        let mut number = start;
        while (out.len() as u64) < count {
            let Some(line) = lines.next()? else { break };
            number += 1;
            if number >= first {
                out.push((number, shown(&line, LINE)));
            }
        }
        Ok(out)
    }

    /// Returns `17,209 lines`.
    pub(crate) fn count(&self) -> String {
        write::plural(self.lines, "line")
    }

    /// Writes the sizes: lines, characters and the longest line where it stands out.
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

    /// Writes all lines if they fit; says whether they did.
    pub(crate) fn write_all(
        &self,
        text: &Text<'_>,
        draft: &mut Draft<'_>,
        section: usize,
    ) -> io::Result<bool> {
        if text.max_len() > draft.room.left() * 8 || self.longest > LINE as u64 {
            return Ok(false);
        }
        let lines: Vec<String> = self.read(text, 1, self.lines)?.into_iter().map(|(_, line)| line).collect();
        let fits = draft.room.push(section, lines.join("\n"));
        if fits {
            draft.lines.extend(1..=self.lines);
        }
        Ok(fits)
    }

    /// Writes the first lines, at most `most` of them, as far as they fit.
    pub(crate) fn write_head(
        &self,
        text: &Text<'_>,
        draft: &mut Draft<'_>,
        section: usize,
        most: u64,
    ) -> io::Result<()> {
        if !draft.room.push(section, "head:") {
            return Ok(());
        }
        let mut last = 0;
        for (number, line) in self.read(text, 1, most.min(self.lines))? {
            if !line.trim().is_empty() && !draft.room.push(section, line) {
                break;
            }
            last = number;
        }
        if last == 0 {
            draft.room.pop(section);
            return Ok(());
        }
        draft.lines.extend(1..=last);
        draft.room.replace_first(section, format!("head, lines 1-{last} of {}:", self.lines));
        Ok(())
    }

    /// Writes lines that come first after the head, where room is left.
    pub(crate) fn write_more(
        &self,
        text: &Text<'_>,
        draft: &mut Draft<'_>,
        section: usize,
    ) -> io::Result<()> {
        let Some(first) = (1..=self.lines).find(|line| !draft.lines.contains(line)) else { return Ok(()) };
        if draft.room.left() < 60 {
            return Ok(());
        }
        draft.room.push(section, format!("lines from {first} on:"));
        for (number, line) in self.read(text, first, 400)? {
            if draft.lines.contains(&number) || !draft.room.push(section, line) {
                break;
            }
            draft.lines.insert(number);
        }
        Ok(())
    }

    /// Writes the last lines, at most `most` of them, as far as they fit.
    pub(crate) fn write_tail(
        &self,
        text: &Text<'_>,
        draft: &mut Draft<'_>,
        section: usize,
        most: u64,
    ) -> io::Result<()> {
        let first = (self.lines + 1).saturating_sub(most).max(1);
        if self.lines == 0 || !draft.room.push(section, "tail, last lines:") {
            return Ok(());
        }
        let mut kept: Vec<String> = Vec::new();
        let mut from = self.lines + 1;
        for (number, line) in self.read(text, first, self.lines + 1 - first)?.into_iter().rev() {
            let blank = line.trim().is_empty();
            if !blank && !draft.room.reserve(&line) {
                break;
            }
            from = number;
            kept.extend((!blank).then_some(line));
        }
        if kept.is_empty() {
            draft.room.pop(section);
            return Ok(());
        }
        kept.into_iter().rev().for_each(|line| draft.room.place(section, line));
        draft.lines.extend(from..=self.lines);
        draft.room.replace_first(section, format!("tail, lines {from}-{}:", self.lines));
        Ok(())
    }
}

/// Characters shown of one line.
const LINE: usize = 240;

/// A line as it is shown: its indentation kept, cut with a note of its length.
pub(crate) fn shown(line: &Line<'_>, limit: usize) -> String {
    let bytes = &line.bytes[..line.bytes.len().min(limit * 8)];
    let text = visible::text(&String::from_utf8_lossy(bytes));
    let text = text.trim_end();
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}… ({} characters)", &text[..end], write::grouped(line.characters)),
        None => text.to_owned(),
    }
}
