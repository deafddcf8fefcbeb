use std::path::Path;

use clap::Parser;

use super::*;

/// Something for every place where rules can stand, in two files.
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
        .map(|(name, text)| File::read(Path::new(name), text, &mut mistakes));
    assert!(mistakes.is_empty());
    Config { files: files.into() }
}

#[derive(Parser)]
struct Alone {
    #[command(flatten)]
    show: Show,
}

fn arguments(flags: &[&str]) -> Show {
    Alone::parse_from([&["show"], flags].concat()).show
}

/// Whatever is asked for, what is shown makes the policy and the profile that `tidegate run` works with.
#[test]
fn what_is_shown_is_what_holds() {
    let config = config();
    for server in ["github", "other"] {
        for tool in ["list_issues", "list_all", "get_issue", "issues_list"] {
            for client in ["codex-mcp-client", "claude-code", "somebody"] {
                for set in [&[][..], &["--budget", "800", "--ttl", "5m"]] {
                    let named = ["--server", server, "--tool", tool, "--client", client];
                    let arguments = arguments(&[&named[..], set].concat());
                    let shown = Shown::new(&config, &arguments, &|_| false);
                    let policies = config.policies(server, arguments.overrides.rules());
                    assert_eq!(shown.policy(), policies.of_tool(tool), "{server} {tool} {set:?}");
                    let profile = shown.profile();
                    for held in &shown.client {
                        assert_eq!(
                            held.value,
                            of_profile(&profile, held.key.name),
                            "{client} {}",
                            held.key.name
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
    let named = ["--server", "github", "--tool", "list_issues", "--client", "codex-mcp-client"];
    let arguments = arguments(&[&named[..], &["--max-bytes", "8000"]].concat());
    let shown = Shown::new(&config, &arguments, &|_| false);
    let row = |held: &[Held<'_>], name: &str| {
        let held = held.iter().find(|held| held.key.name == name).unwrap();
        let [_, value, origin] = held.row();
        format!("{value} {origin}")
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
        ("kind", "- default: recognised in each result"),
        ("max_items", "10 default"),
    ] {
        assert_eq!(row(&shown.rules, name), expected, "{name}");
    }
    for (name, expected) in [
        ("budget_tokens", "700 u.toml:10 [client.\"codex*\"]"),
        ("max_bytes", "9000 p.toml:13 [client.\"*\"]"),
        ("output_schema", "\"keep\" built in for this client"),
        ("resource_link", "false default"),
    ] {
        assert_eq!(row(&shown.client, name), expected, "{name}");
    }
    let from_environment = Shown::new(&config, &arguments, &|flag| flag == "--max-bytes");
    assert_eq!(row(&from_environment.rules, "max_bytes"), "8000 TIDEGATE_MAX_BYTES");
}

#[test]
fn without_a_tool_only_what_holds_for_all_is_shown() {
    let config = config();
    let arguments = arguments(&["--server", "github"]);
    let text = Shown::new(&config, &arguments, &|_| false).text();
    assert!(text.contains("\nsee --tool  *, list_*, list_issues\n"), "{text}");
    assert!(
        text.contains("\n  page_size             -              default: as many as typically fit\n"),
        "{text}"
    );
}
