//! Reads artifacts and chunks. Opening an artifact takes one round trip to the database, which also returns the chunks of a small body.
//! Reading chunks of a larger one takes one more, to the database or the object store. The chunks of a large object are first looked up
//! in the database.

use std::sync::Arc;
use std::time::Duration;

use tokio_postgres::Row;

use super::cache::CachedChunk;
use super::database::{Parameter, Scope};
use super::failure::Failure;
use super::known::Known;
use super::{COLUMNS, JOINED, Shared, body_ref, hash_column, text};
use crate::artifact::{
    Artifact, CallDigest, CallOrigin, EarlierResult, Opened, Owner, Session, TierLevel, Usage,
};
use crate::chunks::Packed;
use crate::codec::BodyKey;
use crate::error::StoreError;
use crate::id::ArtifactId;

/// The number of chunks read at a time by a sequential reader, one that has also read the chunk before.
const CHUNKS_IN_SEQUENCE: u64 = 16;
/// The number of chunks read at a time otherwise: a page often spans two.
const CHUNKS_AT_ONCE: u64 = 2;
#[cfg(feature = "objects")]
/// How often a range of an object is read in all if it arrives damaged, which is more often a fault of the transfer than of the
/// store.
const MAX_DAMAGED_READS: u32 = 3;

/// The largest stored size of a body in rows whose chunks are returned when its artifact is opened.
const MAX_INCLUDED_BYTES: i64 = 128 << 10;
/// The largest body for which opening its artifact also returns where its chunks are in their object: 64 chunks.
const MAX_PLACED_BYTES: i64 = 4 << 20;

/// The body of an open artifact.
#[derive(Debug)]
pub(crate) struct SharedBody {
    pub(crate) owner: Owner,
    pub(crate) id: i64,
    pub(crate) hash: [u8; 32],
    /// The object that holds its chunks, if they are not rows.
    pub(crate) object: Option<String>,
    /// Where each of its chunks is in the object, if known.
    places: Option<Arc<[ChunkPlace]>>,
}

impl SharedBody {
    /// Returns a body of an owner.
    pub(super) fn new(owner: Owner, id: i64, hash: [u8; 32], object: Option<String>) -> Self {
        Self { owner, id, hash, object, places: None }
    }
}

/// Where a chunk is, and the hash that it must have.
#[derive(Debug, Clone)]
pub(super) struct ChunkPlace {
    number: u64,
    hash: Vec<u8>,
    /// Where the bytes are in the object.
    start: u64,
    length: u64,
}

/// A chunk as it is stored.
#[derive(Debug, Clone)]
pub(super) struct StoredChunk {
    pub(super) number: u64,
    hash: Vec<u8>,
    pub(super) data: Vec<u8>,
}

impl StoredChunk {
    /// Returns a chunk as it is about to be stored.
    pub(super) fn of_packed(number: u64, packed: &Packed) -> Self {
        Self { number, hash: packed.hash.to_vec(), data: packed.data.clone() }
    }

    /// Returns the bytes of the chunk, if they have its hash.
    pub(super) fn unpack(&self, key: &BodyKey) -> Result<Vec<u8>, StoreError> {
        key.unpack(self.number, &self.data, &self.hash)
    }
}

/// The columns of an artifact that was not opened before: its outline, and what its body needs to be read. That is where the chunks
/// are if they are in an object of at most $3 bytes, or the chunks if they are rows of at most $5 stored bytes.
///
/// Of an artifact that is known (its `put` is $6, the digest of its body $7 and its object $8), all of these are NULL.
const BODY_COLUMNS: &str = "b.id, b.hash, b.object, a.put, CASE WHEN is_new THEN a.outline END,
    CASE WHEN is_new THEN (SELECT array_agg(c.length ORDER BY c.number) FROM chunk c
        WHERE c.body = b.id AND c.owner = b.owner AND b.object IS NOT NULL AND b.bytes <= $3) END,
    CASE WHEN is_new THEN (SELECT array_agg(c.hash ORDER BY c.number) FROM chunk c WHERE c.body = b.id AND c.owner = b.owner
        AND CASE WHEN b.object IS NOT NULL THEN b.bytes <= $3 ELSE b.stored <= $5 END) END,
    CASE WHEN is_new THEN (SELECT array_agg(c.data ORDER BY c.number) FROM chunk c
        WHERE c.body = b.id AND c.owner = b.owner AND b.object IS NULL AND b.stored <= $5) END";
