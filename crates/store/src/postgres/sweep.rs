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
/// After so many objects in a row that could not be removed, the object store is taken to be out of reach.
#[cfg(feature = "objects")]
const MAX_OBJECT_FAILURES: u32 = 3;
/// The maximum number of unfinished bodies or objects listed at a time.
const BATCH_LEFTOVERS: i64 = 100;

/// The ids are an array because that is selected once. A subquery after `IN` may be run again for each row, and would then go
/// beyond its limit, since it skips the rows that the statement has already deleted.
const DELETE_EXPIRED: &str = "DELETE FROM artifact WHERE id = ANY(ARRAY
    (SELECT id FROM artifact WHERE expires <= $1 ORDER BY expires LIMIT $2 FOR UPDATE SKIP LOCKED))
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
        while self.retry(|_| self.forget_empty_quotas()).await? > 0 {}
        self.retry(|_| self.sweep_replicas()).await?;
        #[cfg(feature = "objects")]
        {
            swept.bodies += self.sweep_leftovers(Leftovers::Objects).await?;
        }
        Ok(swept)
    }

    /// Deletes expired artifacts and unfinished bodies, which frees room in the quotas.
    pub(super) async fn sweep_expired(&self) -> Result<Swept, StoreError> {
        let (mut swept, mut limit) = (Swept::default(), BATCH_ARTIFACTS);
        loop {
            let Released { swept: batch, objects } = match self.retry(|_| self.sweep_batch(limit)).await {
                Ok(released) => released,
                // Their bodies have more chunks than can be deleted in the time that a statement has.
                Err(StoreError::Busy) if limit > 1 => {
                    limit /= 2;
                    continue;
                }
                Err(error) => return Err(error),
            };
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

    async fn sweep_batch(&self, limit: i64) -> Result<Released, Failure> {
        let transaction = self.database.begin(&Scope::AllOwners).await?;
        let rows = transaction.query(DELETE_EXPIRED, &[&self.clock.certain_now().0, &limit]).await?;
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
        #[cfg(feature = "objects")]
        let mut failures = 0;
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
                        self.discard_or_postpone(&object, &mut failures).await?
                    }
                });
            }
            swept += removed;
            if removed == 0 {
                return Ok(swept);
            }
        }
    }

    /// Deletes the rows of sessions and owners that have nothing left, and returns how many. Each session over HTTP is an owner.
    async fn forget_empty_quotas(&self) -> Result<u64, Failure> {
        let transaction = self.database.begin(&Scope::AllOwners).await?;
        let sql = "DELETE FROM quota_use WHERE (scope, owner, session) IN
            (SELECT scope, owner, session FROM quota_use WHERE scope > 0 AND artifacts = 0 AND stored = 0
             LIMIT 1000 FOR UPDATE SKIP LOCKED)";
        let deleted = transaction.execute(sql, &[]).await?;
        transaction.commit().await?;
        Ok(deleted)
    }

    #[cfg(not(feature = "objects"))]
    pub(super) async fn remove_objects(&self, _: Vec<String>) {}
}
#[cfg(feature = "objects")]
mod objects {
    use super::*;

    impl Shared {
        /// Removes objects that nothing refers to any more, until one cannot be removed: the others would take as long to
        /// fail. A sweep removes those that are left.
        pub(in crate::postgres) async fn remove_objects(&self, objects: Vec<String>) {
            for object in objects {
                if self.discard_object(object).await.is_err() {
                    return;
                }
            }
        }

        /// Removes an object, unless a body refers to it and it is therefore no orphan.
        pub(in crate::postgres) async fn discard_object(&self, object: String) -> Result<(), StoreError> {
            self.retry(|_| self.try_discard(&object)).await.map(drop)
        }

        async fn try_discard(&self, object: &str) -> Result<bool, Failure> {
            let Some(objects) = &self.objects else { return Ok(false) };
            let transaction = self.database.begin(&Scope::AllOwners).await?;
            let sql = "DELETE FROM orphan WHERE object = $1 RETURNING upload";
            let Some(row) = transaction.query_one(sql, &[&object]).await? else {
                transaction.rollback().await;
                return Ok(false);
            };
            let aborted = match row.get::<_, Option<String>>(0) {
                Some(upload) => objects.abort(object, &upload).await,
                None => Ok(()),
            };
            // The object is deleted before its row is: if this fails, the row stays, and a sweep tries again.
            objects.delete(object).await?;
            aborted?;
            transaction.commit().await?;
            Ok(true)
        }

        /// Removes an object, or, if that fails, puts it behind the others: it is tried again after [`UNFINISHED_TIMEOUT`].
        /// Fails if too many in a row could not be removed.
        pub(super) async fn discard_or_postpone(
            &self,
            object: &str,
            failures: &mut u32,
        ) -> Result<bool, StoreError> {
            match self.retry(|_| self.try_discard(object)).await {
                Ok(is_removed) => {
                    *failures = 0;
                    Ok(is_removed)
                }
                Err(error) => {
                    self.retry(|_| self.postpone(object)).await?;
                    *failures += 1;
                    if *failures < MAX_OBJECT_FAILURES { Ok(false) } else { Err(error) }
                }
            }
        }

        async fn postpone(&self, object: &str) -> Result<(), Failure> {
            let transaction = self.database.begin(&Scope::AllOwners).await?;
            let sql = "UPDATE orphan SET since = $2 WHERE object = $1";
            transaction.execute(sql, &[&object, &self.clock.certain_now().0]).await?;
            transaction.commit().await
        }
    }
}
