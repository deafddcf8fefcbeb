//! Writes a large body as rows, in several transactions. It stays invisible until `publish` adds its artifact.
//!
//! Each transaction charges the quotas with what it wrote. A body that is never finished is swept, and its charge refunded.

use std::sync::Arc;

use super::Shared;
use super::charge::charge_bytes;
use super::database::Scope;
use super::failure::Failure;
use super::publish::insert_packed;
use crate::artifact::{Owner, Quotas};
use crate::chunks::Packed;
use crate::clock::Millis;
use crate::error::StoreError;

/// A body that is being written as rows.
#[derive(Debug, Clone)]
pub(super) struct PendingBody {
    pub(super) owner: Owner,
    pub(super) session: String,
    pub(super) hash: [u8; 32],
    pub(super) bytes: u64,
    /// `None` before the first batch.
    pub(super) id: Option<i64>,
    /// The number of chunks written so far.
    pub(super) chunks: i32,
    pub(super) created: Millis,
    /// The quotas that the body must fit.
    pub(super) quotas: Quotas,
}

impl Shared {
    /// Writes the next chunks of a body and returns its id.
    pub(super) async fn append(
        &self,
        body: &PendingBody,
        packed: &Arc<Vec<Packed>>,
    ) -> Result<i64, StoreError> {
        self.retry(|is_ambiguous| self.try_append(body, packed, is_ambiguous)).await
    }

    async fn try_append(
        &self,
        body: &PendingBody,
        packed: &[Packed],
        is_ambiguous: bool,
    ) -> Result<i64, Failure> {
        let owner = body.owner.as_str();
        let transaction = self.database.begin(&Scope::Owner(body.owner.clone())).await?;
        let id = match body.id {
            Some(id) => id,
            // If the answer to an earlier attempt was lost, its row is swept later.
            None => {
                let sql = "INSERT INTO body (owner, session, hash, bytes, stored, visible, created, object)
                           VALUES ($1, $2, $3, $4, 0, false, $5, NULL) RETURNING id";
                let bytes = body.bytes.cast_signed();
                let rows = transaction
                    .query(sql, &[&owner, &body.session, &body.hash.as_slice(), &bytes, &body.created.0])
                    .await?;
                rows[0].get(0)
            }
        };
        let written = "SELECT 1 FROM chunk WHERE body = $1 AND owner = $2 AND number = $3";
        if is_ambiguous
            && body.id.is_some()
            && transaction.query_one(written, &[&id, &owner, &body.chunks]).await?.is_some()
        {
            transaction.rollback().await;
            return Ok(id);
        }
        insert_packed(&transaction, id, owner, body.chunks, packed).await?;
        let size = packed.iter().map(|chunk| chunk.data.len() as i64).sum::<i64>();
        let grown = "UPDATE body SET stored = stored + $3 WHERE id = $1 AND owner = $2 AND NOT visible";
        if transaction.execute(grown, &[&id, &owner, &size]).await? == 0 {
            return Err(StoreError::Unusable("its rows were swept while they were written".into()).into());
        }
        let used = charge_bytes(&transaction, (owner, &body.session), size).await?;
        if let Err(error) = used.check(body.quotas, size.unsigned_abs()) {
            transaction.rollback().await;
            return Err(error.into());
        }
        transaction.commit().await?;
        Ok(id)
    }

    /// Deletes an unfinished body and refunds its charge. A finished one stays.
    pub(super) async fn drop_pending(&self, owner: Owner, id: i64) -> Result<(), StoreError> {
        let scope = Scope::Owner(owner);
        self.retry(|_| self.try_drop_pending(&scope, id)).await.map(drop)
    }

    /// Returns whether there was such a body.
    pub(super) async fn try_drop_pending(&self, scope: &Scope, id: i64) -> Result<bool, Failure> {
        let transaction = self.database.begin(scope).await?;
        let locked = "SELECT owner, session, stored FROM body WHERE id = $1 AND NOT visible FOR UPDATE";
        let Some(row) = transaction.query_one(locked, &[&id]).await? else {
            transaction.rollback().await;
            return Ok(false);
        };
        let (owner, session, stored): (String, String, i64) = (row.get(0), row.get(1), row.get(2));
        transaction.execute("DELETE FROM chunk WHERE body = $1 AND owner = $2", &[&id, &owner]).await?;
        transaction.execute("DELETE FROM body WHERE id = $1 AND owner = $2", &[&id, &owner]).await?;
        charge_bytes(&transaction, (&owner, &session), -stored).await?;
        transaction.commit().await?;
        Ok(true)
    }
}
