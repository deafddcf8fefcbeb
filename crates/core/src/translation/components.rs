//! Calendars and address books: `BEGIN:VEVENT`, lines of `NAME;PARAMETER=x:value`, `END:VEVENT`.
//!
//! A component is an object; components of one name in another are a list. A name that occurs twice in a component
//! (`ATTENDEE`) is a list as well. Parameters are dropped from names, and a line that is folded is one line.

use super::{MAX_DEPTH, MAX_JSON_BYTES};
use crate::json::string;
use crate::sample::Sample;

/// One component with its lines and the components in it.
#[derive(Default)]
struct Component {
    name: String,
    lines: Vec<(String, String)>,
    parts: Vec<Component>,
}

pub(super) fn recognise(sample: &Sample<'_>) -> bool {
    sample.trimmed().starts_with("BEGIN:") && sample.lines.iter().any(|line| line.starts_with("END:"))
}

pub(super) fn translate(text: &str) -> Option<String> {
    // Folded lines go on with a space.
    let text = text.replace("\r\n", "\n").replace("\n ", "").replace("\n\t", "");
    let mut open = vec![Component::default()];
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let (name, value) = line.split_once(':')?;
        match name {
            "BEGIN" => {
                (open.len() < MAX_DEPTH).then_some(())?;
                open.push(Component { name: value.trim().to_owned(), ..Component::default() });
            }
            "END" => {
                let closed = open.pop().filter(|closed| closed.name == value.trim())?;
                open.last_mut()?.parts.push(closed);
            }
            _ => {
                (open.len() > 1).then_some(())?;
                // A parameter may be quoted and have a colon in it.
                let colon = unquoted_colon(line)?;
                let name = line[..colon].split(';').next()?;
                let is_name = name
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_'));
                (is_name && !name.is_empty()).then_some(())?;
                let value = line[colon + 1..].replace("\\n", "\n").replace("\\,", ",").replace("\\;", ";");
                open.last_mut()?.lines.push((name.to_owned(), value.replace("\\\\", "\\")));
            }
        }
    }
    let root = open.pop().filter(|_| open.is_empty())?;
    let mut out = String::new();
    write(&root, &mut out);
    (out.len() <= MAX_JSON_BYTES && !root.parts.is_empty()).then_some(out)
}

fn unquoted_colon(line: &str) -> Option<usize> {
    let mut quoted = false;
    line.bytes().position(|byte| {
        quoted ^= byte == b'"';
        byte == b':' && !quoted
    })
}

fn write(component: &Component, out: &mut String) {
    out.push('{');
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in &component.lines {
        if names.contains(&name.as_str()) {
            continue;
        }
        names.push(name);
        let values: Vec<&String> =
            component.lines.iter().filter(|(other, _)| other == name).map(|(_, value)| value).collect();
        key(name, out);
        list(values.len() > 1, values.iter(), out, |value, out| string::write(value, out));
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in &component.parts {
        if parts.contains(&part.name.as_str()) {
            continue;
        }
        parts.push(&part.name);
        let same: Vec<&Component> = component.parts.iter().filter(|other| other.name == part.name).collect();
        let taken = names.contains(&part.name.as_str());
        key(&if taken { format!("{}_parts", part.name) } else { part.name.clone() }, out);
        list(same.len() > 1, same.iter(), out, |part, out| write(part, out));
    }
    out.push('}');
}

fn key(name: &str, out: &mut String) {
    if !out.ends_with('{') {
        out.push(',');
    }
    string::write(name, out);
    out.push(':');
}

/// Writes values, as a list if there are several.
fn list<T>(several: bool, values: impl Iterator<Item = T>, out: &mut String, write: impl Fn(T, &mut String)) {
    out.push_str(if several { "[" } else { "" });
    for (at, value) in values.enumerate() {
        if at > 0 {
            out.push(',');
        }
        write(value, out);
    }
    out.push_str(if several { "]" } else { "" });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_calendar_is_read_as_nested_components() {
        let text = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nBEGIN:VEVENT\r\nSUMMARY;LANGUAGE=en:A long\r\n  one\\, here\r\nATTENDEE;CN=\"x:y\":mailto:a@b\r\nATTENDEE:mailto:c@d\r\nEND:VEVENT\r\nBEGIN:VEVENT\r\nSUMMARY:Two\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n";
        assert_eq!(
            translate(text).unwrap(),
            r#"{"VCALENDAR":{"VERSION":"2.0","VEVENT":[{"SUMMARY":"A long one, here","ATTENDEE":["mailto:a@b","mailto:c@d"]},{"SUMMARY":"Two"}]}}"#
        );
        for text in ["BEGIN:A\nx\nEND:A\n", "BEGIN:A\nB:1\n", "BEGIN:A\nEND:B\n", "A:1\nBEGIN:A\nEND:A\n"] {
            assert_eq!(translate(text), None, "{text}");
        }
    }
}
