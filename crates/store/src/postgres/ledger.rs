//! The ledger in the database that holds the artifacts, by owner.
//!
//! A separate thread writes the calls in batches, so that no answer waits for it; a process that is killed may lose its last
//! batch. Each record is JSON, so that an older program can read what a newer one wrote.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::Shared;
use super::database::Scope;
use super::failure::Failure;
use super::worker::Worker;
use crate::artifact::Owner;
use crate::clock::Millis;
use crate::error::StoreError;
use crate::ledger::queue::CallQueue;
use crate::ledger::{Call, Ledger, RETENTION};

/// How often calls older than [`RETENTION`] are deleted.
const CLEANING_INTERVAL: Duration = Duration::from_secs(3600);
/// The owner in the rows of calls that have none.
const NO_OWNER: &str = "";

/// A ledger in PostgreSQL.
pub struct PostgresLedger {
    queue: CallQueue,
    shared: Arc<Shared>,
    worker: Arc<Worker>,
}

impl PostgresLedger {
    pub(super) fn start(shared: Arc<Shared>, worker: Arc<Worker>) -> Result<Self, StoreError> {
        let (writer, store) = (Arc::clone(&worker), Arc::clone(&shared));
        let mut cleaned = Millis(0);
        let queue = CallQueue::start(move |calls| {
            let newest = calls.iter().map(|call| call.at).max().unwrap_or(Millis(0));
            let old = (newest >= cleaned.after(CLEANING_INTERVAL)).then(|| newest.before(RETENTION));
            if old.is_some() {
                cleaned = newest;
            }
            let (store, calls) = (Arc::clone(&store), calls.to_vec());
            // Losing a batch is acceptable: the answers were sent.
            drop(writer.run(async move { store.record(&calls, old).await }));
        })?;
        Ok(Self { queue, shared, worker })
    }

    /// Returns at most `limit` calls of one owner since a time, oldest first.
    ///
    /// # Errors
    ///
    /// The ledger cannot be read.
    pub fn calls_of(&self, owner: &Owner, since: Millis, limit: usize) -> Result<Vec<Call>, StoreError> {
        self.queue.flush();
        let (shared, owner) = (Arc::clone(&self.shared), owner.clone());
        self.worker.run(async move { shared.calls(Some(owner), since, limit).await })
    }
}

impl Ledger for PostgresLedger {
    fn note(&self, call: Call) {
        self.queue.push(call);
    }

    fn calls(&self, since: Millis, limit: usize) -> Result<Vec<Call>, StoreError> {
        self.queue.flush();
        let shared = Arc::clone(&self.shared);
        self.worker.run(async move { shared.calls(None, since, limit).await })
    }

    fn flush(&self) {
        self.queue.flush();
    }
}

impl Shared {
    async fn record(&self, calls: &[Call], delete_before: Option<Millis>) -> Result<(), StoreError> {
        let mut by_owner: BTreeMap<&str, Vec<&Call>> = BTreeMap::new();
        for call in calls {
            by_owner.entry(call.owner.as_deref().unwrap_or(NO_OWNER)).or_default().push(call);
        }
        for (owner, calls) in by_owner {
            // Not repeated after a lost connection, because a call must not count twice.
            self.insert_calls(owner, &calls).await.map_err(Failure::into_error)?;
        }
        if let Some(before) = delete_before {
            // A machine whose clock is ahead deletes no calls early.
            let before = self.clock.there(before);
            self.retry(|_| self.delete_calls(before)).await?;
        }
        Ok(())
    }

    async fn insert_calls(&self, owner: &str, calls: &[&Call]) -> Result<(), Failure> {
        let times: Vec<i64> = calls.iter().map(|call| call.at.0).collect();
        let records: Vec<String> =
            calls.iter().map(|call| serde_json::to_string(call).unwrap_or_default()).collect();
        let transaction = self.database.begin(&Scope::Owner(Owner::new(owner))).await?;
        let sql = "INSERT INTO call (owner, at, record)
                   SELECT $1, at, record FROM unnest($2::bigint[], $3::text[]) AS noted (at, record)";
        transaction.execute(sql, &[&owner, &times, &records]).await?;
        transaction.commit().await
    }

    async fn delete_calls(&self, before: Millis) -> Result<(), Failure> {
        let transaction = self.database.begin(&Scope::AllOwners).await?;
        transaction.execute("DELETE FROM call WHERE at < $1", &[&before.0]).await?;
        transaction.commit().await
    }

    async fn calls(
        &self,
        owner: Option<Owner>,
        since: Millis,
        limit: usize,
    ) -> Result<Vec<Call>, StoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows = match owner {
            Some(owner) => {
                let sql =
                    "SELECT record FROM call WHERE owner = $3 AND at >= $1 ORDER BY at, number LIMIT $2";
                self.query(&Scope::Owner(owner.clone()), sql, &[&since.0, &limit, &owner.as_str()]).await?
            }
            None => {
                let sql = "SELECT record FROM call WHERE at >= $1 ORDER BY at, number LIMIT $2";
                self.query(&Scope::AllOwners, sql, &[&since.0, &limit]).await?
            }
        };
        // A record that this version cannot read is skipped, as a damaged line of a file is.
        Ok(rows.iter().filter_map(|row| serde_json::from_str(row.get(0)).ok()).collect())
    }
}
