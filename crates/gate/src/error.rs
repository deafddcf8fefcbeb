//! What can go wrong in the gate, and how a caller is told: the one place where errors become words for a model or a
//! JSON-RPC error. Every message says what to do next, and none holds what was stored.

use tidegate_core::view::{ViewError, visible_text};
use tidegate_store::{Millis, StoreError};

/// An error as JSON-RPC has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RpcError {
    /// Its number.
    pub code: i64,
    /// What happened, and what to do.
    pub message: String,
}

impl RpcError {
    /// The params of a request make no sense.
    pub(crate) fn invalid_params(message: impl Into<String>) -> Self {
        Self { code: -32602, message: bounded(&message.into()) }
    }

    /// We have failed.
    pub fn internal(message: impl Into<String>) -> Self {
        Self { code: -32603, message: message.into() }
    }

    /// The server behind has failed or does not answer.
    pub fn upstream(message: impl Into<String>) -> Self {
        Self { code: -32000, message: message.into() }
    }

    /// No answer came in time.
    pub fn timeout(message: impl Into<String>) -> Self {
        Self { code: -32001, message: message.into() }
    }
}

/// Why a follow-up has no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FollowUpError {
    /// The arguments make no sense.
    #[error("{0}")]
    Arguments(String),
    /// There is no such result, or no longer.
    #[error("{0}")]
    Gone(String),
    /// The part cannot be given.
    #[error("{0}")]
    View(String),
    /// The store cannot be used.
    #[error("{0}")]
    Store(String),
}

impl FollowUpError {
    /// Says why a result is not there.
    pub(crate) fn of_store(name: &str, error: &StoreError) -> Self {
        match error {
            StoreError::NotFound => Self::Gone(not_kept(name)),
            StoreError::Expired { at } => Self::Gone(expired(name, *at)),
            other => Self::Store(format!("{name:?} cannot be read now ({}); try again", causes(other))),
        }
    }
}

/// Says that there is no result of a name, whether that is so or the caller may not know of it.
pub fn not_kept(name: &str) -> String {
    bounded(&format!(
        "no result is kept under {name:?}; copy the id from the answer that named it, such as list_issues-3f9c2kq7m0xw, or \
         call the tool for a new one"
    ))
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

/// The most characters of an error of ours: it fits the smallest budget, whatever was asked.
const LONGEST: usize = 600;

/// Returns a message in at most so many characters, with its beginning and its end, and nothing hidden in it.
pub(crate) fn bounded(message: &str) -> String {
    let shown = visible_text(message);
    let length = shown.chars().count();
    if length <= LONGEST {
        return shown;
    }
    let head: String = shown.chars().take(LONGEST * 2 / 3).collect();
    let tail: String = shown.chars().skip(length - LONGEST / 3).collect();
    format!("{head} … {tail}")
}

/// Returns an error with what caused it, in words.
pub fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let words = cause.to_string();
        // Some repeat what they were caused by.
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
    fn a_cause_is_told_once() {
        let gone = || Repeating(std::io::Error::other("gone"));
        assert_eq!(causes(&gone()), "the store: gone");
        assert_eq!(causes(&Silent(gone())), "the store cannot be used: the store: gone");
    }
}
