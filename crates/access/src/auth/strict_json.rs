//! Reads JSON objects and refuses duplicate members.
//!
//! Of two members with the same name, some parsers take the first and others the last, so a token with duplicates can mean
//! different things to different parsers. Such a token is refused.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// A JSON value in which no object has duplicate members.
struct UniqueMembers(Value);

impl<'de> Deserialize<'de> for UniqueMembers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UniqueVisitor).map(Self)
    }
}

struct UniqueVisitor;

impl<'de> Visitor<'de> for UniqueVisitor {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(UniqueMembers(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some((name, UniqueMembers(value))) = members.next_entry::<String, _>()? {
            if map.insert(name, value).is_some() {
                return Err(A::Error::custom("a member occurs twice"));
            }
        }
        Ok(Value::Object(map))
    }
}

/// Reads an object without duplicate members at any depth; `None` if there are some, or if it is not an object.
pub(super) fn object(json: &[u8]) -> Option<Map<String, Value>> {
    match serde_json::from_slice(json) {
        Ok(UniqueMembers(Value::Object(object))) => Some(object),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicate_members_are_refused_at_any_depth() {
        let read = object(br#"{"a":[1,-2,3.5,"x",null,true,{"b":{}}],"c":{"a":1}}"#).unwrap();
        assert_eq!(Value::from(read).to_string(), r#"{"a":[1,-2,3.5,"x",null,true,{"b":{}}],"c":{"a":1}}"#);
        for wrong in [
            &br#"{"a":1,"a":1}"#[..],
            br#"{"x":[{"a":1,"a":2}]}"#,
            br#"{"a":1,"\u0061":2}"#,
            b"[]",
            b"1",
            b"",
            b"{}x",
            b"{\"a\":1,}",
            b"\xff",
        ] {
            assert_eq!(object(wrong), None, "{}", String::from_utf8_lossy(wrong));
        }
        assert_eq!(object("[".repeat(100_000).as_bytes()), None, "deep nesting is an error");
    }
}
