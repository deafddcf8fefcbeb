//! Changes the key of the store, or encrypts an unencrypted store: seals one body after another with the new key.
//!
//! First the key record names both keys, so that every process writes with the new one. Then each body is written again as a
//! new body. One transaction makes its artifacts refer to the new body and deletes the old one, so a reader finds one or the
//! other. In the end the record names only the new key.
//!
//! The quotas count the bytes that are stored, as always, but do not refuse these writes, because nothing is added.

use std::sync::Arc;

use super::database::{Parameter, Scope, Transaction};
use super::failure::Failure;
use super::publish::{ChunkColumns, Content, INSERT_BODY, claim_object, object_of, stored_bytes};
use super::put::Put;
use super::read::SharedBody;
use super::release::{ORPHAN_OBJECTS, Refund, give_back, lock_quotas};
use super::{PostgresStore, Shared, hash_column, key};
use crate::artifact::{CallDigest, NewArtifact, Owner, Quotas, RekeyProgress, Rekeyed, Session};
use crate::chunks::ChunkSource;
use crate::codec::Codec;
use crate::error::StoreError;
use crate::id::ArtifactId;

const UNLIMITED: Quotas = Quotas { session_bytes: u64::MAX, owner_bytes: u64::MAX, store_bytes: u64::MAX };

/// Bodies of artifacts whose outline does not begin with $1, and so are not sealed with the new key, from body $2 on.
const NEXT_BODY: &str = "SELECT b.id, b.owner, b.hash, b.bytes, b.stored, b.object,
        (SELECT session FROM artifact s WHERE s.body = b.id AND s.owner = b.owner LIMIT 1)
    FROM body b WHERE b.visible AND b.id > $2 AND EXISTS
        (SELECT 1 FROM artifact a WHERE a.body = b.id AND a.owner = b.owner AND substr(a.outline, 1, 12) <> $1)
    ORDER BY b.id LIMIT 1";
const REMAINING: &str = "SELECT coalesce(sum(b.stored), 0)::bigint FROM body b WHERE b.visible AND EXISTS
    (SELECT 1 FROM artifact a WHERE a.body = b.id AND a.owner = b.owner AND substr(a.outline, 1, 12) <> $1)";
/// Unfinished bodies that were begun with the previous key, so that no process can finish them.
const OLD_UNFINISHED: &str =
    "SELECT b.id FROM body b JOIN chunk c ON c.body = b.id AND c.owner = b.owner AND c.number = 0
    WHERE NOT b.visible AND substr(c.data, 1, 12) <> $1";
const ARTIFACTS: &str =
    "SELECT id, session, outline, arguments, call FROM artifact WHERE body = $1 AND owner = $2
    ORDER BY id FOR UPDATE";
const RESEAL: &str =
    "UPDATE artifact SET body = $3, outline = $4, arguments = $5, call = $6 WHERE id = $1 AND owner = $2";
const EQUAL: &str = "SELECT id, stored FROM body WHERE owner = $1 AND hash = $2 AND visible FOR KEY SHARE";

pub(super) fn rekey(
    store: &PostgresStore,
    progress: &mut dyn FnMut(RekeyProgress),
) -> Result<Rekeyed, StoreError> {
    let Some(codec) = store.run(|shared| async move { shared.begin_rekey().await })? else {
        return Ok(Rekeyed::default());
    };
    store.run(|shared| async move { shared.sweep_expired().await })?;
    let work = Rekeying { store, header: codec.header().map(Vec::from).unwrap_or_default(), codec: &codec };
    let (mut done, total, mut last) = (0, work.remaining_bytes()?, 0);
    let mut rekeyed = Rekeyed::default();
    while let Some(old) = work.next_after(last)? {
        progress(RekeyProgress { done, total });
        last = old.body.id;
        match work.seal_again(&old) {
            Ok(()) => {
                done = (done + old.stored).min(total);
                rekeyed.bodies += 1;
            }
            // It was deleted meanwhile, or its chunks are missing; then its artifacts are still there.
            Err(StoreError::NotFound | StoreError::Damaged { .. }) => {
                rekeyed.damaged.extend(work.artifacts_of(&old)?);
            }
            Err(error) => return Err(error),
        }
    }
    if rekeyed.damaged.is_empty() {
        work.finish()?;
        progress(RekeyProgress { done: total, total });
    }
    Ok(rekeyed)
}

/// A body that is not sealed with the new key.
struct OldBody {
    body: Arc<SharedBody>,
    bytes: u64,
    stored: u64,
    /// A session with an artifact that refers to it.
    session: Option<String>,
}

