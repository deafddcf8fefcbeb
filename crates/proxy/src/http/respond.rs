//! Responses to requests for a server on stdio: plain JSON if the response arrives soon and alone, a stream of events
//! otherwise.

use std::sync::Arc;
use std::time::Duration;

use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::{Response, StatusCode};
use tokio::sync::{mpsc, watch};

use super::body::{Body, full, stream, whole};
use super::exchange::{self, failure};
use super::modern::{SESSION_HEADER, status_of};
use super::session::Session;
use super::shared_server::Delivery;
use super::sse;
use crate::spool::Message;

/// How long a response may take before a stream is begun for it, which a client can resume.
const MAX_PLAIN_WAIT: Duration = Duration::from_millis(100);
/// How many ticks a response may take before a stream is begun for it.
const MAX_QUIET_TICKS: u32 = 3;
/// How often waiting requests look at the time.
const TICK: Duration = Duration::from_secs(5);
/// Returns a clock that ticks every few seconds, until all its receivers are dropped.
pub(super) fn ticks() -> watch::Receiver<()> {
    let (sender, ticks) = watch::channel(());
    tokio::spawn(async move {
        while !sender.is_closed() {
            tokio::time::sleep(TICK).await;
            let _ = sender.send(());
        }
    });
    ticks
}

/// How often a comment is sent on a stream that is waiting for its response.
const PING_INTERVAL: Duration = Duration::from_secs(15);

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
    set_session(headers, session);
    response
}

/// Returns a response with a message as its body.
fn json(status: StatusCode, message: Message) -> Response<Body> {
    let mut response = exchange::json(status, "");
    *response.body_mut() = whole(message);
    response
}

fn set_session(headers: &mut HeaderMap, session: &str) {
    if let Ok(id) = HeaderValue::from_str(session)
        && !session.is_empty()
    {
        headers.insert(SESSION_HEADER, id);
    }
}

/// Returns the response alone as JSON or, if something comes before it or it takes long, a stream. `open` requests wait
/// for a response.
pub(super) async fn legacy<S: Send + Sync + 'static>(
    session: Arc<Session<S>>,
    number: u64,
    mut open: usize,
    mut deliveries: mpsc::Receiver<Delivery>,
    is_batch: bool,
    takes_empty_events: bool,
) -> Response<Body> {
    // Messages that belong to no request may be put on the stream meanwhile, so it has to exist.
    let (sender, body) = stream();
    // The stream was begun a moment ago, and nobody else knows of it.
    let _ = session.connect(number, None, &sender);
    let woken = session.woken(number);
    let first = tokio::select! {
        first = deliveries.recv() => match first {
            Some(first) => Some(first),
            None => {
                session.forget(number);
                return failure(StatusCode::BAD_GATEWAY, -32000, "the server ended before it answered");
            }
        },
        // A message that belongs to no request, perhaps a request of the server, has to reach the client now.
        () = woken.notified() => None,
        () = tokio::time::sleep(MAX_PLAIN_WAIT) => None,
    };
    let is_alone = |first: &Delivery| first.is_response && open == 1 && !is_batch && session.is_quiet(number);
    let (only, first) = if first.as_ref().is_some_and(is_alone) { (first, None) } else { (None, first) };
    if let Some(only) = only {
        session.forget(number);
        let mut response = json(StatusCode::OK, only.message);
        set_session(response.headers_mut(), &session.id);
        return response;
    }
    if first.is_none() && session.is_quiet(number) && takes_empty_events {
        session.put(number, Message::Memory(Vec::new()), false);
    }
    let id = session.id.clone();
    tokio::spawn(async move {
        let mut next = match first {
            Some(first) => Some(first),
            None => deliveries.recv().await,
        };
        while let Some(delivery) = next {
            open -= usize::from(delivery.is_response);
            session.put(number, delivery.message, open == 0);
            if open == 0 {
                return;
            }
            next = deliveries.recv().await;
        }
    });
    events(&id, body)
}

/// Returns the response alone as JSON or, if something comes before it or it takes long, a stream. A client that
/// disconnects cancels its request: then `cancel` is called.
pub(super) async fn modern(
    cancel: impl FnOnce() + Send + 'static,
    mut deliveries: mpsc::Receiver<Delivery>,
    mut ticks: watch::Receiver<()>,
) -> Response<Body> {
    let waiting = CancelOnDrop(Some(cancel));
    // All requests share one clock: a timer for each would wake the runtime once more per request.
    let mut quiet = 0;
    let first = loop {
        tokio::select! {
            delivery = deliveries.recv() => break Ok(delivery),
            changed = ticks.changed() => {
                quiet += 1;
                if quiet > MAX_QUIET_TICKS || changed.is_err() {
                    break Err(());
                }
            }
        }
    };
    let first = match first {
        Ok(Some(delivery)) if delivery.is_response => {
            waiting.done();
            return json(status_of(delivery.error_code), delivery.message);
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
            if let Some(delivery) = next.take() {
                let is_response = delivery.is_response;
                let sent = sender.send(sse::event_of(None, delivery.message)).await.is_ok();
                if is_response || !sent {
                    if is_response {
                        waiting.done();
                    }
                    return;
                }
            }
            next = tokio::select! {
                delivery = deliveries.recv() => match delivery {
                    Some(delivery) => Some(delivery),
                    None => return waiting.done(),
                },
                () = sender.closed() => return,
                () = tokio::time::sleep(PING_INTERVAL) => {
                    let _ = sender.send(": ping\n\n".into()).await;
                    None
                }
            };
        }
    });
    events("", body)
}

/// Cancels a request when it is dropped, unless the request is done.
struct CancelOnDrop<C: FnOnce()>(Option<C>);

impl<C: FnOnce()> CancelOnDrop<C> {
    fn done(mut self) {
        self.0 = None;
    }
}

impl<C: FnOnce()> Drop for CancelOnDrop<C> {
    fn drop(&mut self) {
        if let Some(cancel) = self.0.take() {
            cancel();
        }
    }
}
