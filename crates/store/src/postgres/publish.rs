//! The transaction that stores a result: it makes the body visible, adds the artifact and charges the quotas.
//!
//! It can be repeated after a lost connection. If an earlier attempt was committed, this one waits until that commit is visible,
//! finds the artifact with its id, and recognizes it by the random number that `put` chose.

use std::sync::Arc;

use super::charge::{Charged, NewArtifactRow, insert_and_charge};
use super::database::{Parameter, Scope, Transaction};
use super::failure::Failure;
use super::{Shared, key};
use crate::artifact::{Artifact, CallOrigin, NewArtifact, Owner};
use crate::chunks::Packed;
use crate::clock::Millis;
use crate::codec::{CallDetails, Codec};
use crate::error::StoreError;

/// Inserts a body with its chunks; returns no row if the owner already has a body with these bytes.
pub(super) const INSERT_BODY: &str = "WITH new AS (
    INSERT INTO body (owner, session, hash, bytes, stored, visible, created, object)
    VALUES ($1, $2, $3, $4, $5, true, $6, $7) ON CONFLICT (owner, hash) WHERE visible DO NOTHING RETURNING id
), written AS (
    INSERT INTO chunk (body, number, owner, hash, data, start, length)
    SELECT new.id, number, $1, packed.hash, data, start, length
    FROM new, unnest($8::int[], $9::bytea[], $10::bytea[], $11::bigint[], $12::int[])
        AS packed (number, hash, data, start, length)
) SELECT id FROM new";
const INSERT_ARTIFACT: &str = "INSERT INTO artifact
    (id, owner, session, body, tool, kind, records, tokens, outline, created, expires, server, arguments, call, put, tier)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) ON CONFLICT (id) DO NOTHING RETURNING 1";
/// A key share lock keeps the body from being deleted until the artifact that refers to it is committed.
const EQUAL_BODY: &str = "SELECT id, bytes, stored, object FROM body
    WHERE owner = $1 AND hash = $2 AND visible FOR KEY SHARE";
const INSERT_CHUNKS: &str = "INSERT INTO chunk (body, number, owner, hash, data, start, length)
    SELECT $1, number, $2, hash, data, start, length
    FROM unnest($3::int[], $4::bytea[], $5::bytea[], $6::bigint[], $7::int[]) AS packed (number, hash, data, start, length)";

/// A new artifact without its body.
#[derive(Debug)]
pub(super) struct ArtifactRow {
    pub(super) artifact: Artifact,
    /// When it was stored and when it expires, in the time of the server.
    times: (Millis, Millis),
    pub(super) owner: Owner,
    pub(super) session: String,
    pub(super) hash: [u8; 32],
    outline: Vec<u8>,
    origin: CallOrigin,
    call: Option<Vec<u8>>,
    /// The key record of the store at the time of sealing.
    record: Option<Vec<u8>>,
    tier: i16,
    /// A random number that identifies this `put` in all its attempts.
    put: i64,
}

impl ArtifactRow {
    pub(super) fn new(
        codec: &Codec,
        new: &NewArtifact<'_>,
        artifact: Artifact,
        times: (Millis, Millis),
        outline: &[u8],
        hash: [u8; 32],
    ) -> Self {
        let mut put = [0; 8];
        getrandom::fill(&mut put).expect("the system provides random bytes");
        let arguments = codec.seal_details(new.owner, &new.id, &CallDetails::of(new));
        let outline = codec.seal_outline(new.owner, &new.id, &hash, outline);
        Self {
            artifact: Artifact {
                tool: super::text(&artifact.tool),
                kind: super::text(&artifact.kind),
                ..artifact
            },
            times,
            owner: new.owner.clone(),
            session: super::text(new.session.as_str()),
            hash,
            outline,
            origin: CallOrigin { server: super::text(new.server), arguments: super::text(&arguments) },
            call: new.call.map(|call| codec.call(call).0.to_vec()),
            record: codec.record().map(<[u8]>::to_vec),
            tier: new.tier.number().into(),
            put: i64::from_le_bytes(put),
        }
    }

    /// Returns the artifact with the stored size of its body.
    fn with_stored(&self, stored: i64) -> Artifact {
        Artifact { stored_bytes: stored.unsigned_abs(), ..self.artifact.clone() }
    }
}

/// The body of a new artifact.
#[derive(Debug, Clone)]
pub(super) enum Content {
    /// Chunks to be written as rows.
    Rows(Arc<Vec<Packed>>),
    /// An object that was written; its chunks are rows without data.
    Object { key: String, chunks: Arc<Vec<ObjectChunk>> },
    /// An unfinished body whose rows were written.
    Pending { id: i64 },
    /// A body of the owner with the same bytes.
    Existing { id: i64 },
}

