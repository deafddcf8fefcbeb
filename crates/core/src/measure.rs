//! Measures what a result costs: tokens as a model's tokenizer counts them, and bytes on the wire.
//!
//! The question on the hot path is "does it fit?". The byte bounds answer it for most results without reading
//! them: a token is at least one byte, so a result with no more bytes than the budget has tokens fits; a result with
//! more bytes than the byte limit does not. Only in between is the text counted, and only up to the budget.
//!
//! Counts are never too low. Where a model's tokenizer is not public, the count of a public one is multiplied by
//! a [`Factor`] and the result is an estimate.

mod estimate;
mod image;

use std::io;
use std::sync::LazyLock;

use tidegate_tokens::{Encoding, MAX_TOKEN_BYTES};

pub use image::Picture;
pub(crate) use image::decode_head;

use crate::budget::Budget;
use crate::json::{Dialect, ScanError, Scanner, compact};
use crate::payload::{Block, BlockKind, MediaKind, Payload};
use crate::quantity::{Bytes, Tokens};
use crate::source::{Source, Span};
use crate::text::Text;

/// The factor by which a count is raised, in percent, where the model's own tokenizer is not public.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Factor(u32);

impl Factor {
    /// The tokenizer is the model's own.
    pub const EXACT: Self = Self(100);

    /// Returns a factor in percent; never below 100, since a count must not be too low.
    pub fn percent(percent: u32) -> Self {
        Self(percent.max(100))
    }
}

/// Counts tokens for one kind of model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Meter {
    encoding: Encoding,
    factor: Factor,
}

impl Default for Meter {
    fn default() -> Self {
        Self::new(Encoding::O200k, Factor::EXACT)
    }
}

impl Meter {
    /// Returns a meter that counts with a vocabulary and raises the count by a factor.
    pub fn new(encoding: Encoding, factor: Factor) -> Self {
        Self { encoding, factor }
    }

    /// Returns the name of the vocabulary used for counting.
    pub fn vocabulary(&self) -> &'static str {
        self.encoding.name()
    }

    /// Returns by how many percent counts are raised.
    pub fn margin_percent(&self) -> u32 {
        self.factor.0 - Factor::EXACT.0
    }

    /// Returns the meter that counts with the same vocabulary and raises nothing.
    pub fn without_margin(self) -> Self {
        Self { factor: Factor::EXACT, ..self }
    }

    /// Returns whether counts are estimates, to be shown as `~`.
    pub fn is_estimate(&self) -> bool {
        self.factor != Factor::EXACT
    }

    /// Returns the number of tokens of a text.
    pub fn count(&self, text: &str) -> Tokens {
        self.raise(self.encoding.count(text))
    }

    /// Returns the number of tokens of a text, or `None` as soon as it is more than `limit`.
    pub fn count_up_to(&self, text: &str, limit: Tokens) -> Option<Tokens> {
        let unraised = usize::try_from(limit.0 * 100 / u64::from(self.factor.0)).unwrap_or(usize::MAX);
        // Every token is at most 128 bytes.
        if text.len() / MAX_TOKEN_BYTES > unraised {
            return None;
        }
        self.encoding.count_up_to(text, unraised).map(|count| self.raise(count))
    }

    fn raise(&self, count: usize) -> Tokens {
        Tokens((count as u64 * u64::from(self.factor.0)).div_ceil(100))
    }
}

/// Whether a result fits its budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fit {
    /// It fits; its tokens if they were counted.
    Fits(Option<Tokens>),
    /// It exceeds the tokens, the bytes or both.
    Over,
}

/// Decides whether a result fits by its length alone, without reading it: a token is at least one byte.
///
/// `None` means that it must be read. The bound does not hold for images, which are charged by their pixels.
pub fn fits_by_length(result: &[u8], budget: &Budget, meter: &Meter) -> Option<Fit> {
    (is_short(result.len() as u64, budget, meter) && IMAGE_FINDER.find(result).is_none())
        .then_some(Fit::Fits(None))
}

fn is_short(length: u64, budget: &Budget, meter: &Meter) -> bool {
    length <= budget.bytes.0 && length * u64::from(meter.factor.0) <= budget.tokens.0 * 100
}

/// Searched for in every result, so built once.
static IMAGE_FINDER: LazyLock<memchr::memmem::Finder<'static>> =
    LazyLock::new(|| memchr::memmem::Finder::new(b"image"));

/// Decides whether a result fits its budget.
///
/// # Errors
///
/// Returns an error if the source cannot be read.
pub fn fits(payload: &Payload<'_>, budget: &Budget, meter: &Meter) -> io::Result<Fit> {
    let pictures = payload.blocks.iter().any(|block| picture_of(block).is_some());
    if !pictures && is_short(payload.span.len(), budget, meter) {
        return Ok(Fit::Fits(None));
    }
    if shown_bytes(payload) > budget.bytes {
        return Ok(Fit::Over);
    }
    let counted = count_up_to(payload, budget.tokens, meter)?;
    Ok(counted.map_or(Fit::Over, |tokens| Fit::Fits(Some(tokens))))
}

/// Returns the bytes of a result as the budget counts them: serialized, without the base64 data of images.
pub fn bytes(payload: &Payload<'_>) -> Bytes {
    let pictures = payload.blocks.iter().filter_map(picture_of).map(Span::len);
    Bytes(payload.span.len() - pictures.sum::<u64>())
}

/// Returns the bytes that decide whether a result fits. Where `structuredContent` carries the same data as the text, a
/// client shows one of the two to its model, so only the longer one counts.
pub fn shown_bytes(payload: &Payload<'_>) -> Bytes {
    let all = bytes(payload).0;
    let repeated = payload.structured.filter(|_| payload.structured_repeats_text).map_or(0, Span::len);
    Bytes((all - repeated).max(repeated))
}

