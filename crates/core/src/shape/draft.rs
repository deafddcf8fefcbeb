//! An overview while it is being composed.

use std::collections::BTreeSet;

use super::room::Room;
use crate::envelope::Frame;
use crate::source::Span;
use crate::{visible, write};

/// Something that an overview does not show in full.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Where, as a path; empty for the whole.
    pub path: String,
    /// What, in the plural: rows, lines, files.
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
        let place = if self.path.is_empty() {
            String::new()
        } else {
            format!(" of {}", visible::cut(&self.path, 40))
        };
        let count = write::grouped(self.of - self.shown.min(self.of));
        format!("{count} of {} {}{place}", write::grouped(self.of), self.what)
    }
}

/// An overview while it is being composed: what is written, what the frame says, what is left out.
pub(crate) struct Draft<'m> {
    pub(crate) room: Room<'m>,
    pub(crate) frame: Frame,
    pub(crate) left_out: Vec<LeftOut>,
    /// Blocks that are handed on besides the text.
    pub(crate) blocks: Vec<Span>,
    /// The numbers of the lines that are shown, where the content is lines.
    pub(crate) lines: BTreeSet<u64>,
}

impl<'m> Draft<'m> {
    pub(crate) fn new(room: Room<'m>) -> Self {
        Self {
            room,
            frame: Frame::default(),
            left_out: Vec::new(),
            blocks: Vec::new(),
            lines: BTreeSet::new(),
        }
    }

    /// Notes that something is shown in part, unless all of it is.
    pub(crate) fn leave_out(&mut self, left_out: LeftOut) {
        if left_out.shown < left_out.of {
            self.left_out.push(left_out);
        }
    }

    /// Writes into the room, with at most `share` tokens of it.
    pub(crate) fn within<T>(&mut self, share: u64, write: impl FnOnce(&mut Self) -> T) -> T {
        let held = self.room.hold_back(share);
        let out = write(self);
        self.room.give_back(held);
        out
    }
}
