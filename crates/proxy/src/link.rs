//! One conversation between a client and a server, without a transport.
//!
//! Messages are passed on as the bytes they came as and in the order they came. What is looked into: requests, to know
//! what their answers will be; answers whose request matters, for the gate; and who cancels what. What is ours, calls of
//! our tool and reads of our addresses, never reaches the server: it becomes an [`Order`], carried out apart, so that a
//! slow query holds nothing up.
//!
//! The client's ids stay as they are, since this is a link between two. An answer to no request is left out: a server
//! that answers twice would break the promise of one answer.

mod server;
mod spooled;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use smallvec::SmallVec;
use tidegate_gate::raw::{self, Edits, Member, Place};
use tidegate_gate::{Called, Caller, Capabilities, Gate, RpcError, error_response, response};

use crate::held::Limits;
use crate::message::{Envelope, Kind, messages};
use crate::notes::{Chores, Notes};
use crate::pending::{Asked, Pending, Request};
use crate::task::Tasks;

pub use server::{FromServer, Later};

/// What is done with what crosses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Measured and noted; every byte crosses unchanged.
    Observe,
    /// Shaped to the budget.
    Shape,
}

/// Something to answer ourselves.
#[derive(Debug)]
pub struct Order {
    id: Vec<u8>,
    what: Wanted,
    caller: Arc<Caller>,
}

#[derive(Debug)]
enum Wanted {
    /// A call of our tool, with its arguments.
    Query(Option<Vec<u8>>),
    /// A part of a kept result, through the tool it came from, with the arguments of the call.
    Fetch(String, Vec<u8>),
    /// A call that makes no sense, with its answer.
    Refused(Vec<u8>),
    /// A read of one of our addresses.
    Read(String),
    /// A list that the server does not have.
    Resources,
    Templates,
}

/// What to do with a line from the client.
#[derive(Debug, Default)]
pub struct FromClient {
    /// What to send to the server.
    pub forward: Option<Vec<u8>>,
    /// What to answer ourselves.
    pub orders: Vec<Order>,
}

struct State {
    caller: Arc<Caller>,
    capabilities: Option<Capabilities>,
    tasks: Tasks,
    /// Ids of the latest requests that we answered ourselves: cancelling one is no business of the server's.
    own: VecDeque<Vec<u8>>,
    answered: bool,
    /// Whether the client has sent something that could not be read, so that not every request is known.
    unreadable: bool,
}

/// How many of our own requests are remembered.
const OWN: usize = 256;
/// Methods whose answer may take any time, whatever the deadline.
const ENDLESS: [&str; 2] = ["subscriptions/listen", "tasks/result"];

/// One conversation, or one exchange of it: where each request has a channel of its own, as in HTTP, its answers are
/// awaited there, while what was learnt of client and server is shared.
pub struct Link {
    gate: Arc<Gate>,
    mode: Mode,
    timeout: Option<Duration>,
    limits: Arc<Limits>,
    state: Arc<Mutex<State>>,
    notes: Arc<Notes>,
    pending: Mutex<Pending>,
}

impl Link {
    /// Returns a conversation that has not begun.
    pub fn new(gate: Arc<Gate>, caller: Caller, mode: Mode, timeout: Option<Duration>) -> Self {
        let state = State {
            caller: Arc::new(caller),
            capabilities: None,
            tasks: Tasks::default(),
            own: VecDeque::new(),
            answered: false,
            unreadable: false,
        };
        let (limits, state, notes) = (Arc::default(), Arc::new(Mutex::new(state)), Arc::default());
        Self { gate, mode, timeout, limits, state, notes, pending: Mutex::default() }
    }

