//! A client on stdio in front of a server over HTTP.
//!
//! Each message is a POST of its own, and they begin in order. Requests run side by side; notifications and `initialize`
//! are waited for. If the server has dropped the session, tidegate initializes a new one and sends the message again, which
//! the server has refused without looking at it.

use std::collections::HashMap;
use std::io::{self, BufRead, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Response, StatusCode};
use tidegate_gate::{causes, raw};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};

use super::exchange::{self, from_server};
use super::headers::HeaderArguments;
use super::modern::{self, SESSION_HEADER, VERSION_HEADER};
use super::remote::Remote;
use super::sse::EventSplitter;
use super::stdio_server::Log;
use crate::link::{Link, ServerMessage, ServerOutcome};
use crate::message::{MessageKind, ParsedLine};
use crate::spool::{Message, Received};

/// How often a stream that broke before its response is resumed.
const MAX_RESUMES: u32 = 5;
/// How long to wait before a stream is resumed, unless the server says.
const DEFAULT_RETRY: Duration = Duration::from_secs(1);
/// How long open requests may still take once the client has closed its side.
const MAX_DRAIN_TIME: Duration = Duration::from_secs(10);
/// How long the server may take to end the session.
const MAX_GOODBYE_TIME: Duration = Duration::from_secs(2);
/// How many messages may wait for a client that does not read; then the server waits too.
const MAX_WAITING_MESSAGES: usize = 64;

/// The session with the server and the requests on their way.
#[derive(Default)]
struct RemoteSession {
    id: Option<HeaderValue>,
    version: Option<HeaderValue>,
    /// The client's `initialize`, to send again.
    initialize: Option<Bytes>,
    header_arguments: HeaderArguments,
    /// Requests on their way, by id, with the task that can be aborted.
    open: HashMap<Vec<u8>, Option<AbortHandle>>,
}

pub(super) struct StdioToHttp {
    remote: Remote,
    link: Link,
    out: mpsc::Sender<Message>,
    session: Mutex<RemoteSession>,
    log: Log,
}

/// A message of the client that is sent to the server.
struct Outgoing {
    body: Bytes,
    headers: HeaderMap,
    exchange: Arc<Link>,
    is_modern: bool,
    /// The ids of the requests in it.
    requests: Vec<Vec<u8>>,
    method: String,
    /// The id that a cancellation names.
    cancels: Option<Vec<u8>>,
}

/// Forwards between a client on stdin and stdout and a server over HTTP until the client closes its side.
pub async fn stdio_to_http(link: Link, remote: Remote, log: impl Fn(&str) + Send + Sync + 'static) {
    let (out, lines) = mpsc::channel(MAX_WAITING_MESSAGES);
    let writer = std::thread::spawn(move || write_all(lines));
    let proxy = Arc::new(StdioToHttp::new(link, remote, out, Arc::new(log)));
    let mut input = read_lines();
    let mut tasks = JoinSet::new();
    while let Some(line) = input.recv().await {
        Arc::clone(&proxy).take(line, &mut tasks).await;
        while tasks.try_join_next().is_some() {}
    }
    let until = Instant::now() + MAX_DRAIN_TIME;
    while !proxy.session().open.is_empty() && Instant::now() < until {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    proxy.end_session().await;
    tasks.shutdown().await;
    drop(proxy);
    let _ = tokio::task::spawn_blocking(move || writer.join()).await;
}

fn read_lines() -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel(64);
    std::thread::spawn(move || {
        let mut input = io::stdin().lock();
        loop {
            let mut line = Vec::new();
            match input.read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) if line.trim_ascii().is_empty() => {}
                Ok(_) if sender.blocking_send(line).is_err() => return,
                Ok(_) => {}
            }
        }
    });
    receiver
}

fn write_all(mut messages: mpsc::Receiver<Message>) {
    let mut output = io::stdout().lock();
    while let Some(message) = messages.blocking_recv() {
        // A body over HTTP may have several lines; on stdio a message is one line.
        let written = match message {
            Message::Memory(mut line) => {
                line.retain(|byte| !matches!(byte, b'\n' | b'\r'));
                line.push(b'\n');
                output.write_all(&line)
            }
            Message::Disk(spooled) => spooled.on_one_line().between(b"", b"\n").write_to(&mut output),
        };
        if written.and_then(|()| output.flush()).is_err() {
            return;
        }
    }
}

