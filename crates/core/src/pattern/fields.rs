//! Lines with the same fields: an access log, a listing, the lines of a test run.
//!
//! A line is cut at white space; what stands in brackets is one field, and so is what stands in quotes, unless it
//! is a request line. Fields are named by what they are where that can be told.

use serde::{Deserialize, Serialize};

use crate::csv::{feed_cell, json_object};
use crate::json::value::Value;
use crate::pattern::{Raw, object_value, string_value};
use crate::profile::{Builder, number::Number, time};
use crate::visible::strip_colours;

/// The fields of the lines of one text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Fields {
    names: Vec<String>,
    /// How each field stands on the line.
    form: Form,
}

/// What the lines have in common.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Form {
    /// How each field stands on the line.
    Stands(Vec<Stand>),
    /// As many words as a first line of names has; the last field takes the rest of the line.
    UnderNames,
}

/// How a field stands on a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum Stand {
    Plain,
    Bracketed,
    Quoted,
}

/// The fewest lines of the same form, and the most fields.
const LEAST: usize = 8;
const MOST_FIELDS: usize = 16;

impl Fields {
    /// Recognises the form that most lines of a sample share; `None` where they are too different.
    pub(crate) fn recognise(head: &str, whole: bool) -> Option<Self> {
        let mut lines: Vec<&str> = head.lines().filter(|line| !line.trim().is_empty()).collect();
        if !whole {
            lines.pop();
        }
        if let Some(fields) = Self::under_names(&lines) {
            return Some(fields);
        }
        let rows: Vec<Vec<(Stand, String)>> = lines.iter().map(|line| split(line)).collect();
        let form = |row: &[(Stand, String)]| row.iter().map(|(stand, _)| *stand).collect::<Vec<_>>();
        let mut forms: Vec<Vec<Stand>> =
            rows.iter().map(|row| form(row)).filter(|form| form.len() <= MOST_FIELDS).collect();
        forms.sort_unstable();
        let most =
            forms.chunk_by(|one, two| one == two).max_by_key(|same| (same.len(), same[0].len()))?[0].clone();
        let alike: Vec<&Vec<(Stand, String)>> = rows.iter().filter(|row| form(row) == most).collect();
        if alike.len() < LEAST || alike.len() * 2 < rows.len() {
            return None;
        }
        let mut names: Vec<String> = Vec::new();
        for field in 0..most.len() {
            let values: Vec<&str> = alike.iter().map(|row| row[field].1.as_str()).collect();
            let name = name(&values);
            let known = names
                .iter()
                .filter(|known| known.trim_end_matches(|c: char| c.is_ascii_digit()) == name)
                .count();
            names.push(match (name, known) {
                ("", _) => format!("c{}", field + 1),
                (name, 0) => name.to_owned(),
                (name, known) => format!("{name}{}", known + 1),
            });
        }
        Some(Self { names, form: Form::Stands(most) })
    }

    /// Recognises columns under a first line of names, as `ps`, `df` or `kubectl get` print them.
    fn under_names(lines: &[&str]) -> Option<Self> {
        let (first, rest) = lines.split_first()?;
        let names: Vec<String> = first.split_whitespace().map(str::to_owned).collect();
        let named = |name: &String| {
            let bare = name.trim_matches(['%', '#', '(', ')', ':']);
            !bare.is_empty()
                && bare
                    .bytes()
                    .all(|byte| byte.is_ascii_uppercase() || matches!(byte, b'-' | b'_' | b'/' | b'(' | b')'))
        };
        let distinct = names.iter().enumerate().all(|(at, name)| !names[..at].contains(name));
        let full = rest.iter().filter(|line| line.split_whitespace().count() >= names.len()).count();
        let fits = (3..=MOST_FIELDS).contains(&names.len()) && names.iter().all(named) && distinct;
        (fits && rest.len() >= 3 && full * 10 >= rest.len() * 9)
            .then_some(Self { names, form: Form::UnderNames })
    }

    /// The fields of a line that has the form.
    fn cells(&self, line: &str) -> Option<Vec<String>> {
        match &self.form {
            Form::Stands(form) => {
                let row = split(line);
                let alike =
                    row.len() == form.len() && row.iter().zip(form).all(|((stand, _), form)| stand == form);
                alike.then(|| row.into_iter().map(|(_, cell)| cell).collect())
            }
            Form::UnderNames => {
                let mut cells = Vec::new();
                let mut rest = line.trim();
                while cells.len() + 1 < self.names.len() {
                    let (cell, after) = rest.split_once(char::is_whitespace)?;
                    cells.push(cell.to_owned());
                    rest = after.trim_start();
                }
                cells.push(rest.to_owned());
                (!rest.is_empty() && cells != self.names).then_some(cells)
            }
        }
    }

    /// Whether a line has the form.
    pub(crate) fn matches(&self, line: &str) -> bool {
        self.cells(line).is_some()
    }

