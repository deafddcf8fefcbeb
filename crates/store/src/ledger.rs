//! The ledger: the size of every call's result before and after. It holds sizes and names, never content.
//!
//! A background thread writes calls in batches (`queue.rs`), so that no answer waits for the disk; a process that is killed
//! may lose its last batch. The ledger is a file of its own, so that its writes never wait for those of the artifacts: a
//! SQLite file, or JSON lines.

mod lines;
pub(crate) mod queue;
#[cfg(feature = "sqlite")]
mod read;
#[cfg(feature = "sqlite")]
mod schema;
#[cfg(feature = "sqlite")]
mod sqlite;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::clock::Millis;
use crate::error::StoreError;
pub use lines::{LineLedger, read_lines};
#[cfg(feature = "sqlite")]
pub use read::read_calls;
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteLedger;

/// How long calls are kept.
pub(crate) const RETENTION: Duration = Duration::from_secs(90 * 24 * 3600);

/// The record of one call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact: Option<String>,
    /// The session whose quota was used, such as a process; unknown for calls recorded before 0.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The view that a follow-up asked for, or `refused` if its arguments were invalid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view: Option<String>,
    /// Bytes that a new artifact takes in the store.
    pub stored_bytes: u64,
    /// How its tokens were counted; unknown for calls recorded before 0.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<CountMethod>,
    /// Tokens that the answer was allowed to have; 0 if it had no budget, or if that is unknown.
    #[serde(default)]
    pub budget_tokens: u64,
    /// Whose call it was, in a ledger that several owners share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
}

/// How tokens were counted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
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

    /// Waits until all calls recorded so far are written.
    fn flush(&self);
}
