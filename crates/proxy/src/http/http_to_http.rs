//! The proxy between HTTP clients and an HTTP server: requests and responses are forwarded with their headers, status
//! and events, and nothing changes except what the gate edits.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http_body::Body as HttpBody;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, COOKIE, HOST, HeaderMap,
    ORIGIN, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use hyper::http::response::Parts;
use hyper::{Method, Request, Response, StatusCode};
use tidegate_gate::causes;

use super::body::{Body, Piece, full, stream, whole};
use super::exchange::{self, answer, failure, from_server, json_answers};
use super::modern::{SESSION_HEADER, is_modern};
use super::remote::{Remote, RemoteError};
use super::sse::{Event, EventSplitter};
use crate::link::Link;
use crate::message::ParsedLine;
use crate::spool::{Message, Received};

/// The maximum number of sessions remembered; when one is forgotten, only its client's name is lost.
const MAX_SESSIONS: usize = 10_000;

/// The proxy in front of an HTTP server.
pub struct HttpToHttp {
    remote: Remote,
    /// Creates the link for a new client.
    link: Box<dyn Fn() -> Link + Send + Sync>,
    sessions: Mutex<HashMap<String, Arc<Link>>>,
    /// Whether the `Authorization` header of clients is forwarded.
    forward_auth: bool,
}

impl HttpToHttp {
    /// Returns the proxy for a server; `link` creates the link for a new client.
    pub fn new(remote: Remote, forward_auth: bool, link: impl Fn() -> Link + Send + Sync + 'static) -> Self {
        Self { remote, link: Box::new(link), sessions: Mutex::default(), forward_auth }
    }

    /// Answers a request.
    pub(super) async fn answer<B>(self: Arc<Self>, request: Request<B>) -> Response<Body>
    where
        B: HttpBody<Data = Bytes>,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let (parts, body) = request.into_parts();
        let modern = is_modern(&parts.headers);
        let session = parts.headers.get(SESSION_HEADER).and_then(|id| id.to_str().ok()).map(str::to_owned);
        let link = self.link_of(session.as_deref());
        let body = match exchange::read(body).await {
            Ok(body) => body,
            Err(refusal) => return *refusal,
        };
        let exchange = Arc::new(link.exchange());
        if parts.method == Method::GET {
            // Responses whose own channel has ended arrive here.
            exchange.adopt(&link);
        }
        let mut forward = Bytes::new();
        if parts.method == Method::POST {
            let message = ParsedLine::parse(body);
            let is_batch = message.is_batch();
            let checked = match modern {
                true => exchange::check_modern(&parts.headers, &message.bytes, message.first()),
                false => Ok(()),
            };
            let (message, local) = exchange.parsed_from_client(message);
            if !local.is_empty() && message.is_none() {
                return match checked {
                    Err(refusal) => *refusal,
                    Ok(()) => answer(&exchange, local, is_batch, modern).await,
                };
            }
            forward = message.map_or_else(Bytes::new, |message| message.bytes.into());
        }
        let headers = self.request_headers(parts.headers);
        match self.remote.send(parts.method.clone(), headers, forward).await {
            Ok(response) => {
                self.respond(response, exchange, &link, session, parts.method == Method::DELETE).await
            }
            Err(error) => unreachable_server(&exchange, &error),
        }
    }

    /// Returns the conversation of a session, or a new one.
    fn link_of(&self, session: Option<&str>) -> Arc<Link> {
        let sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let known = session.and_then(|id| sessions.get(id)).cloned();
        known.unwrap_or_else(|| Arc::new((self.link)()))
    }

    fn request_headers(&self, mut headers: HeaderMap) -> HeaderMap {
        for name in [HOST, ORIGIN, COOKIE, CONTENT_LENGTH, ACCEPT_ENCODING] {
            headers.remove(name);
        }
        if !self.forward_auth {
            headers.remove(AUTHORIZATION);
        }
        without_hop_headers(headers)
    }

    async fn respond(
        &self,
        response: Response<Incoming>,
        exchange: Arc<Link>,
        link: &Arc<Link>,
        session: Option<String>,
        ended: bool,
    ) -> Response<Body> {
        let (mut parts, body) = response.into_parts();
        parts.headers = without_hop_headers(std::mem::take(&mut parts.headers));
        self.remember(&parts.headers, link, session, ended && parts.status.is_success());
        let kind = parts.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        match kind.split(';').next().map(str::trim) {
            Some("text/event-stream") => {
                parts.headers.remove(CONTENT_LENGTH);
                let (sender, out) = stream();
                tokio::spawn(relay_events(body, sender, exchange, Arc::clone(link)));
                Response::from_parts(parts, out)
            }
            Some("application/json") => relay_json(parts, body, &exchange).await,
            _ => {
                let out = body.map_err(std::io::Error::other).boxed_unsync();
                Response::from_parts(parts, out)
            }
        }
    }

    fn remember(&self, headers: &HeaderMap, link: &Arc<Link>, session: Option<String>, ended: bool) {
        let given = headers.get(SESSION_HEADER).and_then(|id| id.to_str().ok());
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if ended {
            session.map(|id| sessions.remove(&id));
        } else if let Some(id) = given.filter(|id| !sessions.contains_key(*id)) {
            if sessions.len() >= MAX_SESSIONS {
                sessions.clear();
            }
            sessions.insert(id.to_owned(), Arc::clone(link));
        }
    }
}

