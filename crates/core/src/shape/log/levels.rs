//! Reads what a line of a log begins with: when, how severe, and from which part of the program.
//!
//! A level counts where a log writes it: near the beginning of the line, in capitals, in brackets, or as `level=info`.
//! A message that contains such a word is not a level.

use crate::profile::time::{self, Time};
use crate::profile::value_counts::ValueCounts;
use crate::shape::draft::Draft;
use crate::shape::word_counts::WordCounts;

/// Counts of levels and components, and the times of a log.
#[derive(Debug, Default)]
pub(crate) struct LogLevels {
    levels: ValueCounts,
    components: ValueCounts,
    lines: u64,
    timed: u64,
    first: String,
    last: String,
    /// The times of the first and of the last line that has one, in seconds.
    begin: Option<f64>,
    previous: Option<f64>,
    /// The longest pause in seconds, and the number of the line after it.
    pause: (f64, u64),
    capacity: usize,
}

/// How severe a line says that it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    /// It reports nothing bad.
    Plain,
    Severe,
}

const LEVEL_WORDS: &[(&str, Level)] = &[
    ("trace", Level::Plain),
    ("verbose", Level::Plain),
    ("debug", Level::Plain),
    ("fine", Level::Plain),
    ("info", Level::Plain),
    ("information", Level::Plain),
    ("notice", Level::Plain),
    ("warn", Level::Severe),
    ("warning", Level::Severe),
    ("error", Level::Severe),
    ("err", Level::Severe),
    ("severe", Level::Severe),
    ("critical", Level::Severe),
    ("crit", Level::Severe),
    ("alert", Level::Severe),
    ("emerg", Level::Severe),
    ("fatal", Level::Severe),
    ("panic", Level::Severe),
];

/// The number of bytes at the beginning of a line where its level is.
const PREFIX_BYTES: usize = 96;
const MAX_COUNTED_VALUES: usize = 20_000;

impl LogLevels {
    /// Reads a line without colours; returns its level, if it has one.
    pub(crate) fn add(&mut self, number: u64, line: &str) -> Option<Level> {
        self.lines += 1;
        self.capacity = MAX_COUNTED_VALUES;
        let mut end = line.len().min(PREFIX_BYTES);
        while !line.is_char_boundary(end) {
            end -= 1;
        }
        let prefix = &line[..end];
        let (written, after) = leading_time(prefix);
        if let Some(written) = written {
            self.add_time(number, written);
        }
        let found = level(after);
        if let Some((_, word, _)) = found {
            self.levels.add(word.to_ascii_uppercase().as_bytes(), number, &mut self.capacity);
        }
        if found.is_some() || written.is_some() {
            let rest = found.map_or(after, |(end, _, _)| &after[end..]);
            if let Some(component) = component(rest) {
                self.components.add(component.as_bytes(), number, &mut self.capacity);
            }
        }
        found.map(|(_, _, level)| level)
    }

    fn add_time(&mut self, number: u64, written: &str) {
        self.timed += 1;
        if self.first.is_empty() {
            self.first = written.to_owned();
        }
        self.last.clear();
        self.last.push_str(written);
        let Some(seconds) = time::parse(written.as_bytes()).map(Time::to_seconds) else { return };
        if let Some(previous) = self.previous
            && seconds - previous > self.pause.0
        {
            self.pause = (seconds - previous, number);
        }
        self.previous = Some(seconds);
        self.begin.get_or_insert(seconds);
    }

    /// Returns whether many lines have a level.
    pub(crate) fn are_found(&self) -> bool {
        self.levels.total() * 3 > self.lines
    }

    /// Returns whether all words of a list are levels, so that their counts say the same.
    pub(crate) fn cover(&self, words: &ValueCounts) -> bool {
        let is_level = |word: &str| self.levels.entries().iter().any(|entry| entry.text() == word);
        self.are_found() && words.entries().iter().all(|entry| is_level(&entry.text()))
    }

    /// Writes the period, the levels and the components, where most lines have them; returns whether anything was written.
    pub(crate) fn write(&self, draft: &mut Draft<'_>, section: usize, with_time: bool) -> bool {
        let all = draft.writer.left();
        let writer = &mut draft.writer;
        let mut written = false;
        if with_time && self.timed * 2 > self.lines {
            // A pause is worth telling if it is a large part of the time.
            let whole = self.previous.unwrap_or_default() - self.begin.unwrap_or_default();
            let pause = match self.pause {
                (seconds, line) if seconds >= 2.0 && seconds * 10.0 > whole => {
                    format!("; longest pause {} before L{line}", span(seconds))
                }
                _ => String::new(),
            };
            written |= writer.push(section, format!("time: {} .. {}{pause}", self.first, self.last));
        }
        if self.levels.total() * 3 > self.lines {
            written |= writer
                .within(all / 8, |writer| WordCounts::write(&self.levels, 1, 12, "levels", writer, section));
        }
        let is_named = self.components.total() * 2 > self.lines
            && self.components.distinct().0 * 3 < self.components.total();
        if is_named {
            written |= writer.within(all / 8, |writer| {
                WordCounts::write(&self.components, 1, 12, "components", writer, section)
            });
        }
        written
    }
}

/// Writes a span of time: `12 s`, `3 min`, `5.2 h`, `4 d`.
fn span(seconds: f64) -> String {
    let units = [(86_400.0, "d"), (3600.0, "h"), (60.0, "min")];
    match units.iter().find(|(length, _)| seconds >= 2.0 * length) {
        Some((length, unit)) => format!("{:.1} {unit}", seconds / length),
        None => format!("{seconds:.0} s"),
    }
}

