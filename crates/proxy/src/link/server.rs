//! Messages of the server: in memory or on disk, decided on and edited.
//!
//! Most are decided on at once. A result that has to be stored and shaped becomes a [`ShapeJob`], so that the thread that reads
//! from the server does not wait for the disk; its request stays open until the job is finished.

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};

use tidegate_gate::raw::Edits;
use tidegate_gate::{RpcError, error_response};

use super::decision::{Decisions, ShapeTarget, dropped_text};
use super::{Link, Mode, append_line, line_of};
use crate::content::Content;
use crate::message::{Heads, MessageHead, ParsedLine, message_after_text, parse_heads};
use crate::pending::RequestKind;
use crate::spool::{Message, Spooled, TooLarge};

/// What to do with a message of the server.
#[derive(Default)]
pub struct ServerOutcome {
    /// What to send to the client.
    pub forward: Option<Message>,
    /// Why messages were dropped, for the log.
    pub dropped: Vec<String>,
    /// The work to do before there is something to send; then `forward` is empty.
    pub shape_job: Option<Box<ShapeJob>>,
    /// The code of the error, if the message is an error response.
    pub(crate) error_code: Option<i64>,
}

/// A response that is to be stored and shaped; see [`Link::finish`].
#[derive(Debug)]
pub struct ShapeJob {
    message: Message,
    target: Box<ShapeTarget>,
    /// Other edits to the message.
    edits: Edits,
    error_code: Option<i64>,
}

/// A message of the server, with its heads if it was parsed already.
pub(crate) struct ServerMessage {
    pub(crate) message: Message,
    /// The heads of a message in memory; those of a spooled one are in it.
    heads: Option<Heads>,
}

impl ServerMessage {
    /// Returns the first head of a message in memory that was parsed.
    pub(crate) fn first(&self) -> Option<&MessageHead> {
        self.heads.as_ref()?.first()
    }
}

impl From<Message> for ServerMessage {
    fn from(message: Message) -> Self {
        Self { message, heads: None }
    }
}

impl From<ParsedLine> for ServerMessage {
    fn from(line: ParsedLine) -> Self {
        Self { message: line.bytes.into(), heads: line.heads }
    }
}

impl Link {
    /// Takes a message of the server.
    pub fn from_server(&self, message: impl Into<Message>) -> ServerOutcome {
        self.parsed_from_server(message.into().into())
    }

    /// Takes a message of the server that may be parsed already.
    pub(crate) fn parsed_from_server(&self, message: ServerMessage) -> ServerOutcome {
        match message.message {
            Message::Memory(line) => {
                let heads = message.heads.or_else(|| parse_heads(&line));
                let (forward, outcome) = self.take_line(line.into(), heads);
                ServerOutcome { forward: forward.map(|line| line.into_owned().into()), ..outcome }
            }
            Message::Disk(spooled) => self.take_spooled(*spooled),
        }
    }

    /// Takes a line of the server, appends what to send to the client, and returns the rest of what to do.
    pub(crate) fn pass_to_client(&self, line: &[u8], lines: &mut Vec<u8>) -> ServerOutcome {
        let (forward, outcome) = self.take_line(line.into(), parse_heads(line));
        append_line(lines, forward.as_deref());
        outcome
    }

