//! Requests that tidegate answers itself, from the store.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde_json::Value;
use tidegate_gate::{Caller, RpcError, error_response, response};

use super::{Link, line_of};

/// A request that tidegate answers itself.
#[derive(Debug)]
pub struct LocalRequest {
    id: Vec<u8>,
    kind: LocalKind,
    caller: Arc<Caller>,
}

#[derive(Debug)]
pub(super) enum LocalKind {
    /// A call of tidegate's tool, with its arguments.
    Query(Option<Vec<u8>>),
    /// A call of tidegate's second tool, with its arguments.
    Save(Option<Vec<u8>>),
    /// A part of a kept result, asked for through the tool it came from, with the arguments of the call.
    Fetch(String, Vec<u8>),
    /// A call of a tool with invalid arguments, or that the caller may not make, with its answer.
    Refused(String, Vec<u8>),
    /// A request that is answered with an error.
    Invalid(RpcError),
    /// A read of one of tidegate's addresses.
    Read(String),
    /// A list that the server does not have.
    Resources,
    Templates,
}

/// The response to a local request.
pub(crate) struct LocalAnswer {
    /// The response, with a line end.
    pub(crate) line: Vec<u8>,
    /// The code of the error, if the response is one.
    pub(crate) error_code: Option<i64>,
}

impl LocalAnswer {
    /// Returns the response to a request that is answered with an error.
    pub(super) fn error(id: &[u8], error: &RpcError) -> Self {
        Self { line: line_of(error_response(id, error)), error_code: Some(error.code) }
    }
}

impl LocalRequest {
    pub(super) fn new(id: Vec<u8>, kind: LocalKind, caller: Arc<Caller>) -> Self {
        Self { id, kind, caller }
    }

    /// Returns whether it writes a file, which may take long.
    pub(crate) fn is_save(&self) -> bool {
        matches!(self.kind, LocalKind::Save(_))
    }
}

impl Link {
    /// Answers a local request; returns the response with a line end.
    pub fn answer_locally(&self, request: &LocalRequest) -> Vec<u8> {
        self.local_answer(request).line
    }

    pub(crate) fn local_answer(&self, request: &LocalRequest) -> LocalAnswer {
        // A query that the engine cannot handle must still be answered.
        let answer = catch_unwind(AssertUnwindSafe(|| self.local_result(request))).unwrap_or_else(|_| {
            Err(RpcError::internal("the query failed inside tidegate; ask for another view"))
        });
        let error_code = answer.as_ref().err().map(|error| error.code);
        let line = line_of(match answer {
            Ok(result) => response(&request.id, &result),
            Err(error) => error_response(&request.id, &error),
        });
        LocalAnswer { line, error_code }
    }

    fn local_result(&self, request: &LocalRequest) -> Result<Vec<u8>, RpcError> {
        let caller = &request.caller;
        match &request.kind {
            LocalKind::Query(arguments) => Ok(self.gate.query(caller, arguments.as_deref())),
            LocalKind::Save(arguments) => {
                Ok(self.gate.save(caller, arguments.as_deref(), self.link_base.as_deref()))
            }
            LocalKind::Fetch(tool, arguments) => {
                Ok(self.gate.fetch(caller, tool, arguments, self.gate.allows(caller, tool)))
            }
            LocalKind::Refused(tool, answer) => {
                self.gate.note_refused(caller, tool, answer);
                Ok(answer.clone())
            }
            LocalKind::Invalid(error) => Err(error.clone()),
            LocalKind::Read(uri) => self.gate.read_resource(caller, uri),
            LocalKind::Resources => Ok(self.gate.resources(caller, None).unwrap_or_default()),
            LocalKind::Templates => Ok(self.gate.templates(caller, None).unwrap_or_default()),
        }
    }

    /// Stores data of the server, given as JSON, for the client; returns its reference.
    pub(crate) fn store_artifact(
        &self,
        tool: Option<&str>,
        name: (&str, Option<&str>),
        data: &str,
    ) -> Result<String, String> {
        let caller = self.caller(&self.conversation());
        self.gate.store_artifact(&caller, tool, name, data).map_err(|error| error.to_string())
    }

    /// Returns the data that the server stored for the client under a reference.
    pub(crate) fn retrieve_artifact(&self, reference: &str) -> Result<Value, String> {
        let caller = self.caller(&self.conversation());
        self.gate.retrieve_artifact(&caller, reference).map_err(|error| error.to_string())
    }
}
