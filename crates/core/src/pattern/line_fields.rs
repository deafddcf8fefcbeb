//! Lines with the same fields: an access log, a system log, a listing, the lines of a test run.
//!
//! A line is split at white space; a time at its beginning is one field, as is text in brackets or quotes, except that
//! a quoted HTTP request line is three. Where nearly all lines have the same number of fields, each is a column. Else
//! the columns are the leading fields whose values are alike from line to line, and the rest of a line is its message:
//! the same number of words does not make the same columns.
//!
//! Fields are named after what their values are, or `c1`, `c2` and so on. What is dropped of a line is what all lines
//! of the form have in common: brackets, quotes, and a comma, semicolon or colon after a field.

mod field_name;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io;

use serde::{Deserialize, Serialize};

use super::leading_time::leading_time;
use super::{LineNotation, PatternReader, RecordContent, RecordLines};
use crate::profile::number::Number;
use crate::sample::Sample;
use crate::visible::strip_colours;

/// The fields of the lines of one text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct LineFields {
    names: Vec<String>,
    fields: Vec<FieldForm>,
    /// Whether the last column is the rest of the line.
    has_message: bool,
}

/// What the values of one field have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct FieldForm {
    enclosure: Enclosure,
    /// The punctuation after each value.
    end: Option<char>,
    /// Whether it is a program and perhaps its process: `sshd[714]:`, which are two columns.
    program: bool,
}

/// What encloses a field on its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum Enclosure {
    Plain,
    Time,
    Bracketed,
    Quoted,
}

/// The minimum number of lines with the same form.
const MIN_ALIKE_LINES: usize = 8;
/// The maximum number of leading fields that are columns only because they have few values.
const MAX_LEADING_WORDS: usize = 4;
/// The maximum number of fields of a line.
const MAX_FIELDS: usize = 16;

type Fields<'l> = Vec<(Enclosure, &'l str)>;

impl LineNotation for LineFields {
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
        reader.next_line(|_| false)
    }

    fn content<'r>(&'r self, record: &'r RecordLines) -> Option<RecordContent<'r>> {
        let names = self.names.iter().map(|name| Cow::Borrowed(name.as_str()));
        let cells = match strip_colours(record.first()) {
            Cow::Borrowed(line) => self.cells(line)?.into_iter().map(Cow::Borrowed).collect::<Vec<_>>(),
            Cow::Owned(line) => {
                self.cells(&line)?.into_iter().map(|cell| Cow::Owned(cell.to_owned())).collect()
            }
        };
        Some(RecordContent::Members(names.zip(cells).collect()))
    }

    fn has_member(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }
}

impl LineFields {
    /// Recognises the form that most lines of a sample share; `None` if they differ too much.
    pub(crate) fn of(sample: &Sample<'_>) -> Option<Self> {
        let lines: Vec<Cow<'_, str>> = sample.lines.iter().map(|line| strip_colours(line)).collect();
        let rows: Vec<Fields<'_>> = lines.iter().map(|line| split(line, MAX_FIELDS + 1).0).collect();
        if rows.len() < MIN_ALIKE_LINES {
            return None;
        }
        let usual = usual_form(&rows)?;
        let has_form =
            |row: &&Fields<'_>| row.iter().map(|(enclosure, _)| *enclosure).eq(usual.iter().copied());
        let alike: Vec<&Fields<'_>> = rows.iter().filter(has_form).collect();
        if alike.len() * 10 >= rows.len() * 9 && (0..usual.len()).all(|at| is_coherent(&alike, at)) {
            return Some(Self::new(&usual, &alike, usual.len(), false));
        }
        let leading = leading_fields(&rows);
        let led: Vec<&Fields<'_>> = rows.iter().filter(|row| row.len() > leading.len()).collect();
        if !leading.is_empty() && led.len() * 10 >= rows.len() * 9 {
            return Some(Self::new(&leading, &led, leading.len(), true));
        }
        let enough = alike.len() >= MIN_ALIKE_LINES && alike.len() * 100 >= rows.len() * 97;
        enough.then(|| Self::new(&usual, &alike, usual.len(), false))
    }

