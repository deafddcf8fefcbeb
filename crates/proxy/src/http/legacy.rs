//! What a request of a legacy client says about its session, and how it listens there: the same wherever the session leads.

use hyper::header::{HeaderMap, HeaderValue};
use hyper::{Response, StatusCode};

use super::body::{Body, full, stream};
use super::exchange::{Refusal, refuse};
use super::http_to_stdio::Answer;
use super::modern::{SESSION_HEADER, VERSION_HEADER};
use super::respond;
use super::session::{LISTENING, NotConnected, Session, parse_event_id};

/// The first protocol version whose clients accept an event without data at the start of a stream.
const FIRST_VERSION_WITH_EMPTY_EVENTS: &[u8] = b"2025-11-25";
/// The protocol versions with sessions.
pub(super) const LEGACY_VERSIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// Returns the id of the session that a request names.
pub(super) fn session_id(headers: &HeaderMap) -> Result<&str, Refusal> {
    match headers.get(SESSION_HEADER).and_then(|id| id.to_str().ok()) {
        Some(id) => Ok(id),
        None => refuse(
            StatusCode::BAD_REQUEST,
            "Mcp-Session-Id is missing: send initialize, then the id it returns",
        ),
    }
}

/// Refuses a request whose session is not known.
pub(super) fn unknown_session<T>() -> Result<T, Refusal> {
    refuse(StatusCode::NOT_FOUND, "this session does not exist or has ended; send initialize")
}

/// Refuses a version of the protocol that legacy clients do not have.
pub(super) fn check_version(headers: &HeaderMap) -> Result<(), Refusal> {
    match headers.get(VERSION_HEADER).map(HeaderValue::as_bytes) {
        Some(version) if !LEGACY_VERSIONS.iter().any(|known| known.as_bytes() == version) => {
            refuse(StatusCode::BAD_REQUEST, "this MCP-Protocol-Version is not supported")
        }
        _ => Ok(()),
    }
}

/// Returns whether a client understands events without data.
pub(super) fn takes_empty_events(headers: &HeaderMap) -> bool {
    let version = headers.get(VERSION_HEADER);
    version.is_some_and(|version| version.as_bytes() >= FIRST_VERSION_WITH_EMPTY_EVENTS)
}

/// Connects a client that wants to listen, or resumes the stream that it names.
pub(super) fn listen<S>(session: &Session<S>, headers: &HeaderMap) -> Answer {
    match last_event_id(headers) {
        None => connect(session, (LISTENING, None)),
        Some(id) => match parse_event_id(id) {
            Some((number, event)) => connect(session, (number, Some(event))),
            None => refuse_event_id(),
        },
    }
}

/// Returns the event after which a client wants to go on.
pub(super) fn last_event_id(headers: &HeaderMap) -> Option<&str> {
    headers.get("last-event-id").and_then(|id| id.to_str().ok())
}

/// Connects a client to a stream, after an event.
pub(super) fn connect<S>(session: &Session<S>, (number, after): (u64, Option<u64>)) -> Answer {
    let (sender, body) = stream();
    match session.connect(number, after, &sender) {
        Ok(()) => Ok(respond::events(&session.id, body)),
        Err(NotConnected::Taken) => {
            refuse(StatusCode::CONFLICT, "another client listens on this stream already")
        }
        Err(NotConnected::Forgotten) => refuse_forgotten(),
    }
}

/// Refuses to resume a stream whose events are gone.
pub(super) fn refuse_forgotten() -> Answer {
    refuse(
        StatusCode::NOT_FOUND,
        "the events of this stream are no longer kept; send the request again if it is safe",
    )
}

/// Refuses an event id that is none.
pub(super) fn refuse_event_id() -> Answer {
    refuse(StatusCode::BAD_REQUEST, "this Last-Event-ID is invalid")
}

/// Returns the response to a client that ended its session.
pub(super) fn ended() -> Response<Body> {
    let mut response = Response::new(full(""));
    *response.status_mut() = StatusCode::OK;
    response
}
