//! What a server of protocol version 2026-07-28 asks of a client with a session.
//!
//! Such a server cannot send requests: it answers `input_required`, with its questions, and expects the same request again with
//! the answers and its `requestState`. Older clients do not know that, but they answer requests. So the gateway asks them in
//! the stream of their request, and continues the request at the server with what they answered. Nothing runs twice: this is
//! how this version of the protocol continues a request.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tidegate_gate::RpcError;
use tidegate_gate::raw::{self, Edits};

use super::Gateway;
use super::client::ClientSession;
use super::dispatch::Asker;
use super::route::{Route, ServerRoute};
use crate::http::shared_server::{self, Delivery, DeliverySender, deliver};
use crate::message::ParsedLine;
use crate::spool::Message;

/// How often a server may ask before it answers one request.
const MAX_ROUNDS: usize = 16;
/// How many questions it may ask at once.
const MAX_QUESTIONS_AT_ONCE: usize = 32;
/// How long a client may take to answer, with its user.
const MAX_ANSWER_TIME: Duration = Duration::from_secs(3600);
/// How long to wait before a request is continued whose server asks nothing.
const ROUND_PAUSE: Duration = Duration::from_secs(1);
/// The questions that servers may ask, and the capability that a client needs for each.
const QUESTIONS: [(&str, &str); 3] =
    [("elicitation/create", "elicitation"), ("sampling/createMessage", "sampling"), ("roots/list", "roots")];

/// What a server needs before it can answer a request.
pub(super) struct InputRequired {
    questions: Map<String, Value>,
    state: Option<Value>,
}

/// Returns what a response asks of the client, if it does.
pub(super) fn input_required(message: &Message) -> Option<InputRequired> {
    let message = ParsedLine::parse(message.as_bytes()?.to_vec());
    let result = message.first()?.result.clone()?;
    let kind = raw::member(&message.bytes, &result, "resultType")?;
    if &message.bytes[kind] != br#""input_required""# {
        return None;
    }
    let mut result: Value = serde_json::from_slice(&message.bytes[result]).ok()?;
    let questions = match result["inputRequests"].take() {
        Value::Object(questions) => questions,
        _ => Map::new(),
    };
    let state = result.as_object_mut()?.remove("requestState");
    Some(InputRequired { questions, state })
}

fn refused(message: String) -> RpcError {
    RpcError { code: -32000, message }
}

/// A question that the client has not answered. When it is dropped, the client is told that nobody waits for the answer.
struct OpenQuestion<'q> {
    id: Vec<u8>,
    deliveries: &'q DeliverySender,
    is_answered: bool,
}

impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        if !self.is_answered {
            let id: Value = serde_json::from_slice(&self.id).unwrap_or_default();
            let params = json!({"requestId": id, "reason": "the request it belongs to has ended"});
            say(
                self.deliveries,
                &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}),
            );
        }
    }
}

/// Sends a message on the stream of a request.
fn say(deliveries: &DeliverySender, message: &Value) {
    let message = shared_server::response(message.to_string().into_bytes().into(), None);
    deliver(deliveries, Delivery { is_response: false, ..message });
}

impl Gateway {
    /// Asks the client what its server needs; returns the request with the answers, and where it goes. `listed` is the request
    /// as the client sent it.
    pub(super) async fn fulfil(
        &self,
        asker: &Asker,
        listed: &ParsedLine,
        required: InputRequired,
        round: usize,
    ) -> Result<(ParsedLine, ServerRoute), RpcError> {
        if round >= MAX_ROUNDS || required.questions.len() > MAX_QUESTIONS_AT_ONCE {
            return Err(refused("the server asked too many questions before it answered".into()));
        }
        let Some(session) = &asker.session else { return Err(refused("the client has no session".into())) };
        if required.questions.is_empty() {
            tokio::time::sleep(ROUND_PAUSE).await;
        }
        let mut answers = Map::new();
        for (key, question) in &required.questions {
            answers.insert(key.clone(), ask_client(session, &asker.deliveries, question).await?);
        }
        let continued = continued(listed, answers, required.state);
        // The response to the last round has closed the request, so that this is a new one to the link.
        let (forward, _) = asker.exchange.parsed_from_client(continued);
        let route =
            forward.as_ref().and_then(|forward| self.route_of(&asker.principal, Some(session), forward));
        match (forward, route) {
            (Some(forward), Some(Route::Server(way))) => Ok((forward, way)),
            _ => Err(refused("the request could not be continued with the answers of the client".into())),
        }
    }
}

