//! One message of a client over HTTP, as far as it is the same for every kind of server: read, checked, and answered if it
//! is for tidegate.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Response, StatusCode};
use tidegate_gate::{RpcError, error_response};
use tokio::sync::{Semaphore, SemaphorePermit};

use super::body::{Body, full};
use super::headers::HeaderArguments;
use super::modern;
use super::shared_server::{DeliverySender, Log, deliver, response as delivery_of};
use crate::link::{Link, LinkBase, LocalRequest, Resolution, ResolveJob, ServerMessage, ServerOutcome};
use crate::message::{BYTE_ORDER_MARK, MessageHead, MessageKind, ParsedLine};
use crate::spool::{Limits, Message, MessageBuffer, Received};

/// The largest body of a request.
pub(super) const MAX_REQUEST_BYTES: usize = 4 << 20;
/// How long the body of a request may take to arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(if cfg!(test) { 5 } else { 30 });
/// Messages above this size are handled on a blocking thread, not on the one that forwards messages.
const MAX_INLINE_BYTES: usize = 64 * 1024;
/// How many clients' local requests are answered at once.
static LOCAL_ANSWERS: Semaphore = Semaphore::const_new(4);

/// Returns the address at which the client of a request reaches tidegate, which the listener has noted.
pub(super) fn link_base(parts: &Parts) -> LinkBase {
    parts.extensions.get().cloned().unwrap_or_else(|| LinkBase::of_host("localhost"))
}

/// A refusal, as the response to send.
pub(super) type Refusal = Box<Response<Body>>;

/// Returns a refusal with an error that answers no request.
pub(super) fn refuse<T>(status: StatusCode, message: &str) -> Result<T, Refusal> {
    Err(Box::new(failure(status, -32600, message)))
}

/// Reads the body of a request; refuses one that is too large, takes too long, or needs more memory than the bodies that
/// arrive at once may take.
pub(super) async fn read(body: Incoming, room: &BodyRoom) -> Result<Vec<u8>, Refusal> {
    match tokio::time::timeout(BODY_TIMEOUT, read_within(body, room)).await {
        Ok(read) => read,
        Err(_) => {
            let seconds = BODY_TIMEOUT.as_secs();
            let message = format!("the body of the request did not arrive within {seconds} s");
            refuse(StatusCode::REQUEST_TIMEOUT, &message)
        }
    }
}

async fn read_within(mut body: Incoming, room: &BodyRoom) -> Result<Vec<u8>, Refusal> {
    let (mut bytes, mut taken) = (Vec::new(), Vec::new());
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else {
            return refuse(StatusCode::BAD_REQUEST, "the request could not be read");
        };
        let Ok(data) = frame.into_data() else { continue };
        if bytes.len() + data.len() > MAX_REQUEST_BYTES {
            let message = format!("the request is larger than {MAX_REQUEST_BYTES} bytes");
            return refuse(StatusCode::PAYLOAD_TOO_LARGE, &message);
        }
        let Some(room) = room.take(data.len()) else {
            return refuse(StatusCode::SERVICE_UNAVAILABLE, "too many large requests at once; try again");
        };
        taken.push(room);
        bytes.extend_from_slice(&data);
    }
    Ok(bytes)
}

/// The memory for the bodies of requests that are arriving.
pub(super) struct BodyRoom {
    bytes: Semaphore,
}

impl BodyRoom {
    /// Returns room for this many bytes.
    pub(super) fn new(max_bytes: usize) -> Self {
        Self { bytes: Semaphore::new(max_bytes) }
    }

    fn take(&self, bytes: usize) -> Option<SemaphorePermit<'_>> {
        self.bytes.try_acquire_many(u32::try_from(bytes).ok()?).ok()
    }
}

/// Reads the body of a response; a large one is spooled.
pub(super) async fn read_response(mut body: Incoming, limits: Arc<Limits>) -> hyper::Result<Received> {
    let mut buffer = MessageBuffer::new(limits);
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame?.into_data() {
            buffer.push(&data);
        }
        if let Some(too_large) = buffer.overflow() {
            return Ok(Received::TooLarge(too_large));
        }
    }
    Ok(buffer.finish().unwrap_or_else(|| Received::Message(Message::Memory(Vec::new()))))
}

/// Returns a JSON response.
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

/// Returns a JSON response that is one answer, or a batch of them.
pub(super) fn json_answers(status: StatusCode, answers: &[Vec<u8>], is_batch: bool) -> Response<Body> {
    let answers: Vec<&[u8]> = answers.iter().map(|answer| answer.trim_ascii_end()).collect();
    match answers.as_slice() {
        [one] if !is_batch => json(status, one.to_vec()),
        many => json(status, [b"[", many.join(&b","[..]).as_slice(), b"]"].concat()),
    }
}

