//! Reading: artifacts and their chunks, each in one exchange with the database, and one with the object store if the bytes
//! are there.

use std::time::Duration;

use super::database::Scope;
use super::failure::Failure;
use super::{COLUMNS, JOINED, Shared, artifact_from_row, body_ref, text};
use crate::artifact::{Artifact, CallDigest, CallOrigin, EarlierResult, Opened, Owner, Session, Usage};
use crate::codec::BodyKey;
use crate::error::StoreError;
use crate::id::ArtifactId;

/// Chunks read at a time where a reader seems to read on: the chunk before was read as well.
const CHUNKS_IN_SEQUENCE: u64 = 16;
/// Chunks read at a time elsewhere: a page often spans two.
const CHUNKS_AT_ONCE: u64 = 2;
#[cfg(feature = "objects")]
/// How often a range of an object is read again if it came back damaged: a fault on the way, more often than in the store.
const MAX_DAMAGED_READS: u32 = 3;

/// The body of an open artifact.
#[derive(Debug)]
pub(crate) struct SharedBody {
    pub(crate) owner: Owner,
    pub(crate) id: i64,
    pub(crate) hash: [u8; 32],
    /// The object with its chunks, if they are not rows.
    pub(crate) object: Option<String>,
}

/// A chunk as it is stored.
struct ChunkRow {
    number: u64,
    hash: Vec<u8>,
    data: Option<Vec<u8>>,
    start: u64,
    length: u64,
}