/// Where a chunk is in its object.
#[derive(Debug, Clone, Copy)]
pub(super) struct ObjectChunk {
    pub(super) hash: [u8; crate::chunks::HASH_BYTES],
    pub(super) start: u64,
    pub(super) length: u32,
}

/// A body of the same owner with the same bytes.
#[derive(Debug, Clone)]
pub(super) struct EqualBody {
    pub(super) id: i64,
    pub(super) bytes: u64,
    pub(super) object: Option<String>,
}

/// The outcome of an attempt.
#[derive(Debug)]
pub(super) enum Published {
    /// The artifact is stored.
    Stored(Artifact),
    /// The owner has these bytes already; nothing was stored.
    Equal(EqualBody),
    /// The body that was to be shared is gone; nothing was stored.
    Gone,
}

/// A body that the transaction makes visible or shares.
struct PublishedBody {
    id: i64,
    stored: i64,
    /// Bytes that its session is charged with if this is its first artifact with this body.
    session_bytes: i64,
    /// Bytes that the owner and the store are charged with.
    bytes: i64,
    /// Whether these bytes are new, so that they must fit the quotas.
    is_new: bool,
}

impl Shared {
    /// Publishes a result, repeatedly if connections are lost.
    pub(super) async fn publish(
        &self,
        row: &ArtifactRow,
        content: &Content,
    ) -> Result<Published, StoreError> {
        self.retry(|_| self.try_publish(row, content)).await
    }

    async fn try_publish(&self, row: &ArtifactRow, content: &Content) -> Result<Published, Failure> {
        let (transaction, body) = self.begin_with_body(row, content).await?;
        let body = match body {
            Ok(body) => body,
            Err(otherwise) => {
                transaction.rollback().await;
                return Ok(otherwise);
            }
        };
        let (record, used) = add_artifact(&transaction, row, &body).await?;
        if let Err(error) = key::check(row.record.as_deref(), record.as_deref()) {
            transaction.rollback().await;
            return Err(error.into());
        }
        let Some(used) = used else {
            transaction.rollback().await;
            return self.earlier_attempt(row, body.stored).await;
        };
        if body.is_new
            && let Err(error) = used.check(self.quotas, body.stored.unsigned_abs())
        {
            transaction.rollback().await;
            return Err(error.into());
        }
        transaction.commit().await?;
        Ok(Published::Stored(row.with_stored(body.stored)))
    }

    /// Begins the transaction and makes the body visible in it.
    async fn begin_with_body(
        &self,
        row: &ArtifactRow,
        content: &Content,
    ) -> Result<(Transaction, Result<PublishedBody, Published>), Failure> {
        let scope = Scope::Owner(row.owner.clone());
        let begin = || self.database.begin(&scope);
        match content {
            Content::Rows(_) | Content::Object { .. } => self.insert_body(&scope, row, content).await,
            Content::Pending { id } => {
                let transaction = begin().await?;
                let finished = finish_body(&transaction, row, *id).await?;
                Ok((transaction, finished))
            }
            Content::Existing { id } => {
                let transaction = begin().await?;
                let body = match equal_body(&transaction, row).await? {
                    Some((equal, stored)) if equal.id == *id => Ok(PublishedBody {
                        id: equal.id,
                        stored,
                        session_bytes: stored,
                        bytes: 0,
                        is_new: false,
                    }),
                    _ => Err(Published::Gone),
                };
                Ok((transaction, body))
            }
        }
    }

