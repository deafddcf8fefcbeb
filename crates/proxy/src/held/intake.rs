//! One message as it arrives: in memory as long as it is small, then on disk, and nowhere once it is larger than can be
//! taken. What it is, and whose answer, is read as it passes, so that even one that is not kept can be answered for.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::Arc;

use tidegate_gate::raw::skim::Skim;

use super::{Limits, Message, Spooled};

/// What is larger is given all the room it can need.
const LARGE: usize = 256 * 1024;
/// What is held in memory after all where nothing can be spooled.
const INSTEAD: u64 = 32 << 20;

/// A message that is there, or one that could not be taken.
#[derive(Debug)]
pub(crate) enum Framed {
    Message(Message),
    TooLong(TooLong),
}

/// A message that could not be taken.
#[derive(Debug)]
pub(crate) struct TooLong {
    /// The id it has, if it was seen.
    pub(crate) id: Option<Vec<u8>>,
    /// Why it could not, in words.
    pub(crate) why: String,
}

#[derive(Debug)]
enum Body {
    Memory(Vec<u8>),
    Disk(File),
    Nowhere(String),
}

/// Takes in the bytes of one message after the other.
#[derive(Debug)]
pub(crate) struct Intake {
    limits: Arc<Limits>,
    body: Body,
    bytes: u64,
    skim: Skim,
    /// Whether it was told that the message cannot be taken.
    told: bool,
}

impl Intake {
    pub(crate) fn new(limits: Arc<Limits>) -> Self {
        Self { limits, body: Body::Memory(Vec::new()), bytes: 0, skim: Skim::new(), told: false }
    }

    /// Returns whether nothing has come.
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Returns how many bytes are held in memory.
    #[cfg(feature = "fuzzing")]
    pub(crate) fn held(&self) -> usize {
        if let Body::Memory(held) = &self.body { held.len() } else { 0 }
    }

    /// Takes bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        if let Body::Memory(held) = &mut self.body
            && self.bytes <= self.limits.in_memory()
        {
            if self.bytes > LARGE as u64 {
                // All the room it can need, at once: pages that are not written cost nothing, but growing step by step
                // would hold the message several times.
                held.reserve_exact(self.limits.spool_above - held.len());
            }
            held.extend_from_slice(bytes);
            return;
        }
        if let Body::Memory(held) = &mut self.body {
            let held = std::mem::take(held);
            self.skim.push(&held);
            self.body = match self.limits.spool(&held) {
                Ok(file) => Body::Disk(file),
                Err(error) => Body::kept(held, &error),
            };
        }
        self.skim.push(bytes);
        if self.bytes > self.limits.most {
            let why = format!(
                "is larger than {} bytes, the most that is taken; ask for less, or set max_result_bytes higher",
                self.limits.most
            );
            self.body = Body::Nowhere(why);
        }
        self.body.push(bytes, self.bytes);
    }

    /// Returns, once, that the message cannot be taken, as soon as it is known whose answer it is.
    pub(crate) fn overflow(&mut self) -> Option<TooLong> {
        let Body::Nowhere(why) = &self.body else { return None };
        let id = self.skim.known("id")?.head.clone();
        (!std::mem::replace(&mut self.told, true)).then(|| TooLong { id: Some(id), why: why.clone() })
    }

    /// Ends the message and begins the next; `None` where it was told already that it could not be taken.
    pub(crate) fn finish(&mut self) -> Option<Framed> {
        let ended = std::mem::replace(self, Self::new(Arc::clone(&self.limits)));
        match ended.body {
            Body::Memory(bytes) => Some(Framed::Message(Message::Memory(bytes))),
            Body::Disk(file) => {
                let messages = ended.skim.finish().unwrap_or_default();
                Some(Framed::Message(Message::Disk(Box::new(Spooled::new(file, ended.bytes, messages)))))
            }
            Body::Nowhere(_) if ended.told => None,
            Body::Nowhere(why) => {
                let id = ended.skim.known("id").map(|id| id.head.clone());
                Some(Framed::TooLong(TooLong { id, why }))
            }
        }
    }
}

impl Body {
    fn push(&mut self, bytes: &[u8], all: u64) {
        match self {
            Self::Memory(held) if all > INSTEAD => {
                let held = std::mem::take(held).len();
                *self = Self::Nowhere(format!(
                    "could not be spooled to disk, and no more than {held} bytes are held; make room on the disk"
                ));
            }
            Self::Memory(held) => held.extend_from_slice(bytes),
            Self::Disk(file) => {
                if let Err(error) = file.write_all(bytes) {
                    *self = Self::back(file, all - bytes.len() as u64, &error);
                    self.push(bytes, all);
                }
            }
            Self::Nowhere(_) => {}
        }
    }

