//! What can go wrong for a person at the command line: what happened, and what to do about it.

use std::fmt;

/// Whose side a failure is on; decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It could not be done.
    Failed,
    /// What was asked for, or what was given, is wrong.
    BadInput,
    /// A store or server cannot be reached.
    OutOfReach,
}

impl Kind {
    /// Returns the exit code: 1 failed, 2 bad usage or input, 3 out of reach.
    pub(crate) fn exit_code(self) -> u8 {
        match self {
            Self::Failed => 1,
            Self::BadInput => 2,
            Self::OutOfReach => 3,
        }
    }
}

/// A failed command.
#[derive(Debug)]
pub(crate) struct CommandError {
    pub(crate) kind: Kind,
    message: String,
    hint: Option<String>,
}

impl CommandError {
    /// What was given is wrong.
    pub(crate) fn bad_input(message: impl fmt::Display) -> Self {
        Self { kind: Kind::BadInput, message: message.to_string(), hint: None }
    }

    /// It could not be done.
    pub(crate) fn failed(message: impl fmt::Display) -> Self {
        Self { kind: Kind::Failed, message: message.to_string(), hint: None }
    }

    /// A store or server cannot be reached.
    pub(crate) fn out_of_reach(message: impl fmt::Display) -> Self {
        Self { kind: Kind::OutOfReach, message: message.to_string(), hint: None }
    }

    /// Adds what to do about it.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
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
