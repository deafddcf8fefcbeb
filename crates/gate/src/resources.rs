//! Kept results as resources: `ax://<tool>/<id>`, where a query string selects the view.
//!
//! Reading one is a follow-up like a call of `result_query`, with the query string as its arguments.

use serde_json::{Map, Value, json};
use tidegate_core::Tokens;
use tidegate_core::envelope::handle_name;
use tidegate_core::measure::Meter;
use tidegate_core::view::QueryLanguages;
use tidegate_store::{Artifact, ArtifactId};

use crate::caller::Caller;
use crate::error::{FollowUpError, MAX_MESSAGE_CHARS, RpcError, bounded};
use crate::follow_up::FollowUp;
use crate::raw::{self, Edits};
use crate::tools::{self, make_private};

/// The scheme of our addresses.
const SCHEME: &str = "ax://";
/// The maximum number of results in a list of resources, newest first.
pub(crate) const MAX_LISTED: usize = 50;

/// An address of ours: `ax://<domain>/<id>`, where the id is that of an artifact or a name that a server chose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address<'a> {
    /// The domain.
    pub domain: &'a str,
    /// The id or name.
    pub id: &'a str,
}

impl<'a> Address<'a> {
    /// Reads an address; its query string is ignored.
    pub fn parse(uri: &'a str) -> Option<Self> {
        let path = uri.trim().trim_matches('"').strip_prefix(SCHEME)?.split(['?', '#']).next()?;
        let (domain, id) = path.split_once('/')?;
        (!domain.is_empty() && !id.is_empty()).then_some(Self { domain, id })
    }
}

impl std::fmt::Display for Address<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{SCHEME}{}/{}", self.domain, self.id)
    }
}

/// Returns the domain in the address of a result.
pub(crate) fn domain(tool: &str, domain: Option<&str>) -> String {
    handle_name(domain.unwrap_or(tool), "").trim_end_matches('-').to_owned()
}

/// Returns the address of a result.
pub(crate) fn uri(tool: &str, set: Option<&str>, id: &ArtifactId) -> String {
    Address { domain: &domain(tool, set), id: id.as_str() }.to_string()
}

/// Returns the block that links to a result.
pub(crate) fn link(tool: &str, domain: Option<&str>, id: &ArtifactId) -> String {
    let name = handle_name(tool, id.as_str());
    json!({ "type": "resource_link", "uri": uri(tool, domain, id), "name": name, "mimeType": "text/plain" })
        .to_string()
}

/// Returns whether an address has an id of ours. An upstream may have other addresses with our scheme.
pub(crate) fn is_ours(uri: &str) -> bool {
    Address::parse(uri).is_some_and(|address| ArtifactId::parse_bare(address.id).is_some())
}

/// The maximum number of tokens of our entries in a list of resources.
const MAX_LISTED_TOKENS: Tokens = Tokens(1500);

/// Returns the entries of a list of resources, newest first, as many as [`MAX_LISTED_TOKENS`] allows; `uri_of` returns
/// their addresses.
pub(crate) fn entries(
    artifacts: &[Artifact],
    uri_of: impl Fn(&Artifact) -> String,
    meter: &Meter,
) -> Vec<Value> {
    let mut left = MAX_LISTED_TOKENS;
    let entry = |artifact: &Artifact| {
        let records = artifact.records.map_or_else(String::new, |records| format!("{records} records, "));
        let description = format!("{records}{} bytes, kept until {}", artifact.bytes, artifact.expires);
        json!({
            "uri": uri_of(artifact),
            "name": handle_name(&artifact.tool, artifact.id.as_str()),
            "description": description,
            "mimeType": "text/plain",
        })
    };
    let fits = |entry: &Value| {
        let cost = meter.count(&entry.to_string());
        let fits = cost <= left;
        left = left - cost;
        fits
    };
    artifacts.iter().map(entry).take_while(fits).collect()
}

