//! Stores a result: writes its chunks in as many transactions as its size needs, and makes it visible in the last.
//!
//! Invariants: a result is durable and complete before anybody can open it; equal bytes of one owner are stored once;
//! whatever was written of a result that could not be stored is removed, at the latest by a sweep.

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};
use tidegate_core::source::Source;

use super::{BodyId, RowBody, SqliteStore, chunks, sweep};
use crate::artifact::{Artifact, Description, NewArtifact, Owner, TierLevel, UsedBytes};
use crate::chunks::{BATCH_BYTES, Packed, Packer, are_intact};
use crate::clock::Millis;
use crate::codec::{BodyKey, CallDetails, Codec};
use crate::error::StoreError;
use crate::key::KeyMismatch;

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

/// The column with the tier that a caller needs; the results of earlier versions need the lowest.
const ADD_TIER: &str = "ALTER TABLE artifact ADD COLUMN tier INTEGER NOT NULL DEFAULT 0;";

pub(super) fn put(
    store: &SqliteStore,
    new: &NewArtifact<'_>,
    body: &dyn Source,
    describe: &dyn Fn() -> Result<Description, StoreError>,
) -> Result<Artifact, StoreError> {
    match put_once(store, new, body, describe) {
        // The key is being changed, and nothing was stored yet: with the new key.
        Err(StoreError::Key(KeyMismatch::Changed)) => put_once(store, new, body, describe),
        done => done,
    }
}

fn put_once(
    store: &SqliteStore,
    new: &NewArtifact<'_>,
    body: &dyn Source,
    describe: &dyn Fn() -> Result<Description, StoreError>,
) -> Result<Artifact, StoreError> {
    let codec = store.codec(&store.lock())?;
    let hash = codec.digest(new.owner, body)?;
    let key = codec.body(new.owner, &hash, body.len())?;
    let row = RowWriter { store, new, codec: &codec, hash, key: &key };
    if row.is_stored()?
        && let Some(artifact) = row.add_to_stored_body(body, &describe()?)?
    {
        return Ok(artifact);
    }
    let mut packer = Packer::new(body, key.clone())?;
    let mut writer = BodyWriter { row, body: None, stored: 0, chunks: 0, bytes: body.len() };
    writer.write_all(&mut packer, describe).inspect_err(|_| writer.undo())
}

/// Writes the row of a new artifact, and finds the body it refers to.
#[derive(Clone, Copy)]
struct RowWriter<'w> {
    store: &'w SqliteStore,
    new: &'w NewArtifact<'w>,
    codec: &'w Codec,
    hash: [u8; 32],
    key: &'w BodyKey,
}

impl RowWriter<'_> {
    fn is_stored(&self) -> Result<bool, StoreError> {
        Ok(self.stored_body(&self.store.lock())?.is_some())
    }

    /// Adds an artifact for bytes that this owner has stored already, so that they are stored once.
    ///
    /// A damaged body is written again, which also repairs the earlier artifacts that refer to it.
    fn add_to_stored_body(
        &self,
        source: &dyn Source,
        description: &Description,
    ) -> Result<Option<Artifact>, StoreError> {
        let mut connection = self.store.lock();
        let Some((checked, bytes, _)) = self.stored_body(&connection)? else { return Ok(None) };
        let body = RowBody { id: checked, owner: self.new.owner.clone(), hash: self.hash };
        let intact = are_intact(bytes, |number| chunks::read(&connection, &body, number, self.key))?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        self.store.check_codec(&transaction, self.codec)?;
        // Another process may have deleted it meanwhile.
        let Some((body, bytes, stored)) = self.stored_body(&transaction)? else { return Ok(None) };
        if !intact && body == checked {
            self.rewrite_chunks(&transaction, body, source)?;
        }
        let artifact = self.insert(&transaction, body, (bytes, stored), description)?;
        transaction.commit()?;
        Ok(Some(artifact))
    }

    fn rewrite_chunks(
        &self,
        transaction: &Transaction<'_>,
        body: BodyId,
        source: &dyn Source,
    ) -> Result<(), StoreError> {
        sweep::delete_chunks(transaction, body)?;
        let mut packer = Packer::new(source, self.key.clone())?;
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

    /// Finds the owner's body with this digest; returns its id, its size in bytes and its stored size in bytes.
    fn stored_body(&self, connection: &Connection) -> rusqlite::Result<Option<(BodyId, u64, u64)>> {
        stored_body(connection, self.new.owner, &self.hash)
    }

    fn insert(
        &self,
        transaction: &Transaction<'_>,
        body: BodyId,
        (bytes, stored): (u64, u64),
        description: &Description,
    ) -> Result<Artifact, StoreError> {
        let Self { new, codec, .. } = self;
        let artifact = new.artifact(description, bytes, stored, self.store.clock.now());
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
                codec.seal_outline(new.owner, &new.id, &self.hash, &description.outline),
                artifact.created.0,
                artifact.expires.0
            ],
        )?;
        note_origin(transaction, new, &codec.seal_details(new.owner, &new.id, &CallDetails::of(new)))?;
        note_call(transaction, new, codec)?;
        note_tier(transaction, new)?;
        Ok(artifact)
    }
}

