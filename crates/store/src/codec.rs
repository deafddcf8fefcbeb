//! How a store writes whatever holds content: as it is, or sealed with the key of the store. Every backend uses it the same way.
//!
//! | what | how a backend writes and reads it |
//! |---|---|
//! | chunks | [`Codec::body`] returns the [`BodyKey`] of a body; `Packer` seals with it, [`BodyKey::unpack`] opens |
//! | digest of a body, by which equal ones are found | [`Codec::digest`]; [`Codec::has_digest`] compares |
//! | outline: row index and statistics | [`Codec::seal_outline`], [`Codec::open_outline`] |
//! | arguments and digest of the call | [`Codec::seal_details`], [`Codec::open_details`]; searched by [`Codec::calls`] |
//! | which key the store has | [`Codec::record`]: bytes that the backend keeps, and gives to [`Codec::resolve`] when it is opened |
//!
//! Owners, sessions, names of servers and tools, sizes and times are not sealed: quotas, expiry and lists need them.
//!
//! A process that changes a store checks in the same transaction that the record is the one of its codec. While the key is
//! changed (`rekey`), the record names both keys; what is written then is sealed with the new one.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tidegate_core::source::Source;

use crate::artifact::{CallDigest, Owner};
use crate::chunks::{HASH_BYTES, Packed, hash, hash_into, unpack};
use crate::cipher::{Cipher, HEADER_BYTES, SealedPlace, is_sealed, key_of};
use crate::error::StoreError;
use crate::id::ArtifactId;
use crate::key::{KeyId, KeyMismatch, StoreKey, StoreKeys};

/// What sealed arguments begin with; arguments are JSON, which never begins so.
const SEALED_TEXT: &str = "sealed:";

/// What a store records about its key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct KeyRecord {
    /// The id of its key.
    key: String,
    /// While the key is changed: the id of the previous key, or `plain`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    previous: Option<String>,
    /// A keyed hash of both, so that only who has the key can change them.
    proof: String,
}

/// The value of `previous` for a store that was not encrypted.
const PLAIN: &str = "plain";

impl KeyRecord {
    fn new(key: &Cipher, previous: Option<String>) -> Self {
        let proof = Self::proof(key, previous.as_deref());
        Self { key: key.id().to_string(), previous, proof }
    }

    fn proof(key: &Cipher, previous: Option<&str>) -> String {
        let mut hasher = key.hasher();
        hasher.update(b"key record ").update(previous.unwrap_or("none").as_bytes());
        hasher.finalize().to_hex()[..32].to_owned()
    }

    fn is_proven(&self, key: &Cipher) -> bool {
        self.proof == Self::proof(key, self.previous.as_deref())
    }

    fn parse(bytes: &[u8]) -> Result<Self, StoreError> {
        serde_json::from_slice(bytes).map_err(|_| damaged_record())
    }

    fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a record has only texts")
    }
}

fn damaged_record() -> StoreError {
    StoreError::Damaged { what: "the record of its key" }
}

/// Returns the id that a record names.
fn id_of(digits: &str) -> Result<KeyId, StoreError> {
    let byte = |at: usize| u8::from_str_radix(digits.get(2 * at..2 * at + 2)?, 16).ok();
    let id: Option<Vec<u8>> = (0..8).map(byte).collect();
    id.and_then(|id| id.try_into().ok()).map(KeyId).ok_or_else(damaged_record)
}

/// Arguments and digest of a call, as they are sealed together.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CallDetails {
    pub(crate) arguments: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    call: Option<String>,
}

impl CallDetails {
    pub(crate) fn new(arguments: String, call: Option<CallDigest>) -> Self {
        Self { arguments, call: call.map(|call| call.to_hex()) }
    }

    #[cfg(any(feature = "sqlite", feature = "postgres"))]
    pub(crate) fn of(new: &crate::artifact::NewArtifact<'_>) -> Self {
        Self::new(new.origin().arguments, new.call)
    }

