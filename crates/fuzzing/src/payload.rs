//! Reads, measures and shapes any bytes as a result.
//!
//! Invariants: an answer is within its budget in tokens and bytes (law 1), and is the same for a result in memory and one
//! that is not.

use tidegate_core::budget::Budget;
use tidegate_core::envelope::Handle;
use tidegate_core::measure::{self, Fit, Meter};
use tidegate_core::payload::Payload;
use tidegate_core::shape::{Fill, Request, Shaped, Step, shape};
use tidegate_core::source::Source;
use tidegate_core::{Bytes, Tokens};
use tidegate_testkit::source::ShortReadSource;

use crate::input;

/// Runs one input: a byte for its form and the budget, then the result.
pub fn target(mut data: &[u8]) {
    let form = input::byte(&mut data);
    let least = Budget { tokens: Budget::MIN_TOKENS, bytes: Budget::MIN_BYTES };
    // Little more than the budget, since a case takes as long as its result is large.
    let (budget, max_bytes) = match form >> 6 {
        0 => (least, 3 << 10),
        1 => (Budget::of_tokens(Tokens(500)), 4 << 10),
        2 => (Budget::of_tokens(Tokens(800)), 6 << 10),
        _ => (Budget::default(), 16 << 10),
    };
    let result = input::result(form, data, max_bytes);
    // `read` refuses bytes that only look like a message; `read_result` takes them as text.
    let strict = Payload::read(&result.as_slice()).is_ok();
    let shaped = shaped_at(&result.as_slice(), budget, strict);
    check_bounds(&shaped, budget);
    let again = shaped_at(&ShortReadSource(result), budget, strict);
    assert_eq!(shaped.result, again.result, "in memory or not, the result is the same");
    assert_eq!((shaped.raw, shaped.shaped), (again.raw, again.shaped), "the same cost");
}

fn shaped_at(source: &dyn Source, budget: Budget, strict: bool) -> Shaped {
    let read = if strict { Payload::read(source) } else { Payload::read_result(source) };
    let payload = read.expect("bytes in memory can be read");
    let request = Request {
        tool: "list_things",
        arguments: Some(r#"{"query":"error","id":7}"#),
        handle: Handle::kept("list_things-3f9c2kq7m0xw", "kept 24 h"),
        budget,
        meter: Meter::default(),
        fill: Fill::Useful,
    };
    shape(&payload, &request).expect("bytes in memory can be read")
}

fn check_bounds(shaped: &Shaped, budget: Budget) {
    let cost = shaped.shaped;
    assert!(cost.tokens <= budget.tokens, "{} of {} tokens\n{}", cost.tokens, budget.tokens, shaped.text);
    let Some(answer) = &shaped.result else {
        // A result that passes may carry its data twice, but it counts once.
        assert!(cost.bytes.0 <= 2 * budget.bytes.0, "{} of {} bytes", cost.bytes, budget.bytes);
        assert_eq!(shaped.step, Step::Pass);
        return;
    };
    assert!(cost.bytes <= budget.bytes, "{} of {} bytes\n{}", cost.bytes, budget.bytes, shaped.text);
    // Measured independently, not taken from the engine's own figures.
    let answer = answer.as_slice();
    let payload = Payload::read(&answer).expect("an answer is a valid result");
    let fit = measure::fits(&payload, &budget, &Meter::default()).expect("bytes in memory can be read");
    assert_ne!(fit, Fit::Over, "the answer fits\n{}", String::from_utf8_lossy(answer));
    assert!(Bytes(answer.len() as u64) >= cost.bytes);
    assert_ne!(shaped.step, Step::Pass);
}
