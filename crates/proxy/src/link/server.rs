//! What the server says: whose answer it is, and what becomes of it.
//!
//! Most lines are decided on at once. A result that must be stored and shaped is handed out as [`Later`] work, so that
//! whoever reads the server need not wait for the disk; its request stays open until that is done.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use smallvec::SmallVec;
use tidegate_core::source::Source;
use tidegate_gate::raw::{self, Edits, Place};
use tidegate_gate::{Called, Caller, LIST, MORE_OF_LIST, RpcError, error_response};

use super::{Link, Mode, add_line, line_of};
use crate::held::{Message, TooLong};
use crate::message::{BYTE_ORDER_MARK, Envelope, Kind, behind_text, messages};
use crate::notes::Crossed;
use crate::pending::Asked;

/// What to do with a message from the server.
#[derive(Default)]
pub struct FromServer {
    /// What to send to the client.
    pub forward: Option<Message>,
    /// Why something was left out, for the log.
    pub left_out: Vec<String>,
    /// What to work on before there is something to send; then there is nothing else.
    pub later: Option<Box<Later>>,
}

/// An answer that is to be stored and shaped.
#[derive(Debug)]
pub struct Later {
    pub(super) message: Message,
    /// The id of the request, as the client wrote it.
    pub(super) id: Vec<u8>,
    /// Where the result or error stands.
    pub(super) place: Place,
    pub(super) failed: bool,
    /// What else is to be changed.
    pub(super) edits: Edits,
    pub(super) called: Called,
    pub(super) caller: Arc<Caller>,
}

/// One message of a line, on its way.
struct Passing<'p> {
    line: &'p [u8],
    edits: Edits,
    out: FromServer,
    /// Whether shaping may be put off.
    alone: bool,
}

impl Link {
    /// Takes a message from the server.
    pub fn from_server(&self, message: impl Into<Message>) -> FromServer {
        match message.into() {
            Message::Memory(line) => {
                let (forward, out) = self.take_line(line.into());
                FromServer { forward: forward.map(|line| line.into_owned().into()), ..out }
            }
            Message::Disk(spooled) => self.take_spooled(*spooled),
        }
    }

    /// Takes a line from the server, adds what to send to the client, and returns the rest of what to do.
    pub(crate) fn pass_to_client(&self, line: &[u8], lines: &mut Vec<u8>) -> FromServer {
        let (forward, out) = self.take_line(line.into());
        add_line(lines, forward.as_deref());
        out
    }