/// A change of the store's key.
struct Rekeying<'w> {
    store: &'w PostgresStore,
    codec: &'w Codec,
    /// The first bytes of everything that the new key seals.
    header: Vec<u8>,
}

impl Rekeying<'_> {
    fn next_after(&self, last: i64) -> Result<Option<OldBody>, StoreError> {
        let header = self.header.clone();
        let query = |shared: Arc<Shared>| async move {
            shared.query(&Scope::AllOwners, NEXT_BODY, &[&header, &last]).await
        };
        let rows = self.store.run(query)?;
        let Some(row) = rows.first() else { return Ok(None) };
        let owner = Owner::new(row.get::<_, String>(1));
        Ok(Some(OldBody {
            body: Arc::new(SharedBody::new(owner, row.get(0), hash_column(row.get(2))?, row.get(5))),
            bytes: row.get::<_, i64>(3).unsigned_abs(),
            stored: row.get::<_, i64>(4).unsigned_abs(),
            session: row.get(6),
        }))
    }

    fn remaining_bytes(&self) -> Result<u64, StoreError> {
        let header = self.header.clone();
        let query =
            |shared: Arc<Shared>| async move { shared.query(&Scope::AllOwners, REMAINING, &[&header]).await };
        Ok(self.store.run(query)?.first().map_or(0, |row| row.get::<_, i64>(0).unsigned_abs()))
    }

    fn artifacts_of(&self, old: &OldBody) -> Result<Vec<ArtifactId>, StoreError> {
        let body = Arc::clone(&old.body);
        let rows = self.store.run(|shared| async move {
            let sql = "SELECT id FROM artifact WHERE body = $1 AND owner = $2";
            shared.query(&Scope::Owner(body.owner.clone()), sql, &[&body.id, &body.owner.as_str()]).await
        })?;
        Ok(rows.iter().filter_map(|row| ArtifactId::parse_bare(row.get(0))).collect())
    }

    /// Seals a body, and the artifacts that refer to it, with the new key.
    fn seal_again(&self, old: &OldBody) -> Result<(), StoreError> {
        let owner = &old.body.owner;
        let key = self.codec.body(owner, &old.body.hash, old.bytes)?;
        let read = |number| self.store.chunk(&old.body, &key, number);
        let source = ChunkSource { bytes: old.bytes, read };
        let session = Session::new(old.session.as_deref().ok_or(StoreError::NotFound)?);
        let new = NewArtifact::new(owner, &session, "", std::time::Duration::ZERO);
        let put = Put::new(self.store, self.codec.clone(), &new, &source, UNLIMITED)
            .map_err(StoreError::of_source)?;
        let content = put.write().map_err(StoreError::of_source)?;
        let change = Change {
            old: Arc::clone(&old.body),
            hash: put.hash,
            bytes: old.bytes,
            session: super::text(session.as_str()),
            content: content.clone(),
            codec: self.codec.clone(),
        };
        let objects = self.store.run(|shared| async move { shared.change_over(&change).await });
        if !matches!(objects, Ok(Changed::Moved(_))) {
            put.discard(&content);
        }
        match objects? {
            Changed::Moved(objects) | Changed::Shared(objects) => self.store.run(|shared| async move {
                shared.remove_objects(objects).await;
                Ok(())
            }),
        }
    }

    /// Records that everything is sealed with the new key.
    fn finish(&self) -> Result<(), StoreError> {
        let header = self.header.clone();
        self.store.run(|shared| async move { shared.drop_old_unfinished(&header).await })?;
        let (header, codec) = (self.header.clone(), self.codec.clone());
        self.store.run(|shared| async move { shared.finish_rekey(&header, &codec).await })
    }
}

/// A body that is to replace another.
struct Change {
    old: Arc<SharedBody>,
    hash: [u8; 32],
    bytes: u64,
    /// The session that was charged with an unfinished body.
    session: String,
    content: Content,
    codec: Codec,
}

/// The outcome of a change, with the objects that nothing refers to any more.
enum Changed {
    /// The artifacts refer to the new body.
    Moved(Vec<String>),
    /// The artifacts refer to an equal body that another process stored with the new key meanwhile.
    Shared(Vec<String>),
}

/// A body that artifacts are to refer to.
struct NewBody {
    id: i64,
    stored: i64,
    /// Whether it was there before.
    is_shared: bool,
}

impl Shared {
    /// Records both keys; returns `None` if the store has the new key already.
    async fn begin_rekey(&self) -> Result<Option<Codec>, StoreError> {
        let codec = self.retry(|_| self.try_begin_rekey()).await?;
        if let Some(codec) = &codec {
            self.set_codec(codec.clone());
        }
        Ok(codec)
    }

