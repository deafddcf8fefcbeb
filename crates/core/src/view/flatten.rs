//! A record as a flat list of its scalars with their paths: the columns of a table, and the values that grep searches.

use crate::json::value::read_text;
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
/// to `depth` levels; for a record that is no object, with the empty path.
///
/// Broken JSON is visited up to the break.
pub fn flatten(json: &str, depth: usize, visit: &mut dyn FnMut(&str, Scalar<'_>)) {
    walk(json, "", depth, visit).unwrap_or_default();
}

/// Calls `visit` for every scalar of a record with its path, also for those in lists: `labels[0]`.
pub fn scalars(json: &str, visit: &mut dyn FnMut(&str, &str)) {
    each_scalar(json, visit).unwrap_or_default();
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
            Event::Key(token) => visible::key(&read_text(&token, usize::MAX).text),
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

fn each_scalar(json: &str, visit: &mut dyn FnMut(&str, &str)) -> Result<(), ScanError> {
    let source = json.as_bytes();
    let text = Text::plain(&source, Span::whole(&source));
    let mut scanner = Scanner::new(&text, Dialect::Json);
    scanner.keep_strings(usize::MAX);
    // One entry per open container: the length of its path, and the next position of a list.
    let mut open: Vec<(usize, Option<u64>)> = Vec::new();
    let mut path = String::new();
    loop {
        // The path of a list element is known before its value is.
        let event = scanner.next()?;
        if let (Some((length, Some(position))), true) = (open.last_mut(), is_value(&event)) {
            path.truncate(*length);
            path.push_str(&format!("[{position}]"));
            *position += 1;
        }
        match event {
            Event::StartObject => open.push((path.len(), None)),
            Event::StartArray => open.push((path.len(), Some(0))),
            Event::EndObject | Event::EndArray => {
                open.pop();
                if open.is_empty() {
                    return Ok(());
                }
            }
            Event::Key(token) => {
                let length = open.last().map_or(0, |(length, _)| *length);
                path.truncate(length);
                if length > 0 {
                    path.push('.');
                }
                path.push_str(&visible::key(&read_text(&token, usize::MAX).text));
            }
            Event::String(token) => visit(&path, &string::decode_text(token.raw)),
            Event::Number(raw) => visit(&path, &String::from_utf8_lossy(raw)),
            Event::Bool(value) => visit(&path, if value { "true" } else { "false" }),
            Event::Null => {}
            Event::End => return Ok(()),
        }
        if open.is_empty() {
            return Ok(());
        }
    }
}

fn is_value(event: &Event<'_>) -> bool {
    !matches!(event, Event::Key(_) | Event::EndObject | Event::EndArray | Event::End)
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
    fn every_scalar_with_its_place() {
        let mut found = Vec::new();
        let json = r#"{"a":[1,{"b":"x"},[true]],"c":{"d":"y"}}"#;
        scalars(json, &mut |path, text| found.push(format!("{path}={text}")));
        assert_eq!(found, ["a[0]=1", "a[1].b=x", "a[2][0]=true", "c.d=y"]);
    }
}