    async fn insert_body(
        &self,
        scope: &Scope,
        row: &ArtifactRow,
        content: &Content,
    ) -> Result<(Transaction, Result<PublishedBody, Published>), Failure> {
        let (owner, object) = (row.owner.as_str(), object_of(content));
        let (stored, chunks) = (stored_bytes(content), ChunkColumns::of(content));
        let (hash, bytes) = (row.hash.as_slice(), row.artifact.bytes.cast_signed());
        let head: [Parameter<'_>; 7] =
            [&owner, &row.session, &hash, &bytes, &stored, &row.times.0.0, &object];
        let parameters: Vec<Parameter<'_>> = head.into_iter().chain(chunks.parameters()).collect();
        let (transaction, rows) = self.database.begin_with(scope, &[(INSERT_BODY, &parameters)]).await?;
        let Some(inserted) = rows[0].first() else {
            let equal = match equal_body(&transaction, row).await? {
                Some((equal, _)) => Published::Equal(equal),
                // It existed when the insert met it, and was deleted since.
                None => return Err(Failure::conflict("an equal result was being deleted")),
            };
            return Ok((transaction, Err(equal)));
        };
        if let Some(object) = object {
            claim_object(&transaction, object).await?;
        }
        let id = inserted.get(0);
        Ok((
            transaction,
            Ok(PublishedBody { id, stored, session_bytes: stored, bytes: stored, is_new: true }),
        ))
    }

    /// Returns the artifact that an earlier attempt of this `put` stored. Fails if another `put` stored it.
    async fn earlier_attempt(&self, row: &ArtifactRow, stored: i64) -> Result<Published, Failure> {
        let sql = "SELECT put FROM artifact WHERE id = $1 AND owner = $2";
        let parameters: [Parameter<'_>; 2] = [&row.artifact.id.as_str(), &row.owner.as_str()];
        let rows = self.database.read(&Scope::Owner(row.owner.clone()), sql, &parameters).await?;
        match rows.first() {
            Some(found) if found.get::<_, i64>(0) == row.put => {
                Ok(Published::Stored(row.with_stored(stored)))
            }
            _ => Err(StoreError::Unusable("there is a result with this id already".into()).into()),
        }
    }

    /// Returns the body of an owner that has this hash.
    pub(super) async fn find_equal(
        &self,
        owner: Owner,
        hash: [u8; 32],
    ) -> Result<Option<EqualBody>, StoreError> {
        let sql = "SELECT id, bytes, stored, object FROM body WHERE owner = $1 AND hash = $2 AND visible";
        let parameters: [Parameter<'_>; 2] = [&owner.as_str(), &hash.as_slice()];
        let rows = self.query(&Scope::Owner(owner.clone()), sql, &parameters).await?;
        Ok(rows.first().map(|row| EqualBody {
            id: row.get(0),
            bytes: row.get::<_, i64>(1).unsigned_abs(),
            object: row.get(3),
        }))
    }

    /// Replaces the chunks of a damaged body. Its charge stays as it was.
    pub(super) async fn repair(
        &self,
        row: &ArtifactRow,
        damaged: i64,
        content: &Content,
    ) -> Result<(), StoreError> {
        self.retry(|_| self.try_repair(row, damaged, content)).await
    }

    async fn try_repair(&self, row: &ArtifactRow, damaged: i64, content: &Content) -> Result<(), Failure> {
        let owner = row.owner.as_str();
        let transaction = self.database.begin(&Scope::Owner(row.owner.clone())).await?;
        let locked = "SELECT object FROM body WHERE id = $1 AND owner = $2 AND visible FOR UPDATE";
        let Some(found) = transaction.query_one(locked, &[&damaged, &owner]).await? else {
            transaction.rollback().await;
            return Ok(());
        };
        transaction.execute("DELETE FROM chunk WHERE body = $1 AND owner = $2", &[&damaged, &owner]).await?;
        let old: Option<String> = found.get(0);
        if let Some(old) = old {
            let orphan = "INSERT INTO orphan VALUES ($1, 0) ON CONFLICT (object) DO NOTHING";
            transaction.execute(orphan, &[&old]).await?;
        }
        let object = match content {
            Content::Object { key, .. } => {
                claim_object(&transaction, key).await?;
                Some(key.as_str())
            }
            _ => None,
        };
        transaction.execute("UPDATE body SET object = $2 WHERE id = $1", &[&damaged, &object]).await?;
        ChunkColumns::of(content).insert(&transaction, damaged, owner).await?;
        transaction.commit().await
    }
}

/// Makes an object belong to a body, so that it is no longer an orphan.
pub(super) async fn claim_object(transaction: &Transaction, object: &str) -> Result<(), Failure> {
    match transaction.execute("DELETE FROM orphan WHERE object = $1", &[&object]).await? {
        0 => {
            Err(StoreError::Unusable("its object was swept before it was stored; it took too long".into())
                .into())
        }
        _ => Ok(()),
    }
}

async fn finish_body(
    transaction: &Transaction,
    row: &ArtifactRow,
    id: i64,
) -> Result<Result<PublishedBody, Published>, Failure> {
    if let Some((equal, _)) = equal_body(transaction, row).await? {
        return Ok(Err(Published::Equal(equal)));
    }
    let sql = "UPDATE body SET visible = true WHERE id = $1 AND owner = $2 AND NOT visible RETURNING stored";
    match transaction.query_one(sql, &[&id, &row.owner.as_str()]).await? {
        // Its bytes were charged when they were written.
        Some(found) => {
            Ok(Ok(PublishedBody { id, stored: found.get(0), session_bytes: 0, bytes: 0, is_new: false }))
        }
        None => {
            Err(StoreError::Unusable("its rows were swept before it was stored; it took too long".into())
                .into())
        }
    }
}

async fn equal_body(
    transaction: &Transaction,
    row: &ArtifactRow,
) -> Result<Option<(EqualBody, i64)>, Failure> {
    let found = transaction.query_one(EQUAL_BODY, &[&row.owner.as_str(), &row.hash.as_slice()]).await?;
    Ok(found.map(|found| {
        let body = EqualBody {
            id: found.get(0),
            bytes: found.get::<_, i64>(1).unsigned_abs(),
            object: found.get(3),
        };
        (body, found.get(2))
    }))
}

async fn add_artifact(
    transaction: &Transaction,
    row: &ArtifactRow,
    body: &PublishedBody,
) -> Result<(Option<Vec<u8>>, Option<Charged>), Failure> {
    let artifact = &row.artifact;
    let (owner, session) = (row.owner.as_str(), row.session.as_str());
    let records = artifact.records.map(u64::cast_signed);
    let parameters: [Parameter<'_>; 16] = [
        &artifact.id.as_str(),
        &owner,
        &session,
        &body.id,
        &artifact.tool,
        &artifact.kind,
        &records,
        &artifact.tokens.cast_signed(),
        &row.outline,
        &row.times.0.0,
        &row.times.1.0,
        &row.origin.server,
        &row.origin.arguments,
        &row.call,
        &row.put,
        &row.tier,
    ];
    let new = NewArtifactRow { insert: INSERT_ARTIFACT, parameters: &parameters, body: body.id };
    insert_and_charge(transaction, (owner, session), new, body.session_bytes, body.bytes).await
}

/// The columns of the rows of chunks.
#[derive(Default)]
pub(super) struct ChunkColumns<'c> {
    numbers: Vec<i32>,
    hashes: Vec<&'c [u8]>,
    data: Vec<Option<&'c [u8]>>,
    starts: Vec<i64>,
    lengths: Vec<i32>,
}

impl<'c> ChunkColumns<'c> {
    pub(super) fn of(content: &'c Content) -> Self {
        match content {
            Content::Rows(packed) => Self::of_packed(0, packed),
            Content::Object { chunks, .. } => Self {
                numbers: (0..).take(chunks.len()).collect(),
                hashes: chunks.iter().map(|chunk| chunk.hash.as_slice()).collect(),
                data: vec![None; chunks.len()],
                starts: chunks.iter().map(|chunk| chunk.start.cast_signed()).collect(),
                lengths: chunks.iter().map(|chunk| chunk.length.cast_signed()).collect(),
            },
            Content::Pending { .. } | Content::Existing { .. } => Self::default(),
        }
    }

    /// Returns the columns of chunks with data, from number `first` on.
    fn of_packed(first: i32, packed: &'c [Packed]) -> Self {
        Self {
            numbers: (first..).take(packed.len()).collect(),
            hashes: packed.iter().map(|chunk| chunk.hash.as_slice()).collect(),
            data: packed.iter().map(|chunk| Some(chunk.data.as_slice())).collect(),
            starts: vec![0; packed.len()],
            lengths: packed.iter().map(|chunk| chunk.data.len() as i32).collect(),
        }
    }

    /// Returns the columns as parameters of a statement.
    pub(super) fn parameters(&self) -> [Parameter<'_>; 5] {
        [&self.numbers, &self.hashes, &self.data, &self.starts, &self.lengths]
    }

    /// Writes the rows.
    async fn insert(self, transaction: &Transaction, body: i64, owner: &str) -> Result<(), Failure> {
        if self.numbers.is_empty() {
            return Ok(());
        }
        let head: [Parameter<'_>; 2] = [&body, &owner];
        let parameters: Vec<Parameter<'_>> = head.into_iter().chain(self.parameters()).collect();
        transaction.execute(INSERT_CHUNKS, &parameters).await.map(drop)
    }
}

/// Writes chunks as rows, from number `first` on.
pub(super) async fn insert_packed(
    transaction: &Transaction,
    body: i64,
    owner: &str,
    first: i32,
    packed: &[Packed],
) -> Result<(), Failure> {
    ChunkColumns::of_packed(first, packed).insert(transaction, body, owner).await
}

pub(super) fn object_of(content: &Content) -> Option<&str> {
    match content {
        Content::Object { key, .. } => Some(key),
        _ => None,
    }
}

pub(super) fn stored_bytes(content: &Content) -> i64 {
    let bytes: u64 = match content {
        Content::Rows(packed) => packed.iter().map(|chunk| chunk.data.len() as u64).sum(),
        Content::Object { chunks, .. } => chunks.iter().map(|chunk| u64::from(chunk.length)).sum(),
        Content::Pending { .. } | Content::Existing { .. } => 0,
    };
    bytes.cast_signed()
}
