use std::path::Path;

use super::*;
use crate::locate::FileOwner;

/// Settings in every kind of section, in two files.
const PROJECT: &str = "\
[defaults]
budget_tokens = 1000
max_lines = 5
[server.github]
category_budgets = true
[server.github.tool.\"*\"]
page_size = 7
style = \"contract\"
[server.github.tool.\"list_*\"]
fields = [\"id\", \"title\"]
page_size = 5
[client.\"*\"]
max_bytes = 9000
[client.codex-mcp-client]
cap_tokens = 20000
";
const USER: &str = "\
[defaults]
budget_tokens = 3000
ttl_seconds = 60
[server.github]
rows = \".items\"
[server.github.tool.list_issues]
style = \"probe\"
[client.\"codex*\"]
cap_tokens = 15000
budget_tokens = 700
";

fn config() -> Config {
    let mut mistakes = Vec::new();
    let files = [("p.toml", PROJECT), ("u.toml", USER)]
        .map(|(name, text)| ConfigFile::read(Path::new(name), FileOwner::User, text, &mut mistakes));
    assert!(mistakes.is_empty());
    Config::of_files(files.into())
}

fn number(key: &'static str, number: u64, from_environment: bool) -> Override {
    Override { key, value: Value::Number(number), from_environment }
}

fn rules(overrides: &[Override]) -> Rules {
    let mut rules = Rules::default();
    overrides.iter().for_each(|set| set_rule(&mut rules, set.key, &set.value));
    rules
}

/// The values make the policy and the profile that `tidegate run` works with.
#[test]
fn values_make_the_policy_and_profile_of_a_run() {
    let config = config();
    let overrides = [number("budget_tokens", 800, false), number("ttl_seconds", 300, false)];
    for server in ["github", "other"] {
        for tool in ["list_issues", "list_all", "get_issue", "issues_list"] {
            for client in ["codex-mcp-client", "claude-code", "somebody"] {
                for set in [&[][..], &overrides] {
                    let subject = Subject { server: Some(server), tool: Some(tool), client: Some(client) };
                    let effective = Effective::new(&config, subject, set);
                    let policies = config.policies(server, rules(set));
                    assert_eq!(effective.policy(), policies.of_tool(tool), "{server} {tool} {set:?}");
                    let profile = effective.profile();
                    for one in &effective.client {
                        assert_eq!(
                            one.value,
                            client_value(&profile, one.key.name),
                            "{client} {}",
                            one.key.name
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn every_value_has_its_origin() {
    let config = config();
    let subject =
        Subject { server: Some("github"), tool: Some("list_issues"), client: Some("codex-mcp-client") };
    let effective = Effective::new(&config, subject, &[number("max_bytes", 8000, false)]);
    let line = |values: &[EffectiveValue<'_>], name: &str| {
        let one = values.iter().find(|one| one.key.name == name).unwrap();
        format!("{} {}", one.value.as_ref().map_or_else(|| "-".to_owned(), Value::to_string), one.origin)
    };
    for (name, expected) in [
        ("budget_tokens", "1000 p.toml:2 [defaults]"),
        ("max_bytes", "8000 --max-bytes"),
        ("cap_tokens", "20000 p.toml:15 [client.codex-mcp-client]"),
        ("ttl_seconds", "60 u.toml:3 [defaults]"),
        ("style", "\"probe\" u.toml:7 [server.github.tool.list_issues]"),
        ("fields", "[\"id\", \"title\"] p.toml:10 [server.github.tool.\"list_*\"]"),
        ("page_size", "5 p.toml:11 [server.github.tool.\"list_*\"]"),
        ("rows", "\".items\" u.toml:5 [server.github]"),
        ("kind", "- default"),
        ("max_items", "10 default"),
    ] {
        assert_eq!(line(&effective.rules, name), expected, "{name}");
    }
    for (name, expected) in [
        ("budget_tokens", "700 u.toml:10 [client.\"codex*\"]"),
        ("max_bytes", "9000 p.toml:13 [client.\"*\"]"),
        ("output_schema", "\"keep\" built in for this client"),
        ("resource_link", "false default"),
    ] {
        assert_eq!(line(&effective.client, name), expected, "{name}");
    }
    let from_environment = Effective::new(&config, subject, &[number("max_bytes", 8000, true)]);
    assert_eq!(line(&from_environment.rules, "max_bytes"), "8000 TIDEGATE_MAX_BYTES");
    for (tool, expected) in
        [("trace_get", "1536 category_budgets: status"), ("list_users", "2048 category_budgets: list")]
    {
        let subject = Subject { tool: Some(tool), ..subject };
        assert_eq!(line(&Effective::new(&config, subject, &[]).rules, "max_bytes"), expected, "{tool}");
    }
    let other = Subject { tool: Some("echo"), ..subject };
    assert_eq!(line(&Effective::new(&config, other, &[]).rules, "max_bytes"), "- default");
}

#[test]
fn without_a_tool_the_sections_of_tools_do_not_apply() {
    let config = config();
    let effective = Effective::new(&config, Subject { server: Some("github"), ..Subject::default() }, &[]);
    assert_eq!(effective.tool_patterns(), ["*", "list_*", "list_issues"]);
    let page_size = effective.rules.iter().find(|one| one.key.name == "page_size").unwrap();
    assert!(page_size.value.is_none() && matches!(page_size.origin, Origin::Default));
}
