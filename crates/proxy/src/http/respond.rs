//! How a request in front of a server on stdio is answered: by plain JSON where the answer comes at once and alone, and by a
//! stream of events otherwise.

use std::sync::Arc;
use std::time::Duration;

use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::{Response, StatusCode};
use tokio::sync::{mpsc, watch};

use super::body::{Body, full, stream, whole};
use super::exchange::{self, failure, status_of};
use super::modern::SESSION_HEADER;
use super::peer::{Peer, Said};
use super::session::Session;
use super::sse;
use crate::held::Message;

pub(super) fn accepted() -> Response<Body> {
    let mut response = Response::new(full(""));
    *response.status_mut() = StatusCode::ACCEPTED;
    response
}

pub(super) fn not_allowed() -> Response<Body> {
    let mut response = failure(StatusCode::METHOD_NOT_ALLOWED, -32600, "requests without a session are POST");
    response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
    response
}

pub(super) fn events(session: &str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    name_session(headers, session);
    response
}

/// Returns a response that is a message.
fn json(status: StatusCode, message: Message) -> Response<Body> {
    let mut response = exchange::json(status, "");
    *response.body_mut() = whole(message);
    response
}

fn name_session(headers: &mut HeaderMap, session: &str) {
    if let Ok(id) = HeaderValue::from_str(session)
        && !session.is_empty()
    {
        headers.insert(SESSION_HEADER, id);
    }
}

/// The answer alone as JSON, or, where something comes before it, a stream.
pub(super) async fn legacy(
    session: Arc<Session>,
    number: u64,
    mut open: usize,
    mut heard: mpsc::Receiver<Said>,
    batch: bool,
    primes: bool,
) -> Response<Body> {
    // Something that answers no request may be put on the stream while we wait, so it must be there.
    let (sender, body) = stream();
    session.connect(number, None, &sender);
    let woken = session.woken(number);
    let first = tokio::select! {
        first = heard.recv() => match first {
            Some(first) => Some(first),
            None => {
                session.forget(number);
                return failure(StatusCode::BAD_GATEWAY, -32000, "the server ended before it answered");
            }
        },
        // Something that answers no request, perhaps a request of the server's own, is there to be seen.
        () = woken.notified() => None,
        () = tokio::time::sleep(SLOW) => None,
    };
    let alone = |first: &Said| first.last && open == 1 && !batch && session.is_quiet(number);
    let (only, first) = if first.as_ref().is_some_and(alone) { (first, None) } else { (None, first) };
    if let Some(only) = only {
        session.forget(number);
        let mut response = json(StatusCode::OK, only.message);
        name_session(response.headers_mut(), &session.id);
        return response;
    }
    if first.is_none() && session.is_quiet(number) && primes {
        session.put(number, Message::Memory(Vec::new()), false);
    }
    let id = session.id.clone();
    tokio::spawn(async move {
        let mut next = match first {
            Some(first) => Some(first),
            None => heard.recv().await,
        };
        while let Some(said) = next {
            open -= usize::from(said.last);
            session.put(number, said.message, open == 0);
            if open == 0 {
                return;
            }
            next = heard.recv().await;
        }
    });
    events(&id, body)
}

/// The answer alone as JSON, or, where something comes before it, a stream. A client that goes away cancels.
pub(super) async fn modern(
    peer: Arc<Peer>,
    numbers: Vec<u64>,
    mut heard: mpsc::Receiver<Said>,
    mut ticks: watch::Receiver<()>,
) -> Response<Body> {
    let waiting = Abandon { peer: Some(peer), numbers };
    // A timer of its own for every request would wake the driver once more for each.
    let mut quiet = 0;
    let first = loop {
        tokio::select! {
            said = heard.recv() => break Ok(said),
            changed = ticks.changed() => {
                quiet += 1;
                if quiet > QUIET_TICKS || changed.is_err() {
                    break Err(());
                }
            }
        }
    };
    let first = match first {
        Ok(Some(said)) if said.last => {
            waiting.done();
            let status = said.message.as_bytes().map_or(StatusCode::OK, status_of);
            return json(status, said.message);
        }
        other => other,
    };
    if let Ok(None) = first {
        waiting.done();
        return failure(StatusCode::BAD_GATEWAY, -32000, "the server ended before it answered");
    }
    let (sender, body) = stream();
    tokio::spawn(async move {
        let mut next = first.ok().flatten();
        loop {
            if let Some(said) = next.take() {
                let last = said.last;
                let sent = sender.send(sse::event_of(None, said.message)).await.is_ok();
                if last || !sent {
                    if last {
                        waiting.done();
                    }
                    return;
                }
            }
            next = tokio::select! {
                said = heard.recv() => match said {
                    Some(said) => Some(said),
                    None => return waiting.done(),
                },
                () = sender.closed() => return,
                () = tokio::time::sleep(PING) => {
                    let _ = sender.send(": ping\n\n".into()).await;
                    None
                }
            };
        }
    });
    events("", body)
}

/// How long an answer may take before a stream is begun for it, which a client can come back to.
const SLOW: Duration = Duration::from_millis(100);
/// Ticks that an answer may take before the client is told that it will.
const QUIET_TICKS: u32 = 3;
/// How often waiting requests look at the time.
pub(super) const TICK: Duration = Duration::from_secs(5);
/// How often a client is told that its answer is still awaited.
const PING: Duration = Duration::from_secs(15);

/// Requests that nobody waits for any more once this is dropped, unless they are done.
struct Abandon {
    peer: Option<Arc<Peer>>,
    numbers: Vec<u64>,
}

impl Abandon {
    fn done(mut self) {
        self.peer = None;
    }
}

impl Drop for Abandon {
    fn drop(&mut self) {
        if let Some(peer) = self.peer.take() {
            let numbers = std::mem::take(&mut self.numbers);
            tokio::spawn(async move { peer.abandon(&numbers).await });
        }
    }
}
