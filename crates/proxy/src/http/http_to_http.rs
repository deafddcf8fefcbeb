//! The proxy between HTTP clients and an HTTP server: requests and responses are forwarded with their headers, status
//! and events, and nothing changes except what the gate edits.
//!
//! Every request is answered by its deadline, even if the server sends no headers, half a body or endless events. A response
//! that is an error of HTTP is an answer too, and is forwarded as it is.

mod events;
mod references;
mod sessions;

use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, COOKIE, HOST, HeaderMap,
    HeaderValue, ORIGIN,
};
use hyper::http::{request, response};
use hyper::{Method, Response, StatusCode};
use tidegate_gate::Principal;

use super::body::{Body, full, stream, whole};
use super::body_kind::{BodyKind, body_kind, no_answer, without_hop_headers};
use super::clients::Clients;
use super::exchange::{self, answer, from_server, json_answers};
use super::modern::{SESSION_HEADER, is_modern, status_of};
use super::remote::Remote;
use super::respond::accepted;
use crate::link::{Failure, Link, LocalRequest, Overdue};
use crate::message::ParsedLine;
use crate::spool::{Message, Received, TooLarge};
use sessions::Sessions;

/// The proxy in front of an HTTP server.
pub struct HttpToHttp {
    remote: Arc<Remote>,
    /// Creates the link for a new client.
    link: Box<dyn Fn() -> Link + Send + Sync>,
    sessions: Sessions,
    clients: Clients,
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
        let clients = if forward_auth { Clients::ByAuthorization } else { Clients::Unknown };
        let (remote, sessions) = (Arc::new(remote), Sessions::default());
        Self { remote, link: Box::new(link), sessions, clients, forward_auth }
    }

    /// Returns the proxy, with the way in which it distinguishes clients.
    #[must_use]
    pub fn for_clients(self, clients: Clients) -> Self {
        Self { clients, ..self }
    }

    /// Answers a request.
    pub(super) async fn answer(self: Arc<Self>, mut parts: request::Parts, body: Vec<u8>) -> Response<Body> {
        let is_modern = is_modern(&parts.headers);
        let (session, link) = self.conversation_of(&parts.headers);
        if is_modern {
            link.count_by_principal();
        }
        let exchange = link.exchange().reached_at(exchange::link_base(&parts));
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
            let (message, own) = exchange.parsed_from_client(message);
            // What is only forwarded is checked by the server.
            if let (Err(refusal), true) = (checked, message.is_none() || !own.calls.is_empty()) {
                return *refusal;
            }
            if message.is_none() && own.calls.is_empty() {
                return match own.is_empty() {
                    // A cancellation of a request that never reached the server.
                    true => accepted(),
                    false => answer(&exchange, own.requests, is_batch, is_modern).await,
                };
            }
            local_answers = answer_locally(&exchange, own.requests).await;
            let resolved = references::resolve_all(&exchange, own.calls).await;
            if let Some(call) = resolved.forward.first().filter(|_| is_modern) {
                references::renew_headers(&mut parts.headers, &exchange, call);
            }
            let code = resolved.answers.first().and_then(|(_, code)| *code);
            local_answers.extend(resolved.answers.into_iter().map(|(line, _)| line));
            let Some(body) = references::join(message, resolved.forward, is_batch) else {
                let status = if is_modern && !is_batch { status_of(code) } else { StatusCode::OK };
                return json_answers(status, &local_answers, is_batch);
            };
            forward = body.into();
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

    /// Returns the session that a request names, and the conversation that it belongs to.
    fn conversation_of(&self, headers: &HeaderMap) -> (Option<String>, Arc<Link>) {
        let session = headers.get(SESSION_HEADER).and_then(|id| id.to_str().ok()).map(str::to_owned);
        let principal = self.clients.principal(headers, session.as_deref().filter(|_| !is_modern(headers)));
        let link = self.link_of(session.as_deref(), principal);
        (session, link)
    }

    /// Returns the conversation of a client that follows a link.
    pub(super) fn follower(&self, headers: &HeaderMap) -> Arc<Link> {
        self.conversation_of(headers).1
    }

    /// Returns the conversation of a session, or a new one. Who names the session of another client does not get its
    /// conversation.
    fn link_of(&self, session: Option<&str>, principal: Principal) -> Arc<Link> {
        let known = session.and_then(|id| self.sessions.get(id)).filter(|link| link.principal() == principal);
        known.unwrap_or_else(|| Arc::new((self.link)().of_principal(principal)))
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
        match body_kind(&self.remote, parts.status, &parts.headers) {
            Err(failure) => forwarded.replace(parts, Vec::new(), &failure),
            Ok(BodyKind::Events) => {
                parts.headers.remove(CONTENT_LENGTH);
                let (sender, out) = stream();
                tokio::spawn(forwarded.relay_events(body, sender));
                Response::from_parts(parts, out)
            }
            Ok(BodyKind::Json) => forwarded.relay_json(parts, body).await,
            Ok(BodyKind::Other) if forwarded.method == Method::POST => {
                forwarded.relay_page(parts, body).await
            }
            Ok(BodyKind::Other) => {
                let out = body.map_err(std::io::Error::other).boxed_unsync();
                Response::from_parts(parts, out)
            }
        }
    }

    /// Remembers the conversation of the session that the server has begun, or accepts: it may be older than this process.
    fn remember(&self, parts: &response::Parts, forwarded: &Forwarded) {
        let has_ended = forwarded.method == Method::DELETE && parts.status.is_success();
        let given = parts.headers.get(SESSION_HEADER).and_then(|id| id.to_str().ok());
        let sent = forwarded.session.as_deref();
        match given.or(sent.filter(|_| parts.status.is_success())) {
            _ if has_ended => sent.into_iter().for_each(|id| self.sessions.remove(id)),
            Some(id) => self.sessions.add(id, &forwarded.link),
            None => {}
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
        let answers = overdue.iter().map(|overdue| overdue.answer.clone()).collect();
        self.cancel(overdue);
        // Requests of one batch have the same deadline, but it may pass between two of them.
        self.fail_after(answers, &Failure::Overdue(self.exchange.timeout().unwrap_or_default()))
    }

    /// Tells the server that no client waits for some responses. Without a session, closing the connection is enough.
    fn cancel(&self, overdue: Vec<Overdue>) {
        if self.is_modern {
            return;
        }
        for cancel in overdue.into_iter().filter_map(|overdue| overdue.cancel) {
            self.remote.send_cancel(self.headers.clone(), cancel);
        }
    }

    /// Returns the response to requests that the server did not answer, with tidegate's own answers.
    fn fail(&self, failure: &Failure) -> Response<Body> {
        self.fail_after(Vec::new(), failure)
    }

    /// Returns the response where some requests of a batch have got an error already and the others get this one.
    fn fail_after(&self, mut failed: Vec<Vec<u8>>, failure: &Failure) -> Response<Body> {
        failed.extend(self.exchange.fail(failure));
        let (status, code) = match failure {
            // The server was sent notifications only, and every request is answered.
            _ if failed.is_empty() && !self.local_answers.is_empty() => (StatusCode::OK, 0),
            Failure::Overdue(_) => (StatusCode::GATEWAY_TIMEOUT, -32001),
            _ => (StatusCode::BAD_GATEWAY, -32000),
        };
        match [self.local_answers.as_slice(), &failed].concat().as_slice() {
            [] => exchange::failure(status, code, &failure.reason()),
            answers => json_answers(status, answers, self.is_batch),
        }
    }

    /// Returns the response in place of one that is too large.
    fn refuse(&self, too_large: &TooLarge) -> Response<Body> {
        let refused = self.exchange.refuse(too_large).forward.and_then(|answer| answer.into_bytes().ok());
        self.fail_after(
            refused.into_iter().collect(),
            &Failure::Answered(format!("with a message that {}", too_large.reason)),
        )
    }

    /// Returns a response whose body is replaced. If it is an error of HTTP, its status and headers stay, unless every
    /// request has its answer.
    fn replace(&self, mut parts: response::Parts, failed: Vec<Vec<u8>>, failure: &Failure) -> Response<Body> {
        let instead = self.fail_after(failed, failure);
        let is_error = parts.status.is_client_error() || parts.status.is_server_error();
        if !is_error || instead.status().is_success() {
            return instead;
        }
        for name in [CONTENT_ENCODING, CONTENT_LENGTH] {
            parts.headers.remove(name);
        }
        parts.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Response::from_parts(parts, instead.into_body())
    }

    /// Reads a body in time; returns the response to send instead if that fails.
    async fn read(&self, body: Incoming) -> Result<Message, Response<Body>> {
        match self.in_time(exchange::read_response(body, self.exchange.limits())).await? {
            Ok(Received::Message(message)) => Ok(message),
            Ok(Received::TooLarge(too_large)) => Err(self.refuse(&too_large)),
            Err(_) => Err(self.fail(&Failure::Ended("the server's response broke off".into()))),
        }
    }

    /// Forwards a body that is not a message, such as an error page, unless a request still needs its answer.
    async fn relay_page(&self, mut parts: response::Parts, body: Incoming) -> Response<Body> {
        let is_answer_due = parts.status.is_success() && self.exchange.is_open();
        if is_answer_due || !self.local_answers.is_empty() {
            let failure = no_answer(&parts);
            return self.replace(parts, Vec::new(), &failure);
        }
        match self.read(body).await {
            Err(response) => response,
            Ok(page) => {
                parts.headers.remove(CONTENT_LENGTH);
                Response::from_parts(parts, body_of(page))
            }
        }
    }

    /// Forwards a body that is one message or a batch, with what the gate edits changed.
    async fn relay_json(&self, mut parts: response::Parts, body: Incoming) -> Response<Body> {
        parts.headers.remove(CONTENT_LENGTH);
        let message = match self.read(body).await {
            Ok(message) => message,
            Err(response) => return response,
        };
        let unchanged = copy_of(&message);
        let (forward, mut failed) = match self.edit(message).await {
            Ok(edited) => edited,
            Err(response) => return response,
        };
        let is_answered = failed.is_empty() && !(parts.status.is_success() && self.exchange.is_open());
        if self.local_answers.is_empty() && is_answered {
            // A body that is not forwarded, such as an error page that is not a message, is sent unchanged.
            return Response::from_parts(parts, body_of(forward.unwrap_or(unchanged)));
        }
        let (theirs, failure) = (forward.filter(|_| self.is_batch), no_answer(&parts));
        let Some(theirs) = theirs.and_then(|theirs| theirs.into_bytes().ok()) else {
            return self.replace(parts, failed, &failure);
        };
        failed.extend(self.exchange.fail(&failure));
        if parts.status.is_success() || failed.is_empty() {
            // A client reads the answers of no other status.
            parts.status = StatusCode::OK;
        }
        let theirs = theirs.trim_ascii();
        let elements = theirs.strip_prefix(b"[").and_then(|theirs| theirs.strip_suffix(b"]"));
        let theirs = elements.unwrap_or(theirs).to_vec();
        let mut answers = [self.local_answers.as_slice(), &failed, &[theirs]].concat();
        answers.retain(|answer| !answer.trim_ascii().is_empty());
        Response::from_parts(parts, json_answers(StatusCode::OK, &answers, true).into_body())
    }

    /// Stores and shapes a message; returns what to forward, and the answers to requests of a batch whose deadline passed
    /// meanwhile: the message may hold the answers to others, so it is waited for.
    async fn edit(&self, message: Message) -> Result<(Option<Message>, Vec<Vec<u8>>), Response<Body>> {
        let mut edited = pin!(from_server(&self.exchange, message.into()));
        let mut answers = Vec::new();
        loop {
            let overdue = tokio::select! {
                edited = &mut edited => return Ok((edited.forward, answers)),
                overdue = self.exchange.wait_for_overdue() => overdue,
            };
            if !self.is_batch {
                return Err(self.late(overdue));
            }
            answers.extend(overdue.iter().map(|overdue| overdue.answer.clone()));
            self.cancel(overdue);
        }
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
