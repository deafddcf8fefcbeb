//! A message, wherever its bytes are: in memory, or, where they are many, in a file without a name, which is gone with
//! its last user however that ends.

mod intake;
mod lines;

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;

use tidegate_core::source::{Part, Source, Span};
use tidegate_gate::raw::{Edits, Place, skim};

pub(crate) use intake::{Framed, Intake, TooLong};
pub(crate) use lines::{Cut, Lines};

/// How large messages are dealt with.
#[derive(Debug, Clone)]
pub struct Limits {
    /// What is larger than this many bytes goes to disk while it arrives.
    pub spool_above: usize,
    /// The largest message; a larger one becomes an error.
    pub most: u64,
    /// Where it is spooled; the system's folder for temporary files where that is not possible.
    pub folder: Option<PathBuf>,
}

impl Limits {
    /// The largest message unless told otherwise.
    pub const MOST: u64 = 256 << 20;

    /// Returns how many bytes of a message are held in memory: what is too large is so wherever it is held.
    pub(crate) fn in_memory(&self) -> u64 {
        (self.spool_above as u64).min(self.most)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { spool_above: 8 << 20, most: Self::MOST, folder: None }
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
    /// Returns a message as it would be held after it came.
    pub fn held(bytes: &[u8], limits: Limits) -> Option<Self> {
        let mut intake = Intake::new(Arc::new(limits));
        intake.push(bytes);
        match intake.finish()? {
            Framed::Message(message) => Some(message),
            Framed::TooLong(_) => None,
        }
    }

    /// Returns whether it is so large that looking into it takes a while.
    pub(crate) fn is_larger_than(&self, bytes: usize) -> bool {
        match self {
            Self::Memory(line) => line.len() > bytes,
            Self::Disk(_) => true,
        }
    }

    /// Returns the bytes where they are in memory.
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
    /// Where they cannot be read.
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

/// A file that a message was written to while it came.
#[derive(Debug, Clone)]
pub(crate) struct Spool {
    file: Arc<File>,
    length: u64,
}

impl Source for Spool {
    fn len(&self) -> u64 {
        self.length
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read_at(buffer, offset)
    }
}

/// Bytes that are read at a time on the way out.
const BLOCK: usize = 64 * 1024;

/// A message on disk, with changes that are made as it is read.
#[derive(Debug, Clone)]
pub struct Spooled {
    spool: Spool,
    /// The messages in it; none where the bytes are no message.
    pub(crate) messages: Vec<skim::Message>,
    changes: Vec<(Place, Vec<u8>)>,
    /// Whether line ends are left out, which in JSON mean nothing.
    one_line: bool,
}

impl Spooled {
    fn new(file: File, length: u64, messages: Vec<skim::Message>) -> Self {
        let spool = Spool { file: Arc::new(file), length };
        Self { spool, messages, changes: Vec::new(), one_line: false }
    }

    /// Returns how many bytes came.
    pub(crate) fn len(&self) -> usize {
        usize::try_from(self.spool.length).unwrap_or(usize::MAX)
    }

    /// Returns a part of what came.
    pub(crate) fn part(&self, place: &Place) -> Part<Spool> {
        Part::new(self.spool.clone(), Span { start: place.start as u64, end: place.end as u64 })
    }

    /// Returns what came, without any change.
    pub(crate) fn source(&self) -> &dyn Source {
        &self.spool
    }

    /// Makes changes; their places are of what came.
    pub(crate) fn change(&mut self, edits: Edits) {
        let mut all = Edits::new();
        self.changes.drain(..).for_each(|(place, bytes)| all.replace(place, bytes));
        edits.in_order().into_iter().for_each(|(place, bytes)| all.replace(place, bytes));
        self.changes = all.in_order();
    }

    /// Returns one of the messages in it, alone, with another id.
    pub(crate) fn only(&self, index: usize, id: Option<&[u8]>) -> Self {
        let mut message = self.messages[index].clone();
        let mut edits = Edits::new();
        edits.replace(0..message.place.start, Vec::new());
        edits.replace(message.place.end..self.len(), Vec::new());
        let named = message.members.iter_mut().rfind(|member| member.key == "id");
        if let (Some(named), Some(id)) = (named, id) {
            edits.replace(named.value.clone(), id);
            named.head = id.to_vec();
        }
        let mut only = Self { messages: vec![message], ..self.clone() };
        only.change(edits);
        only
    }

    /// Puts bytes before and after.
    pub(crate) fn between(mut self, before: &[u8], after: &[u8]) -> Self {
        let mut edits = Edits::new();
        edits.replace(0..0, before);
        edits.replace(self.len()..self.len(), after);
        self.change(edits);
        self
    }

    /// Writes it as one line, without its end.
    pub(crate) fn on_one_line(mut self) -> Self {
        self.one_line = true;
        self
    }

    /// Returns the bytes, block by block.
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
    /// The next change.
    next: usize,
}

impl Iterator for Blocks {
    type Item = io::Result<Vec<u8>>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let change = self.spooled.changes.get(self.next);
            let until = change.map_or(self.spooled.len(), |(place, _)| place.start);
            if self.at < until {
                let end = until.min(self.at + BLOCK);
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
