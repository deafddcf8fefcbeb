//! The span of a request on its way to a server, and the context that goes on with it.
//!
//! The parent is `traceparent` in `_meta` of the request, or in the headers of the HTTP request. A server over HTTP gets the context
//! as headers; `_meta` has it only where the client wrote it there, because a server may refuse what it does not know. An
//! unsampled trace is forwarded and not recorded.

use std::sync::Arc;
use std::time::SystemTime;

use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use tidegate_gate::raw::{self, ByteRange, Edits};
use tidegate_gateway::calls::{Admitted, End};
use tidegate_gateway::trace::{Span, SpanId, Trace, TraceContext};

use crate::message::{MessageHead, ParsedLine};
use crate::spool::Message;

const PARENT: HeaderName = HeaderName::from_static("traceparent");
const STATE: HeaderName = HeaderName::from_static("tracestate");
/// The longest `tracestate` that is passed on.
const MAX_STATE_BYTES: usize = 512;
/// The longest name of a method or tool in a span.
const MAX_NAME_CHARS: usize = 128;

/// The headers with which a context comes in and goes on.
#[derive(Debug, Clone, Default)]
pub(super) struct TraceHeaders {
    parent: Option<HeaderValue>,
    state: Option<HeaderValue>,
}

impl TraceHeaders {
    /// Returns those of a request.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let state = headers.get(STATE).filter(|value| value.len() <= MAX_STATE_BYTES);
        Self { parent: headers.get(PARENT).cloned(), state: state.cloned() }
    }

    fn into_map(self) -> Option<Box<HeaderMap>> {
        let parent = self.parent?;
        let mut map = Box::<HeaderMap>::default();
        map.insert(PARENT, parent);
        if let Some(state) = self.state {
            map.insert(STATE, state);
        }
        Some(map)
    }
}

/// What a request is about.
pub(super) struct Subject<'s> {
    pub(super) method: &'s str,
    pub(super) server: &'s str,
    pub(super) tool: &'s str,
}

/// The context of a request that goes to a server.
pub(super) struct OutgoingContext {
    /// Whether it replaces the one in `_meta`.
    in_meta: bool,
    sent: TraceContext,
    state: Option<HeaderValue>,
}

impl OutgoingContext {
    /// Returns the request with the context in `_meta` where the client wrote one.
    pub(super) fn put(&self, message: ParsedLine) -> ParsedLine {
        let place = message.first().and_then(|head| meta(&message.bytes, head, "traceparent"));
        let Some(place) = place.filter(|_| self.in_meta) else { return message };
        let mut edits = Edits::new();
        edits.replace(place, format!("\"{}\"", self.sent));
        message.edit(edits)
    }

    /// Returns the headers for a server over HTTP.
    pub(super) fn headers(&self) -> Option<Box<HeaderMap>> {
        let parent = HeaderValue::from_str(&self.sent.to_string()).ok();
        TraceHeaders { parent, state: self.state.clone() }.into_map()
    }
}

fn meta(bytes: &[u8], head: &MessageHead, key: &str) -> Option<ByteRange> {
    raw::at(bytes, head.params.as_ref()?, &["_meta", key])
}

/// A request on its way: what governs it, and its span. Both end with it, however that happens.
pub(super) struct Course {
    admitted: Box<dyn Admitted>,
    span: Option<OpenSpan>,
}

impl Course {
    pub(super) fn new(admitted: Box<dyn Admitted>, span: Option<OpenSpan>) -> Self {
        Self { admitted, span }
    }

    /// Notes how the request ended.
    pub(super) fn end(&mut self, end: End) {
        self.admitted.end(end);
        if let Some(span) = &mut self.span {
            (span.span.outcome, span.span.error_code) = match end {
                End::Answered => ("answered", None),
                End::Failed(code) => ("failed", Some(code)),
                End::Unreachable => ("unreachable", None),
                End::Abandoned => ("abandoned", None),
            };
        }
    }

    /// Notes the answer.
    pub(super) fn answered(&mut self, message: &Message) {
        if let Some(span) = &mut self.span {
            span.span.response_bytes = match message {
                Message::Memory(bytes) => bytes.len() as u64,
                Message::Disk(spooled) => spooled.len() as u64,
            };
        }
    }
}

/// A span that is recorded when it is dropped.
pub(super) struct OpenSpan {
    span: Span,
    trace: Arc<dyn Trace>,
}

impl OpenSpan {
    /// Notes that the request was not sent to its server.
    pub(super) fn refused(mut self) {
        self.span.outcome = "refused";
    }
}

impl Drop for OpenSpan {
    fn drop(&mut self) {
        self.span.ended = SystemTime::now();
        self.trace.record(self.span.clone());
    }
}

