//! Hints for a query that asks for something the data does not have.
//!
//! They appear outside the fence around upstream text, so they name plain names only: whatever else a server calls a
//! field is counted.

use tidegate_core::plain_name;
use tidegate_core::view::{Dataset, nearest};

/// The maximum number of field names in a hint.
const MAX_SHOWN_FIELDS: usize = 30;

/// Returns a name, dots included, if all its parts may appear outside the fence.
pub(crate) fn plain_name(name: &str) -> Option<&str> {
    let is_plain = plain_name::is_plain_path(name) && name.split('.').all(plain_name::is_plain);
    is_plain.then_some(name)
}

/// Describes the data: `The data is a list of 430 with fields id, title, ...`.
pub(crate) fn shape(data: &Dataset<'_>) -> String {
    let fields = data.fields();
    let names: Vec<&str> = fields.iter().filter_map(|name| plain_name(name)).take(MAX_SHOWN_FIELDS).collect();
    let more = if fields.len() > names.len() { ", ..." } else { "" };
    let kind = if data.is_keyed() { "an object" } else { "a list" };
    let place = match data.records_path() {
        "" => format!("The data is {kind}"),
        path => match plain_name(path) {
            Some(path) => format!("The records are in .{path}, {kind}"),
            None => format!("The records are {kind} inside the data"),
        },
    };
    let fields =
        if names.is_empty() { String::new() } else { format!(" with fields {}{more}", names.join(", ")) };
    match data.record_count() {
        0 => format!("The text has no records; it is {}", data.kind()),
        count => format!("{place} of {count}{fields}"),
    }
}

/// Suggests known names that are similar to a wrong one.
pub(crate) fn meant(data: &Dataset<'_>, wrong: &str) -> String {
    let near = nearest(wrong, data.fields().iter().filter_map(|name| plain_name(name)));
    if near.is_empty() { String::new() } else { format!("Did you mean {}? ", near.join(", ")) }
}

/// Returns the names in a jq program (`.titel`) that no field has.
#[cfg(feature = "jq")]
pub(crate) fn unknown_names(data: &Dataset<'_>, program: &str) -> Vec<String> {
    let known = |name: &str| {
        let part_of = |path: &str| path.split(['.', '[', ']', '"']).any(|part| part == name);
        data.fields().iter().any(|path| part_of(path)) || part_of(data.records_path())
    };
    let mut unknown: Vec<String> = Vec::new();
    for (at, _) in program.match_indices('.') {
        let name: String =
            program[at + 1..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        let starts = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
        if starts && !known(&name) && !unknown.contains(&name) {
            unknown.push(name);
        }
    }
    unknown
}
