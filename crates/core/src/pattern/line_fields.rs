//! Lines with the same fields: an access log, a listing, the lines of a test run.
//!
//! A line is split at white space; text in brackets or quotes is one field, except that a quoted HTTP request line is
//! three. Fields are named after what their values are, or `c1`, `c2` and so on. What is dropped of a line is what all
//! lines of the form have in common: brackets, quotes, and a comma or semicolon after a field.

use std::borrow::Cow;
use std::io;

use serde::{Deserialize, Serialize};

use super::{LineNotation, PatternReader, RecordContent, RecordLines};
use crate::profile::{number::Number, time};
use crate::sample::Sample;
use crate::visible::strip_colours;

/// The fields of the lines of one text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct LineFields {
    names: Vec<String>,
    form: LineForm,
}

/// What the lines have in common.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum LineForm {
    /// The same enclosures in the same order, and the punctuation that ends each field.
    Enclosed(Vec<(Enclosure, Option<char>)>),
    /// As many words as the header line has names; the last field takes the rest of the line.
    UnderHeader,
}

/// What encloses a field on its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum Enclosure {
    Plain,
    Bracketed,
    Quoted,
}

/// The minimum number of lines with the same form.
const MIN_ALIKE_LINES: usize = 8;
/// The maximum number of fields of a line.
const MAX_FIELDS: usize = 16;

impl LineNotation for LineFields {
    /// Recognises the form that most lines of a sample share; `None` if they differ too much.
    fn recognise(sample: &Sample<'_>) -> Option<Self> {
        Self::of(sample)
    }

    fn name(&self) -> &'static str {
        "log"
    }

    fn noun(&self) -> &'static str {
        "line"
    }

    fn next(&self, reader: &mut PatternReader<'_>) -> io::Result<Option<(u64, RecordLines)>> {
        reader.next_line(|line| self.is_header(line))
    }

    fn content<'r>(&'r self, record: &'r RecordLines) -> Option<RecordContent<'r>> {
        let names = self.names.iter().map(|name| Cow::Borrowed(name.as_str()));
        let cells = self.cells(record.first())?.into_iter().map(Cow::Owned);
        Some(RecordContent::Members(names.zip(cells).collect()))
    }

    fn has_member(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }
}

