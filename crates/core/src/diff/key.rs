//! Detects the field that identifies the records of two results.
//!
//! A key is a string or a whole number in every record of both results, and unique in each of them. Fields with the usual
//! names of keys are tried first, then timestamps, then any other string.

use super::members::{member, members};
use super::records::Rows;
use crate::hash;

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

/// A field that identifies records.
pub(super) struct KeyField<'r> {
    /// Its name, as written.
    pub(super) name: String,
    /// Its values in the old and in the new records, as written.
    pub(super) old: Vec<&'r str>,
    pub(super) new: Vec<&'r str>,
}

/// Returns the key field of records that are objects.
pub(super) fn detect<'r>(old: &'r Rows, new: &'r Rows) -> Option<KeyField<'r>> {
    let first = new.all().next().or(old.all().next())?;
    let mut candidates: Vec<(usize, &str)> = members(first)
        .into_iter()
        .filter(|(_, value)| is_key(value))
        .filter_map(|(name, value)| Some((rank(name, value)?, name)))
        .collect();
    candidates.sort_by_key(|(rank, _)| *rank);
    candidates.into_iter().take(MAX_CANDIDATES).find_map(|(_, name)| {
        let (old, new) = (keys(old, name)?, keys(new, name)?);
        let is_unique = are_distinct(&new) && (old == new || are_distinct(&old));
        is_unique.then(|| KeyField { name: name.to_owned(), old, new })
    })
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

/// Returns the values of a field; `None` if it is not a key in every record.
fn keys<'r>(rows: &'r Rows, field: &str) -> Option<Vec<&'r str>> {
    rows.all().map(|record| member(record, field).filter(|value| is_key(value))).collect()
}

fn are_distinct(values: &[&str]) -> bool {
    // Hashes are sorted much faster than strings. Different values hardly ever have the same hash; then they are no key.
    let mut hashes: Vec<u64> = values.iter().map(|value| hash::bytes(value.as_bytes())).collect();
    hashes.sort_unstable();
    hashes.windows(2).all(|pair| pair[0] != pair[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detected(old: &[&str], new: &[&str]) -> Option<String> {
        detect(&Rows::of(old), &Rows::of(new)).map(|key| key.name)
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
