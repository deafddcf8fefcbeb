//! Access to the parts of a message by range, in memory or on disk.
//!
//! Decisions about a message read it through [`Content`] only, so they are the same wherever its bytes are.

use std::borrow::Cow;

use tidegate_core::source::{Source, Span};
use tidegate_gate::raw::{self, ByteRange, skim};

use crate::ledger_queue::Forwarded;
use crate::spool::Spooled;
use crate::task::TaskIdSearch;

/// The bytes of a message.
#[derive(Clone, Copy)]
pub(crate) enum Content<'m> {
    Memory(&'m [u8]),
    Disk(&'m Spooled),
}

/// A member of an object.
pub(crate) struct Member<'m> {
    pub(crate) range: ByteRange,
    start: Cow<'m, [u8]>,
}

impl Member<'_> {
    /// Returns the value as written; on disk only the beginning of a long one.
    pub(crate) fn start(&self) -> &[u8] {
        &self.start
    }

    /// Returns the value if it is a string.
    pub(crate) fn text(&self) -> Option<String> {
        raw::text(&self.start, &(0..self.start.len())).map(Cow::into_owned)
    }

    /// Returns the value if it is an integer.
    pub(crate) fn integer(&self) -> Option<i64> {
        std::str::from_utf8(&self.start).ok()?.parse().ok()
    }
}

impl<'m> Content<'m> {
    /// Returns a part if it is in memory.
    pub(crate) fn slice(self, range: &ByteRange) -> Option<&'m [u8]> {
        match self {
            Self::Memory(bytes) => bytes.get(range.clone()),
            Self::Disk(_) => None,
        }
    }

    /// Returns a part, read into memory if it is on disk; `None` if it is longer than a number of bytes and on disk.
    pub(crate) fn whole(self, range: &ByteRange, max_bytes: usize) -> Option<Cow<'m, [u8]>> {
        match self {
            Self::Memory(bytes) => bytes.get(range.clone()).map(Cow::Borrowed),
            Self::Disk(_) if range.len() > max_bytes => None,
            Self::Disk(_) => Some(self.start_of(range, max_bytes)).filter(|part| part.len() == range.len()),
        }
    }

    /// Returns the first bytes of a part.
    pub(crate) fn start_of(self, range: &ByteRange, max_bytes: usize) -> Cow<'m, [u8]> {
        let length = match self {
            Self::Memory(bytes) => bytes.len(),
            Self::Disk(spooled) => spooled.len(),
        };
        let range = range.start..range.end.min(range.start + max_bytes).min(length);
        match self {
            Self::Memory(bytes) => bytes[range].into(),
            Self::Disk(spooled) => Span { start: range.start as u64, end: range.end as u64 }
                .read(spooled.source())
                .unwrap_or_default()
                .into(),
        }
    }

    /// Returns a part as a source.
    pub(crate) fn source(self, range: &ByteRange) -> Box<dyn Source + Sync + 'm> {
        match self {
            Self::Memory(bytes) => Box::new(&bytes[range.clone()]),
            Self::Disk(spooled) => Box::new(spooled.part(range)),
        }
    }

    /// Returns a part as the ledger queue takes it.
    pub(crate) fn forwarded(self, range: &ByteRange) -> Forwarded<'m> {
        match self {
            Self::Memory(bytes) => Forwarded::Memory(&bytes[range.clone()]),
            Self::Disk(spooled) => Forwarded::Disk(spooled.part(range)),
        }
    }

    /// Returns a member of the object at a range; of several with one name the last, as parsers do.
    pub(crate) fn member(self, object: &ByteRange, key: &str) -> Option<Member<'m>> {
        match self {
            Self::Memory(bytes) => {
                let range = raw::member(bytes, object, key)?;
                Some(Member { start: bytes[range.clone()].into(), range })
            }
            Self::Disk(spooled) => {
                let members = skim::members(spooled.source(), object).ok()?;
                let member = members.into_iter().rfind(|member| member.key == key)?;
                Some(Member { range: member.value, start: member.head.into() })
            }
        }
    }

    /// Returns whether a part may have a member that names a task; on disk any part of the message may.
    pub(crate) fn may_name_task(self, range: &ByteRange) -> bool {
        match self {
            Self::Memory(bytes) => TaskIdSearch::is_in(&bytes[range.clone()]),
            Self::Disk(spooled) => spooled.may_name_task(),
        }
    }
}
