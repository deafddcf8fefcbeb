//! What is shown of a file: enough to see the change, and no secret.

use crate::home::{FIXTURES, Home};

/// Installs and uninstalls; returns the masked texts of both diffs.
fn shown(name: &str, text: &str) -> [String; 4] {
    let mut home = Home::with(name, text);
    home.options.without_login = true;
    let plan = home.install();
    let (before, after) = plan.changes[0].shown();
    let undone = home.uninstall();
    let (wrapped, back) = undone.reversals[0].shown().unwrap();
    [before, after, wrapped, back]
}

#[test]
fn secrets_of_every_client_are_masked() {
    for (name, text) in FIXTURES {
        for shown in shown(name, text) {
            for secret in ["literal-secret", "ZDk2Zj", "acme"] {
                assert!(!shown.contains(secret), "{name}: {secret}: {shown}");
            }
            assert!(
                !shown.is_empty() && shown.lines().count() == text.lines().count() || shown.contains("run")
            );
        }
    }
}

#[test]
fn only_a_whole_reference_in_the_clients_syntax_is_shown() {
    let entry = |key: &str, value: &str| {
        format!(r#"{{ "{key}": {{ "a": {{ "command": "x", "env": {{ "K": "{value}" }} }} }} }}"#)
    };
    for (file, key, value, expected) in [
        ("project/.mcp.json", "mcpServers", "${KEY}", true),
        ("project/.mcp.json", "mcpServers", "${KEY:-hidden}", false),
        ("project/.mcp.json", "mcpServers", "Bearer $hidden{x}", false),
        ("project/.mcp.json", "mcpServers", "$KEY", false),
        (".gemini/settings.json", "mcpServers", "$KEY", true),
        ("project/.vscode/mcp.json", "servers", "${input:key}", true),
        (".config/Claude/claude_desktop_config.json", "mcpServers", "${KEY}", false),
    ] {
        let texts = shown(file, &entry(key, value));
        assert!(texts.iter().all(|text| text.contains(value) == expected), "{file} {value}: {texts:?}");
    }
}

/// Zed keeps a server's settings in its entry, Claude Code its own API key in the file, and arguments may be secrets.
#[test]
fn secrets_elsewhere_are_masked_too() {
    let texts = [
        (
            ".config/zed/settings.json",
            r#"{ "context_servers": { "a": { "command": "x", "args": ["--token", "hidden", "--port", "80"], "settings": { "db": "hidden" } } } }"#,
        ),
        (
            ".config/zed/settings.json",
            r#"{ /* "K": "hidden" */ "context_servers": { "a": { "command": { "path": "x", "args": ["--port", "80"], "env": { "K": "hidden" } } } } }"#,
        ),
        (
            ".claude.json",
            r#"{ "primaryApiKey": "hidden", "mcpServers": { "a": { "command": "x", "args": ["--api-key=hidden", "--port", "80"], "env": { "PIN": 4711 }, "headers": ["hidden"] } } }"#,
        ),
    ];
    for (file, text) in texts {
        for text in shown(file, text) {
            assert!(!text.contains("hidden") && !text.contains("4711") && text.contains(r#""80""#), "{text}");
        }
    }
}
