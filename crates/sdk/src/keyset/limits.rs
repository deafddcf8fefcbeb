//! What a page may cost: the tokens that the caller asked for, and, inside a call, what passes the gate.
//!
//! If a page did not pass, the gate would answer with an overview, and the model would need more calls to read the rows. So
//! [`Keyset::page_within`](super::Keyset::page_within) builds pages that pass.

use serde::Serialize;
use tidegate_core::Tokens;
use tidegate_core::budget::Budget;
use tidegate_core::measure::Meter;

use super::KeysetError;
use crate::call::CallScope;

/// Bytes of a tool result around the text of a page: the names of its members, and a short `_meta`.
const FRAME_BYTES: u64 = 256;

/// What a page may cost.
pub(super) struct PageLimits {
    max_tokens: Tokens,
    /// What passes the gate, and the meter that counts its tokens; `None` outside of a call.
    line: Option<(Budget, Meter)>,
}

/// The cost of rows or of a page.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct PageCost {
    pub(super) tokens: Tokens,
    /// Tokens as the gate counts them.
    line_tokens: Tokens,
    /// Bytes inside a text block, where quotes are escaped.
    bytes: u64,
}

impl PageLimits {
    /// Returns the limits of a page with at most `max_tokens`, for the current call.
    pub(super) fn of_call(max_tokens: Tokens) -> Self {
        let line = CallScope::current().map(|scope| scope.gate.line(&scope.caller, &scope.tool));
        Self { max_tokens, line }
    }

    /// Returns the cost of a value as compact JSON. `Json` of rmcp may write the members in another order, which can change
    /// the count, so the larger count is returned.
    pub(super) fn cost(&self, value: &impl Serialize) -> Result<PageCost, KeysetError> {
        let plain = serde_json::to_string(value).map_err(KeysetError::Row)?;
        let sent = serde_json::to_value(value).map_err(KeysetError::Row)?.to_string();
        let count = |meter: Meter| match plain == sent {
            true => meter.count(&plain),
            false => meter.count(&plain).max(meter.count(&sent)),
        };
        let tokens = count(Meter::default());
        let line_tokens = self.line.map_or(tokens, |(_, meter)| count(meter));
        Ok(PageCost { tokens, line_tokens, bytes: escaped_bytes(&plain) })
    }

    /// Returns whether a page of this cost stays within the tokens that the caller asked for.
    pub(super) fn allow(&self, cost: PageCost) -> bool {
        cost.tokens <= self.max_tokens
    }

    /// Returns whether a page of this cost passes the gate.
    pub(super) fn let_pass(&self, cost: PageCost) -> bool {
        self.line.is_none_or(|(line, _)| {
            cost.line_tokens <= line.tokens && cost.bytes + FRAME_BYTES <= line.bytes.0
        })
    }
}

impl std::ops::AddAssign for PageCost {
    fn add_assign(&mut self, other: Self) {
        self.tokens += other.tokens;
        self.line_tokens += other.line_tokens;
        self.bytes += other.bytes;
    }
}

/// Returns the length of compact JSON inside a JSON string, without the quotes. Compact JSON has no control characters.
fn escaped_bytes(text: &str) -> u64 {
    let escaped = text.bytes().filter(|byte| matches!(byte, b'"' | b'\\')).count();
    (text.len() + escaped) as u64
}