    /// Returns the conversation with other limits for large messages.
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits: Arc::new(limits), ..self }
    }

    /// Returns how large messages of the server are dealt with.
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
            state: Arc::clone(&self.state),
            notes: Arc::clone(&self.notes),
            pending: Mutex::default(),
        }
    }

    /// Returns a conversation of another client, of which nothing is known yet, with the same gate.
    pub fn fresh(&self) -> Self {
        let caller = self.state().caller.forgotten();
        let new = Self::new(Arc::clone(&self.gate), caller, self.mode, self.timeout);
        Self { limits: self.limits(), notes: Arc::clone(&self.notes), ..new }
    }

    /// Starts what is done beside this conversation and those that come of it: counting what crossed, tidying up.
    pub fn start_chores(&self) -> Chores {
        Chores::start(Arc::clone(&self.gate), Arc::clone(&self.notes))
    }

    /// Returns the conversation with nothing changed that crosses.
    pub(crate) fn observing(self) -> Self {
        Self { mode: Mode::Observe, ..self }
    }

    /// Takes over the open requests of an exchange whose channel has ended; their answers come on another one.
    pub fn adopt(&self, exchange: &Self) {
        let requests = exchange.pending().take_all();
        let mut pending = self.pending();
        requests.into_iter().for_each(|request| pending.add(request));
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a line from the client.
    pub fn from_client(&self, line: Vec<u8>) -> FromClient {
        let (forward, orders) = self.take_request(line.into());
        FromClient { forward: forward.map(Cow::into_owned), orders }
    }

    /// Takes a line from the client, adds what to send to the server, and returns what to answer ourselves.
    pub(crate) fn pass_to_server(&self, line: &[u8], forward: &mut Vec<u8>) -> Vec<Order> {
        let (line, orders) = self.take_request(line.into());
        add_line(forward, line.as_deref());
        orders
    }

    fn take_request<'l>(&self, line: Cow<'l, [u8]>) -> (Option<Cow<'l, [u8]>>, Vec<Order>) {
        let mut state = self.state();
        let Some(places) = messages(&line) else {
            state.unreadable |= !line.trim_ascii().is_empty();
            return (Some(line), Vec::new());
        };
        let mut orders = Vec::new();
        let mut kept: SmallVec<[&Place; 1]> = SmallVec::new();
        let mut edits = Edits::new();
        for place in &places {
            let envelope = Envelope::read(&line, place);
            state.unreadable |= envelope.is_none();
            let order =
                envelope.and_then(|envelope| self.client_message(&mut state, &line, &envelope, &mut edits));
            match order {
                Some(Ours::Order(order)) => orders.push(*order),
                Some(Ours::Nothing) => {}
                None => kept.push(place),
            }
        }
        let forward = match kept.len() {
            count if count == places.len() => Some(edits.applied(line)),
            0 => None,
            // A batch without what is ours.
            _ => {
                let elements: Vec<Member<'_>> = places.iter().map(element).collect();
                edits.remove(&elements, |element| !kept.contains(&&element.whole));
                Some(edits.applied(line))
            }
        };
        (forward, orders)
    }

    /// Looks at a message of the client; `None` where it crosses.
    fn client_message(
        &self,
        state: &mut State,
        line: &[u8],
        envelope: &Envelope<'_>,
        edits: &mut Edits,
    ) -> Option<Ours> {
        let method = envelope.method.as_deref()?;
        let nothing = 0..0;
        let params = envelope.params.as_ref().unwrap_or(&nothing);
        let Some(id) = envelope.id.clone().filter(|_| envelope.kind() == Kind::Request) else {
            let ours = method == "notifications/cancelled" && self.cancel(state, line, params);
            return ours.then_some(Ours::Nothing);
        };
        let id = line[id].to_vec();
        if let Some(renewed) = state.caller.renewed(method, line, params) {
            state.caller = Arc::new(renewed);
        }
        let params = Params::read(line, params);
        // Most tools have no arguments of ours, which is asked once.
        let tool =
            (method == "tools/call" && self.mode == Mode::Shape).then(|| params.text("name")).flatten();
        let tool = tool.filter(|tool| self.gate.has_arguments(tool));
        if let Some(wanted) = self.ours(state, method, &params, tool.as_deref()) {
            state.own.truncate(OWN - 1);
            state.own.push_front(id.clone());
            return Some(Ours::Order(Box::new(Order { id, what: wanted, caller: state.caller.clone() })));
        }
        if let (Some(tool), Some(arguments)) = (tool, params.place_of("arguments")) {
            self.gate.take_out(&tool, line, &arguments, edits);
        }
        let asked = state.asked(method, &params);
        let deadline =
            self.timeout.filter(|_| !ENDLESS.contains(&method)).map(|timeout| Instant::now() + timeout);
        self.pending().add(Request { id, asked, deadline, cancelled: false, in_hand: false });
        None
    }

    /// Notes a cancellation; true where it concerns a request of our own.
    fn cancel(&self, state: &State, line: &[u8], params: &Place) -> bool {
        let Some(id) = raw::member(line, params, "requestId") else { return false };
        let id = &line[id];
        self.pending().cancel(id);
        state.own.iter().any(|own| own == id)
    }

    /// What a request wants of us, and not of the server; `tool` is one that has arguments of ours.
    fn ours(&self, state: &State, method: &str, params: &Params<'_>, tool: Option<&str>) -> Option<Wanted> {
        if self.mode == Mode::Observe {
            return None;
        }
        match method {
            "tools/call" if self.is_reader(state, &params.text("name")?) => {
                Some(Wanted::Query(params.get("arguments").map(<[u8]>::to_vec)))
            }
            "tools/call" => {
                let (tool, arguments) = (tool?, params.get("arguments")?);
                if self.gate.negotiates(tool, arguments) {
                    return Some(Wanted::Fetch(tool.to_owned(), arguments.to_vec()));
                }
                self.gate.refusal(&state.caller, tool, arguments).map(Wanted::Refused)
            }
            "resources/read" => {
                let uri = params.text("uri")?;
                // Only what can be one of our names is ours.
                self.gate.owns(&uri).then(|| Wanted::Read(uri.into_owned()))
            }
            "resources/list" if state.lacks_resources() => Some(Wanted::Resources),
            "resources/templates/list" if state.lacks_resources() => Some(Wanted::Templates),
            _ => None,
        }
    }

    /// Whether a tool is ours: by the name it is listed under, or by the one that no upstream has.
    fn is_reader(&self, state: &State, tool: &str) -> bool {
        tool == state.caller.reader || tool == Gate::OTHER_READER
    }

    /// Carries out an order and returns the answer, a whole line.
    pub fn carry_out(&self, order: &Order) -> Vec<u8> {
        // A query that the engine cannot handle must not take its request with it.
        let answer = catch_unwind(AssertUnwindSafe(|| self.answer_order(order))).unwrap_or_else(|_| {
            Err(RpcError::internal("the query failed inside tidegate; ask for another view"))
        });
        line_of(match answer {
            Ok(result) => response(&order.id, &result),
            Err(error) => error_response(&order.id, &error),
        })
    }

    fn answer_order(&self, order: &Order) -> Result<Vec<u8>, RpcError> {
        let caller = &order.caller;
        match &order.what {
            Wanted::Query(arguments) => Ok(self.gate.query(caller, arguments.as_deref())),
            Wanted::Fetch(tool, arguments) => Ok(self.gate.fetch(caller, tool, arguments, true)),
            Wanted::Refused(answer) => Ok(answer.clone()),
            Wanted::Read(uri) => self.gate.read_resource(caller, uri),
            Wanted::Resources => Ok(self.gate.resources(caller, None).unwrap_or_default()),
            Wanted::Templates => Ok(self.gate.templates(caller, None).unwrap_or_default()),
        }
    }

    /// Returns answers for the requests whose time is over, and what tells the server so.
    pub fn overdue(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let requests = self.pending().overdue(Instant::now());
        let seconds = self.timeout.unwrap_or_default().as_secs_f64();
        let answer = |request: &Request| {
            let what = request.asked.words();
            let message = format!(
                "no answer to {what} within {seconds} s (--timeout); it may still be running, so do not take it for undone"
            );
            let cancel = format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{},"reason":"timeout"}}}}"#,
                String::from_utf8_lossy(&request.id)
            );
            (line_of(error_response(&request.id, &RpcError::timeout(message))), line_of(cancel.into_bytes()))
        };
        requests.iter().filter(|request| !request.cancelled).map(answer).collect()
    }

    /// Returns when the next request's time is over.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.pending().next_deadline()
    }

    /// Returns whether requests have a deadline.
    pub fn has_timeout(&self) -> bool {
        self.timeout.is_some()
    }

    /// Returns whether an answer is still awaited.
    pub fn is_open(&self) -> bool {
        self.pending().is_open()
    }

    /// Returns answers for all open requests, now that the server is gone; what is in hand is answered by whoever has it.
    pub fn end(&self, reason: &str) -> Vec<Vec<u8>> {
        let requests = self.pending().take_open();
        let answer = |request: &Request| {
            let message = format!("{reason} before it answered {}", request.asked.words());
            line_of(error_response(&request.id, &RpcError::upstream(message)))
        };
        requests.iter().filter(|request| !request.cancelled).map(answer).collect()
    }

    /// Returns whether the server has answered anything.
    pub fn has_answered(&self) -> bool {
        self.state().answered
    }
}

