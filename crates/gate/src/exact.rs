//! Exact reads of a kept result, for programs: bytes without a frame, through `resources/read`.
//!
//! `ax://<domain>/<id>?range=FROM-TO` is exactly these bytes: as text if they are plain text, otherwise as a
//! blob. An address without a view returns the overview and, beside it, the sequence of such reads that adds up to the
//! result. So a program reaches every byte in a number of bounded steps that it knows beforehand. A client whose profile
//! says that it is a program gets the whole result in one read.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tidegate_core::budget::Budget;
use tidegate_core::measure::{Cost, Meter};
use tidegate_core::source::Span;
use tidegate_core::view::View;
use tidegate_core::{Bytes, visible};

use crate::error::{FollowUpError, causes};
use crate::kept_result::KeptResult;
use crate::policy::MAX_WHOLE_BYTES;
use crate::resources;

/// The `_meta` key under which a read describes itself.
const META: &str = "tidegate/whole";
/// The bytes of the response to a read besides its content: two addresses, a type and the `_meta`.
const BESIDE_BYTES: u64 = 512;
/// The tokens of those bytes.
const BESIDE_TOKENS: u64 = 200;

/// The reads that together are exactly one result.
pub(crate) struct ReadPlan {
    /// The address of the result.
    address: String,
    /// Bytes of the result.
    total: u64,
    /// The maximum number of bytes of one read.
    each: u64,
}

/// What one read returned.
pub(crate) struct ExactRead {
    /// The contents of the resource.
    pub(crate) contents: Value,
    pub(crate) cost: Cost,
}

impl ReadPlan {
    /// Returns the plan for a result; `most` is what a caller can ask for, and no read costs more, whatever its bytes are.
    pub(crate) fn new(kept: &KeptResult<'_>, most: Budget) -> Self {
        let artifact = kept.artifact();
        let address = resources::uri(&artifact.tool, kept.policy().domain.as_deref(), &artifact.id);
        // Base64 turns three bytes into four characters, and a character costs at most one token.
        let characters =
            (most.bytes.0.saturating_sub(BESIDE_BYTES)).min(most.tokens.0.saturating_sub(BESIDE_TOKENS));
        Self { address, total: kept.source().len(), each: (characters / 4 * 3).max(3) }
    }

    /// Returns whether the result is small enough to be read at once.
    pub(crate) fn is_one_read(&self) -> bool {
        self.total <= MAX_WHOLE_BYTES
    }

    fn reads(&self) -> u64 {
        self.total.div_ceil(self.each)
    }

    /// Returns the address of the read that begins at a byte; `None` past the end.
    fn read_from(&self, from: u64) -> Option<String> {
        let to = (from + self.each).min(self.total).checked_sub(1)?;
        (from < self.total).then(|| format!("{}?range={from}-{to}", self.address))
    }

    /// States the reads in one line.
    pub(crate) fn sentence(&self) -> String {
        let Self { total, each, .. } = self;
        let first = self.read_from(0).unwrap_or_default();
        match self.reads() {
            0 | 1 => format!("whole: one read, {first}, is exactly the {total} bytes of the result"),
            reads => format!(
                "whole: {reads} reads of {each} bytes, {first} and so on to range={}-{}; joined, they are exactly the \
                 {total} bytes of the result",
                (reads - 1) * each,
                total - 1
            ),
        }
    }

    /// States the reads for a program.
    pub(crate) fn meta(&self) -> Value {
        json!({ META: {
            "bytes": self.total,
            "reads": self.reads(),
            "read_bytes": self.each,
            "next": self.read_from(0),
        }})
    }

