//! The headers that protocol version 2026-07-28 requires. They repeat parts of the body, so that intermediaries need not read
//! it; a server that reads the body must check that both agree.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::StatusCode;
use hyper::header::{HeaderMap, HeaderValue};
use tidegate_gate::RpcError;
use tidegate_gate::raw::{self, ByteRange};

use crate::message::MessageHead;

pub(super) const VERSION_HEADER: &str = "mcp-protocol-version";
pub(super) const METHOD_HEADER: &str = "mcp-method";
pub(super) const NAME_HEADER: &str = "mcp-name";
pub(super) const SESSION_HEADER: &str = "mcp-session-id";
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// The first protocol version without sessions.
const FIRST_MODERN_VERSION: &str = "2026-07-28";

/// The code of the error for a protocol version that is not supported.
#[cfg(feature = "gateway")]
const UNSUPPORTED_VERSION: i64 = -32022;
/// The code of the error for headers that differ from the body.
pub(super) const HEADER_MISMATCH: i64 = -32020;

/// Returns whether a request is of a protocol version without sessions, by its version header.
pub(super) fn is_modern(headers: &HeaderMap) -> bool {
    headers
        .get(VERSION_HEADER)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|version| version >= FIRST_MODERN_VERSION)
}

/// Returns the error for a request of a protocol version that is not supported, as JSON; `None` if it is supported.
#[cfg(feature = "gateway")]
pub(super) fn unsupported(headers: &HeaderMap, id: &[u8]) -> Option<Vec<u8>> {
    let requested = headers.get(VERSION_HEADER).and_then(|value| value.to_str().ok()).and_then(decode);
    let requested = requested.filter(|version| version != FIRST_MODERN_VERSION)?;
    let data = serde_json::json!({"supported": [FIRST_MODERN_VERSION], "requested": requested});
    let message = format!("the protocol version {requested} is not supported; {FIRST_MODERN_VERSION} is");
    let error = serde_json::json!({"code": UNSUPPORTED_VERSION, "message": message, "data": data});
    Some([br#"{"jsonrpc":"2.0","id":"#, id, br#","error":"#, error.to_string().as_bytes(), b"}"].concat())
}

/// Returns the member of the params that `Mcp-Name` repeats.
fn name_key(method: &str) -> Option<&'static str> {
    match method {
        "tools/call" | "prompts/get" => Some("name"),
        "resources/read" => Some("uri"),
        _ => None,
    }
}

fn name_of<'b>(body: &'b [u8], method: &str, params: Option<&ByteRange>) -> Option<Cow<'b, str>> {
    let name = raw::member(body, params?, name_key(method)?)?;
    raw::text(body, &name)
}

/// Checks that the headers of a request agree with its body.
pub(super) fn check(headers: &HeaderMap, body: &[u8], head: &MessageHead) -> Result<(), RpcError> {
    let (method, params) = (head.method(), head.params.as_ref());
    let invalid = |message: String| Err(RpcError { code: -32602, message });
    let meta = params.and_then(|params| raw::member(body, params, "_meta"));
    let Some(meta) = meta.filter(|meta| body[meta.start] == b'{') else {
        return invalid(format!("params._meta must be an object with {VERSION} and {CAPABILITIES}"));
    };
    for key in [VERSION, CAPABILITIES] {
        if raw::member(body, &meta, key).is_none() {
            return invalid(format!("params._meta is missing the required key {key}"));
        }
    }
    for name in [VERSION_HEADER, METHOD_HEADER, NAME_HEADER] {
        if headers.get_all(name).iter().count() > 1 {
            return Err(RpcError {
                code: HEADER_MISMATCH,
                message: format!("the header {name} occurs more than once"),
            });
        }
    }
    let version = raw::member(body, &meta, VERSION).and_then(|place| raw::text(body, &place));
    agree(headers, VERSION_HEADER, version.as_deref())?;
    agree(headers, METHOD_HEADER, Some(method))?;
    if let Some(name) = name_of(body, method, params) {
        agree(headers, NAME_HEADER, Some(&name))?;
    }
    Ok(())
}

