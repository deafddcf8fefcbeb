//! Private functions opened to the fuzzers.
//!
//! Behind a feature, and not part of the interface.

use crate::json::string;

/// Decodes the inside of a JSON string as a feed does: block by block, each starting where the last one stopped.
///
/// # Panics
///
/// Panics if a block that is not empty makes no progress.
pub fn unescape(raw: &[u8], block: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let mut used = 0;
    while used < raw.len() {
        let end = raw.len().min(used + block);
        let taken = string::decode_into(&raw[used..end], end == raw.len(), &mut out);
        assert!(taken > 0, "a block of {block} bytes goes on");
        used += taken;
    }
    out
}