/// Runs work that may take long on a blocking thread; returns `None` if it panics.
async fn run_blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    tokio::task::spawn_blocking(work).await.ok()
}

/// Hands a message of the server to a link; returns what to do once it is shaped, if it has to be.
pub(super) async fn from_server(link: &Arc<Link>, message: ServerMessage) -> ServerOutcome {
    let mut outcome = match message.message.is_larger_than(MAX_INLINE_BYTES) {
        false => link.parsed_from_server(message),
        true => {
            let link = Arc::clone(link);
            run_blocking(move || link.parsed_from_server(message)).await.unwrap_or_default()
        }
    };
    if let Some(job) = outcome.shape_job.take() {
        let link = Arc::clone(link);
        let shaped = run_blocking(move || link.finish(*job)).await.unwrap_or_default();
        outcome = merge(outcome, shaped);
    }
    outcome
}

/// Hands a message of the server to a link, and calls back with what to forward and the code of an error response: at once
/// if nothing takes long.
pub(super) fn pass_on(
    link: Arc<Link>,
    message: ServerMessage,
    log: &Log,
    forward: impl FnOnce(Message, Option<i64>) + Send + 'static,
) {
    let log = Arc::clone(log);
    let finish = move |outcome: ServerOutcome| {
        outcome.dropped.iter().for_each(|reason| log(reason));
        if let Some(message) = outcome.forward {
            forward(message, outcome.error_code);
        }
    };
    if message.message.is_larger_than(MAX_INLINE_BYTES) {
        tokio::spawn(async move { finish(from_server(&link, message).await) });
        return;
    }
    let mut outcome = link.parsed_from_server(message);
    match outcome.shape_job.take() {
        None => finish(outcome),
        Some(job) => {
            tokio::task::spawn_blocking(move || finish(merge(outcome, link.finish(*job))));
        }
    }
}

/// Adds the outcome of a shape job to that of the message it came from.
fn merge(first: ServerOutcome, shaped: ServerOutcome) -> ServerOutcome {
    ServerOutcome { dropped: [first.dropped, shaped.dropped].concat(), ..shaped }
}

/// Answers local requests: one answer, or a batch of them.
pub(super) async fn answer(
    link: &Arc<Link>,
    requests: Vec<LocalRequest>,
    is_batch: bool,
    is_modern: bool,
) -> Response<Body> {
    let link = Arc::clone(link);
    // Slow queries wait for each other here, so that the blocking threads stay free for results.
    let _permit = LOCAL_ANSWERS.acquire().await;
    let work = move || requests.iter().map(|request| link.local_answer(request)).collect::<Vec<_>>();
    let answers = run_blocking(work).await.unwrap_or_default();
    let status = match answers.as_slice() {
        [one] if is_modern && !is_batch => modern::status_of(one.error_code),
        _ => StatusCode::OK,
    };
    let lines: Vec<Vec<u8>> = answers.into_iter().map(|answer| answer.line).collect();
    json_answers(status, &lines, is_batch)
}

/// Resolves the references of a call; `None` if the process cannot.
pub(super) async fn resolve(link: &Arc<Link>, call: ResolveJob) -> Option<Resolution> {
    let link = Arc::clone(link);
    // Slow queries wait for each other here too.
    let _permit = LOCAL_ANSWERS.acquire().await;
    run_blocking(move || link.resolve_call(call)).await
}

/// Resolves the references of the only call of a request without a session; returns the call, or the response that it gets
/// instead.
pub(super) async fn resolve_only(link: &Arc<Link>, call: ResolveJob) -> Result<ParsedLine, Refusal> {
    match resolve(link, call).await {
        Some(Resolution::Forward(message)) => Ok(*message),
        Some(Resolution::Answer(refused) | Resolution::Cancelled(refused)) => {
            let status = modern::status_of(refused.error_code);
            Err(Box::new(json_answers(status, &[refused.line], false)))
        }
        None => Err(Box::new(failure(StatusCode::INTERNAL_SERVER_ERROR, -32603, "tidegate failed"))),
    }
}

