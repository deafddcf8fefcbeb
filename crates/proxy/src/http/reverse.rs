//! HTTP in front of HTTP: requests and responses cross with their headers, status and events, and only shaped results
//! change.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
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
use super::exchange::{self, answer, failure, from_server};
use super::modern::{SESSION_HEADER, is_modern};
use super::remote::{Remote, RemoteError};
use super::sse::{Event, Events};
use crate::held::{Framed, Message};
use crate::link::Link;

/// Sessions that are remembered; of an older one only the client's name is not known any more.
const SESSIONS: usize = 10_000;

/// A server behind.
pub struct Reverse {
    remote: Remote,
    /// Makes the conversation of a client that is not known.
    link: Box<dyn Fn() -> Link + Send + Sync>,
    sessions: Mutex<HashMap<String, Arc<Link>>>,
    /// Whether the caller's own credentials are passed on.
    forward_auth: bool,
}

impl Reverse {
    /// Returns a front for a server; `link` makes a conversation.
    pub fn new(remote: Remote, forward_auth: bool, link: impl Fn() -> Link + Send + Sync + 'static) -> Self {
        Self { remote, link: Box::new(link), sessions: Mutex::default(), forward_auth }
    }

    /// Answers a request.
    pub(super) async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Response<Body> {
        let (parts, body) = request.into_parts();
        let modern = is_modern(&parts.headers);
        let session = parts.headers.get(SESSION_HEADER).and_then(|id| id.to_str().ok()).map(str::to_owned);
        let link = self.link_of(session.as_deref());
        let body = match exchange::read(body).await {
            Ok(body) => body,
            Err(refused) => return *refused,
        };
        let exchange = Arc::new(link.exchange());
        if parts.method == Method::GET {
            // Answers whose own channel has ended come here.
            exchange.adopt(&link);
        }
        let mut forward = Bytes::new();
        if parts.method == Method::POST {
            let batch = body.trim_ascii_start().first() == Some(&b'[');
            let refused = if modern { exchange::check_modern(&parts.headers, &body).err() } else { None };
            let from = exchange.from_client(body);
            if !from.orders.is_empty() && from.forward.is_none() {
                return match refused {
                    Some(refused) => *refused,
                    None => answer(&exchange, from.orders, batch, modern).await,
                };
            }
            forward = from.forward.unwrap_or_default().into();
        }
        let headers = self.request_headers(parts.headers);
        match self.remote.send(parts.method.clone(), headers, forward).await {
            Ok(response) => {
                self.respond(response, exchange, &link, session, parts.method == Method::DELETE).await
            }
            Err(error) => unreachable(&exchange, &error),
        }
    }

    /// The conversation of a session; one of its own for whoever has none.
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
        without_hops(headers)
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
        parts.headers = without_hops(std::mem::take(&mut parts.headers));
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
            if sessions.len() >= SESSIONS {
                sessions.clear();
            }
            sessions.insert(id.to_owned(), Arc::clone(link));
        }
    }
}

/// Headers that concern one connection only.
fn without_hops(mut headers: HeaderMap) -> HeaderMap {
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
        // What is no message, such as an error page, crosses as it is.
        Ok(Framed::Message(Message::Memory(bytes))) => {
            let crosses = Bytes::from(bytes);
            match from_server(exchange, crosses.to_vec()).await {
                Some(Message::Memory(forward)) => Response::from_parts(parts, full(forward)),
                Some(forward) => Response::from_parts(parts, whole(forward)),
                None => Response::from_parts(parts, full(crosses)),
            }
        }
        Ok(Framed::Message(Message::Disk(spooled))) => {
            let crosses = Message::Disk(spooled.clone());
            let forward = from_server(exchange, Message::Disk(spooled)).await;
            Response::from_parts(parts, whole(forward.unwrap_or(crosses)))
        }
        Ok(Framed::TooLong(too_long)) => {
            let answer = exchange.refuse(&too_long).forward;
            let bytes = answer.and_then(|answer| answer.into_bytes().ok()).unwrap_or_default();
            exchange::json(StatusCode::BAD_GATEWAY, bytes)
        }
        Err(_) => {
            let answers = exchange.end("the answer of the server broke off; a tool may have run");
            exchange::json(StatusCode::BAD_GATEWAY, answers.concat())
        }
    }
}

/// Passes events on, one by one, with those changed that hold a result to be shaped.
async fn relay_events(
    mut body: Incoming,
    sender: tokio::sync::mpsc::Sender<Piece>,
    exchange: Arc<Link>,
    link: Arc<Link>,
) {
    let mut events = Events::new(exchange.limits());
    loop {
        let frame = tokio::select! {
            frame = body.frame() => frame,
            // The client is gone; dropping the body tells the server.
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
    // A server may end a channel before it has answered; the answer then comes on another one.
    link.adopt(&exchange);
}

/// What an event becomes; `None` where it is left out.
async fn relay_event(mut event: Event, exchange: &Arc<Link>) -> Option<Piece> {
    match event.data.take() {
        None => Some(event.raw.into()),
        Some(Framed::Message(Message::Memory(data))) => match from_server(exchange, data.clone()).await? {
            Message::Memory(forward) if forward.trim_ascii_end() == data.trim_ascii_end() => {
                Some(event.unchanged(forward.into()))
            }
            forward => Some(event.with_data(forward)),
        },
        Some(Framed::Message(data)) => Some(event.with_data(from_server(exchange, data).await?)),
        Some(Framed::TooLong(too_long)) => Some(event.with_data(exchange.refuse(&too_long).forward?)),
    }
}

fn unreachable(exchange: &Link, error: &RemoteError) -> Response<Body> {
    let reason = format!("the server could not be reached ({})", causes(error));
    match exchange.end(&reason).as_slice() {
        [] => failure(StatusCode::BAD_GATEWAY, -32000, &reason),
        [one] => exchange::json(StatusCode::BAD_GATEWAY, one.trim_ascii_end().to_vec()),
        many => {
            let joined: Vec<&[u8]> = many.iter().map(|answer| answer.trim_ascii_end()).collect();
            exchange::json(StatusCode::BAD_GATEWAY, [b"[", joined.join(&b","[..]).as_slice(), b"]"].concat())
        }
    }
}
