//! Finds and edits parts of JSON without parsing the whole.
//!
//! Invariants, if `serde_json` accepts the document: the members and elements found are the parser's, in the same order,
//! duplicates included; and an edit changes nothing but its place, byte for byte. Other bytes never cause a panic.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use tidegate_gate::raw::{self, ByteRange, Edits, Member};

use crate::input;

/// Runs one input: a byte that says which members are edited, then the document.
pub fn target(mut data: &[u8]) {
    let pick = input::byte(&mut data);
    let everything = 0..data.len();
    // Every function takes any bytes.
    let _ = raw::at(data, &everything, &["params", "name"]);
    let _ = raw::text(data, &everything);
    let found = raw::whole(data);
    let members = raw::members(data, &everything);
    let elements = raw::elements(data, &everything);
    for place in found.iter().chain(elements.iter().flatten()) {
        assert!(place.start < place.end && place.end <= data.len());
    }
    if serde_json::from_slice::<Value>(data).is_err() {
        return;
    }
    let place = found.expect("a document has one value");
    assert_eq!(data.trim_ascii(), &data[place.clone()], "only white space is left out");
    match data[place.start] {
        b'{' => object(data, &members.expect("an object has members"), pick, &place),
        b'[' => array(data, &elements.expect("an array has elements")),
        _ => assert!(members.is_none() && elements.is_none()),
    }
}

/// The members of an object as a parser finds them, duplicates included.
#[derive(Debug, PartialEq)]
struct Pairs(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Each;
        impl<'de> Visitor<'de> for Each {
            type Value = Pairs;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(Each)
    }
}

fn pairs(json: &[u8]) -> Vec<(String, Value)> {
    let pairs: Pairs = serde_json::from_slice(json)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(json)));
    pairs.0
}

fn value(json: &[u8]) -> Value {
    serde_json::from_slice(json).expect("a value of a document is a document")
}

fn object(json: &[u8], members: &[Member<'_>], pick: u8, place: &ByteRange) {
    let theirs = pairs(json);
    let ours: Vec<(String, Value)> = members
        .iter()
        .map(|member| (member.key.clone().into_owned(), value(&json[member.value.clone()])))
        .collect();
    assert_eq!(ours, theirs);
    let wholes: Vec<ByteRange> = members.iter().map(|member| member.whole.clone()).collect();
    check_separators(json, &wholes);
    for (key, _) in &theirs {
        let last = theirs.iter().rev().find(|(name, _)| name == key).expect("the key is one of them");
        let found = raw::member(json, place, key).expect("every member is found");
        assert_eq!(value(&json[found]), last.1, "the last of several");
    }
    remove(json, members, pick);
    replace(json, members, pick);
    let mut edits = Edits::new();
    edits.append(json, place, b"\"added\":1");
    let mut expected = theirs;
    expected.push(("added".into(), 1.into()));
    assert_eq!(pairs(&edits.apply(json)), expected);
}

fn array(json: &[u8], elements: &[ByteRange]) {
    let ours: Vec<Value> = elements.iter().map(|place| value(&json[place.clone()])).collect();
    assert_eq!(Value::from(ours), value(json));
    check_separators(json, elements);
    let mut edits = Edits::new();
    edits.append(json, &raw::whole(json).expect("an array"), b"null");
    let edited = edits.apply(json);
    assert_eq!(value(&edited).as_array().map(Vec::len), Some(elements.len() + 1));
}

/// Checks that only white space and one comma separate two parts.
fn check_separators(json: &[u8], parts: &[ByteRange]) {
    for pair in parts.windows(2) {
        assert_eq!(json[pair[0].end..pair[1].start].trim_ascii(), b",");
    }
}

fn is_picked(pick: u8, index: usize) -> bool {
    pick >> (index % 8) & 1 == 1
}

fn remove(json: &[u8], members: &[Member<'_>], pick: u8) {
    let gone = |member: &Member<'_>| {
        let index =
            members.iter().position(|other| other.whole == member.whole).expect("the member is one of them");
        is_picked(pick, index)
    };
    let mut edits = Edits::new();
    edits.remove(members, gone);
    let edited = edits.apply(json);
    let place = raw::whole(&edited).expect("still an object");
    let left = raw::members(&edited, &place).expect("still an object");
    let kept: Vec<&[u8]> =
        members.iter().filter(|member| !gone(member)).map(|member| &json[member.whole.clone()]).collect();
    let left: Vec<&[u8]> = left.iter().map(|member| &edited[member.whole.clone()]).collect();
    assert_eq!(left, kept, "the other members are unchanged");
    assert_eq!(pairs(&edited).len(), kept.len());
}

fn replace(json: &[u8], members: &[Member<'_>], pick: u8) {
    let mut edits = Edits::new();
    let mut expected = Vec::new();
    let mut done = 0;
    for (_, member) in members.iter().enumerate().filter(|(index, _)| is_picked(pick, *index)) {
        edits.replace(member.value.clone(), *b"[7]");
        expected.extend_from_slice(&json[done..member.value.start]);
        expected.extend_from_slice(b"[7]");
        done = member.value.end;
    }
    expected.extend_from_slice(&json[done..]);
    assert_eq!(edits.apply(json), expected);
}
