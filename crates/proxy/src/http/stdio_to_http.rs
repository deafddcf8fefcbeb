//! A client on stdio in front of a server over HTTP.
//!
//! Each message is a POST of its own, and they begin in order. Requests run side by side; notifications and `initialize`
//! are waited for. If the server has dropped the session, tidegate initializes a new one and sends the message again, which
//! the server has refused without looking at it.

mod events;

use std::collections::HashMap;
use std::io::{self, BufRead, Write};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::{Method, Response, StatusCode};
use tidegate_core::view::visible_text;
use tidegate_gate::{causes, raw};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{AbortHandle, JoinSet};

use super::body_kind::{BodyKind, body_kind, no_answer};
use super::exchange::{self, from_server};
use super::headers::HeaderArguments;
use super::modern::{self, SESSION_HEADER, VERSION_HEADER};
use super::remote::Remote;
use super::serve::end_signal;
use super::stdio_server::Log;
use crate::link::{Failure, Link, Overdue, ServerMessage, ServerOutcome};
use crate::message::{MessageKind, ParsedLine};
use crate::spool::{Message, Received};

/// How long open requests may still take once the client has closed its side.
const MAX_DRAIN_TIME: Duration = Duration::from_secs(10);
/// How long the server may take to end the session.
const MAX_GOODBYE_TIME: Duration = Duration::from_secs(2);
/// How many messages may wait for a client that does not read; then the server waits too.
const MAX_WAITING_MESSAGES: usize = 64;
/// How long the messages after a notification or `initialize` wait until the server has accepted it.
const MAX_ORDER_WAIT: Duration = Duration::from_secs(10);
/// How long the server may take to accept a cancellation.
const MAX_CANCEL_TIME: Duration = Duration::from_secs(10);
/// How many characters of an error of the server are repeated.
const MAX_SAID_CHARS: usize = 300;

/// The session with the server and the requests on their way.
#[derive(Default)]
struct RemoteSession {
    id: Option<HeaderValue>,
    version: Option<HeaderValue>,
    /// The client's `initialize`, to send again.
    initialize: Option<Bytes>,
    header_arguments: HeaderArguments,
    /// Requests on their way, by id, with their exchange and the task that can be aborted.
    open: HashMap<Vec<u8>, (Arc<Link>, Option<AbortHandle>)>,
    /// How many local requests are being answered.
    local: usize,
}

