//! One check of `tidegate doctor`: what was checked, how it is, and how to fix it.

use serde_json::{Map, Value};
use tidegate_core::visible;

/// The outcome of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    /// Works.
    Fine,
    /// Worth knowing, needs no action.
    Note,
    /// Works, but could be better.
    Warning,
    /// Does not work.
    Failure,
}

impl Status {
    fn mark(self) -> &'static str {
        match self {
            Self::Fine => "✓",
            Self::Note => "·",
            Self::Warning => "!",
            Self::Failure => "✗",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Fine => "fine",
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Failure => "failure",
        }
    }

    /// Returns the escape sequence of its colour.
    fn colour(self) -> &'static str {
        match self {
            Self::Fine => "\x1b[32m",
            Self::Note => "\x1b[2m",
            Self::Warning => "\x1b[33m",
            Self::Failure => "\x1b[31m",
        }
    }
}

/// One check.
#[derive(Debug)]
pub(super) struct Check {
    /// What was checked.
    subject: String,
    pub(super) status: Status,
    /// How it is, in one line.
    text: String,
    /// Lines quoted from a file or a server.
    quoted: Vec<String>,
    fix: Option<String>,
    /// Figures and names for the JSON output.
    data: Map<String, Value>,
}

impl Check {
    fn new(status: Status, subject: impl Into<String>, text: impl Into<String>) -> Self {
        let (subject, text) = (subject.into(), text.into());
        Self { subject, status, text, quoted: Vec::new(), fix: None, data: Map::new() }
    }

    pub(super) fn fine(subject: impl Into<String>, text: impl Into<String>) -> Self {
        Self::new(Status::Fine, subject, text)
    }

    pub(super) fn note(subject: impl Into<String>, text: impl Into<String>) -> Self {
        Self::new(Status::Note, subject, text)
    }

    pub(super) fn warning(subject: impl Into<String>, text: impl Into<String>) -> Self {
        Self::new(Status::Warning, subject, text)
    }

    pub(super) fn failure(subject: impl Into<String>, text: impl Into<String>) -> Self {
        Self::new(Status::Failure, subject, text)
    }

    /// Adds how to fix it.
    pub(super) fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(fix.into());
        self
    }

    /// Adds lines quoted from a file or a server.
    pub(super) fn quote(mut self, lines: impl IntoIterator<Item = String>) -> Self {
        self.quoted.extend(lines);
        self
    }

    /// Adds a figure or a name to the JSON output.
    pub(super) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.data.insert(name.to_owned(), value.into());
        self
    }

    /// Returns the width of the subject, in characters.
    pub(super) fn subject_width(&self) -> usize {
        visible::line(&self.subject).chars().count()
    }

    /// Formats the check as lines, with its text at a column.
    pub(super) fn lines(&self, column: usize, coloured: bool) -> String {
        let mark = match coloured {
            true => format!("{}{}\x1b[0m", self.status.colour(), self.status.mark()),
            false => self.status.mark().to_owned(),
        };
        // Names and messages come from files and servers; escape what a terminal would obey.
        let subject = visible::line(&self.subject);
        let mut out = format!("{mark} {subject:<column$}  {}\n", visible::line(&self.text));
        for line in &self.quoted {
            // Keep leading spaces: a marker must stay under its place.
            out.push_str(&format!("    | {}\n", visible::text(line.trim_end())));
        }
        if let Some(fix) = &self.fix {
            out.push_str(&format!("    fix: {}\n", visible::line(fix)));
        }
        out
    }

    /// Formats the check as JSON.
    pub(super) fn json(&self) -> Value {
        let mut out = Map::new();
        out.insert("subject".into(), self.subject.clone().into());
        out.insert("status".into(), self.status.name().into());
        out.insert("text".into(), self.text.clone().into());
        if !self.quoted.is_empty() {
            out.insert("said".into(), self.quoted.clone().into());
        }
        out.insert("fix".into(), self.fix.clone().into());
        out.extend(self.data.clone());
        Value::Object(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_as_lines() {
        let check =
            Check::failure("cursor a\x1b[2Jb", "does not start").quote(["bad\u{202e}".into()]).fix("x");
        assert_eq!(
            check.lines(3, false),
            "✗ cursor a\\u{1b}[2Jb  does not start\n    | bad\\u{202e}\n    fix: x\n"
        );
        assert_eq!(Check::fine("a", "b").lines(3, true), "\x1b[32m✓\x1b[0m a    b\n");
    }
}
