//! A vocabulary: maps the bytes of a token to its rank, with a hash table that build.rs writes.
//!
//! The lookup is the hot path of every count. A slot has the rank and 14 bits of the hash, so that bytes are compared only
//! if the slot very likely holds the token.

use crate::hash::token_hash;

/// A table in the format that build.rs writes.
pub(crate) struct Vocabulary {
    table: &'static [u8],
    log2_slots: u32,
    /// Byte positions of the offset list and of the token bytes in the table.
    offsets_start: usize,
    bytes_start: usize,
}

/// Byte position of the slots in the table.
const SLOTS_START: usize = 8;

impl Vocabulary {
    const fn new(table: &'static [u8]) -> Self {
        let count = read_u32(table, 0) as usize;
        let log2_slots = read_u32(table, 4);
        let offsets_start = SLOTS_START + (4 << log2_slots);
        Self { table, log2_slots, offsets_start, bytes_start: offsets_start + (count + 1) * 4 }
    }

    #[inline]
    fn word(&self, at: usize) -> u32 {
        let bytes: [u8; 4] = self.table[at..at + 4].try_into().expect("four bytes");
        u32::from_le_bytes(bytes)
    }

    /// Returns the rank of a token, or `None` if the bytes are not in the vocabulary.
    #[inline]
    pub(crate) fn rank(&self, token: &[u8]) -> Option<u32> {
        let hash = token_hash(token);
        let fingerprint = hash as u32 & 0x3fff;
        let mask = (1usize << self.log2_slots) - 1;
        let mut at = (hash >> (64 - self.log2_slots)) as usize;
        loop {
            let slot = self.word(SLOTS_START + at * 4);
            if slot == 0 {
                return None;
            }
            if slot >> 18 == fingerprint {
                let rank = (slot & 0x3_ffff) - 1;
                if self.token(rank) == token {
                    return Some(rank);
                }
            }
            at = (at + 1) & mask;
        }
    }

    #[inline]
    fn token(&self, rank: u32) -> &[u8] {
        let at = self.offsets_start + rank as usize * 4;
        let (start, end) = (self.word(at) as usize, self.word(at + 4) as usize);
        &self.table[self.bytes_start + start..self.bytes_start + end]
    }
}

const fn read_u32(table: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([table[at], table[at + 1], table[at + 2], table[at + 3]])
}

pub(crate) static O200K: Vocabulary =
    Vocabulary::new(include_bytes!(concat!(env!("OUT_DIR"), "/o200k.table")));
pub(crate) static CL100K: Vocabulary =
    Vocabulary::new(include_bytes!(concat!(env!("OUT_DIR"), "/cl100k.table")));
