//! The demo's server: a typical MCP server, in plain JSON-RPC over stdio.
//!
//! It knows nothing of tidegate. `list_tickets` returns every ticket whole, `get_ticket` one of them.

use std::io::{self, BufRead, Write};

use serde_json::{Value, json};

use super::tickets;

/// The hidden subcommand that runs the server.
pub(crate) const SUBCOMMAND: &str = "__demo-server";
/// The tool whose result floods the context.
pub(super) const LIST_TICKETS: &str = "list_tickets";
const GET_TICKET: &str = "get_ticket";

/// The protocol version it speaks.
const PROTOCOL_VERSION: &str = "2025-11-25";
const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;

/// A JSON-RPC error: its code and message.
type RpcError = (i64, String);

/// Serves on stdin and stdout until the input ends; returns the exit code.
pub(crate) fn main() -> u8 {
    u8::from(serve(io::stdin().lock(), io::stdout().lock()).is_err())
}

fn serve(input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    for line in input.lines() {
        let Ok(message) = serde_json::from_str::<Value>(&line?) else { continue };
        // A notification has no id and gets no answer.
        let (Some(id), Some(method)) = (message.get("id"), message["method"].as_str()) else { continue };
        let response = match answer(method, &message["params"]) {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            Err((code, message)) => {
                json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
            }
        };
        writeln!(output, "{response}")?;
        output.flush()?;
    }
    Ok(())
}

fn answer(method: &str, params: &Value) -> Result<Value, RpcError> {
    match method {
        "initialize" => Ok(json!({
            "protocolVersion": PROTOCOL_VERSION,
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "tickets", "version": env!("CARGO_PKG_VERSION") },
        })),
        "ping" => Ok(json!({})),
        "tools/list" => Ok(json!({ "tools": tools() })),
        "tools/call" => call(params["name"].as_str().unwrap_or_default(), &params["arguments"]),
        other => Err((METHOD_NOT_FOUND, format!("unknown method {other}"))),
    }
}

fn tools() -> Value {
    json!([
        {
            "name": LIST_TICKETS,
            "description": "List all support tickets with their full text",
            "inputSchema": { "type": "object", "properties": {} },
            "annotations": { "readOnlyHint": true },
        },
        {
            "name": GET_TICKET,
            "description": "Get one support ticket",
            "inputSchema": {
                "type": "object",
                "properties": { "id": { "type": "string", "description": "Ticket id, such as T-1001" } },
                "required": ["id"],
            },
            "annotations": { "readOnlyHint": true },
        },
    ])
}

fn call(tool: &str, arguments: &Value) -> Result<Value, RpcError> {
    match tool {
        LIST_TICKETS => Ok(text_result(&Value::Array((0..tickets::COUNT).map(tickets::ticket).collect()))),
        GET_TICKET => {
            let mut all = (0..tickets::COUNT).map(tickets::ticket);
            let found = all.find(|ticket| ticket["id"] == arguments["id"]);
            found
                .map(|ticket| text_result(&ticket))
                .ok_or_else(|| (INVALID_PARAMS, format!("there is no ticket {}", arguments["id"])))
        }
        other => Err((INVALID_PARAMS, format!("unknown tool {other}"))),
    }
}

fn text_result(value: &Value) -> Value {
    json!({ "content": [{ "type": "text", "text": value.to_string() }] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_answered_and_notifications_are_not() {
        let input = [
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            "not JSON",
            r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"get_ticket","arguments":{"id":"T-1003"}}}"#,
            r#"{"jsonrpc":"2.0","id":3,"method":"resources/list"}"#,
        ]
        .join("\n");
        let mut output = Vec::new();
        serve(input.as_bytes(), &mut output).unwrap();
        let answers: Vec<Value> = output
            .split(|byte| *byte == b'\n')
            .filter_map(|line| serde_json::from_slice(line).ok())
            .collect();
        assert_eq!(answers.len(), 3, "{answers:?}");
        assert_eq!(answers[0]["result"]["protocolVersion"], PROTOCOL_VERSION);
        let ticket: Value =
            serde_json::from_str(answers[1]["result"]["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!((answers[1]["id"].as_str(), ticket["id"].as_str()), (Some("a"), Some("T-1003")));
        assert_eq!(answers[2]["error"]["code"], METHOD_NOT_FOUND);
    }
}
