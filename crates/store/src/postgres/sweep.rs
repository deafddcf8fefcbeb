//! Deletes what is no longer needed: expired artifacts, bodies that were never finished, objects that nothing refers to.
//!
//! It works in small transactions that skip locked rows, so that several processes can sweep at once and nobody waits long. An
//! artifact that has not expired is never deleted.

use std::time::Duration;

use super::Shared;
use super::database::{Parameter, Scope};
use super::failure::Failure;
use super::release::{DeletedArtifact, Released, release};
use crate::artifact::Swept;
use crate::error::StoreError;

/// A body that is unfinished, or an object that is unused, for longer than this was left behind by a process that has ended. An
/// hour, not the ten minutes of SQLite: other machines write over a network, and to an object store that may be slow for a while.
const UNFINISHED_TIMEOUT: Duration = Duration::from_secs(3600);
/// The maximum number of artifacts deleted in one transaction.
const BATCH_ARTIFACTS: i64 = 200;
/// The maximum number of unfinished bodies or objects listed at a time.
const BATCH_LEFTOVERS: i64 = 100;

const DELETE_EXPIRED: &str = "DELETE FROM artifact WHERE id IN
    (SELECT id FROM artifact WHERE expires <= $1 ORDER BY expires LIMIT $2 FOR UPDATE SKIP LOCKED)
    RETURNING owner, session, body";

/// What processes that have ended left behind.
#[derive(Clone, Copy)]
enum Leftovers {
    /// Bodies that were never finished.
    Bodies,
    /// Objects that nothing refers to, also those that could not be removed with their bodies.
    #[cfg(feature = "objects")]
    Objects,
}

impl Leftovers {
    fn query(self) -> &'static str {
        match self {
            Self::Bodies => {
                "SELECT id FROM body WHERE NOT visible AND created <= $1 ORDER BY created LIMIT $2"
            }
            #[cfg(feature = "objects")]
            Self::Objects => "SELECT object FROM orphan WHERE since <= $1 ORDER BY since LIMIT $2",
        }
    }
}

impl Shared {
    pub(super) async fn sweep(&self) -> Result<Swept, StoreError> {
        let mut swept = self.sweep_expired().await?;
        self.retry(|_| self.forget_empty_sessions()).await?;
        self.retry(|_| self.sweep_replicas()).await?;
        #[cfg(feature = "objects")]
        {
            swept.bodies += self.sweep_leftovers(Leftovers::Objects).await?;
        }
        Ok(swept)
    }

    /// Deletes expired artifacts and unfinished bodies, which frees room in the quotas.
    pub(super) async fn sweep_expired(&self) -> Result<Swept, StoreError> {
        let mut swept = Swept::default();
        loop {
            let Released { swept: batch, objects } = self.retry(|_| self.sweep_batch()).await?;
            self.remove_objects(objects).await;
            swept.artifacts += batch.artifacts;
            swept.bodies += batch.bodies;
            swept.freed_bytes += batch.freed_bytes;
            if batch.artifacts == 0 {
                break;
            }
        }
        swept.bodies += self.sweep_leftovers(Leftovers::Bodies).await?;
        Ok(swept)
    }

    async fn sweep_batch(&self) -> Result<Released, Failure> {
        let transaction = self.database.begin(&Scope::AllOwners).await?;
        let rows =
            transaction.query(DELETE_EXPIRED, &[&self.clock.certain_now().0, &BATCH_ARTIFACTS]).await?;
        if rows.is_empty() {
            transaction.rollback().await;
            return Ok(Released::default());
        }
        let deleted: Vec<DeletedArtifact> = rows
            .iter()
            .map(|row| DeletedArtifact { owner: row.get(0), session: row.get(1), body: row.get(2) })
            .collect();
        let released = release(&transaction, &deleted).await?;
        transaction.commit().await?;
        Ok(released)
    }

    /// Removes leftovers in batches, until no more of them can be removed; returns how many were.
    async fn sweep_leftovers(&self, leftovers: Leftovers) -> Result<u64, StoreError> {
        let until = self.clock.certain_now().before(UNFINISHED_TIMEOUT).0;
        let mut swept = 0;
        loop {
            let values: [Parameter<'_>; 2] = [&until, &BATCH_LEFTOVERS];
            let rows = self.query(&Scope::AllOwners, leftovers.query(), &values).await?;
            let mut removed = 0;
            for row in &rows {
                removed += u64::from(match leftovers {
                    Leftovers::Bodies => {
                        let id: i64 = row.get(0);
                        self.retry(|_| self.try_drop_pending(&Scope::AllOwners, id)).await?
                    }
                    #[cfg(feature = "objects")]
                    Leftovers::Objects => {
                        let object: String = row.get(0);
                        self.retry(|_| self.try_discard(&object)).await?
                    }
                });
            }
            swept += removed;
            if removed == 0 {
                return Ok(swept);
            }
        }
    }

    /// Deletes the rows of sessions that have nothing left.
    async fn forget_empty_sessions(&self) -> Result<(), Failure> {
        let transaction = self.database.begin(&Scope::AllOwners).await?;
        let sql = "DELETE FROM quota_use WHERE (scope, owner, session) IN
            (SELECT scope, owner, session FROM quota_use WHERE scope = 2 AND artifacts = 0 AND stored = 0
             LIMIT 1000 FOR UPDATE SKIP LOCKED)";
        transaction.execute(sql, &[]).await?;
        transaction.commit().await
    }

    #[cfg(not(feature = "objects"))]
    pub(super) async fn remove_objects(&self, _: Vec<String>) {}
}
#[cfg(feature = "objects")]
mod objects {
    use super::*;

    impl Shared {
        /// Removes objects that nothing refers to any more. A sweep retries those that cannot be removed.
        pub(in crate::postgres) async fn remove_objects(&self, objects: Vec<String>) {
            for object in objects {
                drop(self.discard_object(object).await);
            }
        }

        /// Removes an object, unless a body refers to it and it is therefore no orphan.
        pub(in crate::postgres) async fn discard_object(&self, object: String) -> Result<(), StoreError> {
            self.retry(|_| self.try_discard(&object)).await.map(drop)
        }

        pub(super) async fn try_discard(&self, object: &str) -> Result<bool, Failure> {
            let Some(objects) = &self.objects else { return Ok(false) };
            let transaction = self.database.begin(&Scope::AllOwners).await?;
            let sql = "DELETE FROM orphan WHERE object = $1";
            if transaction.execute(sql, &[&object]).await? == 0 {
                transaction.rollback().await;
                return Ok(false);
            }
            // The object is deleted before its row is: if this fails, the row stays, and a sweep tries again.
            objects.delete(object).await?;
            transaction.commit().await?;
            Ok(true)
        }
    }
}