    fn take_line<'l>(&self, mut line: Cow<'l, [u8]>) -> (Option<Cow<'l, [u8]>>, FromServer) {
        if line.starts_with(BYTE_ORDER_MARK) && self.mode == Mode::Shape {
            // Clients that read JSON as it is defined would refuse it.
            line.to_mut().drain(..BYTE_ORDER_MARK.len());
        }
        let Some(places) = messages(&line) else {
            return match behind_text(&line).filter(|_| self.mode == Mode::Shape) {
                Some(start) => {
                    let (forward, mut out) = self.take_line(line[start..].to_vec().into());
                    out.left_out.push(left_out(&line[..start], "not JSON"));
                    (forward, out)
                }
                None => self.leave_out(line, "not JSON", FromServer::default()),
            };
        };
        let alone = places.len() == 1;
        let mut passing = Passing { line: &line, edits: Edits::new(), out: FromServer::default(), alone };
        let mut kept: SmallVec<[&Place; 1]> = SmallVec::new();
        for place in &places {
            let crosses = match Envelope::read(&line, place) {
                Some(envelope) => self.server_message(&envelope, place, &mut passing),
                None => self.mode == Mode::Observe,
            };
            if crosses {
                kept.push(place);
            }
        }
        let Passing { edits, mut out, .. } = passing;
        if let Some(later) = &mut out.later {
            (later.message, later.edits) = (line.into_owned().into(), edits);
            return (None, out);
        }
        if self.mode == Mode::Observe || (kept.len() == places.len() && !kept.is_empty()) {
            return (Some(edits.applied(line)), out);
        }
        match kept.as_slice() {
            [] if out.left_out.is_empty() => self.leave_out(line, "no message", out),
            [] => (None, out),
            kept => (Some(batch_of(kept, &places, edits, &line).into()), out),
        }
    }

    /// Does the work that was put off; `None` where the request was answered otherwise meanwhile.
    pub fn finish(&self, later: Later) -> FromServer {
        let Later { mut message, id, place, failed, mut edits, called, caller } = later;
        let started = Instant::now();
        let shaped = {
            let body = part(&message, &place);
            match failed {
                false => self.gate.result(&caller, &called, &*body),
                true => self.gate.error(&caller, &called, &*body),
            }
        };
        let mut out = FromServer::default();
        if !self.pending().release(&id) {
            out.left_out
                .push(format!("the answer to the call of {} came too late and was left out", called.tool));
            return out;
        }
        match shaped {
            Some(shaped) => edits.replace(place, shaped),
            None => self.notes.add(&caller, &called.tool, "pass", crossed(&message, &place), started),
        }
        message = match message {
            Message::Memory(line) if edits.is_empty() => line.into(),
            Message::Memory(line) => edits.apply(&line).into(),
            Message::Disk(mut spooled) => {
                spooled.change(edits);
                Message::Disk(spooled)
            }
        };
        out.forward = Some(message);
        out
    }

    /// Answers for a message of the server's that could not be taken.
    pub(crate) fn refuse(&self, too_long: &TooLong) -> FromServer {
        let mut out = FromServer::default();
        let why = &too_long.why;
        let request = too_long.id.as_deref().and_then(|id| self.pending().take(id));
        match request {
            Some(request) if !request.cancelled => {
                let what = request.asked.words();
                let ran = match request.asked {
                    Asked::Call(_) => ". The tool did run, so do not take it for undone",
                    _ => "",
                };
                let message = format!("the answer to {what} {why}{ran}");
                out.forward = Some(line_of(error_response(&request.id, &RpcError::upstream(message))).into());
            }
            _ => out.left_out.push(format!("a message of the server's was left out: it {why}")),
        }
        out
    }

    /// Looks at a message; false where it is left out.
    fn server_message(&self, envelope: &Envelope<'_>, whole: &Place, passing: &mut Passing<'_>) -> bool {
        let line = passing.line;
        match envelope.kind() {
            Kind::Response => {}
            Kind::Notification if envelope.method.as_deref() == Some("notifications/tasks") => {
                let (caller, called) = {
                    let state = self.state();
                    (state.caller.clone(), state.tasks.called(line, envelope.params.as_ref()))
                };
                if let Some(params) = &envelope.params {
                    self.task_state(&caller, &called, params, passing);
                }
                return true;
            }
            kind => return kind != Kind::Other || self.mode == Mode::Observe,
        }
        let id = envelope.id.as_ref().map_or(&b"null"[..], |id| &line[id.clone()]);
        let mut state = self.state();
        state.answered = true;
        let request = self.pending().take(id);
        let Some(request) = request else {
            // What cannot be said to answer a request, such as a complaint about a line that was no JSON, crosses.
            let crosses = id == b"null" || self.mode == Mode::Observe || state.unreadable;
            if !crosses {
                let shown = String::from_utf8_lossy(&id[..id.len().min(40)]).into_owned();
                passing.out.left_out.push(format!("an answer to no open request (id {shown}) was left out"));
            }
            return crosses;
        };
        let otherwise = request.is_otherwise(id) && self.mode == Mode::Shape;
        if let Some(place) = envelope.id.as_ref().filter(|_| otherwise) {
            passing.edits.replace(place.clone(), request.id.clone());
        }
        if let (Asked::Call(called), Some(result)) = (&request.asked, &envelope.result) {
            state.tasks.note(called, line, result);
        }
        let caller = Arc::clone(&state.caller);
        drop(state);
        let body = envelope.result.as_ref().or(envelope.error.as_ref());
        if let (Asked::Call(called) | Asked::TaskResult(called), Some(place)) = (&request.asked, body)
            && self.mode == Mode::Shape
        {
            let started = Instant::now();
            if self.gate.fits(&caller, called, &line[place.clone()]) {
                if envelope.result.is_some() {
                    self.notes.add(
                        &caller,
                        &called.tool,
                        "pass",
                        Crossed::Memory(&line[place.clone()]),
                        started,
                    );
                }
                return true;
            }
            if passing.alone {
                passing.out.later = Some(Box::new(Later {
                    message: Message::Memory(Vec::new()),
                    id: request.id.clone(),
                    place: place.clone(),
                    failed: envelope.result.is_none(),
                    edits: Edits::new(),
                    called: called.clone(),
                    caller,
                }));
                self.pending().hold(request);
                return true;
            }
        }
        self.answer(caller, &request.asked, envelope, whole, passing);
        true
    }

    /// Lets the gate see an answer.
    fn answer(
        &self,
        mut caller: Arc<Caller>,
        asked: &Asked,
        envelope: &Envelope<'_>,
        whole: &Place,
        passing: &mut Passing<'_>,
    ) {
        let Some(place) = envelope.result.clone() else {
            self.failed(&caller, asked, envelope, whole, passing);
            return;
        };
        let result = &passing.line[place.clone()];
        if let Asked::Tools { first_page } = asked {
            let step = if *first_page { LIST } else { MORE_OF_LIST };
            self.notes.add(&caller, "tools/list", step, Crossed::Memory(result), Instant::now());
        }
        if self.mode == Mode::Observe {
            if let Asked::Call(called) | Asked::TaskResult(called) = asked {
                self.notes.add(&caller, &called.tool, "observe", Crossed::Memory(result), Instant::now());
            }
            return;
        }
        let replacement = match asked {
            Asked::Capabilities => self.gate.announce(result).and_then(|(found, announced)| {
                self.state().capabilities = Some(found);
                announced
            }),
            Asked::Tools { first_page } => {
                let listed = self.gate.tools(Arc::make_mut(&mut caller), result, *first_page);
                let mut state = self.state();
                if state.caller.reader != caller.reader {
                    Arc::make_mut(&mut state.caller).reader = caller.reader;
                }
                listed
            }
            Asked::Resources { first_page } if *first_page => self.gate.resources(&caller, Some(result)),
            Asked::Templates { first_page } if *first_page => self.gate.templates(&caller, Some(result)),
            Asked::Call(called) | Asked::TaskResult(called) => {
                let started = Instant::now();
                let shaped = self.gate.result(&caller, called, &result);
                if shaped.is_none() {
                    self.notes.add(&caller, &called.tool, "pass", Crossed::Memory(result), started);
                }
                shaped
            }
            Asked::TaskState(called) => {
                self.task_state(&caller, called, &place, passing);
                None
            }
            _ => None,
        };
        if let Some(replacement) = replacement {
            passing.edits.replace(place, replacement);
        }
    }

    /// A task carries its result in a member of its own once it is done.
    fn task_state(&self, caller: &Caller, called: &Called, task: &Place, passing: &mut Passing<'_>) {
        if self.mode == Mode::Observe {
            return;
        }
        let Some(result) = raw::member(passing.line, task, "result") else { return };
        if let Some(shaped) = self.gate.result(caller, called, &&passing.line[result.clone()]) {
            passing.edits.replace(result, shaped);
        }
    }

    /// An error: a call's is bounded, and a server that turns out not to have a list gets ours.
    fn failed(
        &self,
        caller: &Caller,
        asked: &Asked,
        envelope: &Envelope<'_>,
        whole: &Place,
        passing: &mut Passing<'_>,
    ) {
        let Some(error) = envelope.error.clone().filter(|_| self.mode == Mode::Shape) else { return };
        let line = passing.line;
        let missing = raw::member(line, &error, "code").is_some_and(|code| line[code] == *b"-32601");
        let own = match asked {
            Asked::Call(called) | Asked::TaskResult(called) => {
                if let Some(bounded) = self.gate.error(caller, called, &&line[error.clone()]) {
                    passing.edits.replace(error, bounded);
                }
                return;
            }
            Asked::Resources { .. } if missing => self.gate.resources(caller, None),
            Asked::Templates { .. } if missing => self.gate.templates(caller, None),
            _ => None,
        };
        let members = raw::members(line, whole).unwrap_or_default();
        let member = members.iter().find(|member| member.value == error);
        if let (Some(own), Some(member)) = (own, member) {
            passing.edits.replace(member.whole.clone(), [b"\"result\":", own.as_slice()].concat());
        }
    }

    fn leave_out<'l>(
        &self,
        line: Cow<'l, [u8]>,
        why: &str,
        mut out: FromServer,
    ) -> (Option<Cow<'l, [u8]>>, FromServer) {
        if self.mode == Mode::Observe {
            return (Some(line), out);
        }
        if !line.trim_ascii().is_empty() {
            out.left_out.push(left_out(&line, why));
        }
        (None, out)
    }
}

