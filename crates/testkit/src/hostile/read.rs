//! What was asked, found in the line as it stands: ids come back exactly as they were written.

/// Returns a member of the object that a text holds, as written; of several with one name the first.
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

/// Follows names downwards.
pub(super) fn at<'j>(json: &'j str, path: &[&str]) -> Option<&'j str> {
    path.iter().try_fold(json, |json, key| member(json, key))
}

/// Returns the inside of a string, still escaped.
pub(super) fn inside(text: &str) -> &str {
    text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text)
}

/// Splits off the value at the start.
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
