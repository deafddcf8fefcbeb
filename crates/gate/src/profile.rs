//! What one client can digest, known from what it does with results.
//!
//! The figures were seen by running the shipped clients (`tests/real_clients/`); those of VS Code and Zed are from their source. An
//! unknown client gets the strictest of everything, so that its model reads each answer whole.

use tidegate_core::measure::{Factor, Meter};
use tidegate_tokens::Encoding;

/// What becomes of a tool's `outputSchema` when tools are listed. Any call may overflow, so it is decided there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OutputSchema {
    /// It is taken away.
    #[default]
    Strip,
    /// It stays; for clients that do not mind a result without `structuredContent`.
    Keep,
    /// It allows our envelope too.
    Union,
}

impl OutputSchema {
    /// The names, as they are set.
    pub const NAMES: [&'static str; 3] = ["strip", "keep", "union"];

    /// Returns what a name means.
    pub fn named(name: &str) -> Option<Self> {
        let choices = [Self::Strip, Self::Keep, Self::Union];
        Self::NAMES.iter().position(|known| *known == name).map(|at| choices[at])
    }

    /// Returns its name.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

/// What one client can digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// Most tokens of an answer unless the policy says otherwise.
    pub budget_tokens: Option<u64>,
    /// Most bytes of an answer, below where the client cuts.
    pub max_bytes: u64,
    /// Most tokens that a caller can ask for.
    pub cap_tokens: u64,
    /// What becomes of a tool's `outputSchema`.
    pub output_schema: OutputSchema,
    /// Whether a shaped answer carries a link to the complete result.
    pub resource_link: bool,
    /// How the tokens of its model are counted.
    pub meter: Meter,
    /// Whether it runs programs that call tools and read results themselves, and marks such calls.
    pub runs_programs: bool,
}

/// What is set for a client: what is absent stays as it is built in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProfileRules {
    /// Most tokens of an answer.
    pub budget_tokens: Option<u64>,
    /// Most bytes of an answer.
    pub max_bytes: Option<u64>,
    /// Most tokens that a caller can ask for.
    pub cap_tokens: Option<u64>,
    /// What becomes of a tool's `outputSchema`.
    pub output_schema: Option<OutputSchema>,
    /// Whether a shaped answer carries a link to the complete result.
    pub resource_link: Option<bool>,
    /// By how much counts are raised, in percent.
    pub count_percent: Option<u32>,
}

impl ProfileRules {
    /// Returns a profile with these changes.
    pub fn over(&self, profile: Profile) -> Profile {
        let meter = self.count_percent.map(|percent| Meter::new(Encoding::O200k, Factor::percent(percent)));
        Profile {
            budget_tokens: self.budget_tokens.or(profile.budget_tokens),
            max_bytes: self.max_bytes.unwrap_or(profile.max_bytes),
            cap_tokens: self.cap_tokens.unwrap_or(profile.cap_tokens),
            output_schema: self.output_schema.unwrap_or(profile.output_schema),
            resource_link: self.resource_link.unwrap_or(profile.resource_link),
            meter: meter.unwrap_or(profile.meter),
            ..profile
        }
    }
}

/// By how much a count is raised for models whose tokenizer is not public, in percent.
const NOT_PUBLIC: u32 = 130;

impl Profile {
    /// Returns the profile of a client that is not known.
    pub fn strictest() -> Self {
        Self {
            budget_tokens: None,
            max_bytes: 10_240,
            cap_tokens: 10_000,
            output_schema: OutputSchema::Strip,
            resource_link: false,
            meter: Meter::default(),
            runs_programs: false,
        }
    }

    /// Returns the profile of a client by the name it gives itself.
    pub fn of_client(name: &str) -> Self {
        let not_public = Meter::new(Encoding::O200k, Factor::percent(NOT_PUBLIC));
        let strictest = Self::strictest();
        match name {
            // Writes what is longer than 50,000 characters to a file and shows 2 kB of it.
            _ if name.starts_with("claude-code") => {
                Self { max_bytes: 45_000, resource_link: true, meter: not_public, ..strictest }
            }
            // Cuts the middle out at 12,000 bytes for models it does not know. Its own types come from outputSchema.
            // A link would reach the model as JSON, so there is none.
            _ if name.starts_with("codex") => Self {
                max_bytes: 11_500,
                output_schema: OutputSchema::Keep,
                runs_programs: true,
                ..strictest
            },
            // Keeps 8,000 characters of the beginning and 32,000 of the end of what is longer than 40,000. Reads only
            // resources that were listed before, so a new link would lead nowhere.
            _ if name.starts_with("gemini-cli") => Self { max_bytes: 38_000, meter: not_public, ..strictest },
            // Shows the beginning of what is longer than 51,200 bytes or 2,000 lines.
            _ if name.starts_with("opencode") => Self { max_bytes: 48_000, ..strictest },
            // Makes a link of a resource_link, which the model can read.
            _ if name.starts_with("Visual Studio Code") => {
                Self { max_bytes: 50_000, resource_link: true, ..strictest }
            }
            // Has no limit of its own, and takes no resource_link.
            _ if name == "Zed" || name.starts_with("Zed ") => Self { max_bytes: 50_000, ..strictest },
            _ => strictest,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_client_gets_the_strictest() {
        assert_eq!(Profile::of_client("somebody"), Profile::strictest());
        assert_eq!(Profile::of_client(""), Profile::strictest());
        for known in ["claude-code", "codex-mcp-client", "gemini-cli-mcp-client", "opencode", "Zed"] {
            let profile = Profile::of_client(known);
            assert_ne!(profile, Profile::strictest(), "{known}");
            assert!(profile.max_bytes >= Profile::strictest().max_bytes, "{known}");
        }
    }
}
