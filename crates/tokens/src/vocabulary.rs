//! A vocabulary: maps the bytes of a token to its rank, with a hash table that build.rs writes.
//!
//! The lookup is the hot path of every count. A slot has the rank and 14 bits of the hash, so that bytes are compared only
//! if the slot very likely holds the token.

use crate::hash::{first_slot, token_hash};

/// A table in the format that build.rs writes.
pub(crate) struct Vocabulary {
    table: &'static [u8],
    slots: usize,
    /// Byte positions of the bases, of the offsets and of the token bytes in the table.
    bases_start: usize,
    offsets_start: usize,
    bytes_start: usize,
}

/// Byte position of the slots in the table.
const SLOTS_START: usize = 8;
/// How many tokens share a base of their offsets, as in build.rs.
const TOKENS_PER_BASE: usize = 64;

impl Vocabulary {
    const fn new(table: &'static [u8]) -> Self {
        let count = read_u32(table, 0) as usize;
        let slots = read_u32(table, 4) as usize;
        let bases_start = SLOTS_START + 4 * slots;
        // The end of the last token has an offset, too.
        let offsets_start = bases_start + 4 * (count + 1).div_ceil(TOKENS_PER_BASE);
        Self { table, slots, bases_start, offsets_start, bytes_start: offsets_start + 2 * (count + 1) }
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
        let mut at = first_slot(hash, self.slots);
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
            at += 1;
            if at == self.slots {
                at = 0;
            }
        }
    }

    #[inline]
    fn token(&self, rank: u32) -> &[u8] {
        &self.table[self.start(rank as usize)..self.start(rank as usize + 1)]
    }

    /// Returns the byte position of a token in the table.
    #[inline]
    fn start(&self, rank: usize) -> usize {
        let at = self.offsets_start + rank * 2;
        let offset = u16::from_le_bytes([self.table[at], self.table[at + 1]]);
        let base = self.word(self.bases_start + rank / TOKENS_PER_BASE * 4);
        self.bytes_start + base as usize + usize::from(offset)
    }
}

const fn read_u32(table: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([table[at], table[at + 1], table[at + 2], table[at + 3]])
}

pub(crate) static O200K: Vocabulary =
    Vocabulary::new(include_bytes!(concat!(env!("OUT_DIR"), "/o200k.table")));
pub(crate) static CL100K: Vocabulary =
    Vocabulary::new(include_bytes!(concat!(env!("OUT_DIR"), "/cl100k.table")));
