//! Arguments that a tool wants repeated in headers.
//!
//! `x-mcp-header` in the input schema of a tool names the header `mcp-param-...` for an argument. A client adds these
//! headers to a call, and the server that reads the body must check that both agree.

use std::collections::HashMap;

use hyper::header::{HeaderMap, HeaderName};
use serde_json::Value;
use tidegate_gate::RpcError;
use tidegate_gate::raw::{self, ByteRange};

use super::modern::{HEADER_MISMATCH, decode, encode};

/// The arguments of each tool that are repeated in headers: their paths and the names of the headers.
#[derive(Debug, Default)]
pub(super) struct HeaderArguments {
    tools: HashMap<String, Vec<(Vec<String>, HeaderName)>>,
}

/// What the name of every such header begins with.
pub(super) const PARAMETER_PREFIX: &str = "mcp-param-";
/// How deep a schema is searched.
const MAX_SCHEMA_DEPTH: usize = 16;

impl HeaderArguments {
    /// Returns those of a tool with an input schema.
    pub(super) fn of_tool(tool: &str, input_schema: &Value) -> Self {
        let mut of_tool = Self::default();
        of_tool.add(tool, input_schema);
        of_tool
    }

    /// Adds those of a tool.
    pub(super) fn add(&mut self, tool: &str, input_schema: &Value) {
        let mut found = Vec::new();
        collect(input_schema, &mut Vec::new(), &mut found);
        self.tools.insert(tool.to_owned(), found);
    }

    /// Learns them from a response to `tools/list`.
    pub(super) fn learn(&mut self, message: &[u8]) {
        if !are_in(message) {
            return;
        }
        let Ok(message) = serde_json::from_slice::<Value>(message) else { return };
        for tool in message["result"]["tools"].as_array().into_iter().flatten() {
            if let Some(name) = tool["name"].as_str() {
                self.add(name, &tool["inputSchema"]);
            }
        }
    }

    /// Returns the path, header and value of each argument of a call that is repeated in a header; the value is `None` if
    /// the call does not give it.
    fn values(&self, body: &[u8], params: &ByteRange) -> Vec<(&[String], &HeaderName, Option<String>)> {
        let name = raw::member(body, params, "name").and_then(|name| raw::text(body, &name));
        let Some(repeated) = name.and_then(|name| self.tools.get(name.as_ref())) else { return Vec::new() };
        let arguments = raw::member(body, params, "arguments").map_or(&b"{}"[..], |range| &body[range]);
        let Ok(arguments) = serde_json::from_slice::<Value>(arguments) else { return Vec::new() };
        let value = |path: &[String]| text_of(path.iter().fold(&arguments, |value, key| &value[key]));
        repeated.iter().map(|(path, header)| (path.as_slice(), header, value(path))).collect()
    }

    /// Checks that the headers of a call agree with its arguments.
    pub(super) fn check(&self, headers: &HeaderMap, body: &[u8], params: &ByteRange) -> Result<(), RpcError> {
        for (path, header, expected) in self.values(body, params) {
            let mut given = headers.get_all(header).iter();
            let (first, more) = (given.next(), given.next().is_some());
            let first = first.map(|value| value.to_str().ok().and_then(decode));
            let agree = match (&first, &expected) {
                (None, None) => true,
                (Some(Some(given)), Some(expected)) => !more && same(given, expected),
                _ => false,
            };
            if !agree {
                let argument = path.join(".");
                let message = format!("the header {header} differs from the argument {argument}");
                return Err(RpcError { code: HEADER_MISMATCH, message });
            }
        }
        Ok(())
    }

    /// Adds the headers for a call.
    pub(super) fn put(&self, headers: &mut HeaderMap, body: &[u8], params: &ByteRange) {
        for (_, header, text) in self.values(body, params) {
            if let Some(value) = text.as_deref().and_then(encode) {
                headers.insert(header.clone(), value);
            }
        }
    }

    /// Writes the headers for a call whose arguments have changed.
    pub(super) fn renew(&self, headers: &mut HeaderMap, body: &[u8], params: &ByteRange) {
        for (_, header, _) in self.values(body, params) {
            headers.remove(header);
        }
        self.put(headers, body, params);
    }
}

/// Returns whether a tool or a list of tools may have such arguments.
pub(super) fn are_in(json: &[u8]) -> bool {
    memchr::memmem::find(json, b"x-mcp-header").is_some()
}

/// Returns a value as it is written in a header.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(yes) => Some(yes.to_string()),
        _ => None,
    }
}

/// Returns whether two texts are the same, also as numbers: `42` and `42.0`.
fn same(one: &str, two: &str) -> bool {
    let plain = |text: &str| {
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'.'))
    };
    let whole = |text: &str| text.trim_end_matches('0').trim_end_matches('.').to_owned();
    let number = |text: &str| if text.contains('.') { whole(text) } else { text.to_owned() };
    one == two || (plain(one) && plain(two) && number(one) == number(two))
}

fn collect(schema: &Value, path: &mut Vec<String>, found: &mut Vec<(Vec<String>, HeaderName)>) {
    if path.len() > MAX_SCHEMA_DEPTH {
        return;
    }
    for (key, property) in schema["properties"].as_object().into_iter().flatten() {
        path.push(key.clone());
        let named = property["x-mcp-header"]
            .as_str()
            .map(|name| format!("{PARAMETER_PREFIX}{}", name.to_lowercase()));
        if let Some(name) = named.and_then(|name| HeaderName::from_bytes(name.as_bytes()).ok()) {
            found.push((path.clone(), name));
        }
        collect(property, path, found);
        path.pop();
    }
}