fn agree(headers: &HeaderMap, name: &str, expected: Option<&str>) -> Result<(), RpcError> {
    let given = headers.get(name).and_then(|value| value.to_str().ok()).and_then(decode);
    if given.is_some() && given.as_deref() == expected {
        return Ok(());
    }
    let given = given.map_or_else(|| "is missing".to_owned(), |given| format!("is {given:?}"));
    Err(RpcError {
        code: HEADER_MISMATCH,
        message: format!("the header {name} {given}, which differs from the body"),
    })
}

/// Decodes a header value, which is base64 if it could not be written otherwise.
pub(super) fn decode(value: &str) -> Option<String> {
    match value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) {
        Some(encoded) => String::from_utf8(STANDARD.decode(encoded).ok()?).ok(),
        None => Some(value.to_owned()),
    }
}

/// Encodes a value for a header.
pub(super) fn encode(value: &str) -> Option<HeaderValue> {
    let plain = value.bytes().all(|byte| (0x20..0x7f).contains(&byte))
        && value.trim() == value
        && !value.starts_with("=?");
    let text = if plain { value.to_owned() } else { format!("=?base64?{}?=", STANDARD.encode(value)) };
    HeaderValue::from_str(&text).ok()
}

/// Adds the headers that repeat parts of a body; returns whether the message is of a protocol version without sessions.
pub(super) fn put(headers: &mut HeaderMap, body: &[u8], head: &MessageHead) -> bool {
    let (method, params) = (head.method(), head.params.as_ref());
    let meta = params.and_then(|params| raw::member(body, params, "_meta"));
    let version =
        meta.and_then(|meta| raw::member(body, &meta, VERSION)).and_then(|place| raw::text(body, &place));
    let Some(version) = version else { return false };
    let name_value = name_of(body, method, params);
    for (name, value) in [
        (VERSION_HEADER, Some(version.as_ref())),
        (METHOD_HEADER, Some(method)),
        (NAME_HEADER, name_value.as_deref()),
    ] {
        if let Some(value) = value.and_then(encode) {
            headers.insert(name, value);
        }
    }
    true
}

/// Returns the status of the response to a request without a session, by the code of its error.
pub(super) fn status_of(error_code: Option<i64>) -> StatusCode {
    match error_code {
        Some(-32601) => StatusCode::NOT_FOUND,
        Some(-32700 | -32600 | -32602 | -32022..=-32020) => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::parse_heads;

    fn headers(fields: &[(&'static str, &str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in fields {
            map.append(*name, HeaderValue::from_str(value).unwrap());
        }
        map
    }

    #[test]
    fn headers_must_agree_with_the_body() {
        let body = r#"{"method":"tools/call","params":{"name":"ü","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#.as_bytes();
        let right =
            [(VERSION_HEADER, "2026-07-28"), (METHOD_HEADER, "tools/call"), (NAME_HEADER, "=?base64?w7w=?=")];
        let code = |fields: &[(&'static str, &str)]| {
            check(&headers(fields), body, &parse_heads(body).unwrap()[0]).map_err(|error| error.code)
        };
        assert_eq!(code(&right), Ok(()));
        for at in 0..right.len() {
            let mut changed = right;
            changed[at].1 = "other";
            assert_eq!(code(&changed), Err(-32020), "{}", right[at].0);
            let without: Vec<_> = right.iter().copied().filter(|field| field.0 != right[at].0).collect();
            assert_eq!(code(&without), Err(-32020), "without {}", right[at].0);
            let twice: Vec<_> = right.iter().copied().chain([right[at]]).collect();
            assert_eq!(code(&twice), Err(-32020), "{} twice", right[at].0);
        }
        let bare = br#"{"method":"tools/list","params":{}}"#;
        let head = &parse_heads(bare).unwrap()[0];
        assert_eq!(check(&headers(&right), bare, head).unwrap_err().code, -32602);
    }

    #[test]
    fn values_survive_a_header() {
        for value in ["plain", "with space", " padded ", "ü 世界", "", "=?base64?x?=", "tab\t"] {
            let encoded = encode(value).unwrap();
            assert_eq!(decode(encoded.to_str().unwrap()).as_deref(), Some(value));
        }
    }
}
