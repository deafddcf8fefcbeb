//! What clients do to results by themselves, whatever is set here.
//!
//! A [`Profile`](crate::profile::Profile) keeps answers below these limits; whoever sets another one can be told where they
//! are. Seen by running the shipped clients (`tests/real_clients/`).

/// What a client does to results by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Habits {
    /// The bytes above which it does not show a result as it is, if it is known to cut.
    pub cuts_at: Option<u64>,
    /// Whether a result without `structuredContent` is an error where the tool has an `outputSchema`.
    pub checks_schemas: bool,
}

impl Habits {
    /// Returns the habits of a client by the name it gives itself; of one that is not known the worst is assumed.
    pub fn of_client(name: &str) -> Self {
        match name {
            _ if name.starts_with("claude-code") => Self { cuts_at: Some(50_000), checks_schemas: false },
            // For models it does not know; others may have more.
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
            let (profile, habits) = (Profile::of_client(name), Habits::of_client(name));
            assert!(habits.cuts_at.is_none_or(|cut| profile.max_bytes < cut), "{name}");
            assert!(!habits.checks_schemas || profile.output_schema != OutputSchema::Keep, "{name}");
        }
    }
}
