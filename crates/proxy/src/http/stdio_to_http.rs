//! A client on stdio in front of a server over HTTP.
//!
//! Each message is a POST of its own, and they begin in order. Requests run side by side; notifications and `initialize`
//! are waited for. If the server has dropped the session, tidegate initializes a new one and sends the message again, which
//! the server has refused without looking at it.

mod client;
mod events;

use std::collections::HashMap;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::{Method, Response, StatusCode};
use tidegate_core::view::visible_text;
use tidegate_gate::{causes, raw};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{AbortHandle, JoinSet};

use super::body_kind::{BodyKind, body_kind, error_status, no_answer};
use super::exchange::{self, from_server};
use super::modern::{self, SESSION_HEADER, VERSION_HEADER};
use super::remote::Remote;
use super::shared_server::Log;
use crate::link::{Failure, Link, Overdue, Resolution, ResolveJob, ServerMessage, ServerOutcome};
use crate::message::{MessageKind, ParsedLine, same_id};
use crate::spool::{Message, Received};

#[cfg(test)]
pub(super) use client::run_between;
pub use client::stdio_to_http;

/// How long the server may take to end the session.
const MAX_GOODBYE_TIME: Duration = Duration::from_secs(2);
/// How long the messages after a notification or `initialize` wait until the server has accepted it.
const MAX_ORDER_WAIT: Duration = Duration::from_secs(10);
/// How long the server may take to answer the `initialize` with which tidegate begins a new session.
const MAX_INITIALIZE_TIME: Duration = Duration::from_secs(30);
/// How many characters of an error of the server are repeated.
const MAX_SAID_CHARS: usize = 300;

/// The session with the server and the requests on their way.
#[derive(Default)]
struct RemoteSession {
    id: Option<HeaderValue>,
    version: Option<HeaderValue>,
    /// The client's `initialize`, to send again.
    initialize: Option<Bytes>,
    /// Requests on their way, by id, with their exchange and the task that can be aborted.
    open: HashMap<Vec<u8>, (Arc<Link>, Option<AbortHandle>)>,
    /// How many local requests are being answered.
    local: usize,
}

/// A message for the client.
pub(super) struct ForClient {
    pub(super) message: Message,
    /// Whether tidegate answers in place of a server that is down or silent.
    #[cfg_attr(not(feature = "gateway"), expect(dead_code, reason = "only a gateway judges servers"))]
    pub(super) is_outage: bool,
}

impl From<Message> for ForClient {
    fn from(message: Message) -> Self {
        Self { message, is_outage: false }
    }
}

pub(super) struct StdioToHttp {
    remote: Arc<Remote>,
    link: Link,
    out: mpsc::Sender<ForClient>,
    session: Mutex<RemoteSession>,
    /// How many messages are on their way to the client.
    deliveries: AtomicUsize,
    log: Log,
    /// Whether the messages are those of several clients: then a cancellation holds up no other message.
    is_for_many: bool,
}

/// Counts a message that is on its way to the client, until it is dropped.
struct DeliveryGuard<'c>(&'c AtomicUsize);

impl<'c> DeliveryGuard<'c> {
    fn begin(count: &'c AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count)
    }
}

impl Drop for DeliveryGuard<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
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
    /// How many messages of the server are on their way to the client.
    deliveries: AtomicUsize,
}

impl Outgoing {
    /// Returns whether a message, or one of a batch, answers one of the requests.
    fn is_answered_by(&self, message: &ParsedLine) -> bool {
        let is_ours = |id: &[u8]| self.requests.iter().any(|own| own == id || same_id(own, id));
        message.heads().iter().any(|head| head.is_answer() && is_ours(head.id_bytes()))
    }

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

impl StdioToHttp {
    pub(super) fn new(link: Link, remote: Remote, out: mpsc::Sender<ForClient>, log: Log) -> Self {
        let deliveries = AtomicUsize::new(0);
        let remote = Arc::new(remote);
        Self { remote, link, out, session: Mutex::default(), deliveries, log, is_for_many: false }
    }

    /// Returns the bridge between the messages of several clients and one session with a server.
    #[cfg(feature = "gateway")]
    pub(super) fn for_many(link: Link, remote: Arc<Remote>, out: mpsc::Sender<ForClient>, log: Log) -> Self {
        let (session, deliveries) = (Mutex::default(), AtomicUsize::new(0));
        Self { remote, link, out, session, deliveries, log, is_for_many: true }
    }

    /// Returns whether the server has begun a session.
    #[cfg(feature = "gateway")]
    pub(super) fn has_session(&self) -> bool {
        self.session().id.is_some()
    }

