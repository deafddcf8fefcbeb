//! HTTP clients in front of a server on stdio: one server process for each legacy session, and one that all modern
//! requests share.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use hyper::header::{CONTENT_TYPE, HeaderMap};
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode};
use tidegate_gate::raw;
use tokio::sync::{mpsc, watch};

use super::body::Body;
use super::clients::Clients;
use super::exchange::{self, Refusal, accepts, answer, failure, parse_message, refuse};
use super::headers::HeaderArguments;
use super::legacy;
use super::modern::{SESSION_HEADER, is_modern};
use super::respond;
use super::session::Session;
use super::shared_server::{
    DeliverySender, Environment, Log, ServerCommand, SharedServer, deliver, deliveries, response,
};
use crate::link::{Link, LocalRequest, OwnWork, ResolveJob, ServerMessage};
use crate::message::{MessageKind, ParsedLine};

/// How many sessions there may be at once; each has a server process of its own.
const MAX_SESSIONS: usize = 256;
/// How long a server may take to list its tools when tidegate asks.
const LIST_TIMEOUT: Duration = Duration::from_secs(5);
/// How many pages of a list of tools tidegate asks for.
const MAX_LIST_PAGES: usize = 16;

/// A front for a server on stdio.
pub struct HttpToStdio {
    command: ServerCommand,
    /// Makes the conversation with a new client.
    link: Box<dyn Fn() -> Link + Send + Sync>,
    clients: Clients,
    log: Log,
    sessions: Mutex<HashMap<String, Arc<Session>>>,
    /// The server of all modern requests.
    shared: tokio::sync::Mutex<Option<Arc<SharedServer>>>,
    /// The arguments that tools want repeated in headers, once the server was asked.
    header_arguments: tokio::sync::OnceCell<HeaderArguments>,
    ticks: OnceLock<watch::Receiver<()>>,
}

pub(super) type Answer = Result<Response<Body>, Refusal>;

impl HttpToStdio {
    /// Returns a front for a command; `program` is tidegate itself, which starts the guard of a server.
    pub fn new(
        program: PathBuf,
        command: Vec<OsString>,
        link: impl Fn() -> Link + Send + Sync + 'static,
        log: impl Fn(&str) + Send + Sync + 'static,
    ) -> Self {
        Self {
            command: ServerCommand { program, command, environment: Environment::default(), stderr: None },
            link: Box::new(link),
            clients: Clients::Unknown,
            log: Arc::new(log),
            sessions: Mutex::default(),
            shared: tokio::sync::Mutex::default(),
            header_arguments: tokio::sync::OnceCell::new(),
            ticks: OnceLock::new(),
        }
    }

    /// Returns the front with an environment variable of tidegate's own, such as a token, that the server must not see.
    #[must_use]
    pub fn hiding_variable(mut self, name: impl Into<String>) -> Self {
        self.command.environment.hidden.push(name.into());
        self
    }

