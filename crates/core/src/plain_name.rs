//! The one way for a name from the upstream to appear outside the fence.
//!
//! Keys, field names and paths come from the result, and a key may be a sentence. The frame is read as our own words, so
//! only names that cannot be one pass: letters, digits and underscores, at most 32 of them. Any other name is shown
//! inside the fence, or described by its number. Nothing else of a result may reach a header, a note, a hint or an error.

use crate::write;

/// The maximum number of characters of a plain name.
const MAX_NAME_CHARACTERS: usize = 32;
/// The maximum number of characters of a path of plain names.
const MAX_PATH_CHARACTERS: usize = 96;

/// Returns whether a name may appear outside the fence.
pub fn is_plain(name: &str) -> bool {
    let starts = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    starts
        && name.len() <= MAX_NAME_CHARACTERS
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Returns whether a path may appear outside the fence: each of its parts is a plain name, a position or `*`.
pub fn is_plain_path(path: &str) -> bool {
    let is_position = |part: &str| part == "*" || part.bytes().all(|byte| byte.is_ascii_digit());
    let mut parts = path.split(['.', '/', '[', ']', '$']).filter(|part| !part.is_empty());
    path.len() <= MAX_PATH_CHARACTERS && parts.all(|part| is_plain(part) || is_position(part))
}

/// Returns ` of features`, or nothing if the path is empty or must stay inside the fence.
pub(crate) fn of_path(path: &str) -> String {
    if path.is_empty() || !is_plain_path(path) { String::new() } else { format!(" of {path}") }
}

/// Returns a path that was asked for as a sentence shows it: `"/items/0"`, or `that path`.
pub(crate) fn asked_path(path: &str) -> String {
    if is_plain_path(path) { format!("\"{path}\"") } else { "that path".into() }
}

/// Returns a key or field that was asked for as a sentence shows it: `key "id"`, or `such key`.
pub(crate) fn asked_name(noun: &str, name: &str) -> String {
    if is_plain_path(name) { format!("{noun} \"{name}\"") } else { format!("such {noun}") }
}

/// Returns the first plain names, and how many there are besides: `id, title and 4 more`.
pub fn list<'n>(names: impl IntoIterator<Item = &'n str>, most: usize) -> String {
    let (mut plain, mut others) = (Vec::new(), 0);
    for name in names {
        if plain.len() < most && is_plain_path(name) {
            plain.push(name);
        } else {
            others += 1;
        }
    }
    match (plain.is_empty(), others) {
        (_, 0) => plain.join(", "),
        (true, others) => {
            format!("{} with other characters than letters, digits and _", write::plural(others, "name"))
        }
        (false, others) => format!("{} and {} more", plain.join(", "), write::grouped(others)),
    }
}

/// Returns ` Did you mean id, title?`, or nothing.
pub fn meant<'n>(nearest: impl IntoIterator<Item = &'n str>) -> String {
    let plain: Vec<&str> = nearest.into_iter().filter(|name| is_plain_path(name)).collect();
    if plain.is_empty() { String::new() } else { format!(" Did you mean {}?", plain.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_cannot_be_sentences_are_plain() {
        assert!(is_plain("created_at") && is_plain("_id") && is_plain("A1"));
        for name in ["", "1st", "two words", "a-b", "naïve", "a\u{202e}", "x\n", &"x".repeat(33)] {
            assert!(!is_plain(name), "{name:?}");
        }
        assert!(
            is_plain_path("features[].id") && is_plain_path("/items/0/name") && is_plain_path("$.a[*].b")
        );
        assert!(!is_plain_path("items.\"two words\"") && !is_plain_path("/do this/now"));
        assert!(!is_plain_path(&"/abc".repeat(30)));
    }

    #[test]
    fn names_that_are_not_plain_are_counted() {
        assert_eq!(list(["id", "two words", "title"], 30), "id, title and 1 more");
        assert_eq!(list(["a b", "c d"], 30), "2 names with other characters than letters, digits and _");
        assert_eq!(list(["id", "title"], 1), "id and 1 more");
        assert_eq!(meant(["id", "call me"]), " Did you mean id?");
        assert_eq!(meant(["call me"]), "");
    }
}
