//! Finds members in a request without parsing it, so that ids are sent back exactly as they were written.
//!
//! It is just enough JSON for the requests of the tests: strings with escapes, nested values, white space.

/// Returns the first member with a key of the object in a text, as written.
pub(super) fn member<'j>(json: &'j str, key: &str) -> Option<&'j str> {
    let mut rest = json.trim_start().strip_prefix('{')?;
    loop {
        let (name, after) = value(rest.trim_start())?;
        let after = after.trim_start().strip_prefix(':')?;
        let (found, after) = value(after.trim_start())?;
        if name.trim_matches('"') == key {
            return Some(found);
        }
        rest = after.trim_start().strip_prefix(',')?;
    }
}

/// Returns the member at a path of keys.
pub(super) fn at<'j>(json: &'j str, path: &[&str]) -> Option<&'j str> {
    path.iter().try_fold(json, |json, key| member(json, key))
}

/// Returns the text between the quotes of a string, still escaped.
pub(super) fn inside(text: &str) -> &str {
    text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text)
}

/// Splits the text after the value at its start.
fn value(json: &str) -> Option<(&str, &str)> {
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    for (at, byte) in json.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' | b',' | b':' if depth == 0 => return Some(json.split_at(at)),
            b'}' | b']' => depth -= 1,
            _ => {}
        }
    }
    Some((json, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_as_written() {
        let line = r#"{"id":1.50,"params":{"name":"a \"}","arguments":{"x":[1,{"y":2}]}},"method":"m"}"#;
        assert_eq!(member(line, "id"), Some("1.50"));
        assert_eq!(at(line, &["params", "name"]).map(inside), Some(r#"a \"}"#));
        assert_eq!(at(line, &["params", "arguments", "x"]), Some(r#"[1,{"y":2}]"#));
        assert_eq!(member(line, "method"), Some("\"m\""));
        assert_eq!(member(line, "none"), None);
    }
}