    /// Returns the front end, with the way in which it distinguishes clients.
    #[must_use]
    pub fn for_clients(self, clients: Clients) -> Self {
        Self { clients, ..self }
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<String, Arc<Session>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers a request.
    pub(super) async fn answer(self: Arc<Self>, parts: Parts, body: Vec<u8>) -> Response<Body> {
        let answered = match (&parts.method, is_modern(&parts.headers)) {
            (&Method::POST, true) => self.answer_modern(parts, body).await,
            (&Method::POST, false) => self.answer_legacy(parts, body).await,
            (_, true) => Ok(respond::not_allowed()),
            (&Method::GET, false) => self.listen(&parts.headers),
            _ => self.delete(&parts.headers),
        };
        answered.unwrap_or_else(|refusal| *refusal)
    }

    /// Returns the conversation of a client that follows a link; `None` if it names a session that does not exist.
    pub(super) fn follower(&self, headers: &HeaderMap) -> Option<Arc<Link>> {
        if headers.contains_key(SESSION_HEADER) && !is_modern(headers) {
            return self.session(headers).ok().map(|session| Arc::clone(&session.link));
        }
        Some(Arc::new((self.link)().of_principal(self.clients.principal(headers, None))))
    }

    /// Ends all servers.
    pub(super) async fn end(&self) {
        self.sessions().drain().for_each(|(_, session)| session.server.end());
        if let Some(server) = self.shared.lock().await.take() {
            server.end();
        }
    }

    /// Ends the sessions that have been idle for too long.
    pub(super) fn expire(&self) {
        let now = Instant::now();
        self.sessions().retain(|_, session| {
            let is_over = session.is_idle(now) || session.server.has_ended();
            if is_over {
                session.server.end();
            }
            !is_over
        });
    }

    async fn answer_modern(&self, parts: Parts, body: Vec<u8>) -> Answer {
        let Some(message) = exchange::modern_request(&parts.headers, body)? else {
            return Ok(respond::accepted());
        };
        let link = (self.link)().of_principal(self.clients.principal(&parts.headers, None));
        let link = Arc::new(link.reached_at(exchange::link_base(&parts)));
        link.count_by_principal();
        let (mut forward, mut own) = link.parsed_from_client(message);
        if !own.requests.is_empty() {
            return Ok(answer(&link, own.requests, false, true).await);
        }
        let server = self.shared_server().await?;
        let call = own.calls.pop();
        // The headers repeat the arguments as the client wrote them.
        if let Some(message) = call.as_ref().map(ResolveJob::message).or(forward.as_ref()) {
            self.check_header_arguments(&server, &parts.headers, message).await?;
        }
        if let Some(call) = call {
            forward = Some(exchange::resolve_only(&link, call).await?);
        }
        let (sender, receiver) = deliveries();
        let numbers = server.send(&link, forward, &sender);
        drop(sender);
        Ok(respond::modern(move || server.abandon(&numbers), receiver, self.ticks()).await)
    }

    /// Checks the arguments that the called tool wants repeated in headers.
    async fn check_header_arguments(
        &self,
        server: &Arc<SharedServer>,
        headers: &HeaderMap,
        message: &ParsedLine,
    ) -> Result<(), Refusal> {
        if message.first().is_none_or(|head| head.method() != "tools/call") {
            return Ok(());
        }
        let known = self.header_arguments.get_or_init(|| self.ask_header_arguments(server)).await;
        exchange::check_header_arguments(known, headers, message)
    }

    /// Asks the server which arguments its tools want repeated in headers.
    async fn ask_header_arguments(&self, server: &Arc<SharedServer>) -> HeaderArguments {
        let mut known = HeaderArguments::default();
        let mut cursor = String::new();
        for _ in 0..MAX_LIST_PAGES {
            let ask = format!(
                r#"{{"jsonrpc":"2.0","id":0,"method":"tools/list","params":{{{cursor}"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
            );
            let link = Arc::new((self.link)().observing());
            let (forward, _) = link.parsed_from_client(ParsedLine::parse(ask.into_bytes()));
            let (sender, mut receiver) = deliveries();
            let patience = link.timeout().map_or(LIST_TIMEOUT, |timeout| timeout.min(LIST_TIMEOUT));
            server.send(&link, forward, &sender);
            drop(sender);
            // A server that does not list its tools must not hold up the calls of them.
            let Ok(Some(delivery)) = tokio::time::timeout(patience, receiver.recv()).await else { break };
            let Some(line) = delivery.message.as_bytes() else { break };
            known.learn(line);
            match raw::whole(line).and_then(|whole| raw::at(line, &whole, &["result", "nextCursor"])) {
                Some(next) => cursor = format!("\"cursor\":{},", String::from_utf8_lossy(&line[next])),
                None => break,
            }
        }
        known
    }

    /// Returns a clock that ticks every few seconds, shared by all requests.
    fn ticks(&self) -> watch::Receiver<()> {
        self.ticks.get_or_init(respond::ticks).clone()
    }

    async fn shared_server(&self) -> Result<Arc<SharedServer>, Refusal> {
        let mut shared = self.shared.lock().await;
        if let Some(server) = shared.as_ref().filter(|server| !server.has_ended()) {
            return Ok(Arc::clone(server));
        }
        let (unrouted, mut messages) = mpsc::unbounded_channel();
        let server = self.start(unrouted)?;
        // Every request stands alone, so there is no client to send such a message to.
        let log = Arc::clone(&self.log);
        tokio::spawn(async move {
            while messages.recv().await.is_some() {
                log(
                    "dropped a message of the server that belongs to no request: its clients share the server",
                );
            }
        });
        *shared = Some(Arc::clone(&server));
        Ok(server)
    }

    fn start(&self, unrouted: mpsc::UnboundedSender<ServerMessage>) -> Result<Arc<SharedServer>, Refusal> {
        let (link, log) = ((self.link)(), Arc::clone(&self.log));
        SharedServer::start(&self.command, link.limits(), link.timeout(), unrouted, log).map_err(|error| {
            let message = format!("the server cannot be started: {error}");
            Box::new(failure(StatusCode::BAD_GATEWAY, -32000, &message))
        })
    }

    async fn answer_legacy(&self, parts: Parts, body: Vec<u8>) -> Answer {
        accepts(&parts.headers, &["application/json", "text/event-stream"])?;
        let content = parts.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if content.split(';').next().map(str::trim) != Some("application/json") {
            return refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, "the Content-Type must be application/json");
        }
        let (message, kind) = parse_message(body)?;
        let begins = kind == MessageKind::Request && is_initialize(&message);
        let session = if begins { self.begin()? } else { self.session(&parts.headers)? };
        let is_batch = message.is_batch();
        let exchange = Arc::new(session.link.exchange().reached_at(exchange::link_base(&parts)));
        let (forward, OwnWork { requests, calls }) = exchange.parsed_from_client(message);
        if forward.is_none() && calls.is_empty() && !requests.is_empty() {
            return Ok(answer(&exchange, requests, is_batch, false).await);
        }
        let (sender, receiver) = deliveries();
        let stream = session.begin();
        let sent = session.server.send(&exchange, forward, &sender).len();
        let open = requests.len() + calls.len() + sent;
        let (called, reached, answers) = (Arc::clone(&session), Arc::clone(&exchange), sender.clone());
        exchange::resolve_all(&exchange, calls, &sender, move |message| {
            called.server.send(&reached, Some(message), &answers);
        });
        deliver_local_answers(&exchange, requests, sender);
        if open == 0 {
            session.forget(stream);
            return Ok(respond::accepted());
        }
        let takes_empty_events = legacy::takes_empty_events(&parts.headers);
        Ok(respond::legacy(session, stream, open, receiver, is_batch, takes_empty_events).await)
    }

