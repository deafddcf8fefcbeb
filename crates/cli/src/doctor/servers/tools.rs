//! The tools of a server: how many, what listing them costs, and which conflict with ours.

use serde_json::{Value, json};
use tidegate_clients::Launch;
use tidegate_clients::install::FoundServer;
use tidegate_core::Tokens;
use tidegate_core::envelope::Handle;
use tidegate_core::measure::Meter;
use tidegate_gate::ClientBehavior;
use tidegate_gate::conflict::{Conflict, conflicts, has_output_schema};
use tidegate_gate::policy::{Policies, Rules};
use tidegate_gate::style::Style;

use super::super::check::Check;
use super::super::configuration::Configuration;
use super::super::limits;

/// The maximum number of tool names to show; a server may have hundreds.
const MAX_SHOWN_NAMES: usize = 3;

/// Returns the checks of a server that listed its tools.
pub(super) fn checks(
    subject: &str,
    found: &FoundServer,
    launch: &Launch,
    tools: &[Value],
    configuration: &Configuration,
) -> Vec<Check> {
    let options = RunOptions(launch);
    let observes = options.is_set("--observe", "TIDEGATE_OBSERVE");
    let name = options.value("--server", "TIDEGATE_SERVER").unwrap_or_else(|| found.server().to_owned());
    let policies = configuration.config.policies(&name, options.rules());
    let renamed = tools.iter().any(|tool| conflicts(tool, &policies.of_tool("")).iter().any(is_reader));
    let ours = |tool: &Value| !observes && !renamed && tool["name"] == Handle::DEFAULT_QUERY_TOOL;
    let theirs = tools.iter().filter(|tool| !ours(tool)).count() - usize::from(renamed);
    let cost: Tokens = tools.iter().map(list_cost).sum();
    let count = match theirs {
        1 => "1 tool".to_owned(),
        theirs => format!("{theirs} tools"),
    };
    let with = if observes { " (--observe)" } else { ", including tidegate's" };
    let mut checks = vec![
        Check::fine(subject, format!("starts, {count}, {cost} tokens to list them{with}"))
            .with("tools", theirs)
            .with("list_tokens", cost.0),
    ];
    if observes {
        return checks;
    }
    checks.extend(name_conflicts(subject, tools, &policies));
    checks.extend(validated_schemas(subject, found, tools, configuration));
    if policies.server.budget_tokens.or(policies.run.budget_tokens).is_some() {
        checks.extend(limits::unreachable_budget(subject, &name, &policies, found.client, configuration));
    }
    checks
}

fn is_reader(conflict: &Conflict) -> bool {
    matches!(conflict, Conflict::Reader(_))
}

/// Returns the tokens of a tool's entry in the list, which the model reads in every conversation.
fn list_cost(tool: &Value) -> Tokens {
    let entry = json!({
        "name": tool["name"],
        "description": tool["description"],
        "parameters": tool["inputSchema"],
    });
    Meter::default().count(&entry.to_string())
}

/// Returns notes on names that the server and tidegate both use. tidegate works around each of them.
fn name_conflicts(subject: &str, tools: &[Value], policies: &Policies) -> Vec<Check> {
    let mut checks = Vec::new();
    let (mut prefixed, mut outputs) = (Vec::new(), Vec::new());
    for tool in tools {
        let name = tool["name"].as_str().unwrap_or_default();
        for conflict in conflicts(tool, &policies.of_tool(name)) {
            match conflict {
                Conflict::Reader(other) => checks.push(Check::note(
                    subject,
                    format!("has its own tool {}; tidegate's is called {other}", Handle::DEFAULT_QUERY_TOOL),
                )),
                Conflict::Arguments(names) => prefixed.push(format!("{name} ({})", names.join(", "))),
                Conflict::Output => outputs.push(name.to_owned()),
            }
        }
    }
    if !prefixed.is_empty() {
        let text = format!(
            "tools that have arguments with the same names as tidegate's, which get the prefix tg_: {}",
            some_names(&prefixed)
        );
        checks.push(Check::note(subject, text));
    }
    if !outputs.is_empty() {
        let text = format!(
            "tools with their own output argument, which replaces tidegate's: {}",
            some_names(&outputs)
        );
        checks.push(Check::note(subject, text));
    }
    checks
}