const IS_NEW: &str = "LATERAL (SELECT (a.put, b.hash, b.object) IS DISTINCT FROM ($6::bigint, $7::bytea, $8::text) AS is_new) known";

impl Shared {
    pub(super) async fn open(
        &self,
        owner: Owner,
        tier: TierLevel,
        id: ArtifactId,
    ) -> Result<Opened, StoreError> {
        let known = self.known.get(&owner, &id);
        let put = known.as_ref().map(|known| known.put);
        let digest = known.as_ref().map(|known| known.hash.as_slice());
        let object = known.as_ref().and_then(|known| known.object.as_deref());
        let sql = format!(
            "SELECT {COLUMNS}, {BODY_COLUMNS} FROM {JOINED}, {IS_NEW}
             WHERE a.id = $1 AND a.owner = $2 AND a.tier <= $4"
        );
        let parameters: [Parameter<'_>; 8] = [
            &id.as_str(),
            &owner.as_str(),
            &MAX_PLACED_BYTES,
            &i16::from(tier.number()),
            &MAX_INCLUDED_BYTES,
            &put,
            &digest,
            &object,
        ];
        let rows = self.query(&Scope::Owner(owner.clone()), &sql, &parameters).await?;
        let row = rows.first().ok_or(StoreError::NotFound)?;
        let now = self.clock.here(self.clock.certain_now());
        let artifact = self.artifact(row)?.unexpired(now)?;
        let hash = hash_column(row.get(10))?;
        let codec = self.codec();
        let key = codec.body(&owner, &hash, artifact.bytes)?;
        let body = SharedBody::new(owner, row.get(9), hash, row.get(11));
        let known = match (known, row.get::<_, Option<Vec<u8>>>(13)) {
            (Some(known), None) => known,
            (_, sealed) => {
                let sealed = sealed.ok_or(StoreError::Damaged { what: "the outline" })?;
                let outline = codec.open_outline(&body.owner, &id, &hash, sealed)?;
                let known = Arc::new(Known {
                    put: row.get(12),
                    hash,
                    object: body.object.clone(),
                    outline,
                    places: self.take_chunks(&body, row),
                });
                self.known.insert(&body.owner, &id, Arc::clone(&known));
                known
            }
        };
        let body = SharedBody { places: known.places.clone(), ..body };
        Ok(Opened { artifact, body: body_ref(body), outline: known.outline.clone(), key })
    }

    /// Takes what a row with these columns has of the chunks: returns where they are in their object, or adds them to the cache.
    fn take_chunks(&self, body: &SharedBody, row: &Row) -> Option<Arc<[ChunkPlace]>> {
        let hashes: Vec<Vec<u8>> = row.get::<_, Option<_>>(15)?;
        if let Some(lengths) = row.get::<_, Option<Vec<i32>>>(14) {
            return Some(consecutive_places(lengths, hashes));
        }
        let data = row.get::<_, Option<Vec<Option<Vec<u8>>>>>(16)?;
        for ((number, hash), data) in (0..).zip(hashes).zip(data) {
            let Some(data) = data else { break };
            self.cache.remember(body, StoredChunk { number, hash, data });
        }
        None
    }

    /// Reads a chunk that is not in the cache, and adds it and those after it to the cache.
    pub(super) async fn read_chunk(
        &self,
        body: &SharedBody,
        key: &BodyKey,
        number: u64,
    ) -> Result<Vec<u8>, StoreError> {
        let reads_on = number > 0 && self.cache.was_read(body, number - 1);
        let count = if reads_on { CHUNKS_IN_SEQUENCE } else { CHUNKS_AT_ONCE };
        let (wanted, ahead) = self
            .fetch_chunks(body, number, count, |mut chunks| {
                let is_there = chunks.first().is_some_and(|chunk| chunk.number == number);
                let wanted =
                    if is_there { chunks.remove(0).unpack(key)? } else { return Err(StoreError::NotFound) };
                Ok((wanted, chunks))
            })
            .await?;
        for chunk in ahead {
            self.cache.insert(body, chunk.number, CachedChunk::Stored(chunk));
        }
        self.cache.insert(body, number, CachedChunk::Bytes(wanted.clone()));
        Ok(wanted)
    }

