//! The lines between an adapter and the service.

use serde_json::{Value, json};
use tidegate_gate::raw::{self, Member};

use super::{Who, member};

/// A line from the adapter.
pub(super) enum AdapterLine<'l> {
    /// A request, before the server handles it.
    Request(Asked),
    /// The id of a request, and the response as a message.
    Response(Vec<u8>, Vec<u8>),
    /// A request whose response will not come.
    Cancel(Vec<u8>),
    /// A session that has ended.
    End(String),
    /// A function to compute, for a call of `tool` if one is named.
    Function { sender: Sender, tool: Option<String>, name: String, input: &'l [u8] },
}

/// A request, before the server handles it.
pub(super) struct Asked {
    pub(super) sender: Sender,
    /// The request as a message.
    pub(super) message: Vec<u8>,
}

/// The id of a line, and whose line it is.
pub(super) struct Sender {
    pub(super) id: Vec<u8>,
    pub(super) session: Option<String>,
    caller: Option<Option<String>>,
}

impl Sender {
    /// Returns who may read what the line stores.
    pub(super) fn who(&self) -> Who {
        match &self.caller {
            None => Who::Everybody,
            Some(Some(name)) => Who::Named(name.clone()),
            Some(None) => Who::Unknown(self.session.clone()),
        }
    }
}

/// The members of a line besides its request, response or function.
const ABOUT: [&str; 4] = ["id", "session", "caller", "tool"];

impl<'l> AdapterLine<'l> {
    /// Reads a line; an error holds the id, if the line has one, and the mistake.
    pub(super) fn read(line: &'l [u8]) -> Result<Self, (Vec<u8>, String)> {
        let null = || b"null".to_vec();
        if serde_json::from_slice::<serde::de::IgnoredAny>(line).is_err() {
            return Err((null(), "the line is not JSON".into()));
        }
        let members = raw::whole(line).and_then(|whole| raw::members(line, &whole));
        let members = members.ok_or_else(|| (null(), "the line is not a JSON object".to_owned()))?;
        let get = |key: &str| {
            members.iter().rfind(|member| member.key == key).map(|member| &line[member.value.clone()])
        };
        if let Some(session) = get("end").and_then(text) {
            return Ok(Self::End(session));
        }
        let id = get("id")
            .filter(|id| is_id(id))
            .ok_or_else(|| (null(), "the line has no `id`, a whole number".to_owned()))?;
        let id = id.to_vec();
        let sender =
            |id| Sender { id, session: get("session").and_then(text), caller: get("caller").map(text) };
        if get("cancel").is_some() {
            return Ok(Self::Cancel(id));
        }
        if let Some(request) = get("request") {
            let method = member(request, "method")
                .ok_or_else(|| (id.clone(), "the request has no `method`".to_owned()))?;
            let params =
                member(request, "params").map_or_else(Vec::new, |params| [b",\"params\":", params].concat());
            let message =
                [b"{\"jsonrpc\":\"2.0\",\"id\":", &id[..], b",\"method\":", method, &params, b"}"].concat();
            return Ok(Self::Request(Asked { sender: sender(id), message }));
        }
        if let Some(response) = get("response") {
            let outcome = ["result", "error"].into_iter().find_map(|key| Some((key, member(response, key)?)));
            let (key, value) = outcome
                .ok_or_else(|| (id.clone(), "the response has neither `result` nor `error`".to_owned()))?;
            let message =
                [b"{\"jsonrpc\":\"2.0\",\"id\":", &id[..], b",\"", key.as_bytes(), b"\":", value, b"}"]
                    .concat();
            return Ok(Self::Response(id, message));
        }
        let is_asked = |member: &&Member<'_>| !ABOUT.contains(&&*member.key);
        match members.iter().find(is_asked) {
            Some(member) => Ok(Self::Function {
                sender: sender(id),
                tool: get("tool").and_then(text),
                name: member.key.to_string(),
                input: &line[member.value.clone()],
            }),
            None => Err((id, "the line has neither `request` nor `response`".into())),
        }
    }
}

/// Returns the line that lets the server handle a request; `changed` is the message if it was changed.
pub(super) fn request_line(id: &[u8], changed: Option<&[u8]>) -> Vec<u8> {
    match changed.and_then(|message| member(message, "params")) {
        Some(params) => [b"{\"id\":", id, b",\"request\":{\"params\":", params, b"}}"].concat(),
        None => [b"{\"id\":", id, b",\"request\":null}"].concat(),
    }
}

/// Returns the line with a response; an empty message means that the response is unchanged.
pub(super) fn response_line(id: &[u8], message: &[u8]) -> Vec<u8> {
    let outcome = ["result", "error"].into_iter().find_map(|key| Some((key, member(message, key)?)));
    match outcome {
        Some((key, value)) => {
            [b"{\"id\":", id, b",\"response\":{\"", key.as_bytes(), b"\":", value, b"}}"].concat()
        }
        None => [b"{\"id\":", id, b",\"response\":null}"].concat(),
    }
}

/// Returns the line with the value of a function.
pub(super) fn value_line(id: &[u8], value: &Value) -> Vec<u8> {
    [b"{\"id\":", id, b",\"value\":", value.to_string().as_bytes(), b"}"].concat()
}

/// Returns the answer to an invalid line.
pub(super) fn failed(id: &[u8], why: &str) -> Vec<u8> {
    [b"{\"id\":", id, b",\"failed\":", json!(why).to_string().as_bytes(), b"}"].concat()
}

/// Returns whether a value is a whole number.
fn is_id(value: &[u8]) -> bool {
    !value.is_empty() && value.len() < 20 && value.iter().all(u8::is_ascii_digit)
}

/// Returns a string; `None` for any other value.
fn text(value: &[u8]) -> Option<String> {
    raw::text(value, &(0..value.len())).map(std::borrow::Cow::into_owned)
}
