//! Messages between the processes that share a store: what a client told one replica of a gateway and another one waits for,
//! and which sessions have ended.
//!
//! A message is a row, and a notification names it: notifications are short, and one that a replica misses while its
//! connection is lost is lost, but rows are not. Each is read at most once by a replica. Rows belong to the caller that sent
//! the message; who takes a message compares the owner with that of what waits for it.

use std::time::Duration;

use crate::artifact::Owner;
use crate::error::StoreError;

/// How long a message waits for a replica that cannot be reached.
pub const REPLICA_MESSAGE_TIME: Duration = Duration::from_secs(600);
/// How many messages of one caller may wait.
pub const MAX_WAITING_REPLICA_MESSAGES: usize = 2000;

/// Whose message it is, in which direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplicaMessageKind {
    /// The client of the session sent it.
    FromClient,
    /// It is for the client of the session, which may listen at another replica. Who delivers it must
    /// [`ReplicaMessages::claim`] it first.
    ForClient,
}

/// A message for one or all of the other replicas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicaMessage {
    /// Who sent it, or whose session it is for.
    pub owner: Owner,
    /// The session that it belongs to.
    pub session: String,
    /// In which direction it goes.
    pub kind: ReplicaMessageKind,
    /// The message.
    pub body: Vec<u8>,
}

/// What a replica learns from the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplicaEvent {
    /// A message, with its number.
    Message(i64, ReplicaMessage),
    /// A session has ended.
    SessionEnded(String),
    /// The connection was lost and is there again: sessions may have ended meanwhile. Messages were read.
    Reconnected,
    /// A line for the log.
    Note(String),
}

/// Takes what a replica learns.
pub type ReplicaInbox = Box<dyn Fn(ReplicaEvent) + Send + Sync>;

/// The way to the other replicas.
pub trait ReplicaMessages: Send + Sync {
    /// Sends a message to one replica, or to all others if `to` is empty. Returns its number.
    ///
    /// # Errors
    ///
    /// The store is out of reach, or too many messages of this caller wait.
    fn send(&self, from: &str, to: &str, message: &ReplicaMessage) -> Result<i64, StoreError>;

    /// Removes a message. Returns whether it was still there, so that nobody else has claimed it.
    ///
    /// # Errors
    ///
    /// The store is out of reach.
    fn claim(&self, owner: &Owner, number: i64) -> Result<bool, StoreError>;

    /// Notes that a session has ended, and tells the other replicas. The note is kept for some time.
    ///
    /// # Errors
    ///
    /// The store is out of reach.
    fn end_session(&self, owner: &Owner, session: &str, kept: Duration) -> Result<(), StoreError>;

    /// Returns which of some sessions have ended.
    ///
    /// # Errors
    ///
    /// The store is out of reach.
    fn ended_sessions(&self, sessions: &[String]) -> Result<Vec<String>, StoreError>;

    /// Begins to take what is for a replica of this name, until what it returns is dropped.
    fn listen(&self, replica: &str, inbox: ReplicaInbox) -> Box<dyn Send + Sync>;
}
