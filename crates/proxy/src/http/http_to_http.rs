//! The proxy between HTTP clients and an HTTP server: requests and responses are forwarded with their headers, status
//! and events, and nothing changes except what the gate edits.
//!
//! A request of the client has an answer when its deadline has passed, whether the server sends no headers, half a body or
//! events without end. A response that is an error of HTTP is an answer too, and is forwarded as it is.

mod events;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, COOKIE, HOST, HeaderMap,
    HeaderValue, ORIGIN,
};
use hyper::http::{request, response};
use hyper::{Method, Response, StatusCode};

use super::body::{Body, full, stream, whole};
use super::body_kind::{BodyKind, body_kind, no_answer, without_hop_headers};
use super::exchange::{self, answer, failure, from_server, json_answers};
use super::modern::{SESSION_HEADER, is_modern};
use super::remote::Remote;
use crate::link::{Failure, Link, LocalRequest, Overdue};
use crate::message::ParsedLine;
use crate::spool::{Message, Received};

/// The maximum number of sessions remembered; when one is forgotten, only its client's name is lost.
const MAX_SESSIONS: usize = 10_000;
/// How long the server may take to accept a cancellation.
const MAX_CANCEL_TIME: Duration = Duration::from_secs(10);

/// The proxy in front of an HTTP server.
pub struct HttpToHttp {
    remote: Arc<Remote>,
    /// Creates the link for a new client.
    link: Box<dyn Fn() -> Link + Send + Sync>,
    sessions: Mutex<HashMap<String, Arc<Link>>>,
    /// Whether the `Authorization` header of clients is forwarded.
    forward_auth: bool,
}

/// A request of a client that was sent to the server.
struct Forwarded {
    remote: Arc<Remote>,
    exchange: Arc<Link>,
    /// The conversation that the exchange belongs to.
    link: Arc<Link>,
    session: Option<String>,
    method: Method,
    headers: HeaderMap,
    is_modern: bool,
    is_batch: bool,
    /// Answers to the requests of a batch that tidegate answers itself.
    local_answers: Vec<Vec<u8>>,
}

impl HttpToHttp {
    /// Returns the proxy for a server; `link` creates the link for a new client.
    pub fn new(remote: Remote, forward_auth: bool, link: impl Fn() -> Link + Send + Sync + 'static) -> Self {
        Self { remote: Arc::new(remote), link: Box::new(link), sessions: Mutex::default(), forward_auth }
    }

    /// Answers a request.
    pub(super) async fn answer(self: Arc<Self>, parts: request::Parts, body: Vec<u8>) -> Response<Body> {
        let is_modern = is_modern(&parts.headers);
        let session = parts.headers.get(SESSION_HEADER).and_then(|id| id.to_str().ok()).map(str::to_owned);
        let link = self.link_of(session.as_deref());
        let exchange = link.exchange();
        let exchange = Arc::new(if session.is_some() { exchange } else { exchange.without_session() });
        if parts.method == Method::GET {
            // Responses whose own channel has ended arrive here.
            exchange.adopt(&link);
        }
        let (mut forward, mut is_batch, mut local_answers) = (Bytes::new(), false, Vec::new());
        if parts.method == Method::POST {
            let message = ParsedLine::parse(body);
            is_batch = message.is_batch();
            let checked = match is_modern {
                true => exchange::check_modern(&parts.headers, &message.bytes, message.first()),
                false => Ok(()),
            };
            let (message, local) = exchange.parsed_from_client(message);
            if !local.is_empty() && message.is_none() {
                return match checked {
                    Err(refusal) => *refusal,
                    Ok(()) => answer(&exchange, local, is_batch, is_modern).await,
                };
            }
            local_answers = answer_locally(&exchange, local).await;
            forward = message.map_or_else(Bytes::new, |message| message.bytes.into());
        }
        let headers = self.request_headers(parts.headers);
        let forwarded = Forwarded {
            remote: Arc::clone(&self.remote),
            exchange,
            link,
            session,
            method: parts.method.clone(),
            headers: headers.clone(),
            is_modern,
            is_batch,
            local_answers,
        };
        let sent = self.remote.send(parts.method, headers, forward);
        match forwarded.in_time(sent).await {
            Ok(Ok(response)) => self.respond(response, forwarded).await,
            Ok(Err(error)) => forwarded.fail(&error.failure()),
            Err(late) => late,
        }
    }

