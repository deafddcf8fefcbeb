//! Computes what an image costs from its size in pixels, which it reads from the image's header.
//!
//! The larger of two published formulas applies, so that no model's count is under-estimated: width times height
//! over 750 after fitting into 1568 x 1568, and 85 plus 170 for each tile of 512 pixels after fitting into
//! 2048 x 2048 and bringing the shorter side down to 768.

use std::io;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};

use crate::quantity::Tokens;
use crate::source::{Source, Span};

/// How much base64 is decoded to find the size: JPEG may have long metadata before it.
const MAX_HEADER_BYTES: u64 = 256 * 1024;
/// The cost of an image whose size cannot be read: that of the largest image a client would send to its model.
const UNKNOWN_SIZE_COST: Tokens = Tokens(3300);

/// The size of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Picture {
    /// Width and height in pixels, if the header could be read.
    pub pixels: Option<(u64, u64)>,
    /// The number of bytes of the decoded data.
    pub bytes: u64,
}

impl Picture {
    /// Reads the header of an image from its base64 text.
    ///
    /// # Errors
    ///
    /// Returns an error if the source cannot be read.
    pub fn read(source: &dyn Source, data: Span) -> io::Result<Self> {
        let head =
            Span { start: data.start, end: data.end.min(data.start + MAX_HEADER_BYTES) }.read(source)?;
        let tail = Span { start: data.end.saturating_sub(2).max(data.start), end: data.end }.read(source)?;
        let padding = tail.iter().filter(|&&byte| byte == b'=').count() as u64;
        let decoded = decode_head(&head);
        let pixels = imagesize::blob_size(&decoded).ok().map(|size| (size.width as u64, size.height as u64));
        Ok(Self { pixels, bytes: (data.len() * 3 / 4).saturating_sub(padding) })
    }

    /// Returns how many tokens a model is charged for the image.
    pub fn tokens(&self) -> Tokens {
        let Some((width, height)) = self.pixels else { return UNKNOWN_SIZE_COST };
        let by_area = {
            let (width, height) = fit(width as f64, height as f64, 1568.0, 1568.0);
            (width * height / 750.0).ceil()
        };
        let by_tiles = {
            let (width, height) = fit(width as f64, height as f64, 2048.0, 2048.0);
            let scale = (768.0 / width.min(height)).min(1.0);
            85.0 + 170.0 * (width * scale / 512.0).ceil() * (height * scale / 512.0).ceil()
        };
        Tokens(by_area.max(by_tiles) as u64)
    }
}

fn fit(width: f64, height: f64, max_width: f64, max_height: f64) -> (f64, f64) {
    let scale = (max_width / width.max(1.0)).min(max_height / height.max(1.0)).min(1.0);
    (width * scale, height * scale)
}

/// Decodes the valid, complete groups at the beginning of a base64 text.
pub(crate) fn decode_head(base64: &[u8]) -> Vec<u8> {
    let end = base64.iter().position(|byte| !is_base64(*byte)).unwrap_or(base64.len());
    let whole = &base64[..end - end % 4];
    STANDARD.decode(whole).or_else(|_| STANDARD_NO_PAD.decode(whole)).unwrap_or_default()
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pixels_decide() {
        let cost = |width, height| Picture { pixels: Some((width, height)), bytes: 0 }.tokens().0;
        assert_eq!(cost(512, 512), 350);
        assert_eq!(cost(1280, 720), 1229);
        assert_eq!(cost(1, 1), 255);
        assert!(cost(100_000, 100_000) <= UNKNOWN_SIZE_COST.0);
        assert_eq!(Picture { pixels: None, bytes: 9 }.tokens(), UNKNOWN_SIZE_COST);
    }
}