pub(super) struct StdioToHttp {
    remote: Arc<Remote>,
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

impl Outgoing {
    /// Waits until requests are overdue and takes them; without requests, until the server has taken too long.
    async fn wait_for_overdue(&self) -> Vec<Overdue> {
        match self.exchange.timeout() {
            Some(timeout) if self.requests.is_empty() => {
                tokio::time::sleep(timeout).await;
                Vec::new()
            }
            _ => self.exchange.wait_for_overdue().await,
        }
    }
}

/// Forwards between a client on stdin and stdout and a server over HTTP until the client closes its side.
pub async fn stdio_to_http(link: Link, remote: Remote, log: impl Fn(&str) + Send + Sync + 'static) {
    let (out, lines) = mpsc::channel(MAX_WAITING_MESSAGES);
    let writer = std::thread::spawn(move || write_all(lines));
    let proxy = Arc::new(StdioToHttp::new(link, remote, out, Arc::new(log)));
    let mut input = read_lines();
    let mut tasks = JoinSet::new();
    let mut end = pin!(end_signal());
    loop {
        let line = tokio::select! {
            line = input.recv() => line,
            () = &mut end => None,
        };
        let Some(line) = line else { break };
        Arc::clone(&proxy).take(line, &mut tasks).await;
        while tasks.try_join_next().is_some() {}
    }
    let until = Instant::now() + MAX_DRAIN_TIME;
    while proxy.is_busy() && Instant::now() < until {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    for answer in proxy.fail_open(&Failure::Ended("tidegate was told to end".into())) {
        let _ = proxy.out.try_send(answer.into());
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
        Self { remote: Arc::new(remote), link, out, session: Mutex::default(), log }
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
            self.session().local += 1;
            tasks.spawn_blocking(move || {
                let _ = this.out.blocking_send(exchange.answer_locally(&request).into());
                this.session().local -= 1;
            });
        }
        let Some(message) = forward else { return };
        let outgoing = self.outgoing(message, exchange);
        if outgoing.is_modern && outgoing.method == "notifications/cancelled" {
            return self.cancel(outgoing.cancels.as_deref());
        }
        let begins_listening = outgoing.method == "notifications/initialized";
        let keeps_order = outgoing.requests.is_empty() || outgoing.method == "initialize";
        let (ids, exchange) = (outgoing.requests.clone(), Arc::clone(&outgoing.exchange));
        self.session().open.extend(ids.iter().map(|id| (id.clone(), (Arc::clone(&exchange), None))));
        let (done, is_done) = oneshot::channel::<()>();
        let post = Arc::clone(&self).post(outgoing);
        let task = tasks.spawn(async move {
            post.await;
            drop(done);
        });
        for id in &ids {
            // It may be answered already.
            if let Some((_, open)) = self.session().open.get_mut(id) {
                *open = Some(task.clone());
            }
        }
        if keeps_order {
            // Of a server that accepts nothing, not even the next messages have to wait.
            let _ = tokio::time::timeout(MAX_ORDER_WAIT, is_done).await;
        }
        if begins_listening {
            tasks.spawn(Arc::clone(&self).listen());
        }
    }

    /// Returns whether something is still being answered.
    fn is_busy(&self) -> bool {
        let session = self.session();
        !session.open.is_empty() || session.local > 0
    }

    /// Returns an error response for each request that is still open.
    fn fail_open(&self, failure: &Failure) -> Vec<Vec<u8>> {
        let open = std::mem::take(&mut self.session().open);
        open.into_values().flat_map(|(exchange, _)| exchange.fail(failure)).collect()
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
        if let Some((_, Some(task))) = task {
            task.abort();
        }
    }

    /// Sends a message, and answers each request in it that the server does not answer in time, or not at all.
    async fn post(self: Arc<Self>, outgoing: Outgoing) {
        let mut sending = pin!(self.try_post(&outgoing));
        let outcome = loop {
            tokio::select! {
                outcome = &mut sending => break outcome,
                overdue = outgoing.wait_for_overdue() => {
                    self.give_up(overdue, &outgoing).await;
                    if !outgoing.exchange.is_open() {
                        // Dropping the exchange closes its connection.
                        break Err(Failure::Ended("the server was silent for too long".into()));
                    }
                }
            }
        };
        let ended = Failure::Ended("the server's response ended".into());
        let failure = outcome.as_ref().err();
        if let Some(failure) = failure.filter(|_| outgoing.requests.is_empty()) {
            (self.log)(&format!("{} was not accepted: {}", outgoing.method, failure.reason()));
        }
        for answer in outgoing.exchange.fail(failure.unwrap_or(&ended)) {
            let _ = self.out.send(answer.into()).await;
        }
        let mut session = self.session();
        for id in &outgoing.requests {
            session.open.remove(id);
        }
    }

    /// Answers requests in place of the server, and tells the server of a session that nobody waits for them.
    async fn give_up(&self, overdue: Vec<Overdue>, outgoing: &Outgoing) {
        for late in overdue {
            let _ = self.out.send(late.answer.into()).await;
            let Some(cancel) = late.cancel.filter(|_| !outgoing.is_modern) else { continue };
            let (remote, headers) = (Arc::clone(&self.remote), outgoing.headers.clone());
            tokio::spawn(async move {
                let sent = remote.send(Method::POST, headers, cancel.into());
                let _ = tokio::time::timeout(MAX_CANCEL_TIME, sent).await;
            });
        }
    }

    async fn try_post(&self, outgoing: &Outgoing) -> Result<(), Failure> {
        let mut headers = outgoing.headers.clone();
        let mut initialized = false;
        loop {
            let sent = self.remote.send(Method::POST, headers.clone(), outgoing.body.clone()).await;
            let response = sent.map_err(|error| error.failure())?;
            let session_is_gone =
                response.status() == StatusCode::NOT_FOUND && headers.contains_key(SESSION_HEADER);
            if session_is_gone && !initialized {
                // The server has refused the message without looking at it, so it may be sent again.
                initialized = true;
                self.initialize_again().await.map_err(Failure::Refused)?;
                put(&mut headers, SESSION_HEADER, self.session().id.as_ref());
                continue;
            }
            return self.take_response(response, outgoing).await;
        }
    }

    async fn take_response(&self, response: Response<Incoming>, outgoing: &Outgoing) -> Result<(), Failure> {
        let (parts, body) = response.into_parts();
        if outgoing.method == "initialize" && parts.status.is_success() {
            self.session().id = parts.headers.get(SESSION_HEADER).cloned();
        }
        let kind = body_kind(&self.remote, parts.status, &parts.headers)?;
        if kind == BodyKind::Events {
            return self.take_events(body, outgoing).await;
        }
        let broke_off = |_| Failure::Ended("the server's response broke off".to_owned());
        let received = exchange::read_response(body, self.link.limits()).await.map_err(broke_off)?;
        if parts.status.is_success() && outgoing.requests.is_empty() {
            return Ok(());
        }
        // Whatever the content type and the status say: a response to the request is one.
        let message = match received {
            Received::Message(Message::Memory(body)) => ParsedLine::parse(body),
            large => {
                self.take_received(outgoing, large).await;
                return Err(no_answer(&parts));
            }
        };
        if is_answer(&message) && !outgoing.requests.is_empty() {
            self.forward(outgoing, message.into()).await;
            return Err(no_answer(&parts));
        }
        if parts.status.is_success() {
            return Err(no_answer(&parts));
        }
        let said = error_message(&message).map_or_else(String::new, |said| {
            format!(": {}", visible_text(&said.chars().take(MAX_SAID_CHARS).collect::<String>()))
        });
        let answered = format!("with status {}{said}", parts.status);
        Err(match parts.status.is_client_error() {
            // The server has not looked at the call, or refused it.
            true => Failure::Refused(format!("the server answered {answered}")),
            false => Failure::Answered(answered),
        })
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
