//! The one connection on which a replica listens for notifications of the others.
//!
//! It begins again when it is lost, and then reads the rows of what was sent meanwhile. A message that was read once is not
//! read again: its number is remembered.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::timeout;

use super::Shared;
use super::replica::{MESSAGE, SESSION_ENDED};
use crate::error::StoreError;
use crate::replica::{ReplicaEvent, ReplicaInbox, ReplicaMessage};

/// The first pause before connecting again; each further one is twice as long, up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// How often a quiet connection is tried, and how long the answer may take: a peer that is gone says nothing.
const CHECK_INTERVAL: Duration = Duration::from_secs(20);
const CHECK_TIMEOUT: Duration = Duration::from_secs(10);
/// How many messages are remembered as read.
const MAX_READ: usize = 10_000;

/// Returns the channel of a store. Channels belong to the database, in which each schema is a store of its own.
pub(super) fn channel(schema: &str) -> String {
    format!("tidegate_{}", &blake3::hash(schema.as_bytes()).to_hex()[..16])
}

/// Which messages a replica has read.
struct ReadMessages {
    /// Messages up to this number have been read.
    floor: i64,
    numbers: BTreeSet<i64>,
}

impl ReadMessages {
    /// Notes that a message is read; returns whether it had not been.
    fn note(&mut self, number: i64) -> bool {
        let is_new = self.numbers.insert(number);
        while self.numbers.len() > MAX_READ {
            self.floor = self.numbers.pop_first().unwrap_or(self.floor);
        }
        is_new
    }
}

/// A replica that listens.
pub(super) struct Listener {
    shared: Arc<Shared>,
    replica: String,
    inbox: ReplicaInbox,
    /// `None` before the first connection.
    read: Option<ReadMessages>,
}

impl Listener {
    pub(super) fn new(shared: Arc<Shared>, replica: String, inbox: ReplicaInbox) -> Self {
        Self { shared, replica, inbox, read: None }
    }

    fn note(&self, line: String) {
        (self.inbox)(ReplicaEvent::Note(line));
    }

    /// Listens until the task is aborted.
    pub(super) async fn run(mut self) {
        let (mut pause, mut was_lost) = (FIRST_PAUSE, false);
        loop {
            let why = match self.connect().await {
                Ok((client, notifications)) => {
                    pause = FIRST_PAUSE;
                    if was_lost {
                        self.note(
                            "messages of other replicas arrive again; those that were missed are read".into(),
                        );
                        (self.inbox)(ReplicaEvent::Reconnected);
                        was_lost = false;
                    }
                    self.take_all(&client, notifications).await
                }
                Err(error) => error,
            };
            if !was_lost {
                let cause = causes(&why);
                self.note(format!("messages of other replicas do not arrive ({cause}); trying again"));
                was_lost = true;
            }
            tokio::time::sleep(pause).await;
            pause = (2 * pause).min(LONGEST_PAUSE);
        }
    }

    /// Connects, and reads what was missed.
    async fn connect(
        &mut self,
    ) -> Result<(tokio_postgres::Client, mpsc::UnboundedReceiver<String>), StoreError> {
        let channel = channel(&self.shared.schema);
        let listening = self.shared.database.listen(&channel).await.map_err(super::Failure::into_error)?;
        match &self.read {
            // What came before this replica is not for it.
            None => {
                let floor = self.shared.newest_message().await?;
                self.read = Some(ReadMessages { floor, numbers: BTreeSet::new() });
            }
            Some(read) => {
                let missed = self.shared.messages_for(&self.replica, read.floor).await?;
                self.hand_over(missed).await;
            }
        }
        Ok(listening)
    }

    /// Takes notifications until the connection is lost.
    async fn take_all(
        &mut self,
        client: &tokio_postgres::Client,
        mut notifications: mpsc::UnboundedReceiver<String>,
    ) -> StoreError {
        loop {
            let first = match timeout(CHECK_INTERVAL, notifications.recv()).await {
                Ok(Some(first)) => first,
                Ok(None) => return StoreError::Unusable("the database closed the connection".into()),
                Err(_) => match timeout(CHECK_TIMEOUT, client.batch_execute("")).await {
                    Ok(Ok(())) => continue,
                    Ok(Err(error)) => return StoreError::Unusable(Box::new(error)),
                    Err(_) => return StoreError::Unusable("the database does not answer".into()),
                },
            };
            let mut numbers = Vec::new();
            let mut next = Some(first);
            while let Some(notification) = next {
                self.note_notification(&notification, &mut numbers);
                next = notifications.try_recv().ok();
            }
            if numbers.is_empty() {
                continue;
            }
            match self.shared.messages_of(&numbers).await {
                Ok(messages) => self.hand_over(messages).await,
                // They are read when the connection is there again.
                Err(error) => return error,
            }
        }
    }

    /// Reads a notification: a session that has ended, or the number of a message.
    fn note_notification(&self, notification: &str, numbers: &mut Vec<i64>) {
        let mut words = notification.split(' ');
        match (words.next(), words.next()) {
            (Some(SESSION_ENDED), Some(session)) => {
                (self.inbox)(ReplicaEvent::SessionEnded(session.to_owned()));
            }
            (Some(MESSAGE), Some(sender)) if sender != self.replica => {
                let number = words.next().and_then(|number| number.parse::<i64>().ok());
                let to = words.next().unwrap_or_default();
                numbers.extend(number.filter(|_| to.is_empty() || to == self.replica));
            }
            _ => {}
        }
    }

    async fn hand_over(&mut self, messages: Vec<(i64, ReplicaMessage)>) {
        let Some(read) = &mut self.read else { return };
        let new: Vec<_> = messages.into_iter().filter(|(number, _)| read.note(*number)).collect();
        if new.is_empty() {
            return;
        }
        let numbers: Vec<i64> = new.iter().map(|(number, _)| *number).collect();
        for (number, message) in new {
            (self.inbox)(ReplicaEvent::Message(number, message));
        }
        self.shared.forget_messages(&self.replica, &numbers).await;
    }
}

/// Returns an error with its causes.
fn causes(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", causes(source)),
        None => error.to_string(),
    }
}
