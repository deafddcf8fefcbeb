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

    /// Takes the request that an answer belongs to.
    pub(crate) fn take(&mut self, id: &[u8]) -> Option<Request> {
        let exact = self.requests.iter().position(|request| request.id == id);
        let at = exact.or_else(|| self.requests.iter().position(|request| same_id(&request.id, id)))?;
        Some(self.requests.remove(at))
    }

    /// Notes that the client no longer wants an answer.
    pub(crate) fn cancel(&mut self, id: &[u8]) {
        if let Some(request) =
            self.requests.iter_mut().find(|request| same_id(&request.id, id) || request.id == id)
        {
            request.cancelled = true;
        }
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

    /// Takes all requests.
    pub(crate) fn take_all(&mut self) -> Vec<Request> {
        std::mem::take(&mut self.requests)
    }
}