    /// Returns the digest of the call, as the caller made it.
    pub(crate) fn call(&self) -> Option<CallDigest> {
        self.call.as_deref().and_then(CallDigest::from_hex)
    }
}

/// How a store writes what holds content.
#[derive(Debug, Clone)]
pub(crate) struct Codec(Arc<Keys>);

#[derive(Debug, Default)]
struct Keys {
    /// Seals what is written; `None` for a store that is not encrypted.
    current: Option<Cipher>,
    /// Opens what was written before the key was changed.
    previous: Option<Cipher>,
    /// Whether there may be content that is not sealed.
    reads_plain: bool,
    /// What the store records.
    record: Option<Vec<u8>>,
}

impl Codec {
    /// Returns the codec of a store that is not encrypted.
    pub(crate) fn plain() -> Self {
        Self(Arc::new(Keys { reads_plain: true, ..Keys::default() }))
    }

    fn sealed(key: &StoreKey) -> Self {
        let cipher = Cipher::new(key);
        let record = Some(KeyRecord::new(&cipher, None).to_bytes());
        Self(Arc::new(Keys { current: Some(cipher), record, ..Keys::default() }))
    }

    fn changing(key: &StoreKey, previous: Option<&StoreKey>) -> Self {
        let (current, previous) = (Cipher::new(key), previous.map(Cipher::new));
        let before = previous.as_ref().map_or_else(|| PLAIN.to_owned(), |previous| previous.id().to_string());
        let record = Some(KeyRecord::new(&current, Some(before)).to_bytes());
        let reads_plain = previous.is_none();
        Self(Arc::new(Keys { current: Some(current), previous, reads_plain, record }))
    }

    /// Returns the codec for a store with this record. A store without one that holds nothing gets the configured key; its
    /// backend must then write [`Self::record`].
    ///
    /// # Errors
    ///
    /// The keys do not fit the store.
    pub(crate) fn resolve(
        keys: &StoreKeys,
        record: Option<&[u8]>,
        is_empty: impl FnOnce() -> Result<bool, StoreError>,
    ) -> Result<Self, StoreError> {
        let Some(record) = record else {
            return match &keys.current {
                None => Ok(Self::plain()),
                Some(key) if is_empty()? => Ok(Self::sealed(key)),
                Some(_) if keys.from_plain => Ok(Self::plain()),
                Some(_) => Err(KeyMismatch::NotEncrypted.into()),
            };
        };
        let record = KeyRecord::parse(record)?;
        let codec = match &record.previous {
            None => Self::sealed(Self::key_with(keys, id_of(&record.key)?)?),
            Some(previous) => {
                let key = Self::key_with(&StoreKeys { previous: None, ..keys.clone() }, id_of(&record.key)?)?
                    .clone();
                Self::changing(&key, Self::previous_with(keys, previous)?)
            }
        };
        match codec.0.current.as_ref().is_some_and(|key| record.is_proven(key)) {
            true => Ok(codec),
            false => Err(damaged_record()),
        }
    }

    fn key_with(keys: &StoreKeys, id: KeyId) -> Result<&StoreKey, KeyMismatch> {
        let mut configured = keys.current.iter().chain(&keys.previous);
        match (configured.find(|key| key.id() == id), &keys.current) {
            (Some(key), _) => Ok(key),
            (None, Some(key)) => Err(KeyMismatch::Other { store: id, given: key.id() }),
            (None, None) => Err(KeyMismatch::Missing { id }),
        }
    }

