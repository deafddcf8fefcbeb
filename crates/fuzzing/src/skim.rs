//! The members of a message, found while its bytes pass.
//!
//! Checks that the skimmer finds the same members however the bytes are split; that they are those of the parsed
//! message or batch, if a parser accepts it; and that skimmer and parser agree on what is complete.

use serde_json::Value;
use tidegate_gate::raw::skim::{self, MAX_HEAD_BYTES, MAX_MEMBERS, MAX_MESSAGES, Message, Skim};
use tidegate_gate::raw::{self, ByteRange};

use crate::input;

/// Runs one input: first the lengths of the pieces, then the message that is cut into them.
pub fn target(mut data: &[u8]) {
    let lengths = input::piece(&mut data);
    let found = skimmed(input::pieces(data, lengths));
    assert_eq!(found, skimmed(data.chunks(1)), "the same byte by byte");
    assert_eq!(found, skimmed(std::iter::once(data)), "the same at once");
    if data.starts_with(b"\xef\xbb\xbf") {
        // Only the skimmer accepts a byte order mark.
        return;
    }
    let whole = raw::whole(data).filter(|place| matches!(data[place.start], b'{' | b'['));
    let too_many = found.is_none() && data.iter().filter(|byte| **byte == b'}').count() > MAX_MESSAGES;
    assert!(too_many || found.is_some() == whole.is_some(), "skimmer and parser agree on what is complete");
    let everything = 0..data.len();
    let members = skim::members(&data, &everything).expect("bytes in memory can be read");
    let (Some(found), Some(whole)) = (found, whole) else { return };
    if serde_json::from_slice::<Value>(data).is_err() {
        return;
    }
    if data[whole.start] == b'{' {
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].members, members, "the same members as from a source");
        return check(data, &found[0], &whole);
    }
    let elements = raw::elements(data, &everything).expect("an array has elements");
    // The skimmer ignores elements of a batch that are not objects.
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

fn check(json: &[u8], message: &Message, place: &ByteRange) {
    assert_eq!(&message.place, place);
    let expected = raw::members(json, place).expect("an object has members");
    assert_eq!(message.members.len(), expected.len().min(MAX_MEMBERS));
    for (found, expected) in message.members.iter().zip(&expected) {
        assert_eq!(found.value, expected.value);
        let name = json[expected.whole.start..expected.value.start].trim_ascii_end();
        // The colon and white space follow the name.
        let name = name.strip_suffix(b":").expect("a colon follows a name").trim_ascii_end();
        assert_eq!(
            found.key,
            if name.len() > MAX_HEAD_BYTES { "" } else { &expected.key },
            "a name is kept if short"
        );
        let value = &json[expected.value.clone()];
        assert!(found.head.len() <= MAX_HEAD_BYTES.min(value.len()));
        if found.head.len() < MAX_HEAD_BYTES {
            let parsed = |json| {
                serde_json::from_slice::<Value>(json).expect("a value inside valid JSON is valid JSON")
            };
            assert_eq!(parsed(&found.head), parsed(value), "a short value is all there");
        } else if value[0] == b'"' {
            assert_eq!(found.head, value[..MAX_HEAD_BYTES], "the beginning of a long string is there");
        }
    }
}
