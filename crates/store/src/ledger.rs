//! What each call cost before and after: sizes and names, never what was said.
//!
//! Notes are written by a thread of their own, in batches, so that no answer waits for them; losing the last batch
//! when the process is killed is allowed. The ledger is a file of its own, so that its writes never meet those of
//! the artifacts.

mod read;
mod schema;

use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::{Connection, params};

use crate::clock::Millis;
use crate::error::StoreError;
use crate::home::make_private_file;
pub use read::read_calls;

/// How long notes wait for others to be written with them.
const WAIT: Duration = Duration::from_millis(250);
/// Notes that are written without waiting for more.
const BATCH: usize = 1000;
/// For how long notes are kept.
const KEPT: Duration = Duration::from_secs(90 * 24 * 3600);

/// What is noted of one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// When it ended.
    pub at: Millis,
    /// The client's name.
    pub client: String,
    /// The server's name.
    pub server: String,
    /// The tool.
    pub tool: String,
    /// What was done. With a result: `pass`, `whole` (for a program), `observe`, or a way to shape it: `lossless` or a
    /// style. With a follow-up: `view`, or `fetch` where it came through the tool itself. With a list of tools: `list`, or
    /// `list-more` for further pages of it.
    pub step: String,
    /// Bytes of the whole result.
    pub raw_bytes: u64,
    /// Tokens of the whole result.
    pub raw_tokens: u64,
    /// Bytes of the answer.
    pub sent_bytes: u64,
    /// Tokens of the answer.
    pub sent_tokens: u64,
    /// Microseconds that were added to the call.
    pub added_micros: u64,
    /// The artifact, where one was made or read.
    pub artifact: Option<String>,
    /// What shares a quota, such as a process; unknown in notes of version 0.1.0 and earlier.
    pub session: Option<String>,
    /// Which part a follow-up asked for: the name of the view, or `refused` where it made no sense.
    pub view: Option<String>,
    /// Bytes that the artifact takes in the store, where one was made.
    pub stored_bytes: u64,
    /// How its tokens were counted; unknown in notes of version 0.1.0 and earlier.
    pub counted: Option<Counted>,
}

/// How tokens were counted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Counted {
    /// The name of the vocabulary.
    pub vocabulary: String,
    /// By how many percent the count was raised.
    pub margin_percent: u32,
}

/// Notes what calls cost.
pub trait Ledger: Send + Sync {
    /// Notes a call. Never waits, and never fails the call.
    fn note(&self, call: Call);

    /// Returns the calls since a time, oldest first.
    ///
    /// # Errors
    ///
    /// A ledger that cannot be read.
    fn calls(&self, since: Millis, most: usize) -> Result<Vec<Call>, StoreError>;
}

enum Message {
    /// There is something to write, soon.
    Noted,
    /// Write everything noted so far, then say so.
    Flush(Sender<()>),
}

/// What waits to be written. Whoever notes a call only adds it: waking the writer for each would cost more than the note.
type Waiting = Arc<Mutex<Vec<Call>>>;

fn lock(waiting: &Waiting) -> MutexGuard<'_, Vec<Call>> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The ledger in a SQLite file.
pub struct SqliteLedger {
    waiting: Waiting,
    sender: Option<Sender<Message>>,
    writer: Option<JoinHandle<()>>,
    path: std::path::PathBuf,
}

impl SqliteLedger {
    /// Opens the file at a path, and makes it if there is none.
    ///
    /// # Errors
    ///
    /// A file that cannot be used.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        make_private_file(path).map_err(|error| StoreError::Unusable(Box::new(error)))?;
        let mut connection = connect(path)?;
        schema::prepare(&mut connection)?;
        let (sender, receiver) = channel();
        let waiting = Waiting::default();
        let noted = Arc::clone(&waiting);
        let writer = std::thread::Builder::new()
            .name("tidegate-ledger".into())
            .spawn(move || write_all(connection, &receiver, &noted))
            .map_err(|error| StoreError::Unusable(Box::new(error)))?;
        Ok(Self { waiting, sender: Some(sender), writer: Some(writer), path: path.to_owned() })
    }

    /// Waits until everything noted so far is written.
    pub fn flush(&self) {
        let (done, wait) = channel();
        if self.sender.as_ref().is_some_and(|sender| sender.send(Message::Flush(done)).is_ok()) {
            // A writer that is gone has nothing left to write.
            let _ = wait.recv();
        }
    }
}

fn connect(path: &Path) -> Result<Connection, StoreError> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(Duration::from_secs(5))?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    Ok(connection)
}

impl Ledger for SqliteLedger {
    fn note(&self, call: Call) {
        let count = {
            let mut waiting = lock(&self.waiting);
            waiting.push(call);
            waiting.len()
        };
        if let Some(sender) = self.sender.as_ref().filter(|_| count == 1 || count == BATCH) {
            // Without a writer there is no ledger, and the call must not suffer for it.
            let _ = sender.send(Message::Noted);
        }
    }

    fn calls(&self, since: Millis, most: usize) -> Result<Vec<Call>, StoreError> {
        self.flush();
        let mut calls = Vec::new();
        read::each(&connect(&self.path)?, since, most, &mut |call| calls.push(call))?;
        Ok(calls)
    }
}

impl Drop for SqliteLedger {
    fn drop(&mut self) {
        self.sender = None;
        if let Some(writer) = self.writer.take() {
            // What a writer that panicked had not written is lost, which is allowed.
            let _ = writer.join();
        }
    }
}

fn write_all(mut connection: Connection, receiver: &Receiver<Message>, waiting: &Waiting) {
    while let Ok(first) = receiver.recv() {
        // A little later there are more to write together, unless somebody waits or they are many already.
        let flush = match first {
            Message::Flush(done) => Some(done),
            Message::Noted => match receiver.recv_timeout(WAIT) {
                Ok(Message::Flush(done)) => Some(done),
                _ => None,
            },
        };
        let calls = std::mem::take(&mut *lock(waiting));
        // A ledger on a full disk loses notes, not calls.
        let _ = write_batch(&mut connection, &calls);
        if let Some(done) = flush {
            let _ = done.send(());
        }
    }
    let _ = write_batch(&mut connection, &std::mem::take(&mut *lock(waiting)));
}

fn write_batch(connection: &mut Connection, calls: &[Call]) -> rusqlite::Result<()> {
    let Some(newest) = calls.iter().map(|call| call.at).max() else { return Ok(()) };
    let transaction = connection.transaction()?;
    {
        let mut statement = transaction.prepare_cached(schema::INSERT)?;
        for call in calls {
            let counted = call.counted.as_ref();
            statement.execute(params![
                call.at.0,
                call.client,
                call.server,
                call.tool,
                call.step,
                call.raw_bytes.cast_signed(),
                call.raw_tokens.cast_signed(),
                call.sent_bytes.cast_signed(),
                call.sent_tokens.cast_signed(),
                call.added_micros.cast_signed(),
                call.artifact,
                call.session,
                call.view,
                call.stored_bytes.cast_signed(),
                counted.map(|counted| &counted.vocabulary),
                counted.map(|counted| counted.margin_percent),
            ])?;
        }
    }
    transaction.execute("DELETE FROM call WHERE at < ?1", [newest.before(KEPT).0])?;
    transaction.commit()
}