    fn previous_with<'k>(keys: &'k StoreKeys, previous: &str) -> Result<Option<&'k StoreKey>, StoreError> {
        if previous == PLAIN {
            return Ok(None);
        }
        let id = id_of(previous)?;
        let key = keys.previous.as_ref().filter(|key| key.id() == id);
        Ok(Some(key.ok_or(KeyMismatch::PreviousMissing { id })?))
    }

    /// Returns the codec with which the content of a store is sealed anew; `None` if all of it has the configured key.
    ///
    /// # Errors
    ///
    /// No key is configured, or the keys do not fit the store.
    pub(crate) fn to_rekey(keys: &StoreKeys, record: Option<&[u8]>) -> Result<Option<Self>, StoreError> {
        let key = keys.current.as_ref().ok_or(KeyMismatch::NoKey)?;
        let Some(bytes) = record else { return Ok(Some(Self::changing(key, None))) };
        let record = KeyRecord::parse(bytes)?;
        let store = id_of(&record.key)?;
        match &record.previous {
            Some(_) => Self::resolve(keys, Some(bytes), || Ok(false)).map(Some),
            None if store == key.id() => Self::resolve(keys, Some(bytes), || Ok(false)).map(|_| None),
            None => match keys.previous.as_ref().filter(|previous| previous.id() == store) {
                Some(previous) => Ok(Some(Self::changing(key, Some(previous)))),
                None => Err(KeyMismatch::Other { store, given: key.id() }.into()),
            },
        }
    }

    /// Returns the key that a record names.
    #[cfg(feature = "sqlite")]
    pub(crate) fn recorded_key(record: &[u8]) -> Result<KeyId, StoreError> {
        id_of(&KeyRecord::parse(record)?.key)
    }

    /// Returns the record of a store whose content is all sealed with the current key.
    pub(crate) fn finished_record(&self) -> Option<Vec<u8>> {
        self.0.current.as_ref().map(|key| KeyRecord::new(key, None).to_bytes())
    }

    /// Returns what the store must have recorded.
    pub(crate) fn record(&self) -> Option<&[u8]> {
        self.0.record.as_deref()
    }

    /// Returns the key that seals what is written.
    pub(crate) fn key(&self) -> Option<KeyId> {
        self.0.current.as_ref().map(Cipher::id)
    }

    /// Returns whether the key is being changed.
    pub(crate) fn is_changing(&self) -> bool {
        self.0.previous.is_some() || self.is_from_plain()
    }

    /// Returns whether the store was not encrypted before its key is changed.
    pub(crate) fn is_from_plain(&self) -> bool {
        self.0.current.is_some() && self.0.reads_plain
    }

    /// Returns what everything begins with that is sealed with the current key.
    pub(crate) fn header(&self) -> Option<[u8; HEADER_BYTES]> {
        self.0.current.as_ref().map(Cipher::header)
    }

    /// Returns the digest of a body, by which the owner's equal bodies are found.
    pub(crate) fn digest(&self, owner: &Owner, body: &dyn Source) -> Result<[u8; 32], StoreError> {
        digest_with(self.0.current.as_ref(), owner, body)
    }

    /// Returns whether a stored digest is that of a body.
    pub(crate) fn has_digest(
        &self,
        owner: &Owner,
        digest: &[u8; 32],
        body: &dyn Source,
    ) -> Result<bool, StoreError> {
        if self.digest(owner, body)? == *digest {
            return Ok(true);
        }
        let Keys { current, previous, reads_plain, .. } = &*self.0;
        let is_previous = match previous {
            Some(previous) => digest_with(Some(previous), owner, body)? == *digest,
            None => false,
        };
        Ok(is_previous || (current.is_some() && *reads_plain && digest_with(None, owner, body)? == *digest))
    }

    /// Returns the key of a body, for its chunks.
    ///
    /// # Errors
    ///
    /// A body without bytes has another digest: there is no chunk that would show it.
    pub(crate) fn body(&self, owner: &Owner, digest: &[u8; 32], bytes: u64) -> Result<BodyKey, StoreError> {
        if bytes == 0 && self.0.current.is_some() && !self.has_digest(owner, digest, &[].as_slice())? {
            return Err(StoreError::Damaged { what: "its size" });
        }
        let place = SealedPlace::new(&[b"chunk", owner.as_str().as_bytes(), digest, &bytes.to_le_bytes()]);
        Ok(BodyKey { codec: self.clone(), place })
    }

    /// Returns the digest by which a call is found in this store.
    pub(crate) fn call(&self, call: CallDigest) -> CallDigest {
        call_with(self.0.current.as_ref(), call)
    }

    /// Returns every digest that a call may have in this store.
    pub(crate) fn calls(&self, call: CallDigest) -> Vec<CallDigest> {
        let Keys { current, previous, reads_plain, .. } = &*self.0;
        let sealed = current.iter().chain(previous).map(|key| call_with(Some(key), call));
        sealed.chain(reads_plain.then_some(call)).collect()
    }

    /// Returns an outline as it is stored.
    pub(crate) fn seal_outline(
        &self,
        owner: &Owner,
        id: &ArtifactId,
        digest: &[u8; 32],
        outline: &[u8],
    ) -> Vec<u8> {
        match &self.0.current {
            Some(key) => key.seal(&outline_place(owner, id, digest), outline),
            None => outline.to_owned(),
        }
    }

    /// Returns an outline from what was stored; `digest` is that of the body the artifact refers to.
    pub(crate) fn open_outline(
        &self,
        owner: &Owner,
        id: &ArtifactId,
        digest: &[u8; 32],
        stored: Vec<u8>,
    ) -> Result<Vec<u8>, StoreError> {
        self.open(&outline_place(owner, id, digest), "the outline", stored)
    }

    /// Returns the text that is stored for the arguments of a call.
    pub(crate) fn seal_details(&self, owner: &Owner, id: &ArtifactId, details: &CallDetails) -> String {
        let Some(key) = &self.0.current else { return details.arguments.clone() };
        let bytes = serde_json::to_vec(details).expect("details have only texts");
        let sealed = key.seal(&details_place(owner, id), &bytes);
        let digits = sealed.iter().map(|byte| format!("{byte:02x}"));
        SEALED_TEXT.chars().map(String::from).chain(digits).collect()
    }

    /// Returns the arguments and the call from the stored text; `call` is what is stored of the call.
    pub(crate) fn open_details(
        &self,
        owner: &Owner,
        id: &ArtifactId,
        stored: &str,
        call: Option<CallDigest>,
    ) -> Result<CallDetails, StoreError> {
        let damaged = || StoreError::Damaged { what: "its arguments" };
        let Some(digits) = stored.strip_prefix(SEALED_TEXT) else {
            return match self.0.reads_plain {
                true => Ok(CallDetails::new(stored.to_owned(), call)),
                false => Err(damaged()),
            };
        };
        let byte = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
        let sealed: Option<Vec<u8>> = (0..digits.len()).step_by(2).map(byte).collect();
        let bytes = self.open(&details_place(owner, id), "its arguments", sealed.ok_or_else(damaged)?)?;
        serde_json::from_slice(&bytes).map_err(|_| damaged())
    }

    /// Returns a message between replicas as it is stored.
    #[cfg(feature = "postgres")]
    pub(crate) fn seal_message(&self, owner: &Owner, session: &str, body: &[u8]) -> Vec<u8> {
        match &self.0.current {
            Some(key) => key.seal(&message_place(owner, session), body),
            None => body.to_owned(),
        }
    }

    /// Returns a message between replicas from what was stored.
    #[cfg(feature = "postgres")]
    pub(crate) fn open_message(
        &self,
        owner: &Owner,
        session: &str,
        stored: Vec<u8>,
    ) -> Result<Vec<u8>, StoreError> {
        self.open(&message_place(owner, session), "a message between replicas", stored)
    }

    /// Opens something sealed, or returns it as it is where the store may hold content that is not sealed.
    fn open(&self, place: &SealedPlace, what: &'static str, stored: Vec<u8>) -> Result<Vec<u8>, StoreError> {
        let Some(id) = key_of(&stored) else {
            return if self.0.reads_plain { Ok(stored) } else { Err(StoreError::Damaged { what }) };
        };
        let Keys { current, previous, .. } = &*self.0;
        let key = current.iter().chain(previous).find(|key| key.id() == id);
        match (key, current) {
            (Some(key), _) => key.open(place, &stored).ok_or(StoreError::Damaged { what }),
            // Another process has encrypted the store since this one opened it.
            (None, None) => Err(KeyMismatch::Changed.into()),
            (None, Some(_)) => Err(StoreError::Damaged { what }),
        }
    }
}

