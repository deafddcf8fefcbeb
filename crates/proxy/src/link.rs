//! One conversation between a client and a server, without a transport.
//!
//! Messages are forwarded byte for byte and in order. The link looks at requests, to know what their responses will be;
//! at responses that matter to the gate; and at cancellations. Calls of tidegate's own tool and reads of its own addresses
//! never reach the server: they become [`LocalRequest`]s, which are answered on another thread, so a slow query holds up
//! no message. Calls with references to kept results become [`ResolveJob`]s for the same reason.
//!
//! A link connects two parties, so ids stay as they are. A response to no open request is dropped: a server that answers
//! twice would break the promise of one response.

mod client;
mod clock;
mod decision;
mod local;
mod references;
mod server;
pub(crate) mod tiers;

use std::collections::VecDeque;
use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tidegate_gate::tier::Tier;
use tidegate_gate::{
    Caller, Capabilities, DownloadError, Gate, Principal, RpcError, SavedLink, error_response,
};

use crate::background::Background;
use crate::ledger_queue::LedgerQueue;
use crate::pending::{Pending, PendingRequest, RequestKind};
use crate::spool::Limits;
use crate::task::Tasks;

pub use client::ClientOutcome;
pub(crate) use client::OwnWork;
use client::UnreadableIds;
use clock::ClientQuestions;
pub(crate) use clock::Overdue;
pub(crate) use decision::{dropped_line, dropped_response, dropped_text};
pub use local::LocalRequest;
pub(crate) use references::Resolution;
use references::Resolving;
pub use references::{ResolveJob, Resolved};
pub(crate) use server::ServerMessage;
pub use server::{ServerOutcome, ShapeJob};

/// What tidegate does with results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Measures them and notes them in the ledger; every byte is forwarded unchanged.
    Observe,
    /// Shapes them to the budget.
    Shape,
    /// Neither: another conversation decides on the same messages.
    Relay,
}

/// The address at which a client over HTTP reaches tidegate, such as `http://127.0.0.1:8080`.
#[derive(Debug, Clone)]
pub(crate) struct LinkBase(Arc<str>);

impl LinkBase {
    /// Returns the address of a host, which is one that clients may use.
    pub(crate) fn of_host(host: &str) -> Self {
        Self(format!("http://{host}").into())
    }

    /// Returns the address of a host that is reached with TLS.
    pub(crate) fn of_https_host(host: &str) -> Self {
        Self(format!("https://{host}").into())
    }

    /// Returns the address.
    #[cfg(feature = "gateway")]
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// What is known about client and server.
struct Conversation {
    caller: Arc<Caller>,
    capabilities: Option<Capabilities>,
    tasks: Tasks,
    /// Ids of the latest local requests, newest first: the server must not see a cancellation of one.
    local_ids: VecDeque<Vec<u8>>,
    /// The calls whose references are being resolved: the server does not know of them yet.
    resolving: Vec<Resolving>,
    /// Whether the server has answered anything.
    answered: bool,
    /// The ids in messages of the client that could not be read: the server may read and answer them.
    unreadable: UnreadableIds,
    /// The requests of the server that the client has not answered.
    questions: ClientQuestions,
}

/// One conversation, or one exchange of it.
///
/// Over HTTP every request has a channel of its own, on which its response is awaited: an exchange has its own open
/// requests, but shares what is known about client and server with the rest of the conversation.
pub struct Link {
    gate: Arc<Gate>,
    mode: Mode,
    timeout: Option<Duration>,
    limits: Arc<Limits>,
    conversation: Arc<Mutex<Conversation>>,
    ledger: Arc<LedgerQueue>,
    pending: Mutex<Pending>,
    /// Whether the client's answers to requests of the server pass through this conversation.
    hears_answers: bool,
    /// The address at which a client over HTTP reaches tidegate, such as `http://127.0.0.1:8080`: it gets links there
    /// instead of files.
    link_base: Option<Arc<str>>,
    /// The tier of the client, if it is not that with which the conversation began.
    tier: Option<Tier>,
}

impl Link {
    /// Returns a conversation that has not begun.
    pub fn new(gate: Arc<Gate>, mut caller: Caller, mode: Mode, timeout: Option<Duration>) -> Self {
        caller.session = Some(Arc::default());
        let conversation = Conversation {
            caller: Arc::new(caller),
            capabilities: None,
            tasks: Tasks::default(),
            local_ids: VecDeque::new(),
            resolving: Vec::new(),
            answered: false,
            unreadable: UnreadableIds::default(),
            questions: ClientQuestions::default(),
        };
        Self {
            gate,
            mode,
            timeout,
            limits: Arc::default(),
            conversation: Arc::new(Mutex::new(conversation)),
            ledger: Arc::default(),
            pending: Mutex::default(),
            hears_answers: true,
            link_base: None,
            tier: None,
        }
    }