    fn session(&self) -> MutexGuard<'_, RemoteSession> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a line of the client. Requests are sent by a task; anything else is sent before this returns.
    pub(super) async fn take(self: Arc<Self>, line: Vec<u8>, tasks: &mut JoinSet<()>) {
        self.take_with(line, None, tasks).await;
    }

    /// Takes a line of the client that is sent with more headers.
    pub(super) async fn take_with(
        self: Arc<Self>,
        line: Vec<u8>,
        headers: Option<Box<HeaderMap>>,
        tasks: &mut JoinSet<()>,
    ) {
        let exchange = Arc::new(self.link.exchange());
        let (forward, own) = exchange.parsed_from_client(ParsedLine::parse(line));
        for call in own.calls {
            self.session().local += 1;
            let (sender, own_task) = oneshot::channel();
            let task = tasks.spawn(Arc::clone(&self).resolve(call, own_task));
            let _ = sender.send(task);
        }
        for request in own.requests {
            let (this, exchange) = (Arc::clone(&self), Arc::clone(&exchange));
            self.session().local += 1;
            tasks.spawn_blocking(move || {
                let _ = this.out.blocking_send(Message::from(exchange.answer_locally(&request)).into());
                this.session().local -= 1;
            });
        }
        let Some(message) = forward else { return };
        let mut outgoing = self.outgoing(message, exchange);
        outgoing.headers.extend(headers.into_iter().flat_map(|headers| *headers));
        if outgoing.is_modern && outgoing.method == "notifications/cancelled" {
            return self.cancel(outgoing.cancels.as_deref());
        }
        let begins_listening = outgoing.method == "notifications/initialized";
        let is_cancellation = self.is_for_many && outgoing.method == "notifications/cancelled";
        let keeps_order =
            (outgoing.requests.is_empty() && !is_cancellation) || outgoing.method == "initialize";
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
            // If the server accepts nothing, the next messages are sent anyway.
            let _ = tokio::time::timeout(MAX_ORDER_WAIT, is_done).await;
        }
        if begins_listening {
            tasks.spawn(Arc::clone(&self).listen());
        }
    }

    /// Resolves the references of a call, and sends it to the server or its refusal to the client.
    async fn resolve(self: Arc<Self>, call: ResolveJob, own_task: oneshot::Receiver<AbortHandle>) {
        let exchange = Arc::new(self.link.exchange());
        match exchange::resolve(&exchange, call).await {
            Some(Resolution::Forward(message)) => {
                let (outgoing, task) = (self.outgoing(*message, exchange), own_task.await.ok());
                {
                    let mut session = self.session();
                    let open = |id: &Vec<u8>| (id.clone(), (Arc::clone(&outgoing.exchange), task.clone()));
                    session.open.extend(outgoing.requests.iter().map(open));
                    session.local -= 1;
                }
                return self.post(outgoing).await;
            }
            Some(Resolution::Answer(refused)) => self.deliver(Message::from(refused.line)).await,
            Some(Resolution::Cancelled(_)) | None => {}
        }
        self.session().local -= 1;
    }

    /// Returns whether something is still being answered.
    fn is_busy(&self) -> bool {
        let session = self.session();
        !session.open.is_empty() || session.local > 0
    }

    /// Returns an error response for each request that is still open.
    fn fail_open(&self, failure: &Failure) -> Vec<Vec<u8>> {
        let open = std::mem::take(&mut self.session().open);
        let answers = open.into_values().flat_map(|(exchange, _)| exchange.fail(failure));
        answers.chain(self.link.fail_resolving(&failure.reason())).collect()
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
                self.remote.header_arguments().put(&mut headers, body, params);
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
        let deliveries = AtomicUsize::new(0);
        Outgoing { body, headers, exchange, is_modern, requests, method, cancels, deliveries }
    }