/// Returns our only template.
pub(crate) fn template(languages: QueryLanguages) -> Value {
    let names: Vec<&str> = tools::arguments(languages).filter(|name| *name != "id").collect();
    json!({
        "uriTemplate": format!("ax://{{tool}}/{{id}}{{?{}}}", names.join(",")),
        "name": "kept-result",
        "description": "Any part of a tool result that was too large to show whole",
        "mimeType": "text/plain",
    })
}

/// Adds entries to the upstream's list; returns `None` if nothing changes.
pub(crate) fn extend(result: &[u8], key: &str, entries: &[Value]) -> Option<Vec<u8>> {
    let whole = raw::whole(result)?;
    let list = raw::member(result, &whole, key)?;
    raw::elements(result, &list)?;
    let mut edits = Edits::new();
    if !entries.is_empty() {
        let joined: Vec<String> = entries.iter().map(Value::to_string).collect();
        edits.append(result, &list, joined.join(",").as_bytes());
    }
    make_private(result, &whole, &mut edits);
    (!edits.is_empty()).then(|| edits.apply(result))
}

/// Reads the query string of an address as the arguments of our tool.
pub(crate) fn follow_up(uri: &str, languages: QueryLanguages) -> Result<FollowUp, FollowUpError> {
    let (address, query) = uri.split_once('?').unwrap_or((uri, ""));
    let mut arguments = Map::new();
    arguments.insert("id".into(), address.into());
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        arguments.insert(decode(name), decode(value).into());
    }
    FollowUp::read(&arguments, languages)
}

/// Decodes `%41` and `+` in a query string; invalid codes stay as they are.
pub(crate) fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let code = bytes
            .get(at + 1..at + 3)
            .filter(|_| byte == b'%')
            .and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(decoded) => {
                out.push(decoded);
                at += 3;
            }
            None => {
                out.push(if byte == b'+' { b' ' } else { byte });
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Returns the error for a resource that cannot be read, in the client's protocol version.
pub(crate) fn refused(caller: &Caller, error: &FollowUpError) -> RpcError {
    match error {
        FollowUpError::Gone(message) if !caller.modern => {
            RpcError { code: -32002, message: bounded(message, MAX_MESSAGE_CHARS) }
        }
        FollowUpError::Store(message) | FollowUpError::Ceiling(message) => {
            RpcError { code: -32603, message: bounded(message, MAX_MESSAGE_CHARS) }
        }
        other => RpcError::invalid_params(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn query_strings_are_views() {
        let asked = follow_up(
            "ax://list/3f9c2kq7m0xw?jq=.%5B0%5D+%7C+%22%C3%A9%22&max_tokens=500",
            QueryLanguages::ALL,
        )
        .unwrap();
        assert_eq!(asked.arguments.jq.as_deref(), Some(".[0] | \"é\""));
        assert_eq!(asked.max_tokens, Some(500));
        assert_eq!(
            follow_up("ax://list/3f9c2kq7m0xw", QueryLanguages::ALL).unwrap().id,
            "ax://list/3f9c2kq7m0xw"
        );
        assert!(follow_up("ax://list/3f9c2kq7m0xw?nope=1", QueryLanguages::ALL).is_err());
        assert_eq!(decode("100%+%zz"), "100% %zz");
    }

    #[test]
    fn only_our_names_are_ours() {
        assert!(is_ours("ax://list/3f9c2kq7m0xw?page=2"));
        let uuid = "ax://trace/550e8400-e29b-41d4-a716-446655440000";
        for other in ["ax://their/own", "file:///3f9c2kq7m0xw", "3f9c2kq7m0xw", uuid] {
            assert!(!is_ours(other), "{other}");
        }
    }

    #[test]
    fn lists_are_extended() {
        let made = extend(br#"{"resources":[],"x":1.0}"#, "resources", &[json!({"uri": "a"})]).unwrap();
        assert_eq!(made, br#"{"resources":[{"uri":"a"}],"x":1.0}"#);
        assert_eq!(extend(br#"{"resources":[]}"#, "resources", &[]), None);
        assert_eq!(extend(b"{}", "resources", &[json!(1)]), None);
    }
}
