//! Stores a result: writes its chunks in as many transactions as its size needs, and makes it visible in the last.
//!
//! Invariants: a result is durable and complete before anybody can open it; equal bytes of one owner are stored once;
//! whatever was written of a result that could not be stored is removed, at the latest by a sweep.

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};
use tidegate_core::source::Source;

use super::{BodyId, SqliteStore, chunks, sweep};
use crate::artifact::{Artifact, Description, NewArtifact};
use crate::chunks::{BATCH_BYTES, Packed, Packer, are_intact, hash_all};
use crate::clock::Millis;
use crate::error::StoreError;

const INSERT_ARTIFACT: &str = "
    INSERT INTO artifact (id, owner, session, body, tool, kind, records, tokens, outline, created, expires)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";

/// The columns that stores of earlier versions do not have.
const ADD_ORIGIN: &str = "
    ALTER TABLE artifact ADD COLUMN server TEXT NOT NULL DEFAULT '';
    ALTER TABLE artifact ADD COLUMN arguments TEXT NOT NULL DEFAULT '';";

/// The column and the index of calls, which stores of earlier versions do not have either.
const ADD_CALL: &str = "
    ALTER TABLE artifact ADD COLUMN call BLOB;
    CREATE INDEX IF NOT EXISTS artifact_by_call ON artifact (call) WHERE call IS NOT NULL;";

pub(super) fn put(
    store: &SqliteStore,
    new: &NewArtifact<'_>,
    body: &dyn Source,
    describe: &dyn Fn() -> Result<Description, StoreError>,
) -> Result<Artifact, StoreError> {
    let hash = *hash_all(body)?.as_bytes();
    if is_stored(store, new, &hash)?
        && let Some(artifact) = add_to_stored_body(store, new, &hash, body, &describe()?)?
    {
        return Ok(artifact);
    }
    let mut packer = Packer::new(body)?;
    let mut writer = BodyWriter { store, new, hash, body: None, stored: 0, chunks: 0, bytes: body.len() };
    writer.write_all(&mut packer, describe).inspect_err(|_| writer.undo())
}

fn is_stored(store: &SqliteStore, new: &NewArtifact<'_>, hash: &[u8; 32]) -> Result<bool, StoreError> {
    Ok(stored_body(&store.lock(), new, hash)?.is_some())
}

/// Adds an artifact for bytes that this owner has stored already, so that they are stored once.
///
/// A damaged body is written again, which also repairs the earlier artifacts that refer to it.
fn add_to_stored_body(
    store: &SqliteStore,
    new: &NewArtifact<'_>,
    hash: &[u8; 32],
    source: &dyn Source,
    description: &Description,
) -> Result<Option<Artifact>, StoreError> {
    let mut connection = store.lock();
    let Some((checked, bytes, _)) = stored_body(&connection, new, hash)? else { return Ok(None) };
    let intact = are_intact(bytes, |number| chunks::read(&connection, checked, number))?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have deleted it meanwhile.
    let Some((body, bytes, stored)) = stored_body(&transaction, new, hash)? else { return Ok(None) };
    if !intact && body == checked {
        rewrite_chunks(&transaction, body, source)?;
    }
    let row = ArtifactRow { new, description, now: store.clock.now() };
    let artifact = row.insert(&transaction, body, bytes, stored)?;
    transaction.commit()?;
    Ok(Some(artifact))
}

fn rewrite_chunks(
    transaction: &Transaction<'_>,
    body: BodyId,
    source: &dyn Source,
) -> Result<(), StoreError> {
    sweep::delete_chunks(transaction, body)?;
    let mut packer = Packer::new(source)?;
    let mut number = 0;
    loop {
        let batch = packer.batch()?;
        if batch.is_empty() {
            return Ok(());
        }
        chunks::write(transaction, body, number, &batch)?;
        number += batch.len() as u64;
    }
}

