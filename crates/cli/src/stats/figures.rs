//! What is added up over calls.

use tidegate_store::Call;

use crate::notes::Kind;
use crate::percentile::percentile;

/// Bytes of a response that are a flood by the response contract.
pub(super) const HEAVY_BYTES: u64 = 10 * 1024;
/// What a response should not exceed on average.
pub(super) const MEAN_BYTES: u64 = 3 * 1024;

/// The figures of some calls.
#[derive(Debug, Clone, Default)]
pub(super) struct Figures {
    /// Calls that the gate decided on.
    pub(super) calls: u64,
    /// Those in whose place something else was answered.
    pub(super) shaped: u64,
    /// Those of more than 10 KB as they came.
    pub(super) heavy: u64,
    /// Calls that were only looked at, and their tokens; they are in no other figure.
    pub(super) observed: (u64, u64),
    /// Tokens of the results as they came.
    pub(super) raw_tokens: u64,
    /// Bytes of the results as they came.
    pub(super) raw_bytes: u64,
    /// Tokens of all answers, those to follow-ups too.
    pub(super) sent_tokens: u64,
    /// Bytes of all answers.
    pub(super) sent_bytes: u64,
    /// Parts of kept results that were answered.
    pub(super) follow_ups: u64,
    /// Their tokens.
    pub(super) follow_up_tokens: u64,
    /// Those that would have needed a call of the tool.
    pub(super) reruns_avoided: u64,
    /// Microseconds that each call took longer; in order once all are added.
    added: Vec<u64>,
}

impl Figures {
    /// Adds a call.
    pub(super) fn add(&mut self, call: &Call) {
        let kind = Kind::of(call);
        if kind == Kind::Observed {
            self.observed.0 += 1;
            self.observed.1 += call.raw_tokens;
            return;
        }
        self.sent_tokens += call.sent_tokens;
        self.sent_bytes += call.sent_bytes;
        if kind == Kind::FollowUp {
            self.follow_ups += 1;
            self.follow_up_tokens += call.sent_tokens;
            // A summary says again what the first answer said, and a refusal says nothing of a result.
            self.reruns_avoided += u64::from(!matches!(call.view.as_deref(), Some("summary" | "refused")));
            return;
        }
        self.calls += 1;
        self.shaped += u64::from(kind == Kind::Shaped);
        self.heavy += u64::from(call.raw_bytes > HEAVY_BYTES);
        self.raw_tokens += call.raw_tokens;
        self.raw_bytes += call.raw_bytes;
        self.added.push(call.added_micros);
    }

    /// Puts what needs an order in order.
    pub(super) fn finish(&mut self) {
        self.added.sort_unstable();
    }

    /// Returns whether nothing but looking was done.
    pub(super) fn is_empty(&self) -> bool {
        self.calls == 0 && self.follow_ups == 0
    }

    /// Returns how much less was sent than came, in percent; less than nothing where follow-ups cost more than was saved.
    pub(super) fn saved_percent(&self) -> Option<f64> {
        ratio(self.sent_tokens, self.raw_tokens).map(|sent| (1000.0 * (1.0 - sent)).round() / 10.0)
    }

    /// Returns how many follow-ups came for each shaped call.
    pub(super) fn follow_ups_per_shaped(&self) -> Option<f64> {
        ratio(self.follow_ups, self.shaped).map(|ratio| (100.0 * ratio).round() / 100.0)
    }

    /// Returns the mean bytes of an answer.
    pub(super) fn mean_response_bytes(&self) -> Option<u64> {
        self.sent_bytes.checked_div(self.calls + self.follow_ups)
    }

    /// Returns how many microseconds a call took longer, at a percentile.
    pub(super) fn added_micros(&self, percent: u64) -> Option<u64> {
        percentile(&self.added, percent)
    }
}

fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