/// Finds a body of an owner; returns its id, its size in bytes and its stored size in bytes.
pub(super) fn stored_body(
    connection: &Connection,
    owner: &Owner,
    hash: &[u8; 32],
) -> rusqlite::Result<Option<(BodyId, u64, u64)>> {
    connection
        .prepare_cached("SELECT id, bytes, stored FROM body WHERE owner = ?1 AND hash = ?2 AND visible = 1")?
        .query_row(params![owner.as_str(), hash], |row| {
            Ok((
                BodyId(row.get(0)?),
                row.get::<_, i64>(1)?.unsigned_abs(),
                row.get::<_, i64>(2)?.unsigned_abs(),
            ))
        })
        .optional()
}

/// Stores which call a result answered; adds the columns for it if another version created the store.
fn note_origin(
    transaction: &Transaction<'_>,
    new: &NewArtifact<'_>,
    arguments: &str,
) -> rusqlite::Result<()> {
    let sql = "UPDATE artifact SET server = ?2, arguments = ?3 WHERE id = ?1";
    if transaction.prepare_cached(sql).is_err() {
        add_missing_columns(transaction)?;
    }
    transaction.prepare_cached(sql)?.execute(params![new.id.as_str(), new.server, arguments]).map(drop)
}

/// Adds the columns that a store of an earlier version does not have.
pub(super) fn add_missing_columns(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    if transaction.prepare_cached("SELECT server, arguments FROM artifact").is_err() {
        transaction.execute_batch(ADD_ORIGIN)?;
    }
    if transaction.prepare_cached("SELECT call FROM artifact").is_err() {
        transaction.execute_batch(ADD_CALL)?;
    }
    if transaction.prepare_cached("SELECT tier FROM artifact").is_err() {
        transaction.execute_batch(ADD_TIER)?;
    }
    Ok(())
}

/// Stores the digest by which later results of the same call find this one; adds the column if it is missing.
fn note_call(transaction: &Transaction<'_>, new: &NewArtifact<'_>, codec: &Codec) -> rusqlite::Result<()> {
    let Some(call) = new.call.map(|call| codec.call(call)) else { return Ok(()) };
    let sql = "UPDATE artifact SET call = ?2 WHERE id = ?1";
    if transaction.prepare_cached(sql).is_err() {
        add_missing_columns(transaction)?;
    }
    transaction.prepare_cached(sql)?.execute(params![new.id.as_str(), call.0]).map(drop)
}

/// Stores the tier that a caller needs, unless it is the lowest; adds the column if it is missing.
fn note_tier(transaction: &Transaction<'_>, new: &NewArtifact<'_>) -> rusqlite::Result<()> {
    if new.tier == TierLevel::default() {
        return Ok(());
    }
    let sql = "UPDATE artifact SET tier = ?2 WHERE id = ?1 AND owner = ?3";
    if transaction.prepare_cached(sql).is_err() {
        add_missing_columns(transaction)?;
    }
    let parameters = params![new.id.as_str(), new.tier.number(), new.owner.as_str()];
    transaction.prepare_cached(sql)?.execute(parameters).map(drop)
}

/// Writes a new body.
struct BodyWriter<'w> {
    row: RowWriter<'w>,
    body: Option<BodyId>,
    stored: u64,
    chunks: u64,
    bytes: u64,
}

