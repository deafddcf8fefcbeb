//! Results and responses that we write ourselves.

use serde_json::{Value, json};
use tidegate_core::view::Answer;

use crate::caller::Caller;
use crate::error::RpcError;

/// Returns a tool result with one text block.
pub(crate) fn text_result(caller: &Caller, text: &str, is_error: bool) -> Vec<u8> {
    let mut result = json!({ "content": [{ "type": "text", "text": text }] });
    if is_error {
        result["isError"] = Value::Bool(true);
    }
    complete(caller, result)
}

/// Returns a part of a stored result: its text, and the picture if the caller asked for one.
pub(crate) fn part_result(caller: &Caller, answer: &Answer) -> Vec<u8> {
    let text = json!({ "type": "text", "text": answer.text });
    let picture = answer.picture.as_deref().and_then(|block| serde_json::from_str(block).ok());
    let content: Vec<Value> = [Some(text), picture].into_iter().flatten().collect();
    complete(caller, json!({ "content": content }))
}

/// Returns a result in the form of the client's protocol version.
pub(crate) fn complete(caller: &Caller, mut result: Value) -> Vec<u8> {
    if caller.modern {
        result["resultType"] = "complete".into();
    }
    result.to_string().into_bytes()
}

/// Returns a list of our own; since 2026-07-28 a list says whether it may be cached, and ours must not be.
pub(crate) fn own_list(caller: &Caller, mut result: Value) -> Vec<u8> {
    if caller.modern {
        result["ttlMs"] = 0.into();
        result["cacheScope"] = "private".into();
    }
    complete(caller, result)
}

/// Returns the response that answers a request with a result; `id` is as the client wrote it.
pub fn response(id: &[u8], result: &[u8]) -> Vec<u8> {
    [b"{\"jsonrpc\":\"2.0\",\"id\":", id, b",\"result\":", result, b"}"].concat()
}

/// Returns the response that answers a request with an error.
pub fn error_response(id: &[u8], error: &RpcError) -> Vec<u8> {
    let error = json!({ "code": error.code, "message": error.message }).to_string();
    [b"{\"jsonrpc\":\"2.0\",\"id\":", id, b",\"error\":", error.as_bytes(), b"}"].concat()
}
