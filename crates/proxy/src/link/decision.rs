//! The one decision about each message of the server: forwarded, edited, shaped, or dropped.
//!
//! It reads the message through its head and [`Content`], so it is the same for a line in memory, for a message that was
//! spooled to disk, and for every transport.

use std::sync::Arc;
use std::time::Instant;

use smallvec::SmallVec;
use tidegate_gate::raw::{ByteRange, Edits};
use tidegate_gate::{Caller, LIST, MORE_OF_LIST, RpcError, ToolCall, error_response};

use super::client::remove_messages;
use super::{Link, Mode};
use crate::content::Content;
use crate::ledger_queue::Forwarded;
use crate::message::{BYTE_ORDER_MARK, MessageHead, MessageKind};
use crate::pending::{PendingRequest, RequestKind};
use crate::task::{result_of_task, task_id};

/// The code of the error for a method that the server does not have.
const METHOD_NOT_FOUND: i64 = -32601;
/// The longest list or announcement of capabilities that is read into memory to be edited; a longer one is forwarded as it
/// is.
const MAX_EDITED_LIST_BYTES: usize = 32 << 20;
/// How many bytes of a dropped message are shown in the log.
const MAX_SHOWN_BYTES: usize = 200;
/// How many bytes of an unknown id are shown in the log.
const MAX_SHOWN_ID_BYTES: usize = 40;

/// What happens to one message.
enum Decision {
    Forward,
    /// It is dropped, for the reason given.
    Drop(String),
    /// It is dropped, because it is not a JSON-RPC message.
    DropNoMessage,
    /// It is stored and shaped before it is forwarded.
    Shape(Box<ShapeTarget>),
}

/// The result or error that is to be stored and shaped.
#[derive(Debug)]
pub(super) struct ShapeTarget {
    /// The id of the request, as the client wrote it.
    pub(super) id: Vec<u8>,
    /// The range of the result or error.
    pub(super) range: ByteRange,
    pub(super) is_error: bool,
    pub(super) called: ToolCall,
    pub(super) caller: Arc<Caller>,
}

/// One message of a line or spooled message.
#[derive(Clone, Copy)]
struct LineMessage<'m> {
    head: &'m MessageHead,
    content: Content<'m>,
    /// Whether it is the only one.
    is_alone: bool,
}

/// What happens to the messages of one line.
#[derive(Default)]
pub(super) struct Decisions {
    pub(super) edits: Edits,
    /// Why messages were dropped, for the log.
    pub(super) dropped: Vec<String>,
    /// Whether something is left to forward.
    pub(super) forward: bool,
    /// What to shape first.
    pub(super) shape: Option<Box<ShapeTarget>>,
    /// The code of the error, if the line is an error response.
    pub(super) error_code: Option<i64>,
}

impl Link {
    /// Decides on every message of a line or spooled message.
    pub(super) fn decide(&self, heads: &[MessageHead], content: Content<'_>) -> Decisions {
        let mut decisions = Decisions::default();
        if self.mode == Mode::Shape && content.start_of(&(0..usize::MAX), 3) == BYTE_ORDER_MARK {
            // Clients that read strict JSON would refuse it.
            decisions.edits.replace(0..BYTE_ORDER_MARK.len(), Vec::new());
        }
        let mut dropped: SmallVec<[usize; 4]> = SmallVec::new();
        let mut has_other_elements = heads.is_empty() && self.mode == Mode::Shape;
        for (index, head) in heads.iter().enumerate() {
            let message = LineMessage { head, content, is_alone: heads.len() == 1 };
            match self.decide_one(message, &mut decisions) {
                Decision::Forward => {}
                Decision::Drop(reason) => {
                    dropped.push(index);
                    decisions.dropped.push(reason);
                }
                Decision::DropNoMessage => {
                    dropped.push(index);
                    has_other_elements = true;
                }
                Decision::Shape(target) => decisions.shape = Some(target),
            }
        }
        decisions.forward = dropped.len() < heads.len() || self.mode != Mode::Shape;
        if decisions.forward && !dropped.is_empty() {
            remove_messages(heads, |index| dropped.contains(&index), &mut decisions.edits);
        }
        if has_other_elements {
            decisions.dropped.push(dropped_line(content, &(0..usize::MAX), "no message"));
        }
        decisions
    }

    fn decide_one(&self, message: LineMessage<'_>, decisions: &mut Decisions) -> Decision {
        let LineMessage { head, content, .. } = message;
        match head.kind() {
            _ if head.is_answer() => self.decide_response(message, decisions),
            MessageKind::Notification if head.method() == "notifications/tasks" => {
                if let Some(params) = &head.params {
                    let (caller, called) = {
                        let conversation = self.conversation();
                        let called = conversation.tasks.call_of(content, Some(params));
                        (self.caller(&conversation), called)
                    };
                    self.shape_task(&caller, &called, content, params, &mut decisions.edits);
                }
                Decision::Forward
            }
            MessageKind::Request => {
                self.note_question(head);
                Decision::Forward
            }
            MessageKind::Notification => {
                self.note_notification(head.method(), content, head.params.as_ref());
                Decision::Forward
            }
            _ if self.mode != Mode::Shape => Decision::Forward,
            _ => Decision::DropNoMessage,
        }
    }

