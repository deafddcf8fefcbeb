//! The answer that is sent instead of a result, and the answers that only say that the tool did run.

use tidegate_core::Bytes;
use tidegate_core::measure::Cost;
use tidegate_core::view::visible_text;

use super::NO_COST;
use crate::caller::Caller;
use crate::error::causes;
use crate::gate::ToolCall;
use crate::reply;
use crate::session::MAX_SMALLEST_RESULT;
use crate::style::cut_within;

/// The answer that is sent instead of a result, and what the ledger records of it.
pub(crate) struct Shaped {
    /// The serialized answer.
    pub(crate) result: Vec<u8>,
    pub(crate) step: &'static str,
    /// What the result of the tool costs.
    pub(crate) raw: Cost,
    /// What the answer costs.
    pub(crate) sent: Cost,
    pub(crate) artifact: Option<String>,
    /// Bytes that the result takes in the store.
    pub(crate) stored_bytes: u64,
}

impl Shaped {
    /// Returns the bytes of the answer.
    pub(crate) fn bytes(&self) -> u64 {
        self.result.len() as u64
    }

    /// Returns the answer itself if it is one of the smallest, and else one that says that the tool did run.
    pub(crate) fn within_smallest(self, caller: &Caller, called: &ToolCall) -> Self {
        if self.result.len() <= MAX_SMALLEST_RESULT {
            return self;
        }
        let kept = self.artifact.as_ref().map_or_else(String::new, |id| format!(" Kept as \"{id}\"."));
        let tool = cut_within(&visible_text(&called.tool), 40);
        let words = format!("{tool} did run, but this session has no bytes left for its result.{kept}");
        let Self { result, sent, .. } = Self::of_text(caller, &words);
        Self { result, sent, ..self }
    }

    /// The answer if the result cannot be read any more, as from a disk that fails.
    pub(crate) fn unreadable(caller: &Caller, called: &ToolCall, error: &dyn std::error::Error) -> Self {
        let tool = &called.tool;
        let why = causes(error);
        let message = format!(
            "{tool} did run, but its result could not be read: {why}. Call {tool} again only if it is safe to repeat."
        );
        Self::of_text(caller, &message)
    }

    /// The answer if the engine failed.
    pub(crate) fn failed(caller: &Caller, called: &ToolCall) -> Self {
        let tool = &called.tool;
        let message = format!(
            "{tool} did run, but tidegate failed on its result. Call {tool} again only if it is safe to repeat, with \
             arguments that give a smaller result."
        );
        Self::of_text(caller, &message)
    }

    /// The answer with these words, which is an error.
    pub(super) fn of_text(caller: &Caller, message: &str) -> Self {
        let result = reply::text_result(caller, message, true);
        let sent = Cost {
            tokens: caller.profile.meter.count(message),
            estimated: caller.profile.meter.is_estimate(),
            bytes: Bytes(result.len() as u64),
        };
        Self { result, step: "error", raw: NO_COST, sent, artifact: None, stored_bytes: 0 }
    }
}
