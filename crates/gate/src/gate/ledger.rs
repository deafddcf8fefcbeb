//! What the ledger records of each call: sizes before and after, and the time that was added.

use std::time::Instant;

use tidegate_core::measure::{self, Cost};
use tidegate_core::payload::Payload;
use tidegate_core::source::Source;
use tidegate_store::{Call, CountMethod};

use super::Gate;
use crate::caller::Caller;
use crate::tools;

/// The step of a list of tools, or of its first page.
pub const LIST: &str = "list";
/// The step of a further page of a list of tools.
pub const MORE_OF_LIST: &str = "list-more";

/// The most characters of a tool's name in the ledger.
const MAX_TOOL_NAME: usize = 128;

/// A result that passed as it came, for the ledger.
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
}

impl Gate {
    /// Records a result that passed as it came. Counts its tokens, so call it off the path of the answer.
    pub fn note_untouched(&self, untouched: &PassedResult<'_>) {
        let &PassedResult { caller, tool, step, result, added_micros } = untouched;
        let meter = &caller.profile.meter;
        let cost = match step {
            LIST | MORE_OF_LIST => tools::cost(result, meter),
            _ => Payload::read_result(&result).ok().and_then(|payload| measure::cost(&payload, meter).ok()),
        };
        let Some(cost) = cost else { return };
        let call = self.entry(caller, tool, step, (cost, cost));
        self.setup.keep.note(Call { added_micros, ..call });
    }

    /// Records a call that began at `started`.
    pub(super) fn note(&self, call: Call, started: Instant) {
        let added_micros = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.setup.keep.note(Call { added_micros, ..call });
    }

    /// Returns a ledger entry with everything that all calls have in common.
    pub(super) fn entry(&self, caller: &Caller, tool: &str, step: &str, (raw, sent): (Cost, Cost)) -> Call {
        let meter = &caller.profile.meter;
        Call {
            at: self.setup.keep.clock().now(),
            client: caller.client.clone(),
            server: self.setup.server.clone(),
            tool: tool.chars().take(MAX_TOOL_NAME).collect(),
            step: step.to_owned(),
            raw_bytes: raw.bytes.0,
            raw_tokens: raw.tokens.0,
            sent_bytes: sent.bytes.0,
            sent_tokens: sent.tokens.0,
            added_micros: 0,
            artifact: None,
            session: Some(self.setup.keep.session.as_str().to_owned()),
            view: None,
            stored_bytes: 0,
            counted: Some(CountMethod {
                vocabulary: meter.vocabulary().to_owned(),
                margin_percent: meter.margin_percent(),
            }),
        }
    }
}
