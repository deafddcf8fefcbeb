//! Traces: which call belongs to which request of whoever called, and what became of it.
//!
//! A context comes with a request as `traceparent`, as W3C Trace Context writes it, and goes on to the server with the id of the
//! gateway's own span. Spans are given to [`Trace`], which must not hold up a call. They say which tool of which server was
//! called, how large request and answer were, and how it ended: never with which arguments, and never by whom.

use std::fmt::{self, Write};
use std::time::SystemTime;

/// The longest `traceparent` that is read; later versions may be longer than the first.
const MAX_TEXT_BYTES: usize = 256;
/// The flag of a trace that is recorded.
const SAMPLED: u8 = 1;

/// The id of a span.
pub type SpanId = [u8; 8];

/// The place of a span in a trace.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct TraceContext {
    /// The id of the trace.
    pub trace: [u8; 16],
    /// The id of the span.
    pub span: SpanId,
    flags: u8,
}

impl TraceContext {
    /// Returns the first span of a trace that is recorded.
    pub fn root(trace: [u8; 16], span: SpanId) -> Self {
        Self { trace, span, flags: SAMPLED }
    }

    /// Reads a `traceparent`; `None` if it is not valid.
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() > MAX_TEXT_BYTES {
            return None;
        }
        let mut parts = text.split('-');
        let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let [version] = bytes(version)?;
        let is_long = parts.next().is_some();
        if version == 0xff || (version == 0 && is_long) {
            return None;
        }
        let [flags] = bytes(flags)?;
        let read = Self { trace: bytes(trace)?, span: bytes(span)?, flags };
        (read.trace != [0; 16] && read.span != [0; 8]).then_some(read)
    }

    /// Returns the place of a span below this one.
    #[must_use]
    pub fn child(self, span: SpanId) -> Self {
        Self { span, ..self }
    }

    /// Returns whether whoever began the trace records it.
    pub fn is_sampled(self) -> bool {
        self.flags & SAMPLED != 0
    }
}

/// Writes the `traceparent`.
impl fmt::Display for TraceContext {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "00-{}-{}-{:02x}", hex(&self.trace), hex(&self.span), self.flags & SAMPLED)
    }
}

impl fmt::Debug for TraceContext {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "TraceContext({self})")
    }
}

/// Returns bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Reads bytes from lower case hexadecimal digits, as the specification has them.
fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if text.len() != N * 2 || !text.bytes().all(is_digit) {
        return None;
    }
    let mut read = [0; N];
    for (at, byte) in read.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[at * 2..at * 2 + 2], 16).ok()?;
    }
    Some(read)
}

/// A call that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// Its place in the trace.
    pub context: TraceContext,
    /// The span above it.
    pub parent: Option<SpanId>,
    /// The method, such as `tools/call`.
    pub method: String,
    /// The name of the server.
    pub server: String,
    /// The tool or prompt, by the name that its server gave it; empty for other requests.
    pub tool: String,
    /// When it began.
    pub began: SystemTime,
    /// When it ended.
    pub ended: SystemTime,
    /// The bytes of the request, as it came.
    pub request_bytes: u64,
    /// The bytes of the answer, as it was sent; 0 if there was none.
    pub response_bytes: u64,
    /// How it ended: `answered`, `failed`, `unreachable`, `abandoned` or `refused`.
    pub outcome: &'static str,
    /// The code of the error of a call that failed.
    pub error_code: Option<i64>,
}

/// Takes spans.
pub trait Trace: Send + Sync {
    /// Takes a span. It must return at once, and may drop the span.
    fn record(&self, span: Span);

    /// Sends what was taken, as before the process ends.
    fn finish(&self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_is_read_and_written() {
        let text = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let context = TraceContext::parse(text).unwrap();
        assert_eq!(context.to_string(), text);
        assert!(context.is_sampled());
        let child = context.child([1; 8]);
        assert_eq!(child.to_string(), "00-0af7651916cd43dd8448eb211c80319c-0101010101010101-01");
        assert!(!TraceContext::parse(&text.replace("-01", "-00")).unwrap().is_sampled());
        let later =
            TraceContext::parse("cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-03-more").unwrap();
        assert_eq!(later.to_string(), text, "unknown parts and flags are not passed on");
        for wrong in [
            "",
            "00",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
            "00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b716920333-01",
            "00-0af7651916cd43dd8448eb211c80319\u{e4}-b7ad6b7169203331-01",
            &format!("cc-{}", "0".repeat(300)),
        ] {
            assert_eq!(TraceContext::parse(wrong), None, "{wrong}");
        }
    }
}