    /// Reads at most `count` chunks from number `first` on without the cache, and passes them to `unpack`. If that finds them
    /// damaged, the bytes of an object are read again: they may have been damaged in transit.
    pub(super) async fn fetch_chunks<T>(
        &self,
        body: &SharedBody,
        first: u64,
        count: u64,
        unpack: impl Fn(Vec<StoredChunk>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let Some(object) = &body.object else { return unpack(self.chunk_rows(body, first, count).await?) };
        let places = match &body.places {
            Some(places) => {
                places.iter().skip(first as usize).take(count as usize).cloned().collect::<Vec<_>>()
            }
            None => self.places(body, first, count).await?,
        };
        self.fetch_from_object(object, &places, unpack).await
    }

    /// Selects columns of chunks.
    async fn select_chunks(
        &self,
        columns: &str,
        body: &SharedBody,
        first: u64,
        count: u64,
    ) -> Result<Vec<Row>, StoreError> {
        let sql = format!(
            "SELECT number, hash, {columns} FROM chunk
             WHERE body = $1 AND owner = $2 AND number >= $3 AND number < $4 ORDER BY number"
        );
        let clamp = |number: u64| i32::try_from(number).unwrap_or(i32::MAX);
        let (from, to) = (clamp(first), clamp(first.saturating_add(count)));
        let (scope, owner) = (Scope::Owner(body.owner.clone()), body.owner.as_str());
        self.query(&scope, &sql, &[&body.id, &owner, &from, &to]).await
    }

    async fn chunk_rows(
        &self,
        body: &SharedBody,
        first: u64,
        count: u64,
    ) -> Result<Vec<StoredChunk>, StoreError> {
        let rows = self.select_chunks("data", body, first, count).await?;
        let chunks = rows.iter().map(|row| {
            let data = row.get::<_, Option<Vec<u8>>>(2).ok_or(StoreError::Damaged { what: "a chunk" })?;
            Ok(StoredChunk { number: number_column(row), hash: row.get(1), data })
        });
        chunks.collect()
    }

    async fn places(&self, body: &SharedBody, first: u64, count: u64) -> Result<Vec<ChunkPlace>, StoreError> {
        let rows = self.select_chunks("start, length", body, first, count).await?;
        let places = rows.iter().map(|row| ChunkPlace {
            number: number_column(row),
            hash: row.get(1),
            start: row.get::<_, i64>(2).unsigned_abs(),
            length: u64::from(row.get::<_, i32>(3).unsigned_abs()),
        });
        Ok(places.collect())
    }

    #[cfg(feature = "objects")]
    async fn fetch_from_object<T>(
        &self,
        object: &str,
        places: &[ChunkPlace],
        unpack: impl Fn(Vec<StoredChunk>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let (Some(first), Some(last)) = (places.first(), places.last()) else { return unpack(Vec::new()) };
        let objects = self.objects.as_ref().ok_or_else(|| {
            StoreError::Unusable("the body is in an object store, and none is configured".into())
        })?;
        let (start, end) = (first.start, last.start + last.length);
        let mut tries = 0;
        loop {
            tries += 1;
            let bytes = objects.read(object, start..end).await?;
            let chunks: Result<Vec<_>, StoreError> =
                places.iter().map(|place| chunk_of_object(place, &bytes, start)).collect();
            match chunks.and_then(&unpack) {
                Err(StoreError::Damaged { .. }) if tries < MAX_DAMAGED_READS => {}
                done => return done,
            }
        }
    }

    #[cfg(not(feature = "objects"))]
    async fn fetch_from_object<T>(
        &self,
        _: &str,
        _: &[ChunkPlace],
        _: impl Fn(Vec<StoredChunk>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        Err(StoreError::Unusable("this program was built without object stores".into()))
    }

    pub(super) async fn origin(&self, owner: Owner, id: ArtifactId) -> Result<CallOrigin, StoreError> {
        let sql = "SELECT server, arguments FROM artifact WHERE id = $1 AND owner = $2";
        let rows = self.query(&Scope::Owner(owner.clone()), sql, &[&id.as_str(), &owner.as_str()]).await?;
        let Some(row) = rows.first() else { return Ok(CallOrigin::default()) };
        let details = self.codec().open_details(&owner, &id, row.get(1), None)?;
        Ok(CallOrigin { server: row.get(0), arguments: details.arguments })
    }

    pub(super) async fn last_of_call(
        &self,
        owner: Owner,
        session: Session,
        call: CallDigest,
    ) -> Result<Option<EarlierResult>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS}, b.hash FROM {JOINED} WHERE a.call = ANY($1) AND a.owner = $2 AND a.session = $3
             AND a.expires > $4 ORDER BY a.created DESC, a.number DESC LIMIT 1"
        );
        let (session, now) = (text(session.as_str()), self.clock.certain_now().0);
        let calls: Vec<Vec<u8>> = self.codec().calls(call).iter().map(|call| call.0.to_vec()).collect();
        let rows = self
            .query(&Scope::Owner(owner.clone()), &sql, &[&calls, &owner.as_str(), &session, &now])
            .await?;
        let Some(row) = rows.first() else { return Ok(None) };
        Ok(Some(EarlierResult { artifact: self.artifact(row)?, hash: hash_column(row.get(9))? }))
    }

