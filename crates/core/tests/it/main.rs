//! Integration tests of the engine: the laws it keeps, exactness, and what it does with hostile input.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by failing")]

mod changes;
mod choice;
mod complete;
mod coverage;
mod dense;
mod exact;
mod export;
mod figures;
mod frame;
mod golden;
mod hostile;
mod laws;
mod lists;
mod notations;
mod text_kinds;
mod texts;
mod views;

use tidegate_core::Tokens;
use tidegate_core::budget::Budget;
use tidegate_core::envelope::Handle;
use tidegate_core::measure::Meter;
use tidegate_core::payload::Payload;
use tidegate_core::shape::{Fill, Request, Shaped, shape};
use tidegate_core::source::Source;

/// The handle that all tests use.
pub(crate) const HANDLE: &str = "list_things-3f9c2kq7m0xw";

/// Shapes a result with a budget in tokens.
pub(crate) fn shaped(source: &dyn Source, tokens: u64) -> Shaped {
    shaped_to(source, tokens, Fill::Useful)
}

/// Shapes a result with a budget in tokens that is used wholly, or as far as that is useful.
pub(crate) fn shaped_to(source: &dyn Source, tokens: u64, fill: Fill) -> Shaped {
    let payload = Payload::read(source).expect("a result");
    let request = Request {
        tool: "list_things",
        arguments: None,
        handle: Handle::kept(HANDLE, "kept 24 h"),
        budget: Budget::of_tokens(Tokens(tokens)),
        meter: Meter::default(),
        fill,
    };
    shape(&payload, &request).expect("memory can be read")
}
