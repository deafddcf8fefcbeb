//! What a client shows of a result by itself, and whether our answers stay below that.
//!
//! An answer never has more bytes than the client's profile says. So what can go wrong is a profile that was raised above
//! the client's own cut, a client whose cut was lowered, and a budget of tokens that the bytes leave no room for.

use tidegate_clients::{Client, Notation, Setting, setting};
use tidegate_core::budget::Budget;
use tidegate_gate::policy::{Policies, Rules};
use tidegate_gate::profile::Profile;
use tidegate_gate::{Caller, Habits};

use super::check::Check;
use super::configuration::{Configuration, budget_words};
use crate::install::Names;
use crate::ui;

/// Bytes of a token as Codex counts: seen with limits of 2,500, 10,000 and 25,000.
const CODEX_BYTES_PER_TOKEN: f64 = 4.8;
/// Most tokens that Claude Code shows, unless told otherwise.
const CLAUDE_TOKENS: u64 = 25_000;

/// Where a client cuts, and who says so.
struct Cut {
    bytes: Option<u64>,
    tokens: Option<u64>,
    /// What moves it, and where that is set.
    set: Option<String>,
}

/// Returns how a client is treated.
pub(super) fn profile(client: &Client, configuration: &Configuration) -> Profile {
    let mut caller = Caller::unknown(configuration.config.clients());
    caller.name(client.greets_as);
    caller.profile
}

/// Checks a client's limits; returns words for its line, and what is wrong.
pub(super) fn checks(
    client: &Client,
    files: &[std::path::PathBuf],
    configuration: &Configuration,
    names: &Names,
) -> (String, Vec<Check>) {
    let profile = profile(client, configuration);
    let (budget_tokens, max_bytes) = (variable("TIDEGATE_BUDGET"), variable("TIDEGATE_MAX_BYTES"));
    let run = Rules { budget_tokens, max_bytes, ..Rules::default() };
    let policies = configuration.config.policies("", run);
    let policy = policies.of_tool("");
    let (usual, most) = (policy.budget(&profile), policy.cap(&profile));
    let cut = Cut::of(client, files, names);
    let mut checks = Vec::new();
    if let Some(above) = cut.exceeded(usual) {
        let text = format!("answers of {} do not fit: {}", budget_words(usual), cut.words(&above));
        checks.push(Check::failure(client.name, text).fix(cut.fix(
            &above,
            "budget_tokens",
            client,
            configuration,
        )));
    } else if let Some(above) = cut.exceeded(most) {
        let text = format!(
            "answers that are asked to be long, {}, do not fit: {}",
            budget_words(most),
            cut.words(&above)
        );
        checks.push(Check::warning(client.name, text).fix(cut.fix(
            &above,
            "cap_tokens",
            client,
            configuration,
        )));
    }
    if checks.is_empty() {
        checks.extend(narrow(client.name, "", &policies, client, configuration));
    }
    let below = match cut.bytes {
        Some(bytes) if checks.is_empty() => format!(", below its cut at {} bytes", ui::grouped(bytes)),
        _ => String::new(),
    };
    (format!("answers of at most {}{below}", budget_words(usual)), checks)
}

/// A budget of tokens that the bytes leave no room for, in the rules of a server or, without a name, of all.
pub(super) fn narrow(
    subject: &str,
    server: &str,
    policies: &Policies,
    client: &Client,
    configuration: &Configuration,
) -> Option<Check> {
    let profile = profile(client, configuration);
    let budget = policies.of_tool("").budget(&profile);
    let wanted = Budget::of_tokens(budget.tokens).bytes;
    // Where bytes were set, that is what somebody wanted.
    let is_set =
        [&policies.run, &policies.server, &policies.defaults].iter().any(|rules| rules.max_bytes.is_some());
    if wanted <= budget.bytes || is_set {
        return None;
    }
    let section = ["server", server, "budget_tokens"];
    let at = match (policies.run.budget_tokens, policies.server.budget_tokens) {
        (Some(_), _) => Some("TIDEGATE_BUDGET or --budget".to_owned()),
        (None, Some(_)) => configuration.line(&section),
        (None, None) => configuration
            .line(&["defaults", "budget_tokens"])
            .or_else(|| configuration.line_of_client(client.greets_as, "budget_tokens")),
    };
    let text = format!(
        "a budget of {} tokens is not used up: {} is given at most {} bytes",
        budget.tokens,
        client.title,
        ui::grouped(budget.bytes.0)
    );
    let raise = match Habits::of_client(client.greets_as).cuts_at {
        // Its cut is known, and the profile is right below it.
        Some(_) => String::new(),
        None => format!(
            ", or max_bytes = {} under [client.\"{}\"] in {} if it shows so much",
            wanted.0,
            client.greets_as,
            configuration.file()
        ),
    };
    let at = at.map_or_else(String::new, |at| format!(" ({at})"));
    Some(
        Check::warning(subject, text)
            .fix(format!("a budget of at most {} tokens{at}{raise}", budget.bytes.0 / 5)),
    )
}

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.replace('_', "").parse().ok()
}

