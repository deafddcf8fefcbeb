//! Estimates the tokens of a long text from windows spread evenly over it.
//!
//! The estimate is only shown in the frame ("128k tokens"); no decision depends on it. Texts up to [`MAX_EXACT_BYTES`]
//! are counted whole.

use std::io;

use super::Meter;
use crate::quantity::Tokens;
use crate::text::Text;

/// Texts up to this many bytes are counted whole.
pub(super) const MAX_EXACT_BYTES: u64 = 64 * 1024;
const WINDOWS: u64 = 16;
const WINDOW_BYTES: u64 = 2048;

/// Returns the tokens of a text, and whether they are an estimate.
pub(super) fn text(text: &Text<'_>, meter: &Meter) -> io::Result<(Tokens, bool)> {
    let length = text.max_len();
    if length <= MAX_EXACT_BYTES {
        let decoded = text.read_all()?;
        return Ok((meter.count(&String::from_utf8_lossy(&decoded)), false));
    }
    // Each window is decoded by itself; the tokens its edges cut are too few to matter.
    let (mut tokens, mut bytes) = (0, 0);
    for window in 0..WINDOWS {
        let start = (length - WINDOW_BYTES) * window / (WINDOWS - 1);
        let raw = text.sample(start, WINDOW_BYTES)?;
        bytes += WINDOW_BYTES;
        tokens += meter.count(&String::from_utf8_lossy(&raw)).0;
    }
    Ok((Tokens(u128::from(length).saturating_mul(tokens.into()).div_ceil(bytes.into()) as u64), true))
}
