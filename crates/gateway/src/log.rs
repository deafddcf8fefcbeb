//! The log of a gateway: what happens besides requests, with its level and the server that it is about.
//!
//! Requests have lines of their own in the audit log; this one is for whoever keeps the gateway running.

use std::sync::Arc;

/// How much a line matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Something went as it should.
    Info,
    /// Something is wrong, and the gateway goes on.
    Warn,
    /// Something was not done.
    Error,
}

impl Level {
    /// Returns the name of the level.
    pub fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }
}

/// A line of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'l> {
    /// How much it matters.
    pub level: Level,
    /// The server that it is about.
    pub upstream: Option<&'l str>,
    /// What happened.
    pub message: &'l str,
}

/// Takes lines of the log.
pub type Log = Arc<dyn Fn(Line<'_>) + Send + Sync>;