/// Returns the span of the data of an image block.
fn picture_of(block: &Block) -> Option<Span> {
    match block.kind {
        BlockKind::Media { kind: MediaKind::Image, data, .. } => Some(data),
        _ => None,
    }
}

/// Counts the tokens of a result exactly; returns `None` as soon as there are more than `limit`.
///
/// # Errors
///
/// Returns an error if the source cannot be read.
pub fn count_up_to(payload: &Payload<'_>, limit: Tokens, meter: &Meter) -> io::Result<Option<Tokens>> {
    let mut total = Tokens(0);
    for block in &payload.blocks {
        match block_up_to(payload, block, limit - total, meter)? {
            Some(tokens) => total += tokens,
            None => return Ok(None),
        }
        if total > limit {
            return Ok(None);
        }
    }
    if payload.block_count > payload.blocks.len() as u64 {
        return Ok(None);
    }
    if let Some(span) = payload.structured.filter(|_| !payload.structured_repeats_text) {
        let compact = minified(payload.source(), span)?;
        match meter.count_up_to(&compact, limit - total) {
            Some(tokens) => total += tokens,
            None => return Ok(None),
        }
    }
    Ok((total <= limit).then_some(total))
}

fn block_up_to(
    payload: &Payload<'_>,
    block: &Block,
    limit: Tokens,
    meter: &Meter,
) -> io::Result<Option<Tokens>> {
    if let Some(text) = payload.text_of(block) {
        // A text that is too long to fit is not even decoded; six raw bytes decode to at least one.
        if text.max_len() / (6 * MAX_TOKEN_BYTES as u64) > limit.0 {
            return Ok(None);
        }
        let decoded = text.read_all()?;
        return Ok(meter.count_up_to(&String::from_utf8_lossy(&decoded), limit));
    }
    if let Some(data) = picture_of(block) {
        return Ok(Some(Picture::read(payload.source(), data)?.tokens()));
    }
    if block.span.len() / MAX_TOKEN_BYTES as u64 > limit.0 {
        return Ok(None);
    }
    let raw = block.span.read(payload.source())?;
    Ok(meter.count_up_to(&String::from_utf8_lossy(&raw), limit))
}

/// The cost of a whole result, exact or estimated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    /// The tokens.
    pub tokens: Tokens,
    /// Whether the tokens are an estimate.
    pub estimated: bool,
    /// The bytes, as the budget counts them.
    pub bytes: Bytes,
}

/// The number of bytes above which the tokens of a text are estimated from samples.
pub const MAX_EXACT_BYTES: u64 = estimate::MAX_EXACT_BYTES;

/// Returns what a whole result costs; a long result is estimated from samples spread over it.
///
/// # Errors
///
/// Returns an error if the source cannot be read.
pub fn cost(payload: &Payload<'_>, meter: &Meter) -> io::Result<Cost> {
    let mut tokens = Tokens(0);
    let mut estimated = meter.is_estimate();
    let mut add = |(part, sampled): (Tokens, bool)| {
        tokens += part;
        estimated |= sampled;
    };
    for block in &payload.blocks {
        match payload.text_of(block) {
            Some(text) => add(estimate::text(&text, meter)?),
            None => match picture_of(block) {
                Some(data) => add((Picture::read(payload.source(), data)?.tokens(), false)),
                None => add(estimate::text(&Text::plain(payload.source(), block.span), meter)?),
            },
        }
    }
    if let Some(text) = payload.structured_text().filter(|_| !payload.structured_repeats_text) {
        add(estimate::text(&text, meter)?);
    }
    Ok(Cost { tokens, estimated, bytes: bytes(payload) })
}

/// Returns the JSON at a span without white space between its parts; invalid JSON is returned as it is.
pub(crate) fn minified(source: &dyn Source, span: Span) -> io::Result<String> {
    let text = Text::plain(source, span);
    match minify(&text, Dialect::Json) {
        Ok(compact) => Ok(compact),
        Err(ScanError::Source(error)) => Err(error),
        Err(ScanError::Syntax { .. }) => Ok(String::from_utf8_lossy(&text.read_all()?).into_owned()),
    }
}

/// Returns one JSON value without white space between its parts, everything else as written.
pub(crate) fn minify(text: &Text<'_>, dialect: Dialect) -> Result<String, ScanError> {
    let compact = compact::value(&mut Scanner::new(text, dialect), dialect, usize::MAX)?;
    if !compact.whole {
        return Err(ScanError::Syntax { offset: 0, reason: "a string is too long to copy" });
    }
    Ok(compact.text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(content: &str, structured: &str) -> (usize, u64) {
        let result = format!(
            r#"{{"content":[{{"type":"text","text":"{content}"}}],"structuredContent":{structured}}}"#
        );
        let source = result.as_bytes();
        (result.len(), shown_bytes(&Payload::read_result(&source).unwrap()).0)
    }

    #[test]
    fn data_in_both_channels_counts_once() {
        let (all, once) = shown(r#"{\"id\":7}"#, r#"{"id":7}"#);
        assert_eq!(once, all as u64 - 8);
        let spaces = " ".repeat(500);
        let (_, once) = shown(r#"{\"id\":7}"#, &format!("{{{spaces}\"id\":7}}"));
        assert_eq!(once, 508, "the longer one");
        let (all, both) = shown(r#"{\"id\":7}"#, r#"{"id":8}"#);
        assert_eq!(both, all as u64, "different data");
    }
}
