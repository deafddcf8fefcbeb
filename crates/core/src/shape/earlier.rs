//! An earlier result of the same call: what the answer says about it, before anything else.
//!
//! If the bytes are equal, the answer is short: when both calls ran, the statistics and the next step, which a reader
//! needs who no longer has the first answer. If records or lines changed, the body begins with the changes, as many as
//! fit half of it.

use super::draft::Draft;
use crate::budget::Budget;
use crate::diff::Changes;
use crate::envelope::{Handle, State};
use crate::quantity::Tokens;
use crate::write;

/// The section of the changes; everything else comes after it.
const SECTION: usize = 0;

/// An earlier result of the same call, and how this one differs from it.
#[derive(Debug)]
pub struct Earlier {
    /// The name of the earlier result.
    pub name: String,
    /// When the earlier call ran.
    pub ran: String,
    /// When this call ran.
    pub runs: String,
    /// How the results differ.
    pub comparison: Comparison,
}

/// How two results of the same call differ.
#[derive(Debug)]
pub enum Comparison {
    /// Their bytes are equal.
    Equal,
    /// Their bytes differ; these are the changes.
    Changed(Changes),
    /// Their bytes differ; they are too large to say how.
    Different,
}

impl Earlier {
    /// Returns what the answer may cost: less than usual if it says nothing new.
    pub(super) fn budget(&self, usual: Budget) -> Budget {
        match self.comparison {
            Comparison::Equal => {
                let tokens = Tokens(usual.tokens.0 * 2 / 5).max(Budget::MIN_TOKENS).min(usual.tokens);
                Budget { tokens, ..usual }
            }
            Comparison::Changed(_) | Comparison::Different => usual,
        }
    }

    /// Writes the changes that fit into the body, and says in the frame what became of the earlier result.
    pub(super) fn write(&self, handle: Handle<'_>, draft: &mut Draft<'_>) {
        let Self { name, ran, runs, comparison } = self;
        draft.frame.since = match comparison {
            Comparison::Equal => format!(
                "Unchanged: the same bytes as \"{name}\" from this call at {ran}; this one ran at {runs}."
            ),
            Comparison::Different => format!(
                "The bytes differ from \"{name}\" from this call at {ran}; results this large are compared for equality only."
            ),
            Comparison::Changed(changes) => {
                let shown = write_changes(changes, draft);
                let all = changes.list.len() as u64;
                let how = match (shown == all, handle.state) {
                    _ if all == 0 => String::new(),
                    (true, _) => "; all of it is first below".to_owned(),
                    (false, State::Lost(_)) => format!("; {} first below", write::grouped(shown)),
                    (false, State::Kept(_)) => {
                        format!(
                            "; {} first below, all: tidegate diff {name} {}",
                            write::grouped(shown),
                            handle.name
                        )
                    }
                };
                format!("Since \"{name}\" from this call at {ran}: {}{how}.", changes.summary())
            }
        };
    }
}

/// Writes as many changes as fit half of what is left; returns how many.
fn write_changes(changes: &Changes, draft: &mut Draft<'_>) -> u64 {
    if changes.list.is_empty() {
        return 0;
    }
    let share = draft.writer.left() / 2;
    let (mut shown, end) = (0, "now:");
    draft.within(share, |draft| {
        if !draft.writer.push(SECTION, "changes:") || !draft.writer.reserve(end) {
            return;
        }
        for line in changes.lines() {
            if !draft.writer.push(SECTION, line) {
                break;
            }
            shown += 1;
        }
        draft.writer.place(SECTION, end.to_owned());
    });
    shown
}
