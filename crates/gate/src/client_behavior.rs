//! What clients themselves do to results, whatever the configuration sets.
//!
//! A [`Profile`](crate::profile::Profile) keeps answers below these limits; `tidegate doctor` warns where a setting does
//! not. Measured with the shipped clients (`tests/real_clients/`).

/// What a client itself does to results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientBehavior {
    /// The size in bytes above which the client truncates a result, if it does.
    pub cuts_at: Option<u64>,
    /// Whether a result without `structuredContent` is an error where the tool has an `outputSchema`.
    pub checks_schemas: bool,
}

impl ClientBehavior {
    /// Returns the behavior of a client by its name; the worst is assumed of an unknown client.
    pub fn of_client(name: &str) -> Self {
        match name {
            _ if name.starts_with("claude-code") => Self { cuts_at: Some(50_000), checks_schemas: false },
            // For models that it does not know; other models may get more.
            _ if name.starts_with("codex") => Self { cuts_at: Some(12_000), checks_schemas: false },
            _ if name.starts_with("gemini-cli") => Self { cuts_at: Some(40_000), checks_schemas: true },
            _ if name.starts_with("opencode") => Self { cuts_at: Some(51_200), checks_schemas: true },
            _ if name == "Zed" || name.starts_with("Zed ") => Self { cuts_at: None, checks_schemas: false },
            _ => Self { cuts_at: None, checks_schemas: true },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{OutputSchema, Profile};

    #[test]
    fn profiles_stay_below_what_clients_do() {
        for name in
            ["claude-code", "codex-mcp-client", "gemini-cli-mcp-client", "opencode", "Zed", "", "other"]
        {
            let (profile, behavior) = (Profile::of_client(name), ClientBehavior::of_client(name));
            assert!(behavior.cuts_at.is_none_or(|cut| profile.max_bytes < cut), "{name}");
            assert!(!behavior.checks_schemas || profile.output_schema != OutputSchema::Keep, "{name}");
        }
    }
}