    /// Cancels a request of a protocol version without sessions, by closing its connection.
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
                    if outgoing.exchange.is_open() {
                        continue;
                    }
                    if outgoing.deliveries.load(Ordering::SeqCst) > 0 {
                        // It may be the answer to another request of a batch, and after it nothing else is waited for.
                        break sending.await;
                    }
                    // Dropping the exchange closes its connection.
                    break Err(Failure::Overdue(outgoing.exchange.timeout().unwrap_or_default()));
                }
            }
        };
        let ended = Failure::Ended("the server's response ended".into());
        let failure = outcome.as_ref().err();
        if let Some(failure) = failure.filter(|_| outgoing.requests.is_empty()) {
            (self.log)(&format!("{} was not accepted: {}", outgoing.method, failure.reason()));
        }
        let failure = failure.unwrap_or(&ended);
        for answer in outgoing.exchange.fail(failure) {
            self.deliver(ForClient { message: answer.into(), is_outage: failure.is_outage() }).await;
        }
        let mut session = self.session();
        for id in &outgoing.requests {
            session.open.remove(id);
        }
    }

    /// Answers requests in place of the server. In a session, also tells the server that no client waits for them.
    async fn give_up(&self, overdue: Vec<Overdue>, outgoing: &Outgoing) {
        for late in overdue {
            self.deliver(ForClient { message: late.answer.into(), is_outage: !late.was_answered }).await;
            if let Some(cancel) = late.cancel.filter(|_| !outgoing.is_modern) {
                self.remote.send_cancel(outgoing.headers.clone(), cancel);
            }
        }
    }

    async fn try_post(&self, outgoing: &Outgoing) -> Result<(), Failure> {
        let mut headers = outgoing.headers.clone();
        let post = |headers| self.remote.send(Method::POST, headers, outgoing.body.clone());
        let response = post(headers.clone()).await.map_err(|error| error.failure())?;
        let may_be_forgotten =
            response.status() == StatusCode::NOT_FOUND && headers.contains_key(SESSION_HEADER);
        let taken = self.take_response(response, outgoing).await;
        if !may_be_forgotten || !matches!(taken, Err(Failure::Refused(_))) {
            return taken;
        }
        // The server has refused the message without looking at it, so it may be sent again.
        self.initialize_again().await.map_err(Failure::Refused)?;
        put(&mut headers, SESSION_HEADER, self.session().id.as_ref());
        let response = post(headers).await.map_err(|error| error.failure())?;
        self.take_response(response, outgoing).await
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
        let not_it = || Err(Failure::Answered("with a message that does not answer it".into()));
        let message = match received {
            Received::Message(Message::Memory(body)) => ParsedLine::parse(body),
            large => {
                self.take_received(outgoing, large).await;
                return not_it();
            }
        };
        if outgoing.is_answered_by(&message) {
            self.forward(outgoing, message.into()).await;
            return not_it();
        }
        if parts.status.is_success() {
            self.forward(outgoing, message.into()).await;
            return Err(no_answer(&parts));
        }
        let said = error_message(&message);
        let said = said.map(|said| visible_text(&said.chars().take(MAX_SAID_CHARS).collect::<String>()));
        Err(error_status(parts.status, said.as_deref()))
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
        let _of_all = DeliveryGuard::begin(&self.deliveries);
        let _of_message = DeliveryGuard::begin(&outgoing.deliveries);
        self.send(from_server(&outgoing.exchange, message).await).await;
    }

    /// Sends what a link returned to the client, and logs what it dropped.
    async fn send(&self, outcome: ServerOutcome) {
        outcome.dropped.iter().for_each(|reason| (self.log)(reason));
        if let Some(message) = outcome.forward {
            self.deliver(message).await;
        }
    }

    /// Sends a message to the task that writes to the client.
    async fn deliver(&self, message: impl Into<ForClient>) {
        let _delivery = DeliveryGuard::begin(&self.deliveries);
        // A client that is gone needs no message.
        let _ = self.out.send(message.into()).await;
    }

    /// Remembers what later requests need of a response.
    fn learn(&self, outgoing: &Outgoing, message: &ServerMessage) {
        let Some(bytes) = message.message.as_bytes() else { return };
        if outgoing.method == "tools/list" {
            self.remote.header_arguments().learn(bytes);
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
        let answered = self.read_answer(response);
        if tokio::time::timeout(MAX_INITIALIZE_TIME, answered).await.is_err() {
            return Err("the server dropped the session and did not answer a new initialize".into());
        }
        self.session().id.clone_from(&session);
        put(&mut headers, SESSION_HEADER, session.as_ref());
        put(&mut headers, VERSION_HEADER, self.session().version.as_ref());
        let initialized = Bytes::from_static(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        let sent = self.remote.send(Method::POST, headers, initialized).await;
        (self.log)("the server dropped the session; initialized a new one");
        sent.map(drop).map_err(|error| causes(&error))
    }

    pub(super) async fn end_session(&self) {
        let headers = self.listening_headers();
        if headers.contains_key(SESSION_HEADER) {
            let ended = self.remote.send(Method::DELETE, headers, Bytes::new());
            // A server that does not answer will drop the session by itself.
            let _ = tokio::time::timeout(MAX_GOODBYE_TIME, ended).await;
        }
    }
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