    /// Reads exactly the bytes that a range names.
    pub(crate) fn read(
        &self,
        kept: &KeptResult<'_>,
        uri: &str,
        view: &View,
        meter: &Meter,
    ) -> Result<ExactRead, FollowUpError> {
        let View::Range { from, to } = *view else { return self.read_all(kept, uri) };
        let end = to.map_or(self.total, |to| to.saturating_add(1)).min(self.total);
        if from >= end {
            return Err(FollowUpError::Arguments(format!(
                "range begins at byte {from}, but the result has {} bytes",
                self.total
            )));
        }
        if end - from > self.each {
            return Err(FollowUpError::Arguments(format!(
                "range has {} bytes, but one read returns at most {}: read {}",
                end - from,
                self.each,
                self.read_from(from).unwrap_or_default()
            )));
        }
        let bytes = bytes(kept, from..end)?;
        let meta = json!({ META: { "bytes": self.total, "from": from, "to": end - 1, "next": self.read_from(end) } });
        let plain = String::from_utf8(bytes).map_err(std::string::FromUtf8Error::into_bytes);
        let (member, written, kind) = match plain {
            Ok(text) if is_shown_exactly(&text, self.each) => ("text", text, "text/plain"),
            Ok(text) => ("blob", STANDARD.encode(text), "application/octet-stream"),
            Err(bytes) => ("blob", STANDARD.encode(bytes), "application/octet-stream"),
        };
        let cost = Cost {
            tokens: meter.count(&written),
            estimated: meter.is_estimate(),
            bytes: Bytes(written.len() as u64),
        };
        let contents = json!({ "uri": uri, "mimeType": kind, member: written, "_meta": meta });
        Ok(ExactRead { contents, cost })
    }

    /// Reads all of the result at once.
    fn read_all(&self, kept: &KeptResult<'_>, uri: &str) -> Result<ExactRead, FollowUpError> {
        let bytes = bytes(kept, 0..self.total)?;
        let meta = json!({ META: { "bytes": self.total, "from": 0, "to": self.total.saturating_sub(1) } });
        let contents = match String::from_utf8(bytes) {
            Ok(text) => json!({ "uri": uri, "mimeType": "application/json", "text": text, "_meta": meta }),
            Err(error) => {
                let blob = STANDARD.encode(error.into_bytes());
                json!({ "uri": uri, "mimeType": "application/octet-stream", "blob": blob, "_meta": meta })
            }
        };
        let tokens = tidegate_core::Tokens(kept.artifact().tokens);
        Ok(ExactRead { contents, cost: Cost { tokens, estimated: false, bytes: Bytes(self.total) } })
    }
}

fn bytes(kept: &KeptResult<'_>, range: std::ops::Range<u64>) -> Result<Vec<u8>, FollowUpError> {
    let span = Span { start: range.start, end: range.end };
    span.read(kept.source()).map_err(|error| {
        FollowUpError::Store(format!("{:?} cannot be read now ({}); try again", kept.name(), causes(&error)))
    })
}

/// Returns whether a model sees a text as it is, and whether it takes no more room than in base64.
fn is_shown_exactly(text: &str, most: u64) -> bool {
    let escaped = text.bytes().filter(|byte| matches!(byte, b'"' | b'\\' | b'\n' | b'\t')).count();
    (text.len() + escaped) as u64 <= most.div_ceil(3) * 4 && !text.contains(visible::is_hidden)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(total: u64, each: u64) -> ReadPlan {
        ReadPlan { address: "ax://list/3f9c2kq7m0xw".into(), total, each }
    }

    #[test]
    fn the_reads_are_stated() {
        assert_eq!(
            plan(25, 10).sentence(),
            "whole: 3 reads of 10 bytes, ax://list/3f9c2kq7m0xw?range=0-9 and so on to range=20-24; joined, they are \
             exactly the 25 bytes of the result"
        );
        let one = "whole: one read, ax://list/3f9c2kq7m0xw?range=0-9, is exactly the 10 bytes of the result";
        assert_eq!(plan(10, 10).sentence(), one);
        assert_eq!(plan(25, 10).read_from(20).unwrap(), "ax://list/3f9c2kq7m0xw?range=20-24");
        assert_eq!(plan(25, 10).read_from(25), None);
    }

    #[test]
    fn text_that_would_show_something_else_is_a_blob() {
        assert!(is_shown_exactly("plain {\"a\":1}\n", 14));
        assert!(!is_shown_exactly("a\u{202e}b", 9000));
        assert!(!is_shown_exactly(&"\"".repeat(3000), 3000));
    }
}
