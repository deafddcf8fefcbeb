//! An overview while it is being composed: the lines of its body, its frame, and what it leaves out.
//!
//! Whatever a strategy does not show in full it must record here, so that the frame announces it.

use std::collections::BTreeSet;

use super::section_writer::SectionWriter;
use crate::envelope::Frame;
use crate::source::Span;
use crate::{plain_name, write};

/// Something that an overview does not show in full.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Its path; empty for the whole.
    pub path: String,
    /// What it is, in the plural: rows, lines, files.
    pub what: String,
    /// How many are shown.
    pub shown: u64,
    /// How many there are.
    pub of: u64,
}

impl LeftOut {
    pub(crate) fn new(path: &str, what: impl Into<String>, shown: u64, of: u64) -> Self {
        Self { path: path.to_owned(), what: what.into(), shown, of }
    }

    /// Returns `1,685 of 1,707 rows of features`.
    pub(crate) fn text(&self) -> String {
        let place = plain_name::of_path(&self.path);
        let count = write::grouped(self.of - self.shown.min(self.of));
        format!("{count} of {} {}{place}", write::grouped(self.of), self.what)
    }
}

/// An overview while it is being composed.
pub(crate) struct Draft<'m> {
    pub(crate) writer: SectionWriter<'m>,
    pub(crate) frame: Frame,
    pub(crate) left_out: Vec<LeftOut>,
    /// Blocks that are passed on beside the text.
    pub(crate) blocks: Vec<Span>,
    /// The numbers of the lines that are shown, if the content is lines.
    pub(crate) lines: BTreeSet<u64>,
}

impl<'m> Draft<'m> {
    pub(crate) fn new(writer: SectionWriter<'m>) -> Self {
        Self {
            writer,
            frame: Frame::default(),
            left_out: Vec::new(),
            blocks: Vec::new(),
            lines: BTreeSet::new(),
        }
    }

    /// Records that something is not shown in full, unless it is.
    pub(crate) fn leave_out(&mut self, left_out: LeftOut) {
        if left_out.shown < left_out.of {
            self.left_out.push(left_out);
        }
    }

    /// Runs `write` with at most `share` tokens of what is left.
    pub(crate) fn within<T>(&mut self, share: u64, write: impl FnOnce(&mut Self) -> T) -> T {
        let held = self.writer.hold_back(share);
        let out = write(self);
        self.writer.give_back(held);
        out
    }
}

/// Returns how much of what is left may go to samples, which say less than what came before: all of it only if the
/// whole budget is to be used.
pub(super) fn share_of_rest(draft: &Draft<'_>) -> u64 {
    let left = draft.writer.left();
    if draft.writer.fills() { left } else { left / 2 }
}
