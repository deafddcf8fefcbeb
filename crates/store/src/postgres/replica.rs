//! Messages between replicas, and the sessions that have ended, in the database.
//!
//! A message is always a row, whatever its size: a notification may have 8,000 bytes, is not kept for a replica whose
//! connection is lost, and everybody who may connect to the database can listen. It names the row and nothing else.

use std::sync::Arc;
use std::time::Duration;

use super::database::Scope;
use super::failure::Failure;
use super::listen::{Listener, channel};
use super::{PostgresStore, Shared, text};
use crate::artifact::Owner;
use crate::error::StoreError;
use crate::replica::{
    MAX_WAITING_REPLICA_MESSAGES, REPLICA_MESSAGE_TIME, ReplicaInbox, ReplicaMessage, ReplicaMessageKind,
    ReplicaMessages,
};

/// What begins the notification of a message, before the replica that it is for and the number of its row.
pub(super) const MESSAGE: &str = "message";
/// What begins the notification of a session that has ended.
pub(super) const SESSION_ENDED: &str = "ended";

const INSERT: &str =
    "INSERT INTO replica_message (token, owner, session, sender, replica, for_client, body, expires)
    SELECT $1, $2, $3, $4, $5, $6, $7, $8
    WHERE (SELECT count(*) FROM replica_message WHERE owner = $2) < $9
    RETURNING number";
const NOTIFY: &str = "SELECT pg_notify($1, $2)::text";
const END: &str = "INSERT INTO ended_session (session, owner, expires) VALUES ($1, $2, $3)
    ON CONFLICT (session) DO NOTHING";
const ENDED: &str = "SELECT session FROM ended_session WHERE session = ANY($1::text[])";
const COLUMNS: &str = "number, owner, session, for_client, body";

impl ReplicaMessages for PostgresStore {
    fn send(&self, from: &str, to: &str, message: &ReplicaMessage) -> Result<i64, StoreError> {
        let (from, to, message) = (from.to_owned(), to.to_owned(), message.clone());
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(|error| StoreError::Unusable(error.to_string().into()))?;
        let token = i64::from_le_bytes(random);
        self.run(|shared| async move {
            shared.retry(|is_ambiguous| shared.try_send(&from, &to, &message, token, is_ambiguous)).await
        })
    }

    fn claim(&self, owner: &Owner, number: i64) -> Result<bool, StoreError> {
        let owner = owner.clone();
        // Without another attempt after a lost connection: nobody may deliver it twice.
        self.run(|shared| async move {
            let claimed = async {
                let transaction = shared.database.begin(&Scope::Owner(owner.clone())).await?;
                let sql = "DELETE FROM replica_message WHERE number = $1 AND owner = $2";
                let removed = transaction.execute(sql, &[&number, &owner.as_str()]).await?;
                transaction.commit().await?;
                Ok::<_, Failure>(removed > 0)
            };
            claimed.await.map_err(Failure::into_error)
        })
    }

    fn end_session(&self, owner: &Owner, session: &str, kept: Duration) -> Result<(), StoreError> {
        let (owner, session) = (owner.clone(), text(session));
        // Ended twice, it has ended.
        self.run(|shared| async move { shared.retry(|_| shared.try_end(&owner, &session, kept)).await })
    }

    fn ended_sessions(&self, sessions: &[String]) -> Result<Vec<String>, StoreError> {
        let sessions = sessions.to_vec();
        self.run(|shared| async move {
            let rows = shared.query(&Scope::AllOwners, ENDED, &[&sessions]).await?;
            Ok(rows.iter().map(|row| row.get(0)).collect())
        })
    }

    fn listen(&self, replica: &str, inbox: ReplicaInbox) -> Box<dyn Send + Sync> {
        let listener = Listener::new(Arc::clone(&self.shared), replica.to_owned(), inbox);
        Box::new(Listening {
            task: self.worker.handle().spawn(listener.run()).abort_handle(),
            _worker: Arc::clone(&self.worker),
        })
    }
}

