//! Writes lines into numbered sections as long as they fit a budget.
//!
//! A strategy writes what answers most questions first, which is not the order in which an overview is read; the
//! sections put the lines back into reading order. A line is accepted only if it fits what is left of the budget, and
//! hidden characters in it are escaped here, whoever wrote it.

use super::Fill;
use crate::json::string;
use crate::measure::Meter;
use crate::visible;

/// The lines written so far, by section, and what is left of the budget.
pub(crate) struct SectionWriter<'m> {
    meter: &'m Meter,
    tokens: u64,
    bytes: u64,
    fill: Fill,
    sections: Vec<Vec<String>>,
}

impl<'m> SectionWriter<'m> {
    /// Returns an empty writer with a budget.
    pub(crate) fn new(meter: &'m Meter, tokens: u64, bytes: u64) -> Self {
        Self { meter, tokens, bytes, fill: Fill::Whole, sections: Vec::new() }
    }

    /// Returns the writer with another answer to how much of the budget is used.
    pub(crate) fn filling(self, fill: Fill) -> Self {
        Self { fill, ..self }
    }

    /// Returns whether the whole budget is to be used, even for lines that say little.
    pub(crate) fn fills(&self) -> bool {
        self.fill == Fill::Whole
    }

    /// Returns whether rows are left out even if there is room for them.
    pub(crate) fn leaves_out_rows(&self) -> bool {
        self.fill == Fill::Statistics
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

    /// Returns what a line would cost in tokens, including its line feed.
    pub(crate) fn cost(&self, line: &str) -> u64 {
        self.meter.count(line).0 + 1
    }

    /// Appends a line to a section if it fits.
    pub(crate) fn push(&mut self, section: usize, line: impl Into<String>) -> bool {
        let line = visible::escaped(line.into());
        let fits = self.reserve(&line);
        if fits {
            self.place(section, line);
        }
        fits
    }

    /// Appends `title: a b c` to a section, with as many items as fit.
    pub(crate) fn push_list(&mut self, section: usize, title: &str, items: &[String]) -> bool {
        if items.is_empty() {
            return false;
        }
        let mut count = items.len();
        while count > 0 {
            let more =
                if count < items.len() { format!(" +{} more", items.len() - count) } else { String::new() };
            if self.push(section, format!("{title}: {}{more}", items[..count].join(" "))) {
                return true;
            }
            count = count * 3 / 4;
        }
        false
    }

    /// Takes the cost of a line that is placed later from the budget, if it fits.
    pub(crate) fn reserve(&mut self, line: &str) -> bool {
        let (tokens, bytes) = (self.cost(line), string::written_len(line) as u64 + 2);
        if tokens > self.tokens || bytes > self.bytes {
            return false;
        }
        self.tokens -= tokens;
        self.bytes -= bytes;
        true
    }

    /// Appends a line that has been reserved.
    pub(crate) fn place(&mut self, section: usize, line: String) {
        self.section(section).push(visible::escaped(line));
    }

    /// Removes the last line of a section and returns its cost to the budget.
    pub(crate) fn pop(&mut self, section: usize) {
        if let Some(line) = self.section(section).pop() {
            self.tokens += self.cost(&line);
            self.bytes += string::written_len(&line) as u64 + 2;
        }
    }

    /// Replaces the first line of a section, whether or not the new line fits.
    pub(crate) fn replace_first(&mut self, section: usize, line: String) {
        let line = visible::escaped(line);
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

    /// Limits what is left to `tokens`, and returns how many are held back.
    pub(crate) fn hold_back(&mut self, tokens: u64) -> u64 {
        let held = self.tokens.saturating_sub(tokens);
        self.tokens -= held;
        held
    }

    /// Returns what was held back to the budget.
    pub(crate) fn give_back(&mut self, held: u64) {
        self.tokens += held;
    }

    /// Takes the cost of something other than a line from the budget, if it fits.
    pub(crate) fn take(&mut self, tokens: u64, bytes: u64) -> bool {
        if tokens > self.tokens || bytes > self.bytes {
            return false;
        }
        self.tokens -= tokens;
        self.bytes -= bytes;
        true
    }

    /// Returns an empty writer with everything that is left of the budget; this one then has nothing left.
    pub(crate) fn split_off(&mut self) -> Self {
        let (tokens, bytes) = (std::mem::take(&mut self.tokens), std::mem::take(&mut self.bytes));
        Self { meter: self.meter, tokens, bytes, fill: self.fill, sections: Vec::new() }
    }

    /// Takes back a writer that was split off: its text goes to a section, what it has left returns to the budget.
    pub(crate) fn take_back(&mut self, section: usize, writer: Self) {
        (self.tokens, self.bytes) = (writer.tokens, writer.bytes);
        let text = writer.into_text();
        if !text.is_empty() {
            self.place(section, text);
        }
    }

    /// Returns everything written, in reading order.
    pub(crate) fn into_text(self) -> String {
        self.sections.into_iter().flatten().collect::<Vec<_>>().join("\n")
    }
}