fn digest_with(key: Option<&Cipher>, owner: &Owner, body: &dyn Source) -> Result<[u8; 32], StoreError> {
    let mut hasher = key.map_or_else(blake3::Hasher::new, Cipher::hasher);
    if key.is_some() {
        // Not even equal bodies of two owners have the same digest.
        hasher.update(&(owner.as_str().len() as u64).to_le_bytes()).update(owner.as_str().as_bytes());
    }
    hash_into(&mut hasher, body)?;
    Ok(*hasher.finalize().as_bytes())
}

fn call_with(key: Option<&Cipher>, call: CallDigest) -> CallDigest {
    let Some(key) = key else { return call };
    let mut digest = [0; 16];
    key.hasher().update(b"call").update(&call.0).finalize_xof().fill(&mut digest);
    CallDigest(digest)
}

/// An outline belongs to one artifact and its body: an artifact that is made to refer to another body does not open.
fn outline_place(owner: &Owner, id: &ArtifactId, digest: &[u8; 32]) -> SealedPlace {
    SealedPlace::new(&[b"outline", owner.as_str().as_bytes(), id.as_str().as_bytes(), digest])
}

fn details_place(owner: &Owner, id: &ArtifactId) -> SealedPlace {
    SealedPlace::new(&[b"details", owner.as_str().as_bytes(), id.as_str().as_bytes()])
}