/// Ends the task that listens when it is dropped.
struct Listening {
    task: tokio::task::AbortHandle,
    _worker: Arc<super::Worker>,
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Shared {
    async fn try_send(
        &self,
        from: &str,
        to: &str,
        message: &ReplicaMessage,
        token: i64,
        is_ambiguous: bool,
    ) -> Result<i64, Failure> {
        let ReplicaMessage { owner, kind, body, .. } = message;
        let session = text(&message.session);
        let transaction = self.database.begin(&Scope::Owner(owner.clone())).await?;
        let owner_text = owner.as_str();
        if is_ambiguous {
            let sent = "SELECT number FROM replica_message WHERE token = $1 AND owner = $2";
            if let Some(row) = transaction.query_one(sent, &[&token, &owner_text]).await? {
                transaction.rollback().await;
                return Ok(row.get(0));
            }
        }
        let sealed = self.codec().seal_message(owner, &session, body);
        let expires = self.clock.now().after(REPLICA_MESSAGE_TIME).0;
        let (for_client, limit) =
            (*kind == ReplicaMessageKind::ForClient, MAX_WAITING_REPLICA_MESSAGES as i64);
        let row = transaction
            .query_one(
                INSERT,
                &[&token, &owner_text, &session, &from, &to, &for_client, &sealed, &expires, &limit],
            )
            .await?;
        let Some(number) = row.map(|row| row.get::<_, i64>(0)) else {
            transaction.rollback().await;
            let why = "too many messages of this caller wait for other replicas";
            return Err(StoreError::Unusable(why.into()).into());
        };
        let payload = format!("{MESSAGE} {from} {number} {to}");
        transaction.query(NOTIFY, &[&channel(&self.schema), &payload]).await?;
        transaction.commit().await?;
        Ok(number)
    }

    async fn try_end(&self, owner: &Owner, session: &str, kept: Duration) -> Result<(), Failure> {
        let transaction = self.database.begin(&Scope::Owner(owner.clone())).await?;
        let expires = self.clock.now().after(kept).0;
        transaction.execute(END, &[&session, &owner.as_str(), &expires]).await?;
        let payload = format!("{SESSION_ENDED} {session}");
        transaction.query(NOTIFY, &[&channel(&self.schema), &payload]).await?;
        transaction.commit().await
    }

    /// Returns the messages of some numbers.
    pub(super) async fn messages_of(
        &self,
        numbers: &[i64],
    ) -> Result<Vec<(i64, ReplicaMessage)>, StoreError> {
        let sql =
            format!("SELECT {COLUMNS} FROM replica_message WHERE number = ANY($1::bigint[]) ORDER BY number");
        self.open_messages(self.query(&Scope::AllOwners, &sql, &[&numbers]).await?).await
    }

    /// Returns the messages for a replica whose number is above another.
    pub(super) async fn messages_for(
        &self,
        replica: &str,
        above: i64,
    ) -> Result<Vec<(i64, ReplicaMessage)>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM replica_message
             WHERE replica IN ('', $1) AND sender <> $1 AND number > $2 ORDER BY number"
        );
        self.open_messages(self.query(&Scope::AllOwners, &sql, &[&replica, &above]).await?).await
    }

    /// Returns the number of the newest message.
    pub(super) async fn newest_message(&self) -> Result<i64, StoreError> {
        let sql = "SELECT coalesce(max(number), 0) FROM replica_message";
        let rows = self.query(&Scope::AllOwners, sql, &[]).await?;
        Ok(rows.first().map_or(0, |row| row.get(0)))
    }

    /// Removes messages that the replica for which they were has read. What fails is left to a sweep.
    pub(super) async fn forget_messages(&self, replica: &str, numbers: &[i64]) {
        let forgotten = async {
            let transaction = self.database.begin(&Scope::AllOwners).await?;
            let sql = "DELETE FROM replica_message WHERE number = ANY($1::bigint[]) AND replica = $2";
            transaction.execute(sql, &[&numbers, &replica]).await?;
            transaction.commit().await
        };
        let _: Result<(), Failure> = forgotten.await;
    }

    /// Deletes messages that nobody took, and notes of sessions whose tokens are not valid any more.
    pub(super) async fn sweep_replicas(&self) -> Result<(), Failure> {
        let now = self.clock.certain_now().0;
        let transaction = self.database.begin(&Scope::AllOwners).await?;
        transaction.execute("DELETE FROM replica_message WHERE expires <= $1", &[&now]).await?;
        transaction.execute("DELETE FROM ended_session WHERE expires <= $1", &[&now]).await?;
        transaction.commit().await
    }

    /// Opens messages; those that do not open are left out.
    async fn open_messages(
        &self,
        rows: Vec<tokio_postgres::Row>,
    ) -> Result<Vec<(i64, ReplicaMessage)>, StoreError> {
        let mut messages = Vec::with_capacity(rows.len());
        for row in &rows {
            let (owner, session) = (Owner::new(row.get::<_, String>(1)), row.get::<_, String>(2));
            let open = || self.codec().open_message(&owner, &session, row.get::<_, Vec<u8>>(4));
            let body = match open() {
                // Another process may have changed the key of the store.
                Err(_) if self.has_new_key().await? => open(),
                opened => opened,
            };
            let kind = match row.get(3) {
                true => ReplicaMessageKind::ForClient,
                false => ReplicaMessageKind::FromClient,
            };
            if let Ok(body) = body {
                messages.push((row.get(0), ReplicaMessage { owner, session, kind, body }));
            }
        }
        Ok(messages)
    }
}
