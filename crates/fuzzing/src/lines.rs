//! Splits a stream that arrives in any pieces into lines, with any limits.
//!
//! Invariants: the lines are those of the stream; a line above the limit is reported once, with its id, and does not affect
//! the lines after it; and no more is held in memory than the limit allows.

use serde_json::Value;
use tidegate_gate::raw::{self, skim};
use tidegate_proxy::fuzzing::{Found, lines};

use crate::input;

/// Runs one input: two bytes for the limits, a piece with the lengths of the pieces, then the stream.
pub fn target(mut data: &[u8]) {
    let limits = input::limits(&mut data, 1);
    let lengths = input::piece(&mut data);
    let (found, held) = lines(input::pieces(data, lengths), limits.clone());
    let expected: Vec<&[u8]> = data.split_inclusive(|byte| *byte == b'\n').collect();
    assert_eq!(found.len(), expected.len(), "every line is reported once: {found:?}");
    for (found, line) in found.iter().zip(expected) {
        check(found, line, limits.most);
    }
    assert!(held <= limits.spool_above, "{held} bytes are held in memory");
}

/// Checks what was found for a message.
pub(crate) fn check(found: &Found, message: &[u8], most: u64) {
    let is_long = message.len() as u64 > most;
    match found {
        Found::Whole(bytes) => assert!(!is_long && bytes == message, "{bytes:?} is not {message:?}"),
        Found::TooLong(id) => {
            assert!(is_long, "{} bytes are within {most}", message.len());
            check_id(id.as_deref(), message);
        }
    }
}

/// Checks the id that was found in a message against those that a parser finds.
fn check_id(seen: Option<&[u8]>, message: &[u8]) {
    if serde_json::from_slice::<Value>(message).is_err() {
        return;
    }
    let everything = 0..message.len();
    let (messages, batch) = match raw::elements(message, &everything) {
        Some(elements) => (elements, true),
        None => (raw::whole(message).into_iter().collect(), false),
    };
    let Some(members) = messages.iter().map(|place| raw::members(message, place)).collect::<Option<Vec<_>>>()
    else {
        return;
    };
    let short = members.iter().all(|members| members.len() <= skim::MEMBERS);
    let ids: Vec<&[u8]> = members
        .iter()
        .flatten()
        .filter(|member| member.key == "id")
        .map(|member| &message[member.value.clone()])
        .collect();
    if !short || ids.iter().any(|id| id.len() > skim::HEAD) {
        return;
    }
    let value = |json: &[u8]| serde_json::from_slice::<Value>(json).expect("an id is a JSON value");
    match seen {
        Some(seen) => {
            assert!(ids.iter().any(|id| value(id) == value(seen)), "{} is not an id", seen.escape_ascii());
        }
        // The last message of a batch may have none.
        None => assert!(ids.is_empty() || batch, "an id was missed: {}", message.escape_ascii()),
    }
}
