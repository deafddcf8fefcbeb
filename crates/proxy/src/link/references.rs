//! Calls whose arguments refer to stored results: a job for another thread, which returns the call to forward or a refusal.
//!
//! Resolving may run a query, so it happens neither on the thread that reads from the client nor under the lock of the
//! conversation. Until it is done, the server has not received the call: a cancellation is handled here, and if the
//! conversation ends, the call is answered as not sent. Then the call is forwarded and waits for its response like any other.
//! The arguments that are recorded, for the store and for repeated calls, are those that the client wrote.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use tidegate_gate::raw::{self, Edits};
use tidegate_gate::{CallArguments, Caller, RpcError, error_response, response};

use super::client::{ClientDecision, Params};
use super::local::LocalAnswer;
use super::{Conversation, Failure, Link, Mode, line_of, tiers};
use crate::message::{MessageHead, MessageKind, ParsedLine, same_id};
use crate::pending::{PendingRequest, RequestKind};

/// A call whose arguments hold references; see [`Link::resolve`].
#[derive(Debug)]
pub struct ResolveJob {
    /// The call alone, as the client wrote it.
    message: ParsedLine,
    tool: String,
    request: PendingRequest,
    caller: Arc<Caller>,
}

impl ResolveJob {
    /// Returns the call as the client wrote it.
    pub(crate) fn message(&self) -> &ParsedLine {
        &self.message
    }
}

/// The outcome of a call with references.
#[derive(Debug, Default)]
pub struct Resolved {
    /// The call with the values in it, for the server.
    pub forward: Option<Vec<u8>>,
    /// The response to the client, if the call is refused. Both are `None` if the client has cancelled it.
    pub answer: Option<Vec<u8>>,
}

/// The outcome of a call with references, inside the proxy.
pub(crate) enum Resolution {
    /// It goes to the server.
    Forward(Box<ParsedLine>),
    /// It is refused.
    Answer(LocalAnswer),
    /// The client has cancelled it; the response is for transports that need one.
    Cancelled(LocalAnswer),
}

/// A call whose references are being resolved.
#[derive(Debug)]
pub(super) struct Resolving {
    id: Vec<u8>,
    kind: RequestKind,
}

impl Link {
    /// Resolves the references of a call.
    pub fn resolve(&self, job: ResolveJob) -> Resolved {
        match self.resolve_call(job) {
            Resolution::Forward(message) => Resolved { forward: Some(message.bytes), answer: None },
            Resolution::Answer(answer) => Resolved { forward: None, answer: Some(answer.line) },
            Resolution::Cancelled(_) => Resolved::default(),
        }
    }

