//! Messages in memory or, above a size, in a spool file.
//!
//! A spool file has no name, so the system removes it with its last user, however that one ends. Its bytes never change:
//! edits are kept beside it and applied as it is read.

mod buffer;
mod lines;

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use tidegate_core::source::{Part, Source, Span};
use tidegate_gate::raw::{ByteRange, Edits, skim};

use crate::content::Content;
use crate::message::{MAX_STARTS_TRIED, MessageHead};
use crate::system;

pub(crate) use buffer::{MessageBuffer, Received, TooLarge};
pub(crate) use lines::{Line, LineSplitter};

/// Limits for large messages.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Messages above this many bytes are spooled to disk while they arrive.
    pub spool_above: usize,
    /// The largest message in bytes; a larger one is answered with an error.
    pub max_message_bytes: u64,
    /// The folder for spool files; the system's folder for temporary files if this one cannot be used.
    pub folder: Option<PathBuf>,
}

impl Limits {
    /// The largest message in bytes, by default.
    pub const DEFAULT_MAX_MESSAGE_BYTES: u64 = 256 << 20;

    /// Returns the largest message that stays in memory, which is never above the largest message of all.
    pub(crate) fn max_memory_bytes(&self) -> u64 {
        (self.spool_above as u64).min(self.max_message_bytes)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { spool_above: 8 << 20, max_message_bytes: Self::DEFAULT_MAX_MESSAGE_BYTES, folder: None }
    }
}

/// The bytes of a message, or of a batch of them.
#[derive(Debug)]
pub enum Message {
    /// In memory.
    Memory(Vec<u8>),
    /// On disk.
    Disk(Box<Spooled>),
}

impl From<Vec<u8>> for Message {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Memory(bytes)
    }
}

impl Message {
    /// Returns a message in memory or on disk, as if it had arrived; `None` if it is too large.
    pub fn receive(bytes: &[u8], limits: Limits) -> Option<Self> {
        let mut buffer = MessageBuffer::new(Arc::new(limits));
        buffer.push(bytes);
        match buffer.finish()? {
            Received::Message(message) => Some(message),
            Received::TooLarge(_) => None,
        }
    }

    /// Returns whether it is on disk or larger than a number of bytes.
    pub(crate) fn is_larger_than(&self, bytes: usize) -> bool {
        match self {
            Self::Memory(line) => line.len() > bytes,
            Self::Disk(_) => true,
        }
    }

    /// Returns access to its parts.
    pub(crate) fn content(&self) -> Content<'_> {
        match self {
            Self::Memory(bytes) => Content::Memory(bytes),
            Self::Disk(spooled) => Content::Disk(spooled),
        }
    }

    /// Returns the bytes if they are in memory.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Memory(bytes) => Some(bytes),
            Self::Disk(_) => None,
        }
    }

    /// Returns all bytes.
    ///
    /// # Errors
    ///
    /// The spool file cannot be read.
    pub fn into_bytes(self) -> io::Result<Vec<u8>> {
        match self {
            Self::Memory(bytes) => Ok(bytes),
            Self::Disk(spooled) => {
                let mut bytes = Vec::new();
                spooled.write_to(&mut bytes)?;
                Ok(bytes)
            }
        }
    }
}

/// The file that a message was written to while it arrived.
#[derive(Debug, Clone)]
pub(crate) struct Spool {
    file: Arc<File>,
    length: u64,
    /// The insides of long strings, in order.
    long_strings: Arc<[ByteRange]>,
}

impl Source for Spool {
    fn len(&self) -> u64 {
        self.length
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        system::read_at(&self.file, buffer, offset)
    }

    fn string_end(&self, offset: u64) -> Option<u64> {
        let at = self.long_strings.binary_search_by_key(&offset, |string| string.start as u64).ok()?;
        Some(self.long_strings[at].end as u64)
    }
}

/// The longest id that is matched with a request.
const MAX_ID_BYTES: usize = 64 * 1024;
/// How many bytes of a spool file are read at a time.
const READ_BLOCK_BYTES: usize = 64 * 1024;

/// A message on disk, with edits that are applied as it is read.
#[derive(Debug, Clone)]
pub struct Spooled {
    spool: Spool,
    /// The heads of the messages in it; none if the bytes are not JSON. Ranges are those of the file, without edits.
    pub(crate) heads: Vec<MessageHead>,
    changes: Vec<(ByteRange, Vec<u8>)>,
    /// Whether some member may name a task.
    may_name_task: bool,
    /// Whether line ends are removed, which are only white space in JSON.
    one_line: bool,
}

impl Spooled {
    fn new(
        file: File,
        length: u64,
        heads: Vec<MessageHead>,
        long_strings: Vec<ByteRange>,
        may_name_task: bool,
    ) -> Self {
        let spool = Spool { file: Arc::new(file), length, long_strings: long_strings.into() };
        let mut spooled =
            Self { spool, heads: Vec::new(), changes: Vec::new(), may_name_task, one_line: false };
        spooled.heads = heads.into_iter().map(|head| spooled.with_whole_id(head)).collect();
        spooled
    }

