//! A list of headings, definitions or the like, thinned to what fits.

use super::draft::Draft;
use super::room::Room;
use crate::visible;

/// One heading or definition.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    /// The line it stands on, from 1; 0 where lines mean nothing.
    pub(crate) line: u64,
    /// 1 is the highest.
    pub(crate) level: u8,
    pub(crate) text: String,
    /// What follows it first.
    lead: String,
}

/// The most entries held; more are counted.
const MOST: usize = 20_000;

/// Headings or definitions in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outline {
    pub(crate) entries: Vec<Entry>,
    pub(crate) total: u64,
}

impl Outline {
    /// Adds an entry.
    pub(crate) fn push(&mut self, line: u64, level: u8, text: &str) {
        self.total += 1;
        if self.entries.len() < MOST {
            self.entries.push(Entry { line, level, text: visible::cut(text, 120), lead: String::new() });
        }
    }

    /// Notes what follows the last entry; only the first such text counts.
    pub(crate) fn lead(&mut self, text: &str) {
        if let Some(entry) = self.entries.last_mut().filter(|entry| entry.lead.is_empty()) {
            entry.lead = visible::cut(text, 120);
        }
    }

    /// Returns how many entries there are at each level, highest first.
    pub(crate) fn levels(&self) -> Vec<(u8, u64)> {
        let mut levels: Vec<(u8, u64)> = Vec::new();
        for entry in &self.entries {
            match levels.iter_mut().find(|(level, _)| *level == entry.level) {
                Some((_, count)) => *count += 1,
                None => levels.push((entry.level, 1)),
            }
        }
        levels.sort_unstable();
        levels
    }

    /// Writes as many entries as fit, evenly spaced with the first and the last.
    ///
    /// Higher levels come before lower ones: a level is added only when all above it fit.
    pub(crate) fn write(&self, draft: &mut Draft<'_>, section: usize, title: &str) {
        let lines = self.write_to(&mut draft.room, section, title);
        draft.lines.extend(lines.into_iter().filter(|line| *line > 0));
    }

    /// Like [`write`](Self::write), and returns the lines of the entries that found a place.
    pub(crate) fn write_to(&self, room: &mut Room<'_>, section: usize, title: &str) -> Vec<u64> {
        if self.entries.is_empty()
            || !room.push(section, format!("{title}: {} of {}", self.total, self.total))
        {
            return Vec::new();
        }
        let chosen = self.choose(room);
        // Where all fit, what stands under each heading is added, as long as there is room.
        let all = chosen.len() as u64 == self.total;
        let mut spare = room.left().saturating_sub(chosen.iter().map(|entry| room.cost(&line(entry))).sum());
        let mut shown = Vec::new();
        for entry in chosen {
            let mut text = line(entry);
            let extra = room.cost(&entry.lead);
            if all && !entry.lead.is_empty() && extra <= spare {
                spare -= extra;
                text = format!("{text}: {}", entry.lead);
            }
            if room.push(section, text) {
                shown.push(entry.line);
            }
        }
        let count = shown.len() as u64;
        let what =
            if count == self.total { format!("all {count}") } else { format!("{count} of {}", self.total) };
        room.replace_first(section, format!("{title}: {what}"));
        shown
    }

    /// All entries of the levels that fit, and of the next level as many as still do, evenly spaced.
    fn choose(&self, room: &Room<'_>) -> Vec<&Entry> {
        let mut kept: Vec<usize> = Vec::new();
        let mut left = room.left();
        for (level, _) in self.levels() {
            let here: Vec<usize> =
                (0..self.entries.len()).filter(|&at| self.entries[at].level == level).collect();
            let mut count = here.len();
            let cost = |at: &[usize]| at.iter().map(|&at| room.cost(&line(&self.entries[at]))).sum::<u64>();
            while count > 0 && cost(&spread(&here, count)) > left {
                count = (count * 9 / 10).min(count - 1);
            }
            let some = spread(&here, count);
            left -= cost(&some);
            kept.extend(&some);
            if count < here.len() {
                break;
            }
        }
        kept.sort_unstable();
        kept.into_iter().map(|at| &self.entries[at]).collect()
    }
}

fn line(entry: &Entry) -> String {
    if entry.line == 0 { entry.text.clone() } else { format!("L{} {}", entry.line, entry.text) }
}

/// Evenly spaced elements, the first and the last among them.
pub(crate) fn spread<T: Clone>(all: &[T], count: usize) -> Vec<T> {
    match count {
        0 => Vec::new(),
        1 => all.first().cloned().into_iter().collect(),
        _ if count >= all.len() => all.to_vec(),
        _ => (0..count).map(|index| all[index * (all.len() - 1) / (count - 1)].clone()).collect(),
    }
}
