//! Deletes artifacts and the bodies that no artifact refers to any more, and refunds their charge.
//!
//! Every transaction takes its locks in the same order: artifacts, bodies, then the quota rows of session, owner and store. Each
//! `put` waits for the last, so it is locked after everything that takes long.

use std::collections::{BTreeMap, BTreeSet};

use super::Shared;
use super::database::{Parameter, Scope, Transaction};
use super::failure::Failure;
use crate::artifact::{Owner, Swept};
use crate::error::StoreError;
use crate::id::ArtifactId;

const LOCK_BODIES: &str =
    "SELECT id, owner, stored, object FROM body WHERE id = ANY($1) ORDER BY id FOR UPDATE";
const LOCK_QUOTAS: &str = "SELECT 1 FROM quota_use WHERE scope = 0 OR (scope = 1 AND owner = ANY($1))
    OR (scope, owner, session) IN (SELECT 2, * FROM unnest($1::text[], $2::text[]))
    ORDER BY scope DESC, owner, session FOR UPDATE";
const STILL_USED: &str = "SELECT DISTINCT body, session FROM artifact WHERE body = ANY($1)";
const GIVE_BACK: &str =
    "UPDATE quota_use q SET artifacts = q.artifacts - d.artifacts, stored = q.stored - d.stored
    FROM unnest($1::smallint[], $2::text[], $3::text[], $4::bigint[], $5::bigint[])
        AS d (scope, owner, session, artifacts, stored)
    WHERE q.scope = d.scope AND q.owner = d.owner AND q.session = d.session";
pub(super) const ORPHAN_OBJECTS: &str = "INSERT INTO orphan SELECT object, 0 FROM unnest($1::text[]) AS o (object) ON CONFLICT (object) DO NOTHING";

/// An artifact that was deleted.
#[derive(Debug, Clone)]
pub(super) struct DeletedArtifact {
    pub(super) owner: String,
    pub(super) session: String,
    pub(super) body: i64,
}

/// What deleting artifacts has freed.
#[derive(Debug, Default)]
pub(super) struct Released {
    pub(super) swept: Swept,
    /// Objects that nothing refers to any more.
    pub(super) objects: Vec<String>,
}

/// Artifacts and bytes to refund, by scope, owner and session.
#[derive(Default)]
pub(super) struct Refund(BTreeMap<(i16, String, String), (i64, i64)>);

impl Refund {
    pub(super) fn add(&mut self, scope: i16, owner: &str, session: &str, artifacts: i64, stored: i64) {
        let sums = self.0.entry((scope, owner.to_owned(), session.to_owned())).or_default();
        sums.0 += artifacts;
        sums.1 += stored;
    }
}

impl Shared {
    pub(super) async fn delete(&self, owner: Owner, id: ArtifactId) -> Result<(), StoreError> {
        let released = self.retry(|is_ambiguous| self.try_delete(&owner, &id, is_ambiguous)).await?;
        self.remove_objects(released.objects).await;
        Ok(())
    }

    async fn try_delete(
        &self,
        owner: &Owner,
        id: &ArtifactId,
        is_ambiguous: bool,
    ) -> Result<Released, Failure> {
        let transaction = self.database.begin(&Scope::Owner(owner.clone())).await?;
        let sql = "DELETE FROM artifact WHERE id = $1 AND owner = $2 RETURNING session, body";
        let Some(row) = transaction.query_one(sql, &[&id.as_str(), &owner.as_str()]).await? else {
            transaction.rollback().await;
            // An earlier attempt may have deleted it, and only its answer was lost.
            return if is_ambiguous { Ok(Released::default()) } else { Err(StoreError::NotFound.into()) };
        };
        let deleted =
            DeletedArtifact { owner: owner.as_str().to_owned(), session: row.get(0), body: row.get(1) };
        let released = release(&transaction, &[deleted]).await?;
        transaction.commit().await?;
        Ok(released)
    }
}

