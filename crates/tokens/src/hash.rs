// The hash of a token's bytes. Both build.rs, which writes the tables, and vocabulary.rs, which reads them, include this
// file: the two must agree to the bit.

/// Mixes the bytes of a token into 64 bits, eight bytes a step.
#[inline]
pub(crate) fn token_hash(bytes: &[u8]) -> u64 {
    const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut state = (bytes.len() as u64).wrapping_mul(MULTIPLIER);
    let mut chunks = bytes.chunks_exact(8);
    for chunk in &mut chunks {
        let word = u64::from_le_bytes([
            chunk[0], chunk[1], chunk[2], chunk[3], chunk[4], chunk[5], chunk[6], chunk[7],
        ]);
        state = (state ^ word).wrapping_mul(MULTIPLIER);
        state ^= state >> 29;
    }
    let mut tail = 0u64;
    for &byte in chunks.remainder() {
        tail = (tail << 8) | u64::from(byte);
    }
    state = (state ^ tail).wrapping_mul(MULTIPLIER);
    state ^= state >> 32;
    state.wrapping_mul(MULTIPLIER)
}

/// Returns the slot where the search for a token with this hash begins.
#[inline]
pub(crate) fn first_slot(hash: u64, slots: usize) -> usize {
    (((hash >> 32) * slots as u64) >> 32) as usize
}
