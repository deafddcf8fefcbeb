//! One thing that was looked at: how it is, and what to do about it.

use serde_json::{Map, Value};
use tidegate_core::visible;

/// How a thing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    /// As it should be.
    Fine,
    /// Worth knowing; nothing needs to be done.
    Note,
    /// It works, but not as it could.
    Warning,
    /// It does not work.
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

    /// What makes a terminal show it in its colour.
    fn colour(self) -> &'static str {
        match self {
            Self::Fine => "\x1b[32m",
            Self::Note => "\x1b[2m",
            Self::Warning => "\x1b[33m",
            Self::Failure => "\x1b[31m",
        }
    }
}

/// One thing that was looked at.
#[derive(Debug)]
pub(super) struct Check {
    /// What it is about.
    subject: String,
    pub(super) status: Status,
    /// How it is.
    text: String,
    /// What somebody said, line by line.
    said: Vec<String>,
    fix: Option<String>,
    /// The same for programs.
    data: Map<String, Value>,
}

impl Check {
    fn new(status: Status, subject: impl Into<String>, text: impl Into<String>) -> Self {
        let (subject, text) = (subject.into(), text.into());
        Self { subject, status, text, said: Vec::new(), fix: None, data: Map::new() }
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

    /// Adds what to do about it.
    pub(super) fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(fix.into());
        self
    }

    /// Adds what somebody said.
    pub(super) fn said(mut self, lines: impl IntoIterator<Item = String>) -> Self {
        self.said.extend(lines);
        self
    }

    /// Adds a figure or a name for programs.
    pub(super) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.data.insert(name.to_owned(), value.into());
        self
    }

    /// Returns the width of what it is about.
    pub(super) fn width(&self) -> usize {
        visible::line(&self.subject).chars().count()
    }

    /// Returns it as lines for a person, with the text at a column.
    pub(super) fn lines(&self, column: usize, coloured: bool) -> String {
        let mark = match coloured {
            true => format!("{}{}\x1b[0m", self.status.colour(), self.status.mark()),
            false => self.status.mark().to_owned(),
        };
        // Names and messages come from files and servers, and may hold what a terminal obeys.
        let subject = visible::line(&self.subject);
        let mut out = format!("{mark} {subject:<column$}  {}\n", visible::line(&self.text));
        for line in &self.said {
            // As it stands: a mark under a place is to stay there.
            out.push_str(&format!("    | {}\n", visible::text(line.trim_end())));
        }
        if let Some(fix) = &self.fix {
            out.push_str(&format!("    fix: {}\n", visible::line(fix)));
        }
        out
    }

    /// Returns it for a program.
    pub(super) fn json(&self) -> Value {
        let mut out = Map::new();
        out.insert("subject".into(), self.subject.clone().into());
        out.insert("status".into(), self.status.name().into());
        out.insert("text".into(), self.text.clone().into());
        if !self.said.is_empty() {
            out.insert("said".into(), self.said.clone().into());
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
    fn lines_for_a_person() {
        let check =
            Check::failure("cursor a\x1b[2Jb", "does not start").said(["bad\u{202e}".into()]).fix("x");
        assert_eq!(
            check.lines(3, false),
            "✗ cursor a\\u{1b}[2Jb  does not start\n    | bad\\u{202e}\n    fix: x\n"
        );
        assert_eq!(Check::fine("a", "b").lines(3, true), "\x1b[32m✓\x1b[0m a    b\n");
    }
}