    /// Returns the conversation of a session, or a new one.
    fn link_of(&self, session: Option<&str>) -> Arc<Link> {
        let sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let known = session.and_then(|id| sessions.get(id)).cloned();
        known.unwrap_or_else(|| Arc::new((self.link)()))
    }

    fn request_headers(&self, headers: HeaderMap) -> HeaderMap {
        let mut headers = without_hop_headers(headers);
        for name in [HOST, ORIGIN, COOKIE, CONTENT_LENGTH, ACCEPT_ENCODING] {
            headers.remove(name);
        }
        if !self.forward_auth {
            headers.remove(AUTHORIZATION);
        }
        headers
    }

    async fn respond(&self, response: Response<Incoming>, forwarded: Forwarded) -> Response<Body> {
        let (mut parts, body) = response.into_parts();
        parts.headers = without_hop_headers(std::mem::take(&mut parts.headers));
        self.remember(&parts, &forwarded);
        let is_answer_due = parts.status.is_success() && forwarded.exchange.is_open();
        match body_kind(&self.remote, parts.status, &parts.headers) {
            Err(failure) => forwarded.replace(parts, &failure),
            Ok(BodyKind::Events) => {
                parts.headers.remove(CONTENT_LENGTH);
                let (sender, out) = stream();
                tokio::spawn(forwarded.relay_events(body, sender));
                Response::from_parts(parts, out)
            }
            Ok(BodyKind::Json) => forwarded.relay_json(parts, body).await,
            Ok(BodyKind::Other) if is_answer_due && forwarded.method == Method::POST => {
                forwarded.fail(&no_answer(&parts))
            }
            Ok(BodyKind::Other) => {
                let out = body.map_err(std::io::Error::other).boxed_unsync();
                Response::from_parts(parts, out)
            }
        }
    }

    fn remember(&self, parts: &response::Parts, forwarded: &Forwarded) {
        let has_ended = forwarded.method == Method::DELETE && parts.status.is_success();
        let given = parts.headers.get(SESSION_HEADER).and_then(|id| id.to_str().ok());
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if has_ended {
            forwarded.session.as_ref().map(|id| sessions.remove(id));
        } else if let Some(id) = given.filter(|id| !sessions.contains_key(*id)) {
            if sessions.len() >= MAX_SESSIONS {
                sessions.clear();
            }
            sessions.insert(id.to_owned(), Arc::clone(&forwarded.link));
        }
    }
}

impl Forwarded {
    /// Waits for a part of the response; returns the response to send instead if the server takes too long.
    async fn in_time<T>(&self, part: impl Future<Output = T>) -> Result<T, Response<Body>> {
        let is_waited_for = self.method == Method::POST && self.exchange.is_open();
        let deadline = async {
            match (is_waited_for, self.exchange.timeout()) {
                (_, None) => std::future::pending().await,
                (true, Some(_)) => self.exchange.wait_for_overdue().await,
                (false, Some(timeout)) => {
                    tokio::time::sleep(timeout).await;
                    Vec::new()
                }
            }
        };
        tokio::select! {
            part = part => Ok(part),
            overdue = deadline => Err(self.late(overdue)),
        }
    }

    /// Returns the response in place of one that is late.
    fn late(&self, overdue: Vec<Overdue>) -> Response<Body> {
        let mut answers = self.local_answers.clone();
        answers.extend(overdue.iter().map(|overdue| overdue.answer.clone()));
        // Requests of one batch have the same deadline, but it may pass between two of them.
        let seconds = self.exchange.timeout().unwrap_or_default().as_secs_f64();
        let reason = Failure::Ended(format!("the server was silent for {seconds} s (--timeout)"));
        answers.extend(self.exchange.fail(&reason));
        self.cancel(overdue);
        match answers.as_slice() {
            [] => failure(StatusCode::GATEWAY_TIMEOUT, -32001, &reason.reason()),
            answers => json_answers(StatusCode::GATEWAY_TIMEOUT, answers, self.is_batch),
        }
    }

    /// Tells the server that nobody waits for some responses. Without a session, closing the connection tells it.
    fn cancel(&self, overdue: Vec<Overdue>) {
        if self.is_modern {
            return;
        }
        for cancel in overdue.into_iter().filter_map(|overdue| overdue.cancel) {
            let (remote, headers) = (Arc::clone(&self.remote), self.headers.clone());
            tokio::spawn(async move {
                let sent = remote.send(Method::POST, headers, cancel.into());
                let _ = tokio::time::timeout(MAX_CANCEL_TIME, sent).await;
            });
        }
    }