    fn begin(&self) -> Result<Arc<Session>, Refusal> {
        if self.sessions().len() >= MAX_SESSIONS {
            self.expire();
        }
        if self.sessions().len() >= MAX_SESSIONS {
            return refuse(
                StatusCode::SERVICE_UNAVAILABLE,
                "too many sessions at once; end some, or try later",
            );
        }
        let (unrouted, messages) = mpsc::unbounded_channel();
        let server = self.start(unrouted)?;
        let id = random_id();
        let link = (self.link)().of_principal(self.clients.principal(&HeaderMap::new(), Some(&id)));
        let session = Arc::new(Session::new(id, Arc::new(link), server));
        self.sessions().insert(session.id.clone(), Arc::clone(&session));
        tokio::spawn(Arc::clone(&session).forward_unrouted(messages, Arc::clone(&self.log)));
        Ok(session)
    }

    fn session(&self, headers: &HeaderMap) -> Result<Arc<Session>, Refusal> {
        let id = legacy::session_id(headers)?;
        let Some(session) = self.sessions().get(id).cloned() else {
            return legacy::unknown_session();
        };
        legacy::check_version(headers)?;
        session.touch();
        Ok(session)
    }

    fn listen(&self, headers: &HeaderMap) -> Answer {
        accepts(headers, &["text/event-stream"])?;
        let session = self.session(headers)?;
        legacy::listen(&session, headers)
    }

    fn delete(&self, headers: &HeaderMap) -> Answer {
        let session = self.session(headers)?;
        self.sessions().remove(&session.id);
        session.server.end();
        Ok(legacy::ended())
    }
}

/// Answers the local requests of a batch, whose other requests go to the server.
pub(super) fn deliver_local_answers(
    exchange: &Arc<Link>,
    requests: Vec<LocalRequest>,
    deliveries: DeliverySender,
) {
    if !requests.is_empty() {
        let exchange = Arc::clone(exchange);
        tokio::task::spawn_blocking(move || {
            for request in requests {
                deliver(&deliveries, response(exchange.answer_locally(&request).into(), None));
            }
        });
    }
}

pub(super) fn is_initialize(message: &ParsedLine) -> bool {
    message.heads().iter().any(|head| head.method() == "initialize")
}

pub(super) fn random_id() -> String {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).expect("the system gives random bytes");
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
