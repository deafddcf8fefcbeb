//! The error of a command: what happened, what to do about it, and the exit code.

use std::fmt;

use tidegate_config::Mistakes;

/// The kind of an error, which decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorKind {
    /// The command failed.
    Failed,
    /// The arguments or the input are wrong.
    BadInput,
    /// A store or server cannot be reached.
    Unreachable,
}

impl ErrorKind {
    /// Returns the exit code: 1 failed, 2 bad usage or input, 3 unreachable.
    pub(crate) fn exit_code(self) -> u8 {
        match self {
            Self::Failed => 1,
            Self::BadInput => 2,
            Self::Unreachable => 3,
        }
    }
}

/// The error of a command.
#[derive(Debug)]
pub(crate) struct CommandError {
    pub(crate) kind: ErrorKind,
    message: String,
    hint: Option<String>,
}

impl CommandError {
    /// Returns an error about the arguments or the input.
    pub(crate) fn bad_input(message: impl fmt::Display) -> Self {
        Self { kind: ErrorKind::BadInput, message: message.to_string(), hint: None }
    }

    /// Returns an error for a command that failed.
    pub(crate) fn failed(message: impl fmt::Display) -> Self {
        Self { kind: ErrorKind::Failed, message: message.to_string(), hint: None }
    }

    /// Returns an error for a store or server that cannot be reached.
    pub(crate) fn out_of_reach(message: impl fmt::Display) -> Self {
        Self { kind: ErrorKind::Unreachable, message: message.to_string(), hint: None }
    }

    /// Adds a hint: what the user can do next.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl From<Mistakes> for CommandError {
    fn from(mistakes: Mistakes) -> Self {
        Self::bad_input(mistakes)
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(formatter, "; {hint}"),
            None => Ok(()),
        }
    }
}