/// Deletes the bodies that no artifact refers to any more, and refunds the artifacts that this transaction has deleted.
pub(super) async fn release(
    transaction: &Transaction,
    deleted: &[DeletedArtifact],
) -> Result<Released, Failure> {
    let bodies: BTreeSet<i64> = deleted.iter().map(|artifact| artifact.body).collect();
    let bodies: Vec<i64> = bodies.into_iter().collect();
    let locked = transaction.query(LOCK_BODIES, &[&bodies]).await?;
    // Queried under the locks: nobody can add an artifact to these bodies until this transaction ends.
    let used = transaction.query(STILL_USED, &[&bodies]).await?;
    let used: BTreeSet<(i64, String)> = used.iter().map(|row| (row.get(0), row.get(1))).collect();
    let used_bodies: BTreeSet<i64> = used.iter().map(|(body, _)| *body).collect();

    let (mut refund, mut released, mut unused) = (Refund::default(), Released::default(), Vec::new());
    for artifact in deleted {
        refund.add(2, &artifact.owner, &artifact.session, 1, 0);
        refund.add(1, &artifact.owner, "", 1, 0);
        refund.add(0, "", "", 1, 0);
    }
    let of_sessions: BTreeSet<(i64, &str)> =
        deleted.iter().map(|artifact| (artifact.body, artifact.session.as_str())).collect();
    for row in &locked {
        let (body, owner, stored, object): (i64, String, i64, Option<String>) =
            (row.get(0), row.get(1), row.get(2), row.get(3));
        for (_, session) in of_sessions.range((body, "")..(body + 1, "")) {
            if !used.contains(&(body, (*session).to_owned())) {
                refund.add(2, &owner, session, 0, stored);
            }
        }
        if !used_bodies.contains(&body) {
            refund.add(1, &owner, "", 0, stored);
            refund.add(0, "", "", 0, stored);
            released.swept.bodies += 1;
            released.swept.freed_bytes += stored.unsigned_abs();
            released.objects.extend(object);
            unused.push(body);
        }
    }
    released.swept.artifacts = deleted.len() as u64;
    transaction
        .pipeline(&[
            (ORPHAN_OBJECTS, &[&released.objects]),
            ("DELETE FROM chunk WHERE body = ANY($1)", &[&unused]),
            ("DELETE FROM body WHERE id = ANY($1)", &[&unused]),
        ])
        .await?;
    let owners: Vec<&str> = deleted.iter().map(|artifact| artifact.owner.as_str()).collect();
    let sessions: Vec<&str> = deleted.iter().map(|artifact| artifact.session.as_str()).collect();
    lock_quotas(transaction, &owners, &sessions).await?;
    give_back(transaction, &refund).await?;
    Ok(released)
}

/// Locks the rows of sessions, of their owners and of the store.
pub(super) async fn lock_quotas(
    transaction: &Transaction,
    owners: &[&str],
    sessions: &[&str],
) -> Result<(), Failure> {
    transaction.query(LOCK_QUOTAS, &[&owners, &sessions]).await.map(drop)
}

pub(super) async fn give_back(transaction: &Transaction, refund: &Refund) -> Result<(), Failure> {
    let scopes: Vec<i16> = refund.0.keys().map(|(scope, _, _)| *scope).collect();
    let owners: Vec<&str> = refund.0.keys().map(|(_, owner, _)| owner.as_str()).collect();
    let sessions: Vec<&str> = refund.0.keys().map(|(_, _, session)| session.as_str()).collect();
    let artifacts: Vec<i64> = refund.0.values().map(|(artifacts, _)| *artifacts).collect();
    let stored: Vec<i64> = refund.0.values().map(|(_, stored)| *stored).collect();
    let parameters: [Parameter<'_>; 5] = [&scopes, &owners, &sessions, &artifacts, &stored];
    transaction.execute(GIVE_BACK, &parameters).await.map(drop)
}
