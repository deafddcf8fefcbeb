//! The syntax of paths: a JSON Pointer (`/features/3/id`) or a simple JSONPath (`$.features[3].id`, `items[*].name`).

use super::error::ViewError;

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
    if trimmed.is_empty() || trimmed == "/" || trimmed == "$" || trimmed == "." {
        return Ok(Vec::new());
    }
    // A key may end with a space.
    if let Some(pointer) = path.trim_start().strip_prefix('/') {
        let unescaped = |part: &str| part.replace("~1", "/").replace("~0", "~");
        return Ok(pointer.split('/').map(|part| Segment::Key(unescaped(part))).collect());
    }
    parse_json_path(trimmed.strip_prefix('$').unwrap_or(trimmed)).ok_or_else(|| {
        ViewError::bad(format!(
            "path {path:?} cannot be read; write it like \"/items/0/name\" or \"$.items[0].name\""
        ))
    })
}

fn parse_json_path(path: &str) -> Option<Vec<Segment>> {
    let mut segments = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        if let Some(inside) = rest.strip_prefix('[') {
            let (step, after) = match inside.chars().next()? {
                quote @ ('"' | '\'') => {
                    let end = inside[1..].find(quote)? + 1;
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
        if let Some(quoted) = rest.strip_prefix('"') {
            let end = quoted.find('"')?;
            segments.push(Segment::Key(quoted[..end].to_owned()));
            rest = &quoted[end + 1..];
            continue;
        }
        let end = rest.find(['.', '[']).unwrap_or(rest.len());
        if end == 0 {
            return None;
        }
        segments.push(if &rest[..end] == "*" { Segment::Any } else { Segment::Key(rest[..end].to_owned()) });
        rest = &rest[end..];
    }
    Some(segments)
}

/// Returns the pointer of a member of the main list, whose path is dotted.
pub(crate) fn pointer(list: &str, member: &str) -> String {
    let mut segments = parse(list).unwrap_or_default();
    segments.push(Segment::Key(member.to_owned()));
    to_pointer(&segments)
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
        assert!(parse("a[").is_err() && parse("a..b").is_err() && parse("$.x[one]").is_err());
        assert_eq!(pointer("resolve.\"a/b\"", "7"), "/resolve/a~1b/7");
    }
}