/// Resolves the references of calls; `forward` gets those that go to a server, and the refusals of others are delivered.
pub(super) fn resolve_all<F>(
    link: &Arc<Link>,
    calls: Vec<ResolveJob>,
    deliveries: &DeliverySender,
    forward: F,
) where
    F: Fn(ParsedLine) + Clone + Send + 'static,
{
    for call in calls {
        let (link, deliveries, forward) = (Arc::clone(link), deliveries.clone(), forward.clone());
        tokio::spawn(async move {
            match resolve(&link, call).await {
                Some(Resolution::Forward(message)) => forward(*message),
                Some(Resolution::Answer(refused) | Resolution::Cancelled(refused)) => {
                    deliver(&deliveries, delivery_of(refused.line.into(), refused.error_code));
                }
                None => {}
            }
        });
    }
}

/// Checks the headers of a request without a session; returns the response that refuses it.
pub(super) fn check_modern(
    headers: &HeaderMap,
    body: &[u8],
    head: Option<&MessageHead>,
) -> Result<(), Refusal> {
    let Some(head) = head.filter(|head| head.kind() == MessageKind::Request) else { return Ok(()) };
    modern::check(headers, body, head).map_err(|error| refused(head, &error))
}

/// Checks that the client accepts every type it may be answered with.
pub(super) fn accepts(headers: &HeaderMap, kinds: &[&str]) -> Result<(), Refusal> {
    let accept =
        headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).collect::<Vec<_>>().join(",");
    let accepts = |kind: &str| {
        let main = kind.split('/').next().unwrap_or_default();
        accept
            .split(',')
            .map(|part| part.split(';').next().unwrap_or_default().trim())
            .any(|part| part == kind || part == "*/*" || part == format!("{main}/*"))
    };
    match kinds.iter().all(|kind| accepts(kind)) {
        true => Ok(()),
        false => {
            refuse(StatusCode::NOT_ACCEPTABLE, "Accept must name application/json and text/event-stream")
        }
    }
}

/// Parses the body of a request; a batch counts as a request. Refuses a body that is not a JSON-RPC message.
pub(super) fn parse_message(body: Vec<u8>) -> Result<(ParsedLine, MessageKind), Refusal> {
    let message = ParsedLine::parse(body);
    let kind = match message.first().map(MessageHead::kind) {
        _ if message.bytes.starts_with(BYTE_ORDER_MARK) => None,
        Some(_) if message.is_batch() => Some(MessageKind::Request),
        Some(MessageKind::Other | MessageKind::Unreadable) => None,
        kind => kind,
    };
    match kind {
        Some(kind) => Ok((message, kind)),
        None => Err(Box::new(failure(StatusCode::BAD_REQUEST, -32700, "the body is not a JSON-RPC message"))),
    }
}

/// Reads the only message of a request without a session, and checks it. Returns `None` for a notification: a client cancels
/// by closing its connection, and there is nothing else it has to notify of.
pub(super) fn modern_request(headers: &HeaderMap, body: Vec<u8>) -> Result<Option<ParsedLine>, Refusal> {
    accepts(headers, &["application/json", "text/event-stream"])?;
    let (message, kind) = parse_message(body)?;
    if message.is_batch() {
        return refuse(StatusCode::BAD_REQUEST, "there are no batches in this protocol version");
    }
    match kind {
        MessageKind::Notification => Ok(None),
        MessageKind::Request => check_only(headers, &message).map(|()| Some(message)),
        _ => refuse(StatusCode::BAD_REQUEST, "only requests and notifications are possible"),
    }
}

/// Checks the only message of a request without a session, which must not begin one: it would be that of a server that
/// all clients share.
fn check_only(headers: &HeaderMap, message: &ParsedLine) -> Result<(), Refusal> {
    let head = message.first();
    check_modern(headers, &message.bytes, head)?;
    match head.filter(|head| head.method() == "initialize") {
        None => Ok(()),
        Some(head) => {
            let message = "there are no sessions in this protocol version; send server/discover".into();
            Err(refused(head, &RpcError { code: -32601, message }))
        }
    }
}

/// Checks the arguments that the called tool wants repeated in headers.
pub(super) fn check_header_arguments(
    known: &HeaderArguments,
    headers: &HeaderMap,
    message: &ParsedLine,
) -> Result<(), Refusal> {
    let head = message.first().filter(|head| head.method() == "tools/call");
    let Some((head, params)) = head.and_then(|head| Some((head, head.params.as_ref()?))) else {
        return Ok(());
    };
    known
        .check(headers, &message.bytes, params)
        .map_err(|error| Box::new(json(StatusCode::BAD_REQUEST, error_response(head.id_bytes(), &error))))
}

fn refused(head: &MessageHead, error: &RpcError) -> Refusal {
    Box::new(json(modern::status_of(Some(error.code)), error_response(head.id_bytes(), error)))
}
