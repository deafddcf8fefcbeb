//! Changes the key of the store, or encrypts an unencrypted store: seals one body after another with the new key.
//!
//! First the record names both keys, so that every process writes with the new one. Then each body is written again as a new
//! body. One transaction makes its artifacts refer to the new body and deletes the old one, so a reader finds one or the other,
//! and an interrupted change keeps what it has sealed. In the end the record names only the new key, and the file holds no
//! unencrypted content any more.

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use super::{BodyId, RowBody, SqliteStore, chunks, key, put, sweep};
use crate::artifact::{CallDigest, Owner, RekeyProgress, Rekeyed};
use crate::chunks::{BATCH_BYTES, ChunkSource, Packer};
use crate::codec::Codec;
use crate::error::StoreError;
use crate::id::ArtifactId;

/// Artifacts whose outline does not begin with `?1`, and so are not sealed with the new key, from body `?2` on.
const NEXT_BODY: &str =
    "SELECT body FROM artifact WHERE body > ?2 AND substr(outline, 1, 12) <> ?1 ORDER BY body LIMIT 1";

pub(super) fn rekey(
    store: &SqliteStore,
    progress: &mut dyn FnMut(RekeyProgress),
) -> Result<Rekeyed, StoreError> {
    let Some(codec) = begin(store)? else { return Ok(Rekeyed::default()) };
    sweep::sweep(&mut store.lock(), store.clock.certain_now())?;
    let work = Work { store, codec: &codec };
    let (mut done, total) = (0, work.remaining_bytes()?);
    let mut rekeyed = Rekeyed::default();
    let mut last = 0;
    while let Some(body) = work.next_after(last)? {
        progress(RekeyProgress { done, total });
        match work.body(body, &mut |bytes| progress(RekeyProgress { done: (done + bytes).min(total), total }))
        {
            Ok(stored) => {
                done = (done + stored).min(total);
                rekeyed.bodies += 1;
            }
            // Deleted meanwhile.
            Err(StoreError::NotFound) => {}
            Err(StoreError::Damaged { .. }) => rekeyed.damaged.extend(work.artifacts_of(body)?),
            Err(error) => return Err(error),
        }
        last = body.0;
    }
    if rekeyed.damaged.is_empty() {
        work.finish()?;
        progress(RekeyProgress { done: total, total });
    }
    Ok(rekeyed)
}

/// Records both keys; `None` if there is nothing to change.
fn begin(store: &SqliteStore) -> Result<Option<Codec>, StoreError> {
    let mut connection = store.lock();
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let before = key::record(&transaction)?;
    let Some(codec) = Codec::to_rekey(&store.keys, before.as_deref())? else { return Ok(None) };
    if let Some(record) = codec.record().filter(|record| Some(*record) != before.as_deref()) {
        key::set_record(&transaction, record)?;
    }
    transaction.commit()?;
    // What is deleted from a store that was not encrypted must not stay in its free pages.
    connection.pragma_update(None, "secure_delete", codec.is_from_plain())?;
    Ok(Some(codec))
}

/// A body as it was before.
struct OldBody {
    body: RowBody,
    bytes: u64,
    stored: u64,
}

struct Work<'w> {
    store: &'w SqliteStore,
    codec: &'w Codec,
}

