//! Reads the lines of a stream that arrives in any pieces, with any limits.
//!
//! Checks that the lines found are those of the stream; that one above the limit is reported once, with its id, and does
//! not affect what follows; and that no more than the limit is in memory.

use serde_json::Value;
use tidegate_gate::raw::{self, skim};
use tidegate_proxy::fuzzing::{Found, lines};

use crate::input;

/// Runs one input: two bytes of limits, the lengths of the pieces (after their number), then the stream.
pub fn target(mut data: &[u8]) {
    let limits = input::limits(&mut data, 1);
    let lengths = input::piece(&mut data);
    let (found, memory_bytes) = lines(input::pieces(data, lengths), limits.clone());
    let expected: Vec<&[u8]> = data.split_inclusive(|byte| *byte == b'\n').collect();
    assert_eq!(found.len(), expected.len(), "every line is reported once: {found:?}");
    for (found, line) in found.iter().zip(expected) {
        check(found, line, limits.max_message_bytes);
    }
    assert!(memory_bytes <= limits.spool_above, "{memory_bytes} bytes are in memory");
}

/// Checks what was found of a message.
pub(crate) fn check(found: &Found, message: &[u8], most: u64) {
    let is_too_large = message.len() as u64 > most;
    match found {
        Found::Whole(bytes) => assert!(!is_too_large && bytes == message, "{bytes:?} is {message:?}"),
        Found::TooLarge(id) => {
            assert!(is_too_large, "{} bytes are no more than {most}", message.len());
            check_id(id.as_deref(), message);
        }
    }
}

/// Checks the id that was found against those that a parser finds.
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
    let short = members.iter().all(|members| members.len() <= skim::MAX_MEMBERS);
    let ids: Vec<&[u8]> = members
        .iter()
        .flatten()
        .filter(|member| member.key == "id")
        .map(|member| &message[member.value.clone()])
        .collect();
    if !short || ids.iter().any(|id| id.len() > skim::MAX_HEAD_BYTES) {
        return;
    }
    let value = |json: &[u8]| serde_json::from_slice::<Value>(json).expect("an id is a value");
    match seen {
        Some(seen) => {
            assert!(ids.iter().any(|id| value(id) == value(seen)), "{} is no id", seen.escape_ascii());
        }
        // The last message of a batch may have none.
        None => assert!(ids.is_empty() || batch, "an id is seen: {}", message.escape_ascii()),
    }
}
