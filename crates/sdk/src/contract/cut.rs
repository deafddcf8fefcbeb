//! Any JSON value cut down to the limits, with a mark wherever something is missing.
//!
//! A long array becomes `{"items": [first], "totalCount": n, "showing": k}`, which counts as no level of its own; a
//! long string ends with `...`; a long log keeps its head and tail with the number of lines between; what is nested
//! too deep is `"[truncated]"` unless dotted keys make room for it.
//!
//! [`Cut`] has two limits more, for members and keys of objects. They are without effect at first and come down with
//! all others when the bytes of the whole demand it: scaled to nothing, every value is a few bytes long, which is
//! why some scale always fits.

use serde_json::{Map, Value, json};

use super::{ResponseLimits, first_chars, flatten::flatten};

/// Returns a value cut down to the limits on arrays, strings, lines and depth.
///
/// Keys and the number of members are left as they are; [`super::wrap_response`] bounds the bytes of the whole.
///
/// ```
/// use serde_json::json;
/// use tidegate_sdk::contract::{ResponseLimits, truncate};
///
/// let limits = ResponseLimits { max_array_items: 2, ..ResponseLimits::default() };
/// assert_eq!(truncate(&json!([1, 2, 3]), &limits), json!({"items": [1, 2], "totalCount": 3, "showing": 2}));
/// ```
pub fn truncate(value: &Value, limits: &ResponseLimits) -> Value {
    let flat = flatten(value, limits);
    Cut::of(limits).value(flat.as_ref().unwrap_or(value), 0)
}

/// The limits in force while a value is cut.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cut {
    depth: usize,
    items: usize,
    chars: usize,
    lines: usize,
    members: usize,
    key_chars: usize,
}

impl Cut {
    fn of(limits: &ResponseLimits) -> Self {
        Self {
            depth: limits.max_json_depth,
            items: limits.max_array_items,
            chars: limits.max_string_length,
            lines: limits.max_log_lines,
            members: usize::MAX,
            key_chars: usize::MAX,
        }
    }

    /// Returns the limits made smaller, by quarters; the first step changes nothing that could fit.
    ///
    /// Members and keys of objects come down fastest and elements of arrays slowest: a few more rows tell more than
    /// the thousandth key of a map.
    pub(super) fn step(limits: &ResponseLimits, step: u32) -> Self {
        let quarters =
            |limit: usize, times: u32| (0..times).fold(limit, |limit, _| limit - limit.div_ceil(4));
        Self {
            depth: limits.max_json_depth,
            items: quarters(limits.max_array_items, step / 2),
            chars: quarters(limits.max_string_length, step),
            lines: quarters(limits.max_log_lines, step),
            // A member takes at least these bytes: two quotes escaped, a colon, a space and a value.
            members: quarters(limits.max_bytes / 7, step * 2),
            key_chars: quarters(limits.max_bytes, step * 2),
        }
    }

    /// Whether nothing is left that could be made smaller.
    pub(super) fn is_least(&self) -> bool {
        self.items == 0 && self.chars == 0 && self.lines == 0 && self.members == 0 && self.key_chars == 0
    }

    pub(super) fn value(&self, value: &Value, depth: usize) -> Value {
        if depth > self.depth {
            return "[truncated]".into();
        }
        match value {
            Value::Array(items) => self.array(items, depth),
            Value::Object(members) => Value::Object(self.object(members, depth)),
            Value::String(text) => Value::String(self.text(text)),
            _ => value.clone(),
        }
    }

    /// Returns the elements that are shown.
    pub(super) fn items(&self, items: &[Value], depth: usize) -> Vec<Value> {
        items.iter().take(self.items).map(|item| self.value(item, depth + 1)).collect()
    }

    fn array(&self, items: &[Value], depth: usize) -> Value {
        let shown = self.items(items, depth);
        if shown.len() == items.len() {
            return Value::Array(shown);
        }
        let showing = shown.len();
        json!({"items": shown, "totalCount": items.len(), "showing": showing})
    }

    pub(super) fn object(&self, members: &Map<String, Value>, depth: usize) -> Map<String, Value> {
        let mut cut = Map::new();
        for (key, child) in members.iter().take(self.members) {
            let key = marked(key, self.key_chars);
            // Two keys may begin alike; the first one stays and the other is counted as missing.
            if !cut.contains_key(&key) {
                cut.insert(key, self.value(child, depth + 1));
            }
        }
        let missing = members.len() - cut.len();
        if missing > 0 {
            cut.insert(free_key("...", ".", &cut), format!("{missing} more keys").into());
        }
        cut
    }

