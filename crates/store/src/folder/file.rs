//! The file of one artifact: its chunks, a table of them, the outline, and at the end a label that says what it is.
//!
//! ```text
//! chunk* table outline label label-length(4) label-hash(16)
//! ```
//!
//! The table has 24 bytes for each chunk: where it ends, and the hash of its bytes. The label is JSON; it comes last, since
//! what it says is known only after the chunks are written. Chunks, outline and label each have a hash, so that a damaged
//! file is an error and never wrong bytes. An artifact whose bytes were stored before has a file without chunks, and beside
//! it a hard link to the file that has them.
//!
//! A later format may change everything but the end: a JSON label with `format` in it, its length and its hash. By that a
//! program knows the files of a newer one, which it neither uses nor deletes.

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

use crate::artifact::{Artifact, CHUNK_BYTES, CallDigest, CallOrigin, Owner, Session, TierLevel};
use crate::chunks::{HASH_BYTES, Packed, hash};
use crate::clock::Millis;
use crate::codec::{BodyKey, is_intact_chunk};
use crate::error::StoreError;
use crate::files::read_at;
use crate::id::ArtifactId;
use crate::index::Entry;

/// Bytes of the table for each chunk.
const ROW_BYTES: usize = 8 + HASH_BYTES;
/// Bytes after the label: its length and its hash.
const FOOTER_BYTES: usize = 4 + HASH_BYTES;
/// Bytes read at once from the end of a file: nearly all labels are shorter.
const TAIL_BYTES: u64 = 2048;
/// The maximum number of bytes of a compressed chunk: what does not compress becomes a little longer.
const MAX_PACKED_BYTES: u64 = 2 * CHUNK_BYTES;
/// The version of the format. What an older program would misread raises it: such a program then refuses the folder.
const FORMAT: u32 = 1;

/// Where the chunks of an artifact are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Chunks {
    /// In its own file.
    Here,
    /// In the file that is linked beside it.
    Linked,
}

/// The part of a label that every format has.
#[derive(Debug, Deserialize)]
struct LabelFormat {
    format: u32,
}

/// What the end of a file says about it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Label {
    format: u32,
    id: String,
    owner: String,
    session: String,
    server: String,
    tool: String,
    arguments: String,
    /// The digest of the call in hexadecimal digits; files of earlier versions have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    call: Option<String>,
    /// The tier that a caller needs; files of earlier versions, and those that everybody of the owner may read, have none.
    #[serde(default, skip_serializing_if = "is_lowest")]
    tier: u8,
    kind: String,
    records: Option<u64>,
    tokens: u64,
    bytes: u64,
    stored_bytes: u64,
    created: i64,
    expires: i64,
    /// The hash of the body.
    body: String,
    chunks: Chunks,
    /// Where the table of chunks begins.
    table: u64,
    outline: u64,
    outline_bytes: u64,
    outline_hash: String,
}

/// Returns the end of a file: the table of its chunks, the outline, and the label, with outline and entry as they are stored.
/// `chunk_bytes` is what is before it.
pub(super) fn tail(entry: &Entry<Chunks>, chunk_bytes: u64, table: &[u8], outline: &[u8]) -> Vec<u8> {
    let Artifact { id, tool, kind, records, tokens, bytes, stored_bytes, created, expires } =
        entry.artifact.clone();
    let label = Label {
        format: FORMAT,
        id: id.as_str().to_owned(),
        owner: entry.owner.as_str().to_owned(),
        session: entry.session.as_str().to_owned(),
        server: entry.origin.server.clone(),
        tool,
        arguments: entry.origin.arguments.clone(),
        call: entry.call.map(|call| call.to_hex()),
        tier: entry.tier.number(),
        kind,
        records,
        tokens,
        bytes,
        stored_bytes,
        created: created.0,
        expires: expires.0,
        body: entry.hash.to_string(),
        chunks: entry.place,
        table: chunk_bytes,
        outline: chunk_bytes + table.len() as u64,
        outline_bytes: outline.len() as u64,
        outline_hash: blake3::hash(outline).to_string(),
    };
    let label = serde_json::to_vec(&label).expect("a label has only texts and numbers");
    let length = u32::try_from(label.len()).expect("texts of a label are short");
    [table, outline, &label, &length.to_le_bytes(), &hash(&label)].concat()
}

fn is_lowest(tier: &u8) -> bool {
    *tier == 0
}

/// Returns the row of the table for a chunk that ends at `end`.
pub(super) fn row(packed: &Packed, end: u64) -> [u8; ROW_BYTES] {
    let mut row = [0; ROW_BYTES];
    row[..8].copy_from_slice(&end.to_le_bytes());
    row[8..].copy_from_slice(&packed.hash);
    row
}

/// Returns when an artifact expires: `touch` sets the time of its file.
pub(super) fn expiry(label: Millis, metadata: &Metadata) -> Millis {
    let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    label.max(modified.map_or(label, |since| Millis(0).after(since)))
}

impl Label {
    /// Reads the label of a file.
    pub(super) fn read(file: &File) -> Result<Self, StoreError> {
        let length = file.metadata()?.len();
        let tail = read_tail(file, length, TAIL_BYTES)?;
        let footer = tail.len().checked_sub(FOOTER_BYTES).ok_or(damaged())?;
        let (size, expected) = tail[footer..].split_at(4);
        let size = u32::from_le_bytes(size.try_into().map_err(|_| damaged())?) as usize;
        let whole = (size + FOOTER_BYTES) as u64;
        let tail = if whole > tail.len() as u64 { read_tail(file, length, whole)? } else { tail.clone() };
        let start = tail.len().checked_sub(size + FOOTER_BYTES).ok_or(damaged())?;
        let bytes = &tail[start..start + size];
        if hash(bytes) != expected {
            return Err(damaged());
        }
        match serde_json::from_slice::<LabelFormat>(bytes).map_err(|_| damaged())?.format {
            newer if newer > FORMAT => {
                Err(StoreError::NewerFormat { format: newer.into(), known: FORMAT.into() })
            }
            FORMAT => serde_json::from_slice(bytes).map_err(|_| damaged()),
            _ => Err(StoreError::Damaged { what: "its format" }),
        }
    }