    /// Returns the response to a request that the server did not answer.
    fn fail(&self, failure: &Failure) -> Response<Body> {
        let mut answers = self.local_answers.clone();
        answers.extend(self.exchange.fail(failure));
        match answers.as_slice() {
            [] => exchange::failure(StatusCode::BAD_GATEWAY, -32000, &failure.reason()),
            answers => json_answers(StatusCode::BAD_GATEWAY, answers, self.is_batch),
        }
    }

    /// Returns a response whose body is replaced. If it is an error of HTTP, its status and headers stay.
    fn replace(&self, mut parts: response::Parts, failure: &Failure) -> Response<Body> {
        let instead = self.fail(failure);
        if !parts.status.is_client_error() && !parts.status.is_server_error() {
            return instead;
        }
        for name in [CONTENT_ENCODING, CONTENT_LENGTH] {
            parts.headers.remove(name);
        }
        parts.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Response::from_parts(parts, instead.into_body())
    }

    /// Forwards a body that is one message or a batch, with what the gate edits changed.
    async fn relay_json(&self, mut parts: response::Parts, body: Incoming) -> Response<Body> {
        parts.headers.remove(CONTENT_LENGTH);
        let received = async {
            let received = exchange::read_response(body, self.exchange.limits()).await;
            let message = match received {
                Ok(Received::Message(message)) => message,
                Ok(Received::TooLarge(too_large)) => {
                    let refused = self.exchange.refuse(&too_large).forward;
                    let refused = refused.and_then(|answer| answer.into_bytes().ok());
                    return Err(match refused {
                        Some(answer) => exchange::json(StatusCode::BAD_GATEWAY, answer),
                        None => {
                            self.fail(&Failure::Answered(format!("with a message that {}", too_large.reason)))
                        }
                    });
                }
                Err(_) => {
                    return Err(self.fail(&Failure::Ended("the server's response broke off".into())));
                }
            };
            let unchanged = copy_of(&message);
            Ok((from_server(&self.exchange, message.into()).await.forward, unchanged))
        };
        let (forward, unchanged) = match self.in_time(received).await {
            Ok(Ok(received)) => received,
            Ok(Err(response)) | Err(response) => return response,
        };
        if self.local_answers.is_empty() && !(parts.status.is_success() && self.exchange.is_open()) {
            // A body that is not forwarded, such as an error page that is no message, is sent unchanged.
            return Response::from_parts(parts, body_of(forward.unwrap_or(unchanged)));
        }
        let mut answers = self.local_answers.clone();
        answers.extend(self.exchange.fail(&no_answer(&parts)));
        let theirs = forward.filter(|_| self.is_batch).and_then(|forward| forward.into_bytes().ok());
        let Some(theirs) = theirs else {
            return json_answers(StatusCode::BAD_GATEWAY, &answers, self.is_batch);
        };
        let theirs = theirs.trim_ascii();
        let elements = theirs.strip_prefix(b"[").and_then(|theirs| theirs.strip_suffix(b"]"));
        answers.push(elements.unwrap_or(theirs).to_vec());
        let answers: Vec<_> = answers.into_iter().filter(|answer| !answer.trim_ascii().is_empty()).collect();
        Response::from_parts(parts, json_answers(StatusCode::OK, &answers, true).into_body())
    }
}

/// Answers the local requests of a batch, whose other requests go to the server.
async fn answer_locally(exchange: &Arc<Link>, requests: Vec<LocalRequest>) -> Vec<Vec<u8>> {
    if requests.is_empty() {
        return Vec::new();
    }
    let exchange = Arc::clone(exchange);
    let work = move || requests.iter().map(|request| exchange.answer_locally(request)).collect();
    tokio::task::spawn_blocking(work).await.unwrap_or_default()
}

fn copy_of(message: &Message) -> Message {
    match message {
        Message::Memory(bytes) => Message::Memory(bytes.clone()),
        Message::Disk(spooled) => Message::Disk(spooled.clone()),
    }
}

fn body_of(message: Message) -> Body {
    match message {
        // What the server wrote around the message stays.
        Message::Memory(bytes) => full(bytes),
        spooled => whole(spooled),
    }
}
