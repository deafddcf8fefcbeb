//! One message of a client over HTTP, as far as it is the same whatever stands behind: read, looked into, and answered
//! where it is ours.

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::{Response, StatusCode};
use tidegate_gate::{RpcError, error_response};

use super::body::{Body, full};
use super::modern;
use crate::held::{Framed, Intake, Limits, Message};
use crate::link::{Link, Order};
use crate::message::{Envelope, Kind, messages};

/// The largest body of a request.
pub(super) const REQUEST_BYTES: usize = 4 << 20;
/// What is larger is shaped away from the threads that carry messages.
const LARGE: usize = 64 * 1024;

/// Reads the body of a request; refused where it is too large.
pub(super) async fn read(body: Incoming) -> Result<Vec<u8>, Box<Response<Body>>> {
    match Limited::new(body, REQUEST_BYTES).collect().await {
        Ok(collected) => Ok(collected.to_bytes().to_vec()),
        Err(error) if error.is::<http_body_util::LengthLimitError>() => {
            let message = format!("the request is larger than {REQUEST_BYTES} bytes");
            Err(Box::new(failure(StatusCode::PAYLOAD_TOO_LARGE, -32600, &message)))
        }
        Err(_) => Err(Box::new(failure(StatusCode::BAD_REQUEST, -32600, "the request could not be read"))),
    }
}

/// Reads the body of a response, on disk where it is large.
pub(super) async fn read_response(mut body: Incoming, limits: Arc<Limits>) -> hyper::Result<Framed> {
    let mut intake = Intake::new(limits);
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame?.into_data() {
            intake.push(&data);
        }
        if let Some(too_long) = intake.overflow() {
            return Ok(Framed::TooLong(too_long));
        }
    }
    Ok(intake.finish().unwrap_or_else(|| Framed::Message(Message::Memory(Vec::new()))))
}

/// Returns a response that is JSON.
pub(super) fn json(status: StatusCode, bytes: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(full(bytes));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Returns a response with an error that answers no request.
pub(super) fn failure(status: StatusCode, code: i64, message: &str) -> Response<Body> {
    json(status, error_response(b"null", &RpcError { code, message: message.to_owned() }))
}

/// Runs what may take long away from the thread that carries messages.
async fn apart<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    // It fails only where it panics, and then there is nothing to pass on.
    tokio::task::spawn_blocking(run).await.ok()
}

/// Lets the gate see a message of the server, and returns what to pass on.
pub(super) async fn from_server(link: &Arc<Link>, message: impl Into<Message>) -> Option<Message> {
    let message = message.into();
    let mut from = if !message.is_larger_than(LARGE) {
        link.from_server(message)
    } else {
        let link = Arc::clone(link);
        apart(move || link.from_server(message)).await?
    };
    if let Some(later) = from.later {
        let link = Arc::clone(link);
        from = apart(move || link.finish(*later)).await?;
    }
    from.forward
}

/// Lets the gate see a message, and calls back with what to pass on: at once where nothing takes long.
pub(super) fn pass_on(link: Arc<Link>, message: Message, then: impl FnOnce(Message) + Send + 'static) {
    if !message.is_larger_than(LARGE) {
        let from = link.from_server(message);
        match (from.later, from.forward) {
            (None, Some(forward)) => then(forward),
            (None, None) => {}
            (Some(later), _) => {
                tokio::task::spawn_blocking(move || {
                    let from = link.finish(*later);
                    from.forward.map(then)
                });
            }
        }
        return;
    }
    tokio::spawn(async move {
        if let Some(forward) = from_server(&link, message).await {
            then(forward);
        }
    });
}

/// Answers what is ours: one answer, or a batch of them.
pub(super) async fn answer(
    link: &Arc<Link>,
    orders: Vec<Order>,
    batch: bool,
    modern: bool,
) -> Response<Body> {
    let link = Arc::clone(link);
    let answers = apart(move || orders.iter().map(|order| link.carry_out(order)).collect::<Vec<_>>()).await;
    let answers = answers.unwrap_or_default();
    let answers: Vec<&[u8]> = answers.iter().map(|answer| answer.trim_ascii_end()).collect();
    match answers.as_slice() {
        [one] if !batch => json(if modern { status_of(one) } else { StatusCode::OK }, one.to_vec()),
        many => json(StatusCode::OK, [b"[", many.join(&b","[..]).as_slice(), b"]"].concat()),
    }
}

/// Returns the status that goes with an answer to a request without a session.
pub(super) fn status_of(answer: &[u8]) -> StatusCode {
    let envelope = messages(answer).and_then(|places| Envelope::read(answer, places.first()?));
    let code = envelope.and_then(|envelope| {
        let code = tidegate_gate::raw::member(answer, &envelope.error?, "code")?;
        std::str::from_utf8(&answer[code]).ok()?.parse().ok()
    });
    code.map_or(StatusCode::OK, modern::status)
}

/// Checks a request without a session; returns the answer that refuses it.
pub(super) fn check_modern(headers: &HeaderMap, body: &[u8]) -> Result<(), Box<Response<Body>>> {
    let place = messages(body).and_then(|places| places.first().cloned());
    let Some(envelope) = place.and_then(|place| Envelope::read(body, &place)) else { return Ok(()) };
    if envelope.kind() != Kind::Request {
        return Ok(());
    }
    let method = envelope.method.as_deref().unwrap_or_default();
    modern::check(headers, body, method, envelope.params.as_ref()).map_err(|error| {
        let id = envelope.id.clone().map_or(&b"null"[..], |id| &body[id]);
        Box::new(json(modern::status(error.code), error_response(id, &error)))
    })
}