/// Returns a failure if the client validates results and its tools list an `outputSchema`: a shaped answer has no
/// `structuredContent`, so the client would reject it.
fn validated_schemas(
    subject: &str,
    found: &FoundServer,
    tools: &[Value],
    configuration: &Configuration,
) -> Option<Check> {
    let client = found.client;
    let keeps_schema =
        limits::profile(client, configuration).output_schema == tidegate_gate::profile::OutputSchema::Keep;
    if !keeps_schema || !ClientBehavior::of_client(client.client_info_name).checks_schemas {
        return None;
    }
    let names: Vec<String> = tools
        .iter()
        .filter(|tool| has_output_schema(tool))
        .filter_map(|tool| tool["name"].as_str().map(str::to_owned))
        .collect();
    if names.is_empty() {
        return None;
    }
    let text = format!(
        "{} validates results against outputSchema, so shaped answers of these tools become errors: {}",
        client.title,
        some_names(&names)
    );
    let line = configuration.line_of_client(client.client_info_name, "output_schema").unwrap_or_default();
    Some(Check::failure(subject, text).fix(format!("set output_schema = \"strip\" or \"union\" at {line}")))
}

fn some_names(names: &[String]) -> String {
    let shown = names.iter().take(MAX_SHOWN_NAMES).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(MAX_SHOWN_NAMES) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// The options of `tidegate run` in a client's entry, as flags or variables.
struct RunOptions<'l>(&'l Launch);

impl RunOptions<'_> {
    /// Returns the arguments of `tidegate run`, without the command of the server.
    fn flags(&self) -> &[String] {
        let words = &self.0.words;
        let from = words.iter().position(|word| word == "run").map_or(words.len(), |at| at + 1);
        let flags = &words[from..];
        &flags[..flags.iter().position(|word| word == "--").unwrap_or(flags.len())]
    }

    fn value(&self, flag: &str, variable: &str) -> Option<String> {
        let flags = self.flags();
        let written = flags.iter().enumerate().find_map(|(at, word)| match word.strip_prefix(flag)? {
            "" => flags.get(at + 1).cloned(),
            rest => rest.strip_prefix('=').map(str::to_owned),
        });
        written.or_else(|| self.variable(variable))
    }

    fn variable(&self, variable: &str) -> Option<String> {
        let own = self.0.variables.iter().find(|(name, _)| name == variable).map(|(_, value)| value.clone());
        let passed = self.0.passed.as_ref().is_none_or(|passed| passed.iter().any(|name| name == variable));
        own.or_else(|| std::env::var(variable).ok().filter(|_| passed))
    }

    fn is_set(&self, flag: &str, variable: &str) -> bool {
        let falsey = ["", "0", "false", "f", "no", "n", "off"];
        self.flags().iter().any(|word| word == flag)
            || self.variable(variable).is_some_and(|value| !falsey.contains(&value.to_lowercase().as_str()))
    }

    fn rules(&self) -> Rules {
        let number = |flag, variable| self.value(flag, variable)?.replace('_', "").parse().ok();
        Rules {
            budget_tokens: number("--budget", "TIDEGATE_BUDGET"),
            follow_up_tokens: number("--follow-up", "TIDEGATE_FOLLOW_UP"),
            line_tokens: number("--line", "TIDEGATE_LINE"),
            max_bytes: number("--max-bytes", "TIDEGATE_MAX_BYTES"),
            style: self.value("--style", "TIDEGATE_STYLE").as_deref().and_then(Style::named),
            ..Rules::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_an_entry() {
        let words = ["tidegate", "run", "--server=a", "--budget", "3_000", "--", "x", "--style", "probe"];
        let launch = Launch {
            words: words.map(str::to_owned).to_vec(),
            variables: vec![
                ("TIDEGATE_OBSERVE".into(), "off".into()),
                ("TIDEGATE_MAX_BYTES".into(), "9000".into()),
            ],
            passed: Some(Vec::new()),
            folder: None,
        };
        let options = RunOptions(&launch);
        assert_eq!(options.value("--server", "TIDEGATE_SERVER").as_deref(), Some("a"));
        let rules = options.rules();
        assert_eq!((rules.budget_tokens, rules.max_bytes, rules.style), (Some(3000), Some(9000), None));
        assert!(!options.is_set("--observe", "TIDEGATE_OBSERVE"));
    }
}
