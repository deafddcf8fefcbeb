//! Event streams of the server: those that answer a request, and the one for messages that belong to no request.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::header::{ACCEPT, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Response};

use super::{Outgoing, StdioToHttp, put};
use crate::http::body_kind::{BodyKind, body_kind};
use crate::http::exchange;
use crate::http::modern::{SESSION_HEADER, VERSION_HEADER};
use crate::http::sse::{Event, EventSplitter};
use crate::link::Failure;

/// How often in a row a stream is resumed that then ends without any event. A server may close a stream as often as it likes,
/// but says before for how long (`retry`).
const MAX_FRUITLESS_RESUMES: u32 = 5;
/// How long to wait before a stream is resumed, unless the server says.
const DEFAULT_RETRY: Duration = Duration::from_secs(1);
/// The shortest time between two streams, whatever the server says.
const MIN_RETRY: Duration = Duration::from_millis(if cfg!(test) { 20 } else { 500 });
/// The longest time that a server can make tidegate wait before a stream is resumed.
const MAX_RETRY: Duration = Duration::from_secs(60);

/// What is known of a stream, also after it broke.
struct StreamState {
    last_id: Option<String>,
    /// How long to wait before the stream is resumed.
    retry: Duration,
    /// How many events have arrived.
    events: usize,
}

impl Default for StreamState {
    fn default() -> Self {
        Self { last_id: None, retry: DEFAULT_RETRY, events: 0 }
    }
}

impl StdioToHttp {
    /// Forwards events until all requests are answered. A stream that breaks is resumed if the server supports that.
    pub(super) async fn take_events(&self, mut body: Incoming, outgoing: &Outgoing) -> Result<(), Failure> {
        let (mut stream, mut fruitless) = (StreamState::default(), 0);
        loop {
            let before = stream.events;
            self.forward_events(&mut body, outgoing, &mut stream).await;
            if !outgoing.exchange.is_open() {
                return Ok(());
            }
            fruitless = if stream.events > before { 0 } else { fruitless + 1 };
            if outgoing.is_modern || fruitless > MAX_FRUITLESS_RESUMES {
                break;
            }
            let Some(event) = &stream.last_id else { break };
            tokio::time::sleep(stream.retry).await;
            match self.resume(event).await {
                Some(resumed) => body = resumed,
                None => break,
            }
        }
        match outgoing.requests.is_empty() {
            true => Ok(()),
            false => Err(Failure::Ended("the stream of the server ended".into())),
        }
    }

    async fn forward_events(&self, body: &mut Incoming, outgoing: &Outgoing, stream: &mut StreamState) {
        let mut events = EventSplitter::new(self.link.limits());
        while let Some(Ok(frame)) = body.frame().await {
            let Ok(data) = frame.into_data() else { continue };
            events.push(&data);
            while let Some(event) = events.next() {
                self.take_event(event, outgoing, stream).await;
            }
            if !outgoing.requests.is_empty() && !outgoing.exchange.is_open() {
                // Everything is answered, and a server may keep the stream open forever.
                return;
            }
        }
        if let Some(event) = events.last() {
            self.take_event(event, outgoing, stream).await;
        }
    }

    async fn take_event(&self, event: Event, outgoing: &Outgoing, stream: &mut StreamState) {
        stream.events += 1;
        stream.last_id = event.id.or_else(|| stream.last_id.take());
        if let Some(retry) = event.retry {
            stream.retry = Duration::from_millis(retry).clamp(MIN_RETRY, MAX_RETRY);
        }
        if let Some(data) = event.data {
            self.take_received(outgoing, data).await;
        }
    }

    async fn resume(&self, event: &str) -> Option<Incoming> {
        let mut headers = self.listening_headers();
        headers.insert(HeaderName::from_static("last-event-id"), HeaderValue::from_str(event).ok()?);
        let response = self.remote.send(Method::GET, headers, Bytes::new()).await.ok()?;
        self.is_event_stream(&response).then(|| response.into_body())
    }

    pub(super) fn listening_headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        let session = self.session();
        put(&mut headers, SESSION_HEADER, session.id.as_ref());
        put(&mut headers, VERSION_HEADER, session.version.as_ref());
        headers
    }

    /// Listens for messages that belong to no request, as long as the server offers a stream for them.
    pub(super) async fn listen(self: Arc<Self>) {
        let exchange = Arc::new(self.link.exchange());
        let outgoing = Outgoing {
            body: Bytes::new(),
            headers: HeaderMap::new(),
            exchange,
            is_modern: false,
            requests: Vec::new(),
            method: String::new(),
            cancels: None,
            deliveries: AtomicUsize::new(0),
        };
        let mut stream = StreamState::default();
        loop {
            let mut headers = self.listening_headers();
            if let Some(event) = stream.last_id.as_deref().and_then(|event| HeaderValue::from_str(event).ok())
            {
                headers.insert(HeaderName::from_static("last-event-id"), event);
            }
            let Ok(response) = self.remote.send(Method::GET, headers, Bytes::new()).await else { return };
            if !self.is_event_stream(&response) {
                return;
            }
            self.forward_events(&mut response.into_body(), &outgoing, &mut stream).await;
            tokio::time::sleep(stream.retry).await;
        }
    }

    /// Reads a response up to its first message, which nobody needs.
    pub(super) async fn read_answer(&self, response: Response<Incoming>) {
        if !self.is_event_stream(&response) {
            let _ = exchange::read_response(response.into_body(), self.link.limits()).await;
            return;
        }
        let (mut body, mut events) = (response.into_body(), EventSplitter::new(self.link.limits()));
        while let Some(Ok(frame)) = body.frame().await {
            events.push(&frame.into_data().unwrap_or_default());
            while let Some(event) = events.next() {
                if event.data.is_some() {
                    return;
                }
            }
        }
    }

    /// Returns whether a response is a stream of events.
    fn is_event_stream(&self, response: &Response<Incoming>) -> bool {
        let kind = body_kind(&self.remote, response.status(), response.headers());
        response.status().is_success() && kind == Ok(BodyKind::Events)
    }
}