    /// Returns a head with its whole id: only the beginning of a value is noted while a message is spooled.
    fn with_whole_id(&self, mut head: MessageHead) -> MessageHead {
        if let Some(range) = head.long_id() {
            head.set_id(&Content::Disk(self).start_of(&range, MAX_ID_BYTES));
        }
        head
    }

    /// Returns whether some member may name a task.
    pub(crate) fn may_name_task(&self) -> bool {
        self.may_name_task
    }

    /// Returns how many bytes arrived.
    pub(crate) fn len(&self) -> usize {
        usize::try_from(self.spool.length).unwrap_or(usize::MAX)
    }

    /// Returns a part of what arrived, without edits.
    pub(crate) fn part(&self, place: &ByteRange) -> Part<Spool> {
        Part::new(self.spool.clone(), Span { start: place.start as u64, end: place.end as u64 })
    }

    /// Returns what arrived, without edits.
    pub(crate) fn source(&self) -> &dyn Source {
        &self.spool
    }

    /// Adds edits; their ranges are those of what arrived.
    pub(crate) fn edit(&mut self, edits: Edits) {
        let mut all = Edits::new();
        self.changes.drain(..).for_each(|(place, bytes)| all.replace(place, bytes));
        edits.in_order().into_iter().for_each(|(place, bytes)| all.replace(place, bytes));
        self.changes = all.in_order();
    }

    /// Returns the head of a message that has other text before it on its line.
    pub(crate) fn message_after_text(&self) -> Option<MessageHead> {
        let start = Content::Disk(self).start_of(&(0..self.len()), READ_BLOCK_BYTES);
        let mut starts = memchr::memmem::find_iter(&start, b"{\"").take(MAX_STARTS_TRIED);
        starts.find_map(|start| {
            let place = start..self.len();
            let members = skim::members(self.source(), &place).ok()?;
            let head = MessageHead::of_spooled(&skim::Message { place, members });
            head.is_message().then_some(head)
        })
    }

    /// Returns it with one message only, whose head was found later.
    pub(crate) fn with_head(&self, head: MessageHead) -> Self {
        Self { heads: vec![head], ..self.clone() }
    }

    /// Returns one of the messages in it, alone, with one range of it replaced if `change` says so.
    pub(crate) fn extract(&self, index: usize, change: Option<(ByteRange, Vec<u8>)>) -> Self {
        let mut head = self.heads[index].clone();
        head.set_id_if_changed(change.as_ref());
        let mut edits = Edits::new();
        edits.replace(0..head.whole.start, Vec::new());
        edits.replace(head.whole.end..self.len(), Vec::new());
        if let Some((range, bytes)) = change {
            edits.replace(range, bytes);
        }
        let mut extracted = Self { heads: vec![head], ..self.clone() };
        extracted.edit(edits);
        extracted
    }

    /// Returns the message with bytes before and after it.
    pub(crate) fn between(mut self, before: &[u8], after: &[u8]) -> Self {
        let mut edits = Edits::new();
        edits.replace(0..0, before);
        edits.replace(self.len()..self.len(), after);
        self.edit(edits);
        self
    }

    /// Returns the message written as one line, without a line end.
    pub(crate) fn on_one_line(mut self) -> Self {
        self.one_line = true;
        self
    }

    /// Returns the bytes, block by block, with the edits applied.
    pub(crate) fn blocks(self) -> Blocks {
        Blocks { at: 0, next: 0, spooled: self }
    }

    /// Writes all bytes.
    pub(crate) fn write_to(&self, out: &mut impl Write) -> io::Result<()> {
        self.clone().blocks().try_for_each(|block| out.write_all(&block?))
    }
}

/// The bytes of a message on disk, block by block.
pub(crate) struct Blocks {
    spooled: Spooled,
    at: usize,
    /// The index of the next edit.
    next: usize,
}

impl Iterator for Blocks {
    type Item = io::Result<Vec<u8>>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let change = self.spooled.changes.get(self.next);
            let until = change.map_or(self.spooled.len(), |(place, _)| place.start);
            if self.at < until {
                let end = until.min(self.at + READ_BLOCK_BYTES);
                let span = Span { start: self.at as u64, end: end as u64 };
                self.at = end;
                let mut block = match span.read(&self.spooled.spool) {
                    Ok(block) => block,
                    Err(error) => return Some(Err(error)),
                };
                if self.spooled.one_line {
                    block.retain(|byte| !matches!(byte, b'\n' | b'\r'));
                }
                if !block.is_empty() {
                    return Some(Ok(block));
                }
                continue;
            }
            let (place, bytes) = change?;
            self.at = self.at.max(place.end);
            self.next += 1;
            if !bytes.is_empty() {
                return Some(Ok(bytes.clone()));
            }
        }
    }
}