impl StdioToHttp {
    pub(super) fn new(link: Link, remote: Remote, out: mpsc::Sender<Message>, log: Log) -> Self {
        Self { remote, link, out, session: Mutex::default(), log }
    }

    fn session(&self) -> MutexGuard<'_, RemoteSession> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a line of the client. Requests are sent by a task; anything else is sent before this returns.
    pub(super) async fn take(self: Arc<Self>, line: Vec<u8>, tasks: &mut JoinSet<()>) {
        let exchange = Arc::new(self.link.exchange());
        let (forward, local) = exchange.parsed_from_client(ParsedLine::parse(line));
        for request in local {
            let (this, exchange) = (Arc::clone(&self), Arc::clone(&exchange));
            tasks.spawn_blocking(move || {
                let _ = this.out.blocking_send(exchange.answer_locally(&request).into());
            });
        }
        let Some(message) = forward else { return };
        let outgoing = self.outgoing(message, exchange);
        if outgoing.is_modern && outgoing.method == "notifications/cancelled" {
            return self.cancel(outgoing.cancels.as_deref());
        }
        if outgoing.requests.is_empty() || outgoing.method == "initialize" {
            let initialized = outgoing.method == "notifications/initialized";
            Arc::clone(&self).post(outgoing).await;
            if initialized {
                tasks.spawn(Arc::clone(&self).listen());
            }
            return;
        }
        let ids = outgoing.requests.clone();
        self.session().open.extend(ids.iter().map(|id| (id.clone(), None)));
        let task = tasks.spawn(Arc::clone(&self).post(outgoing));
        let mut session = self.session();
        for id in &ids {
            // It may be answered already.
            if let Some(open) = session.open.get_mut(id) {
                *open = Some(task.clone());
            }
        }
    }

    fn outgoing(&self, message: ParsedLine, exchange: Arc<Link>) -> Outgoing {
        let mut headers = post_headers();
        let (mut requests, mut method, mut is_modern, mut cancels) = (Vec::new(), "", false, None);
        let body = &message.bytes;
        for head in message.heads().iter().filter(|head| head.kind() != MessageKind::Unreadable) {
            method = head.method();
            if head.kind() == MessageKind::Request {
                requests.push(head.id_bytes().to_vec());
            }
            is_modern |= modern::put(&mut headers, body, head);
            let params = head.params.as_ref();
            if let Some(params) = params.filter(|_| is_modern && method == "tools/call") {
                self.session().header_arguments.put(&mut headers, body, params);
            }
            if let Some(params) = params.filter(|_| method == "notifications/cancelled") {
                cancels = raw::member(body, params, "requestId").map(|id| body[id].to_vec());
            }
        }
        let method = method.to_owned();
        let body = Bytes::from(message.bytes);
        let mut session = self.session();
        if !is_modern {
            put(&mut headers, SESSION_HEADER, session.id.as_ref());
            put(&mut headers, VERSION_HEADER, session.version.as_ref());
        }
        if method == "initialize" {
            session.initialize = Some(body.clone());
        }
        drop(session);
        Outgoing { body, headers, exchange, is_modern, requests, method, cancels }
    }

    /// Cancels a request of a revision without sessions, by closing its connection.
    fn cancel(&self, id: Option<&[u8]>) {
        let task = id.and_then(|id| self.session().open.remove(id));
        if let Some(Some(task)) = task {
            task.abort();
        }
    }

    async fn post(self: Arc<Self>, outgoing: Outgoing) {
        let outcome = self.try_post(&outgoing).await;
        if let Err(reason) = outcome {
            if outgoing.requests.is_empty() {
                (self.log)(&format!("{} could not be sent: {reason}", outgoing.method));
            }
            for answer in outgoing.exchange.end(&reason) {
                let _ = self.out.send(answer.into()).await;
            }
        }
        let mut session = self.session();
        for id in &outgoing.requests {
            session.open.remove(id);
        }
    }

    async fn try_post(&self, outgoing: &Outgoing) -> Result<(), String> {
        let mut headers = outgoing.headers.clone();
        let mut initialized = false;
        loop {
            let sent = self.remote.send(Method::POST, headers.clone(), outgoing.body.clone()).await;
            let response =
                sent.map_err(|error| format!("the server could not be reached ({})", causes(&error)))?;
            let session_is_gone =
                response.status() == StatusCode::NOT_FOUND && headers.contains_key(SESSION_HEADER);
            if session_is_gone && !initialized {
                // The server has refused the message without looking at it, so it may be sent again.
                initialized = true;
                self.initialize_again().await?;
                put(&mut headers, SESSION_HEADER, self.session().id.as_ref());
                continue;
            }
            return self.take_response(response, outgoing).await;
        }
    }

