//! The token count of a long text, from windows spread evenly over it.
//!
//! For the frame only ("128k tokens"); no decision rests on it. Texts up to [`EXACT`] bytes are counted whole.

use std::io;

use super::Meter;
use crate::quantity::Tokens;
use crate::text::Text;

pub(super) const EXACT: u64 = 64 * 1024;
const WINDOWS: u64 = 16;
const WINDOW: u64 = 2048;

/// Returns the tokens of a text, and whether they are an estimate.
pub(super) fn text(text: &Text<'_>, meter: &Meter) -> io::Result<(Tokens, bool)> {
    let length = text.max_len();
    if length <= EXACT {
        let decoded = text.read_all()?;
        return Ok((meter.count(&String::from_utf8_lossy(&decoded)), false));
    }
    // Raw windows, decoded by themselves: what a window's edge cuts is one token in hundreds.
    let (mut tokens, mut bytes) = (0, 0);
    for window in 0..WINDOWS {
        let start = (length - WINDOW) * window / (WINDOWS - 1);
        let raw = text.sample(start, WINDOW)?;
        bytes += WINDOW;
        tokens += meter.count(&String::from_utf8_lossy(&raw)).0;
    }
    Ok((Tokens(u128::from(length).saturating_mul(tokens.into()).div_ceil(bytes.into()) as u64), true))
}