    fn decide_response(&self, message: LineMessage<'_>, decisions: &mut Decisions) -> Decision {
        let LineMessage { head, content, .. } = message;
        let id = head.id_bytes();
        let caller = {
            let mut conversation = self.conversation();
            conversation.answered = true;
            self.caller(&conversation)
        };
        let Some(request) = self.pending().take(id) else {
            let is_wanted = self.mode != Mode::Shape
                || (head.kind() == MessageKind::Response
                    && (id == b"null" || self.conversation().unreadable.take(id)));
            return if is_wanted { Decision::Forward } else { Decision::Drop(dropped_response(id)) };
        };
        if let Some(wrong) = head.wrong_outcome().filter(|_| self.mode == Mode::Shape) {
            return self.replace_wrong_answer(&request, wrong, head, decisions);
        }
        let edits = &mut decisions.edits;
        let is_rewritten = request.id_is_rewritten(id) && self.mode == Mode::Shape;
        if let Some(range) = head.id.as_ref().filter(|_| is_rewritten) {
            edits.replace(range.clone(), request.id.clone());
        }
        if let (RequestKind::Call(called), Some(result)) = (&request.kind, &head.result)
            && let Some(task) = task_id(content, result)
        {
            self.conversation().tasks.remember(task, called);
        }
        if head.result.is_none() {
            decisions.error_code = error_code(head, content);
        }
        match (&request.kind, &head.result) {
            (RequestKind::Call(_) | RequestKind::TaskResult(_), _) => {
                return self.decide_call(request, caller, message, edits);
            }
            (kind, Some(result)) => self.edit_list(kind, caller, content, result, edits),
            (kind, None) => {
                if self.replace_missing_list(kind, &caller, head, decisions) {
                    decisions.error_code = None;
                }
            }
        }
        Decision::Forward
    }

    /// Replaces an answer that no client could use by an error, so that its request is still answered.
    fn replace_wrong_answer(
        &self,
        request: &PendingRequest,
        wrong: &str,
        head: &MessageHead,
        decisions: &mut Decisions,
    ) -> Decision {
        let what = request.kind.describe();
        let error = RpcError::upstream(format!(
            "the server's answer to {what} {wrong}{}",
            request.kind.may_have_run()
        ));
        decisions.error_code = Some(error.code);
        let written = head.id_bytes();
        let id: &[u8] = if request.id_is_rewritten(written) { &request.id } else { written };
        decisions.edits.replace(head.whole.clone(), error_response(id, &error));
        Decision::Forward
    }

    /// Decides on the result or error of a call.
    fn decide_call(
        &self,
        request: PendingRequest,
        caller: Arc<Caller>,
        message: LineMessage<'_>,
        edits: &mut Edits,
    ) -> Decision {
        let LineMessage { head, content, is_alone } = message;
        let (RequestKind::Call(called) | RequestKind::TaskResult(called), Some(range)) =
            (&request.kind, head.outcome())
        else {
            return Decision::Forward;
        };
        let started = Instant::now();
        if self.mode != Mode::Shape {
            if self.mode == Mode::Observe {
                self.ledger.push(&caller, &called.tool, "observe", content.forwarded(range), started, None);
            }
            return Decision::Forward;
        }
        if content.slice(range).is_some_and(|bytes| self.gate.fits(&caller, called, bytes)) {
            self.note_passed(&caller, called, content.forwarded(range), head.result.is_none(), started);
            return Decision::Forward;
        }
        let (id, range, called) = (request.id.clone(), range.clone(), called.clone());
        let target = ShapeTarget { id, range, is_error: head.result.is_none(), called, caller };
        if is_alone {
            self.pending().keep_while_shaping(request, self.timeout);
            return Decision::Shape(Box::new(target));
        }
        self.shape(&target, content, edits);
        Decision::Forward
    }

    /// Stores and shapes a result or error, or notes that it is forwarded unchanged.
    pub(super) fn shape(&self, target: &ShapeTarget, content: Content<'_>, edits: &mut Edits) {
        let ShapeTarget { range, is_error, called, caller, .. } = target;
        let started = Instant::now();
        let body = content.source(range);
        let shaped = match is_error {
            false => self.gate.result(caller, called, &*body),
            true => self.gate.error(caller, called, &*body),
        };
        match shaped {
            Some(shaped) => edits.replace(range.clone(), shaped),
            None => self.note_passed(caller, called, content.forwarded(range), *is_error, started),
        }
    }

