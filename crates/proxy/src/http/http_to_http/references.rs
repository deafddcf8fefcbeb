//! Calls with references, on their way from an HTTP client to an HTTP server: the values are in the body before it is sent,
//! and the headers that repeat arguments repeat the values.

use std::sync::Arc;

use hyper::header::HeaderMap;
use tidegate_gate::is_reference;
use tidegate_gate::raw;

use crate::http::exchange;
use crate::http::headers::{HeaderArguments, PARAMETER_PREFIX};
use crate::http::modern::decode;
use crate::link::{Link, Resolution, ResolveJob};
use crate::message::ParsedLine;

/// Calls whose references were resolved.
#[derive(Default)]
pub(super) struct ResolvedCalls {
    /// Those that go to the server.
    pub(super) forward: Vec<ParsedLine>,
    /// The responses to the others, and the code of each that is an error.
    pub(super) answers: Vec<(Vec<u8>, Option<i64>)>,
}

/// Resolves the references of calls.
pub(super) async fn resolve_all(link: &Arc<Link>, calls: Vec<ResolveJob>) -> ResolvedCalls {
    let mut resolved = ResolvedCalls::default();
    for call in calls {
        match exchange::resolve(link, call).await {
            Some(Resolution::Forward(message)) => resolved.forward.push(*message),
            Some(Resolution::Answer(refused) | Resolution::Cancelled(refused)) => {
                resolved.answers.push((refused.line, refused.error_code));
            }
            None => {}
        }
    }
    resolved
}

/// Returns one body with all messages that go to the server; `None` if there are none.
pub(super) fn join(message: Option<ParsedLine>, calls: Vec<ParsedLine>, is_batch: bool) -> Option<Vec<u8>> {
    if calls.is_empty() {
        return message.map(|message| message.bytes);
    }
    let other = message.map(|message| message.bytes).unwrap_or_default();
    let other = other.trim_ascii();
    let inside = other.strip_prefix(b"[").and_then(|other| other.strip_suffix(b"]")).unwrap_or(other);
    let mut messages: Vec<&[u8]> = vec![inside.trim_ascii()];
    messages.extend(calls.iter().map(|call| call.bytes.as_slice()));
    messages.retain(|message| !message.is_empty());
    let joined = messages.join(&b","[..]);
    Some(if is_batch { [b"[", joined.as_slice(), b"]"].concat() } else { joined })
}

/// Writes the headers of a call anew that repeat arguments.
pub(super) fn renew_headers(headers: &mut HeaderMap, link: &Link, call: &ParsedLine) {
    // Without the schema it is not known which header belongs to which argument; none may name a reference.
    let names: Vec<_> =
        headers.keys().filter(|name| name.as_str().starts_with(PARAMETER_PREFIX)).cloned().collect();
    for name in names {
        let refers = headers.get_all(&name).iter().any(|value| {
            let text = value.to_str().ok().and_then(decode);
            text.is_some_and(|text| is_reference(&text))
        });
        if refers {
            headers.remove(&name);
        }
    }
    let Some(params) = call.first().and_then(|head| head.params.as_ref()) else { return };
    let tool = raw::member(&call.bytes, params, "name").and_then(|name| raw::text(&call.bytes, &name));
    if let Some(tool) = tool
        && let Some(schema) = link.input_schema(&tool)
    {
        HeaderArguments::of_tool(&tool, &schema).renew(headers, &call.bytes, params);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_joined_as_the_client_sent_them() {
        let line = |text: &str| ParsedLine::parse(text.as_bytes().to_vec());
        let joined = |message: Option<&str>, calls: &[&str], is_batch| {
            let calls = calls.iter().map(|call| line(call)).collect();
            join(message.map(line), calls, is_batch).map(|body| String::from_utf8(body).unwrap())
        };
        assert_eq!(joined(None, &[], false), None);
        assert_eq!(joined(Some(" {\"a\":1} "), &[], false).unwrap(), " {\"a\":1} ");
        assert_eq!(joined(None, &["{\"b\":1}"], false).unwrap(), "{\"b\":1}");
        assert_eq!(joined(None, &["{\"b\":1}"], true).unwrap(), "[{\"b\":1}]");
        let both = joined(Some("[ {\"a\":1} ]\n"), &["{\"b\":1}", "{\"c\":1}"], true).unwrap();
        assert_eq!(both, "[{\"a\":1},{\"b\":1},{\"c\":1}]");
    }
}