/// Asks the client of a session one question; returns its answer.
async fn ask_client(
    session: &Arc<ClientSession>,
    deliveries: &DeliverySender,
    question: &Value,
) -> Result<Value, RpcError> {
    let method = question["method"].as_str().unwrap_or_default();
    let known = QUESTIONS.iter().find(|(known, _)| *known == method);
    let can = |capability: &str| session.server.introduction.capabilities.get(capability).is_some();
    if !known.is_some_and(|(_, capability)| can(capability)) {
        return Err(refused(format!(
            "the server asks the client {method:?}, which this client does not support"
        )));
    }
    let too_many = || refused("too many requests wait for this client; try again later".into());
    let (id, answer) = session.server.ask_itself().ok_or_else(too_many)?;
    let mut open = OpenQuestion { id, deliveries, is_answered: false };
    let id: Value = serde_json::from_slice(&open.id).unwrap_or_default();
    let mut request = json!({"jsonrpc": "2.0", "id": id, "method": method});
    if let Some(params) = question.get("params").filter(|params| params.is_object()) {
        request["params"] = params.clone();
    }
    say(deliveries, &request);
    let answer = tokio::time::timeout(MAX_ANSWER_TIME, answer).await.ok().and_then(Result::ok);
    let Some(mut answer) = answer else {
        return Err(refused(format!("the client did not answer {method} of the server")));
    };
    open.is_answered = true;
    match answer.get_mut("result").map(Value::take) {
        Some(result) => Ok(result),
        None => {
            let said = answer["error"]["message"].as_str().unwrap_or("no reason given");
            Err(refused(format!("the client answered {method} of the server with an error: {said}")))
        }
    }
}

/// Returns a request with the answers and the state that its server asked for.
fn continued(listed: &ParsedLine, answers: Map<String, Value>, state: Option<Value>) -> ParsedLine {
    let request = ParsedLine::parse(listed.bytes.clone());
    let Some(params) = request.first().and_then(|head| head.params.clone()) else { return request };
    let mut edits = Edits::new();
    let mut more = Vec::new();
    for (key, value) in [("inputResponses", Some(Value::Object(answers))), ("requestState", state)] {
        let Some(value) = value else { continue };
        match raw::member(&request.bytes, &params, key) {
            Some(old) => edits.replace(old, value.to_string()),
            None => more.push(format!("\"{key}\":{value}")),
        }
    }
    if !more.is_empty() {
        edits.append(&request.bytes, &params, more.join(",").as_bytes());
    }
    ParsedLine::parse(request.edit(edits).bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_continued_with_answers_and_state() {
        let line = |text: &str| ParsedLine::parse(text.as_bytes().to_vec());
        let answers = || json!({"k": {"action": "accept"}}).as_object().unwrap().clone();
        let request =
            line(r#"{"id":7,"method":"tools/call","params":{"name":"a__b","arguments":{"n":1.0}}}"#);
        let sent = continued(&request, answers(), Some(json!("s")));
        assert_eq!(
            String::from_utf8(sent.bytes).unwrap(),
            r#"{"id":7,"method":"tools/call","params":{"name":"a__b","arguments":{"n":1.0},"inputResponses":{"k":{"action":"accept"}},"requestState":"s"}}"#
        );
        let again = line(r#"{"id":7,"method":"tools/call","params":{"inputResponses":{},"name":"a__b"}}"#);
        let sent = continued(&again, answers(), None);
        let sent: Value = serde_json::from_slice(&sent.bytes).unwrap();
        assert_eq!(sent["params"], json!({"inputResponses": answers(), "name": "a__b"}));
    }

    #[test]
    fn only_input_required_asks() {
        let of = |result: &str| {
            let message = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#).into_bytes();
            input_required(&message.into()).map(|required| (required.questions.len(), required.state))
        };
        let asks = r#"{"resultType":"input_required","inputRequests":{"k":{"method":"roots/list"}},"requestState":"s"}"#;
        assert_eq!(of(asks), Some((1, Some(json!("s")))));
        assert_eq!(of(r#"{"resultType":"input_required"}"#), Some((0, None)));
        assert_eq!(of(r#"{"resultType":"complete","content":[]}"#), None);
        assert_eq!(of(r#"{"content":[{"type":"text","text":"input_required"}]}"#), None);
    }
}
