//! One tool that fronts many, for servers whose list of tools would be too long. A call through it is a call of the tool
//! it names: what that tool says of itself holds, and tokens are of that tool.

use std::sync::Arc;

use rmcp::model::{CallToolRequestParams, Tool};
use serde_json::{Map, Value, json};

/// A tool that fronts many.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dispatcher {
    pub(crate) name: &'static str,
    description: &'static str,
}

impl Dispatcher {
    /// Returns a tool of this name that fronts all others.
    pub fn new(name: &'static str, description: &'static str) -> Self {
        Self { name, description }
    }

    /// Its definition, with the names of the tools it fronts.
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

    /// The call that a call of this tool stands for.
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
            Some(_) => return Err(format!("{name}: arguments should be an object, the arguments of {tool}")),
        };
        let mut params = call.clone();
        params.name = tool.into();
        params.arguments = given;
        Ok(params)
    }
}
