//! Gathers the messages of compilers and linters: counts by severity, code and file, each message once with its places.
//!
//! A message names a place and a severity or a code. Tools differ in where the place is: before the message
//! (`a.c:3:1: error: ...`, `a.ts(3,1): error TS1: ...`, `a.py:3:1: E501 ...`), on the next line (`--> src/a.rs:3:1`), or
//! under a line with the file (`3:1  error  ...  rule`).

use std::cmp::Reverse;

use super::place;
use crate::hash;
use crate::profile::value_counts::ValueCounts;
use crate::shape::draft::Draft;
use crate::shape::word_counts::WordCounts;
use crate::{visible, write};

/// The messages of a compiler or a linter.
#[derive(Debug, Default)]
pub(crate) struct Diagnostics {
    severities: ValueCounts,
    codes: ValueCounts,
    files: ValueCounts,
    messages: Vec<Message>,
    total: u64,
    /// A message whose place may follow.
    open: Option<Found>,
    /// The file that stood alone on a line: the places of what follows have no path.
    file: Option<String>,
}

/// A message that occurs, perhaps in several places.
#[derive(Debug)]
struct Message {
    hash: u64,
    severity: Severity,
    text: String,
    count: u64,
    line: u64,
    places: Vec<String>,
}

/// A message as found in one line.
#[derive(Debug, Clone)]
struct Found {
    severity: Severity,
    code: String,
    text: String,
    line: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Severity {
    Error,
    Warning,
    Note,
}

const SEVERITY_WORDS: &[(&str, Severity)] = &[
    ("fatal error", Severity::Error),
    ("fatal", Severity::Error),
    ("error", Severity::Error),
    ("warning", Severity::Warning),
    ("warn", Severity::Warning),
    ("note", Severity::Note),
    ("info", Severity::Note),
    ("hint", Severity::Note),
    ("style", Severity::Note),
    ("convention", Severity::Note),
    ("refactor", Severity::Note),
    ("performance", Severity::Note),
    ("portability", Severity::Note),
];

const MAX_MESSAGES: usize = 512;
const MAX_PLACES: usize = 4;
const MAX_COUNTED_VALUES: usize = 20_000;

impl Severity {
    fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

impl Diagnostics {
    /// Reads a line without colours; returns whether it is part of a message.
    pub(crate) fn add(&mut self, number: u64, line: &str) -> bool {
        let trimmed = line.trim();
        if let Some(rest) = trimmed.strip_prefix("--> ") {
            let Some(found) = self.open.take() else { return false };
            let Some(place) = place::find(rest) else { return false };
            self.push(found, place.path, place.line);
            return true;
        }
        if let Some(found) = self.located(number, trimmed) {
            let (found, path, line) = found;
            self.push(found, &path, line);
            return true;
        }
        if line.starts_with([' ', '\t']) {
            return false;
        }
        if trimmed.is_empty() {
            return false;
        }
        self.file = is_file_alone(trimmed).then(|| trimmed.to_owned());
        self.open = found(trimmed, number).filter(|found| !found.text.is_empty());
        // An error without a code may be one without a place, such as that the build failed.
        self.open.as_ref().is_some_and(|open| open.severity != Severity::Error || !open.code.is_empty())
    }

    /// Returns whether a line is a message with its place, or the place of a message.
    pub(crate) fn is_message(line: &str) -> bool {
        let line = line.trim();
        line.starts_with("--> ") || Self::default().located(1, line).is_some()
    }

    /// Returns whether the text has messages of a compiler.
    pub(crate) fn is_found(&self) -> bool {
        self.total > 0
    }

    /// Reads a message that has its place on the same line.
    fn located(&self, number: u64, line: &str) -> Option<(Found, String, u64)> {
        let (prefix, rest) = prefixed(line);
        if let Some(place) = place::leading(rest) {
            let after = rest[place.end..].trim_start_matches([':', ' ', '-']);
            let found = found(after, number).or_else(|| {
                prefix.map(|severity| Found {
                    severity,
                    code: String::new(),
                    text: after.to_owned(),
                    line: number,
                })
            })?;
            return Some((found, place.path.to_owned(), place.line));
        }
        // `12:5  error  message  rule` under the name of the file
        let file = self.file.as_ref()?;
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let column = rest[digits..].strip_prefix(':')?;
        let after = column.trim_start_matches(|c: char| c.is_ascii_digit());
        let mut found =
            found(after.trim_start(), number).filter(|_| digits > 0 && after.len() < column.len())?;
        if let Some((text, rule)) = found.text.rsplit_once("  ") {
            (found.code, found.text) = (rule.trim().to_owned(), text.trim().to_owned());
        }
        Some((found, file.clone(), rest[..digits].parse().ok()?))
    }