    async fn try_begin_rekey(&self) -> Result<Option<Codec>, Failure> {
        let transaction = self.database.begin(&Scope::AllOwners).await?;
        transaction.batch(key::LOCK).await?;
        let before = key::read_record(&transaction).await?;
        let codec = match Codec::to_rekey(&self.keys, before.as_deref()) {
            Ok(codec) => codec,
            Err(error) => {
                transaction.rollback().await;
                return Err(error.into());
            }
        };
        if let Some(record) = codec.as_ref().and_then(Codec::record) {
            set_record(&transaction, record).await?;
        }
        transaction.commit().await?;
        Ok(codec)
    }

    async fn change_over(&self, change: &Change) -> Result<Changed, StoreError> {
        self.retry(|_| self.try_change_over(change)).await
    }

    /// Makes the artifacts of the old body refer to the new one, and deletes the old one.
    async fn try_change_over(&self, change: &Change) -> Result<Changed, Failure> {
        let (old, owner) = (&change.old, change.old.owner.as_str());
        let transaction = self.database.begin(&Scope::Owner(old.owner.clone())).await?;
        let done = self.change_within(&transaction, change, owner).await;
        match done {
            Ok(Some(changed)) => {
                transaction.commit().await?;
                Ok(changed)
            }
            Ok(None) => {
                transaction.rollback().await;
                Err(StoreError::NotFound.into())
            }
            Err(failure) => Err(failure),
        }
    }

    /// Does the work of [`Self::try_change_over`]; `None` if the old body is gone.
    async fn change_within(
        &self,
        transaction: &Transaction,
        change: &Change,
        owner: &str,
    ) -> Result<Option<Changed>, Failure> {
        let old = &change.old;
        let artifacts = transaction.query(ARTIFACTS, &[&old.id, &owner]).await?;
        let locked = "SELECT stored FROM body WHERE id = $1 AND owner = $2 AND visible FOR UPDATE";
        let found = transaction.query_one(locked, &[&old.id, &owner]).await?;
        let (Some(found), false) = (found, artifacts.is_empty()) else { return Ok(None) };
        let new = new_body(transaction, change).await?;
        let sessions: std::collections::BTreeSet<String> = artifacts.iter().map(|row| row.get(1)).collect();
        let before = sessions_with(transaction, new.id, owner).await?;
        for row in &artifacts {
            reseal(transaction, change, row, new.id).await?;
        }
        let mut refund = Refund::default();
        let stored: i64 = found.get(0);
        if matches!(change.content, Content::Pending { .. }) && !new.is_shared {
            // The unfinished body was charged when it was written.
            refund.add(2, owner, &change.session, 0, new.stored);
            refund.add(1, owner, "", 0, new.stored);
            refund.add(0, "", "", 0, new.stored);
        }
        for session in &sessions {
            let added = if before.contains(session) { 0 } else { new.stored };
            refund.add(2, owner, session, 0, stored - added);
        }
        let added = if new.is_shared { 0 } else { new.stored };
        refund.add(1, owner, "", 0, stored - added);
        refund.add(0, "", "", 0, stored - added);
        let objects: Vec<String> = old.object.clone().into_iter().collect();
        let rows = transaction
            .pipeline(&[
                (ORPHAN_OBJECTS, &[&objects]),
                ("DELETE FROM chunk WHERE body = $1 AND owner = $2", &[&old.id, &owner]),
                ("DELETE FROM body WHERE id = $1 AND owner = $2", &[&old.id, &owner]),
                (key::RECORD, &[]),
            ])
            .await?;
        let record: Option<Vec<u8>> = rows[3].first().map(|row| row.get(0));
        key::check(change.codec.record(), record.as_deref())?;
        // Every `put` waits for the row of the store, so it is locked last.
        let locked: Vec<&str> =
            sessions.iter().map(String::as_str).chain([change.session.as_str()]).collect();
        lock_quotas(transaction, &vec![owner; locked.len()], &locked).await?;
        give_back(transaction, &refund).await?;
        Ok(Some(if new.is_shared { Changed::Shared(objects) } else { Changed::Moved(objects) }))
    }

    async fn drop_old_unfinished(&self, header: &[u8]) -> Result<(), StoreError> {
        for row in self.query(&Scope::AllOwners, OLD_UNFINISHED, &[&header]).await? {
            let id: i64 = row.get(0);
            self.retry(|_| self.try_drop_pending(&Scope::AllOwners, id)).await?;
        }
        Ok(())
    }

    async fn finish_rekey(&self, header: &[u8], codec: &Codec) -> Result<(), StoreError> {
        self.retry(|_| self.try_finish_rekey(header, codec)).await?;
        self.has_new_key().await.map(drop)
    }