    async fn take_response(&self, response: Response<Incoming>, outgoing: &Outgoing) -> Result<(), String> {
        let (parts, body) = response.into_parts();
        if outgoing.method == "initialize" && parts.status.is_success() {
            self.session().id = parts.headers.get(SESSION_HEADER).cloned();
        }
        let kind = parts.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if kind.starts_with("text/event-stream") {
            return self.take_events(body, outgoing).await;
        }
        let broke = |_| "the response of the server broke off; a tool may have run".to_owned();
        let received = exchange::read_response(body, self.link.limits()).await.map_err(broke)?;
        if parts.status == StatusCode::ACCEPTED || (parts.status.is_success() && outgoing.requests.is_empty())
        {
            return Ok(());
        }
        if parts.status.is_redirection() {
            // The new address is not shown: it may hold a secret, as the configured one may.
            return Err(format!(
                "the server at {} redirects to another address (status {}); find it with curl -I and use that one",
                self.remote.host(),
                parts.status.as_u16()
            ));
        }
        let message = match received {
            Received::Message(Message::Memory(body)) => ParsedLine::parse(body),
            large => {
                self.take_received(outgoing, large).await;
                return Ok(());
            }
        };
        if is_answer(&message) && !outgoing.requests.is_empty() {
            self.forward(outgoing, message.into()).await;
            return Ok(());
        }
        let said = error_message(&message).map_or_else(String::new, |said| format!(": {said}"));
        Err(format!("the server answered {}{said}", parts.status))
    }

    async fn take_received(&self, outgoing: &Outgoing, received: Received) {
        match received {
            // What it says about the session is needed here; other messages may be parsed on another thread.
            Received::Message(Message::Memory(line)) if outgoing.method == "initialize" => {
                self.forward(outgoing, ParsedLine::parse(line).into()).await;
            }
            Received::Message(message) => self.forward(outgoing, message.into()).await,
            Received::TooLarge(too_large) => self.send(outgoing.exchange.refuse(&too_large)).await,
        }
    }

    /// Forwards a message of the server.
    async fn forward(&self, outgoing: &Outgoing, message: ServerMessage) {
        self.learn(outgoing, &message);
        self.send(from_server(&outgoing.exchange, message).await).await;
    }

    /// Sends what a link returned to the client, and logs what it dropped.
    async fn send(&self, outcome: ServerOutcome) {
        outcome.dropped.iter().for_each(|reason| (self.log)(reason));
        if let Some(message) = outcome.forward {
            let _ = self.out.send(message).await;
        }
    }

    /// Remembers what later requests need of a response.
    fn learn(&self, outgoing: &Outgoing, message: &ServerMessage) {
        let Some(bytes) = message.message.as_bytes() else { return };
        if outgoing.method == "tools/list" {
            self.session().header_arguments.learn(bytes);
        }
        if outgoing.method == "initialize"
            && let Some(result) = message.first().and_then(|head| head.result.as_ref())
            && let Some(version) = raw::member(bytes, result, "protocolVersion")
        {
            let version = raw::text(bytes, &version).and_then(|version| HeaderValue::from_str(&version).ok());
            self.session().version = version;
        }
    }

    /// Forwards events until all requests are answered. A stream that breaks is resumed if the server supports that.
    async fn take_events(&self, mut body: Incoming, outgoing: &Outgoing) -> Result<(), String> {
        let (mut last, mut retry) = (None, DEFAULT_RETRY);
        for _ in 0..MAX_RESUMES {
            self.forward_events(&mut body, outgoing, &mut last, &mut retry).await;
            if !outgoing.exchange.is_open() {
                return Ok(());
            }
            let Some(event) = last.clone().filter(|_| !outgoing.is_modern) else { break };
            tokio::time::sleep(retry).await;
            match self.resume(&event).await {
                Some(resumed) => body = resumed,
                None => break,
            }
        }
        match outgoing.requests.is_empty() {
            true => Ok(()),
            false => Err("the stream of the server broke off; a tool may have run".into()),
        }
    }

