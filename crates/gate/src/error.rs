//! The errors of the gate, and the one place where they become text for a model or a JSON-RPC error.
//!
//! Every message says what to do next, and none contains stored data.

use tidegate_core::view::{ViewError, visible_text};
use tidegate_store::{Artifact, Millis, StoreError};

use crate::policy::Policy;

/// A JSON-RPC error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RpcError {
    /// The code.
    pub code: i64,
    /// What happened, and what to do next.
    pub message: String,
}

impl RpcError {
    /// Returns the error for a request whose params are invalid.
    pub(crate) fn invalid_params(message: impl Into<String>) -> Self {
        Self { code: -32602, message: bounded(&message.into(), MAX_MESSAGE_CHARS) }
    }

    /// Returns the error for a failure of our own.
    pub fn internal(message: impl Into<String>) -> Self {
        Self { code: -32603, message: message.into() }
    }

    /// Returns the error for an upstream that failed or does not answer.
    pub fn upstream(message: impl Into<String>) -> Self {
        Self { code: -32000, message: message.into() }
    }

    /// Returns the error for an upstream that did not answer in time.
    pub fn timeout(message: impl Into<String>) -> Self {
        Self { code: -32001, message: message.into() }
    }
}

/// Why a follow-up has no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FollowUpError {
    /// The arguments are invalid.
    #[error("{0}")]
    Arguments(String),
    /// The result does not exist, or has expired.
    #[error("{0}")]
    Gone(String),
    /// The part cannot be read.
    #[error("{0}")]
    View(String),
    /// The store cannot be used.
    #[error("{0}")]
    Store(String),
    /// The session has no bytes left for the part.
    #[error("{0}")]
    Ceiling(String),
}

impl FollowUpError {
    /// Returns the error for a part for which the session has no bytes left.
    pub(crate) fn at_ceiling(artifact: &Artifact, policy: &Policy) -> Self {
        let (id, max_bytes) = (&artifact.id, policy.session_max_bytes.unwrap_or_default());
        Self::Ceiling(format!("this session has used its {max_bytes} bytes; read \"{id}\" in a new one"))
    }

    /// Returns the error for a result that cannot be opened.
    pub(crate) fn of_store(name: &str, error: &StoreError) -> Self {
        match error {
            StoreError::NotFound => Self::Gone(not_kept(name)),
            StoreError::Expired { at } => Self::Gone(expired(name, *at)),
            other => Self::Store(format!("{name:?} cannot be read now ({}); try again", causes(other))),
        }
    }
}

/// Says that no result has this name; also used if the caller must not learn that there is one.
pub fn not_kept(name: &str) -> String {
    let message = format!(
        "no result is kept under {name:?}; copy the id from the answer that named it, such as list_issues-3f9c2kq7m0xw, or \
         call the tool for a new one"
    );
    bounded(&message, MAX_MESSAGE_CHARS)
}

fn expired(name: &str, at: Millis) -> String {
    let tool = name.rsplit_once('-').map_or("the tool", |(tool, _)| tool);
    format!("{name:?} expired {at}; call {tool} again only if it is safe to repeat")
}

impl From<ViewError> for FollowUpError {
    fn from(error: ViewError) -> Self {
        match error {
            ViewError::Bad(message) => Self::Arguments(message),
            other => Self::View(causes(&other)),
        }
    }
}

/// The maximum number of characters of an error message of ours, so that it fits the smallest budget.
pub(crate) const MAX_MESSAGE_CHARS: usize = 600;

/// Returns a message with hidden characters escaped, and with its middle cut out if it is longer than allowed.
pub(crate) fn bounded(message: &str, characters: usize) -> String {
    let shown = visible_text(message);
    let length = shown.chars().count();
    if length <= characters {
        return shown;
    }
    let head: String = shown.chars().take(characters * 2 / 3).collect();
    let tail: String = shown.chars().skip(length - characters / 3).collect();
    format!("{head} … {tail}")
}

/// Returns the message of an error with those of its causes.
pub fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let words = cause.to_string();
        // Some messages already include their cause.
        if !text.ends_with(&words) {
            text.push_str(&format!(": {words}"));
        }
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("the store: {0}")]
    struct Repeating(#[source] std::io::Error);

    #[derive(Debug, thiserror::Error)]
    #[error("the store cannot be used")]
    struct Silent(#[source] Repeating);

    #[test]
    fn a_cause_is_named_once() {
        let gone = || Repeating(std::io::Error::other("gone"));
        assert_eq!(causes(&gone()), "the store: gone");
        assert_eq!(causes(&Silent(gone())), "the store cannot be used: the store: gone");
    }
}