    /// Returns the columns of the first `count` fields of rows.
    fn new(form: &[Enclosure], rows: &[&Fields<'_>], count: usize, has_message: bool) -> Self {
        let mut names: Vec<String> = Vec::new();
        let mut fields = Vec::new();
        for (at, &enclosure) in form.iter().enumerate().take(count) {
            let with_form =
                rows.iter().filter(|row| row.get(at).is_some_and(|(known, _)| *known == enclosure));
            let values: Vec<&str> = with_form.map(|row| row[at].1).collect();
            let program =
                has_message && enclosure == Enclosure::Plain && values.iter().all(|value| is_program(value));
            let end =
                [',', ';', ':'].into_iter().find(|end| values.iter().all(|value| value.ends_with(*end)));
            let end = end.filter(|_| enclosure == Enclosure::Plain);
            let values: Vec<&str> = values.into_iter().map(|value| without(value, end)).collect();
            fields.push(FieldForm { enclosure, end, program });
            if program {
                names.extend(["program".to_owned(), "pid".to_owned()]);
                continue;
            }
            // A word before every value names it: `length 12`.
            let before = at.checked_sub(1).and_then(|before| constant_word(rows, before));
            // A level is a value itself.
            let before = before.filter(|word| field_name::of(&[*word]).is_empty());
            let name = match before.filter(|_| constant_word(rows, at).is_none()) {
                _ if enclosure == Enclosure::Time => "time",
                Some(word) => word,
                None => field_name::of(&values),
            };
            let base =
                names.iter().filter(|known| known.trim_end_matches(|c: char| c.is_ascii_digit()) == name);
            names.push(match (name, base.count()) {
                ("", _) => format!("c{}", at + 1),
                (name, 0) => name.to_owned(),
                (name, known) => format!("{name}{}", known + 1),
            });
        }
        // In a system log the host is between the time and the program.
        if let [time, host, program, ..] = names.as_mut_slice()
            && time == "time"
            && host == "c2"
            && program == "program"
        {
            *host = "host".to_owned();
        }
        if has_message {
            names.push("message".to_owned());
        }
        Self { names, fields, has_message }
    }

    /// Returns the cells of a line; `None` if it does not have the form.
    fn cells<'l>(&self, line: &'l str) -> Option<Vec<&'l str>> {
        let most = if self.has_message { self.fields.len() } else { MAX_FIELDS + 1 };
        let (row, rest) = split(line, most);
        let fits = row.len() == self.fields.len()
            && (self.has_message || rest.is_empty())
            && row.iter().zip(&self.fields).all(|((enclosure, cell), form)| {
                *enclosure == form.enclosure
                    && form.end.is_none_or(|end| cell.ends_with(end))
                    && (!form.program || is_program(cell))
            });
        if !fits {
            return None;
        }
        let mut cells = Vec::with_capacity(self.names.len());
        for ((_, cell), form) in row.iter().zip(&self.fields) {
            let cell = without(cell, form.end);
            match cell.strip_suffix(']').and_then(|cell| cell.split_once('[')).filter(|_| form.program) {
                Some((program, pid)) => cells.extend([program, pid]),
                None if form.program => cells.extend([cell, ""]),
                None => cells.push(cell),
            }
        }
        if self.has_message {
            cells.push(rest);
        }
        Some(cells)
    }
}

/// Returns the word that is the field of every row; `None` if the rows differ or the field is not a word.
fn constant_word<'l>(rows: &[&Fields<'l>], at: usize) -> Option<&'l str> {
    let (enclosure, word) = *rows.first()?.get(at)?;
    let is_same = |row: &&Fields<'l>| row.get(at).is_some_and(|(_, other)| *other == word);
    let name = word.trim_end_matches([':', ',', '=']);
    let is_word = enclosure == Enclosure::Plain
        && (2..=24).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    (is_word && rows.iter().all(is_same)).then_some(name)
}

