//! Finds the members of a message while its pieces arrive.
//!
//! Invariants: the pieces make no difference; if a parser accepts the message or batch, the members are those found in the
//! complete message; and both agree on whether it is complete.

use serde_json::Value;
use tidegate_gate::raw::skim::{self, HEAD, MEMBERS, MESSAGES, Message, Skim};
use tidegate_gate::raw::{self, Place};

use crate::input;

/// Runs one input: a piece with the lengths of the pieces, then the message.
pub fn target(mut data: &[u8]) {
    let lengths = input::piece(&mut data);
    let found = skimmed(input::pieces(data, lengths));
    assert_eq!(found, skimmed(data.chunks(1)), "byte by byte gives the same");
    assert_eq!(found, skimmed(std::iter::once(data)), "all at once gives the same");
    if data.starts_with(b"\xef\xbb\xbf") {
        // Skimming skips a byte order mark; code with the complete message strips it before.
        return;
    }
    let whole = raw::whole(data).filter(|place| matches!(data[place.start], b'{' | b'['));
    let too_many = found.is_none() && data.iter().filter(|byte| **byte == b'}').count() > MESSAGES;
    assert!(too_many || found.is_some() == whole.is_some(), "both agree on what is complete");
    let everything = 0..data.len();
    let members = skim::members(&data, &everything).expect("bytes in memory can be read");
    let (Some(found), Some(whole)) = (found, whole) else { return };
    if serde_json::from_slice::<Value>(data).is_err() {
        return;
    }
    if data[whole.start] == b'{' {
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].members, members, "as they are found in a source");
        return check(data, &found[0], &whole);
    }
    let elements = raw::elements(data, &everything).expect("an array has elements");
    // Only messages are looked for in a batch.
    if elements.iter().all(|place| data[place.start] == b'{') {
        assert_eq!(found.len(), elements.len());
        found.iter().zip(&elements).for_each(|(message, place)| check(data, message, place));
    }
}

fn skimmed<'p>(pieces: impl Iterator<Item = &'p [u8]>) -> Option<Vec<Message>> {
    let mut skim = Skim::new();
    for piece in pieces {
        skim.push(piece);
        let _ = skim.known("id");
    }
    skim.finish()
}

fn check(json: &[u8], message: &Message, place: &Place) {
    assert_eq!(&message.place, place);
    let expected = raw::members(json, place).expect("an object has members");
    assert_eq!(message.members.len(), expected.len().min(MEMBERS));
    for (found, expected) in message.members.iter().zip(&expected) {
        assert_eq!(found.value, expected.value);
        let name = json[expected.whole.start..expected.value.start].trim_ascii_end();
        // Between name and value there are a colon and white space.
        let name = name.strip_suffix(b":").expect("a colon follows a name").trim_ascii_end();
        assert_eq!(
            found.key,
            if name.len() > HEAD { "" } else { &expected.key },
            "a name that is not too long"
        );
        let value = &json[expected.value.clone()];
        assert!(found.head.len() <= HEAD.min(value.len()));
        if found.head.len() < HEAD {
            let of =
                |json| serde_json::from_slice::<Value>(json).expect("part of a document is a JSON value");
            assert_eq!(of(&found.head), of(value), "a short value is complete");
        } else if value[0] == b'"' {
            assert_eq!(found.head, value[..HEAD], "a long value is cut");
        }
    }
}
