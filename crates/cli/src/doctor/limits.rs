//! The limits at which clients truncate results, and whether our answers stay below them.
//!
//! An answer never has more bytes than the client's profile allows. Three things can go wrong: the profile was raised above
//! the client's limit, the client's limit was lowered, or the byte limit makes the token budget unreachable.

use tidegate_clients::{Client, Notation, Setting, setting};
use tidegate_config::Heading;
use tidegate_core::budget::Budget;
use tidegate_gate::policy::{Policies, Rules};
use tidegate_gate::profile::Profile;
use tidegate_gate::{Caller, ClientBehavior};

use super::check::Check;
use super::configuration::{Configuration, budget_text};
use crate::system::SystemPaths;
use crate::ui;

/// Bytes per token as Codex counts, measured with limits of 2,500, 10,000 and 25,000.
const CODEX_BYTES_PER_TOKEN: f64 = 4.8;
/// The token limit of Claude Code, unless it is configured.
const CLAUDE_DEFAULT_TOKENS: u64 = 25_000;

/// Where a client truncates results.
struct ClientLimit {
    bytes: Option<u64>,
    tokens: Option<u64>,
    /// The setting that the limit comes from, and where it is; `None` if the limit is the client's default.
    setting: Option<String>,
}

/// Returns the profile of a client.
pub(super) fn profile(client: &Client, configuration: &Configuration) -> Profile {
    let mut caller = Caller::unknown(configuration.config.clients());
    caller.name(client.client_info_name);
    caller.profile
}

/// Checks a client's limits; returns the text for the client's own line, and the checks that found a problem.
pub(super) fn checks(
    client: &Client,
    files: &[std::path::PathBuf],
    configuration: &Configuration,
    paths: &SystemPaths,
) -> (String, Vec<Check>) {
    let profile = profile(client, configuration);
    let run = Rules {
        budget_tokens: variable("TIDEGATE_BUDGET"),
        follow_up_tokens: variable("TIDEGATE_FOLLOW_UP"),
        line_tokens: variable("TIDEGATE_LINE"),
        max_bytes: variable("TIDEGATE_MAX_BYTES"),
        ..Rules::default()
    };
    let policies = configuration.config.policies("", run);
    let policy = policies.of_tool("");
    let (budget, follow_up) = (policy.budget(&profile), policy.follow_up(&profile));
    let limit = ClientLimit::of(client, files, paths);
    // Only the first that exceeds the limit is reported.
    let parts = [
        ("answers of ", "", "budget_tokens", budget),
        ("follow-ups of ", "", "follow_up_tokens", follow_up),
        ("results that pass, of up to ", ",", "line_tokens", policy.line(&profile)),
        ("answers on request, of up to ", ",", "cap_tokens", policy.cap(&profile)),
    ];
    let exceeding = parts.into_iter().find_map(|(what, comma, key, budget)| {
        let exceeded = limit.exceeded_by(budget)?;
        let text = format!("{what}{}{comma} exceed {}", budget_text(budget), limit.text(&exceeded));
        let check = match key {
            "budget_tokens" | "follow_up_tokens" => Check::failure(client.name, text),
            _ => Check::warning(client.name, text),
        };
        Some(check.fix(limit.fix(&exceeded, key, client, configuration)))
    });
    let mut checks: Vec<Check> = exceeding.into_iter().collect();
    if checks.is_empty() {
        checks.extend(unreachable_budget(client.name, "", &policies, client, configuration));
    }
    let below = match limit.bytes {
        Some(bytes) if checks.is_empty() => format!(", below its limit of {} bytes", ui::grouped(bytes)),
        _ => String::new(),
    };
    let follow_ups = match follow_up == budget {
        true => String::new(),
        false => format!(", follow-ups of {}", budget_text(follow_up)),
    };
    (format!("answers of at most {}{follow_ups}{below}", budget_text(budget)), checks)
}