    pub(super) async fn list(
        &self,
        clearance: Option<(Owner, TierLevel)>,
        limit: usize,
    ) -> Result<Vec<Artifact>, StoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let now = self.clock.certain_now().0;
        let rows = match clearance {
            Some((owner, tier)) => {
                let sql = format!(
                    "SELECT {COLUMNS} FROM {JOINED} WHERE a.owner = $3 AND a.tier <= $4 AND a.expires > $1
                     ORDER BY a.created DESC, a.id LIMIT $2"
                );
                let parameters: [Parameter<'_>; 4] =
                    [&now, &limit, &owner.as_str(), &i16::from(tier.number())];
                self.query(&Scope::Owner(owner.clone()), &sql, &parameters).await?
            }
            None => {
                let sql = format!(
                    "SELECT {COLUMNS} FROM {JOINED} WHERE a.expires > $1 ORDER BY a.created DESC, a.id LIMIT $2"
                );
                self.query(&Scope::AllOwners, &sql, &[&now, &limit]).await?
            }
        };
        rows.iter().map(|row| self.artifact(row)).collect()
    }

    pub(super) async fn owner_of(&self, id: ArtifactId) -> Result<Option<Owner>, StoreError> {
        let sql = "SELECT owner FROM artifact WHERE id = $1";
        let rows = self.query(&Scope::AllOwners, sql, &[&id.as_str()]).await?;
        Ok(rows.first().map(|row| Owner::new(row.get::<_, String>(0))))
    }

    pub(super) async fn usage(&self) -> Result<Usage, StoreError> {
        let sql = "SELECT artifacts, stored FROM quota_use WHERE scope = 0";
        let rows = self.query(&Scope::AllOwners, sql, &[]).await?;
        let row = rows.first().ok_or(StoreError::Damaged { what: "the row of the store's quota" })?;
        Ok(Usage {
            artifacts: row.get::<_, i64>(0).unsigned_abs(),
            stored_bytes: row.get::<_, i64>(1).unsigned_abs(),
        })
    }

    pub(super) async fn touch(
        &self,
        owner: Owner,
        id: ArtifactId,
        ttl: Duration,
    ) -> Result<Artifact, StoreError> {
        // Repeating this has no further effect, because the new expiry is computed once.
        let until = self.clock.now().after(ttl);
        self.retry(|_| self.try_touch(&owner, &id, until.0)).await?;
        Ok(self.open(owner, TierLevel::HIGHEST, id).await?.artifact)
    }

    async fn try_touch(&self, owner: &Owner, id: &ArtifactId, until: i64) -> Result<(), Failure> {
        let transaction = self.database.begin(&Scope::Owner(owner.clone())).await?;
        let sql = "UPDATE artifact SET expires = greatest(expires, $3) WHERE id = $1 AND owner = $2 AND expires > $4";
        let now = self.clock.certain_now().0;
        transaction.execute(sql, &[&id.as_str(), &owner.as_str(), &until, &now]).await?;
        transaction.commit().await
    }
}

/// Returns the places of all chunks of an object, in which they follow one another.
fn consecutive_places(lengths: Vec<i32>, hashes: Vec<Vec<u8>>) -> Arc<[ChunkPlace]> {
    let mut start = 0;
    let places = (0..).zip(lengths).zip(hashes).map(|((number, length), hash)| {
        let length = u64::from(length.unsigned_abs());
        start += length;
        ChunkPlace { number, hash, start: start - length, length }
    });
    places.collect()
}

#[cfg(feature = "objects")]
fn chunk_of_object(place: &ChunkPlace, bytes: &[u8], offset: u64) -> Result<StoredChunk, StoreError> {
    let from = (place.start - offset) as usize;
    let data =
        bytes.get(from..from + place.length as usize).ok_or(StoreError::Damaged { what: "a chunk" })?;
    Ok(StoredChunk { number: place.number, hash: place.hash.clone(), data: data.to_owned() })
}

fn number_column(row: &Row) -> u64 {
    u64::from(row.get::<_, i32>(0).unsigned_abs())
}