/// A message that is no business of the server's.
enum Ours {
    Order(Box<Order>),
    Nothing,
}

/// The parameters of a request, looked into once.
struct Params<'l> {
    line: &'l [u8],
    place: Place,
    members: Vec<Member<'l>>,
}

impl<'l> Params<'l> {
    fn read(line: &'l [u8], place: &Place) -> Self {
        Self { line, place: place.clone(), members: raw::members(line, place).unwrap_or_default() }
    }

    /// Returns where a member stands; of several with one name the last, as parsers do.
    fn place_of(&self, key: &str) -> Option<Place> {
        self.members.iter().rfind(|member| member.key == key).map(|member| member.value.clone())
    }

    /// Returns a member as written.
    fn get(&self, key: &str) -> Option<&'l [u8]> {
        self.place_of(key).map(|place| &self.line[place])
    }

    fn text(&self, key: &str) -> Option<Cow<'l, str>> {
        let bytes = self.get(key)?;
        raw::text(bytes, &(0..bytes.len()))
    }
}

impl State {
    fn asked(&self, method: &str, params: &Params<'_>) -> Asked {
        let first_page = || params.get("cursor").is_none_or(|cursor| cursor == b"null");
        match method {
            "initialize" | "server/discover" => Asked::Capabilities,
            "tools/list" => Asked::Tools { first_page: first_page() },
            "resources/list" => Asked::Resources { first_page: first_page() },
            "resources/templates/list" => Asked::Templates { first_page: first_page() },
            "tools/call" => Asked::Call(self.called(params)),
            "tasks/result" => Asked::TaskResult(self.tasks.called(params.line, Some(&params.place))),
            "tasks/get" => Asked::TaskState(self.tasks.called(params.line, Some(&params.place))),
            other => Asked::Other(other.to_owned()),
        }
    }

    fn called(&self, params: &Params<'_>) -> Called {
        let tool = params.text("name").unwrap_or_default().into_owned();
        let arguments = params.get("arguments").map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        // Codex marks the calls that a program of its model makes.
        let by_program = self.caller.profile.runs_programs
            && raw::at(params.line, &params.place, &["_meta", "callId"])
                .and_then(|id| raw::text(params.line, &id))
                .is_some_and(|id| id.starts_with("exec-"));
        Called { tool, arguments, by_program }
    }

    fn lacks_resources(&self) -> bool {
        self.capabilities.is_some_and(|found| found.tools && !found.resources)
    }
}

/// A message of a batch, as something that can be taken out of it.
fn element(place: &Place) -> Member<'static> {
    Member { key: Cow::Borrowed(""), value: place.clone(), whole: place.clone() }
}

/// Adds a line to others, with its end.
fn add_line(lines: &mut Vec<u8>, line: Option<&[u8]>) {
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
