//! Truncates any JSON value to the limits, with a mark wherever something is missing.
//!
//! A long array becomes `{"items": [first], "totalCount": n, "showing": k}`, which is one more level of nesting. A long
//! string ends with `...`. A long log keeps its head and tail with the number of omitted lines between them. A container
//! nested too deep becomes `"[truncated]"`, unless [`flatten`] can bring it within the depth. Every mark counts towards
//! the limit it marks.
//!
//! [`Truncator`] adds limits on the members and keys of objects. They start out without effect and shrink with the other
//! limits until the whole fits its bytes. With all limits at zero every value takes a few bytes, so some step fits.

use serde_json::{Map, Value, json};

use super::{ResponseLimits, flatten::flatten};
use crate::style::limits::MIN_LINE_CHARS;
use crate::text::first_chars;

/// Truncates a value to the limits on array items, string length, log lines and depth.
///
/// Keys and the number of members are not limited; [`super::wrap_response`] also limits the bytes of the whole.
///
/// ```
/// # mod tidegate_sdk { pub use tidegate_gate::wrap as contract; }
/// use serde_json::json;
/// use tidegate_sdk::contract::{ResponseLimits, truncate};
///
/// let limits = ResponseLimits { max_array_items: 2, ..ResponseLimits::default() };
/// assert_eq!(truncate(&json!([1, 2, 3]), &limits), json!({"items": [1, 2], "totalCount": 3, "showing": 2}));
/// ```
pub fn truncate(value: &Value, limits: &ResponseLimits) -> Value {
    let flat = flatten(value, limits, limits.max_json_depth);
    Truncator::new(limits).value(flat.as_ref().unwrap_or(value), limits.max_json_depth)
}

/// Truncates values to a set of limits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Truncator {
    items: usize,
    chars: usize,
    lines: usize,
    members: usize,
    key_chars: usize,
}

impl Truncator {
    fn new(limits: &ResponseLimits) -> Self {
        Self {
            items: limits.max_array_items,
            chars: limits.max_string_length,
            lines: limits.max_log_lines,
            members: usize::MAX,
            key_chars: usize::MAX,
        }
    }

    /// Returns the truncator of a step: each step reduces the limits by quarters, step 0 changes nothing that could fit.
    ///
    /// Limits on members and keys shrink fastest and the one on array items slowest: a few more rows are worth more
    /// than the thousandth key of a map.
    pub(super) fn step(limits: &ResponseLimits, step: u32) -> Self {
        let quarters =
            |limit: usize, times: u32| (0..times).fold(limit, |limit, _| limit - limit.div_ceil(4));
        Self {
            items: quarters(limits.max_array_items, step / 2),
            chars: quarters(limits.max_string_length, step),
            lines: quarters(limits.max_log_lines, step),
            // A member takes at least 7 bytes: two escaped quotes, a colon, a space and a value.
            members: quarters(limits.max_bytes / 7, step * 2),
            key_chars: quarters(limits.max_bytes, step * 2),
        }
    }

    /// Returns whether all limits are zero.
    pub(super) fn is_exhausted(&self) -> bool {
        self.items == 0 && self.chars == 0 && self.lines == 0 && self.members == 0 && self.key_chars == 0
    }

    /// Returns a value with at most `levels` levels of containers.
    pub(super) fn value(&self, value: &Value, levels: usize) -> Value {
        match value {
            Value::Array(_) | Value::Object(_) if levels == 0 => "[truncated]".into(),
            Value::Array(items) => self.array(items, levels),
            Value::Object(members) => Value::Object(self.object(members, levels)),
            Value::String(text) => Value::String(self.text(text)),
            _ => value.clone(),
        }
    }

    /// Returns the leading items of an array, each truncated to `levels` levels.
    pub(super) fn items(&self, items: &[Value], levels: usize) -> Vec<Value> {
        items.iter().take(self.items).map(|item| self.value(item, levels)).collect()
    }

    fn array(&self, items: &[Value], levels: usize) -> Value {
        if items.len() <= self.items {
            return Value::Array(self.items(items, levels - 1));
        }
        // The object around the items that are shown is a level too.
        match levels.checked_sub(2) {
            None => format!("[truncated: {} items]", items.len()).into(),
            Some(below) => {
                let shown = self.items(items, below);
                let showing = shown.len();
                json!({"items": shown, "totalCount": items.len(), "showing": showing})
            }
        }
    }

    /// Returns the leading members of an object, which is the first of `levels` levels.
    pub(super) fn object(&self, members: &Map<String, Value>, levels: usize) -> Map<String, Value> {
        let mut shown = Map::new();
        for (key, child) in members.iter().take(self.members) {
            let key = shortened(key, self.key_chars);
            // Two shortened keys may be equal; the first stays and the other counts as missing.
            if !shown.contains_key(&key) {
                shown.insert(key, self.value(child, levels.saturating_sub(1)));
            }
        }
        let missing = members.len() - shown.len();
        if missing > 0 {
            shown.insert(free_key("...", ".", &shown), format!("{missing} more keys").into());
        }
        shown
    }