    fn take_line<'l>(
        &self,
        line: Cow<'l, [u8]>,
        heads: Option<Heads>,
    ) -> (Option<Cow<'l, [u8]>>, ServerOutcome) {
        let Some(heads) = heads else { return self.take_text(line) };
        let Decisions { edits, dropped, forward, shape, error_code } =
            self.decide(&heads, Content::Memory(&line));
        let outcome = ServerOutcome { dropped, error_code, ..ServerOutcome::default() };
        if let Some(target) = shape {
            let job = ShapeJob { message: line.into_owned().into(), target, edits, error_code };
            return (None, ServerOutcome { shape_job: Some(Box::new(job)), ..outcome });
        }
        (forward.then(|| edits.applied(line)), outcome)
    }

    /// Takes a line that is not JSON. A message that follows other text on its line is still forwarded.
    fn take_text<'l>(&self, line: Cow<'l, [u8]>) -> (Option<Cow<'l, [u8]>>, ServerOutcome) {
        if self.mode != Mode::Shape {
            return (Some(line), ServerOutcome::default());
        }
        let start = message_after_text(&line);
        let text = 0..start.unwrap_or(line.len());
        let reason = dropped_text(Content::Memory(&line), &text);
        let (forward, mut outcome) = match start {
            Some(start) => {
                let message = line[start..].to_vec();
                let heads = parse_heads(&message);
                self.take_line(message.into(), heads)
            }
            None => (None, ServerOutcome::default()),
        };
        outcome.dropped.extend(reason);
        (forward, outcome)
    }

    fn take_spooled(&self, mut spooled: Spooled) -> ServerOutcome {
        if spooled.heads.is_empty() && self.mode == Mode::Shape {
            return self.take_spooled_text(spooled);
        }
        let Decisions { edits, dropped, forward, shape, error_code } =
            self.decide(&spooled.heads, Content::Disk(&spooled));
        let outcome = ServerOutcome { dropped, error_code, ..ServerOutcome::default() };
        if let Some(target) = shape {
            let job = ShapeJob { message: Message::Disk(Box::new(spooled)), target, edits, error_code };
            return ServerOutcome { shape_job: Some(Box::new(job)), ..outcome };
        }
        spooled.edit(edits);
        ServerOutcome { forward: forward.then(|| Message::Disk(Box::new(spooled))), ..outcome }
    }

    /// Takes a spooled line that is not JSON, like [`Self::take_text`].
    fn take_spooled_text(&self, mut spooled: Spooled) -> ServerOutcome {
        let message = spooled.message_after_text();
        let text = 0..message.as_ref().map_or(spooled.len(), |head| head.whole.start);
        let reason = dropped_text(Content::Disk(&spooled), &text);
        let mut outcome = ServerOutcome::default();
        if let Some(head) = message {
            let mut edits = Edits::new();
            edits.replace(text, Vec::new());
            spooled.heads = vec![head];
            spooled.edit(edits);
            outcome = self.take_spooled(spooled);
        }
        outcome.dropped.extend(reason);
        outcome
    }

    /// Stores and shapes a response. Forwards nothing if its request was answered meanwhile.
    pub fn finish(&self, job: ShapeJob) -> ServerOutcome {
        let ShapeJob { message, target, mut edits, error_code } = job;
        // Whatever fails here, the request still has to be answered.
        let shaped = catch_unwind(AssertUnwindSafe(|| self.shape(&target, message.content(), &mut edits)));
        let mut outcome = ServerOutcome { error_code, ..ServerOutcome::default() };
        if !self.pending().finish_shaping(&target.id) {
            let tool = &target.called.tool;
            outcome.dropped.push(format!("dropped the response to the call of {tool}: it came too late"));
            return outcome;
        }
        if shaped.is_err() {
            let tool = &target.called.tool;
            let error = RpcError::internal(format!(
                "{tool} did run, but tidegate failed on its result. Call {tool} again only if it is safe to repeat"
            ));
            outcome.error_code = Some(error.code);
            outcome.forward = Some(line_of(error_response(&target.id, &error)).into());
            return outcome;
        }
        outcome.forward = Some(match message {
            Message::Memory(line) => edits.applied(line.into()).into_owned().into(),
            Message::Disk(mut spooled) => {
                spooled.edit(edits);
                Message::Disk(spooled)
            }
        });
        outcome
    }

    /// Answers the request whose response was too large to keep.
    pub(crate) fn refuse(&self, too_large: &TooLarge) -> ServerOutcome {
        let mut outcome = ServerOutcome::default();
        let reason = &too_large.reason;
        let request = too_large.id.as_deref().and_then(|id| self.pending().take(id));
        match request {
            Some(request) if !request.cancelled => {
                let what = request.kind.describe();
                let ran = match request.kind {
                    RequestKind::Call(_) => {
                        "; the tool did run, so check its effect before you call it again"
                    }
                    _ => "",
                };
                let error = RpcError::upstream(format!("the answer to {what} {reason}{ran}"));
                outcome.forward = Some(line_of(error_response(&request.id, &error)).into());
            }
            _ => outcome.dropped.push(format!("dropped a message of the server: it {reason}")),
        }
        outcome
    }
}
