//! Requests that wait for their response, so that each gets exactly one.

use std::time::{Duration, Instant};

use tidegate_gate::ToolCall;

use crate::message::same_id;

/// How many cancelled requests without a response are remembered.
const MAX_CANCELLED: usize = 256;

/// What a request asks for, as far as its response matters to tidegate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RequestKind {
    /// What the server can do, asked for by this method: `initialize` or `server/discover`.
    Capabilities(&'static str),
    Tools {
        first_page: bool,
    },
    Resources {
        first_page: bool,
    },
    Templates {
        first_page: bool,
    },
    Call(ToolCall),
    /// The result of a call that became a task, from `tasks/result`.
    TaskResult(ToolCall),
    /// The state of a call that became a task, from `tasks/get`; it may hold the result.
    TaskState(ToolCall),
    /// Anything else, by its method.
    Other(String),
}

impl Default for RequestKind {
    fn default() -> Self {
        Self::Other(String::new())
    }
}

impl RequestKind {
    /// Returns a description for messages.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Capabilities(method) => (*method).into(),
            Self::Tools { .. } => "tools/list".into(),
            Self::Resources { .. } => "resources/list".into(),
            Self::Templates { .. } => "resources/templates/list".into(),
            Self::Call(called) => format!("the call of {}", called.tool),
            Self::TaskResult(called) | Self::TaskState(called) => format!("the task of {}", called.tool),
            Self::Other(method) => method.clone(),
        }
    }

    /// Says what is known about the tool when the request is answered with an error in place of the server's answer: the
    /// end of a sentence, empty where the request runs no tool.
    pub(crate) fn may_have_run(&self) -> &'static str {
        match self {
            Self::Call(_) | Self::TaskResult(_) => {
                "; the tool may have run, so check its effect before you call it again"
            }
            _ => "",
        }
    }
}

/// A request that was forwarded to the server.
#[derive(Debug, Default)]
pub(crate) struct PendingRequest {
    /// Its id, as the client wrote it.
    pub(crate) id: Vec<u8>,
    pub(crate) kind: RequestKind,
    /// When the server has been silent for long enough, unless it waits for the client.
    pub(crate) deadline: Option<Instant>,
    /// The token with which the server reports progress, as the client wrote it.
    pub(crate) progress_token: Option<Vec<u8>>,
    /// Whether the client no longer wants a response.
    pub(crate) cancelled: bool,
    /// Whether its response has arrived and is being shaped.
    pub(crate) shaping: bool,
}

impl PendingRequest {
    /// Returns whether a server writes the id as a different number, such as 2.0 for 2, which not every client takes for
    /// the same. A string is the same to all clients, however it is escaped.
    pub(crate) fn id_is_rewritten(&self, id: &[u8]) -> bool {
        // An id of the client's that is not valid JSON must not get into the response.
        let is_number = || serde_json::from_slice::<serde_json::Number>(&self.id).is_ok();
        self.id != id && !id.starts_with(b"\"") && is_number()
    }
}

/// The requests that wait for a response. There are few at a time, so a list is searched.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    requests: Vec<PendingRequest>,
}

impl Pending {
    pub(crate) fn add(&mut self, request: PendingRequest) {
        self.requests.push(request);
    }

    /// Returns the index of the request that a response belongs to, unless its response has arrived already.
    fn find(&self, id: &[u8]) -> Option<usize> {
        let position = |matches: &dyn Fn(&PendingRequest) -> bool| {
            self.requests.iter().position(|request| !request.shaping && matches(request))
        };
        position(&|request| request.id == id).or_else(|| position(&|request| same_id(&request.id, id)))
    }

    /// Takes the request that a response belongs to.
    pub(crate) fn take(&mut self, id: &[u8]) -> Option<PendingRequest> {
        let index = self.find(id)?;
        Some(self.requests.remove(index))
    }

    /// Keeps a request open while its response is being shaped, for which there is as much time as the server had.
    pub(crate) fn keep_while_shaping(&mut self, request: PendingRequest, timeout: Option<Duration>) {
        let deadline = request.deadline.and(timeout).map(|timeout| Instant::now() + timeout);
        self.requests.push(PendingRequest { shaping: true, deadline, ..request });
    }

    /// Gives the requests with a progress token more time; all requests with a deadline if no token is given.
    pub(crate) fn extend(&mut self, progress_token: Option<&[u8]>, deadline: Instant) {
        let matches = |request: &PendingRequest| match (progress_token, request.progress_token.as_deref()) {
            (None, _) => true,
            (Some(token), Some(own)) => own == token || same_id(own, token),
            (Some(_), None) => false,
        };
        for request in self.requests.iter_mut().filter(|request| request.deadline.is_some()) {
            if matches(request) {
                request.deadline = Some(deadline);
            }
        }
    }

    /// Takes a request whose response was shaped; returns false if it was answered meanwhile, as by a timeout.
    pub(crate) fn finish_shaping(&mut self, id: &[u8]) -> bool {
        let index = self.requests.iter().position(|request| request.shaping && request.id == id);
        index.map(|index| self.requests.remove(index)).is_some()
    }

    /// Notes that the client no longer wants a response. Some servers still send one; of the requests to those that do
    /// not, the oldest are forgotten.
    pub(crate) fn cancel(&mut self, id: &[u8]) {
        if let Some(index) = self.find(id) {
            self.requests[index].cancelled = true;
        }
        let cancelled = self.requests.iter().filter(|request| request.cancelled).count();
        if cancelled > MAX_CANCELLED
            && let Some(oldest) = self.requests.iter().position(|request| request.cancelled)
        {
            self.requests.remove(oldest);
        }
    }

    /// Returns whether a client still waits for a response.
    pub(crate) fn is_open(&self) -> bool {
        self.requests.iter().any(|request| !request.cancelled)
    }

    /// Takes the requests whose deadline has passed.
    pub(crate) fn take_overdue(&mut self, now: Instant) -> Vec<PendingRequest> {
        self.requests
            .extract_if(.., |request| request.deadline.is_some_and(|deadline| deadline <= now))
            .collect()
    }

    /// Returns the next deadline.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.requests.iter().filter_map(|request| request.deadline).min()
    }

    /// Takes the requests whose response has not arrived.
    pub(crate) fn take_open(&mut self) -> Vec<PendingRequest> {
        self.requests.extract_if(.., |request| !request.shaping).collect()
    }

    /// Takes all requests.
    pub(crate) fn take_all(&mut self) -> Vec<PendingRequest> {
        std::mem::take(&mut self.requests)
    }
}