/// Finds the owner's body with this hash; returns its id, its size in bytes and its stored size in bytes.
fn stored_body(
    connection: &Connection,
    new: &NewArtifact<'_>,
    hash: &[u8; 32],
) -> rusqlite::Result<Option<(BodyId, u64, u64)>> {
    connection
        .prepare_cached("SELECT id, bytes, stored FROM body WHERE owner = ?1 AND hash = ?2 AND visible = 1")?
        .query_row(params![new.owner.as_str(), hash], |row| {
            Ok((
                BodyId(row.get(0)?),
                row.get::<_, i64>(1)?.unsigned_abs(),
                row.get::<_, i64>(2)?.unsigned_abs(),
            ))
        })
        .optional()
}

/// The row of a new artifact, without its body.
struct ArtifactRow<'n> {
    new: &'n NewArtifact<'n>,
    description: &'n Description,
    now: Millis,
}

impl ArtifactRow<'_> {
    fn insert(
        &self,
        transaction: &Transaction<'_>,
        body: BodyId,
        bytes: u64,
        stored: u64,
    ) -> Result<Artifact, StoreError> {
        let Self { new, description, now } = self;
        let artifact = new.artifact(description, bytes, stored, *now);
        transaction.execute(
            INSERT_ARTIFACT,
            params![
                artifact.id.as_str(),
                new.owner.as_str(),
                new.session.as_str(),
                body.0,
                new.tool,
                artifact.kind,
                artifact.records.map(u64::cast_signed),
                artifact.tokens.cast_signed(),
                description.outline,
                artifact.created.0,
                artifact.expires.0
            ],
        )?;
        note_origin(transaction, new)?;
        note_call(transaction, new)?;
        Ok(artifact)
    }
}

/// Stores which call a result answered; adds the columns for it if another version created the store.
fn note_origin(transaction: &Transaction<'_>, new: &NewArtifact<'_>) -> rusqlite::Result<()> {
    let sql = "UPDATE artifact SET server = ?2, arguments = ?3 WHERE id = ?1";
    if transaction.prepare_cached(sql).is_err() {
        transaction.execute_batch(ADD_ORIGIN)?;
    }
    let origin = new.origin();
    transaction
        .prepare_cached(sql)?
        .execute(params![new.id.as_str(), origin.server, origin.arguments])
        .map(drop)
}

/// Stores the digest by which later results of the same call find this one; adds the column if it is missing.
fn note_call(transaction: &Transaction<'_>, new: &NewArtifact<'_>) -> rusqlite::Result<()> {
    let Some(call) = new.call else { return Ok(()) };
    let sql = "UPDATE artifact SET call = ?2 WHERE id = ?1";
    if transaction.prepare_cached(sql).is_err() {
        transaction.execute_batch(ADD_CALL)?;
    }
    transaction.prepare_cached(sql)?.execute(params![new.id.as_str(), call.0]).map(drop)
}

/// Writes a new body.
struct BodyWriter<'w, 'n> {
    store: &'w SqliteStore,
    new: &'w NewArtifact<'n>,
    hash: [u8; 32],
    body: Option<BodyId>,
    stored: u64,
    chunks: u64,
    bytes: u64,
}

impl BodyWriter<'_, '_> {
    /// Writes all chunks and the artifact.
    ///
    /// If a body needs several transactions, the artifact is written in one of its own, so that little is left to write
    /// after `describe`, which may take longer than writing the chunks.
    fn write_all(
        &mut self,
        packer: &mut Packer<'_>,
        describe: &dyn Fn() -> Result<Description, StoreError>,
    ) -> Result<Artifact, StoreError> {
        let mut batch = packer.batch()?;
        if self.bytes > BATCH_BYTES {
            while !batch.is_empty() {
                self.write(&batch, |_, _, _| Ok(()))?;
                batch = packer.batch()?;
            }
        }
        let description = describe()?;
        self.write(&batch, |writer, transaction, body| writer.publish(transaction, body, &description))
    }