    fn text(&self, text: &str) -> String {
        self.log(text).unwrap_or_else(|| marked(text, self.chars))
    }

    /// Head and tail of a text of too many lines, each line with its share of the characters.
    fn log(&self, text: &str) -> Option<String> {
        let total = text.lines().count();
        if total <= self.lines || self.lines < 2 {
            return None;
        }
        let (head, tail) = (self.lines.div_ceil(2), self.lines / 2);
        let mark = format!("... {} lines omitted ...", total - head - tail);
        let whole = |keep: &dyn Fn(&str) -> String| {
            let mut kept: Vec<String> = text.lines().take(head).map(keep).collect();
            kept.push(mark.clone());
            kept.extend(text.lines().skip(total - tail).map(keep));
            kept.join("\n")
        };
        let joined = whole(&str::to_owned);
        if joined.chars().count() <= self.chars {
            return Some(joined);
        }
        let share = self.chars.saturating_sub(mark.len() + self.lines) / self.lines;
        (share >= LEAST_SHARE).then(|| whole(&|line| marked(line, share - "...".len())))
    }
}

/// Characters of a line below which head and tail say less than the beginning does.
const LEAST_SHARE: usize = 12;

/// The first characters of a text, with `...` behind where some are missing.
fn marked(text: &str, count: usize) -> String {
    let first = first_chars(text, count);
    if first.len() == text.len() { text.to_owned() } else { format!("{first}...") }
}

/// A key that is not taken yet.
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

    fn cut(value: Value) -> Value {
        truncate(&value, &ResponseLimits::default())
    }

    #[test]
    fn what_is_within_the_limits_stays() {
        let value = json!({"a": [1.0, null, true], "b": {"c": {"d": {"e": "x".repeat(500)}}}, "": {}});
        let numbers: Vec<u64> = (0..10).collect();
        assert_eq!(cut(value.clone()), value);
        assert_eq!(cut(json!(numbers)), json!(numbers));
    }

    #[test]
    fn a_long_array_says_how_long_it_is() {
        let numbers: Vec<u64> = (0..25).collect();
        assert_eq!(
            cut(json!({"n": numbers})),
            json!({"n": {"items": numbers[..10], "totalCount": 25, "showing": 10}})
        );
    }

    #[test]
    fn a_long_string_is_cut_between_characters() {
        assert_eq!(cut(json!("é𝄞".repeat(251))), json!("é𝄞".repeat(250) + "..."));
    }

    #[test]
    fn what_is_too_deep_is_marked_or_flattened() {
        assert_eq!(cut(json!([[[[[1]]]]])), json!([[[[["[truncated]"]]]]]));
        assert_eq!(cut(json!({"a": {"b": {"c": {"d": {"e": 1}}}}})), json!({"a.b": {"c": {"d": {"e": 1}}}}));
    }

    #[test]
    fn a_log_keeps_head_and_tail() {
        let log: Vec<String> = (0..100).map(|line| format!("line {line}")).collect();
        let short = cut(json!(log.join("\n")));
        let short = short.as_str().unwrap();
        assert!(short.starts_with("line 0\n") && short.ends_with("\nline 99"), "{short}");
        assert!(short.contains("line 9\n... 80 lines omitted ...\nline 90"), "{short}");

        let wide: Vec<String> = (0..100).map(|line| format!("{line} {}", "x".repeat(90))).collect();
        let wide = cut(json!(wide.join("\n")));
        let wide = wide.as_str().unwrap();
        assert!(wide.chars().count() <= 500 && wide.lines().count() == 21, "{wide}");
        assert!(wide.contains("... 80 lines omitted ...\n90 xxx"), "{wide}");
    }

    #[test]
    fn keys_that_begin_alike_are_counted() {
        let limits = ResponseLimits { max_bytes: 3, ..ResponseLimits::default() };
        let step = Cut { members: 5, ..Cut::step(&limits, 0) };
        let value = json!({"...": 0, "abcde": 1, "abcxy": 2});
        assert_eq!(step.value(&value, 0), json!({"...": 0, "abc...": 1, "....": "1 more keys"}));
    }
}