    async fn forward_events(
        &self,
        body: &mut Incoming,
        outgoing: &Outgoing,
        last: &mut Option<String>,
        retry: &mut Duration,
    ) {
        let mut events = EventSplitter::new(self.link.limits());
        while let Some(Ok(frame)) = body.frame().await {
            let Ok(data) = frame.into_data() else { continue };
            events.push(&data);
            while let Some(event) = events.next() {
                *last = event.id.or_else(|| last.take());
                *retry = event.retry.map_or(*retry, Duration::from_millis);
                if let Some(data) = event.data {
                    self.take_received(outgoing, data).await;
                }
            }
        }
    }

    async fn resume(&self, event: &str) -> Option<Incoming> {
        let mut headers = self.listening_headers();
        headers.insert(HeaderName::from_static("last-event-id"), HeaderValue::from_str(event).ok()?);
        let response = self.remote.send(Method::GET, headers, Bytes::new()).await.ok()?;
        response.status().is_success().then(|| response.into_body())
    }

    fn listening_headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        let session = self.session();
        put(&mut headers, SESSION_HEADER, session.id.as_ref());
        put(&mut headers, VERSION_HEADER, session.version.as_ref());
        headers
    }

    /// Listens for messages that belong to no request, as long as the server offers a stream for them.
    async fn listen(self: Arc<Self>) {
        let exchange = Arc::new(self.link.exchange());
        let outgoing = Outgoing {
            body: Bytes::new(),
            headers: HeaderMap::new(),
            exchange,
            is_modern: false,
            requests: Vec::new(),
            method: String::new(),
            cancels: None,
        };
        let (mut last, mut retry): (Option<String>, _) = (None, DEFAULT_RETRY);
        loop {
            let mut headers = self.listening_headers();
            if let Some(event) = last.as_deref().and_then(|event| HeaderValue::from_str(event).ok()) {
                headers.insert(HeaderName::from_static("last-event-id"), event);
            }
            let Ok(response) = self.remote.send(Method::GET, headers, Bytes::new()).await else { return };
            if !response.status().is_success() {
                return;
            }
            self.forward_events(&mut response.into_body(), &outgoing, &mut last, &mut retry).await;
            tokio::time::sleep(retry).await;
        }
    }

    /// Begins a new session with the `initialize` of the client, which has its response already.
    async fn initialize_again(&self) -> Result<(), String> {
        let Some(initialize) = self.session().initialize.clone() else {
            return Err("the server dropped the session".into());
        };
        let mut headers = post_headers();
        let sent = self.remote.send(Method::POST, headers.clone(), initialize).await;
        let response = sent.map_err(|error| causes(&error))?;
        let session = response.headers().get(SESSION_HEADER).cloned();
        if !response.status().is_success() || session.is_none() {
            return Err("the server dropped the session and did not begin a new one".into());
        }
        let _ = response.into_body().collect().await;
        self.session().id.clone_from(&session);
        put(&mut headers, SESSION_HEADER, session.as_ref());
        put(&mut headers, VERSION_HEADER, self.session().version.as_ref());
        let initialized = Bytes::from_static(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        let sent = self.remote.send(Method::POST, headers, initialized).await;
        (self.log)("the server dropped the session; initialized a new one");
        sent.map(drop).map_err(|error| causes(&error))
    }

    async fn end_session(&self) {
        let headers = self.listening_headers();
        if headers.contains_key(SESSION_HEADER) {
            let ended = self.remote.send(Method::DELETE, headers, Bytes::new());
            // A server that does not answer will drop the session by itself.
            let _ = tokio::time::timeout(MAX_GOODBYE_TIME, ended).await;
        }
    }
}

/// Returns whether a body is a response to a request, or a batch of them.
fn is_answer(message: &ParsedLine) -> bool {
    let is_batch = message.is_batch() && message.heads.is_some();
    is_batch || message.first().is_some_and(|head| head.id_bytes() != b"null")
}

/// Returns the message of the error that a body is.
fn error_message(message: &ParsedLine) -> Option<String> {
    let error = message.first()?.error.as_ref()?;
    let text = raw::member(&message.bytes, error, "message")?;
    raw::text(&message.bytes, &text).map(std::borrow::Cow::into_owned)
}

fn post_headers() -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers
}

fn put(headers: &mut HeaderMap, name: &'static str, value: Option<&HeaderValue>) {
    if let Some(value) = value {
        headers.insert(name, value.clone());
    }
}
