//! The lines that show how a text is organised: headings, definitions, the first lines of paragraphs.
//!
//! A strategy collects them while it reads the text; an overview shows as many as fit, higher levels first.

use super::draft::Draft;
use super::section_writer::SectionWriter;
use crate::visible;

/// A heading, a definition or the like.
#[derive(Debug, Clone)]
pub(crate) struct KeyLine {
    /// Its line number, from 1; 0 if line numbers mean nothing in the text.
    pub(crate) line: u64,
    /// Its level; 1 is the highest.
    pub(crate) level: u8,
    pub(crate) text: String,
    /// The beginning of the text that follows it.
    lead: String,
}

/// The maximum number of key lines held; more are only counted.
const MAX_KEY_LINES: usize = 20_000;

/// The key lines of a text, in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct KeyLines {
    pub(crate) lines: Vec<KeyLine>,
    pub(crate) total: u64,
}

impl KeyLines {
    /// Adds a key line.
    pub(crate) fn push(&mut self, line: u64, level: u8, text: &str) {
        self.total += 1;
        if self.lines.len() < MAX_KEY_LINES {
            self.lines.push(KeyLine { line, level, text: visible::cut(text, 120), lead: String::new() });
        }
    }

    /// Records the text that follows the last key line; only the first such text counts.
    pub(crate) fn lead(&mut self, text: &str) {
        if let Some(key_line) = self.lines.last_mut().filter(|key_line| key_line.lead.is_empty()) {
            key_line.lead = visible::cut(text, 120);
        }
    }

    /// Returns how many key lines there are at each level, highest level first.
    pub(crate) fn levels(&self) -> Vec<(u8, u64)> {
        let mut levels: Vec<(u8, u64)> = Vec::new();
        for key_line in &self.lines {
            match levels.iter_mut().find(|(level, _)| *level == key_line.level) {
                Some((_, count)) => *count += 1,
                None => levels.push((key_line.level, 1)),
            }
        }
        levels.sort_unstable();
        levels
    }

    /// Writes how many headings there are at each level, if there is more than one level.
    pub(crate) fn write_levels(&self, writer: &mut SectionWriter<'_>, section: usize) {
        let levels = self.levels();
        if levels.len() > 1 {
            let levels: Vec<String> =
                levels.iter().map(|(level, count)| format!("level {level}={count}")).collect();
            writer.push_list(section, &format!("{} headings", self.total), &levels);
        }
    }

    /// Writes as many key lines as fit.
    ///
    /// Higher levels come before lower ones: a level is added only if all lines above it fit. The lines of the lowest
    /// level shown are evenly spaced. Returns whether any line was written.
    pub(crate) fn write(&self, draft: &mut Draft<'_>, section: usize, title: &str) -> bool {
        let lines = self.write_to(&mut draft.writer, section, title);
        let written = !lines.is_empty();
        draft.lines.extend(lines.into_iter().filter(|line| *line > 0));
        written
    }

    /// Writes like [`write`](Self::write), and returns the numbers of the lines shown.
    pub(crate) fn write_to(&self, writer: &mut SectionWriter<'_>, section: usize, title: &str) -> Vec<u64> {
        if self.lines.is_empty()
            || !writer.push(section, format!("{title}: {} of {}", self.total, self.total))
        {
            return Vec::new();
        }
        let chosen = self.choose(writer);
        // If all fit, the text under each heading is added as long as that fits, too.
        let all = chosen.len() as u64 == self.total;
        let mut spare =
            writer.left().saturating_sub(chosen.iter().map(|key_line| writer.cost(&line(key_line))).sum());
        let mut shown = Vec::new();
        for key_line in chosen {
            let mut text = line(key_line);
            let extra = writer.cost(&key_line.lead);
            if all && !key_line.lead.is_empty() && extra <= spare {
                spare -= extra;
                text = format!("{text}: {}", key_line.lead);
            }
            if writer.push(section, text) {
                shown.push(key_line.line);
            }
        }
        let count = shown.len() as u64;
        if count == 0 {
            writer.pop(section);
            return shown;
        }
        let what =
            if count == self.total { format!("all {count}") } else { format!("{count} of {}", self.total) };
        writer.replace_first(section, format!("{title}: {what}"));
        shown
    }

    /// Returns all lines of the levels that fit, and as many as fit of the next level, evenly spaced.
    fn choose(&self, writer: &SectionWriter<'_>) -> Vec<&KeyLine> {
        let mut kept: Vec<usize> = Vec::new();
        let mut left = writer.left();
        for (level, _) in self.levels() {
            let here: Vec<usize> =
                (0..self.lines.len()).filter(|&at| self.lines[at].level == level).collect();
            let mut count = here.len();
            let cost = |at: &[usize]| at.iter().map(|&at| writer.cost(&line(&self.lines[at]))).sum::<u64>();
            while count > 0 && cost(&evenly_spaced(&here, count)) > left {
                count = (count * 9 / 10).min(count - 1);
            }
            let some = evenly_spaced(&here, count);
            left -= cost(&some);
            kept.extend(&some);
            if count < here.len() {
                break;
            }
        }
        kept.sort_unstable();
        kept.into_iter().map(|at| &self.lines[at]).collect()
    }
}

fn line(key_line: &KeyLine) -> String {
    if key_line.line == 0 { key_line.text.clone() } else { format!("L{} {}", key_line.line, key_line.text) }
}

/// Returns evenly spaced elements, including the first and the last.
pub(crate) fn evenly_spaced<T: Clone>(all: &[T], count: usize) -> Vec<T> {
    match count {
        0 => Vec::new(),
        1 => all.first().cloned().into_iter().collect(),
        _ if count >= all.len() => all.to_vec(),
        _ => (0..count).map(|index| all[index * (all.len() - 1) / (count - 1)].clone()).collect(),
    }
}
