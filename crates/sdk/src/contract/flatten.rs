//! Nesting that is too deep, made flat: an object in an object becomes dotted keys of the outer one.
//!
//! Only as many levels are joined as the depth demands, from the outside in. Either the whole fits afterwards, or
//! nothing is changed: where an array stands in the way, two keys would become the same, or a key would be too long,
//! the value is left to be cut.

use serde_json::{Map, Value};

use super::ResponseLimits;

/// Returns the value with joined keys, if that alone brings it within the depth; `None` too where it needs nothing.
pub(super) fn flatten(value: &Value, limits: &ResponseLimits) -> Option<Value> {
    let room = limits.max_json_depth;
    if fits(value, room) {
        return None;
    }
    within(value, room, limits.max_string_length)
}

/// Whether a value has no more levels below it than there is room.
fn fits(value: &Value, room: usize) -> bool {
    let fits_below = |child: &Value| room > 0 && fits(child, room - 1);
    match value {
        Value::Array(items) => items.iter().all(fits_below),
        Value::Object(members) => members.values().all(fits_below),
        _ => true,
    }
}

fn within(value: &Value, room: usize, key_chars: usize) -> Option<Value> {
    if fits(value, room) {
        return Some(value.clone());
    }
    let below = room.checked_sub(1)?;
    match value {
        Value::Array(items) => items.iter().map(|item| within(item, below, key_chars)).collect(),
        Value::Object(members) => {
            let mut joined = Map::new();
            join("", members, below, key_chars, &mut joined)?;
            Some(Value::Object(joined))
        }
        _ => None,
    }
}

/// Moves members up into `joined`, under their path, until each has room.
fn join(
    prefix: &str,
    members: &Map<String, Value>,
    below: usize,
    key_chars: usize,
    joined: &mut Map<String, Value>,
) -> Option<()> {
    for (key, child) in members {
        let path = format!("{prefix}{key}");
        match child {
            Value::Object(inner) if !fits(child, below) => {
                // Also bounds the recursion: every level adds a character.
                if path.chars().count() >= key_chars {
                    return None;
                }
                join(&format!("{path}."), inner, below, key_chars, joined)?;
            }
            _ => {
                let kept = within(child, below, key_chars)?;
                if joined.insert(path, kept).is_some() {
                    return None;
                }
            }
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn flat(value: Value) -> Option<Value> {
        flatten(&value, &ResponseLimits::default())
    }

    #[test]
    fn only_what_is_too_deep_is_joined() {
        assert_eq!(
            flat(json!({"a": {"b": {"c": {"d": {"e": 1}}}}, "x": {"y": 2}})),
            Some(json!({"a.b": {"c": {"d": {"e": 1}}}, "x": {"y": 2}}))
        );
        assert_eq!(flat(json!({"a": {"b": {"c": {"d": 1}}}})), None);
    }

    #[test]
    fn objects_inside_arrays_are_joined_in_their_place() {
        assert_eq!(flat(json!([{"a": {"b": {"c": {"d": 1}}}}])), Some(json!([{"a.b": {"c": {"d": 1}}}])));
    }

    #[test]
    fn what_cannot_be_joined_is_left() {
        assert_eq!(flat(json!([[[[[1]]]]])), None);
        assert_eq!(flat(json!({"a": {"b": {"c": {"d": {"e": 1}}}}, "a.b": 2})), None);
        let long = "k".repeat(500);
        assert_eq!(flat(json!({long: {"b": {"c": {"d": {"e": 1}}}}})), None);
    }
}
