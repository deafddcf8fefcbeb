//! Collects one message as it arrives: in memory while it is small, then on disk, and nowhere once it is too large.
//!
//! The members of a spooled message are found as its bytes pass, so the id is known even of a message that is too large to
//! keep, and its request can be answered with an error.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::Arc;

use tidegate_gate::raw::skim::Skim;

use super::{Limits, Message, Spooled};
use crate::message::MessageHead;
use crate::task::TaskIdSearch;

/// A message above this size gets a buffer for the largest message in memory at once.
const RESERVE_ABOVE_BYTES: usize = 256 * 1024;
/// How many bytes are looked at together.
const EXAMINED_BYTES: usize = 64 * 1024;
/// The largest message that is kept in memory when it cannot be spooled.
const MAX_UNSPOOLED_BYTES: u64 = 32 << 20;

/// What arrived: a message, or one that was too large to keep.
#[derive(Debug)]
pub(crate) enum Received {
    Message(Message),
    TooLarge(TooLarge),
}

/// A message that was too large to keep.
#[derive(Debug)]
pub(crate) struct TooLarge {
    /// Its id, if it was seen.
    pub(crate) id: Option<Vec<u8>>,
    /// Why it was not kept: the rest of a sentence about the message.
    pub(crate) reason: String,
}

#[derive(Debug)]
enum Storage {
    Memory(Vec<u8>),
    Disk(File),
    /// Not kept, with the reason.
    Discarded(String),
}

/// Collects the bytes of one message after the other.
#[derive(Debug)]
pub(crate) struct MessageBuffer {
    limits: Arc<Limits>,
    storage: Storage,
    bytes: u64,
    skim: Skim,
    tasks: TaskIdSearch,
    /// Whether the overflow of this message was reported.
    reported: bool,
}

impl MessageBuffer {
    pub(crate) fn new(limits: Arc<Limits>) -> Self {
        let (storage, skim, tasks) = (Storage::Memory(Vec::new()), Skim::new(), TaskIdSearch::default());
        Self { limits, storage, bytes: 0, skim, tasks, reported: false }
    }

    /// Returns whether nothing has arrived.
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Returns how many bytes are in memory.
    #[cfg(feature = "fuzzing")]
    pub(crate) fn memory_bytes(&self) -> usize {
        if let Storage::Memory(bytes) = &self.storage { bytes.len() } else { 0 }
    }

    /// Takes bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        if let Storage::Memory(memory) = &mut self.storage
            && self.bytes <= self.limits.max_memory_bytes()
        {
            if self.bytes > RESERVE_ABOVE_BYTES as u64 {
                // Pages that are never written cost nothing, while a buffer that grows step by step would be copied
                // several times.
                memory.reserve_exact(self.limits.spool_above - memory.len());
            }
            memory.extend_from_slice(bytes);
            return;
        }
        if let Storage::Memory(memory) = &mut self.storage {
            let memory = std::mem::take(memory);
            self.examine(&memory);
            self.storage = match self.limits.spool(&memory) {
                Ok(file) => Storage::Disk(file),
                Err(error) => Storage::unspooled(memory, &error),
            };
        }
        self.examine(bytes);
        if self.bytes > self.limits.max_message_bytes {
            let reason = format!(
                "is larger than the limit of {} bytes; ask for less, or raise max_result_bytes",
                self.limits.max_message_bytes
            );
            self.storage = Storage::Discarded(reason);
        }
        self.storage.push(bytes, self.bytes);
    }

    /// Looks at the next bytes of a message that is not in memory.
    fn examine(&mut self, bytes: &[u8]) {
        // In small pieces, so that the second look finds them in the cache.
        for piece in bytes.chunks(EXAMINED_BYTES) {
            self.skim.push(piece);
            self.tasks.push(piece);
        }
    }

    /// Reports once that the message is too large, as soon as its id is known.
    pub(crate) fn overflow(&mut self) -> Option<TooLarge> {
        let Storage::Discarded(reason) = &self.storage else { return None };
        let id = self.skim.known("id")?.head.clone();
        let reported = std::mem::replace(&mut self.reported, true);
        (!reported).then(|| TooLarge { id: Some(id), reason: reason.clone() })
    }

    /// Ends the message and begins the next; returns `None` if the message was reported as too large already.
    pub(crate) fn finish(&mut self) -> Option<Received> {
        let mut ended = std::mem::replace(self, Self::new(Arc::clone(&self.limits)));
        match ended.storage {
            Storage::Memory(bytes) => Some(Received::Message(Message::Memory(bytes))),
            Storage::Disk(file) => {
                let long_strings = ended.skim.take_long_strings();
                let messages = ended.skim.finish().unwrap_or_default();
                let heads = messages.iter().map(MessageHead::of_spooled).collect();
                let may_name_task = ended.tasks.is_found();
                let spooled = Spooled::new(file, ended.bytes, heads, long_strings, may_name_task);
                Some(Received::Message(Message::Disk(Box::new(spooled))))
            }
            Storage::Discarded(_) if ended.reported => None,
            Storage::Discarded(reason) => {
                let id = ended.skim.known("id").map(|id| id.head.clone());
                Some(Received::TooLarge(TooLarge { id, reason }))
            }
        }
    }
}