    /// Returns the conversation with other limits for large messages.
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits: Arc::new(limits), ..self }
    }

    /// Returns the limits for large messages of the server.
    pub(crate) fn limits(&self) -> Arc<Limits> {
        Arc::clone(&self.limits)
    }

    /// Returns a further exchange of this conversation, with no request open.
    pub fn exchange(&self) -> Self {
        Self {
            gate: Arc::clone(&self.gate),
            mode: self.mode,
            timeout: self.timeout,
            limits: self.limits(),
            conversation: Arc::clone(&self.conversation),
            ledger: Arc::clone(&self.ledger),
            pending: Mutex::default(),
            hears_answers: self.hears_answers,
            link_base: self.link_base.clone(),
            tier: self.tier,
        }
    }

    /// Returns the exchange of a client over HTTP that reaches tidegate at an address.
    pub(crate) fn reached_at(self, base: LinkBase) -> Self {
        Self { link_base: Some(base.0), ..self }
    }

    /// Writes what a link to a saved view leads to, if the client may follow it.
    pub(crate) fn download(&self, link: &SavedLink, out: &mut dyn Write) -> Result<(), DownloadError> {
        let caller = self.caller(&self.conversation());
        match self.mode {
            Mode::Observe | Mode::Relay => Err(DownloadError::Gone),
            Mode::Shape => self.gate.download(&caller, link, out),
        }
    }

    /// Returns the conversation of a client without a session: its answers to requests of the server are messages of their
    /// own, which nothing connects with this conversation.
    pub(crate) fn without_session(self) -> Self {
        Self { hears_answers: false, ..self }
    }

    /// Counts what the client is sent for its principal, because nothing connects its requests.
    pub(crate) fn count_by_principal(&self) {
        let mut conversation = self.conversation();
        Arc::make_mut(&mut conversation.caller).session = None;
    }

    /// Returns a conversation with another client, about which nothing is known yet, and the same gate.
    pub fn fresh(&self) -> Self {
        let mut caller = self.conversation().caller.forgotten();
        (caller.query_tool, caller.save_tool) = (self.gate.query_tool(), self.gate.save_tool());
        let new = Self::new(Arc::clone(&self.gate), caller, self.mode, self.timeout);
        Self { limits: self.limits(), ledger: Arc::clone(&self.ledger), ..new }
    }

    /// Returns a conversation with a caller about whom nothing else is known yet, and the same gate.
    #[cfg(feature = "gateway")]
    pub(crate) fn of_caller(&self, mut caller: Caller) -> Self {
        (caller.query_tool, caller.save_tool) = (self.gate.query_tool(), self.gate.save_tool());
        let new = Self::new(Arc::clone(&self.gate), caller, self.mode, self.timeout);
        Self { limits: self.limits(), ledger: Arc::clone(&self.ledger), ..new }
    }

    /// Returns the exchange with another timeout of its requests.
    #[cfg(feature = "gateway")]
    pub(crate) fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout: Some(timeout), ..self }
    }

    /// Returns the tool that `is_it` accepts whose call became a task.
    #[cfg(feature = "gateway")]
    pub(crate) fn tool_of_task(&self, task: &str, is_it: impl Fn(&str) -> bool) -> Option<String> {
        self.conversation().tasks.tool_of(task, is_it)
    }

    /// Notes that the client knows a task of a tool under another id than the server.
    #[cfg(feature = "gateway")]
    pub(crate) fn note_task_token(&self, token: &str, id: &str, tool: &str) {
        self.conversation().tasks.note_token(token, id, tool);
    }

    /// Returns the exchange of a client whose tier is now this one: in the course of a session it may change.
    #[cfg(feature = "gateway")]
    pub(crate) fn with_tier(self, tier: Tier) -> Self {
        Self { tier: Some(tier), ..self }
    }

    /// Returns the client of this exchange.
    fn caller(&self, conversation: &Conversation) -> Arc<Caller> {
        let known = &conversation.caller;
        match self.tier.filter(|tier| *tier != known.profile.tier) {
            None => Arc::clone(known),
            Some(tier) => {
                let mut caller = Caller::clone(known);
                caller.profile.tier = tier;
                Arc::new(caller)
            }
        }
    }

    /// Returns the conversation of a client that is not the user of this process.
    pub fn of_principal(self, principal: Principal) -> Self {
        Arc::make_mut(&mut self.conversation().caller).principal = principal;
        self
    }

    /// Returns whose results the client can read.
    pub(crate) fn principal(&self) -> Principal {
        self.conversation().caller.principal.clone()
    }

    /// Notes the session of a client whose first request had none yet.
    pub(crate) fn begin_session(&self, id: &str) {
        let mut conversation = self.conversation();
        if conversation.caller.principal == Principal::Stateless {
            Arc::make_mut(&mut conversation.caller).principal = Principal::Session(id.to_owned());
        }
    }

    /// Starts the background thread for this conversation and all that are made from it.
    pub fn start_background(&self) -> Background {
        Background::start(Arc::clone(&self.gate), Arc::clone(&self.ledger))
    }

    /// Returns the conversation in a mode that changes nothing.
    pub(crate) fn observing(self) -> Self {
        Self { mode: Mode::Observe, ..self }
    }

    /// Returns a conversation that changes and records nothing, and whose requests have no deadline.
    #[cfg(feature = "gateway")]
    pub(crate) fn relaying(&self) -> Self {
        Self { mode: Mode::Relay, timeout: None, ..self.fresh() }
    }

    /// Takes over the open requests of an exchange whose channel has ended; their responses arrive on another one.
    pub fn adopt(&self, exchange: &Self) {
        let requests = exchange.pending().take_all();
        let mut pending = self.pending();
        // Nobody waits for those any more.
        pending.take_overdue(Instant::now());
        requests.into_iter().for_each(|request| pending.add(request));
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn conversation(&self) -> MutexGuard<'_, Conversation> {
        self.conversation.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether the client still waits for a response.
    pub fn is_open(&self) -> bool {
        self.pending().is_open()
    }

    /// Returns an error response for each open request, because the server is gone. Requests whose response is being shaped
    /// are answered by [`Link::finish`].
    pub fn end(&self, reason: &str) -> Vec<Vec<u8>> {
        self.fail(&Failure::Ended(reason.to_owned()))
    }

    /// Returns an error response for each open request whose response has not arrived.
    pub(crate) fn fail(&self, failure: &Failure) -> Vec<Vec<u8>> {
        let requests = self.pending().take_open();
        let answer =
            |request: &PendingRequest| line_of(error_response(&request.id, &failure.error(&request.kind)));
        requests.iter().filter(|request| !request.cancelled).map(answer).collect()
    }

    /// Returns the tool and step of each forwarded result that waits for the ledger.
    #[cfg(test)]
    pub(crate) fn queued_for_ledger(&self) -> Vec<(String, &'static str)> {
        self.ledger.waiting()
    }

    /// Returns whether the server has answered anything.
    pub fn has_answered(&self) -> bool {
        self.conversation().answered
    }
}

