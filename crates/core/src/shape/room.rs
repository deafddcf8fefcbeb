//! The space an overview may fill: lines are pushed section by section, and each is taken only if it still fits.
//!
//! A strategy works through its material in the order of what answers most questions, not in the order in which
//! it is read; sections put it back into reading order.

use crate::json::string;
use crate::measure::Meter;

/// What is left of a budget, and what has been written.
pub(crate) struct Room<'m> {
    meter: &'m Meter,
    tokens: u64,
    bytes: u64,
    sections: Vec<Vec<String>>,
}

impl<'m> Room<'m> {
    /// Returns an empty room.
    pub(crate) fn new(meter: &'m Meter, tokens: u64, bytes: u64) -> Self {
        Self { meter, tokens, bytes, sections: Vec::new() }
    }

    /// Returns how many tokens are left.
    pub(crate) fn left(&self) -> u64 {
        self.tokens.min(self.bytes / 2)
    }

    /// Returns how many bytes are left.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns whether a line would fit.
    pub(crate) fn fits(&self, line: &str) -> bool {
        self.cost(line) <= self.tokens && string::written_len(line) as u64 + 2 <= self.bytes
    }

    /// Returns what a line would cost in tokens, its line feed included.
    pub(crate) fn cost(&self, line: &str) -> u64 {
        self.meter.count(line).0 + 1
    }

    /// Appends a line to a section if it fits.
    pub(crate) fn push(&mut self, section: usize, line: impl Into<String>) -> bool {
        let line = line.into();
        let fits = self.reserve(&line);
        if fits {
            self.place(section, line);
        }
        fits
    }

    /// Pays for a line that is placed later, if it fits.
    pub(crate) fn reserve(&mut self, line: &str) -> bool {
        let (tokens, bytes) = (self.cost(line), string::written_len(line) as u64 + 2);
        if tokens > self.tokens || bytes > self.bytes {
            return false;
        }
        self.tokens -= tokens;
        self.bytes -= bytes;
        true
    }

    /// Places a line that has been paid for.
    pub(crate) fn place(&mut self, section: usize, line: String) {
        self.section(section).push(line);
    }

    /// Takes back the last line of a section.
    pub(crate) fn pop(&mut self, section: usize) {
        if let Some(line) = self.section(section).pop() {
            self.tokens += self.cost(&line);
            self.bytes += string::written_len(&line) as u64 + 2;
        }
    }

    /// Puts another line in the place of the first of a section; a few tokens more are taken from what is left.
    pub(crate) fn replace_first(&mut self, section: usize, line: String) {
        let cost = self.cost(&line);
        let bytes = string::written_len(&line) as u64;
        if let Some(first) = self.section(section).first_mut() {
            let old = std::mem::replace(first, line);
            self.tokens = (self.tokens + self.cost(&old)).saturating_sub(cost);
            self.bytes = (self.bytes + string::written_len(&old) as u64).saturating_sub(bytes);
        }
    }

    fn section(&mut self, section: usize) -> &mut Vec<String> {
        if self.sections.len() <= section {
            self.sections.resize_with(section + 1, Vec::new);
        }
        &mut self.sections[section]
    }

    /// Runs `fill` with at most `tokens` of what is left.
    pub(crate) fn within<T>(&mut self, tokens: u64, fill: impl FnOnce(&mut Self) -> T) -> T {
        let held = self.hold_back(tokens);
        let out = fill(self);
        self.give_back(held);
        out
    }

    /// Leaves only `tokens` of what is left, and returns how many are held back.
    pub(crate) fn hold_back(&mut self, tokens: u64) -> u64 {
        let held = self.tokens.saturating_sub(tokens);
        self.tokens -= held;
        held
    }

    /// Gives back what was held.
    pub(crate) fn give_back(&mut self, held: u64) {
        self.tokens += held;
    }

    /// Takes room for something that is not text, if there is enough.
    pub(crate) fn take(&mut self, tokens: u64, bytes: u64) -> bool {
        if tokens > self.tokens || bytes > self.bytes {
            return false;
        }
        self.tokens -= tokens;
        self.bytes -= bytes;
        true
    }

    /// Returns an empty room with all that is left of this one, which then has nothing left.
    pub(crate) fn split_off(&mut self) -> Self {
        let (tokens, bytes) = (std::mem::take(&mut self.tokens), std::mem::take(&mut self.bytes));
        Self { meter: self.meter, tokens, bytes, sections: Vec::new() }
    }

    /// Takes a room back that was split off: what it holds is the first section's, what it has left is ours.
    pub(crate) fn take_back(&mut self, room: Self) {
        (self.tokens, self.bytes) = (room.tokens, room.bytes);
        let text = room.into_text();
        self.place(0, text);
    }

    /// Returns everything written, in reading order.
    pub(crate) fn into_text(self) -> String {
        self.sections.into_iter().flatten().collect::<Vec<_>>().join("\n")
    }
}