impl Storage {
    /// Adds bytes; `length` is that of the message with them.
    fn push(&mut self, bytes: &[u8], length: u64) {
        match self {
            Self::Memory(memory) if length > MAX_UNSPOOLED_BYTES => {
                let kept = std::mem::take(memory).len();
                *self = Self::Discarded(format!(
                    "could not be spooled to disk, and no more than {kept} bytes are kept in memory; free disk space"
                ));
            }
            Self::Memory(memory) => memory.extend_from_slice(bytes),
            Self::Disk(file) => {
                if let Err(error) = file.write_all(bytes) {
                    *self = Self::read_back(file, length - bytes.len() as u64, &error);
                    self.push(bytes, length);
                }
            }
            Self::Discarded(_) => {}
        }
    }

    /// Keeps in memory what could not be spooled.
    fn unspooled(memory: Vec<u8>, error: &io::Error) -> Self {
        match memory.len() as u64 > MAX_UNSPOOLED_BYTES {
            true => Self::discarded(error),
            false => Self::Memory(memory),
        }
    }

    /// Reads back into memory what was spooled before the disk failed.
    fn read_back(file: &mut File, length: u64, error: &io::Error) -> Self {
        if length > MAX_UNSPOOLED_BYTES {
            return Self::discarded(error);
        }
        let mut memory = Vec::new();
        match file.seek(SeekFrom::Start(0)).and_then(|_| file.take(length).read_to_end(&mut memory)) {
            Ok(read) if read as u64 == length => Self::Memory(memory),
            _ => Self::discarded(error),
        }
    }

    fn discarded(error: &io::Error) -> Self {
        Self::Discarded(format!("could not be spooled to disk ({error}); free disk space"))
    }
}

impl Limits {
    /// Returns a new spool file that starts with some bytes.
    fn spool(&self, bytes: &[u8]) -> io::Result<File> {
        let configured = self.folder.as_ref().map(tempfile::tempfile_in);
        let mut file = match configured {
            Some(Ok(file)) => file,
            _ => tempfile::tempfile()?,
        };
        file.write_all(bytes)?;
        Ok(file)
    }
}

#[cfg(test)]
mod tests {
    use tidegate_core::payload::Payload;

    use super::*;

    fn receive(limits: Limits, pieces: &[&[u8]]) -> Option<Received> {
        let mut buffer = MessageBuffer::new(Arc::new(limits));
        pieces.iter().for_each(|piece| buffer.push(piece));
        buffer.finish()
    }