impl LineFields {
    /// Recognises the form that most lines of a sample share; `None` if they differ too much.
    pub(crate) fn of(sample: &Sample<'_>) -> Option<Self> {
        if let Some(fields) = Self::under_header(&sample.lines) {
            return Some(fields);
        }
        let rows: Vec<Vec<(Enclosure, String)>> = sample.lines.iter().map(|line| split(line)).collect();
        let form =
            |row: &[(Enclosure, String)]| row.iter().map(|(enclosure, _)| *enclosure).collect::<Vec<_>>();
        let mut forms: Vec<Vec<Enclosure>> =
            rows.iter().map(|row| form(row)).filter(|form| form.len() <= MAX_FIELDS).collect();
        forms.sort_unstable();
        let usual =
            forms.chunk_by(|one, two| one == two).max_by_key(|same| (same.len(), same[0].len()))?[0].clone();
        let alike: Vec<&Vec<(Enclosure, String)>> = rows.iter().filter(|row| form(row) == usual).collect();
        if alike.len() < MIN_ALIKE_LINES || alike.len() * 2 < rows.len() {
            return None;
        }
        let mut names: Vec<String> = Vec::new();
        let mut form = Vec::new();
        for (field, enclosure) in usual.into_iter().enumerate() {
            let values: Vec<&str> = alike.iter().map(|row| row[field].1.as_str()).collect();
            let end = [',', ';'].into_iter().find(|end| values.iter().all(|value| value.ends_with(*end)));
            let end = end.filter(|_| enclosure == Enclosure::Plain);
            form.push((enclosure, end));
            let values: Vec<&str> = values.into_iter().map(|value| without(value, end)).collect();
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
        Some(Self { names, form: LineForm::Enclosed(form) })
    }

    /// Recognises columns under a header line, as `ps`, `df` or `kubectl get` print them.
    fn under_header(lines: &[&str]) -> Option<Self> {
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
        let fits = (3..=MAX_FIELDS).contains(&names.len()) && names.iter().all(named) && distinct;
        (fits && rest.len() >= 3 && full * 10 >= rest.len() * 9)
            .then_some(Self { names, form: LineForm::UnderHeader })
    }

    /// Returns the fields of a line; `None` if it does not have the form.
    fn cells(&self, line: &str) -> Option<Vec<String>> {
        match &self.form {
            LineForm::Enclosed(form) => {
                let row = split(line);
                let alike = row.len() == form.len()
                    && row.iter().zip(form).all(|((enclosure, cell), (known, end))| {
                        enclosure == known && end.is_none_or(|end| cell.ends_with(end))
                    });
                let cells = row.into_iter().zip(form);
                alike.then(|| cells.map(|((_, cell), (_, end))| without(&cell, *end).to_owned()).collect())
            }
            LineForm::UnderHeader => {
                let mut cells = Vec::new();
                let mut rest = line.trim();
                while cells.len() + 1 < self.names.len() {
                    let (cell, after) = rest.split_once(char::is_whitespace)?;
                    cells.push(cell.to_owned());
                    rest = after.trim_start();
                }
                cells.push(rest.to_owned());
                (!rest.is_empty()).then_some(cells)
            }
        }
    }

    /// Returns whether a line repeats the header line, whose names are those of the fields.
    fn is_header(&self, line: &str) -> bool {
        self.form == LineForm::UnderHeader
            && line.split_whitespace().eq(self.names.iter().map(String::as_str))
    }
}

/// Returns a field without the punctuation that ends it.
fn without(cell: &str, end: Option<char>) -> &str {
    end.and_then(|end| cell.strip_suffix(end)).unwrap_or(cell)
}

/// Splits a line into its fields.
fn split(line: &str) -> Vec<(Enclosure, String)> {
    let line = strip_colours(line);
    let mut fields = Vec::new();
    let mut rest = line.trim();
    while !rest.is_empty() && fields.len() <= MAX_FIELDS {
        let close = match rest.as_bytes()[0] {
            b'[' => Some((']', Enclosure::Bracketed)),
            b'"' => Some(('"', Enclosure::Quoted)),
            _ => None,
        };
        let inside = close.and_then(|(close, enclosure)| {
            rest[1..].find(close).map(|end| (enclosure, &rest[1..=end], &rest[end + 2..]))
        });
        match inside {
            Some((enclosure, quoted, after)) => {
                let words: Vec<&str> = quoted.split_whitespace().collect();
                if words.len() == 3 && words[2].starts_with("HTTP/") {
                    fields.extend(words.iter().map(|word| (enclosure, (*word).to_owned())));
                } else {
                    fields.push((enclosure, quoted.trim().to_owned()));
                }
                rest = after.trim_start();
            }
            None => {
                let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
                fields.push((Enclosure::Plain, rest[..end].to_owned()));
                rest = rest[end..].trim_start();
            }
        }
    }
    fields
}

/// Returns the name of a field, judged by its values; empty if they show nothing.
fn name(values: &[&str]) -> &'static str {
    let all = |is: &dyn Fn(&str) -> bool| values.iter().all(|value| is(value));
    let number = |value: &str| Number::parse(value.as_bytes()).map(|number| number.value);
    if all(&|value| ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "CONNECT"].contains(&value))
    {
        return "method";
    }
    if all(&|value| value.starts_with("HTTP/")) {
        return "protocol";
    }
    if all(&|value| value.len() == 3 && number(value).is_some_and(|n| (100.0..600.0).contains(&n))) {
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
        let fields = LineFields::of(&Sample::of(&line.repeat(10))).unwrap();
        assert_eq!(
            fields.names,
            ["ip", "c2", "c3", "time", "method", "path", "protocol", "status", "c9", "c10", "c11"]
        );
        assert!(fields.cells(line).is_some());
        assert!(fields.cells("something else entirely").is_none());
    }

    #[test]
    fn columns_under_a_header() {
        let listing = "USER PID %CPU COMMAND\nroot 1 0.0 /sbin/init splash\nroot 2 0.1 [kthreadd]\nbob 77 9.0 vi a b c\n";
        let fields = LineFields::of(&Sample::of(listing)).unwrap();
        assert_eq!(fields.cells("bob 77 9.0 vi a b c").unwrap(), ["bob", "77", "9.0", "vi a b c"]);
        assert!(fields.is_header("USER  PID %CPU COMMAND") && !fields.is_header("USER PID"));
    }

    #[test]
    fn punctuation_is_dropped_only_where_all_fields_have_it() {
        let lines: String =
            (0..9).map(|n| format!("at {n}, found {}{n}\n", if n == 5 { "x," } else { "" })).collect();
        let fields = LineFields::of(&Sample::of(&lines)).unwrap();
        assert_eq!(fields.cells("at 5, found x,5").unwrap(), ["at", "5", "found", "x,5"]);
        assert!(fields.cells("at 5 found 7").is_none());
        assert_eq!(fields.cells("at 5,, found 7;").unwrap(), ["at", "5,", "found", "7;"]);
    }
}