    /// Resolves the references of a call; one that goes to the server waits for its response from now on.
    pub(crate) fn resolve_call(&self, job: ResolveJob) -> Resolution {
        let ResolveJob { message, tool, request, caller } = job;
        // Even after a panic, the request must be answered.
        let work = || self.with_values(message, &tool, &caller);
        let resolved = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
            let message = format!("resolving the arguments failed inside tidegate, so {tool} was not run");
            Err(Err(RpcError::internal(message)))
        });
        let mut conversation = self.conversation();
        if !conversation.take_resolving(&request.id) {
            let error = RpcError::upstream(format!("the call of {tool} was cancelled before it was sent"));
            return Resolution::Cancelled(LocalAnswer::error(&request.id, &error));
        }
        match resolved {
            Ok(message) => {
                let deadline = self.timeout.map(|timeout| Instant::now() + timeout);
                self.pending().add(PendingRequest { deadline, ..request });
                Resolution::Forward(Box::new(message))
            }
            Err(refused) => {
                conversation.note_local(request.id.clone());
                drop(conversation);
                Resolution::Answer(match refused {
                    Ok(result) => {
                        self.gate.note_refused(&caller, &tool, &result);
                        LocalAnswer { line: line_of(response(&request.id, &result)), error_code: None }
                    }
                    Err(error) => LocalAnswer::error(&request.id, &error),
                })
            }
        }
    }

    /// Returns a call with its references replaced by their values; or the result or error to answer it with.
    fn with_values(
        &self,
        mut message: ParsedLine,
        tool: &str,
        caller: &Caller,
    ) -> Result<ParsedLine, Result<Vec<u8>, RpcError>> {
        let arguments = |message: &ParsedLine| {
            let params = message.first().and_then(|head| head.params.clone());
            params.and_then(|params| raw::member(&message.bytes, &params, "arguments"))
        };
        if let Some(range) = arguments(&message).filter(|_| self.gate.has_arguments(tool)) {
            let mut edits = Edits::new();
            self.gate.take_out(tool, &message.bytes, &range, &mut edits);
            message = message.edit(edits);
        }
        let Some(range) = arguments(&message) else { return Ok(message) };
        let mut edits = Edits::new();
        let call = CallArguments { tool, json: &message.bytes, range: &range };
        self.gate.resolve(caller, call, &mut edits).map_err(Ok)?;
        Ok(message.edit(edits))
    }

    /// Decides on a call whose arguments may hold references; `None` if they hold none.
    pub(super) fn decide_on_references(
        &self,
        conversation: &mut Conversation,
        line: &[u8],
        head: &MessageHead,
        params: &Params<'_>,
        request: &dyn Fn(&Conversation) -> PendingRequest,
    ) -> Option<ClientDecision> {
        if self.mode != Mode::Shape || !self.gate.uses_references() {
            return None;
        }
        let tool = params.text("name").filter(|tool| self.gate.takes_references(tool))?;
        if !self.gate.holds_references(line, &head.whole) {
            return None;
        }
        if tiers::repeats(line, &head.whole) || tiers::repeats(line, &params.whole) {
            // Of two members with one name, the server might read the one that tidegate does not check.
            return Some(tiers::refused(head, &self.caller(conversation)));
        }
        let arguments = params.range("arguments")?;
        if !self.gate.holds_references(line, &arguments) {
            return None;
        }
        if head.kind() != MessageKind::Request {
            // A notification gets no answer that could say why it was refused.
            return Some(ClientDecision::Drop);
        }
        let request = request(conversation);
        conversation.resolving.push(Resolving { id: request.id.clone(), kind: request.kind.clone() });
        let message = ParsedLine::extract(line, head, None);
        let caller = self.caller(conversation);
        let job = ResolveJob { message, tool: tool.into_owned(), request, caller };
        Some(ClientDecision::Resolve(Box::new(job)))
    }

    /// Returns an error response for each call whose references are being resolved, because the conversation ends.
    pub(crate) fn fail_resolving(&self, reason: &str) -> Vec<Vec<u8>> {
        let resolving = std::mem::take(&mut self.conversation().resolving);
        let failure = Failure::Unsent(reason.to_owned());
        resolving.iter().map(|call| line_of(error_response(&call.id, &failure.error(&call.kind)))).collect()
    }

    /// Returns the error response to a request that could not be written to the server.
    pub(crate) fn fail_unsent(&self, id: &[u8], reason: &str) -> Option<Vec<u8>> {
        let request = self.pending().take(id)?;
        let error = Failure::Unsent(reason.to_owned()).error(&request.kind);
        (!request.cancelled).then(|| line_of(error_response(&request.id, &error)))
    }

    /// Returns the input schema of a tool, if the tool takes references and the server has listed it.
    pub(crate) fn input_schema(&self, tool: &str) -> Option<serde_json::Value> {
        self.gate.input_schema(tool)
    }
}

impl Conversation {
    /// Removes a call whose references are being resolved; returns whether it was there.
    pub(super) fn take_resolving(&mut self, id: &[u8]) -> bool {
        let position = self.resolving.iter().position(|call| call.id == id || same_id(&call.id, id));
        position.map(|position| self.resolving.remove(position)).is_some()
    }
}
