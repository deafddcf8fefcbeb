//! Nesting that is too deep, made flat: an object in an object becomes dotted keys of the outer one.
//!
//! Only as many levels are joined as the depth demands, from the outside in. Either the whole fits afterwards, or
//! nothing is changed: where an array stands in the way, two keys would become the same, or a key would be too long,
//! the value is left to be cut.

use serde_json::{Map, Value};

use super::ResponseLimits;

/// Returns the value with joined keys, if that alone brings it within the depth; `None` too where it needs nothing.
///
/// Elements of arrays that will not be shown are neither looked at nor copied; null stands in their place.
pub(super) fn flatten(value: &Value, limits: &ResponseLimits) -> Option<Value> {
    let flattening =
        Flattening { max_items: limits.max_array_items, max_key_chars: limits.max_string_length };
    let room = limits.max_json_depth;
    if flattening.fits(value, room) { None } else { flattening.within(value, room) }
}

struct Flattening {
    max_items: usize,
    max_key_chars: usize,
}

impl Flattening {
    /// Whether a value has no more levels below it than there is room.
    fn fits(&self, value: &Value, room: usize) -> bool {
        let fits_below = |child: &Value| room > 0 && self.fits(child, room - 1);
        match value {
            Value::Array(items) => items.iter().take(self.max_items).all(fits_below),
            Value::Object(members) => members.values().all(fits_below),
            _ => true,
        }
    }

    fn within(&self, value: &Value, room: usize) -> Option<Value> {
        match value {
            Value::Array(items) => {
                let below = room.checked_sub(1);
                let shown = items.iter().take(self.max_items).map(|item| self.within(item, below?));
                let unseen = items.iter().skip(self.max_items).map(|_| Some(Value::Null));
                shown.chain(unseen).collect()
            }
            Value::Object(members) if !members.is_empty() => {
                let mut joined = Map::new();
                self.join("", members, room.checked_sub(1)?, &mut joined)?;
                Some(Value::Object(joined))
            }
            _ => Some(value.clone()),
        }
    }

    /// Moves members up into `joined`, under their path, until each has room.
    fn join(
        &self,
        prefix: &str,
        members: &Map<String, Value>,
        below: usize,
        joined: &mut Map<String, Value>,
    ) -> Option<()> {
        for (key, child) in members {
            let path = format!("{prefix}{key}");
            match child {
                Value::Object(inner) if !self.fits(child, below) => {
                    // Also bounds the recursion: every level adds a character.
                    if path.chars().count() >= self.max_key_chars {
                        return None;
                    }
                    self.join(&format!("{path}."), inner, below, joined)?;
                }
                _ => {
                    if joined.insert(path, self.within(child, below)?).is_some() {
                        return None;
                    }
                }
            }
        }
        Some(())
    }
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
    fn elements_that_are_not_shown_do_not_count() {
        let mut rows = vec![json!({"a": {"b": {"c": {"d": 1}}}}); 11];
        rows[10] = json!([[[[[1]]]]]);
        let flat = flat(json!(rows)).unwrap();
        assert_eq!((&flat[9], &flat[10]), (&json!({"a.b": {"c": {"d": 1}}}), &Value::Null));
    }

    #[test]
    fn what_cannot_be_joined_is_left() {
        assert_eq!(flat(json!([[[[[1]]]]])), None);
        assert_eq!(flat(json!({"a": {"b": {"c": {"d": {"e": 1}}}}, "a.b": 2})), None);
        let long = "k".repeat(500);
        assert_eq!(flat(json!({long: {"b": {"c": {"d": {"e": 1}}}}})), None);
    }
}
