//! Splits a record, which is JSON without white space, into its members without parsing their values.

/// Returns the members of an object: each name as written, without its quotes, and its value as written. Empty if this is
/// not an object.
pub(super) fn members(json: &str) -> Vec<(&str, &str)> {
    let Some(inside) = json.strip_prefix('{').and_then(|json| json.strip_suffix('}')) else {
        return Vec::new();
    };
    let mut members = Vec::new();
    let mut rest = inside;
    while let Some(name) = rest.strip_prefix('"') {
        let Some(end) = string_end(name.as_bytes()) else { break };
        let Some(value) = name[end + 1..].strip_prefix(':') else { break };
        let length = value_length(value.as_bytes());
        members.push((&name[..end], &value[..length]));
        rest = value[length..].strip_prefix(',').unwrap_or("");
    }
    members
}

/// Returns the position of the closing quote of a string whose opening quote was read.
fn string_end(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes[at] == b'"' {
            return Some(at);
        }
        at += 2;
    }
}

/// Returns the length of the value at the beginning.
fn value_length(bytes: &[u8]) -> usize {
    let (mut at, mut depth) = (0, 0_usize);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => match string_end(&bytes[at + 1..]) {
                Some(end) => at += end + 1,
                None => return bytes.len(),
            },
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => return at,
            _ => {}
        }
        at += 1;
    }
    at
}

/// Collects the members of an object and of the objects in it, by their paths, such as `start.time`.
pub(super) fn flattened<'j>(json: &'j str, path: &str, out: &mut Vec<(String, &'j str)>) {
    for (name, value) in members(json) {
        let path = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        match value.starts_with('{') && value != "{}" {
            true => flattened(value, &path, out),
            false => out.push((path, value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_returned_as_written() {
        let json = r#"{"a":1,"b\"c":"x,}\\","d":{"e":[1,{"f":","}]},"g":null}"#;
        assert_eq!(
            members(json),
            [("a", "1"), (r#"b\"c"#, r#""x,}\\""#), ("d", r#"{"e":[1,{"f":","}]}"#), ("g", "null")]
        );
        let mut flat = Vec::new();
        flattened(json, "", &mut flat);
        assert_eq!(flat[2], ("d.e".to_owned(), r#"[1,{"f":","}]"#));
        for other in ["{}", "[1]", "7", "\"x\"", "", "{\"a", "{\"a\":\"b}"] {
            assert!(members(other).len() < 2, "{other}");
        }
    }
}