    /// Notes a result or an error that is forwarded unchanged; a result is also stored if the policy says so.
    fn note_passed(
        &self,
        caller: &Arc<Caller>,
        called: &ToolCall,
        result: Forwarded<'_>,
        is_error: bool,
        started: Instant,
    ) {
        let is_kept = !is_error && self.gate.keeps_passed(&called.tool);
        let kept_call = is_kept.then(|| Box::new(called.clone()));
        self.ledger.push(caller, &called.tool, "pass", result, started, kept_call);
    }

    /// Shapes the result that the state of a task carries once the task is done.
    fn shape_task(
        &self,
        caller: &Caller,
        called: &ToolCall,
        content: Content<'_>,
        task: &ByteRange,
        edits: &mut Edits,
    ) {
        if self.mode != Mode::Shape {
            return;
        }
        let Some(result) = result_of_task(content, task) else { return };
        if let Some(shaped) = self.gate.result(caller, called, &*content.source(&result)) {
            edits.replace(result, shaped);
        }
    }

    /// Edits a list or the capabilities of the server, and notes what lists of tools cost.
    fn edit_list(
        &self,
        kind: &RequestKind,
        mut caller: Arc<Caller>,
        content: Content<'_>,
        range: &ByteRange,
        edits: &mut Edits,
    ) {
        if self.mode == Mode::Relay {
            return;
        }
        if let RequestKind::Tools { first_page } = kind {
            let step = if *first_page { LIST } else { MORE_OF_LIST };
            self.ledger.push(&caller, "tools/list", step, content.forwarded(range), Instant::now(), None);
        }
        if let RequestKind::TaskState(called) = kind {
            return self.shape_task(&caller, called, content, range, edits);
        }
        if self.mode != Mode::Shape {
            return;
        }
        let Some(result) = content.whole(range, MAX_EDITED_LIST_BYTES) else { return };
        let result = &*result;
        let replacement = match kind {
            RequestKind::Capabilities(_) => self.gate.announce(result).and_then(|(found, announced)| {
                self.conversation().capabilities = Some(found);
                announced
            }),
            RequestKind::Tools { first_page } => {
                let listed = self.gate.tools(Arc::make_mut(&mut caller), result, *first_page);
                let mut conversation = self.conversation();
                let names = (caller.query_tool, caller.save_tool);
                if (conversation.caller.query_tool, conversation.caller.save_tool) != names {
                    let known = Arc::make_mut(&mut conversation.caller);
                    (known.query_tool, known.save_tool) = names;
                }
                listed
            }
            RequestKind::Resources { first_page: true } => self.gate.resources(&caller, Some(result)),
            RequestKind::Templates { first_page: true } => self.gate.templates(&caller, Some(result)),
            _ => None,
        };
        if let Some(replacement) = replacement {
            edits.replace(range.clone(), replacement);
        }
    }

    /// Replaces the error of a server that does not have a list with tidegate's own list; returns whether it did.
    fn replace_missing_list(
        &self,
        kind: &RequestKind,
        caller: &Caller,
        head: &MessageHead,
        decisions: &mut Decisions,
    ) -> bool {
        if self.mode != Mode::Shape || decisions.error_code != Some(METHOD_NOT_FOUND) {
            return false;
        }
        let list = match kind {
            RequestKind::Resources { .. } => self.gate.resources(caller, None),
            RequestKind::Templates { .. } => self.gate.templates(caller, None),
            _ => None,
        };
        let (Some(list), Some(member)) = (list, &head.error_member) else { return false };
        decisions.edits.replace(member.clone(), [b"\"result\":", list.as_slice()].concat());
        true
    }
}

/// Returns the code of the error that a message is.
fn error_code(head: &MessageHead, content: Content<'_>) -> Option<i64> {
    content.member(head.error.as_ref()?, "code")?.integer()
}

/// Describes a dropped message for the log.
pub(crate) fn dropped_line(content: Content<'_>, range: &ByteRange, reason: &str) -> String {
    let start = content.start_of(range, MAX_SHOWN_BYTES);
    format!("dropped a line of the server's output ({reason}): {}", String::from_utf8_lossy(&start).trim())
}

/// Describes dropped text for the log; blank text is not worth a line.
pub(crate) fn dropped_text(content: Content<'_>, range: &ByteRange) -> Option<String> {
    let is_blank = content.start_of(range, MAX_SHOWN_BYTES).trim_ascii().is_empty();
    (!is_blank).then(|| dropped_line(content, range, "not JSON"))
}

/// Describes a dropped response for the log.
pub(crate) fn dropped_response(id: &[u8]) -> String {
    let id = String::from_utf8_lossy(&id[..id.len().min(MAX_SHOWN_ID_BYTES)]);
    format!("dropped a response to no open request (id {id})")
}