impl Cut {
    fn of(client: &Client, files: &[std::path::PathBuf], names: &Names) -> Self {
        let bytes = Habits::of_client(client.greets_as).cuts_at;
        let cut = Self { bytes, tokens: None, set: None };
        let find = |notation: Notation, keys: &[&str]| -> Option<(u64, String)> {
            files.iter().find_map(|file| {
                let Setting { written, line } = setting(file, notation, keys)?;
                let number = written.replace('_', "").parse().ok()?;
                Some((number, format!("{} in {}:{line}", keys.join("."), names.short(file))))
            })
        };
        match client.name {
            "claude-code" => match variable("MAX_MCP_OUTPUT_TOKENS") {
                Some(tokens) => {
                    Self { tokens: Some(tokens), set: Some("MAX_MCP_OUTPUT_TOKENS".into()), ..cut }
                }
                None => Self { tokens: Some(CLAUDE_TOKENS), ..cut },
            },
            "codex" => match find(Notation::Toml, &["tool_output_token_limit"]) {
                Some((tokens, set)) => {
                    let bytes = (tokens as f64 * CODEX_BYTES_PER_TOKEN) as u64;
                    Self { bytes: Some(bytes), set: Some(set), ..cut }
                }
                None => cut,
            },
            "gemini" => match find(Notation::Json, &["tools", "truncateToolOutputThreshold"]) {
                // Nothing is cut then.
                Some((0, _)) => Self { bytes: None, ..cut },
                Some((characters, set)) => Self { bytes: Some(characters), set: Some(set), ..cut },
                None => cut,
            },
            _ => cut,
        }
    }

    /// Returns what a budget is above, if it is.
    fn exceeded(&self, budget: Budget) -> Option<Above> {
        let bytes = self.bytes.filter(|bytes| budget.bytes.0 > *bytes).map(Above::Bytes);
        bytes.or_else(|| self.tokens.filter(|tokens| budget.tokens.0 > *tokens).map(Above::Tokens))
    }

    fn words(&self, above: &Above) -> String {
        let what = match above {
            Above::Bytes(bytes) => format!("it cuts at {} bytes", ui::grouped(*bytes)),
            Above::Tokens(tokens) => format!("it cuts at {} tokens", ui::grouped(*tokens)),
        };
        match &self.set {
            Some(set) => format!("{what} ({set})"),
            None => what,
        }
    }

    /// Says which line to change; `tokens` is the key that the tokens come from.
    fn fix(&self, above: &Above, tokens: &str, client: &Client, configuration: &Configuration) -> String {
        let (key, most, everywhere) = match above {
            // What is set for a client bounds what is set for everything.
            Above::Bytes(bytes) => ("max_bytes", (bytes / 100 * 95).max(Budget::LEAST_BYTES.0), None),
            Above::Tokens(most) => {
                let most = (*most).max(Budget::LEAST_TOKENS.0);
                (tokens, most, configuration.line(&["defaults", tokens]))
            }
        };
        let ours = match everywhere.or_else(|| configuration.line_of_client(client.greets_as, key)) {
            Some(line) => format!("set {key} = {most} at {line}"),
            None => {
                format!(
                    "set {key} = {most} under [client.\"{}\"] in {}",
                    client.greets_as,
                    configuration.file()
                )
            }
        };
        match &self.set {
            Some(set) => format!("raise {set}, or {ours}"),
            None => ours,
        }
    }
}

/// Which cut a budget is above.
enum Above {
    Bytes(u64),
    Tokens(u64),
}
