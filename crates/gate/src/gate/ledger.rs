//! What the ledger records of each call: sizes before and after, and the time that was added.
//!
//! Every answer is measured as it is sent, so that the figures are what a client counts. An observer of the gate receives every
//! entry, even without a ledger.

use std::sync::Arc;
use std::time::Instant;

use tidegate_core::measure::{self, Cost};
use tidegate_core::payload::Payload;
use tidegate_core::source::Source;
use tidegate_core::{Bytes, Tokens};
use tidegate_store::{Artifact, Call, CountMethod};

use super::{Gate, ToolCall};
use crate::caller::Caller;
use crate::tools;

/// The step of a list of tools, or of its first page.
pub const LIST: &str = "list";
/// The step of a further page of a list of tools.
pub const MORE_OF_LIST: &str = "list-more";

/// The step of a call that was answered without running the tool, because its arguments or its caller are not accepted.
pub const REFUSED: &str = "refused";
/// The step of an artifact that a tool stored itself.
pub const ARTIFACT: &str = "artifact";

/// Receives every ledger entry.
pub type Observer = Arc<dyn Fn(&Call) + Send + Sync>;

/// The maximum number of characters of a tool's name in the ledger.
const MAX_TOOL_NAME: usize = 128;

/// A result that passed unchanged, for the ledger.
pub struct PassedResult<'u> {
    /// Who called.
    pub caller: &'u Caller,
    /// The tool.
    pub tool: &'u str,
    /// `pass`, `observe`, [`LIST`] or [`MORE_OF_LIST`].
    pub step: &'u str,
    /// The result.
    pub result: &'u dyn Source,
    /// Microseconds that were added to the call.
    pub added_micros: u64,
    /// The call, if its result is to be stored although it passed.
    pub kept_call: Option<&'u ToolCall>,
}

impl Gate {
    /// Records a result that passed unchanged, and stores it if the policy says so. Counts its tokens, so call it outside the
    /// path of the answer.
    pub fn note_untouched(&self, untouched: &PassedResult<'_>) {
        let &PassedResult { caller, tool, step, result, added_micros, kept_call } = untouched;
        let meter = &caller.profile.meter;
        let cost = match step {
            LIST | MORE_OF_LIST => tools::cost(result, meter),
            _ => Payload::read_result(&result).ok().and_then(|payload| measure::cost(&payload, meter).ok()),
        };
        let Some(cost) = cost else { return };
        let call = self.entry(caller, tool, step, (cost, cost));
        let kept = kept_call.and_then(|called| self.keep_passed(caller, called, result));
        let stored_bytes = kept.as_ref().map_or(0, |artifact| artifact.stored_bytes);
        let artifact = kept.map(|artifact| artifact.id.to_string());
        self.record(Call { added_micros, artifact, stored_bytes, ..call });
    }

    /// Records a result that passed unchanged, whose cost is known; the call began at `started`.
    pub fn note_passed(&self, caller: &Caller, tool: &str, cost: Cost, started: Instant) {
        self.note(self.entry(caller, tool, "pass", (cost, cost)), started);
    }

    /// Records the answer to a call that was refused.
    pub fn note_refused(&self, caller: &Caller, tool: &str, answer: &[u8]) {
        let cost = sent_cost(caller, answer);
        self.record(self.entry(caller, tool, REFUSED, (cost, cost)));
    }

    /// Records an artifact that a tool stored itself, with its cost.
    pub fn note_artifact(&self, caller: &Caller, tool: &str, artifact: &Artifact, cost: Cost) {
        let nothing = Cost { tokens: Tokens(0), estimated: false, bytes: Bytes(0) };
        let call = self.entry(caller, tool, ARTIFACT, (cost, nothing));
        self.session(caller).note_kept(artifact.id.clone());
        let (id, stored_bytes) = (Some(artifact.id.to_string()), artifact.stored_bytes);
        self.record(Call { artifact: id, stored_bytes, ..call });
    }

    /// Writes an entry to the ledger, and passes it to the observer.
    fn record(&self, call: Call) {
        if let Some(observer) = &self.observer {
            observer(&call);
        }
        self.setup.keep.note(call);
    }

    /// Records a call that began at `started`.
    pub(crate) fn note(&self, call: Call, started: Instant) {
        let added_micros = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.record(Call { added_micros, ..call });
    }

    /// Returns a ledger entry with everything that all calls have in common.
    pub(crate) fn entry(&self, caller: &Caller, tool: &str, step: &str, (raw, sent): (Cost, Cost)) -> Call {
        let meter = &caller.profile.meter;
        let keep = self.keep_of(caller);
        Call {
            at: self.setup.keep.clock().now(),
            client: caller.client.clone(),
            server: self.server_of(tool).into_owned(),
            tool: tool.chars().take(MAX_TOOL_NAME).collect(),
            step: step.to_owned(),
            raw_bytes: raw.bytes.0,
            raw_tokens: raw.tokens.0,
            sent_bytes: sent.bytes.0,
            sent_tokens: sent.tokens.0,
            added_micros: 0,
            artifact: None,
            session: Some(keep.session.as_str().to_owned()),
            view: None,
            stored_bytes: 0,
            counted: Some(CountMethod {
                vocabulary: meter.vocabulary().to_owned(),
                margin_percent: meter.margin_percent(),
            }),
            budget_tokens: 0,
            owner: Some(keep.owner.as_str().to_owned()),
        }
    }
}

/// Returns what an answer costs as it is sent.
pub(super) fn sent_cost(caller: &Caller, answer: &[u8]) -> Cost {
    let meter = &caller.profile.meter;
    let measured = Payload::read_result(&answer).ok().and_then(|payload| measure::cost(&payload, meter).ok());
    measured.unwrap_or(Cost { tokens: Tokens(0), estimated: false, bytes: Bytes(answer.len() as u64) })
}