    async fn try_finish_rekey(&self, header: &[u8], codec: &Codec) -> Result<(), Failure> {
        let mut transaction = self.database.begin(&Scope::AllOwners).await?;
        // Nothing has been stored with the previous key since the record named both, so this needs no lock. It reads every row.
        transaction.without_timeout().await?;
        let unchanged = "SELECT 1 FROM artifact WHERE substr(outline, 1, 12) <> $1 LIMIT 1";
        let left = transaction.query_one(unchanged, &[&header]).await?;
        transaction.rollback().await;
        let transaction = self.database.begin(&Scope::AllOwners).await?;
        transaction.batch(key::LOCK).await?;
        let record = key::read_record(&transaction).await?;
        let finished = codec.finished_record().ok_or(StoreError::NotFound)?;
        let checked = match left {
            Some(_) => Err(StoreError::Busy),
            // An earlier attempt whose answer was lost.
            None if record.as_deref() == Some(&*finished) => Ok(()),
            None => key::check(codec.record(), record.as_deref()),
        };
        if let Err(error) = checked {
            transaction.rollback().await;
            return Err(error.into());
        }
        set_record(&transaction, &finished).await?;
        transaction.commit().await
    }
}

async fn set_record(transaction: &Transaction, record: &[u8]) -> Result<(), Failure> {
    let sql = "INSERT INTO encryption VALUES (1, $1) ON CONFLICT (id) DO UPDATE SET record = excluded.record";
    transaction.execute(sql, &[&record]).await.map(drop)
}

/// Returns the sessions that have an artifact with a body.
async fn sessions_with(transaction: &Transaction, body: i64, owner: &str) -> Result<Vec<String>, Failure> {
    let sql = "SELECT DISTINCT session FROM artifact WHERE body = $1 AND owner = $2";
    Ok(transaction.query(sql, &[&body, &owner]).await?.iter().map(|row| row.get(0)).collect())
}

/// Makes the new body visible, or finds one with the same bytes.
async fn new_body(transaction: &Transaction, change: &Change) -> Result<NewBody, Failure> {
    let (owner, hash) = (change.old.owner.as_str(), change.hash.as_slice());
    let equal = transaction.query_one(EQUAL, &[&owner, &hash]).await?;
    if let Some(row) = equal {
        return Ok(NewBody { id: row.get(0), stored: row.get(1), is_shared: true });
    }
    if let Content::Pending { id } = change.content {
        let sql =
            "UPDATE body SET visible = true WHERE id = $1 AND owner = $2 AND NOT visible RETURNING stored";
        let row = transaction.query_one(sql, &[&id, &owner]).await?;
        let swept = || StoreError::Unusable("its rows were swept while the key was changed".into());
        return Ok(NewBody { id, stored: row.ok_or_else(swept)?.get(0), is_shared: false });
    }
    let (object, stored, chunks) =
        (object_of(&change.content), stored_bytes(&change.content), ChunkColumns::of(&change.content));
    let (bytes, created) = (change.bytes.cast_signed(), 0i64);
    let head: [Parameter<'_>; 7] = [&owner, &change.session, &hash, &bytes, &stored, &created, &object];
    let parameters: Vec<Parameter<'_>> = head.into_iter().chain(chunks.parameters()).collect();
    let row = transaction.query_one(INSERT_BODY, &parameters).await?;
    let id = row.ok_or_else(|| Failure::conflict("an equal result was being stored"))?.get(0);
    if let Some(object) = object {
        claim_object(transaction, object).await?;
    }
    Ok(NewBody { id, stored, is_shared: false })
}

/// Seals outline, arguments and call of an artifact for the new body.
async fn reseal(
    transaction: &Transaction,
    change: &Change,
    row: &tokio_postgres::Row,
    body: i64,
) -> Result<(), Failure> {
    let (codec, owner) = (&change.codec, &change.old.owner);
    let id = ArtifactId::parse_bare(row.get(0)).ok_or(StoreError::Damaged { what: "an id" })?;
    let outline = codec.open_outline(owner, &id, &change.old.hash, row.get(2))?;
    let outline = codec.seal_outline(owner, &id, &change.hash, &outline);
    let call = row.get::<_, Option<&[u8]>>(4).and_then(|call| call.try_into().ok()).map(CallDigest);
    let details = codec.open_details(owner, &id, row.get(3), call)?;
    let arguments = codec.seal_details(owner, &id, &details);
    let call = details.call().map(|call| codec.call(call).0.to_vec());
    let parameters: [Parameter<'_>; 6] = [&id.as_str(), &owner.as_str(), &body, &outline, &arguments, &call];
    transaction.execute(RESEAL, &parameters).await.map(drop)
}
