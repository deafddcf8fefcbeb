//! Flattens nesting that is too deep: members of an inner object become dotted keys of the outer one.
//!
//! Only as many levels are joined as the depth limit requires, from the outside in. The result is all or nothing: if an
//! array is in the way, two keys would collide or a key would get too long, the value is left for truncation.

use serde_json::{Map, Value};

use super::ResponseLimits;

/// Returns the value with joined keys if that brings it within the depth; `None` if it cannot or need not.
///
/// Array items beyond the limit are neither inspected nor copied; the result has null in their place.
pub(super) fn flatten(value: &Value, limits: &ResponseLimits) -> Option<Value> {
    let flattening =
        Flattening { max_items: limits.max_array_items, max_key_chars: limits.max_string_length };
    let depth = limits.max_json_depth;
    if flattening.fits(value, depth) { None } else { flattening.flatten(value, depth) }
}

struct Flattening {
    max_items: usize,
    max_key_chars: usize,
}

impl Flattening {
    /// Returns whether a value has at most `depth` levels below it.
    fn fits(&self, value: &Value, depth: usize) -> bool {
        let fits_below = |child: &Value| depth > 0 && self.fits(child, depth - 1);
        match value {
            Value::Array(items) => items.iter().take(self.max_items).all(fits_below),
            Value::Object(members) => members.values().all(fits_below),
            _ => true,
        }
    }

    fn flatten(&self, value: &Value, depth: usize) -> Option<Value> {
        match value {
            Value::Array(items) => {
                let below = depth.checked_sub(1);
                let shown = items.iter().take(self.max_items).map(|item| self.flatten(item, below?));
                let omitted = items.iter().skip(self.max_items).map(|_| Some(Value::Null));
                shown.chain(omitted).collect()
            }
            Value::Object(members) if !members.is_empty() => {
                let mut joined = Map::new();
                self.join("", members, depth.checked_sub(1)?, &mut joined)?;
                Some(Value::Object(joined))
            }
            _ => Some(value.clone()),
        }
    }

    /// Adds members to `joined` under their dotted path, descending until each fits the depth `below`.
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
                    // Every level adds a character, so this also bounds the recursion.
                    if path.chars().count() >= self.max_key_chars {
                        return None;
                    }
                    self.join(&format!("{path}."), inner, below, joined)?;
                }
                _ => {
                    if joined.insert(path, self.flatten(child, below)?).is_some() {
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
    fn only_levels_that_are_too_deep_are_joined() {
        assert_eq!(
            flat(json!({"a": {"b": {"c": {"d": {"e": 1}}}}, "x": {"y": 2}})),
            Some(json!({"a.b": {"c": {"d": {"e": 1}}}, "x": {"y": 2}}))
        );
        assert_eq!(flat(json!({"a": {"b": {"c": {"d": 1}}}})), None);
    }

    #[test]
    fn objects_inside_arrays_are_joined_in_place() {
        assert_eq!(flat(json!([{"a": {"b": {"c": {"d": 1}}}}])), Some(json!([{"a.b": {"c": {"d": 1}}}])));
    }

    #[test]
    fn items_beyond_the_limit_do_not_count() {
        let mut rows = vec![json!({"a": {"b": {"c": {"d": 1}}}}); 11];
        rows[10] = json!([[[[[1]]]]]);
        let flat = flat(json!(rows)).unwrap();
        assert_eq!((&flat[9], &flat[10]), (&json!({"a.b": {"c": {"d": 1}}}), &Value::Null));
    }

    #[test]
    fn a_value_that_cannot_be_joined_is_left() {
        assert_eq!(flat(json!([[[[[1]]]]])), None);
        assert_eq!(flat(json!({"a": {"b": {"c": {"d": {"e": 1}}}}, "a.b": 2})), None);
        let long = "k".repeat(500);
        assert_eq!(flat(json!({long: {"b": {"c": {"d": {"e": 1}}}}})), None);
    }
}