    fn text(&self, text: &str) -> String {
        match text.lines().count() {
            total if total > self.lines => self.log(text, total),
            _ => shortened(text, self.chars),
        }
    }

    /// Returns head and tail of a text with too many lines, each line shortened to its share of the characters; only the
    /// head if the shares would be too short to be useful.
    fn log(&self, text: &str, total: usize) -> String {
        let shown = self.lines.saturating_sub(1);
        let (head, tail) = (shown.div_ceil(2), shown / 2);
        let mark = format!("... {} lines omitted ...", total - shown);
        let join = |shorten: &dyn Fn(&str) -> String| {
            let mut lines: Vec<String> = text.lines().take(head).map(shorten).collect();
            lines.push(mark.clone());
            lines.extend(text.lines().skip(total - tail).map(shorten));
            lines.join("\n")
        };
        let joined = join(&str::to_owned);
        if joined.chars().count() <= self.chars {
            return joined;
        }
        let share = self.chars.saturating_sub(mark.len() + shown).checked_div(shown).unwrap_or(0);
        // With less for each line, head and tail are less useful than the beginning of the text.
        match share >= MIN_LINE_CHARS {
            true => join(&|line| shortened(line, share)),
            false => {
                let head = text.lines().take(self.lines).collect::<Vec<_>>().join("\n");
                format!("{}{MARK}", first_chars(&head, self.chars.saturating_sub(MARK.len())))
            }
        }
    }
}

/// What stands for missing characters.
const MARK: &str = "...";

/// Returns a text of at most `count` characters, the mark for missing ones included.
fn shortened(text: &str, count: usize) -> String {
    match first_chars(text, count).len() == text.len() {
        true => text.to_owned(),
        false => format!("{}{MARK}", first_chars(text, count.saturating_sub(MARK.len()))),
    }
}

/// Returns a key that is not taken, by prefixing it as often as needed.
pub(super) fn free_key(key: &str, prefix: &str, taken: &Map<String, Value>) -> String {
    let mut key = key.to_owned();
    while taken.contains_key(&key) {
        key.insert_str(0, prefix);
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    fn truncated(value: Value) -> Value {
        truncate(&value, &ResponseLimits::default())
    }

    #[test]
    fn a_value_within_the_limits_is_unchanged() {
        let value = json!({"a": [1.0, null, true], "b": {"c": {"d": {"e": "x".repeat(500)}}}, "": {}});
        let numbers: Vec<u64> = (0..10).collect();
        assert_eq!(truncated(value.clone()), value);
        assert_eq!(truncated(json!(numbers)), json!(numbers));
    }

    #[test]
    fn a_long_array_states_its_length() {
        let numbers: Vec<u64> = (0..25).collect();
        assert_eq!(
            truncated(json!({"n": numbers})),
            json!({"n": {"items": numbers[..10], "totalCount": 25, "showing": 10}})
        );
    }

    #[test]
    fn a_long_string_is_truncated_between_characters() {
        assert_eq!(truncated(json!("é𝄞".repeat(251))), json!("é𝄞".repeat(248) + "é..."));
    }

    #[test]
    fn deep_values_are_marked_or_flattened() {
        assert_eq!(truncated(json!([[[[[1]]]]])), json!([[[["[truncated]"]]]]));
        // A long array needs a level more.
        let long = json!([[[vec![1; 11]]]]);
        assert_eq!(truncated(long), json!([[["[truncated: 11 items]"]]]));
        let long = json!([[vec![1; 11]]]);
        assert_eq!(truncated(long), json!([[{"items": vec![1; 10], "totalCount": 11, "showing": 10}]]));
        assert_eq!(
            truncated(json!({"a": {"b": {"c": {"d": {"e": 1}}}}})),
            json!({"a.b": {"c": {"d": {"e": 1}}}})
        );
    }

    #[test]
    fn a_log_keeps_head_and_tail() {
        let log: Vec<String> = (0..100).map(|line| format!("line {line}")).collect();
        let short = truncated(json!(log.join("\n")));
        let short = short.as_str().unwrap();
        assert!(short.starts_with("line 0\n") && short.ends_with("\nline 99"), "{short}");
        assert!(short.contains("line 9\n... 81 lines omitted ...\nline 91"), "{short}");

        let wide: Vec<String> = (0..100).map(|line| format!("{line} {}", "x".repeat(90))).collect();
        let wide = truncated(json!(wide.join("\n")));
        let wide = wide.as_str().unwrap();
        assert!(wide.chars().count() <= 500 && wide.lines().count() == 20, "{wide}");
        assert!(wide.contains("... 81 lines omitted ...\n91 xxx"), "{wide}");
    }

    #[test]
    fn equal_shortened_keys_count_as_missing() {
        let limits = ResponseLimits { max_bytes: 4, ..ResponseLimits::default() };
        let step = Truncator { members: 5, ..Truncator::step(&limits, 0) };
        let value = json!({"...": 0, "abcde": 1, "abcxy": 2});
        assert_eq!(step.value(&value, 4), json!({"...": 0, "a...": 1, "....": "1 more keys"}));
    }
}
