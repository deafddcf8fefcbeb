//! `tidegate config show`: the values in effect, and where each comes from.

use clap::Args;
use serde_json::{Map, Value as Json, json};
use tidegate_config::{
    Config, ConfigFile, DefaultValue, Effective, EffectiveValue, FileOwner, KEYS, Key, KeyGroup, Origin,
    Override, Subject, Value,
};
use tidegate_core::budget::Budget;
use tidegate_gate::policy::Policy;
use tidegate_gate::profile::Profile;
use tidegate_gate::style::Style;

use super::is_from_environment;
use crate::cli::Format;
use crate::error::CommandError;
use crate::overrides::Overrides;
use crate::ui;

/// Show the values in effect, and where each comes from
///
/// The values are those for all tools of all servers, or for the named server, tool or client. A value comes from a flag,
/// the environment, a line of a file, the built-in settings for a client, the category of a tool, or the default.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tidegate config show\n  tidegate config show --server github --tool list_issues\n  \
    tidegate config show --client codex-mcp-client --format json"
)]
pub(super) struct Show {
    /// Show the values for a server, named as in tidegate run --server
    #[arg(long, value_name = "NAME", env = "TIDEGATE_SERVER")]
    server: Option<String>,

    /// Show the values for a tool of the server
    #[arg(long, value_name = "NAME", requires = "server")]
    tool: Option<String>,

    /// Show the values for a client, by the name it sends in initialize, such as claude-code
    #[arg(long, value_name = "NAME")]
    client: Option<String>,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    #[command(flatten, next_help_heading = "Settings, as passed to tidegate run")]
    overrides: Overrides,
}

/// Runs the command.
pub(super) fn run(arguments: &Show) -> Result<(), CommandError> {
    let config = Config::load(arguments.overrides.config.as_deref())?;
    let overrides: Vec<Override> = arguments
        .overrides
        .values()
        .into_iter()
        .map(|(key, flag, value)| Override { key, value, from_environment: is_from_environment(flag) })
        .collect();
    let subject = Subject {
        server: arguments.server.as_deref(),
        tool: arguments.tool.as_deref(),
        client: arguments.client.as_deref(),
    };
    let effective = Effective::new(&config, subject, &overrides);
    match arguments.format {
        Format::Json => ui::json(&arguments.json(&config, &effective)),
        Format::Text => ui::data(arguments.text(&config, &effective).as_bytes()),
    }
}

impl Show {
    fn json(&self, config: &Config, effective: &Effective<'_>) -> Json {
        let group = |values: &[EffectiveValue<'_>]| -> Map<String, Json> {
            values.iter().map(|value| (value.key.name.to_owned(), value_json(value))).collect()
        };
        let (policy, profile) = (effective.policy(), effective.profile());
        let [budget, follow_up, line, cap] = budgets(&policy, &profile);
        json!({
            "files": config.files().iter().map(|file| &file.path).collect::<Vec<_>>(),
            "server": self.server,
            "tool": self.tool,
            "client": self.client,
            "answer": {
                "tokens": budget.tokens.0,
                "bytes": budget.bytes.0,
                "follow_up_tokens": follow_up.tokens.0,
                "follow_up_bytes": follow_up.bytes.0,
                "line_tokens": line.tokens.0,
                "line_bytes": line.bytes.0,
                "cap_tokens": cap.tokens.0,
                "cap_bytes": cap.bytes.0,
            },
            "rules": group(&effective.rules),
            "profile": group(&effective.client),
            "store": group(&effective.store),
            "objects": group(&effective.objects),
        })
    }

