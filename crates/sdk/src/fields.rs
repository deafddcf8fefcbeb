//! Projection: only the fields a caller asked for, by name or dotted path.
//!
//! A path leads through objects, and through arrays to each of their elements: `authors.name` keeps the name of every
//! author. A key that itself has a dot is found by its whole name. What is kept is kept exactly and in its place, so
//! a projection is always a part of the value; whoever asks for `author` and `author.name` gets the whole `author`.

use serde_json::{Map, Value};

/// The fields to keep, checked against those that exist.
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

/// A name that no field has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown field {:?}; valid names are {}", crate::shown(name), listed(valid))]
pub struct UnknownField {
    /// What was asked for.
    pub name: String,
    /// What could be.
    pub valid: Vec<String>,
}

/// An error must stay small, however many fields there are.
const LISTED: usize = 40;
/// How deep names are collected for an error.
const LISTED_DEPTH: usize = 4;

pub(crate) fn listed(names: &[String]) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    let shown: Vec<&str> = names.iter().take(LISTED).map(|name| crate::shown(name)).collect();
    let more = names.len() - shown.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

impl Fields {
    /// Returns fields that are all among the valid ones; the name of an object stands for everything in it.
    ///
    /// # Errors
    ///
    /// A name that is neither valid nor the beginning of a valid path.
    pub fn among<N: AsRef<str>, V: AsRef<str>>(names: &[N], valid: &[V]) -> Result<Self, UnknownField> {
        let is_valid = |name: &str| {
            valid.iter().any(|path| path.as_ref() == name || below(path.as_ref(), name).is_some())
        };
        let all = || valid.iter().map(|path| path.as_ref().to_owned()).collect();
        Self::checked(names, is_valid, all)
    }

    /// Returns fields that all occur somewhere in a value.
    ///
    /// # Errors
    ///
    /// A name that no object of the value has; below null and in empty arrays every name may occur.
    pub fn in_value<N: AsRef<str>>(names: &[N], value: &Value) -> Result<Self, UnknownField> {
        let all = || {
            let mut paths = Vec::new();
            collect(value, "", LISTED_DEPTH, &mut paths);
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

    /// Returns the paths as they were given.
    pub fn paths(&self) -> &[String] {
        &self.paths
    }

    /// Returns an object, or every object of an array, with these fields alone; any other value as it is.
    pub fn apply(&self, value: &Value) -> Value {
        let paths: Vec<&str> = self.paths.iter().map(String::as_str).collect();
        project(value, &paths)
    }
}

/// What a path says below a key, if it begins with it.
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
    // A string or number has no fields; null says that there is nothing to have any.
    let may_have = matches!(child, Value::Object(_) | Value::Array(_) | Value::Null);
    (!inner.is_empty() && may_have).then(|| project(child, &inner))
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

/// The paths of all fields, each once, in the order of their first occurrence.
fn collect(value: &Value, prefix: &str, depth: usize, paths: &mut Vec<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect(item, prefix, depth, paths)),
        Value::Object(members) if depth > 0 => {
            for (key, child) in members {
                let path = format!("{prefix}{key}");
                collect(child, &format!("{path}."), depth - 1, paths);
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

    fn is_part(part: &Value, whole: &Value) -> bool {
        match (part, whole) {
            (Value::Object(part), Value::Object(whole)) => {
                part.iter().all(|(key, value)| whole.get(key).is_some_and(|whole| is_part(value, whole)))
            }
            (Value::Array(part), Value::Array(whole)) => {
                part.len() == whole.len() && part.iter().zip(whole).all(|(part, whole)| is_part(part, whole))
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
        fn a_projection_is_a_part(value in objects(), names in prop::collection::vec("[ab.]{1,4}", 0..4)) {
            let fields = Fields { paths: names };
            let part = fields.apply(&value);
            prop_assert!(is_part(&part, &value));
            prop_assert_eq!(fields.apply(&part), part);
        }

        #[test]
        fn every_listed_name_is_valid(value in objects()) {
            let mut paths = Vec::new();
            collect(&value, "", LISTED_DEPTH, &mut paths);
            prop_assert!(Fields::in_value(&paths, &value).is_ok());
        }
    }
}