    fn push(&mut self, found: Found, path: &str, line: u64) {
        let mut capacity = MAX_COUNTED_VALUES;
        self.total += 1;
        self.severities.add(found.severity.name().as_bytes(), found.line, &mut capacity);
        self.files.add(path.as_bytes(), found.line, &mut capacity);
        if !found.code.is_empty() {
            self.codes.add(found.code.as_bytes(), found.line, &mut capacity);
        }
        let text = if found.code.is_empty() { found.text } else { format!("{}: {}", found.code, found.text) };
        let hash = hash::mix(hash::bytes(text.as_bytes()) ^ found.severity as u64);
        let place = format!("{path}:{line}");
        if let Some(known) = self.messages.iter_mut().find(|known| known.hash == hash) {
            known.count += 1;
            if known.places.len() < MAX_PLACES {
                known.places.push(place);
            }
        } else if self.messages.len() < MAX_MESSAGES {
            let text = visible::cut(&text, 200);
            self.messages.push(Message {
                hash,
                severity: found.severity,
                text,
                count: 1,
                line: found.line,
                places: vec![place],
            });
        }
    }

    /// Writes the counts and the messages, errors first; returns what was written.
    pub(crate) fn write(&self, draft: &mut Draft<'_>, section: usize) -> Option<&'static str> {
        let all = draft.writer.left();
        let writer = &mut draft.writer;
        if !WordCounts::write(&self.severities, 1, 8, "messages by severity", writer, section) {
            return None;
        }
        writer.within(all / 6, |writer| WordCounts::write(&self.codes, 1, 12, "codes", writer, section));
        writer.within(all / 5, |writer| WordCounts::write(&self.files, 1, 12, "by file", writer, section));
        let mut messages: Vec<&Message> = self.messages.iter().collect();
        messages.sort_by_key(|message| (message.severity, Reverse(message.count), message.line));
        if !writer.push(section + 1, "messages:") {
            return Some("messages");
        }
        let mut shown = 0;
        for message in &messages {
            if writer.push(section + 1, message.written()) {
                shown += 1;
                draft.lines.insert(message.line);
            }
        }
        let count = match (shown == messages.len(), messages.len() == MAX_MESSAGES) {
            (true, false) => format!("all {shown}"),
            (_, capped) => format!("{shown} of {}{}", if capped { "the first " } else { "" }, messages.len()),
        };
        match shown {
            0 => writer.pop(section + 1),
            _ => writer.replace_first(section + 1, format!("messages, {count} different ones:")),
        }
        Some("messages")
    }
}

impl Message {
    fn written(&self) -> String {
        let times = if self.count > 1 { format!(", {} times:", self.count) } else { String::new() };
        let more = match self.count - self.places.len() as u64 {
            0 => String::new(),
            more => format!(" +{} more", write::grouped(more)),
        };
        format!(
            "L{}{times} {} {} ({}{more})",
            self.line,
            self.severity.name(),
            self.text,
            self.places.join(", ")
        )
    }
}

/// Splits a severity before the place: `[ERROR] a.java:[1,2] ...`, `w: a.kt:1:2 ...`.
fn prefixed(line: &str) -> (Option<Severity>, &str) {
    let prefixes = [
        ("[ERROR] ", Severity::Error),
        ("[WARNING] ", Severity::Warning),
        ("e: ", Severity::Error),
        ("w: ", Severity::Warning),
    ];
    match prefixes
        .iter()
        .find_map(|(prefix, severity)| line.strip_prefix(prefix).map(|rest| (*severity, rest)))
    {
        Some((severity, rest)) => (Some(severity), rest.trim_start_matches("file://")),
        None => (None, line),
    }
}

/// Reads `error[E0282]: text`, `warning: text [-Wunused]`, `error TS1: text`, `E501 text`, `C0114: text (rule)`.
fn found(text: &str, line: u64) -> Option<Found> {
    let lower = text.get(..16).unwrap_or(text).to_ascii_lowercase();
    let word = SEVERITY_WORDS.iter().find(|(word, _)| {
        lower.strip_prefix(word).is_some_and(|after| after.starts_with([':', '[', ' ', '(']))
    });
    let (severity, rest) = match word {
        // A sentence may begin with such a word.
        Some((word, severity)) if is_written_as_severity(text, word) => {
            (Some(*severity), text[word.len()..].trim_start())
        }
        _ => (None, text),
    };
    let (mut code, rest) = leading_code(rest);
    let severity = match (severity, code.bytes().next()) {
        (Some(severity), _) => severity,
        (None, Some(b'E' | b'F')) => Severity::Error,
        (None, Some(b'N' | b'I')) => Severity::Note,
        (None, Some(_)) => Severity::Warning,
        (None, None) => return None,
    };
    let mut rest = rest.trim_start_matches([':', ' ']).trim_end();
    if code.is_empty()
        && let Some((text, trailing)) = trailing_code(rest)
    {
        (rest, code) = (text, trailing);
    }
    Some(Found { severity, code: code.to_owned(), text: rest.to_owned(), line })
}

/// Returns whether a severity stands as tools write it: before a colon or a code, or in a column of its own.
fn is_written_as_severity(text: &str, word: &str) -> bool {
    let after = &text[word.len()..];
    after.starts_with([':', '[', '('])
        || after.starts_with("  ")
        || !leading_code(after.trim_start()).0.is_empty()
}

/// Splits `[E0282]`, `TS2345:` or `E501 ` from a text.
fn leading_code(text: &str) -> (&str, &str) {
    if let Some((code, rest)) = text.strip_prefix('[').and_then(|text| text.split_once(']'))
        && !code.contains(' ')
    {
        return (code, rest);
    }
    let end = text.find([':', ' ']).unwrap_or(text.len());
    let code = &text[..end];
    let letters = code.bytes().take_while(u8::is_ascii_uppercase).count();
    let is_code = (1..=6).contains(&letters)
        && code.len() > letters + 1
        && code[letters..].bytes().all(|byte| byte.is_ascii_digit());
    if is_code { (code, &text[end..]) } else { ("", text) }
}

/// Splits `[-Wunused]`, `[no-untyped-def]` or `(missing-docstring)` from the end of a text.
fn trailing_code(text: &str) -> Option<(&str, &str)> {
    let (open, inside) = match text.as_bytes().last()? {
        b']' => ('[', text.strip_suffix(']')?),
        b')' => ('(', text.strip_suffix(')')?),
        _ => return None,
    };
    let (before, code) = inside.rsplit_once(open)?;
    let is_code = (3..=60).contains(&code.len()) && !code.contains(' ') && code.contains(['-', '_', '/']);
    (is_code && before.ends_with(' ')).then(|| (before.trim_end(), code))
}

/// Returns whether a line is the path of a file and nothing else.
fn is_file_alone(line: &str) -> bool {
    let name = line.rsplit(['/', '\\']).next().unwrap_or(line);
    !line.contains([' ', ':', '('])
        && line.contains(['/', '\\', '.'])
        && name
            .rsplit_once('.')
            .is_some_and(|(stem, extension)| !stem.is_empty() && (1..=6).contains(&extension.len()))
        || line.len() > 3 && line.as_bytes()[1] == b':' && line.as_bytes()[2] == b'\\' && !line.contains(' ')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::value_counts::ValueCount;

    #[test]
    fn messages_of_many_tools() {
        for (text, severity, code, places) in [
            ("src/a.c:3:1: error: expected ';'", "error", "", "src/a.c:3"),
            ("a.cc:3:1: warning: unused x [-Wunused-variable]", "warning", "-Wunused-variable", "a.cc:3"),
            ("src/a.ts(3,14): error TS2345: no", "error", "TS2345", "src/a.ts:3"),
            ("src/a.ts:3:14 - error TS2345: no", "error", "TS2345", "src/a.ts:3"),
            ("error[E0282]: annotations needed\n  --> src/a.rs:3:1", "error", "E0282", "src/a.rs:3"),
            ("warning: unused variable\n --> src/a.rs:4:1", "warning", "", "src/a.rs:4"),
            ("/w/a.js\n  3:1  error  No x  no-undef", "error", "no-undef", "/w/a.js:3"),
            ("A.java:3: error: cannot find symbol", "error", "", "A.java:3"),
            ("[ERROR] /w/A.java:[7,2] cannot find", "error", "", "/w/A.java:7"),
            ("a.py:3: error: No x  [no-untyped-def]", "error", "no-untyped-def", "a.py:3"),
            ("a.py:3:0: C0114: Missing docstring (missing-docstring)", "warning", "C0114", "a.py:3"),
            ("a.py:3:80: E501 line too long", "error", "E501", "a.py:3"),
        ] {
            let mut diagnostics = Diagnostics::default();
            for (number, line) in text.lines().enumerate() {
                diagnostics.add(number as u64 + 1, line);
            }
            let [message] = diagnostics.messages.as_slice() else { panic!("{text}: {diagnostics:?}") };
            let codes: Vec<String> = diagnostics.codes.entries().iter().map(ValueCount::text).collect();
            assert_eq!((message.severity.name(), codes.join(" ").as_str()), (severity, code), "{text}");
            assert_eq!(message.places.join(" "), places, "{text}");
        }
    }

    #[test]
    fn other_lines_are_not_messages() {
        let mut diagnostics = Diagnostics::default();
        for line in [
            "src/a.c:3:error_count = 1",
            "error: could not compile",
            "2024-01-01 10:00:00 error: x",
            "note to self",
            "a.md:3: a text",
        ] {
            diagnostics.add(1, line);
        }
        assert!(!diagnostics.is_found(), "{diagnostics:?}");
    }
}