impl BodyWriter<'_> {
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
        let store = self.row.store;
        let now = store.clock.now();
        let size: u64 = batch.iter().map(|packed| packed.data.len() as u64).sum();
        let mut connection = store.lock();
        // Nobody else can write between this look at the quotas and the commit.
        let mut is_swept = false;
        let transaction = loop {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            match self.check_quotas(&transaction, size) {
                Err(StoreError::QuotaFull { .. }) if !is_swept => drop(transaction),
                checked => break checked.map(|()| transaction)?,
            }
            sweep::sweep(&mut connection, store.clock.certain_now())?;
            is_swept = true;
        };
        store.check_codec(&transaction, self.row.codec)?;
        let body = match self.body {
            Some(body) => body,
            None => self.begin(&transaction, now)?,
        };
        chunks::write(&transaction, body, self.chunks, batch)?;
        self.stored += size;
        self.chunks += batch.len() as u64;
        grow_body(&transaction, body, (self.row.new.owner, &self.row.hash), self.stored, self.chunks)?;
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
        if let Some((existing, bytes, stored)) = self.row.stored_body(transaction)? {
            // Another process has stored the same bytes meanwhile; this copy is dropped.
            sweep::delete_body(transaction, body)?;
            return self.row.insert(transaction, existing, (bytes, stored), description);
        }
        transaction.execute("UPDATE body SET visible = 1 WHERE id = ?1", [body.0])?;
        self.row.insert(transaction, body, (self.bytes, self.stored), description)
    }

    fn begin(&self, transaction: &Transaction<'_>, now: Millis) -> rusqlite::Result<BodyId> {
        begin_body(transaction, self.row.new.owner, &self.row.hash, self.bytes, now)
    }

    /// Fails if `size` more bytes would exceed a quota.
    fn check_quotas(&self, transaction: &Transaction<'_>, size: u64) -> Result<(), StoreError> {
        let quotas = self.row.store.quotas;
        let session = stored_bytes_of_session(transaction, self.row.new)? + self.stored;
        let store = stored_bytes(transaction)?;
        // An owner never uses more than the store, whose use is known; its own takes another pass over the bodies.
        let owner = match store.saturating_add(size) > quotas.owner_bytes {
            true => stored_bytes_of_owner(transaction, self.row.new.owner)?,
            false => store,
        };
        quotas.check(UsedBytes { session, owner, store }, size)
    }

    /// Deletes what was written before an error. If that fails too, a sweep deletes it later.
    fn undo(&self) {
        if let Some(body) = self.body {
            let mut connection = self.row.store.lock();
            let undone = connection.transaction().map_err(StoreError::from).and_then(|transaction| {
                // If a sweep has deleted it, its id may be that of another body.
                grow_body(&transaction, body, (self.row.new.owner, &self.row.hash), 0, 0)?;
                sweep::delete_body(&transaction, body)?;
                Ok(transaction.commit()?)
            });
            // Fails on a full disk.
            drop(undone);
        }
    }
}

/// Begins a body that nobody sees yet.
pub(super) fn begin_body(
    transaction: &Transaction<'_>,
    owner: &Owner,
    hash: &[u8; 32],
    bytes: u64,
    now: Millis,
) -> rusqlite::Result<BodyId> {
    transaction.execute(
        "INSERT INTO body (owner, hash, bytes, stored, chunks, visible, created) VALUES (?1, ?2, ?3, 0, 0, 0, ?4)",
        params![owner.as_str(), hash, bytes.cast_signed(), now.0],
    )?;
    Ok(BodyId(transaction.last_insert_rowid()))
}

/// Sets the size of a body that is not visible yet; fails if a sweep has deleted it, whatever has its id now.
pub(super) fn grow_body(
    transaction: &Transaction<'_>,
    body: BodyId,
    (owner, hash): (&Owner, &[u8; 32]),
    stored: u64,
    chunks: u64,
) -> Result<(), StoreError> {
    let sql =
        "UPDATE body SET stored = ?2, chunks = ?3 WHERE id = ?1 AND owner = ?4 AND hash = ?5 AND visible = 0";
    let parameters = params![body.0, stored.cast_signed(), chunks.cast_signed(), owner.as_str(), hash];
    match transaction.prepare_cached(sql)?.execute(parameters)? {
        0 => Err(StoreError::Unusable("its rows were swept before it was stored; it took too long".into())),
        _ => Ok(()),
    }
}

fn stored_bytes_of_session(connection: &Connection, new: &NewArtifact<'_>) -> rusqlite::Result<u64> {
    let sql = "SELECT coalesce(sum(stored), 0) FROM body
               WHERE id IN (SELECT body FROM artifact WHERE session = ?1 AND artifact.owner = ?2)";
    let parameters = params![new.session.as_str(), new.owner.as_str()];
    connection.prepare_cached(sql)?.query_row(parameters, |row| row.get::<_, i64>(0)).map(i64::unsigned_abs)
}

fn stored_bytes_of_owner(connection: &Connection, owner: &Owner) -> rusqlite::Result<u64> {
    let sql = "SELECT coalesce(sum(stored), 0) FROM body WHERE owner = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    statement.query_row([owner.as_str()], |row| row.get::<_, i64>(0)).map(i64::unsigned_abs)
}

pub(super) fn stored_bytes(connection: &Connection) -> rusqlite::Result<u64> {
    let sql = "SELECT coalesce(sum(stored), 0) FROM body";
    connection.prepare_cached(sql)?.query_row([], |row| row.get::<_, i64>(0)).map(i64::unsigned_abs)
}