/// Returns the enclosures of the fields that most rows have.
fn usual_form(rows: &[Fields<'_>]) -> Option<Vec<Enclosure>> {
    let form = |row: &Fields<'_>| row.iter().map(|(enclosure, _)| *enclosure).collect::<Vec<_>>();
    let mut forms: Vec<Vec<Enclosure>> =
        rows.iter().map(form).filter(|form| form.len() <= MAX_FIELDS).collect();
    forms.sort_unstable();
    let same = forms.chunk_by(|one, two| one == two).max_by_key(|same| (same.len(), same[0].len()))?;
    Some(same[0].clone())
}

/// What the value of a field looks like.
#[derive(PartialEq, Eq, Clone, Copy)]
enum Look {
    Number,
    /// Begins with a digit: a version, a size, a time.
    Digit,
    Path,
    Pair,
    Word,
    /// Stands for no value.
    Nothing,
}

fn look(value: &str) -> Look {
    let first = value.chars().next().unwrap_or('-');
    if matches!(value, "-" | "--" | "?" | "*" | "none" | "<none>" | "null") {
        Look::Nothing
    } else if Number::parse(value.trim_end_matches([',', ';', '%']).as_bytes()).is_some() {
        Look::Number
    } else if first.is_ascii_digit() {
        Look::Digit
    } else if value.contains('=') {
        Look::Pair
    } else if value.contains('/') {
        Look::Path
    } else {
        Look::Word
    }
}

/// Returns whether the values of a field look alike in nearly all rows, so that they are a column.
fn is_coherent(rows: &[&Fields<'_>], at: usize) -> bool {
    if rows.first().is_some_and(|row| row[at].0 != Enclosure::Plain) {
        return true;
    }
    let mut counts = [0usize; 6];
    for row in rows {
        counts[look(row[at].1) as usize] += 1;
    }
    let known = rows.len() - counts[Look::Nothing as usize];
    // A word may be a path, and a number may have letters after it.
    let alike = [
        counts[Look::Number as usize] + counts[Look::Digit as usize],
        counts[Look::Word as usize] + counts[Look::Path as usize],
        counts[Look::Pair as usize],
    ];
    alike.into_iter().max().unwrap_or(0) * 100 >= known * 97
}

/// Returns the enclosures of the leading fields whose values are alike in nearly all rows.
fn leading_fields(rows: &[Fields<'_>]) -> Vec<Enclosure> {
    let mut leading = Vec::new();
    let mut telling = false;
    let (mut words, mut numbers) = (0, 0);
    for at in 0..MAX_FIELDS {
        let values: Vec<(Enclosure, &str)> = rows.iter().filter_map(|row| row.get(at).copied()).collect();
        let enclosures = [Enclosure::Plain, Enclosure::Time, Enclosure::Bracketed, Enclosure::Quoted];
        let count = |enclosure: Enclosure| values.iter().filter(|(known, _)| *known == enclosure).count();
        let usual =
            enclosures.into_iter().max_by_key(|enclosure| count(*enclosure)).unwrap_or(Enclosure::Plain);
        if count(usual) * 20 < rows.len() * 19 {
            break;
        }
        let texts: Vec<&str> =
            values.iter().filter(|(known, _)| *known == usual).map(|(_, value)| *value).collect();
        let programs = texts.iter().all(|text| is_program(text));
        if usual != Enclosure::Plain || programs || !field_name::of(&texts).is_empty() {
            telling = true;
        } else if texts.iter().filter(|text| look(text) == Look::Number).count() * 20 >= texts.len() * 19 {
            numbers += 1;
        } else {
            // Few values, each of them often: a level, a host, an action.
            let distinct = texts.iter().collect::<BTreeSet<_>>().len();
            words += 1;
            if distinct > 32 || distinct * 4 > texts.len() || words > MAX_LEADING_WORDS {
                break;
            }
        }
        leading.push(usual);
        if programs {
            break;
        }
    }
    // Words that happen to begin the same few sentences are not columns by themselves.
    if telling || numbers > 0 && leading.len() > 2 { leading } else { Vec::new() }
}

/// Returns whether a field is the name of a program before its message: `kernel:`, `sshd[714]:`.
fn is_program(field: &str) -> bool {
    let Some(name) = field.strip_suffix(':') else { return false };
    let (name, pid) = name.strip_suffix(']').and_then(|name| name.split_once('[')).unwrap_or((name, "0"));
    name.starts_with(|c: char| c.is_alphabetic() || c == '/' || c == '(')
        && !name.contains([':', '=', '"'])
        && pid.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns a field without the punctuation that ends it.
fn without(cell: &str, end: Option<char>) -> &str {
    end.and_then(|end| cell.strip_suffix(end)).unwrap_or(cell)
}

/// Splits a line into at most `most` fields and the rest of it.
fn split(line: &str, most: usize) -> (Fields<'_>, &str) {
    let mut fields = Vec::new();
    let mut rest = line.trim();
    if let Some(end) = leading_time(rest) {
        fields.push((Enclosure::Time, &rest[..end]));
        rest = rest[end..].trim_start();
    }
    while !rest.is_empty() && fields.len() < most {
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
                    fields.extend(words.iter().map(|word| (enclosure, *word)));
                } else {
                    fields.push((enclosure, quoted.trim()));
                }
                rest = after.trim_start();
            }
            None => {
                let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
                fields.push((Enclosure::Plain, &rest[..end]));
                rest = rest[end..].trim_start();
            }
        }
    }
    (fields, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> LineFields {
        LineFields::of(&Sample::of(text)).unwrap()
    }

    #[test]
    fn an_access_log() {
        let line =
            "127.0.0.1 - - [15/Nov/2026:01:30:10 +0000] \"GET /a HTTP/1.1\" 200 9350 \"-\" \"Wget/1.21.3\"\n";
        let fields = of(&line.repeat(10));
        assert_eq!(
            fields.names,
            ["ip", "c2", "c3", "time", "method", "path", "protocol", "status", "c9", "c10", "c11"]
        );
        assert!(fields.cells(line).is_some());
        assert!(fields.cells("something else entirely").is_none());
    }

    #[test]
    fn a_system_log_has_a_message() {
        let messages = ["started", "user bob logged in", "disk is full now", "a b c d e f g", "stopped by x"];
        let lines: String = (0..20)
            .map(|n| format!("Nov 16 09:{:02}:28 host7 sshd[{}]: {}\n", n, 700 + n, messages[n % 5]))
            .collect();
        let fields = of(&lines);
        assert_eq!(fields.names, ["time", "host", "program", "pid", "message"]);
        assert_eq!(
            fields.cells("Nov 16 09:00:28 host7 kernel: x y").unwrap(),
            ["Nov 16 09:00:28", "host7", "kernel", "", "x y"]
        );
    }

    #[test]
    fn the_same_number_of_words_is_not_the_same_columns() {
        let forms =
            ["status unpacked P", "upgrade P 1.0 1.1", "startup archives unpack", "configure P 1.1 none"];
        let lines: String = (0..60)
            .map(|n| {
                format!("2025-06-24 14:36:{n:02} {}\n", forms[n % 4].replace('P', &format!("lib{n}:all")))
            })
            .collect();
        let fields = of(&lines);
        assert_eq!(fields.names, ["time", "c2", "message"]);
        assert_eq!(
            fields.cells("2025-06-24 14:36:25 upgrade a 1 2").unwrap(),
            ["2025-06-24 14:36:25", "upgrade", "a 1 2"]
        );
    }

    #[test]
    fn a_listing_whose_names_have_spaces() {
        let lines: String = (0..40)
            .map(|n| {
                format!(
                    "-rw-r--r-- 1 root root {} Jan {} 2026 file{}\n",
                    n * 7,
                    n % 28 + 1,
                    " x".repeat(n % 4)
                )
            })
            .collect();
        let fields = of(&lines);
        assert_eq!(
            fields.cells("-rw-r--r-- 1 root root 70 Jan 2 2026 a b").unwrap(),
            ["-rw-r--r--", "1", "root", "root", "70", "Jan", "2", "2026", "a b"]
        );
    }

    #[test]
    fn a_word_before_every_value_names_it() {
        let lines: String = (0..20)
            .map(|n| {
                format!("16:00:{n:02}.5 IP 10.0.0.{n} > 10.1.0.{n}, seq {n}, win 501, length {}\n", n * 7)
            })
            .collect();
        let fields = of(&lines);
        assert_eq!(fields.names, ["time", "c2", "IP", "c4", "ip", "c6", "seq", "c8", "win", "c10", "length"]);
    }

    #[test]
    fn sentences_have_no_columns() {
        let lines: String = (0..40)
            .map(|n| format!("The {} of item{}\n", ["size", "name"][n % 2], " is".repeat(n % 5)))
            .collect();
        assert!(LineFields::of(&Sample::of(&lines)).is_none());
    }

    #[test]
    fn punctuation_is_dropped_only_where_all_fields_have_it() {
        let lines: String =
            (0..9).map(|n| format!("at {n}, found {}{n}\n", if n == 5 { "x," } else { "" })).collect();
        let fields = of(&lines);
        assert_eq!(fields.cells("at 5, found x,5").unwrap(), ["at", "5", "found", "x,5"]);
        assert!(fields.cells("at 5 found 7").is_none());
        assert_eq!(fields.cells("at 5,, found 7;").unwrap(), ["at", "5,", "found", "7;"]);
    }
}
