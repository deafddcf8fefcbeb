//! Projection: keeps only the fields a caller asked for, by name or dotted path.
//!
//! A path descends into objects and into every element of an array: `authors.name` keeps the name of every author. A key
//! that contains a dot matches by its full name. `author` together with `author.name` keeps the whole `author`.
//!
//! Invariant: a projection is a subset of the value. Kept values are unchanged and stay where they were.

use serde_json::{Map, Value};

use crate::text::excerpt;

/// The fields to keep, all of which are known to exist.
///
/// ```
/// use serde_json::json;
/// use tidegate_sdk::fields::Fields;
///
/// let fields = Fields::among(&["slug", "author.name"], &["slug", "title", "author.name", "author.mail"])?;
/// let row = json!({"slug": "tides", "title": "Tides", "author": {"name": "Ada", "mail": "a@b"}});
/// assert_eq!(fields.apply(&row), json!({"slug": "tides", "author": {"name": "Ada"}}));
///
/// let error = Fields::among(&["name"], &["slug", "title"]).unwrap_err();
/// assert_eq!(error.to_string(), "unknown field \"name\"; valid names are slug, title");
/// # Ok::<(), tidegate_sdk::fields::UnknownField>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fields {
    paths: Vec<String>,
}

/// The error for a field that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown field {:?}; valid names are {}", excerpt(name), list_names(valid))]
pub struct UnknownField {
    /// The requested name.
    pub name: String,
    /// The names of all fields.
    pub valid: Vec<String>,
}

/// Names that an error lists, so that it stays small however many fields there are.
const MAX_LISTED_NAMES: usize = 40;
/// Levels of nesting whose names an error lists.
const MAX_LISTED_DEPTH: usize = 4;

/// Returns names as a list for an error message.
pub(crate) fn list_names(names: &[String]) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    let shown: Vec<&str> = names.iter().take(MAX_LISTED_NAMES).map(|name| excerpt(name)).collect();
    let more = names.len() - shown.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

impl Fields {
    /// Returns the named fields, checked against a list of valid paths; the name of an object selects all of it.
    ///
    /// # Errors
    ///
    /// Fails on a name that is neither a valid path nor an object on one.
    pub fn among<N: AsRef<str>, V: AsRef<str>>(names: &[N], valid: &[V]) -> Result<Self, UnknownField> {
        let is_valid = |name: &str| {
            valid.iter().any(|path| path.as_ref() == name || below(path.as_ref(), name).is_some())
        };
        let all = || valid.iter().map(|path| path.as_ref().to_owned()).collect();
        Self::checked(names, is_valid, all)
    }

    /// Returns the named fields, checked against a value in which each must occur.
    ///
    /// # Errors
    ///
    /// Fails on a name that no object in the value has. Null and empty arrays accept any name below them.
    pub fn in_value<N: AsRef<str>>(names: &[N], value: &Value) -> Result<Self, UnknownField> {
        let all = || {
            let mut paths = Vec::new();
            collect_paths(value, "", MAX_LISTED_DEPTH, &mut paths);
            paths
        };
        Self::checked(names, |name| occurs(value, name), all)
    }

    fn checked<N: AsRef<str>>(
        names: &[N],
        is_valid: impl Fn(&str) -> bool,
        valid: impl Fn() -> Vec<String>,
    ) -> Result<Self, UnknownField> {
        match names.iter().find(|name| !is_valid(name.as_ref())) {
            Some(name) => Err(UnknownField { name: name.as_ref().to_owned(), valid: valid() }),
            None => Ok(Self { paths: names.iter().map(|name| name.as_ref().to_owned()).collect() }),
        }
    }

    /// Returns the paths in the order given.
    pub fn paths(&self) -> &[String] {
        &self.paths
    }

    /// Returns an object, or each object of an array, with only these fields; other values are returned unchanged.
    pub fn apply(&self, value: &Value) -> Value {
        let paths: Vec<&str> = self.paths.iter().map(String::as_str).collect();
        project(value, &paths)
    }
}

/// Returns the rest of a path after a key, if the path starts with that key.
fn below<'a>(path: &'a str, key: &str) -> Option<&'a str> {
    path.strip_prefix(key)?.strip_prefix('.')
}

fn project(value: &Value, paths: &[&str]) -> Value {
    match value {
        Value::Array(items) => items.iter().map(|item| project(item, paths)).collect(),
        Value::Object(members) => {
            let kept = |(key, child): (&String, &Value)| Some((key.clone(), member(key, child, paths)?));
            Value::Object(members.iter().filter_map(kept).collect::<Map<_, _>>())
        }
        _ => value.clone(),
    }
}

