//! HTTP in front of a server on stdio: one server for each legacy session, and one that all modern requests share.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use hyper::body::Incoming;
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, StatusCode};
use tidegate_gate::{RpcError, error_response};
use tokio::sync::{mpsc, watch};

use super::body::{Body, full, stream};
use super::exchange::{self, answer, failure};
use super::headers::Parameters;
use super::modern::{SESSION_HEADER, VERSION_HEADER, is_modern};
use super::peer::{Peer, sink};
use super::respond;
use super::session::{LISTENING, Session, event_id};
use crate::held::Message;
use crate::link::Link;
use crate::message::{Envelope, Kind, messages};

/// Sessions at once; each has a server of its own.
const SESSIONS: usize = 256;
/// How long a server may take to list its tools when we ask.
const LISTED: Duration = Duration::from_secs(5);
/// The revision since which the first event of a stream may be without data.
const PRIMING: &[u8] = b"2025-11-25";
/// Pages of a list of tools that are asked for.
const LIST_PAGES: usize = 16;
/// How long a session may be idle.
const IDLE: Duration = Duration::from_secs(30 * 60);
/// Revisions with sessions.
const LEGACY: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// A front for a server on stdio.
pub struct Bridge {
    program: PathBuf,
    command: Vec<OsString>,
    link: Box<dyn Fn() -> Link + Send + Sync>,
    log: Arc<dyn Fn(&str) + Send + Sync>,
    sessions: Mutex<HashMap<String, Arc<Session>>>,
    shared: tokio::sync::Mutex<Option<Arc<Peer>>>,
    /// What tools want repeated in headers, once it was asked.
    parameters: tokio::sync::OnceCell<Parameters>,
    ticking: OnceLock<watch::Receiver<()>>,
}

type Answer = Result<Response<Body>, Box<Response<Body>>>;

fn refuse<T>(status: StatusCode, message: &str) -> Result<T, Box<Response<Body>>> {
    Err(Box::new(failure(status, -32600, message)))
}

