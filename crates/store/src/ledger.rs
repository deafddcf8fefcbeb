//! The ledger: the size of every call's result before and after. It holds sizes and names, never content.
//!
//! A background thread writes calls in batches, so that no answer waits for the disk; a process that is killed may lose
//! its last batch. The ledger has its own file, so that its writes never wait for those of the artifacts.

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
use crate::home::ensure_private_file;
pub use read::read_calls;

/// How long the writer waits for more calls to write in the same transaction.
const BATCH_DELAY: Duration = Duration::from_millis(250);
/// Number of waiting calls at which the writer stops waiting for more.
const BATCH_CALLS: usize = 1000;
/// How long calls are kept.
const RETENTION: Duration = Duration::from_secs(90 * 24 * 3600);

/// The record of one call.
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
    /// What tidegate did. For a result: `pass`, `whole` (for a program), `observe`, `lossless`, or the name of a style. For
    /// a follow-up: `view`, or `fetch` if it came through the tool itself. For a call that was answered without running the
    /// tool: `refused`. For an artifact that a tool stored itself: `artifact`. For a list of tools: `list`, or `list-more`
    /// for its further pages.
    pub step: String,
    /// Bytes of the whole result.
    pub raw_bytes: u64,
    /// Tokens of the whole result.
    pub raw_tokens: u64,
    /// Bytes of the answer.
    pub sent_bytes: u64,
    /// Tokens of the answer.
    pub sent_tokens: u64,
    /// Microseconds that tidegate added to the call.
    pub added_micros: u64,
    /// The id of the artifact that was stored or read.
    pub artifact: Option<String>,
    /// The session whose quota was used, such as a process; unknown for calls recorded before 0.1.0.
    pub session: Option<String>,
    /// The view that a follow-up asked for, or `refused` if its arguments were invalid.
    pub view: Option<String>,
    /// Bytes that a new artifact takes in the store.
    pub stored_bytes: u64,
    /// How its tokens were counted; unknown for calls recorded before 0.1.0.
    pub counted: Option<CountMethod>,
    /// Tokens that the answer was allowed to have; 0 if it had no budget, or if that is unknown.
    pub budget_tokens: u64,
}

/// How tokens were counted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CountMethod {
    /// The name of the vocabulary.
    pub vocabulary: String,
    /// Percent added to the count.
    pub margin_percent: u32,
}

/// A record of calls.
pub trait Ledger: Send + Sync {
    /// Records a call. It neither waits nor fails.
    fn note(&self, call: Call);

    /// Returns at most `limit` calls since a time, oldest first.
    ///
    /// # Errors
    ///
    /// The ledger cannot be read.
    fn calls(&self, since: Millis, limit: usize) -> Result<Vec<Call>, StoreError>;
}

enum WriterMessage {
    /// Calls are waiting; write them soon.
    CallsWaiting,
    /// Write all waiting calls now, then answer.
    Flush(Sender<()>),
}

/// Calls that wait to be written. Recording a call only adds to the list: waking the writer each time would cost more than
/// the record itself.
type WaitingCalls = Arc<Mutex<Vec<Call>>>;

fn lock(waiting: &WaitingCalls) -> MutexGuard<'_, Vec<Call>> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A ledger in a SQLite file.
pub struct SqliteLedger {
    waiting: WaitingCalls,
    sender: Option<Sender<WriterMessage>>,
    writer: Option<JoinHandle<()>>,
    path: std::path::PathBuf,
}

impl SqliteLedger {
    /// Opens the file at a path, and creates it if there is none.
    ///
    /// # Errors
    ///
    /// The file cannot be created, opened or written.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        ensure_private_file(path).map_err(|error| StoreError::Unusable(Box::new(error)))?;
        let mut connection = connect(path)?;
        schema::prepare(&mut connection)?;
        let (sender, receiver) = channel();
        let waiting = WaitingCalls::default();
        let to_write = Arc::clone(&waiting);
        let writer = std::thread::Builder::new()
            .name("tidegate-ledger".into())
            .spawn(move || run_writer(connection, &receiver, &to_write))
            .map_err(|error| StoreError::Unusable(Box::new(error)))?;
        Ok(Self { waiting, sender: Some(sender), writer: Some(writer), path: path.to_owned() })
    }

    /// Waits until all calls recorded so far are written.
    pub fn flush(&self) {
        let (done, wait) = channel();
        if self.sender.as_ref().is_some_and(|sender| sender.send(WriterMessage::Flush(done)).is_ok()) {
            // An error means that the writer has ended, with nothing left to write.
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
        if let Some(sender) = self.sender.as_ref().filter(|_| count == 1 || count == BATCH_CALLS) {
            // If the writer has ended, the record is lost, not the call.
            let _ = sender.send(WriterMessage::CallsWaiting);
        }
    }

    fn calls(&self, since: Millis, limit: usize) -> Result<Vec<Call>, StoreError> {
        self.flush();
        let mut calls = Vec::new();
        read::for_each_call(&connect(&self.path)?, since, limit, &mut |call| calls.push(call))?;
        Ok(calls)
    }
}

impl Drop for SqliteLedger {
    fn drop(&mut self) {
        self.sender = None;
        if let Some(writer) = self.writer.take() {
            // If the writer panicked, the calls it had not written are lost, which is allowed.
            let _ = writer.join();
        }
    }
}

/// The background thread: writes batches until the ledger is dropped.
fn run_writer(mut connection: Connection, receiver: &Receiver<WriterMessage>, waiting: &WaitingCalls) {
    while let Ok(first) = receiver.recv() {
        // Waits for more calls, unless somebody waits for a flush or the batch is full.
        let flush = match first {
            WriterMessage::Flush(done) => Some(done),
            WriterMessage::CallsWaiting => match receiver.recv_timeout(BATCH_DELAY) {
                Ok(WriterMessage::Flush(done)) => Some(done),
                _ => None,
            },
        };
        let calls = std::mem::take(&mut *lock(waiting));
        // On a full disk the ledger loses records; calls are answered all the same.
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
                call.budget_tokens.cast_signed(),
            ])?;
        }
    }
    transaction.execute("DELETE FROM call WHERE at < ?1", [newest.before(RETENTION).0])?;
    transaction.commit()
}