fn member(key: &str, child: &Value, paths: &[&str]) -> Option<Value> {
    if paths.contains(&key) {
        return Some(child.clone());
    }
    let inner: Vec<&str> = paths.iter().filter_map(|path| below(path, key)).collect();
    // Null stays, since it says that the object is absent. A string or number has no fields to keep.
    let may_have_fields = matches!(child, Value::Object(_) | Value::Array(_) | Value::Null);
    (!inner.is_empty() && may_have_fields).then(|| project(child, &inner))
}

fn occurs(value: &Value, path: &str) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty() || items.iter().any(|item| occurs(item, path)),
        Value::Object(members) => {
            members.contains_key(path)
                || members.iter().any(|(key, child)| below(path, key).is_some_and(|rest| occurs(child, rest)))
        }
        _ => false,
    }
}

/// Appends the path of every field once, in order of first occurrence.
fn collect_paths(value: &Value, prefix: &str, depth: usize, paths: &mut Vec<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect_paths(item, prefix, depth, paths)),
        Value::Object(members) if depth > 0 => {
            for (key, child) in members {
                let path = format!("{prefix}{key}");
                collect_paths(child, &format!("{path}."), depth - 1, paths);
                if !paths.contains(&path) {
                    paths.push(path);
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn rows() -> Value {
        json!([
            {"id": 1, "author": {"name": "Ada", "mail": "a@b"}, "tags": [{"name": "x", "n": 1.0}, "plain"]},
            {"id": 18446744073709551615u64, "author": null, "tags": [], "a.b": 1},
        ])
    }

    fn apply(names: &[&str]) -> Value {
        Fields::in_value(names, &rows()).unwrap().apply(&rows())
    }

    #[test]
    fn names_and_paths_are_kept_exactly() {
        assert_eq!(apply(&["id"]), json!([{"id": 1}, {"id": 18446744073709551615u64}]));
        assert_eq!(apply(&["author.name"]), json!([{"author": {"name": "Ada"}}, {"author": null}]));
        assert_eq!(apply(&["tags.n"]), json!([{"tags": [{"n": 1.0}, "plain"]}, {"tags": []}]));
        assert_eq!(apply(&["a.b"]), json!([{}, {"a.b": 1}]));
        assert_eq!(apply(&["author.name", "author"]), apply(&["author"]));
    }

    #[test]
    fn unknown_names_list_the_valid_ones() {
        let error = Fields::in_value(&["id", "author.nmae"], &json!([{"id": 1, "author": {"name": 2}}]));
        assert_eq!(
            error.unwrap_err().to_string(),
            "unknown field \"author.nmae\"; valid names are author.name, author, id"
        );
        assert!(Fields::among(&["author"], &["author.name"]).is_ok());
        assert!(Fields::among(&["auth", "author.name.first"], &["author.name"]).is_err());
        let many: Vec<String> = (0..5000).map(|n| format!("field{n}")).collect();
        let error = Fields::among(&["x".repeat(9000)], &many).unwrap_err().to_string();
        assert!(error.ends_with("field39 and 4960 more") && error.len() < 1000, "{error}");
    }

    fn is_subset(part: &Value, whole: &Value) -> bool {
        match (part, whole) {
            (Value::Object(part), Value::Object(whole)) => {
                part.iter().all(|(key, value)| whole.get(key).is_some_and(|whole| is_subset(value, whole)))
            }
            (Value::Array(part), Value::Array(whole)) => {
                part.len() == whole.len()
                    && part.iter().zip(whole).all(|(part, whole)| is_subset(part, whole))
            }
            _ => part == whole,
        }
    }

    fn objects() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![any::<f64>().prop_map(Value::from), "[a-c]{0,3}".prop_map(Value::from)];
        leaf.prop_recursive(4, 60, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec(("[ab.]{1,2}", inner), 0..6).prop_map(|all| all.into_iter().collect()),
            ]
        })
    }

    proptest! {
        #![proptest_config(tidegate_testkit::cases(256))]

        #[test]
        fn a_projection_is_a_subset(value in objects(), names in prop::collection::vec("[ab.]{1,4}", 0..4)) {
            let fields = Fields { paths: names };
            let part = fields.apply(&value);
            prop_assert!(is_subset(&part, &value));
            prop_assert_eq!(fields.apply(&part), part);
        }

        #[test]
        fn every_listed_name_is_valid(value in objects()) {
            let mut paths = Vec::new();
            collect_paths(&value, "", MAX_LISTED_DEPTH, &mut paths);
            prop_assert!(Fields::in_value(&paths, &value).is_ok());
        }
    }
}