/// Splits the time from the beginning of a line: in brackets or not, one word or two.
fn leading_time(line: &str) -> (Option<&str>, &str) {
    let start = line.find(|c: char| !matches!(c, '[' | '(' | '<' | ' ')).unwrap_or(0);
    let text = &line[start..];
    let is_time_part =
        |c: char| c.is_ascii_digit() || matches!(c, '-' | ':' | '.' | ',' | '/' | '+' | 'T' | 'Z');
    let word = |from: usize| {
        text[from..].find(|c: char| !is_time_part(c)).map_or(text.len(), |length| from + length)
    };
    let first = word(0);
    let trimmed = |end: usize| text[..end].trim_end_matches([',', '.', ':', '-']);
    let split = |end: usize| (Some(trimmed(end)), &text[trimmed(end).len()..]);
    if first >= 8 {
        let both = if text[first..].starts_with(' ') { word(first + 1) } else { first };
        for end in [both, first] {
            if time::parse(trimmed(end).as_bytes()).is_some() {
                return split(end);
            }
        }
        // A time of day.
        let bytes = text.as_bytes();
        if bytes[2] == b':' && bytes[5] == b':' && bytes[0].is_ascii_digit() {
            return split(first);
        }
    }
    // `Nov 16 10:08:08`
    let is_month = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        .iter()
        .any(|month| text.starts_with(month));
    let clock = text.get(7..15).filter(|clock| clock.as_bytes()[2] == b':' && clock.as_bytes()[5] == b':');
    if is_month && clock.is_some() {
        return (Some(&text[..15]), &text[15..]);
    }
    (None, line)
}

/// Returns where the level of a line without its time ends, the level as written, and what it says.
fn level(text: &str) -> Option<(usize, &str, Level)> {
    let mut rest = text;
    for _ in 0..8 {
        let start = rest.find(|c: char| c.is_ascii_alphanumeric())?;
        let token = &rest[start..];
        let length = token
            .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '/')))
            .unwrap_or(token.len());
        let (word, after) = token.split_at(length);
        let known =
            LEVEL_WORDS.iter().find(|(known, _)| known.eq_ignore_ascii_case(word)).map(|(_, level)| *level);
        if let Some(level) = known {
            let before = rest[..start].trim_end();
            let capitals = word.bytes().all(|byte| byte.is_ascii_uppercase());
            let bracketed = before.ends_with(['[', '<', '(', '|'])
                && after.trim_start().starts_with([']', '>', ')', '|']);
            let named =
                text[..text.len() - token.len()].trim_end_matches(['"', ':', ' ', '=']).ends_with(['l', 'y'])
                    && before.ends_with(['=', ':', '"']);
            // `error: message` at the beginning of what follows the time.
            let leading = before.trim_end_matches([']', ')', '-', ' ', ':']).is_empty()
                && after.starts_with([':', ' '])
                && text.len() == rest.len()
                && (capitals || after.starts_with(':'));
            if capitals || bracketed || named || leading {
                return Some((text.len() - after.len(), word, level));
            }
        }
        rest = after;
    }
    None
}

/// Returns the part of the program that a line without time and level names: `db:`, `[db]`, `sshd[123]:`.
fn component(text: &str) -> Option<&str> {
    for token in text.trim_start_matches([']', ')', '>', '|', ':']).split_whitespace().take(4) {
        let bracketed =
            token.strip_prefix('[').and_then(|token| token.trim_end_matches(':').strip_suffix(']'));
        let name = match bracketed {
            Some(name) => name,
            None => match token.strip_suffix(':') {
                Some(name) => name.split('[').next().unwrap_or(name),
                None => continue,
            },
        };
        let is_name = (2..=48).contains(&name.len())
            && name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-' | b'/' | b':'));
        if is_name {
            return Some(name);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginnings_of_many_logs() {
        for (line, written, word, part) in [
            ("2024-01-02 10:00:01 INFO db: opened", "2024-01-02 10:00:01", "INFO", "db"),
            ("2024-01-02T10:00:01.5Z [warn] [http] slow", "2024-01-02T10:00:01.5Z", "warn", "http"),
            ("[2024-01-02 10:00:01,123] ERROR app.db: gone", "2024-01-02 10:00:01,123", "ERROR", "app.db"),
            ("Nov 16 10:08:08 host sshd[123]: closed", "Nov 16 10:08:08", "", "sshd"),
            ("10:00:01.250 | DEBUG | main: x", "10:00:01.250", "DEBUG", "main"),
            ("time=2024-01-02 level=error msg=x", "", "error", ""),
            ("{\"level\":\"info\",\"msg\":\"an error\"}", "", "info", ""),
            ("an error was found", "", "", ""),
            ("2024-01-02 10:00:01 the error handler is ready", "2024-01-02 10:00:01", "", ""),
        ] {
            let (time, after) = leading_time(line);
            assert_eq!(time.unwrap_or(""), written, "{line}");
            let found = level(after);
            assert_eq!(found.map_or("", |(_, word, _)| word), word, "{line}");
            if !part.is_empty() {
                let rest = found.map_or(after, |(end, _, _)| &after[end..]);
                assert_eq!(component(rest).unwrap_or(""), part, "{line}");
            }
        }
    }
}