/// Says that a line was left out, and how it begins.
fn left_out(line: &[u8], why: &str) -> String {
    let shown = String::from_utf8_lossy(&line[..line.len().min(200)]).trim().to_owned();
    format!("a line of the server's output was left out ({why}): {shown}")
}

/// A batch without those that are left out.
fn batch_of(kept: &[&Place], places: &[Place], mut edits: Edits, line: &[u8]) -> Vec<u8> {
    let mut first = true;
    for place in places {
        if !kept.contains(&place) {
            edits.replace(place.clone(), b"null".to_vec());
        }
    }
    let edited = edits.apply(line);
    let mut out = b"[".to_vec();
    let elements = messages(&edited).unwrap_or_default();
    for element in elements.into_iter().filter(|element| edited[element.clone()] != *b"null") {
        if !first {
            out.push(b',');
        }
        first = false;
        out.extend_from_slice(&edited[element]);
    }
    out.extend_from_slice(b"]\n");
    out
}

/// The bytes at a place of a message.
fn part<'m>(message: &'m Message, place: &Place) -> Box<dyn Source + Sync + 'm> {
    match message {
        Message::Memory(line) => Box::new(&line[place.clone()]),
        Message::Disk(spooled) => Box::new(spooled.part(place)),
    }
}

/// The bytes at a place of a message, to be noted.
fn crossed<'m>(message: &'m Message, place: &Place) -> Crossed<'m> {
    match message {
        Message::Memory(line) => Crossed::Memory(&line[place.clone()]),
        Message::Disk(spooled) => Crossed::Disk(spooled.part(place)),
    }
}