    /// What was to be spooled is held instead.
    fn kept(held: Vec<u8>, error: &io::Error) -> Self {
        if held.len() as u64 > INSTEAD { Self::lost(error) } else { Self::Memory(held) }
    }

    /// What was spooled so far is held instead, now that the disk takes no more.
    fn back(file: &mut File, length: u64, error: &io::Error) -> Self {
        if length > INSTEAD {
            return Self::lost(error);
        }
        let mut held = Vec::new();
        match file.seek(SeekFrom::Start(0)).and_then(|_| file.take(length).read_to_end(&mut held)) {
            Ok(read) if read as u64 == length => Self::Memory(held),
            _ => Self::lost(error),
        }
    }

    fn lost(error: &io::Error) -> Self {
        Self::Nowhere(format!("could not be spooled to disk ({error}); make room on the disk"))
    }
}

impl Limits {
    /// Returns a new file without a name that holds some bytes.
    fn spool(&self, bytes: &[u8]) -> io::Result<File> {
        let named = self.folder.as_ref().map(tempfile::tempfile_in);
        let mut file = match named {
            Some(Ok(file)) => file,
            _ => tempfile::tempfile()?,
        };
        file.write_all(bytes)?;
        Ok(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(limits: Limits, pieces: &[&[u8]]) -> Option<Framed> {
        let mut intake = Intake::new(Arc::new(limits));
        pieces.iter().for_each(|piece| intake.push(piece));
        intake.finish()
    }

    #[test]
    fn a_long_message_goes_to_disk_and_comes_back_whole() {
        let folder = tempfile::tempdir().unwrap();
        let limits = Limits { spool_above: 40, most: 1000, folder: Some(folder.path().to_owned()) };
        let message = br#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"text":"0123456789"}]}}"#;
        let pieces: Vec<&[u8]> = message.chunks(7).collect();
        let Some(Framed::Message(Message::Disk(mut spooled))) = take(limits, &pieces) else { panic!() };
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "the file has no name");
        let result = spooled.messages[0].member("result").unwrap().value.clone();
        let mut edits = Edits::new();
        edits.replace(result, b"{}".to_vec());
        let whole = Message::Disk(spooled.clone()).into_bytes().unwrap();
        spooled.change(edits);
        assert_eq!(whole, message);
        let around = spooled.between(b"data: ", b"\n\n");
        let mut out = Vec::new();
        around.write_to(&mut out).unwrap();
        assert_eq!(out, b"data: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n\n");
    }

    use tidegate_gate::raw::Edits;

    #[test]
    fn one_that_is_too_long_is_answered_for_once() {
        let limits = Arc::new(Limits { spool_above: 10, most: 60, folder: None });
        let mut intake = Intake::new(limits);
        intake.push(br#"{"jsonrpc":"2.0","id":"a","result":{"#);
        assert!(intake.overflow().is_none());
        intake.push(&[b' '; 60]);
        assert_eq!(intake.overflow().unwrap().id.unwrap(), b"\"a\"");
        intake.push(b"}}");
        assert!(intake.overflow().is_none());
        assert!(intake.finish().is_none());
        intake.push(b"next");
        assert!(matches!(intake.finish(), Some(Framed::Message(Message::Memory(line))) if line == b"next"));
    }

    #[test]
    fn the_largest_message_may_be_smaller_than_what_is_held() {
        let limits = Limits { spool_above: 1000, most: 10, folder: None };
        assert!(matches!(take(limits.clone(), &[b"0123456789"]), Some(Framed::Message(_))));
        assert!(matches!(take(limits, &[b"0123456789", b"x"]), Some(Framed::TooLong(_))));
    }

    #[test]
    fn an_id_at_the_end_is_found() {
        let limits = Limits { spool_above: 10, most: 30, folder: None };
        let long = [&br#"{"result":""#[..], &[b'x'; 60], br#"","id":5}"#].concat();
        let Some(Framed::TooLong(found)) = take(limits, &[&long]) else { panic!() };
        assert_eq!(found.id.unwrap(), b"5");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_disk_that_takes_nothing_is_done_without() {
        // Its writes fail with "no space left".
        let full = File::options().read(true).write(true).open("/dev/full").unwrap();
        let mut body = Body::Disk(full);
        body.push(b"later", 5);
        assert!(matches!(&body, Body::Memory(held) if held == b"later"));
        body.push(b"x", INSTEAD + 1);
        assert!(matches!(body, Body::Nowhere(_)));
    }
}