impl Bridge {
    /// Returns a front for a command; `program` is our own, to start the guard of a server with.
    pub fn new(
        program: PathBuf,
        command: Vec<OsString>,
        link: impl Fn() -> Link + Send + Sync + 'static,
        log: impl Fn(&str) + Send + Sync + 'static,
    ) -> Self {
        Self {
            program,
            command,
            link: Box::new(link),
            log: Arc::new(log),
            sessions: Mutex::default(),
            shared: tokio::sync::Mutex::default(),
            parameters: tokio::sync::OnceCell::new(),
            ticking: OnceLock::new(),
        }
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<String, Arc<Session>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers a request.
    pub(super) async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Response<Body> {
        let (parts, body) = request.into_parts();
        let modern = is_modern(&parts.headers);
        let answered = match (&parts.method, modern) {
            (&Method::POST, true) => self.modern(parts, body).await,
            (&Method::POST, false) => self.legacy(parts, body).await,
            (_, true) => Ok(respond::not_allowed()),
            (&Method::GET, false) => self.listen(&parts.headers),
            _ => self.delete(&parts.headers),
        };
        answered.unwrap_or_else(|refused| *refused)
    }

    /// Ends all servers.
    pub(super) async fn end(&self) {
        self.sessions().drain().for_each(|(_, session)| session.peer.end());
        if let Some(peer) = self.shared.lock().await.take() {
            peer.end();
        }
    }

    /// Ends the sessions whose client has not been there for long.
    pub(super) fn expire(&self) {
        let now = Instant::now();
        self.sessions().retain(|_, session| {
            let idle = session.idle_since().is_some_and(|since| now.duration_since(since) > IDLE);
            if idle || session.peer.has_ended() {
                session.peer.end();
            }
            !idle && !session.peer.has_ended()
        });
    }

    async fn modern(&self, parts: Parts, body: Incoming) -> Answer {
        accepts(&parts.headers, &["application/json", "text/event-stream"])?;
        let (body, kind) = read_message(body).await?;
        match kind {
            // The end of a connection cancels; there is nothing else a client has to tell.
            Kind::Notification => return Ok(respond::accepted()),
            Kind::Request => {}
            _ => return refuse(StatusCode::BAD_REQUEST, "only requests and notifications are possible"),
        }
        exchange::check_modern(&parts.headers, &body)?;
        if is_greeting(&body) {
            // It would make a session of the server that all share.
            let id = messages(&body).and_then(|places| Envelope::read(&body, places.first()?)?.id);
            let error = RpcError {
                code: -32601,
                message: "there are no sessions in this revision; send server/discover".into(),
            };
            let answer = error_response(id.map_or(b"null", |id| &body[id]), &error);
            return Ok(exchange::json(StatusCode::NOT_FOUND, answer));
        }
        let link = Arc::new((self.link)());
        let from = link.from_client(body);
        if !from.orders.is_empty() {
            return Ok(answer(&link, from.orders, false, true).await);
        }
        let peer = self.shared().await?;
        self.check_parameters(&peer, &parts.headers, from.forward.as_deref().unwrap_or_default()).await?;
        let (sink, heard) = sink();
        let numbers = peer.send(&link, from.forward.unwrap_or_default(), &sink).await;
        drop(sink);
        Ok(respond::modern(peer, numbers, heard, self.ticks()).await)
    }

    /// Checks the arguments that the called tool wants repeated in headers.
    async fn check_parameters(
        &self,
        peer: &Arc<Peer>,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Result<(), Box<Response<Body>>> {
        let envelope = messages(body).and_then(|places| Envelope::read(body, places.first()?));
        let Some(envelope) = envelope.filter(|envelope| envelope.method.as_deref() == Some("tools/call"))
        else {
            return Ok(());
        };
        let Some(params) = envelope.params else { return Ok(()) };
        let known = self.parameters.get_or_init(|| self.ask_parameters(peer)).await;
        known.check(headers, body, &params).map_err(|error| {
            let id = envelope.id.map_or(&b"null"[..], |id| &body[id]);
            Box::new(exchange::json(StatusCode::BAD_REQUEST, error_response(id, &error)))
        })
    }

    /// Asks the server which arguments its tools want repeated in headers.
    async fn ask_parameters(&self, peer: &Arc<Peer>) -> Parameters {
        let mut known = Parameters::default();
        let mut cursor = String::new();
        for _ in 0..LIST_PAGES {
            let ask = format!(
                r#"{{"jsonrpc":"2.0","id":0,"method":"tools/list","params":{{{cursor}"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
            );
            let link = Arc::new((self.link)().observing());
            let from = link.from_client(ask.into_bytes());
            let (sink, mut heard) = sink();
            peer.send(&link, from.forward.unwrap_or_default(), &sink).await;
            drop(sink);
            // A server that does not list its tools must not hold up the calls of them.
            let Ok(Some(said)) = tokio::time::timeout(LISTED, heard.recv()).await else { break };
            let Some(line) = said.message.as_bytes() else { break };
            known.learn(line);
            let next = tidegate_gate::raw::whole(line)
                .and_then(|whole| tidegate_gate::raw::at(line, &whole, &["result", "nextCursor"]));
            match next {
                Some(next) => cursor = format!("\"cursor\":{},", String::from_utf8_lossy(&line[next])),
                None => break,
            }
        }
        known
    }

    /// Returns what changes every few seconds.
    fn ticks(&self) -> watch::Receiver<()> {
        let ticking = self.ticking.get_or_init(|| {
            let (sender, ticks) = watch::channel(());
            tokio::spawn(async move {
                while !sender.is_closed() {
                    tokio::time::sleep(respond::TICK).await;
                    let _ = sender.send(());
                }
            });
            ticks
        });
        ticking.clone()
    }

    async fn shared(&self) -> Result<Arc<Peer>, Box<Response<Body>>> {
        let mut shared = self.shared.lock().await;
        if let Some(peer) = shared.as_ref().filter(|peer| !peer.has_ended()) {
            return Ok(Arc::clone(peer));
        }
        let (other, mut heard) = mpsc::unbounded_channel();
        let peer = self.start(other)?;
        // What is said to nobody in particular has nobody to go to: every request stands alone.
        let log = Arc::clone(&self.log);
        tokio::spawn(async move {
            while heard.recv().await.is_some() {
                log("a message of the server's that names no request was left out: its clients share it");
            }
        });
        *shared = Some(Arc::clone(&peer));
        Ok(peer)
    }

    fn start(&self, other: mpsc::UnboundedSender<Message>) -> Result<Arc<Peer>, Box<Response<Body>>> {
        let (limits, log) = ((self.link)().limits(), Arc::clone(&self.log));
        Peer::start(&self.program, &self.command, limits, other, log).map_err(|error| {
            Box::new(failure(
                StatusCode::BAD_GATEWAY,
                -32000,
                &format!("the server cannot be started: {error}"),
            ))
        })
    }

    async fn legacy(&self, parts: Parts, body: Incoming) -> Answer {
        accepts(&parts.headers, &["application/json", "text/event-stream"])?;
        let content = parts.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if content.split(';').next().map(str::trim) != Some("application/json") {
            return refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, "the Content-Type must be application/json");
        }
        let (body, kind) = read_message(body).await?;
        let greeting = kind == Kind::Request && is_greeting(&body);
        let session = if greeting { self.begin()? } else { self.session(&parts.headers)? };
        let batch = body.trim_ascii_start().first() == Some(&b'[');
        let exchange = Arc::new(session.link.exchange());
        let from = exchange.from_client(body);
        if from.forward.is_none() && !from.orders.is_empty() {
            return Ok(answer(&exchange, from.orders, batch, false).await);
        }
        let (sink, heard) = sink();
        let number = session.begin();
        let numbers = session.peer.send(&exchange, from.forward.unwrap_or_default(), &sink).await;
        drop(sink);
        if numbers.is_empty() {
            session.forget(number);
            return Ok(respond::accepted());
        }
        // Earlier revisions do not know events without data.
        let primes = parts.headers.get(VERSION_HEADER).is_some_and(|version| version.as_bytes() >= PRIMING);
        Ok(respond::legacy(session, number, numbers.len(), heard, batch, primes).await)
    }

    fn begin(&self) -> Result<Arc<Session>, Box<Response<Body>>> {
        if self.sessions().len() >= SESSIONS {
            self.expire();
        }
        if self.sessions().len() >= SESSIONS {
            return refuse(
                StatusCode::SERVICE_UNAVAILABLE,
                "too many sessions at once; end some, or try later",
            );
        }
        let (other, mut heard) = mpsc::unbounded_channel();
        let peer = self.start(other)?;
        let link = Arc::new((self.link)());
        let session = Arc::new(Session::new(random_id(), link, peer));
        self.sessions().insert(session.id.clone(), Arc::clone(&session));
        let listener = Arc::clone(&session);
        tokio::spawn(async move {
            while let Some(message) = heard.recv().await {
                if let Some(message) = exchange::from_server(&listener.link, message).await {
                    listener.put_other(message);
                }
            }
        });
        Ok(session)
    }

    fn session(&self, headers: &HeaderMap) -> Result<Arc<Session>, Box<Response<Body>>> {
        let Some(id) = headers.get(SESSION_HEADER).and_then(|id| id.to_str().ok()) else {
            return refuse(
                StatusCode::BAD_REQUEST,
                "the session is missing: send initialize, then Mcp-Session-Id",
            );
        };
        let Some(session) = self.sessions().get(id).cloned() else {
            return refuse(StatusCode::NOT_FOUND, "there is no such session, or no longer; send initialize");
        };
        let version = headers.get(VERSION_HEADER).map(HeaderValue::as_bytes);
        if version.is_some_and(|version| !LEGACY.iter().any(|known| known.as_bytes() == version)) {
            return refuse(StatusCode::BAD_REQUEST, "this MCP-Protocol-Version is not known");
        }
        session.touch();
        Ok(session)
    }

    fn listen(&self, headers: &HeaderMap) -> Answer {
        accepts(headers, &["text/event-stream"])?;
        let session = self.session(headers)?;
        let after = headers.get("last-event-id").and_then(|id| id.to_str().ok()).map(event_id);
        let (number, after) = match after {
            None => (LISTENING, None),
            Some(Some((number, event))) => (number, Some(event)),
            Some(None) => return refuse(StatusCode::BAD_REQUEST, "this Last-Event-ID is none of ours"),
        };
        let (sender, body) = stream();
        if !session.connect(number, after, &sender) {
            return refuse(StatusCode::CONFLICT, "somebody listens on this stream already");
        }
        Ok(respond::events(&session.id, body))
    }

    fn delete(&self, headers: &HeaderMap) -> Answer {
        let session = self.session(headers)?;
        self.sessions().remove(&session.id);
        session.peer.end();
        let mut response = Response::new(full(""));
        *response.status_mut() = StatusCode::OK;
        Ok(response)
    }
}

/// Whether the client takes what it may be answered with.
fn accepts(headers: &HeaderMap, kinds: &[&str]) -> Result<(), Box<Response<Body>>> {
    let accept =
        headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).collect::<Vec<_>>().join(",");
    let takes = |kind: &str| {
        let main = kind.split('/').next().unwrap_or_default();
        accept
            .split(',')
            .map(|part| part.split(';').next().unwrap_or_default().trim())
            .any(|part| part == kind || part == "*/*" || part == format!("{main}/*"))
    };
    match kinds.iter().all(|kind| takes(kind)) {
        true => Ok(()),
        false => {
            refuse(StatusCode::NOT_ACCEPTABLE, "Accept must name application/json and text/event-stream")
        }
    }
}

async fn read_message(body: Incoming) -> Result<(Vec<u8>, Kind), Box<Response<Body>>> {
    let body = exchange::read(body).await?;
    match kind_of(&body) {
        Some(kind) => Ok((body, kind)),
        None => Err(Box::new(failure(StatusCode::BAD_REQUEST, -32700, "the body is not a JSON-RPC message"))),
    }
}

fn kind_of(body: &[u8]) -> Option<Kind> {
    let whole = tidegate_gate::raw::whole(body)?;
    match body[whole.start] {
        b'[' => messages(body).filter(|places| !places.is_empty()).map(|_| Kind::Request),
        _ => Some(Envelope::read(body, &whole)?.kind()).filter(|kind| *kind != Kind::Other),
    }
}

fn is_greeting(body: &[u8]) -> bool {
    let places = messages(body).unwrap_or_default();
    places.iter().any(|place| {
        Envelope::read(body, place).is_some_and(|envelope| envelope.method.as_deref() == Some("initialize"))
    })
}

fn random_id() -> String {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).expect("the system gives random bytes");
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
