//! What the server says where it is too large to be held: the same decisions as for a line, from what was seen of the
//! message as it passed. Lists and greetings of that size are passed on as they are.

use std::time::Instant;

use tidegate_gate::Called;
use tidegate_gate::raw::skim::{self, Message as Skimmed};
use tidegate_gate::raw::{Edits, Member, Place};

use super::{FromServer, Later, Link, Mode, element};
use crate::held::{Message, Spooled};
use crate::notes::Crossed;
use crate::pending::Asked;

/// What becomes of one message.
enum Fate {
    Crosses,
    /// Left out, and why.
    Gone(&'static str),
    Later(Box<Later>),
}

impl Link {
    pub(super) fn take_spooled(&self, mut spooled: Spooled) -> FromServer {
        let mut out = FromServer::default();
        let messages = std::mem::take(&mut spooled.messages);
        let mut edits = Edits::new();
        let mut gone = Vec::new();
        for message in &messages {
            match self.spooled_message(message, messages.len() == 1, &spooled, &mut edits) {
                Fate::Crosses => {}
                Fate::Gone(why) => gone.push((message.place.clone(), why)),
                Fate::Later(later) => {
                    out.later = Some(later);
                    return out;
                }
            }
        }
        if messages.is_empty() {
            gone.push((0..spooled.len(), "not JSON"));
        }
        if self.mode == Mode::Observe {
            gone.clear();
        }
        for (place, why) in &gone {
            out.left_out.push(format!("{} bytes of the server's output were left out ({why})", place.len()));
        }
        if gone.len() < messages.len().max(1) {
            let elements: Vec<Member<'_>> = messages.iter().map(|message| element(&message.place)).collect();
            edits.remove(&elements, |element| gone.iter().any(|(place, _)| *place == element.whole));
            spooled.change(edits);
            out.forward = Some(Message::Disk(Box::new(spooled)));
        }
        out
    }

    fn spooled_message(&self, message: &Skimmed, alone: bool, spooled: &Spooled, edits: &mut Edits) -> Fate {
        if message.member("method").is_some() {
            self.task_notified(message, spooled, edits);
            return Fate::Crosses;
        }
        let result = message.member("result");
        let Some(answer) = result.or_else(|| message.member("error")) else {
            return Fate::Gone("no message");
        };
        let id = message.member("id").map_or(&b"null"[..], |id| &id.head);
        self.state().answered = true;
        let Some(request) = self.pending().take(id) else {
            return if id == b"null" { Fate::Crosses } else { Fate::Gone("an answer to no open request") };
        };
        let otherwise = request.is_otherwise(id) && self.mode == Mode::Shape;
        if let Some(named) = message.member("id").filter(|_| otherwise) {
            edits.replace(named.value.clone(), request.id.clone());
        }
        let caller = self.state().caller.clone();
        match &request.asked {
            Asked::Call(called) | Asked::TaskResult(called) if self.mode == Mode::Observe => {
                let result = Crossed::Disk(spooled.part(&answer.value));
                self.notes.add(&caller, &called.tool, "observe", result, Instant::now());
            }
            Asked::Call(called) | Asked::TaskResult(called) if alone => {
                let later = Later {
                    message: Message::Disk(Box::new(spooled.clone())),
                    id: request.id.clone(),
                    place: answer.value.clone(),
                    failed: result.is_none(),
                    edits: std::mem::take(edits),
                    called: called.clone(),
                    caller,
                };
                self.pending().hold(request);
                return Fate::Later(Box::new(later));
            }
            Asked::Call(called) | Asked::TaskResult(called) => {
                let body = spooled.part(&answer.value);
                let shaped = match result {
                    Some(_) => self.gate.result(&caller, called, &body),
                    None => self.gate.error(&caller, called, &body),
                };
                match shaped {
                    Some(shaped) => edits.replace(answer.value.clone(), shaped),
                    None => {
                        self.notes.add(&caller, &called.tool, "pass", Crossed::Disk(body), Instant::now());
                    }
                }
            }
            Asked::TaskState(called) => self.task_result(called, &answer.value, spooled, edits),
            _ => {}
        }
        Fate::Crosses
    }

    /// The state of a task may carry its result.
    fn task_notified(&self, message: &Skimmed, spooled: &Spooled, edits: &mut Edits) {
        let tasks = message.member("method").is_some_and(|method| method.head == br#""notifications/tasks""#);
        let Some(params) = message.member("params").filter(|_| tasks) else { return };
        let members = skim::members(spooled.source(), &params.value).unwrap_or_default();
        let id = members.iter().rfind(|member| member.key == "taskId").map_or(&b""[..], |id| &id.head);
        let called = self.state().tasks.named(id);
        self.task_result(&called, &params.value, spooled, edits);
    }

    fn task_result(&self, called: &Called, task: &Place, spooled: &Spooled, edits: &mut Edits) {
        if self.mode == Mode::Observe {
            return;
        }
        let members = skim::members(spooled.source(), task).unwrap_or_default();
        let Some(result) = members.iter().rfind(|member| member.key == "result") else { return };
        let caller = self.state().caller.clone();
        if let Some(shaped) = self.gate.result(&caller, called, &spooled.part(&result.value)) {
            edits.replace(result.value.clone(), shaped);
        }
    }
}
