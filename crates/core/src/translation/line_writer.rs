//! Writes notations in which a record is one line as a list of objects.

use super::window::Window;
use super::{JsonWriter, Step};

/// Reads the lines of a notation in which each record is one line.
pub(super) trait RecordLines: Clone + 'static {
    /// Writes the record of a line, numbered from 1; returns false if it is none.
    fn write(&mut self, number: u64, line: &str, json: &mut String) -> bool;
}

/// Writes the records of lines as a list.
#[derive(Clone)]
pub(super) struct RecordLineWriter<R> {
    records: R,
    /// What is between two records.
    separator: &'static str,
    /// The number of the next line.
    number: u64,
    /// How many records were written.
    count: u64,
    is_begun: bool,
}

impl<R: RecordLines> RecordLineWriter<R> {
    pub(super) fn new(records: R, separator: &'static str) -> Self {
        Self { records, separator, number: 1, count: 0, is_begun: false }
    }
}

impl<R: RecordLines> JsonWriter for RecordLineWriter<R> {
    fn write(&mut self, window: &Window<'_>, json: &mut String) -> Option<Step> {
        let lines = window.lines();
        if lines.is_empty() && !window.is_end {
            return Some(Step::NeedsMore);
        }
        if !std::mem::replace(&mut self.is_begun, true) {
            json.push('[');
        }
        for line in lines.lines() {
            let before = json.len();
            json.push_str(if self.count > 0 { self.separator } else { "" });
            match self.records.write(self.number, line, json) {
                true => self.count += 1,
                false => json.truncate(before),
            }
            self.number += 1;
        }
        if window.is_end {
            json.push(']');
            return Some(Step::End);
        }
        Some(Step::Used(lines.len()))
    }
}
