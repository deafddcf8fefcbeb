//! A fixed 64-bit hash for counting equal values.
//!
//! It is not keyed, because the same payload must give the same answer on every run. An upstream that crafts collisions
//! can only spoil the counts of its own result.

const MULTIPLIER: u64 = 0x9fb2_1c65_1e98_df25;

/// Hashes bytes, eight at a time.
#[inline]
pub(crate) fn bytes(bytes: &[u8]) -> u64 {
    let mut state = (bytes.len() as u64).wrapping_mul(MULTIPLIER) ^ 0x51_7cc1_b727_220a;
    let mut chunks = bytes.chunks_exact(8);
    for chunk in &mut chunks {
        let word: [u8; 8] = chunk.try_into().expect("chunks of eight");
        state = mix(state ^ u64::from_le_bytes(word));
    }
    let mut tail = 0u64;
    for &byte in chunks.remainder() {
        tail = (tail << 8) | u64::from(byte);
    }
    mix(mix(state ^ tail))
}

/// Mixes the bits of a word.
#[inline]
pub(crate) fn mix(word: u64) -> u64 {
    let product = u128::from(word ^ 0x2545_f491_4f6c_dd1d).wrapping_mul(u128::from(MULTIPLIER));
    (product as u64) ^ ((product >> 64) as u64)
}