    /// Writes some chunks in one transaction, together with what `then` writes.
    fn write<T>(
        &mut self,
        batch: &[Packed],
        then: impl FnOnce(&Self, &Transaction<'_>, BodyId) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let now = self.store.clock.now();
        let size: u64 = batch.iter().map(|packed| packed.data.len() as u64).sum();
        let mut connection = self.store.lock();
        self.check_quotas(&mut connection, size, self.store.clock.certain_now())?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let body = match self.body {
            Some(body) => body,
            None => self.begin(&transaction, now)?,
        };
        chunks::write(&transaction, body, self.chunks, batch)?;
        self.stored += size;
        self.chunks += batch.len() as u64;
        transaction.execute(
            "UPDATE body SET stored = ?2, chunks = ?3 WHERE id = ?1",
            params![body.0, self.stored.cast_signed(), self.chunks.cast_signed()],
        )?;
        let added = then(self, &transaction, body)?;
        transaction.commit()?;
        self.body = Some(body);
        Ok(added)
    }

    /// Makes the body visible and adds the artifact that refers to it.
    fn publish(
        &self,
        transaction: &Transaction<'_>,
        body: BodyId,
        description: &Description,
    ) -> Result<Artifact, StoreError> {
        let row = ArtifactRow { new: self.new, description, now: self.store.clock.now() };
        if let Some((existing, bytes, stored)) = stored_body(transaction, self.new, &self.hash)? {
            // Another process has stored the same bytes meanwhile; this copy is dropped.
            sweep::delete_body(transaction, body)?;
            return row.insert(transaction, existing, bytes, stored);
        }
        transaction.execute("UPDATE body SET visible = 1 WHERE id = ?1", [body.0])?;
        row.insert(transaction, body, self.bytes, self.stored)
    }

    fn begin(&self, transaction: &Transaction<'_>, now: Millis) -> rusqlite::Result<BodyId> {
        transaction.execute(
            "INSERT INTO body (owner, hash, bytes, stored, chunks, visible, created) VALUES (?1, ?2, ?3, 0, 0, 0, ?4)",
            params![self.new.owner.as_str(), self.hash, self.bytes.cast_signed(), now.0],
        )?;
        Ok(BodyId(transaction.last_insert_rowid()))
    }

    /// Fails if `size` more bytes would exceed a quota even after a sweep.
    fn check_quotas(&self, connection: &mut Connection, size: u64, now: Millis) -> Result<(), StoreError> {
        let check = |connection: &Connection| {
            let session = stored_bytes_of_session(connection, self.new.session.as_str())? + self.stored;
            self.store.quotas.check(session, stored_bytes(connection)?, size)
        };
        match check(connection) {
            Err(StoreError::QuotaFull { .. }) => {
                sweep::sweep(connection, now)?;
                check(connection)
            }
            checked => checked,
        }
    }

    /// Deletes what was written before an error. If that fails too, a sweep deletes it later.
    fn undo(&self) {
        if let Some(body) = self.body {
            let mut connection = self.store.lock();
            let undone = connection.transaction().and_then(|transaction| {
                sweep::delete_body(&transaction, body)?;
                transaction.commit()
            });
            // Fails on a full disk.
            drop(undone);
        }
    }
}

fn stored_bytes_of_session(connection: &Connection, session: &str) -> rusqlite::Result<u64> {
    let sql = "SELECT coalesce(sum(stored), 0) FROM body WHERE id IN (SELECT body FROM artifact WHERE session = ?1)";
    connection.prepare_cached(sql)?.query_row([session], |row| row.get::<_, i64>(0)).map(i64::unsigned_abs)
}

pub(super) fn stored_bytes(connection: &Connection) -> rusqlite::Result<u64> {
    let sql = "SELECT coalesce(sum(stored), 0) FROM body";
    connection.prepare_cached(sql)?.query_row([], |row| row.get::<_, i64>(0)).map(i64::unsigned_abs)
}
