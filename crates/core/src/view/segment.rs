//! The syntax of paths: a JSON Pointer (`/features/3/id`) or a simple JSONPath (`$.features[3].id`, `items[*].name`).

use super::error::ViewError;
use crate::json::string;
use crate::plain_name;

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Segment {
    /// A key, or a position if the value is a list and the key a number.
    Key(String),
    /// All members.
    Any,
}

/// Reads a path.
pub(crate) fn parse(path: &str) -> Result<Vec<Segment>, ViewError> {
    let trimmed = path.trim();
    // A key may end with a space.
    if let Some(pointer) = path.trim_start().strip_prefix('/') {
        let unescaped = |part: &str| part.replace("~1", "/").replace("~0", "~");
        let parts = pointer.split('/').filter(|_| !pointer.is_empty());
        return Ok(parts.map(|part| Segment::Key(unescaped(part))).collect());
    }
    // A key may begin with `$`, too.
    let inside = trimmed.strip_prefix('$').filter(|rest| rest.is_empty() || rest.starts_with(['.', '[']));
    parse_dotted(inside.unwrap_or(trimmed)).ok_or_else(|| {
        ViewError::bad(format!(
            "{} cannot be read; write it like \"/items/0/name\" or \"$.items[0].name\"",
            plain_name::asked_path(path)
        ))
    })
}

/// Reads a path as profiles write it: keys with dots between them, `[]` or `[3]` for elements of lists.
pub(crate) fn parse_dotted(path: &str) -> Option<Vec<Segment>> {
    let mut segments = Vec::new();
    let mut rest = if path == "." { "" } else { path };
    while !rest.is_empty() {
        if let Some(inside) = rest.strip_prefix('[') {
            let (step, after) = match inside.chars().next()? {
                '"' => {
                    let (key, after) = read_key(inside)?;
                    (Segment::Key(key), after.strip_prefix(']')?)
                }
                '\'' => {
                    let end = inside[1..].find('\'')? + 1;
                    (Segment::Key(inside[1..end].to_owned()), inside[end + 1..].strip_prefix(']')?)
                }
                _ => {
                    let (index, after) = inside.split_once(']')?;
                    let any = index == "*" || index.is_empty();
                    if !any && index.parse::<u64>().is_err() {
                        return None;
                    }
                    (if any { Segment::Any } else { Segment::Key(index.to_owned()) }, after)
                }
            };
            segments.push(step);
            rest = after;
            continue;
        }
        rest = rest.strip_prefix('.').unwrap_or(rest);
        let quoted = rest.starts_with('"');
        let (key, after) = read_key(rest).filter(|(key, _)| quoted || !key.is_empty())?;
        segments.push(if !quoted && key == "*" { Segment::Any } else { Segment::Key(key) });
        rest = after;
    }
    Some(segments)
}

/// Reads the first key of a path, as an overview writes it; returns it and what follows.
pub fn read_key(path: &str) -> Option<(String, &str)> {
    let Some(inside) = path.strip_prefix('"') else {
        let end = path.find(['.', '[']).unwrap_or(path.len());
        return Some((path[..end].to_owned(), &path[end..]));
    };
    let mut escaped = false;
    let end = inside.find(|character| {
        let ends = character == '"' && !escaped;
        escaped = character == '\\' && !escaped;
        ends
    })?;
    Some((string::decode_text(&inside.as_bytes()[..end]), &inside[end + 1..]))
}

/// Returns the keys of a path; `None` if it cannot be read or stands for several values.
pub(super) fn keys(path: &str) -> Option<Vec<String>> {
    let key = |segment: Segment| match segment {
        Segment::Key(key) => Some(key),
        Segment::Any => None,
    };
    parse(path).ok()?.into_iter().map(key).collect()
}

/// Returns the pointer of a member of the main list, whose path is dotted.
pub(crate) fn pointer(list: &str, member: &str) -> String {
    let mut segments = parse_dotted(list).unwrap_or_default();
    segments.push(Segment::Key(member.to_owned()));
    to_pointer(&segments)
}

/// Returns the pointer of the main list, whose path is dotted.
pub(crate) fn pointer_of(list: &str) -> String {
    match to_pointer(&parse_dotted(list).unwrap_or_default()) {
        pointer if pointer.is_empty() => "/".into(),
        pointer => pointer,
    }
}

/// Returns a path as a JSON Pointer, without the segments that stand for all members.
pub(super) fn to_pointer(segments: &[Segment]) -> String {
    let keys = segments.iter().filter_map(|segment| match segment {
        Segment::Key(key) => Some(format!("/{}", key.replace('~', "~0").replace('/', "~1"))),
        Segment::Any => None,
    });
    keys.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_and_paths() {
        let keys = |path: &str| -> Vec<String> {
            let segments = parse(path).unwrap().into_iter();
            segments
                .map(|segment| match segment {
                    Segment::Key(key) => key,
                    Segment::Any => "*".into(),
                })
                .collect()
        };
        assert_eq!(keys("/a~1b/0/~0x"), ["a/b", "0", "~x"]);
        assert_eq!(keys("$.a.b[3]['x y'].c"), ["a", "b", "3", "x y", "c"]);
        assert_eq!(keys("a[*].\"b.c\""), ["a", "*", "b.c"]);
        assert_eq!(keys(".items[].name"), ["items", "*", "name"]);
        assert_eq!(keys("/a /b "), ["a ", "b "]);
        assert!(keys("/").is_empty() && keys("$").is_empty());
        assert_eq!(keys("$defs.x"), ["$defs", "x"]);
        assert!(keys("").is_empty() && keys(".").is_empty());
        assert!(parse("a[").is_err() && parse("a..b").is_err() && parse("$.x[one]").is_err());
        assert_eq!(pointer("resolve.\"a/b\"", "7"), "/resolve/a~1b/7");
        assert_eq!(pointer("/users.list", "7"), "/~1users/list/7");
    }

    #[test]
    fn every_key_is_read_back_from_a_path() {
        let long = "z".repeat(5000);
        for key in [
            "a",
            "",
            "a\"b",
            "a\nb",
            "x.y",
            "a\\",
            "\\\"",
            "[0]",
            "*",
            " a ",
            "$id",
            "/x",
            "é\u{202e}",
            "\"q\"",
            &long,
        ] {
            let path = format!("first.{}.last", crate::visible::key(key));
            let expected = ["first", key, "last"].map(|key| Segment::Key(key.to_owned()));
            assert_eq!(parse_dotted(&path).as_deref(), Some(expected.as_slice()), "{path}");
        }
    }
}
