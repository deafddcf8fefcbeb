//! Arguments that a tool wants repeated in headers: `x-mcp-header` in its schema names them.

use std::collections::HashMap;

use hyper::header::{HeaderMap, HeaderName};
use serde_json::Value;
use tidegate_gate::raw::{self, Place};

use super::modern::encode;

/// The arguments of each tool that go into headers: their path, and the header's name.
#[derive(Debug, Default)]
pub(super) struct Parameters {
    tools: HashMap<String, Vec<(Vec<String>, HeaderName)>>,
}

/// Nesting beyond this is not looked into.
const DEEPEST: usize = 16;

impl Parameters {
    /// Reads them from an answer to `tools/list`.
    pub(super) fn learn(&mut self, message: &[u8]) {
        if memchr::memmem::find(message, b"x-mcp-header").is_none() {
            return;
        }
        let Ok(message) = serde_json::from_slice::<Value>(message) else { return };
        for tool in message["result"]["tools"].as_array().into_iter().flatten() {
            let mut found = Vec::new();
            collect(&tool["inputSchema"], &mut Vec::new(), &mut found);
            if let Some(name) = tool["name"].as_str() {
                self.tools.insert(name.to_owned(), found);
            }
        }
    }

    /// Puts the headers for a call.
    pub(super) fn put(&self, headers: &mut HeaderMap, body: &[u8], params: &Place) {
        let name = raw::member(body, params, "name").and_then(|name| raw::text(body, &name));
        let Some(wanted) = name.and_then(|name| self.tools.get(name.as_ref())) else { return };
        let arguments = raw::member(body, params, "arguments").map(|place| &body[place]);
        let Ok(arguments) = serde_json::from_slice::<Value>(arguments.unwrap_or(b"{}")) else { return };
        for (path, header) in wanted {
            let value = path.iter().fold(&arguments, |value, key| &value[key]);
            let text = match value {
                Value::String(text) => text.clone(),
                Value::Number(number) => number.to_string(),
                Value::Bool(yes) => yes.to_string(),
                _ => continue,
            };
            if let Some(value) = encode(&text) {
                headers.insert(header.clone(), value);
            }
        }
    }
}

fn collect(schema: &Value, path: &mut Vec<String>, found: &mut Vec<(Vec<String>, HeaderName)>) {
    if path.len() > DEEPEST {
        return;
    }
    for (key, property) in schema["properties"].as_object().into_iter().flatten() {
        path.push(key.clone());
        let named =
            property["x-mcp-header"].as_str().map(|name| format!("mcp-param-{}", name.to_lowercase()));
        if let Some(name) = named.and_then(|name| HeaderName::from_bytes(name.as_bytes()).ok()) {
            found.push((path.clone(), name));
        }
        collect(property, path, found);
        path.pop();
    }
}