#[cfg(feature = "postgres")]
fn message_place(owner: &Owner, session: &str) -> SealedPlace {
    SealedPlace::new(&[b"message", owner.as_str().as_bytes(), session.as_bytes()])
}

/// Seals and opens the chunks of one body.
#[derive(Debug, Clone)]
pub(crate) struct BodyKey {
    codec: Codec,
    place: SealedPlace,
}

impl BodyKey {
    /// Returns a compressed chunk as it is stored. `plain_hash` is of the bytes before compression.
    pub(crate) fn pack(&self, number: u64, compressed: Vec<u8>, plain_hash: [u8; HASH_BYTES]) -> Packed {
        match &self.codec.0.current {
            // A hash of the bytes would reveal something about them; this one lets `doctor` find damage without the key.
            Some(key) => {
                let data = key.seal(&self.place.numbered(number), &compressed);
                Packed { hash: hash(&data), data }
            }
            None => Packed { hash: plain_hash, data: compressed },
        }
    }

    /// Returns the bytes of a chunk from what was stored.
    ///
    /// # Errors
    ///
    /// [`StoreError::Damaged`] if they are not the bytes of this chunk of this body.
    pub(crate) fn unpack(&self, number: u64, data: &[u8], stored_hash: &[u8]) -> Result<Vec<u8>, StoreError> {
        if !is_sealed(data) && self.codec.0.reads_plain {
            return unpack(data, stored_hash);
        }
        let opened = self.codec.open(&self.place.numbered(number), "a chunk", data.to_owned())?;
        zstd::bulk::decompress(&opened, crate::artifact::CHUNK_BYTES as usize)
            .map_err(|_| StoreError::Damaged { what: "a chunk" })
    }
}

/// Returns whether a stored chunk is intact, as far as that is known without a key.
pub(crate) fn is_intact_chunk(data: &[u8], stored_hash: &[u8]) -> bool {
    if is_sealed(data) { hash(data) == stored_hash } else { unpack(data, stored_hash).is_ok() }
}