/// Returns the span of a request, unless nobody records it, and the context that goes to the server.
pub(super) fn begin(
    trace: &Arc<dyn Trace>,
    headers: &TraceHeaders,
    message: &ParsedLine,
    subject: &Subject<'_>,
) -> Option<(Option<OpenSpan>, OutgoingContext)> {
    let head = message.first()?;
    let in_meta = meta(&message.bytes, head, "traceparent");
    let text = |range: &ByteRange| raw::text(&message.bytes, range).map(std::borrow::Cow::into_owned);
    let of_meta = in_meta.as_ref().and_then(text).and_then(|text| TraceContext::parse(&text));
    let of_headers = || TraceContext::parse(headers.parent.as_ref()?.to_str().ok()?);
    let (parent, state) = match of_meta {
        Some(parent) => {
            let state = meta(&message.bytes, head, "tracestate").as_ref().and_then(text);
            let state = state.filter(|state| state.len() <= MAX_STATE_BYTES);
            (Some(parent), state.and_then(|state| HeaderValue::from_str(&state).ok()))
        }
        None => {
            let parent = of_headers();
            (parent, parent.and_then(|_| headers.state.clone()))
        }
    };
    if let Some(parent) = parent.filter(|parent| !parent.is_sampled()) {
        return Some((None, OutgoingContext { in_meta: false, sent: parent, state }));
    }
    let mut random = [0; 24];
    // Without random numbers there is no trace, but there is a call.
    getrandom::fill(&mut random).ok()?;
    let (trace_id, span_id) = random.split_at(16);
    let span_id: SpanId = span_id.try_into().ok()?;
    let context = match parent {
        Some(parent) => parent.child(span_id),
        None => TraceContext::root(trace_id.try_into().ok()?, span_id),
    };
    let name = |text: &str| text.chars().take(MAX_NAME_CHARS).collect::<String>();
    let now = SystemTime::now();
    let span = Span {
        context,
        parent: parent.map(|parent| parent.span),
        method: name(subject.method),
        server: subject.server.to_owned(),
        tool: name(subject.tool),
        began: now,
        ended: now,
        request_bytes: message.bytes.len() as u64,
        response_bytes: 0,
        outcome: "abandoned",
        error_code: None,
    };
    Some((
        Some(OpenSpan { span, trace: Arc::clone(trace) }),
        OutgoingContext { in_meta: in_meta.is_some(), sent: context, state },
    ))
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use serde_json::{Value, json};

    use super::*;

    #[derive(Default)]
    struct Recorded(Mutex<Vec<Span>>);

    impl Trace for Recorded {
        fn record(&self, span: Span) {
            self.0.lock().unwrap().push(span);
        }
    }

    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

    fn of_meta(flags: &str) -> Value {
        json!({"traceparent": format!("00-{TRACE}-b7ad6b7169203331-{flags}"), "tracestate": "a=1", "other": 1})
    }

    /// Sends a request with this `_meta` and header; returns its span, its headers and its `_meta`.
    fn sent(meta: Option<Value>, header: Option<&str>) -> (Option<Span>, HeaderMap, Value) {
        let recorded = Arc::new(Recorded::default());
        let trace: Arc<dyn Trace> = Arc::clone(&recorded) as Arc<dyn Trace>;
        let mut headers = HeaderMap::new();
        if let Some(header) = header {
            headers.insert(PARENT, HeaderValue::from_str(header).unwrap());
            headers.insert(STATE, HeaderValue::from_static("b=2"));
        }
        let mut params = json!({"name": "t", "arguments": {"traceparent": "mine"}});
        if let Some(meta) = meta {
            params["_meta"] = meta;
        }
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let message = ParsedLine::parse(request.to_string().into_bytes());
        let subject = Subject { method: "tools/call", server: "s", tool: "t" };
        let (span, traced) = begin(&trace, &TraceHeaders::of(&headers), &message, &subject).unwrap();
        let written: Value = serde_json::from_slice(&traced.put(message).bytes).unwrap();
        assert_eq!(written["params"]["arguments"], json!({"traceparent": "mine"}));
        drop(span);
        let span = recorded.0.lock().unwrap().pop();
        (span, *traced.headers().unwrap(), written["params"]["_meta"].clone())
    }

    #[test]
    fn a_context_comes_from_the_request_or_its_headers() {
        let (span, headers, meta) =
            sent(Some(of_meta("01")), Some("00-11111111111111111111111111111111-2222222222222222-01"));
        let span = span.unwrap();
        assert_eq!(tidegate_gateway::trace::hex(&span.context.trace), TRACE);
        assert_eq!(tidegate_gateway::trace::hex(&span.parent.unwrap()), "b7ad6b7169203331");
        assert_eq!(meta["traceparent"], span.context.to_string());
        assert_eq!((&meta["tracestate"], &meta["other"]), (&json!("a=1"), &json!(1)));
        assert_eq!(headers[PARENT], span.context.to_string());
        assert_eq!(headers[STATE], "a=1");

        let (span, headers, meta) =
            sent(None, Some("00-11111111111111111111111111111111-2222222222222222-01"));
        let span = span.unwrap();
        assert_eq!(span.context.trace, [0x11; 16]);
        assert_eq!((meta, &headers[STATE]), (Value::Null, &HeaderValue::from_static("b=2")));

        let (span, headers, meta) = sent(Some(json!({"other": 1})), None);
        let span = span.unwrap();
        assert_eq!((span.parent, meta, headers.len()), (None, json!({"other": 1}), 1));
        assert_eq!((span.outcome, span.tool.as_str(), span.server.as_str()), ("abandoned", "t", "s"));
    }

    #[test]
    fn a_trace_that_nobody_records_goes_on_as_it_came() {
        let (span, headers, meta) = sent(Some(of_meta("00")), None);
        assert_eq!(span, None);
        assert_eq!(meta, of_meta("00"));
        assert_eq!(headers[PARENT], of_meta("00")["traceparent"].as_str().unwrap());
        let (span, headers, meta) = sent(Some(json!({"traceparent": 7})), Some("wrong"));
        let span = span.unwrap();
        assert_eq!((span.parent, headers.len()), (None, 1), "what is not valid begins a new trace");
        assert_eq!(meta["traceparent"], span.context.to_string());
    }
}
