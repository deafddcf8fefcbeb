//! A dispatcher: one tool that calls any other, for servers whose tool list would be too long.
//!
//! A call through the dispatcher counts as a call of the tool it names: that tool's `#[heavy]` settings and tier apply,
//! and continuation tokens belong to that tool.
//!
//! A dispatcher may hide the tools it fronts. Then a client lists the dispatcher alone, which names the tools and what each
//! is for, and asks it for the arguments of one with `describe`.

use std::sync::Arc;

use rmcp::model::{CallToolRequestParams, Tool};
use serde_json::{Map, Value, json};

use crate::text::first_chars;

/// A tool that calls any other tool of the server by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dispatcher {
    pub(crate) name: &'static str,
    description: &'static str,
    pub(crate) hides: bool,
}

/// Characters of a tool's description beside its name.
const MAX_PURPOSE_CHARS: usize = 80;

/// What a call of the dispatcher requests.
pub(crate) enum Dispatched {
    /// The call of a tool.
    Call(CallToolRequestParams),
    /// The description of the tool with this name.
    Describe(String),
}

impl Dispatcher {
    /// Returns a dispatcher with this tool name and description.
    pub fn new(name: &'static str, description: &'static str) -> Self {
        Self { name, description, hides: false }
    }

    /// Returns a dispatcher that hides the tools it fronts from the list.
    #[must_use]
    pub fn hiding(self) -> Self {
        Self { hides: true, ..self }
    }

    /// Returns the tool definition, which lists the names of the tools it can call.
    pub(crate) fn tool(&self, tools: &[Tool]) -> Tool {
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_ref()).collect();
        let mut schema = Map::new();
        schema.insert("type".into(), "object".into());
        let mut properties = json!({
            "tool": { "type": "string", "enum": names, "description": "Which tool to call" },
            "arguments": { "type": "object", "description": "Its arguments" },
        });
        if self.hides {
            let purposes: Vec<String> = tools.iter().map(purpose).collect();
            properties["tool"]["description"] = format!("Which tool to call. {}", purposes.join("; ")).into();
            properties["describe"] = json!({
                "type": "boolean",
                "description": "true: return the description and the arguments of the tool instead of calling it",
            });
        }
        schema.insert("properties".into(), properties);
        schema.insert("required".into(), json!(["tool"]));
        Tool::new(self.name, self.description, Arc::new(schema))
    }

    /// Returns what a call of the dispatcher requests.
    pub(crate) fn dispatch(&self, call: &CallToolRequestParams) -> Result<Dispatched, String> {
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
        if self.hides && arguments.get("describe") == Some(&Value::Bool(true)) {
            return Ok(Dispatched::Describe(tool));
        }
        let mut params = call.clone();
        params.name = tool.into();
        params.arguments = given;
        Ok(Dispatched::Call(params))
    }
}

/// Returns the name of a tool and the first sentence about it.
fn purpose(tool: &Tool) -> String {
    let description = tool.description.as_deref().unwrap_or_default();
    let sentence = description.split(". ").next().unwrap_or_default().trim_end_matches('.');
    match first_chars(sentence, MAX_PURPOSE_CHARS) {
        "" => tool.name.to_string(),
        words => format!("{}: {words}", tool.name),
    }
}