impl Shared {
    pub(super) async fn open(&self, owner: Owner, id: ArtifactId) -> Result<Opened, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS}, a.outline, b.id, b.hash, b.object FROM {JOINED} WHERE a.id = $1 AND a.owner = $2"
        );
        let rows = self.query(&Scope::Owner(owner.clone()), &sql, &[&id.as_str(), &owner.as_str()]).await?;
        let row = rows.first().ok_or(StoreError::NotFound)?;
        let artifact = artifact_from_row(row)?.unexpired(self.clock.certain_now())?;
        let hash = hash_column(row.get(11))?;
        let outline = self.codec.open_outline(&owner, &id, &hash, row.get(9))?;
        let key = self.codec.body(&owner, &hash, artifact.bytes)?;
        let body = SharedBody { owner, id: row.get(10), hash, object: row.get(12) };
        Ok(Opened { artifact, body: body_ref(body), outline, key })
    }

    /// Reads a chunk that is not in the cache, and adds it and those after it to the cache.
    pub(super) async fn read_chunk(
        &self,
        body: &SharedBody,
        key: &BodyKey,
        number: u64,
    ) -> Result<Vec<u8>, StoreError> {
        let reads_on = number > 0 && self.cache.contains(body, number - 1);
        let count = if reads_on { CHUNKS_IN_SEQUENCE } else { CHUNKS_AT_ONCE };
        let mut wanted = None;
        for (found, bytes) in self.fetch_chunks(body, key, number, count).await? {
            if found == number {
                wanted = Some(bytes.clone());
            }
            self.cache.insert(body, found, bytes);
        }
        wanted.ok_or(StoreError::NotFound)
    }

    /// Reads at most `count` chunks from number `first` on, past the cache, and checks their hashes.
    pub(super) async fn fetch_chunks(
        &self,
        body: &SharedBody,
        key: &BodyKey,
        first: u64,
        count: u64,
    ) -> Result<Vec<(u64, Vec<u8>)>, StoreError> {
        let rows = self.chunk_rows(body, first, count).await?;
        match &body.object {
            Some(object) => self.fetch_from_object(object, key, &rows).await,
            None => rows.iter().map(|row| unpack_row(row, key)).collect(),
        }
    }

    async fn chunk_rows(
        &self,
        body: &SharedBody,
        first: u64,
        count: u64,
    ) -> Result<Vec<ChunkRow>, StoreError> {
        let sql = "SELECT number, hash, data, start, length FROM chunk
                   WHERE body = $1 AND owner = $2 AND number >= $3 AND number < $4 ORDER BY number";
        let clamp = |number: u64| i32::try_from(number).unwrap_or(i32::MAX);
        let (from, to) = (clamp(first), clamp(first.saturating_add(count)));
        let (scope, owner) = (Scope::Owner(body.owner.clone()), body.owner.as_str());
        let rows = self.query(&scope, sql, &[&body.id, &owner, &from, &to]).await?;
        Ok(rows
            .iter()
            .map(|row| ChunkRow {
                number: u64::from(row.get::<_, i32>(0).unsigned_abs()),
                hash: row.get(1),
                data: row.get(2),
                start: row.get::<_, i64>(3).unsigned_abs(),
                length: u64::from(row.get::<_, i32>(4).unsigned_abs()),
            })
            .collect())
    }

    #[cfg(feature = "objects")]
    async fn fetch_from_object(
        &self,
        object: &str,
        key: &BodyKey,
        rows: &[ChunkRow],
    ) -> Result<Vec<(u64, Vec<u8>)>, StoreError> {
        let (Some(first), Some(last)) = (rows.first(), rows.last()) else { return Ok(Vec::new()) };
        let objects = self.objects.as_ref().ok_or_else(|| {
            StoreError::Unusable("the body is in an object store, and none is configured".into())
        })?;
        let (start, end) = (first.start, last.start + last.length);
        let mut tries = 0;
        loop {
            tries += 1;
            let bytes = objects.read(object, start..end).await?;
            let unpacked: Result<Vec<_>, StoreError> =
                rows.iter().map(|row| unpack_part(row, key, &bytes, start)).collect();
            match unpacked {
                Err(StoreError::Damaged { .. }) if tries < MAX_DAMAGED_READS => {}
                done => return done,
            }
        }
    }

    #[cfg(not(feature = "objects"))]
    async fn fetch_from_object(
        &self,
        _: &str,
        _: &BodyKey,
        _: &[ChunkRow],
    ) -> Result<Vec<(u64, Vec<u8>)>, StoreError> {
        Err(StoreError::Unusable("this program was built without object stores".into()))
    }

    pub(super) async fn origin(&self, owner: Owner, id: ArtifactId) -> Result<CallOrigin, StoreError> {
        let sql = "SELECT server, arguments FROM artifact WHERE id = $1 AND owner = $2";
        let rows = self.query(&Scope::Owner(owner.clone()), sql, &[&id.as_str(), &owner.as_str()]).await?;
        let Some(row) = rows.first() else { return Ok(CallOrigin::default()) };
        let details = self.codec.open_details(&owner, &id, row.get(1), None)?;
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
        let calls: Vec<Vec<u8>> = self.codec.calls(call).iter().map(|call| call.0.to_vec()).collect();
        let rows = self
            .query(&Scope::Owner(owner.clone()), &sql, &[&calls, &owner.as_str(), &session, &now])
            .await?;
        let Some(row) = rows.first() else { return Ok(None) };
        Ok(Some(EarlierResult { artifact: artifact_from_row(row)?, hash: hash_column(row.get(9))? }))
    }

    pub(super) async fn list(&self, owner: Option<Owner>, limit: usize) -> Result<Vec<Artifact>, StoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let now = self.clock.certain_now().0;
        let rows = match owner {
            Some(owner) => {
                let sql = format!(
                    "SELECT {COLUMNS} FROM {JOINED} WHERE a.owner = $3 AND a.expires > $1
                     ORDER BY a.created DESC, a.id LIMIT $2"
                );
                self.query(&Scope::Owner(owner.clone()), &sql, &[&now, &limit, &owner.as_str()]).await?
            }
            None => {
                let sql = format!(
                    "SELECT {COLUMNS} FROM {JOINED} WHERE a.expires > $1 ORDER BY a.created DESC, a.id LIMIT $2"
                );
                self.query(&Scope::AllOwners, &sql, &[&now, &limit]).await?
            }
        };
        rows.iter().map(artifact_from_row).collect()
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
        // Repeating it changes nothing: the time to which it extends is computed once.
        let until = self.clock.now().after(ttl);
        self.retry(|_| self.try_touch(&owner, &id, until.0)).await?;
        Ok(self.open(owner, id).await?.artifact)
    }

    async fn try_touch(&self, owner: &Owner, id: &ArtifactId, until: i64) -> Result<(), Failure> {
        let transaction = self.database.begin(&Scope::Owner(owner.clone())).await?;
        let sql = "UPDATE artifact SET expires = greatest(expires, $3) WHERE id = $1 AND owner = $2 AND expires > $4";
        let now = self.clock.certain_now().0;
        transaction.execute(sql, &[&id.as_str(), &owner.as_str(), &until, &now]).await?;
        transaction.commit().await
    }
}

fn unpack_row(row: &ChunkRow, key: &BodyKey) -> Result<(u64, Vec<u8>), StoreError> {
    let data = row.data.as_ref().ok_or(StoreError::Damaged { what: "a chunk" })?;
    Ok((row.number, key.unpack(row.number, data, &row.hash)?))
}

#[cfg(feature = "objects")]
fn unpack_part(
    row: &ChunkRow,
    key: &BodyKey,
    bytes: &[u8],
    offset: u64,
) -> Result<(u64, Vec<u8>), StoreError> {
    let from = (row.start - offset) as usize;
    let part = bytes.get(from..from + row.length as usize).ok_or(StoreError::Damaged { what: "a chunk" })?;
    Ok((row.number, key.unpack(row.number, part, &row.hash)?))
}

fn hash_column(bytes: &[u8]) -> Result<[u8; 32], StoreError> {
    bytes.try_into().map_err(|_| StoreError::Damaged { what: "a hash" })
}