impl Work<'_> {
    fn header(&self) -> Vec<u8> {
        self.codec.header().map(Vec::from).unwrap_or_default()
    }

    fn next_after(&self, last: i64) -> Result<Option<BodyId>, StoreError> {
        let connection = self.store.lock();
        let mut statement = connection.prepare_cached(NEXT_BODY)?;
        Ok(statement.query_row(params![self.header(), last], |row| row.get(0).map(BodyId)).optional()?)
    }

    fn remaining_bytes(&self) -> Result<u64, StoreError> {
        let sql = "SELECT coalesce(sum(stored), 0) FROM body WHERE id IN (SELECT body FROM artifact WHERE substr(outline, 1, 12) <> ?1)";
        let bytes = self.store.lock().query_row(sql, [self.header()], |row| row.get::<_, i64>(0))?;
        Ok(bytes.unsigned_abs())
    }

    fn artifacts_of(&self, body: BodyId) -> Result<Vec<ArtifactId>, StoreError> {
        let connection = self.store.lock();
        let mut statement = connection.prepare_cached("SELECT id FROM artifact WHERE body = ?1")?;
        let ids: Vec<String> =
            statement.query_map([body.0], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
        Ok(ids.iter().filter_map(|id| ArtifactId::parse(id)).collect())
    }

    /// Seals a body and the artifacts that refer to it; returns the bytes that it took before.
    fn body(&self, id: BodyId, progress: &mut dyn FnMut(u64)) -> Result<u64, StoreError> {
        let old = self.old_body(id)?;
        let key = self.codec.body(&old.body.owner, &old.body.hash, old.bytes)?;
        let read = |number| chunks::read(&self.store.lock(), &old.body, number, &key);
        let source = ChunkSource { bytes: old.bytes, read };
        let hash = self.codec.digest(&old.body.owner, &source).map_err(StoreError::of_source)?;
        let new_key = self.codec.body(&old.body.owner, &hash, old.bytes)?;
        let mut packer = Packer::new(&source, new_key)?;
        let new = self.begin_body(&old, &hash)?;
        let written = self
            .copy(&mut packer, (new, &hash), &old, progress)
            .and_then(|()| self.change_over(&old, new, &hash));
        match written {
            Ok(()) => Ok(old.stored),
            Err(error) => {
                self.discard(new);
                Err(error.of_source())
            }
        }
    }

    fn old_body(&self, id: BodyId) -> Result<OldBody, StoreError> {
        let sql = "SELECT owner, hash, bytes, stored FROM body WHERE id = ?1 AND visible = 1";
        let connection = self.store.lock();
        let found = connection.prepare_cached(sql)?.query_row([id.0], |row| {
            Ok(OldBody {
                body: RowBody { id, owner: Owner::new(row.get::<_, String>(0)?), hash: row.get(1)? },
                bytes: row.get::<_, i64>(2)?.unsigned_abs(),
                stored: row.get::<_, i64>(3)?.unsigned_abs(),
            })
        });
        found.optional()?.ok_or(StoreError::NotFound)
    }

    fn begin_body(&self, old: &OldBody, hash: &[u8; 32]) -> Result<BodyId, StoreError> {
        self.write(|transaction| {
            let now = self.store.clock.now();
            Ok(put::begin_body(transaction, &old.body.owner, hash, old.bytes, now)?)
        })
    }

    fn write<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut connection = self.store.lock();
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        self.store.check_codec(&transaction, self.codec)?;
        let done = work(&transaction)?;
        transaction.commit()?;
        Ok(done)
    }

    /// Writes all chunks, a batch in each transaction, so that no other process waits for long.
    fn copy(
        &self,
        packer: &mut Packer<'_>,
        (new, hash): (BodyId, &[u8; 32]),
        old: &OldBody,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), StoreError> {
        let (mut count, mut stored) = (0, 0);
        loop {
            let batch = packer.batch()?;
            if batch.is_empty() {
                return Ok(());
            }
            let first = count;
            count += batch.len() as u64;
            stored += batch.iter().map(|packed| packed.data.len() as u64).sum::<u64>();
            self.write(|transaction| {
                put::grow_body(transaction, new, (&old.body.owner, hash), stored, count)?;
                Ok(chunks::write(transaction, new, first, &batch)?)
            })?;
            if old.bytes > BATCH_BYTES {
                progress(stored.min(old.stored));
            }
        }
    }

    /// Lets the artifacts of a body refer to the new one, and deletes the old one.
    fn change_over(&self, old: &OldBody, new: BodyId, hash: &[u8; 32]) -> Result<(), StoreError> {
        self.write(|transaction| {
            let to = match put::stored_body(transaction, &old.body.owner, hash)? {
                // Another process has put the same bytes meanwhile.
                Some((existing, ..)) => {
                    sweep::delete_body(transaction, new)?;
                    existing
                }
                None => new,
            };
            let sql = "SELECT id, outline FROM artifact WHERE body = ?1";
            let artifacts: Vec<(String, Vec<u8>)> = transaction
                .prepare_cached(sql)?
                .query_map([old.body.id.0], |row| Ok((row.get(0)?, row.get(1)?)))?
                .collect::<rusqlite::Result<_>>()?;
            if artifacts.is_empty() {
                return Err(StoreError::NotFound);
            }
            for (id, outline) in artifacts {
                let id = ArtifactId::parse(&id).ok_or(StoreError::Damaged { what: "its id" })?;
                let outline = self.codec.open_outline(&old.body.owner, &id, &old.body.hash, outline)?;
                let outline = self.codec.seal_outline(&old.body.owner, &id, hash, &outline);
                let sql = "UPDATE artifact SET body = ?2, outline = ?3 WHERE id = ?1";
                transaction.execute(sql, params![id.as_str(), to.0, outline])?;
                self.seal_call(transaction, &old.body.owner, &id)?;
            }
            sweep::delete_body(transaction, old.body.id)?;
            transaction.execute("UPDATE body SET visible = 1 WHERE id = ?1", [to.0])?;
            Ok(())
        })
    }

    /// Seals the arguments and the digest of the call that an artifact answers.
    fn seal_call(
        &self,
        transaction: &Transaction<'_>,
        owner: &Owner,
        id: &ArtifactId,
    ) -> Result<(), StoreError> {
        put::add_missing_columns(transaction)?;
        let sql = "SELECT arguments, call FROM artifact WHERE id = ?1";
        let (arguments, call): (String, Option<[u8; 16]>) = transaction
            .prepare_cached(sql)?
            .query_row([id.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let details = self.codec.open_details(owner, id, &arguments, call.map(CallDigest))?;
        let arguments = self.codec.seal_details(owner, id, &details);
        let call = details.call().map(|call| self.codec.call(call).0);
        let sql = "UPDATE artifact SET arguments = ?2, call = ?3 WHERE id = ?1";
        transaction.execute(sql, params![id.as_str(), arguments, call])?;
        Ok(())
    }

    /// Deletes what was written before an error. If that fails too, a sweep deletes it later.
    fn discard(&self, new: BodyId) {
        drop(self.write(|transaction| Ok(sweep::delete_body(transaction, new)?)));
    }

    /// Records that everything has the new key.
    fn finish(&self) -> Result<(), StoreError> {
        self.delete_unfinished()?;
        self.write(|transaction| {
            let left: Option<i64> = transaction
                .prepare_cached(NEXT_BODY)?
                .query_row(params![self.header(), i64::MIN], |row| row.get(0))
                .optional()?;
            if left.is_some() {
                return Err(StoreError::Busy);
            }
            let record = self.codec.finished_record().ok_or(StoreError::NotFound)?;
            key::set_record(transaction, &record)
        })?;
        let connection = self.store.lock();
        if self.codec.is_from_plain() {
            // Free pages may hold what was deleted before the store was encrypted.
            connection.execute_batch("VACUUM")?;
        }
        checkpoint(&connection)
    }

    /// Deletes bodies that another process began to write with the previous key; it can no longer finish them.
    fn delete_unfinished(&self) -> Result<(), StoreError> {
        self.write(|transaction| {
            let bodies: Vec<i64> = transaction
                .prepare_cached("SELECT id FROM body WHERE visible = 0")?
                .query_map([], |row| row.get(0))?
                .collect::<rusqlite::Result<_>>()?;
            for body in bodies.into_iter().map(BodyId) {
                let sql = "SELECT 1 FROM chunk WHERE id = ?1 AND substr(data, 1, 12) <> ?2";
                let is_old = transaction
                    .prepare_cached(sql)?
                    .query_row(params![chunks::row_id(body, 0), self.header()], |_| Ok(()))
                    .optional()?;
                if is_old.is_some() {
                    sweep::delete_body(transaction, body)?;
                }
            }
            Ok(())
        })
    }
}

/// Writes the log back to the file, so that nothing that was deleted stays in it.
fn checkpoint(connection: &Connection) -> Result<(), StoreError> {
    Ok(connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?)
}
