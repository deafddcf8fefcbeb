//! A record as a flat list of its members with their paths: the columns of a table.

use crate::json::{Dialect, Event, ScanError, Scanner, compact, string};
use crate::source::Span;
use crate::text::Text;
use crate::visible;

/// One value of a record.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scalar<'s> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number as written.
    Number(&'s str),
    /// A string, decoded.
    Text(&'s str),
    /// A list or an object, as JSON.
    Json(&'s str),
}

/// Calls `visit` for the members of a record with their dotted paths: for objects both as JSON and for their members, down
/// to `depth` levels; for a record that is not an object, with the empty path.
///
/// Broken JSON is visited up to the break.
pub fn flatten(json: &str, depth: usize, visit: &mut dyn FnMut(&str, Scalar<'_>)) {
    walk(json, "", depth, visit).unwrap_or_default();
}

/// Returns JSON with hidden characters written as escapes; everything else stays as it is.
pub fn visible_json(json: &str) -> String {
    if !json.chars().any(visible::is_hidden) {
        return json.to_owned();
    }
    let mut out = String::with_capacity(json.len() + 16);
    for character in json.chars() {
        if visible::is_hidden(character) {
            string::push_escape(character, &mut out);
        } else {
            out.push(character);
        }
    }
    out
}

/// Returns a text with hidden characters written as `\u{202e}`, and without color codes.
pub fn visible_text(text: &str) -> String {
    visible::text(text)
}

fn walk(
    json: &str,
    path: &str,
    depth: usize,
    visit: &mut dyn FnMut(&str, Scalar<'_>),
) -> Result<(), ScanError> {
    let source = json.as_bytes();
    let text = Text::plain(&source, Span::whole(&source));
    let mut scanner = Scanner::new(&text, Dialect::Json);
    scanner.keep_strings(usize::MAX);
    let at_top = path.is_empty();
    match scanner.next()? {
        Event::StartObject if depth > 0 || at_top => {}
        _ => return visit_value(path, json, visit),
    }
    loop {
        let name = match scanner.next()? {
            Event::Key(token) => visible::key(&string::decode_text(token.raw)),
            _ => return Ok(()),
        };
        let path = if at_top { name } else { format!("{path}.{name}") };
        let value = compact::value(&mut scanner, Dialect::Json, usize::MAX)?.text;
        visit_value(&path, &value, visit)?;
        if value.starts_with('{') && depth > 1 {
            walk(&value, &path, depth - 1, visit)?;
        }
    }
}

fn visit_value(path: &str, json: &str, visit: &mut dyn FnMut(&str, Scalar<'_>)) -> Result<(), ScanError> {
    match json.as_bytes().first() {
        Some(b'"') => {
            let inside = json.get(1..json.len() - 1).unwrap_or_default();
            visit(path, Scalar::Text(&string::decode_text(inside.as_bytes())));
        }
        Some(b'{' | b'[') => visit(path, Scalar::Json(json)),
        Some(b't') => visit(path, Scalar::Bool(true)),
        Some(b'f') => visit(path, Scalar::Bool(false)),
        Some(b'n') => visit(path, Scalar::Null),
        Some(_) => visit(path, Scalar::Number(json)),
        None => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_with_dotted_paths() {
        let mut found = Vec::new();
        let json = r#"{"id":1.0,"a":{"b":{"c":"x\ny"},"d":null},"l":[1,{"e":true}],"x.y":false}"#;
        flatten(json, 3, &mut |path, scalar| found.push(format!("{path} {scalar:?}")));
        assert_eq!(
            found,
            [
                "id Number(\"1.0\")",
                "a Json(\"{\\\"b\\\":{\\\"c\\\":\\\"x\\\\ny\\\"},\\\"d\\\":null}\")",
                "a.b Json(\"{\\\"c\\\":\\\"x\\\\ny\\\"}\")",
                "a.b.c Text(\"x\\ny\")",
                "a.d Null",
                "l Json(\"[1,{\\\"e\\\":true}]\")",
                "\"x.y\" Bool(false)",
            ]
        );
        let mut alone = Vec::new();
        flatten("18446744073709551617", 3, &mut |path, scalar| alone.push(format!("{path}{scalar:?}")));
        assert_eq!(alone, ["Number(\"18446744073709551617\")"]);
    }

    #[test]
    fn different_keys_have_different_paths() {
        let long = "k".repeat(5000);
        let json =
            format!(r#"{{"a\nb":1,"a\tb":2,"{long}1":3,"{long}2":4,"":5,"a\\u202eb":6,"a\u202eb":7}}"#);
        let mut paths = std::collections::BTreeSet::new();
        flatten(&json, 1, &mut |path, _| assert!(paths.insert(path.to_owned()), "{path}"));
        assert_eq!(paths.len(), 7);
    }
}
