//! Why a server cannot be used, and what its callers are told.

/// Why a server cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Problem {
    #[error("it cannot be started: {0}")]
    NotStarted(String),
    #[error("it did not answer {method} within {seconds} s")]
    Silent { method: String, seconds: u64 },
    #[error("{message}")]
    Refused { code: i64, message: String },
    /// It is down: tidegate has answered in its place.
    #[error("{message}")]
    Down { message: String },
    #[error("{0}")]
    Invalid(String),
    #[error(
        "all {places} of its processes are in use, and none became free within {seconds} s (max_processes and \
         queue_seconds of [upstream.{name}])"
    )]
    Full { name: String, places: usize, seconds: u64 },
    #[error("it needs a credential of this caller, {owner:?}, and there is none")]
    NoCredential { owner: String, server: String },
    #[error("the credential of this caller for it cannot be read")]
    CredentialUnreadable,
}

impl Problem {
    /// Says what is wrong with a server, and what to do. `owner` is the caller whose credential the server gets, if it does.
    pub(super) fn explain(&self, server: &str, owner: Option<&str>) -> String {
        let advice = match (self, owner) {
            (Self::NoCredential { owner, server }, _) => {
                format!("the administrator of the gateway sets it with: {}", set_command(owner, server))
            }
            (Self::Full { .. } | Self::CredentialUnreadable, _) => "try again in a moment".to_owned(),
            (Self::Refused { message, .. }, Some(owner)) if says_unauthorized(message) => format!(
                "the credential of this caller for it is no longer valid; the administrator of the gateway sets another with: {}",
                set_command(owner, server)
            ),
            (Self::Refused { message, .. }, None) if says_unauthorized(message) => {
                "the gateway's own credential for it is missing or no longer valid; the administrator of the gateway must renew it"
                    .to_owned()
            }
            _ => "try again later, or tell the administrator of the gateway".to_owned(),
        };
        format!("the server {server:?} cannot be used now: {self}; nothing was run; {advice}")
    }
}

/// Returns the command that sets a credential.
fn set_command(owner: &str, server: &str) -> String {
    let quoted = |word: &str| format!("'{}'", word.replace('\'', r"'\''"));
    format!("tidegate gateway credential set --owner {} --upstream {}", quoted(owner), quoted(server))
}

fn says_unauthorized(message: &str) -> bool {
    ["status 401", "status 403"].iter().any(|status| message.contains(status))
}