    /// Returns the entry of the index for a file with this label.
    pub(super) fn entry(&self, metadata: &Metadata) -> Result<Entry<Chunks>, StoreError> {
        let artifact = Artifact {
            id: ArtifactId::parse(&self.id).ok_or(damaged())?,
            tool: self.tool.clone(),
            kind: self.kind.clone(),
            records: self.records,
            tokens: self.tokens,
            bytes: self.bytes,
            stored_bytes: self.stored_bytes,
            created: Millis(self.created),
            expires: expiry(Millis(self.expires), metadata),
        };
        Ok(Entry {
            owner: Owner::new(self.owner.clone()),
            session: Session::new(self.session.clone()),
            hash: blake3::Hash::from_hex(&self.body).map_err(|_| damaged())?,
            origin: CallOrigin { server: self.server.clone(), arguments: self.arguments.clone() },
            call: self.call.as_deref().and_then(CallDigest::from_hex),
            tier: TierLevel::new(self.tier),
            artifact,
            place: self.chunks,
        })
    }

    /// Reads the outline.
    pub(super) fn outline(&self, file: &File) -> Result<Vec<u8>, StoreError> {
        let damaged = || StoreError::Damaged { what: "the outline" };
        // A length beyond the file must not be allocated.
        if self.outline.saturating_add(self.outline_bytes) > file.metadata()?.len() {
            return Err(damaged());
        }
        let bytes = usize::try_from(self.outline_bytes).map_err(|_| damaged())?;
        let outline = read_at(file, self.outline, bytes).map_err(cut_short)?;
        if blake3::hash(&outline).to_string() == self.outline_hash { Ok(outline) } else { Err(damaged()) }
    }
}

fn damaged() -> StoreError {
    StoreError::Damaged { what: "its label" }
}

/// A file that ends too early is damaged; other errors are those of the disk.
fn cut_short(error: io::Error) -> StoreError {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => StoreError::Damaged { what: "its length" },
        _ => error.into(),
    }
}

fn read_tail(file: &File, length: u64, count: u64) -> Result<Vec<u8>, StoreError> {
    let count = count.min(length);
    read_at(file, length - count, usize::try_from(count).map_err(|_| damaged())?).map_err(cut_short)
}

/// A file with the chunks of a body, open for reading.
#[derive(Debug)]
pub(crate) struct BodyFile {
    file: File,
    table: u64,
    chunks: u64,
}

impl BodyFile {
    /// Returns the body in a file whose label was read.
    pub(super) fn new(file: File, label: &Label) -> Self {
        Self { file, table: label.table, chunks: label.bytes.div_ceil(CHUNK_BYTES) }
    }

    /// Opens the file with the chunks of a body that has this hash.
    pub(super) fn open(path: &Path, hash: &blake3::Hash) -> Result<Self, StoreError> {
        let file = open_existing(path)?;
        let label = Label::read(&file)?;
        match label.chunks == Chunks::Here && label.body == hash.to_string() {
            true => Ok(Self::new(file, &label)),
            false => Err(StoreError::Damaged { what: "its body" }),
        }
    }

    /// Reads a chunk and checks its hash.
    pub(super) fn chunk(&self, number: u64, key: &BodyKey) -> Result<Vec<u8>, StoreError> {
        let (data, hash) = self.stored_chunk(number)?;
        key.unpack(number, &data, &hash)
    }

    /// Reads a chunk, and checks it as far as that is possible without a key.
    pub(super) fn check_chunk(&self, number: u64) -> Result<Vec<u8>, StoreError> {
        let (data, hash) = self.stored_chunk(number)?;
        if is_intact_chunk(&data, &hash) { Ok(data) } else { Err(StoreError::Damaged { what: "a chunk" }) }
    }

    /// Reads a chunk as it is stored, and its hash.
    fn stored_chunk(&self, number: u64) -> Result<(Vec<u8>, Vec<u8>), StoreError> {
        if number >= self.chunks {
            return Err(StoreError::NotFound);
        }
        let start = match number.checked_sub(1) {
            Some(before) => self.row(before)?.0,
            None => 0,
        };
        let (end, hash) = self.row(number)?;
        let size = end.checked_sub(start).filter(|size| *size <= MAX_PACKED_BYTES && end <= self.table);
        let size = size.ok_or(StoreError::Damaged { what: "the table of chunks" })?;
        Ok((read_at(&self.file, start, size as usize).map_err(cut_short)?, hash))
    }

    /// Returns where a chunk ends, and its hash.
    fn row(&self, number: u64) -> Result<(u64, Vec<u8>), StoreError> {
        let offset = self.table + number * ROW_BYTES as u64;
        let mut end = read_at(&self.file, offset, ROW_BYTES).map_err(cut_short)?;
        let hash = end.split_off(8);
        let end = end.try_into().map_err(|_| StoreError::Damaged { what: "the table of chunks" })?;
        Ok((u64::from_le_bytes(end), hash))
    }
}

/// Opens a file; [`StoreError::NotFound`] if there is none.
pub(super) fn open_existing(path: &Path) -> Result<File, StoreError> {
    File::open(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => StoreError::NotFound,
        _ => error.into(),
    })
}
