//! Writes lines of a text into a draft: all of them, the first, the last, or those not shown yet.
//!
//! Every line written is recorded in the draft, so that the frame can say which lines are left out.

use std::io;

use super::draft::Draft;
use super::line_facts::{LineFacts, MAX_LINE_CHARACTERS};
use crate::text::Text;

/// Writes lines of one text.
pub(crate) struct LineWriter<'l> {
    pub(super) facts: &'l LineFacts,
    pub(super) text: &'l Text<'l>,
}

impl LineWriter<'_> {
    /// Writes all lines if they fit; returns whether they do.
    pub(crate) fn write_all(&self, draft: &mut Draft<'_>, section: usize) -> io::Result<bool> {
        if self.text.max_len() > draft.writer.left() * 8 || self.facts.longest > MAX_LINE_CHARACTERS as u64 {
            return Ok(false);
        }
        let lines: Vec<String> =
            self.facts.read(self.text, 1, self.facts.lines)?.into_iter().map(|(_, line)| line).collect();
        let fits = draft.writer.push(section, lines.join("\n"));
        if fits {
            draft.lines.extend(1..=self.facts.lines);
        }
        Ok(fits)
    }

    /// Writes the first lines, at most `max_lines`, as far as they fit; returns whether any was written.
    pub(crate) fn write_head(
        &self,
        draft: &mut Draft<'_>,
        section: usize,
        max_lines: u64,
    ) -> io::Result<bool> {
        if !draft.writer.push(section, "head:") {
            return Ok(false);
        }
        let mut last = 0;
        for (number, line) in self.facts.read(self.text, 1, max_lines.min(self.facts.lines))? {
            if !line.trim().is_empty() && !draft.writer.push(section, line) {
                break;
            }
            last = number;
        }
        if last == 0 {
            draft.writer.pop(section);
            return Ok(false);
        }
        draft.lines.extend(1..=last);
        draft.writer.replace_first(section, format!("head, lines 1-{last} of {}:", self.facts.lines));
        Ok(true)
    }

    /// Writes the first lines that are not shown yet, as far as they fit.
    pub(crate) fn write_more(&self, draft: &mut Draft<'_>, section: usize) -> io::Result<()> {
        let Some(first) = self.facts.first_not_shown(draft) else { return Ok(()) };
        if draft.writer.left() < 60 {
            return Ok(());
        }
        draft.writer.push(section, format!("lines from {first} on:"));
        for (number, line) in self.facts.read(self.text, first, 400)? {
            if draft.lines.contains(&number) || !draft.writer.push(section, line) {
                break;
            }
            draft.lines.insert(number);
        }
        Ok(())
    }

    /// Writes the last lines, at most `max_lines`, as far as they fit; returns whether any was written.
    pub(crate) fn write_tail(
        &self,
        draft: &mut Draft<'_>,
        section: usize,
        max_lines: u64,
    ) -> io::Result<bool> {
        let first = (self.facts.lines + 1).saturating_sub(max_lines).max(1);
        if self.facts.lines == 0 || !draft.writer.push(section, "tail, last lines:") {
            return Ok(false);
        }
        let mut kept: Vec<String> = Vec::new();
        let mut from = self.facts.lines + 1;
        let mut end = self.facts.end_of_long_line(self.text)?;
        for (number, line) in
            self.facts.read(self.text, first, self.facts.lines + 1 - first)?.into_iter().rev()
        {
            let line = end.take().unwrap_or(line);
            let blank = line.trim().is_empty();
            if !blank && !draft.writer.reserve(&line) {
                break;
            }
            from = number;
            kept.extend((!blank).then_some(line));
        }
        if kept.is_empty() {
            draft.writer.pop(section);
            return Ok(false);
        }
        kept.into_iter().rev().for_each(|line| draft.writer.place(section, line));
        draft.lines.extend(from..=self.facts.lines);
        draft.writer.replace_first(section, format!("tail, lines {from}-{}:", self.facts.lines));
        Ok(true)
    }
}