/// Checks for a token budget that the byte limit makes unreachable, in the rules of a server, or of all servers if
/// `server` is empty.
pub(super) fn unreachable_budget(
    subject: &str,
    server: &str,
    policies: &Policies,
    client: &Client,
    configuration: &Configuration,
) -> Option<Check> {
    let profile = profile(client, configuration);
    let budget = policies.of_tool("").budget(&profile);
    let wanted = Budget::of_tokens(budget.tokens).bytes;
    // A byte limit that was set on purpose needs no warning.
    let is_set =
        [&policies.run, &policies.server, &policies.defaults].iter().any(|rules| rules.max_bytes.is_some());
    if wanted <= budget.bytes || is_set {
        return None;
    }
    let place = match (policies.run.budget_tokens, policies.server.budget_tokens) {
        (Some(_), _) => Some("TIDEGATE_BUDGET or --budget".to_owned()),
        (None, Some(_)) => configuration.line(&Heading::Server(server.to_owned()), "budget_tokens"),
        (None, None) => configuration
            .line(&Heading::Defaults, "budget_tokens")
            .or_else(|| configuration.line_of_client(client.client_info_name, "budget_tokens")),
    };
    let text = format!(
        "a budget of {} tokens cannot be reached: {} gets at most {} bytes",
        budget.tokens,
        client.title,
        ui::grouped(budget.bytes.0)
    );
    let raise = match ClientBehavior::of_client(client.client_info_name).cuts_at {
        // Its limit is known, and the profile is just below it.
        Some(_) => String::new(),
        None => format!(
            ", or max_bytes = {} under [client.\"{}\"] in {} if it shows that much",
            wanted.0,
            client.client_info_name,
            configuration.file()
        ),
    };
    let place = place.map_or_else(String::new, |place| format!(" ({place})"));
    Some(
        Check::warning(subject, text)
            .fix(format!("set a budget of at most {} tokens{place}{raise}", budget.bytes.0 / 5)),
    )
}

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.replace('_', "").parse().ok()
}

impl ClientLimit {
    fn of(client: &Client, files: &[std::path::PathBuf], paths: &SystemPaths) -> Self {
        let bytes = ClientBehavior::of_client(client.client_info_name).cuts_at;
        let limit = Self { bytes, tokens: None, setting: None };
        let find = |notation: Notation, keys: &[&str]| -> Option<(u64, String)> {
            files.iter().find_map(|file| {
                let Setting { written, line } = setting(file, notation, keys)?;
                let number = written.replace('_', "").parse().ok()?;
                Some((number, format!("{} in {}:{line}", keys.join("."), paths.short(file))))
            })
        };
        match client.name {
            "claude-code" => match variable("MAX_MCP_OUTPUT_TOKENS") {
                Some(tokens) => {
                    Self { tokens: Some(tokens), setting: Some("MAX_MCP_OUTPUT_TOKENS".into()), ..limit }
                }
                None => Self { tokens: Some(CLAUDE_DEFAULT_TOKENS), ..limit },
            },
            "codex" => match find(Notation::Toml, &["tool_output_token_limit"]) {
                Some((tokens, place)) => {
                    let bytes = (tokens as f64 * CODEX_BYTES_PER_TOKEN) as u64;
                    Self { bytes: Some(bytes), setting: Some(place), ..limit }
                }
                None => limit,
            },
            "gemini" => match find(Notation::Json, &["tools", "truncateToolOutputThreshold"]) {
                // 0 switches truncation off.
                Some((0, _)) => Self { bytes: None, ..limit },
                Some((characters, place)) => Self { bytes: Some(characters), setting: Some(place), ..limit },
                None => limit,
            },
            _ => limit,
        }
    }

    /// Returns the limit that a budget exceeds, if any.
    fn exceeded_by(&self, budget: Budget) -> Option<Exceeded> {
        let bytes = self.bytes.filter(|bytes| budget.bytes.0 > *bytes).map(Exceeded::Bytes);
        bytes.or_else(|| self.tokens.filter(|tokens| budget.tokens.0 > *tokens).map(Exceeded::Tokens))
    }

    fn text(&self, exceeded: &Exceeded) -> String {
        let text = match exceeded {
            Exceeded::Bytes(bytes) => format!("its limit of {} bytes", ui::grouped(*bytes)),
            Exceeded::Tokens(tokens) => format!("its limit of {} tokens", ui::grouped(*tokens)),
        };
        match &self.setting {
            Some(setting) => format!("{text} ({setting})"),
            None => text,
        }
    }

    /// Returns which setting to change; `tokens_key` is the key that sets the tokens.
    fn fix(
        &self,
        exceeded: &Exceeded,
        tokens_key: &str,
        client: &Client,
        configuration: &Configuration,
    ) -> String {
        let (key, value, default_line) = match exceeded {
            // A client's max_bytes caps the one in [defaults].
            Exceeded::Bytes(bytes) => ("max_bytes", (bytes / 100 * 95).max(Budget::MIN_BYTES.0), None),
            Exceeded::Tokens(tokens) => {
                let tokens = (*tokens).max(Budget::MIN_TOKENS.0);
                (tokens_key, tokens, configuration.line(&Heading::Defaults, tokens_key))
            }
        };
        let ours = match default_line.or_else(|| configuration.line_of_client(client.client_info_name, key)) {
            Some(line) => format!("set {key} = {value} at {line}"),
            None => {
                format!(
                    "set {key} = {value} under [client.\"{}\"] in {}",
                    client.client_info_name,
                    configuration.file()
                )
            }
        };
        match &self.setting {
            Some(setting) => format!("raise {setting}, or {ours}"),
            None => ours,
        }
    }
}

/// The limit that a budget exceeds.
enum Exceeded {
    Bytes(u64),
    Tokens(u64),
}