    #[test]
    fn a_long_message_goes_to_disk_and_comes_back_whole() {
        let folder = tempfile::tempdir().unwrap();
        let limits =
            Limits { spool_above: 40, max_message_bytes: 1000, folder: Some(folder.path().to_owned()) };
        let message = br#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"text":"0123456789"}]}}"#;
        let pieces: Vec<&[u8]> = message.chunks(7).collect();
        let Some(Received::Message(Message::Disk(mut spooled))) = receive(limits, &pieces) else { panic!() };
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "the file has no name");
        let result = spooled.heads[0].result.clone().unwrap();
        let mut edits = Edits::new();
        edits.replace(result, b"{}".to_vec());
        let whole = Message::Disk(spooled.clone()).into_bytes().unwrap();
        spooled.edit(edits);
        assert_eq!(whole, message);
        let around = spooled.between(b"data: ", b"\n\n");
        let mut out = Vec::new();
        around.write_to(&mut out).unwrap();
        assert_eq!(out, b"data: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n\n");
    }

    use tidegate_gate::raw::Edits;

    #[test]
    fn a_long_text_is_read_from_disk_as_from_memory() {
        let text = r#"a \"quote\", a backslash \\ "#.repeat(8000);
        let message = format!(
            r#"{{"jsonrpc":"2.0","id":7,"result":{{"content":[{{"type":"text","text":"{text}"}},{{"type":"text","text":"b"}}],"isError":true}}}}"#
        );
        let limits = Limits { spool_above: 100_000, max_message_bytes: 1 << 20, folder: None };
        let pieces: Vec<&[u8]> = message.as_bytes().chunks(5000).collect();
        let Some(Received::Message(Message::Disk(spooled))) = receive(limits, &pieces) else { panic!() };
        let start = message.find(&text).unwrap() as u64;
        assert_eq!(spooled.source().string_end(start), Some(start + text.len() as u64));
        let range = spooled.heads[0].result.clone().unwrap();
        let part = spooled.part(&range);
        let on_disk = Payload::read_result(&part).unwrap();
        let in_memory = &message.as_bytes()[range];
        let in_memory = Payload::read_result(&in_memory).unwrap();
        assert_eq!(format!("{:?}", on_disk.blocks), format!("{:?}", in_memory.blocks));
        assert_eq!(on_disk.is_error, Some(true));
    }

    #[test]
    fn a_message_that_is_too_large_is_reported_once() {
        let limits = Arc::new(Limits { spool_above: 10, max_message_bytes: 60, folder: None });
        let mut buffer = MessageBuffer::new(limits);
        buffer.push(br#"{"jsonrpc":"2.0","id":"a","result":{"#);
        assert!(buffer.overflow().is_none());
        buffer.push(&[b' '; 60]);
        assert_eq!(buffer.overflow().unwrap().id.unwrap(), b"\"a\"");
        buffer.push(b"}}");
        assert!(buffer.overflow().is_none());
        assert!(buffer.finish().is_none());
        buffer.push(b"next");
        assert!(matches!(buffer.finish(), Some(Received::Message(Message::Memory(line))) if line == b"next"));
    }

    #[test]
    fn the_largest_message_may_be_smaller_than_the_spool_threshold() {
        let limits = Limits { spool_above: 1000, max_message_bytes: 10, folder: None };
        assert!(matches!(receive(limits.clone(), &[b"0123456789"]), Some(Received::Message(_))));
        assert!(matches!(receive(limits, &[b"0123456789", b"x"]), Some(Received::TooLarge(_))));
    }

    #[test]
    fn an_id_at_the_end_is_found() {
        let limits = Limits { spool_above: 10, max_message_bytes: 30, folder: None };
        let long = [&br#"{"result":""#[..], &[b'x'; 60], br#"","id":5}"#].concat();
        let Some(Received::TooLarge(found)) = receive(limits, &[&long]) else { panic!() };
        assert_eq!(found.id.unwrap(), b"5");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_full_disk_is_replaced_by_memory() {
        // Its writes fail with "no space left".
        let full = File::options().read(true).write(true).open("/dev/full").unwrap();
        let mut storage = Storage::Disk(full);
        storage.push(b"later", 5);
        assert!(matches!(&storage, Storage::Memory(held) if held == b"later"));
        storage.push(b"x", MAX_UNSPOOLED_BYTES + 1);
        assert!(matches!(storage, Storage::Discarded(_)));
    }
}
