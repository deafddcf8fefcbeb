//! What a server over HTTP has answered with, by the status and headers of its response alone.

use hyper::StatusCode;
use hyper::header::{CONNECTION, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName};
use hyper::http::response::Parts;

use super::remote::Remote;
use crate::link::Failure;

/// The headers that concern one connection only, besides those that `Connection` names.
const HOP_HEADERS: [&str; 9] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];
/// The statuses of a server that has another address, and has not processed the request.
const MOVED: [StatusCode; 4] = [
    StatusCode::MOVED_PERMANENTLY,
    StatusCode::FOUND,
    StatusCode::TEMPORARY_REDIRECT,
    StatusCode::PERMANENT_REDIRECT,
];
/// How many characters of a content type or encoding are shown.
const MAX_SHOWN_CHARS: usize = 60;

/// What the body of a response is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyKind {
    Events,
    Json,
    Other,
}

/// Returns what the body of a response is; an error if it must not be read as what it claims to be.
pub(super) fn body_kind(
    remote: &Remote,
    status: StatusCode,
    headers: &HeaderMap,
) -> Result<BodyKind, Failure> {
    if MOVED.contains(&status) {
        // The new address is not shown: it may hold a secret, as the configured one may.
        return Err(Failure::Refused(format!(
            "the server at {} redirects to another address (status {}), which tidegate does not follow; find the new address with `curl -I` and configure it",
            remote.host(),
            status.as_u16()
        )));
    }
    if status.is_redirection() {
        // 303 (See Other) is the answer to a request that was processed.
        return Err(Failure::Answered(format!("with a redirect (status {})", status.as_u16())));
    }
    if status.is_informational() {
        return Err(Failure::Answered(format!("with status {status}")));
    }
    let encodings = headers.get_all(CONTENT_ENCODING).iter();
    let mut encodings =
        encodings.map(|value| String::from_utf8_lossy(value.as_bytes()).trim().to_lowercase());
    if let Some(encoding) = encodings.find(|encoding| !["", "identity"].contains(&encoding.as_str())) {
        let encoding: String = encoding.chars().take(MAX_SHOWN_CHARS).collect();
        return Err(Failure::Answered(format!(
            "with a compressed body (content-encoding {encoding:?}), which was not asked for"
        )));
    }
    Ok(match content_type(headers).as_str() {
        "text/event-stream" => BodyKind::Events,
        "application/json" => BodyKind::Json,
        _ => BodyKind::Other,
    })
}

/// Returns the failure of a request whose response was an error of HTTP; `said` is what the server said about it.
pub(super) fn error_status(status: StatusCode, said: Option<&str>) -> Failure {
    let said = said.map_or_else(String::new, |said| format!(": {said}"));
    match status.as_u16() {
        // The server has not looked at the call, or refused it. After any other error the tool may have run: 408 and 409,
        // for example, may come late.
        400..=407 | 411..=415 | 417 | 421 | 422 | 426 | 428 | 429 | 431 => {
            Failure::Refused(format!("the server answered with status {status}{said}"))
        }
        // A proxy says so of a server that is down, and a server of itself.
        502..=504 => Failure::Unavailable(format!("with status {status}{said}")),
        _ => Failure::Answered(format!("with status {status}{said}")),
    }
}

/// Returns the failure of a request whose response was no answer.
pub(super) fn no_answer(parts: &Parts) -> Failure {
    if !parts.status.is_success() {
        return error_status(parts.status, None);
    }
    let kind: String = content_type(&parts.headers).chars().take(MAX_SHOWN_CHARS).collect();
    Failure::Answered(match kind.as_str() {
        _ if parts.status != StatusCode::OK => format!("with status {} and no message", parts.status),
        "" => "with neither JSON nor events".to_owned(),
        "application/json" | "text/event-stream" => "with a message that does not answer it".to_owned(),
        other => format!("with {other:?}, neither JSON nor events"),
    })
}

fn content_type(headers: &HeaderMap) -> String {
    let value = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Removes the headers that concern one connection only.
pub(super) fn without_hop_headers(mut headers: HeaderMap) -> HeaderMap {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named {
        headers.remove(name);
    }
    for name in HOP_HEADERS {
        headers.remove(name);
    }
    headers
}

#[cfg(test)]
mod tests {
    use hyper::Response;

    use super::*;

    fn kind(status: u16, fields: &[(&'static str, &str)]) -> Result<BodyKind, Failure> {
        let mut response = Response::builder().status(status);
        for (name, value) in fields {
            response = response.header(*name, *value);
        }
        let remote = Remote::new("http://server.example/secret", HeaderMap::new()).unwrap();
        let parts = response.body(()).unwrap().into_parts().0;
        body_kind(&remote, parts.status, &parts.headers)
    }

    #[test]
    fn the_kind_of_a_body_follows_from_its_headers() {
        let json = ("content-type", "Application/JSON; charset=utf-8");
        assert_eq!(kind(200, &[json]), Ok(BodyKind::Json));
        assert_eq!(kind(404, &[json, ("content-encoding", "identity")]), Ok(BodyKind::Json));
        assert_eq!(kind(200, &[("content-type", "text/event-stream")]), Ok(BodyKind::Events));
        assert_eq!(kind(200, &[("content-type", "text/html")]), Ok(BodyKind::Other));
        assert_eq!(kind(202, &[]), Ok(BodyKind::Other));
        assert!(matches!(kind(200, &[json, ("content-encoding", "gzip")]), Err(Failure::Answered(_))));
        assert!(matches!(kind(101, &[]), Err(Failure::Answered(_))));
        let Err(Failure::Refused(reason)) = kind(307, &[("location", "http://evil.example")]) else {
            panic!()
        };
        assert!(reason.contains("http://server.example") && !reason.contains("secret"), "{reason}");
        assert_eq!(kind(303, &[]), Err(Failure::Answered("with a redirect (status 303)".into())));
    }

    #[test]
    fn only_some_errors_prove_that_no_tool_ran() {
        for (status, is_refusal) in [
            (400, true),
            (401, true),
            (404, true),
            (429, true),
            (408, false),
            (409, false),
            (410, false),
            (500, false),
        ] {
            let failure = error_status(StatusCode::from_u16(status).unwrap(), Some("words"));
            assert_eq!(matches!(failure, Failure::Refused(_)), is_refusal, "{status}");
            assert!(failure.reason().ends_with(": words"));
        }
    }

    #[test]
    fn headers_of_one_connection_are_removed() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("connection", "close, X-Named"),
            ("connection", "x-other,"),
            ("x-named", "1"),
            ("x-other", "1"),
            ("x-kept", "1"),
            ("keep-alive", "timeout=5"),
            ("proxy-authorization", "Basic x"),
            ("te", "trailers"),
            ("upgrade", "h2c"),
        ] {
            headers.append(name, value.parse().unwrap());
        }
        let left = without_hop_headers(headers);
        assert_eq!(left.keys().map(HeaderName::as_str).collect::<Vec<_>>(), ["x-kept"]);
    }
}