    pub(super) fn feed(&self, raw: &Raw, at: u64, builder: &mut Builder) {
        let cells = self.cells(raw.lines.first().map_or("", String::as_str)).unwrap_or_default();
        builder.open(true, at);
        for (name, cell) in self.names.iter().zip(&cells) {
            feed_cell(builder, name, cell, at);
        }
        builder.close(at + raw.bytes);
    }

    pub(super) fn json(&self, raw: &Raw) -> String {
        let cells = self.cells(raw.lines.first().map_or("", String::as_str)).unwrap_or_default();
        json_object(self.names.iter().zip(&cells).map(|(name, cell)| (name.as_str(), cell.as_str())))
    }

    pub(super) fn object(&self, raw: &Raw) -> Value {
        let cells = self.cells(raw.lines.first().map_or("", String::as_str)).unwrap_or_default();
        let members = self.names.iter().zip(cells);
        object_value(members.map(|(name, cell)| (name.as_str().into(), string_value(&cell))).collect())
    }
}

/// Cuts a line into its fields.
fn split(line: &str) -> Vec<(Stand, String)> {
    let line = strip_colours(line);
    let mut fields = Vec::new();
    let mut rest = line.trim();
    while !rest.is_empty() && fields.len() <= MOST_FIELDS {
        let close = match rest.as_bytes()[0] {
            b'[' => Some((']', Stand::Bracketed)),
            b'"' => Some(('"', Stand::Quoted)),
            _ => None,
        };
        let inside = close.and_then(|(close, stand)| {
            rest[1..].find(close).map(|end| (stand, &rest[1..=end], &rest[end + 2..]))
        });
        match inside {
            Some((stand, quoted, after)) => {
                let words: Vec<&str> = quoted.split_whitespace().collect();
                if words.len() == 3 && words[2].starts_with("HTTP/") {
                    fields.extend(words.iter().map(|word| (stand, (*word).to_owned())));
                } else {
                    fields.push((stand, quoted.trim().to_owned()));
                }
                rest = after.trim_start();
            }
            None => {
                let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
                fields.push((Stand::Plain, rest[..end].trim_end_matches([',', ';']).to_owned()));
                rest = rest[end..].trim_start();
            }
        }
    }
    fields
}

/// What a field is, from its values.
fn name(values: &[&str]) -> &'static str {
    let all = |is: &dyn Fn(&str) -> bool| values.iter().all(|value| is(value));
    let number = |value: &str| Number::parse(value.as_bytes());
    if all(&|value| ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "CONNECT"].contains(&value))
    {
        return "method";
    }
    if all(&|value| value.starts_with("HTTP/")) {
        return "protocol";
    }
    if all(&|value| value.len() == 3 && number(value).is_some_and(|n| (100.0..600.0).contains(&n.value))) {
        return "status";
    }
    if all(&|value| value.split('.').count() == 4 && value.split('.').all(|part| part.parse::<u8>().is_ok()))
    {
        return "ip";
    }
    if all(&|value| time::parse(value.as_bytes()).is_some()) {
        return "time";
    }
    if all(&|value| {
        ["ERROR", "WARN", "WARNING", "INFO", "DEBUG", "TRACE", "FATAL", "CRITICAL", "NOTICE"]
            .contains(&value.trim_matches([':', '[', ']']).to_uppercase().as_str())
    }) {
        return "level";
    }
    if all(&|value| value.starts_with('/') || value.starts_with("./"))
        && values.iter().any(|value| value.len() > 1)
    {
        return "path";
    }
    if all(&|value| value.contains("::")) {
        return "test";
    }
    if all(&|value| value.starts_with("http://") || value.starts_with("https://") || value == "-")
        && values.iter().any(|value| value.len() > 1)
    {
        return "url";
    }
    ""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_access_log() {
        let line =
            "127.0.0.1 - - [15/Nov/2026:01:30:10 +0000] \"GET /a HTTP/1.1\" 200 9350 \"-\" \"Wget/1.21.3\"\n";
        let fields = Fields::recognise(&line.repeat(10), true).unwrap();
        assert_eq!(
            fields.names,
            ["ip", "c2", "c3", "time", "method", "path", "protocol", "status", "c9", "c10", "c11"]
        );
        assert!(fields.matches(line));
        assert!(!fields.matches("something else entirely"));
    }

    #[test]
    fn columns_under_names() {
        let listing = "USER PID %CPU COMMAND\nroot 1 0.0 /sbin/init splash\nroot 2 0.1 [kthreadd]\nbob 77 9.0 vi a b c\n";
        let fields = Fields::recognise(listing, true).unwrap();
        assert_eq!(fields.cells("bob 77 9.0 vi a b c").unwrap(), ["bob", "77", "9.0", "vi a b c"]);
        assert!(!fields.matches("USER PID %CPU COMMAND"));
    }
}