/// Removes the headers that concern one connection only.
fn without_hop_headers(mut headers: HeaderMap) -> HeaderMap {
    for name in [CONNECTION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE] {
        headers.remove(name);
    }
    headers.remove("keep-alive");
    headers.remove("proxy-connection");
    headers
}

async fn relay_json(mut parts: Parts, body: Incoming, exchange: &Arc<Link>) -> Response<Body> {
    parts.headers.remove(CONTENT_LENGTH);
    match exchange::read_response(body, exchange.limits()).await {
        // If the gate forwards nothing, as for an error page that is not a message, the body is sent unchanged.
        Ok(Received::Message(Message::Memory(bytes))) => {
            let unchanged = Bytes::from(bytes);
            let message = Message::Memory(unchanged.to_vec());
            match from_server(exchange, message.into()).await.forward {
                Some(Message::Memory(forward)) => Response::from_parts(parts, full(forward)),
                Some(forward) => Response::from_parts(parts, whole(forward)),
                None => Response::from_parts(parts, full(unchanged)),
            }
        }
        Ok(Received::Message(Message::Disk(spooled))) => {
            let unchanged = Message::Disk(spooled.clone());
            let forward = from_server(exchange, Message::Disk(spooled).into()).await.forward;
            Response::from_parts(parts, whole(forward.unwrap_or(unchanged)))
        }
        Ok(Received::TooLarge(too_large)) => {
            let answer = exchange.refuse(&too_large).forward;
            let bytes = answer.and_then(|answer| answer.into_bytes().ok()).unwrap_or_default();
            exchange::json(StatusCode::BAD_GATEWAY, bytes)
        }
        Err(_) => {
            let answers = exchange.end("the server's response broke off; a tool may have run");
            exchange::json(StatusCode::BAD_GATEWAY, answers.concat())
        }
    }
}

/// Forwards events one by one, as edited by the gate.
async fn relay_events(
    mut body: Incoming,
    sender: tokio::sync::mpsc::Sender<Piece>,
    exchange: Arc<Link>,
    link: Arc<Link>,
) {
    let mut events = EventSplitter::new(exchange.limits());
    loop {
        let frame = tokio::select! {
            frame = body.frame() => frame,
            // The client is gone; dropping the body closes the connection to the server.
            () = sender.closed() => return,
        };
        let Some(Ok(frame)) = frame else { break };
        let Ok(data) = frame.into_data() else { continue };
        events.push(&data);
        while let Some(event) = events.next() {
            let Some(out) = relay_event(event, &exchange).await else { continue };
            if sender.send(out).await.is_err() {
                return;
            }
        }
    }
    let rest = events.rest();
    if !rest.is_empty() {
        let _ = sender.send(rest.into()).await;
    }
    // A server may end a channel before it has answered; the response then arrives on another one.
    link.adopt(&exchange);
}

/// Returns what an event becomes; `None` if it is dropped.
async fn relay_event(mut event: Event, exchange: &Arc<Link>) -> Option<Piece> {
    match event.data.take() {
        None => Some(event.raw.into()),
        Some(Received::Message(Message::Memory(data))) => {
            let message = Message::Memory(data.clone());
            match from_server(exchange, message.into()).await.forward? {
                Message::Memory(forward) if forward.trim_ascii_end() == data.trim_ascii_end() => {
                    Some(event.unchanged(forward.into()))
                }
                forward => Some(event.with_data(forward)),
            }
        }
        Some(Received::Message(data)) => {
            Some(event.with_data(from_server(exchange, data.into()).await.forward?))
        }
        Some(Received::TooLarge(too_large)) => Some(event.with_data(exchange.refuse(&too_large).forward?)),
    }
}

fn unreachable_server(exchange: &Link, error: &RemoteError) -> Response<Body> {
    let reason = format!("the server could not be reached ({})", causes(error));
    match exchange.end(&reason).as_slice() {
        [] => failure(StatusCode::BAD_GATEWAY, -32000, &reason),
        answers => json_answers(StatusCode::BAD_GATEWAY, answers, false),
    }
}
