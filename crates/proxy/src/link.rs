//! One conversation between a client and a server, without a transport.
//!
//! Messages are passed on as the bytes they came as and in the order they came. What is looked into: requests, to know
//! what their answers will be; answers whose request matters, for the gate; and who cancels what. What is ours, calls of
//! our tool and reads of our addresses, never reaches the server: it becomes an [`Order`], carried out apart, so that a
//! slow query holds nothing up.
//!
//! The client's ids stay as they are, since this is a link between two. An answer to no request is left out: a server
//! that answers twice would break the promise of one answer.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tidegate_gate::raw::{self, Edits, Place};
use tidegate_gate::{Called, Caller, Capabilities, Gate, RpcError, Untouched, error_response, response};

use crate::message::{Envelope, Kind, messages};
use crate::pending::{Asked, Pending, Request};
use crate::task::Tasks;

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
    caller: Caller,
}

#[derive(Debug)]
enum Wanted {
    /// A call of our tool, with its arguments.
    Query(Option<Vec<u8>>),
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

/// What to do with a line from the server.
#[derive(Debug, Default)]
pub struct FromServer {
    /// What to send to the client.
    pub forward: Option<Vec<u8>>,
    /// What to note once it is sent.
    pub notes: Vec<Untouched>,
    /// Why something was left out, for the log.
    pub left_out: Vec<String>,
}

struct State {
    caller: Caller,
    pending: Pending,
    capabilities: Option<Capabilities>,
    tasks: Tasks,
    /// Ids of the latest requests that we answered ourselves: cancelling one is no business of the server's.
    own: VecDeque<Vec<u8>>,
    answered: bool,
}

/// How many of our own requests are remembered.
const OWN: usize = 256;
/// Methods whose answer may take any time, whatever the deadline.
const ENDLESS: [&str; 2] = ["subscriptions/listen", "tasks/result"];

/// One conversation.
pub struct Link {
    gate: Arc<Gate>,
    mode: Mode,
    timeout: Option<Duration>,
    state: Mutex<State>,
}

impl Link {
    /// Returns a conversation that has not begun.
    pub fn new(gate: Arc<Gate>, caller: Caller, mode: Mode, timeout: Option<Duration>) -> Self {
        let state = State {
            caller,
            pending: Pending::default(),
            capabilities: None,
            tasks: Tasks::default(),
            own: VecDeque::new(),
            answered: false,
        };
        Self { gate, mode, timeout, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a line from the client.
    pub fn from_client(&self, line: Vec<u8>) -> FromClient {
        let Some(places) = messages(&line) else {
            return FromClient { forward: Some(line), ..FromClient::default() };
        };
        let mut state = self.state();
        let mut orders = Vec::new();
        let mut kept: Vec<&Place> = Vec::new();
        for place in &places {
            let order = Envelope::read(&line, place)
                .and_then(|envelope| self.client_message(&mut state, &line, &envelope));
            match order {
                Some(Ours::Order(order)) => orders.push(*order),
                Some(Ours::Nothing) => {}
                None => kept.push(place),
            }
        }
        let forward = match kept.len() {
            count if count == places.len() => Some(line),
            0 => None,
            // A batch without what is ours.
            _ => {
                let joined: Vec<&[u8]> = kept.into_iter().map(|place| &line[place.clone()]).collect();
                Some([b"[", joined.join(&b","[..]).as_slice(), b"]\n"].concat())
            }
        };
        FromClient { forward, orders }
    }

    /// Looks at a message of the client; `None` where it crosses.
    fn client_message(&self, state: &mut State, line: &[u8], envelope: &Envelope<'_>) -> Option<Ours> {
        let method = envelope.method.as_deref()?;
        let nothing = 0..0;
        let params = envelope.params.as_ref().unwrap_or(&nothing);
        let Some(id) = envelope.id.clone().filter(|_| envelope.kind() == Kind::Request) else {
            return (method == "notifications/cancelled" && state.cancel(line, params))
                .then_some(Ours::Nothing);
        };
        let id = line[id].to_vec();
        state.caller.read_request(method, line, params);
        if let Some(wanted) = self.ours(state, method, line, params) {
            state.own.truncate(OWN - 1);
            state.own.push_front(id.clone());
            return Some(Ours::Order(Box::new(Order { id, what: wanted, caller: state.caller.clone() })));
        }
        let asked = state.asked(method, line, params);
        let deadline =
            self.timeout.filter(|_| !ENDLESS.contains(&method)).map(|timeout| Instant::now() + timeout);
        state.pending.add(Request { id, asked, deadline, cancelled: false });
        None
    }

    /// What a request wants of us, and not of the server.
    fn ours(&self, state: &State, method: &str, line: &[u8], params: &Place) -> Option<Wanted> {
        if self.mode == Mode::Observe {
            return None;
        }
        let text = |key: &str| raw::text(line, &raw::member(line, params, key)?);
        match method {
            "tools/call" if text("name")? == state.caller.reader => {
                let arguments = raw::member(line, params, "arguments");
                Some(Wanted::Query(arguments.map(|place| line[place].to_vec())))
            }
            "resources/read" => {
                let uri = text("uri")?;
                // Only what can be one of our names is ours.
                self.gate.owns(&uri).then(|| Wanted::Read(uri.into_owned()))
            }
            "resources/list" if state.lacks_resources() => Some(Wanted::Resources),
            "resources/templates/list" if state.lacks_resources() => Some(Wanted::Templates),
            _ => None,
        }
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
            Wanted::Read(uri) => self.gate.read_resource(caller, uri),
            Wanted::Resources => Ok(self.gate.resources(caller, None).unwrap_or_default()),
            Wanted::Templates => Ok(self.gate.templates(caller, None).unwrap_or_default()),
        }
    }

    /// Takes a line from the server.
    pub fn from_server(&self, line: Vec<u8>) -> FromServer {
        let mut out = FromServer::default();
        let Some(places) = messages(&line) else {
            self.leave_out(line, "not JSON", &mut out);
            return out;
        };
        let mut edits = Edits::new();
        let mut kept = 0;
        for place in &places {
            let Some(envelope) = Envelope::read(&line, place) else { continue };
            if self.server_message(&line, &envelope, &mut edits, &mut out) {
                kept += 1;
            }
        }
        match kept {
            0 if self.mode == Mode::Shape => {
                if out.left_out.is_empty() {
                    self.leave_out(line, "no message", &mut out);
                }
            }
            _ if edits.is_empty() => out.forward = Some(line),
            _ => out.forward = Some(edits.apply(&line)),
        }
        out
    }

    /// Looks at a message of the server; false where it is left out.
    fn server_message(
        &self,
        line: &[u8],
        envelope: &Envelope<'_>,
        edits: &mut Edits,
        out: &mut FromServer,
    ) -> bool {
        match envelope.kind() {
            Kind::Response => {}
            Kind::Notification if envelope.method.as_deref() == Some("notifications/tasks") => {
                let (caller, called) = {
                    let state = self.state();
                    (state.caller.clone(), state.tasks.called(line, envelope.params.as_ref()))
                };
                if let Some(params) = &envelope.params {
                    self.task_state(&caller, &called, line, params, edits);
                }
                return true;
            }
            kind => return kind != Kind::Other || self.mode == Mode::Observe,
        }
        let id = envelope.id.as_ref().map_or(&b"null"[..], |id| &line[id.clone()]);
        let mut state = self.state();
        state.answered = true;
        let Some(request) = state.pending.take(id) else {
            // What cannot be said to answer a request, such as a complaint about a line that was no JSON, crosses.
            let crosses = id == b"null" || self.mode == Mode::Observe;
            if !crosses {
                let shown = String::from_utf8_lossy(&id[..id.len().min(40)]).into_owned();
                out.left_out.push(format!("an answer to no open request (id {shown}) was left out"));
            }
            return crosses;
        };
        if let (Asked::Call(called), Some(result)) = (&request.asked, &envelope.result) {
            state.tasks.note(called, line, result);
        }
        let mut caller = state.caller.clone();
        drop(state);
        self.answer(&mut caller, &request.asked, line, envelope, (edits, out));
        true
    }

    /// Lets the gate see an answer.
    fn answer(
        &self,
        caller: &mut Caller,
        asked: &Asked,
        line: &[u8],
        envelope: &Envelope<'_>,
        (edits, out): (&mut Edits, &mut FromServer),
    ) {
        let Some(place) = envelope.result.clone() else {
            self.missing_method(caller, asked, line, envelope, edits);
            return;
        };
        let result = &line[place.clone()];
        if self.mode == Mode::Observe {
            if let Asked::Call(called) | Asked::TaskResult(called) = asked {
                out.notes.push(untouched(caller, called, "observe", result, Instant::now()));
            }
            return;
        }
        let replacement = match asked {
            Asked::Capabilities => self.gate.announce(result).and_then(|(found, announced)| {
                self.state().capabilities = Some(found);
                announced
            }),
            Asked::Tools { first_page } => {
                let listed = self.gate.tools(caller, result, *first_page);
                self.state().caller.reader = caller.reader;
                listed
            }
            Asked::Resources { first_page } if *first_page => self.gate.resources(caller, Some(result)),
            Asked::Templates { first_page } if *first_page => self.gate.templates(caller, Some(result)),
            Asked::Call(called) | Asked::TaskResult(called) => {
                let started = Instant::now();
                let shaped = self.gate.result(caller, called, result);
                if shaped.is_none() {
                    out.notes.push(untouched(caller, called, "pass", result, started));
                }
                shaped
            }
            Asked::TaskState(called) => {
                self.task_state(caller, called, line, &place, edits);
                None
            }
            _ => None,
        };
        if let Some(replacement) = replacement {
            edits.replace(place, replacement);
        }
    }

    /// A task carries its result in a member of its own once it is done.
    fn task_state(&self, caller: &Caller, called: &Called, line: &[u8], task: &Place, edits: &mut Edits) {
        if self.mode == Mode::Observe {
            return;
        }
        let Some(result) = raw::member(line, task, "result") else { return };
        if let Some(shaped) = self.gate.result(caller, called, &line[result.clone()]) {
            edits.replace(result, shaped);
        }
    }

    /// A server that turns out not to have a list gets ours.
    fn missing_method(
        &self,
        caller: &Caller,
        asked: &Asked,
        line: &[u8],
        envelope: &Envelope<'_>,
        edits: &mut Edits,
    ) {
        let Some(error) = envelope.error.clone().filter(|_| self.mode == Mode::Shape) else { return };
        let code = raw::member(line, &error, "code");
        if code.is_none_or(|code| line[code] != *b"-32601") {
            return;
        }
        let own = match asked {
            Asked::Resources { .. } => self.gate.resources(caller, None),
            Asked::Templates { .. } => self.gate.templates(caller, None),
            _ => None,
        };
        if let Some(own) = own {
            // The member's name stands just before its value, with a colon between.
            let before = &line[..error.start];
            if let Some(name) = memchr::memmem::rfind(before, b"\"error\"") {
                edits.replace(name..error.end, [b"\"result\":", own.as_slice()].concat());
            }
        }
    }

    fn leave_out(&self, line: Vec<u8>, why: &str, out: &mut FromServer) {
        if self.mode == Mode::Observe {
            out.forward = Some(line);
        } else if !line.trim_ascii().is_empty() {
            let shown: String = String::from_utf8_lossy(&line[..line.len().min(200)]).trim().to_owned();
            out.left_out.push(format!("a line of the server's output was left out ({why}): {shown}"));
        }
    }

    /// Returns answers for the requests whose time is over, and what tells the server so.
    pub fn overdue(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let requests = self.state().pending.overdue(Instant::now());
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
        self.state().pending.next_deadline()
    }

    /// Returns whether requests have a deadline.
    pub fn has_timeout(&self) -> bool {
        self.timeout.is_some()
    }

    /// Returns answers for all open requests, now that the server is gone.
    pub fn end(&self, reason: &str) -> Vec<Vec<u8>> {
        let requests = self.state().pending.take_all();
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

    /// Notes what crossed.
    pub fn note(&self, untouched: Untouched) {
        self.gate.note_untouched(untouched);
    }

    /// Writes what was noted so far.
    pub fn flush(&self) {
        self.gate.keep().flush();
    }

    /// Takes away what has expired.
    pub fn sweep(&self) {
        self.gate.keep().sweep();
    }
}

/// A message that is no business of the server's.
enum Ours {
    Order(Box<Order>),
    Nothing,
}

impl State {
    fn asked(&self, method: &str, line: &[u8], params: &Place) -> Asked {
        let first_page = || raw::member(line, params, "cursor").is_none_or(|cursor| line[cursor] == *b"null");
        match method {
            "initialize" | "server/discover" => Asked::Capabilities,
            "tools/list" => Asked::Tools { first_page: first_page() },
            "resources/list" => Asked::Resources { first_page: first_page() },
            "resources/templates/list" => Asked::Templates { first_page: first_page() },
            "tools/call" => Asked::Call(self.called(line, params)),
            "tasks/result" => Asked::TaskResult(self.tasks.called(line, Some(params))),
            "tasks/get" => Asked::TaskState(self.tasks.called(line, Some(params))),
            other => Asked::Other(other.to_owned()),
        }
    }

    fn called(&self, line: &[u8], params: &Place) -> Called {
        let text = |place: Option<Place>| place.and_then(|place| raw::text(line, &place));
        let tool = text(raw::member(line, params, "name")).unwrap_or_default().into_owned();
        let arguments = raw::member(line, params, "arguments")
            .map(|place| String::from_utf8_lossy(&line[place]).into_owned());
        // Codex marks the calls that a program of its model makes.
        let by_program = self.caller.profile.runs_programs
            && text(raw::at(line, params, &["_meta", "callId"])).is_some_and(|id| id.starts_with("exec-"));
        Called { tool, arguments, by_program }
    }

    fn lacks_resources(&self) -> bool {
        self.capabilities.is_some_and(|found| found.tools && !found.resources)
    }

    /// Notes a cancellation; true where it concerns a request of our own.
    fn cancel(&mut self, line: &[u8], params: &Place) -> bool {
        let Some(id) = raw::member(line, params, "requestId") else { return false };
        let id = &line[id];
        self.pending.cancel(id);
        self.own.iter().any(|own| own == id)
    }
}

fn untouched(
    caller: &Caller,
    called: &Called,
    step: &'static str,
    result: &[u8],
    started: Instant,
) -> Untouched {
    Untouched {
        client: caller.client.clone(),
        meter: caller.profile.meter,
        tool: called.tool.clone(),
        step,
        result: result.to_vec(),
        added_micros: u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX),
    }
}

fn line_of(mut message: Vec<u8>) -> Vec<u8> {
    message.push(b'\n');
    message
}