    fn text(&self, config: &Config, effective: &Effective<'_>) -> String {
        let (policy, profile) = (effective.policy(), effective.profile());
        let [budget, follow_up, line, cap] = budgets(&policy, &profile)
            .map(|budget| format!("{} tokens, {} bytes", budget.tokens, budget.bytes));
        let file_text = |file: &ConfigFile| match file.owner {
            FileOwner::Project => format!("{} (the project's)", file.path.display()),
            FileOwner::User => file.path.display().to_string(),
        };
        let files: Vec<String> = config.files().iter().map(file_text).collect();
        let files = if files.is_empty() { "none".to_owned() } else { files.join(", ") };
        let named = |name: &Option<String>, any: &str| name.clone().unwrap_or_else(|| any.to_owned());
        let mut head = vec![
            ["files".to_owned(), files],
            ["server".to_owned(), named(&self.server, "any")],
            ["tool".to_owned(), named(&self.tool, "any")],
            ["client".to_owned(), named(&self.client, "any unknown client")],
            ["first answer".to_owned(), budget],
            ["follow-up".to_owned(), follow_up],
            ["on request".to_owned(), cap],
            ["passes up to".to_owned(), line],
        ];
        let patterns = effective.tool_patterns();
        if self.tool.is_none() && !patterns.is_empty() {
            head.push(["see --tool".to_owned(), patterns.join(", ")]);
        }
        let mut out = ui::table(&head, &[]);
        for (title, values) in [
            ("Rules for the tool", &effective.rules),
            ("Settings for the client", &effective.client),
            ("The store", &effective.store),
            ("The object store", &effective.objects),
        ] {
            let rows: Vec<[String; 3]> = values.iter().map(row).collect();
            out.push_str(&format!("\n{title}\n{}", ui::table(&rows, &[])));
        }
        let name = |key: &Key| match key.group {
            KeyGroup::Store => format!("store.{}", key.name),
            KeyGroup::Objects => format!("store.objects.{}", key.name),
            KeyGroup::Upstream => "anything of upstream.NAME".to_owned(),
            KeyGroup::Gateway | KeyGroup::GatewayKey | KeyGroup::Issuer | KeyGroup::Role => {
                "anything of gateway".to_owned()
            }
            _ => key.name.to_owned(),
        };
        let mut user_only: Vec<String> = KEYS.iter().filter(|key| key.user_only).map(name).collect();
        // Of a gateway and the servers behind it, that is every key.
        user_only.dedup();
        out.push_str(&format!("\nA project's file may not set {}.\n", user_only.join(", ")));
        out
    }
}

/// Returns what a first answer, a follow-up, a result that passes and the largest answer on request may cost.
fn budgets(policy: &Policy, profile: &Profile) -> [Budget; 4] {
    // Only the style overview has a line.
    let line = match policy.style {
        Style::Overview => policy.line(profile),
        _ => policy.budget(profile),
    };
    [policy.budget(profile), policy.follow_up(profile), line, policy.cap(profile)]
}

fn row(effective: &EffectiveValue<'_>) -> [String; 3] {
    let value = effective.value.as_ref().map_or_else(|| "-".to_owned(), Value::to_string);
    let origin = match (&effective.value, effective.key.default) {
        (None, DefaultValue::Described(words)) => format!("default: {words}"),
        _ => effective.origin.to_string(),
    };
    [format!("  {}", effective.key.name), value, origin]
}

fn value_json(effective: &EffectiveValue<'_>) -> Json {
    let mut report = match effective.origin {
        Origin::Flag(flag) => json!({"from": "flag", "flag": flag}),
        Origin::Variable(variable) => json!({"from": "environment", "variable": variable}),
        Origin::File { file, section, line } => {
            json!({"from": "file", "file": file.path, "line": line, "section": section.heading.to_string()})
        }
        Origin::BuiltIn => json!({"from": "client"}),
        Origin::Category(category) => json!({"from": "category", "category": category.to_string()}),
        Origin::Default => json!({"from": "default"}),
    };
    report["user_only"] = json!(effective.key.user_only);
    report["value"] = effective.value.as_ref().map_or(Json::Null, Value::json);
    if let (None, DefaultValue::Described(words)) = (&effective.value, effective.key.default) {
        report["default"] = json!(words);
    }
    report
}
