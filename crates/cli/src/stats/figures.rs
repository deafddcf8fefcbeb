//! The figures of a group of calls.

use tidegate_store::Call;

use crate::ledger::{EntryKind, percentile};

/// The size above which the response contract (`tidegate_sdk::contract`) calls a result heavy.
pub(super) const HEAVY_BYTES: u64 = 10 * 1024;
/// The response contract's goal for the mean size of an answer.
pub(super) const MEAN_GOAL_BYTES: u64 = 3 * 1024;

/// Sums over calls.
#[derive(Debug, Clone, Default)]
pub(super) struct Figures {
    /// Calls, excluding observed calls and follow-ups.
    pub(super) calls: u64,
    /// Calls answered with a shaped result.
    pub(super) shaped: u64,
    /// Calls whose result was larger than [`HEAVY_BYTES`].
    pub(super) heavy: u64,
    /// Observed calls and their tokens; no other figure includes them.
    pub(super) observed: (u64, u64),
    /// Tokens of the results before shaping.
    pub(super) raw_tokens: u64,
    /// Bytes of the results before shaping.
    pub(super) raw_bytes: u64,
    /// Tokens of all answers, including follow-ups.
    pub(super) sent_tokens: u64,
    /// Bytes of all answers, including follow-ups.
    pub(super) sent_bytes: u64,
    /// Answers larger than [`HEAVY_BYTES`].
    pub(super) heavy_sent: u64,
    /// The largest answer, in bytes.
    pub(super) largest_sent: u64,
    /// Calls that were answered without running the tool.
    pub(super) refused: u64,
    /// Artifacts that tools stored themselves.
    pub(super) artifacts: u64,
    /// Answers with a part of a kept result.
    pub(super) follow_ups: u64,
    /// Tokens of those answers.
    pub(super) follow_up_tokens: u64,
    /// Follow-ups that would otherwise have needed another call of the tool.
    pub(super) reruns_avoided: u64,
    /// Those of them whose result was in memory, since the store could not be used.
    pub(super) from_memory: u64,
    /// Percent of its budget that each answer of tidegate used; sorted by [`Figures::finish`].
    budget_percents: Vec<u64>,
    /// Microseconds added to each call; sorted by [`Figures::finish`].
    added_micros: Vec<u64>,
}

impl Figures {
    /// Adds a call; `from_memory` is whether its result was kept in memory.
    pub(super) fn add(&mut self, call: &Call, from_memory: bool) {
        let kind = EntryKind::of(call);
        if kind == EntryKind::Observed {
            self.observed.0 += 1;
            self.observed.1 += call.raw_tokens;
            return;
        }
        if kind == EntryKind::Artifact {
            self.artifacts += 1;
            return;
        }
        self.sent_tokens += call.sent_tokens;
        self.sent_bytes += call.sent_bytes;
        self.heavy_sent += u64::from(call.sent_bytes > HEAVY_BYTES);
        self.largest_sent = self.largest_sent.max(call.sent_bytes);
        if let Some(percent) = (100 * call.sent_tokens).checked_div(call.budget_tokens) {
            self.budget_percents.push(percent);
        }
        if kind == EntryKind::Refused {
            self.refused += 1;
            return;
        }
        if kind == EntryKind::FollowUp {
            self.follow_ups += 1;
            self.follow_up_tokens += call.sent_tokens;
            // A summary repeats the first answer, and a refusal contains no part of the result.
            let avoided = !matches!(call.view.as_deref(), Some("summary" | "refused"));
            self.reruns_avoided += u64::from(avoided);
            self.from_memory += u64::from(avoided && from_memory);
            return;
        }
        self.calls += 1;
        self.shaped += u64::from(kind == EntryKind::Shaped);
        self.heavy += u64::from(call.raw_bytes > HEAVY_BYTES);
        self.raw_tokens += call.raw_tokens;
        self.raw_bytes += call.raw_bytes;
        self.added_micros.push(call.added_micros);
    }

    /// Sorts the times for percentiles; call it after the last [`Figures::add`].
    pub(super) fn finish(&mut self) {
        self.added_micros.sort_unstable();
        self.budget_percents.sort_unstable();
    }

    /// Returns whether there were no calls, except observed ones.
    pub(super) fn is_empty(&self) -> bool {
        self.calls == 0 && self.follow_ups == 0 && self.refused == 0 && self.artifacts == 0
    }

    /// Returns the percentage of tokens saved; negative if follow-ups cost more than was saved.
    pub(super) fn saved_percent(&self) -> Option<f64> {
        ratio(self.sent_tokens, self.raw_tokens).map(|sent| (1000.0 * (1.0 - sent)).round() / 10.0)
    }

    /// Returns the mean number of follow-ups per shaped call.
    pub(super) fn follow_ups_per_shaped(&self) -> Option<f64> {
        ratio(self.follow_ups, self.shaped).map(|ratio| (100.0 * ratio).round() / 100.0)
    }

    /// Returns the mean bytes of an answer.
    pub(super) fn mean_response_bytes(&self) -> Option<u64> {
        self.sent_bytes.checked_div(self.calls + self.follow_ups + self.refused)
    }

    /// Returns how many percent of their budget answers of tidegate used, the median, and what share of them, in percent,
    /// used more than 90 % of it.
    pub(super) fn headroom(&self) -> Option<(u64, f64)> {
        let above = self.budget_percents.iter().filter(|percent| **percent > 90).count() as u64;
        let share = ratio(above, self.budget_percents.len() as u64)?;
        Some((percentile(&self.budget_percents, 50)?, (1000.0 * share).round() / 10.0))
    }

    /// Returns a percentile of the microseconds added to a call.
    pub(super) fn added_micros_percentile(&self, percent: u64) -> Option<u64> {
        percentile(&self.added_micros, percent)
    }
}

fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
