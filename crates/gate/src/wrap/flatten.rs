//! Flattens nesting that is too deep: members of an inner object become dotted keys of the outer one.
//!
//! Only as many levels are joined as the depth limit requires, from the outside in. The result is all or nothing: if an
//! array is in the way, two keys would collide or a key would get too long, the value is left for truncation.

use serde_json::{Map, Value};

use super::ResponseLimits;

/// Returns the value with joined keys if that brings it within `levels` levels of containers; `None` if it cannot or need
/// not.
///
/// Array items beyond the limit are neither inspected nor copied; the result has null in their place.
pub(super) fn flatten(value: &Value, limits: &ResponseLimits, levels: usize) -> Option<Value> {
    let flattening =
        Flattening { max_items: limits.max_array_items, max_key_chars: limits.max_string_length };
    if flattening.fits(value, levels) { None } else { flattening.flatten(value, levels) }
}

struct Flattening {
    max_items: usize,
    max_key_chars: usize,
}

impl Flattening {
    /// Returns how many levels are left for the items of an array; a long one gets an object around its items.
    fn below_array(&self, items: &[Value], levels: usize) -> Option<usize> {
        levels.checked_sub(if items.len() > self.max_items { 2 } else { 1 })
    }

    /// Returns whether a value has at most `levels` levels of containers.
    fn fits(&self, value: &Value, levels: usize) -> bool {
        let all_fit = |below: Option<usize>, mut values: Box<dyn Iterator<Item = &Value> + '_>| {
            below.is_some_and(|below| values.all(|value| self.fits(value, below)))
        };
        match value {
            Value::Array(items) => {
                all_fit(self.below_array(items, levels), Box::new(items.iter().take(self.max_items)))
            }
            Value::Object(members) => all_fit(levels.checked_sub(1), Box::new(members.values())),
            _ => true,
        }
    }

    fn flatten(&self, value: &Value, levels: usize) -> Option<Value> {
        match value {
            Value::Array(items) => {
                let below = self.below_array(items, levels)?;
                let shown = items.iter().take(self.max_items).map(|item| self.flatten(item, below));
                let omitted = items.iter().skip(self.max_items).map(|_| Some(Value::Null));
                shown.chain(omitted).collect()
            }
            Value::Object(members) => {
                let mut joined = Map::new();
                self.join("", members, levels.checked_sub(1)?, &mut joined)?;
                Some(Value::Object(joined))
            }
            _ => Some(value.clone()),
        }
    }

    /// Adds members to `joined` under their dotted path, descending until each fits `below` levels.
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
        flatten(&value, &ResponseLimits::default(), 4)
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
        // The object around the ten items is a level as well.
        assert_eq!((&flat[9], &flat[10]), (&json!({"a.b.c": {"d": 1}}), &Value::Null));
    }

    #[test]
    fn a_value_that_cannot_be_joined_is_left() {
        assert_eq!(flat(json!([[[[[1]]]]])), None);
        assert_eq!(flat(json!({"a": {"b": {"c": {"d": {"e": 1}}}}, "a.b": 2})), None);
        let long = "k".repeat(500);
        assert_eq!(flat(json!({long: {"b": {"c": {"d": {"e": 1}}}}})), None);
    }
}
