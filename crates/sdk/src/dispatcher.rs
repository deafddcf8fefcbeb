//! A dispatcher: one tool that calls any other, for servers whose tool list would be too long.
//!
//! A call through the dispatcher counts as a call of the tool it names: that tool's `#[heavy]` settings and tier apply,
//! and continuation tokens belong to that tool.

use std::sync::Arc;

use rmcp::model::{CallToolRequestParams, Tool};
use serde_json::{Map, Value, json};

/// A tool that calls any other tool of the server by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dispatcher {
    pub(crate) name: &'static str,
    description: &'static str,
}

impl Dispatcher {
    /// Returns a dispatcher with this tool name and description.
    pub fn new(name: &'static str, description: &'static str) -> Self {
        Self { name, description }
    }

    /// Returns the tool definition, which lists the names of the tools it can call.
    pub(crate) fn tool(&self, tools: &[Tool]) -> Tool {
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_ref()).collect();
        let mut schema = Map::new();
        schema.insert("type".into(), "object".into());
        schema.insert(
            "properties".into(),
            json!({
                "tool": { "type": "string", "enum": names, "description": "Which tool to call" },
                "arguments": { "type": "object", "description": "Its arguments" },
            }),
        );
        schema.insert("required".into(), json!(["tool"]));
        Tool::new(self.name, self.description, Arc::new(schema))
    }

    /// Returns the call of the named tool that a call of the dispatcher requests.
    pub(crate) fn dispatch(&self, call: &CallToolRequestParams) -> Result<CallToolRequestParams, String> {
        let name = self.name;
        let arguments = call.arguments.clone().unwrap_or_default();
        let tool = match arguments.get("tool") {
            Some(Value::String(tool)) if tool != name => tool.clone(),
            Some(Value::String(_)) => return Err(format!("{name} cannot call itself; name another tool")),
            _ => {
                return Err(format!(
                    "{name} needs {{\"tool\": \"...\", \"arguments\": {{...}}}}; tool is a name from tools/list"
                ));
            }
        };
        let given = match arguments.get("arguments") {
            None | Some(Value::Null) => None,
            Some(Value::Object(given)) => Some(given.clone()),
            Some(_) => {
                return Err(format!("{name}: arguments must be an object with the arguments of {tool}"));
            }
        };
        let mut params = call.clone();
        params.name = tool.into();
        params.arguments = given;
        Ok(params)
    }
}
