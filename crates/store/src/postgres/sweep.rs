//! Deletes what is no longer needed: expired artifacts, bodies that were never finished, objects that nothing refers to.
//!
//! It works in small transactions that skip locked rows, so that several processes can sweep at once and nobody waits long. An
//! artifact that has not expired is never deleted.

use std::time::Duration;

use super::Shared;
use super::database::Scope;
use super::failure::Failure;
use super::release::{DeletedArtifact, Released, release};
use crate::artifact::Swept;
use crate::error::StoreError;

/// A body that is unfinished, or an object that is unused, for longer than this was left behind by a process that has ended.
const UNFINISHED_TIMEOUT: Duration = Duration::from_secs(3600);
/// The maximum number of artifacts deleted in one transaction.
const BATCH_ARTIFACTS: i64 = 200;
/// After so many objects in a row that could not be removed, the object store is taken to be out of reach.
#[cfg(feature = "objects")]
const MAX_OBJECT_FAILURES: u32 = 3;
/// The maximum number of unfinished bodies or objects listed at a time.
const BATCH_LEFTOVERS: i64 = 100;

const DELETE_EXPIRED: &str = "DELETE FROM artifact WHERE id IN
    (SELECT id FROM artifact WHERE expires <= $1 ORDER BY expires LIMIT $2 FOR UPDATE SKIP LOCKED)
    RETURNING owner, session, body";

impl Shared {
    pub(super) async fn sweep(&self) -> Result<Swept, StoreError> {
        let mut swept = self.sweep_expired().await?;
        while self.retry(|_| self.forget_empty_quotas()).await? > 0 {}
        self.retry(|_| self.sweep_replicas()).await?;
        #[cfg(feature = "objects")]
        {
            swept.bodies += self.sweep_objects().await?;
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
        swept.bodies += self.sweep_unfinished().await?;
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

    async fn sweep_unfinished(&self) -> Result<u64, StoreError> {
        let until = self.clock.certain_now().before(UNFINISHED_TIMEOUT).0;
        let sql = "SELECT id FROM body WHERE NOT visible AND created <= $1 ORDER BY created LIMIT $2";
        let mut swept = 0;
        loop {
            let rows = self.query(&Scope::AllOwners, sql, &[&until, &BATCH_LEFTOVERS]).await?;
            let mut dropped = 0;
            for row in &rows {
                let id: i64 = row.get(0);
                dropped += u64::from(self.retry(|_| self.try_drop_pending(&Scope::AllOwners, id)).await?);
            }
            swept += dropped;
            if dropped == 0 {
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

        /// Puts an object that cannot be removed behind the others. It is tried again after [`UNFINISHED_TIMEOUT`].
        async fn postpone(&self, object: &str) -> Result<(), Failure> {
            let transaction = self.database.begin(&Scope::AllOwners).await?;
            let sql = "UPDATE orphan SET since = $2 WHERE object = $1";
            transaction.execute(sql, &[&object, &self.clock.certain_now().0]).await?;
            transaction.commit().await
        }

        /// Removes the objects of processes that have ended, and those that could not be removed with their bodies.
        pub(super) async fn sweep_objects(&self) -> Result<u64, StoreError> {
            let until = self.clock.certain_now().before(UNFINISHED_TIMEOUT).0;
            let sql = "SELECT object FROM orphan WHERE since <= $1 ORDER BY since LIMIT $2";
            let (mut swept, mut failures) = (0, 0);
            loop {
                let rows = self.query(&Scope::AllOwners, sql, &[&until, &BATCH_LEFTOVERS]).await?;
                let mut removed = 0;
                for row in &rows {
                    let object: String = row.get(0);
                    match self.retry(|_| self.try_discard(&object)).await {
                        Ok(is_removed) => {
                            removed += u64::from(is_removed);
                            failures = 0;
                        }
                        Err(error) => {
                            self.retry(|_| self.postpone(&object)).await?;
                            failures += 1;
                            if failures == MAX_OBJECT_FAILURES {
                                return Err(error);
                            }
                        }
                    }
                }
                swept += removed;
                if removed == 0 {
                    return Ok(swept);
                }
            }
        }
    }
}