/// Why requests are answered with an error of tidegate's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Failure {
    /// No byte of it reached the server, for this reason.
    Unsent(String),
    /// The server, or its response, ended before the answer: a clause such as `the server ended`.
    Ended(String),
    /// The server answered with something else: the end of a clause such as `with status 500`.
    Answered(String),
    /// What is in front of the server answered that the server is unavailable: the end of such a clause.
    Unavailable(String),
    /// The server did not process it, for this reason.
    Refused(String),
    /// The server was silent for this long.
    Overdue(Duration),
}

impl Failure {
    /// Returns the error for a request.
    fn error(&self, kind: &RequestKind) -> RpcError {
        let (what, may_have_run) = (kind.describe(), kind.may_have_run());
        RpcError::upstream(match self {
            Self::Unsent(reason) => format!("{reason}, so {what} was not sent"),
            Self::Ended(reason) => format!("{reason} before it answered {what}{may_have_run}"),
            Self::Answered(how) | Self::Unavailable(how) => {
                format!("the server answered {what} {how}{may_have_run}")
            }
            Self::Refused(reason) => reason.clone(),
            Self::Overdue(time) => {
                let seconds = time.as_secs_f64();
                let message = format!("no answer to {what} within {seconds} s (--timeout){may_have_run}");
                return RpcError::timeout(message);
            }
        })
    }

    /// Returns whether the server is down or silent. One that refuses a request, or answers it with something else, is neither.
    pub(crate) fn is_outage(&self) -> bool {
        match self {
            Self::Unsent(_) | Self::Ended(_) | Self::Unavailable(_) | Self::Overdue(_) => true,
            Self::Answered(_) | Self::Refused(_) => false,
        }
    }

    /// Returns the message where no request is known.
    pub(crate) fn reason(&self) -> String {
        match self {
            Self::Unsent(reason) | Self::Ended(reason) | Self::Refused(reason) => reason.clone(),
            Self::Answered(how) | Self::Unavailable(how) => format!("the server answered {how}"),
            Self::Overdue(time) => format!("no answer within {} s (--timeout)", time.as_secs_f64()),
        }
    }
}

/// Appends a line, with a line end.
fn append_line(lines: &mut Vec<u8>, line: Option<&[u8]>) {
    let Some(line) = line else { return };
    lines.extend_from_slice(line);
    if line.last() != Some(&b'\n') {
        lines.push(b'\n');
    }
}

fn line_of(mut message: Vec<u8>) -> Vec<u8> {
    message.push(b'\n');
    message
}
