//! What one client can take, known from what it does with results.
//!
//! The figures were measured with the shipped clients (`tests/real_clients/`); those of VS Code and Zed are from their source. An
//! unknown client gets the strictest limits, so that its model sees every answer whole.

use tidegate_core::measure::{Factor, Meter};
use tidegate_tokens::Encoding;

use crate::choice;
use crate::tier::Tier;

/// What happens to a tool's `outputSchema` when tools are listed. Any call may overflow, so it is decided there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum OutputSchema {
    /// It is removed.
    #[default]
    Strip,
    /// It stays; for clients that accept a result without `structuredContent`.
    Keep,
    /// It is extended to allow our envelope.
    Union,
}

impl OutputSchema {
    /// The names of the choices in the configuration.
    pub const NAMES: [&'static str; 3] = ["strip", "keep", "union"];

    /// Returns the choice of a name.
    pub fn named(name: &str) -> Option<Self> {
        choice::named(Self::NAMES, [Self::Strip, Self::Keep, Self::Union], name)
    }

    /// Returns its name.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

/// What one client can take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// The maximum number of tokens of a first answer, unless the policy sets another.
    pub budget_tokens: Option<u64>,
    /// The maximum number of tokens of follow-ups, pages and queries, unless the policy sets another.
    pub follow_up_tokens: Option<u64>,
    /// The maximum number of tokens of a result that passes unchanged, unless the policy sets another.
    pub line_tokens: Option<u64>,
    /// The maximum number of bytes of an answer, below the size at which the client truncates.
    pub max_bytes: u64,
    /// The maximum number of tokens that a caller can request.
    pub cap_tokens: u64,
    /// What happens to a tool's `outputSchema`.
    pub output_schema: OutputSchema,
    /// Whether a shaped answer carries a link to the complete result.
    pub resource_link: bool,
    /// How the tokens of its model are counted.
    pub meter: Meter,
    /// Whether it runs programs that call tools and read results themselves, and marks such calls.
    pub runs_programs: bool,
    /// Whether it is a program itself, which gets all of a result where it asks for that.
    pub program: bool,
    /// Whether its model can run commands in a shell.
    pub has_shell: bool,
    /// What it may call and read.
    pub tier: Tier,
}

/// Settings for a client; what is absent keeps its built-in value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProfileRules {
    /// The client whose built-in values apply, instead of those of the client's own name.
    pub profile: Option<String>,
    /// The maximum number of tokens of a first answer.
    pub budget_tokens: Option<u64>,
    /// The maximum number of tokens of follow-ups, pages and queries.
    pub follow_up_tokens: Option<u64>,
    /// The maximum number of tokens of a result that passes unchanged.
    pub line_tokens: Option<u64>,
    /// The maximum number of bytes of an answer.
    pub max_bytes: Option<u64>,
    /// The maximum number of tokens that a caller can request.
    pub cap_tokens: Option<u64>,
    /// What happens to a tool's `outputSchema`.
    pub output_schema: Option<OutputSchema>,
    /// Whether a shaped answer carries a link to the complete result.
    pub resource_link: Option<bool>,
    /// By how much counts are raised, in percent.
    pub count_percent: Option<u32>,
    /// Whether it is a program, which gets all of a result where it asks for that.
    pub program: Option<bool>,
    /// What it may call and read.
    pub tier: Option<Tier>,
}

impl ProfileRules {
    /// Returns a profile with these changes.
    pub fn over(&self, profile: Profile) -> Profile {
        let meter = self.count_percent.map(|percent| Meter::new(Encoding::O200k, Factor::percent(percent)));
        Profile {
            budget_tokens: self.budget_tokens.or(profile.budget_tokens),
            follow_up_tokens: self.follow_up_tokens.or(profile.follow_up_tokens),
            line_tokens: self.line_tokens.or(profile.line_tokens),
            max_bytes: self.max_bytes.unwrap_or(profile.max_bytes),
            cap_tokens: self.cap_tokens.unwrap_or(profile.cap_tokens),
            output_schema: self.output_schema.unwrap_or(profile.output_schema),
            resource_link: self.resource_link.unwrap_or(profile.resource_link),
            meter: meter.unwrap_or(profile.meter),
            program: self.program.unwrap_or(profile.program),
            tier: self.tier.unwrap_or(profile.tier),
            ..profile
        }
    }
}

/// The name of the reference profile for a model that takes 8,000 tokens at once.
pub const SMALL_MODEL: &str = "small-model";

/// The factor, in percent, on counts for models whose tokenizer is not public.
const PRIVATE_TOKENIZER_PERCENT: u32 = 130;

impl Profile {
    /// Returns the profile of an unknown client.
    pub fn strictest() -> Self {
        Self {
            budget_tokens: None,
            follow_up_tokens: None,
            line_tokens: None,
            max_bytes: 10_240,
            cap_tokens: 10_000,
            output_schema: OutputSchema::Strip,
            resource_link: false,
            meter: Meter::default(),
            runs_programs: false,
            program: false,
            has_shell: false,
            tier: Tier::Admin,
        }
    }

    /// Returns the profile of a client by the name it gives itself.
    pub fn of_client(name: &str) -> Self {
        let private_tokenizer = Meter::new(Encoding::O200k, Factor::percent(PRIVATE_TOKENIZER_PERCENT));
        let strictest = Self::strictest();
        match name {
            // Writes a result over 50,000 characters to a file and shows 2 kB of it.
            _ if name.starts_with("claude-code") => Self {
                max_bytes: 45_000,
                resource_link: true,
                meter: private_tokenizer,
                has_shell: true,
                ..strictest
            },
            // Cuts out the middle of results over 12,000 bytes for models it does not know. Makes types for programs from
            // outputSchema. Shows a resource_link to the model as JSON, so there is none.
            _ if name.starts_with("codex") => Self {
                max_bytes: 11_500,
                output_schema: OutputSchema::Keep,
                runs_programs: true,
                has_shell: true,
                ..strictest
            },
            // Shows the first 8,000 and last 32,000 characters of a result over 40,000. Reads only resources that were
            // listed before, so a new link would lead nowhere.
            _ if name.starts_with("gemini-cli") => {
                Self { max_bytes: 38_000, meter: private_tokenizer, has_shell: true, ..strictest }
            }
            // Shows the beginning of a result over 51,200 bytes or 2,000 lines.
            _ if name.starts_with("opencode") => Self { max_bytes: 48_000, has_shell: true, ..strictest },
            // Turns a resource_link into a link that the model can read.
            _ if name.starts_with("Visual Studio Code") => {
                Self { max_bytes: 50_000, resource_link: true, ..strictest }
            }
            // Has no limit of its own, and does not accept a resource_link.
            _ if name == "Zed" || name.starts_with("Zed ") => Self { max_bytes: 50_000, ..strictest },
            // A model with a context of 8,000 tokens, most of which its instructions, its tools and the conversation take.
            SMALL_MODEL => Self {
                budget_tokens: Some(1000),
                follow_up_tokens: Some(1500),
                line_tokens: Some(2000),
                cap_tokens: 3000,
                ..strictest
            },
            _ => strictest,
        }
    }

    /// Returns the profile of a client under settings of the user, the most specific first.
    pub fn under<'r>(client: &str, rules: impl DoubleEndedIterator<Item = &'r ProfileRules> + Clone) -> Self {
        let base = rules.clone().find_map(|rules| rules.profile.as_deref()).unwrap_or(client);
        rules.rev().fold(Self::of_client(base), |profile, rules| rules.over(profile))
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
            assert_eq!(profile.has_shell, known != "Zed", "{known}");
        }
    }
}
