//! Detects the field that identifies the records of two results.
//!
//! A key is a string or a whole number in every record of both results, and unique in each of them. Fields with the usual
//! names of keys are tried first, then timestamps, then any other string.

use std::collections::BTreeSet;

use super::members::members;

/// Names of fields that usually are keys, best first.
const NAMES: [&str; 26] = [
    "id",
    "_id",
    "uuid",
    "guid",
    "key",
    "uid",
    "number",
    "iid",
    "sha",
    "arn",
    "node_id",
    "path",
    "file",
    "filename",
    "name",
    "full_name",
    "slug",
    "login",
    "email",
    "code",
    "symbol",
    "url",
    "uri",
    "html_url",
    "title",
    "label",
];
/// Names of timestamp fields.
const TIMES: [&str; 6] = ["time", "timestamp", "ts", "date", "datetime", "day"];
/// The maximum number of fields that are tried.
const MAX_CANDIDATES: usize = 12;
/// The longest value of a key.
const MAX_KEY_BYTES: usize = 300;

/// Returns the name of the key field, as written, of records that are objects.
pub(super) fn detect(old: &[String], new: &[String]) -> Option<String> {
    let first = new.first().or(old.first())?;
    let mut candidates: Vec<(usize, &str)> = members(first)
        .into_iter()
        .filter(|(_, value)| is_key(value))
        .filter_map(|(name, value)| Some((rank(name, value)?, name)))
        .collect();
    candidates.sort_by_key(|(rank, _)| *rank);
    let fields = candidates.into_iter().take(MAX_CANDIDATES).map(|(_, name)| name);
    fields.into_iter().find(|name| is_unique(old, name) && is_unique(new, name)).map(str::to_owned)
}

/// Returns the value of a field, as written.
pub(super) fn value<'r>(record: &'r str, field: &str) -> Option<&'r str> {
    members(record).into_iter().rev().find(|(name, _)| *name == field).map(|(_, value)| value)
}

fn rank(name: &str, value: &str) -> Option<usize> {
    let lower = name.to_ascii_lowercase();
    let known = NAMES.iter().position(|known| *known == lower);
    let is_reference = || lower.ends_with("_id") || lower.ends_with("_key") || name.ends_with("Id");
    let time = || TIMES.iter().position(|known| *known == lower).map(|at| 200 + at);
    known
        .or_else(|| is_reference().then_some(100))
        .or_else(time)
        // A number in a field with any other name may be a measurement.
        .or_else(|| value.starts_with('"').then_some(300))
}

fn is_key(value: &str) -> bool {
    let is_whole = |value: &str| value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    value.len() <= MAX_KEY_BYTES && value != "\"\"" && (value.starts_with('"') || is_whole(value))
}

fn is_unique(records: &[String], field: &str) -> bool {
    let mut seen = BTreeSet::new();
    records.iter().all(|record| value(record, field).is_some_and(|value| is_key(value) && seen.insert(value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detected(old: &[&str], new: &[&str]) -> Option<String> {
        let owned = |records: &[&str]| records.iter().map(|record| (*record).to_owned()).collect::<Vec<_>>();
        detect(&owned(old), &owned(new))
    }

    #[test]
    fn keys_are_unique_in_both() {
        let old = [r#"{"name":"a","id":1,"n":3}"#, r#"{"name":"b","id":2,"n":4}"#];
        assert_eq!(detected(&old, &old).as_deref(), Some("id"));
        let new = [r#"{"name":"a","id":1}"#, r#"{"name":"b","id":1}"#];
        assert_eq!(detected(&old, &new).as_deref(), Some("name"), "ids repeat");
        let new = [r#"{"name":"a","id":1}"#, r#"{"id":null}"#];
        assert_eq!(detected(&old, &new), None);
    }

    #[test]
    fn measurements_are_not_keys() {
        let rows = [r#"{"mag":4.5,"depth":7}"#, r#"{"mag":4.6,"depth":8}"#];
        assert_eq!(detected(&rows, &rows), None);
        let rows = [r#"{"mag":4,"time":"10:00"}"#, r#"{"mag":5,"time":"10:01"}"#];
        assert_eq!(detected(&rows, &rows).as_deref(), Some("time"));
        assert_eq!(detected(&["1", "2"], &["1"]), None);
    }
}
