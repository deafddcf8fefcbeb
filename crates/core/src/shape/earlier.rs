//! An earlier result of the same call: how an answer begins by saying what changed since.
//!
//! If the bytes are equal, the answer is short: when both calls ran, and the statistics and the next step, for a reader who
//! no longer has the first answer. If records or lines changed, the body begins with as many changes as fit into half of it.

use super::Fill;
use super::draft::Draft;
use crate::budget::Budget;
use crate::diff::Changes;
use crate::envelope::{Handle, State};
use crate::quantity::Tokens;
use crate::{visible, write};

/// The section of the changes; all other sections come after it.
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
    /// Their bytes differ; the results are too large to compare further.
    Different,
}

impl Earlier {
    /// Returns the budget of the answer: less than usual if the bytes are equal.
    pub(super) fn budget(&self, usual: Budget) -> Budget {
        match self.comparison {
            Comparison::Equal => {
                let tokens = Tokens(usual.tokens.0 * 2 / 5).max(Budget::MIN_TOKENS).min(usual.tokens);
                Budget { tokens, ..usual }
            }
            Comparison::Changed(_) | Comparison::Different => usual,
        }
    }

    /// Returns how much of the budget the answer uses. The examples of an equal result were in the earlier answer.
    pub(super) fn fill(&self, usual: Fill) -> Fill {
        match self.comparison {
            Comparison::Equal => Fill::Statistics,
            Comparison::Changed(_) | Comparison::Different => usual,
        }
    }

    /// Returns how many tokens are set aside at first for what the frame says about the earlier result.
    pub(super) fn frame_tokens(&self) -> u64 {
        match self.comparison {
            Comparison::Equal | Comparison::Different => 80,
            Comparison::Changed(_) => 130,
        }
    }

    /// Writes the changes that fit into the body, and a sentence into the frame that says how the results differ.
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
                let first = match shown {
                    0 => String::new(),
                    some if some == all => "; all of it is first below".to_owned(),
                    some => format!("; {} first below", write::grouped(some)),
                };
                let rest = match handle.state {
                    State::Kept(_) if shown < all => format!("; all: tidegate diff {name} {}", handle.name),
                    _ => String::new(),
                };
                let how = format!("{first}{rest}");
                format!("Since \"{name}\" from this call at {ran}: {}{how}.", changes.summary())
            }
        };
    }
}

/// Writes as many changes as fit into half of the remaining budget; returns how many.
fn write_changes(changes: &Changes, draft: &mut Draft<'_>) -> u64 {
    if changes.list.is_empty() {
        return 0;
    }
    let share = draft.writer.left() / 2;
    let (mut shown, title, end) = (0, "changes:", "now:");
    draft.within(share, |draft| {
        // A title without a change below it would announce what is not there.
        let first = visible::escaped(changes.lines().next().unwrap_or_default());
        let least: u64 = [title, end, &first].iter().map(|line| draft.writer.cost(line)).sum();
        let fits = least <= draft.writer.left() && draft.writer.fits(&format!("{title}\n\n{first}\n\n{end}"));
        if !fits || !draft.writer.push(SECTION, title) || !draft.writer.reserve(end) {
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
