//! Requests that await their answer, so that each gets exactly one.

use std::time::Instant;

use tidegate_gate::Called;

use crate::message::same_id;

/// What was asked, as far as the answer is of interest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Asked {
    /// `initialize` or `server/discover`.
    Capabilities,
    Tools {
        first_page: bool,
    },
    Resources {
        first_page: bool,
    },
    Templates {
        first_page: bool,
    },
    Call(Called),
    /// The result of a call that became a task, as `tasks/result` gives it.
    TaskResult(Called),
    /// The state of a call that became a task, which may hold the result.
    TaskState(Called),
    /// Anything else, by its method.
    Other(String),
}

impl Asked {
    /// What was asked, in words.
    pub(crate) fn words(&self) -> String {
        match self {
            Self::Capabilities => "the greeting".into(),
            Self::Tools { .. } => "tools/list".into(),
            Self::Resources { .. } => "resources/list".into(),
            Self::Templates { .. } => "resources/templates/list".into(),
            Self::Call(called) => format!("the call of {}", called.tool),
            Self::TaskResult(called) | Self::TaskState(called) => format!("the task of {}", called.tool),
            Self::Other(method) => method.clone(),
        }
    }
}

/// Requests that were cancelled and not answered, of which it is remembered.
const CANCELLED: usize = 256;

/// A request on its way.
#[derive(Debug)]
pub(crate) struct Request {
    /// Its id, as the client wrote it.
    pub(crate) id: Vec<u8>,
    pub(crate) asked: Asked,
    /// When the client has waited long enough.
    pub(crate) deadline: Option<Instant>,
    /// Whether the client no longer wants an answer.
    pub(crate) cancelled: bool,
    /// Whether its answer has come and is being worked on.
    pub(crate) in_hand: bool,
}

impl Request {
    /// Whether a server writes the id as another number than it was asked with, as 2.0 for 2, which not every client
    /// takes for the same. A string is the same to all, however it is escaped.
    pub(crate) fn is_otherwise(&self, id: &[u8]) -> bool {
        // What a client wrote that is no JSON must not get into the answer.
        let json = || serde_json::from_slice::<serde_json::Number>(&self.id).is_ok();
        self.id != id && !id.starts_with(b"\"") && json()
    }
}

/// The requests on their way. Few at a time, so a list is searched.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    requests: Vec<Request>,
}

impl Pending {
    pub(crate) fn add(&mut self, request: Request) {
        self.requests.push(request);
    }

    /// Where the request is that an answer belongs to, unless its answer has come already.
    fn find(&self, id: &[u8]) -> Option<usize> {
        let awaited = |request: &&Request| !request.in_hand;
        let position = |so: &dyn Fn(&Request) -> bool| {
            self.requests.iter().position(|request| awaited(&request) && so(request))
        };
        position(&|request| request.id == id).or_else(|| position(&|request| same_id(&request.id, id)))
    }

    /// Takes the request that an answer belongs to.
    pub(crate) fn take(&mut self, id: &[u8]) -> Option<Request> {
        let at = self.find(id)?;
        Some(self.requests.remove(at))
    }

    /// Notes that the answer to a request is being worked on.
    pub(crate) fn hold(&mut self, request: Request) {
        self.requests.push(Request { in_hand: true, ..request });
    }

    /// Takes a request whose answer is ready; false where it was answered otherwise meanwhile.
    pub(crate) fn release(&mut self, id: &[u8]) -> bool {
        let at = self.requests.iter().position(|request| request.in_hand && request.id == id);
        at.map(|at| self.requests.remove(at)).is_some()
    }

    /// Notes that the client no longer wants an answer. Some servers still give one; of those who do not, the oldest are
    /// forgotten.
    pub(crate) fn cancel(&mut self, id: &[u8]) {
        if let Some(at) = self.find(id) {
            self.requests[at].cancelled = true;
        }
        let cancelled = self.requests.iter().filter(|request| request.cancelled).count();
        if cancelled > CANCELLED
            && let Some(oldest) = self.requests.iter().position(|request| request.cancelled)
        {
            self.requests.remove(oldest);
        }
    }

    /// Returns whether an answer is still awaited.
    pub(crate) fn is_open(&self) -> bool {
        self.requests.iter().any(|request| !request.cancelled)
    }

    /// Takes the requests whose time is over.
    pub(crate) fn overdue(&mut self, now: Instant) -> Vec<Request> {
        self.requests
            .extract_if(.., |request| request.deadline.is_some_and(|deadline| deadline <= now))
            .collect()
    }

    /// Returns when the next request's time is over.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.requests.iter().filter_map(|request| request.deadline).min()
    }

    /// Takes the requests whose answer has not come.
    pub(crate) fn take_open(&mut self) -> Vec<Request> {
        self.requests.extract_if(.., |request| !request.in_hand).collect()
    }

    /// Takes all requests.
    pub(crate) fn take_all(&mut self) -> Vec<Request> {
        std::mem::take(&mut self.requests)
    }
}
