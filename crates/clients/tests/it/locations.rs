//! Which files are searched, on each system and with the environment variables that change their folders.

use std::path::PathBuf;

use tidegate_clients::install::Selection;
use tidegate_clients::{Folders, Scope, System};

use crate::home::Home;

fn searched(home: &Home, client: &str) -> Vec<String> {
    let selection = Selection { clients: vec![client.into()], ..Selection::default() };
    let root = home.path("");
    home.plan_of(&selection)
        .looked
        .iter()
        .map(|path| path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned())
        .collect()
}

#[test]
fn on_linux() {
    let home = Home::new();
    assert_eq!(searched(&home, "claude-code"), [".claude.json", "project/.mcp.json"]);
    assert_eq!(searched(&home, "claude-desktop"), [".config/Claude/claude_desktop_config.json"]);
    assert_eq!(searched(&home, "cursor"), [".cursor/mcp.json", "project/.cursor/mcp.json"]);
    assert_eq!(
        searched(&home, "vscode"),
        [
            ".config/Code/User/mcp.json",
            ".config/Code/User/settings.json",
            ".config/Code - Insiders/User/mcp.json",
            ".config/Code - Insiders/User/settings.json",
            ".config/VSCodium/User/mcp.json",
            ".config/VSCodium/User/settings.json",
            "project/.vscode/mcp.json",
            "project/.vscode/settings.json",
        ]
    );
    assert_eq!(searched(&home, "codex"), [".codex/config.toml", "project/.codex/config.toml"]);
    assert_eq!(searched(&home, "gemini"), [".gemini/settings.json", "project/.gemini/settings.json"]);
    assert_eq!(searched(&home, "windsurf"), [".codeium/windsurf/mcp_config.json"]);
    assert_eq!(
        searched(&home, "antigravity"),
        [
            ".gemini/config/mcp_config.json",
            ".gemini/antigravity/mcp_config.json",
            ".gemini/antigravity-cli/mcp_config.json"
        ]
    );
    assert_eq!(searched(&home, "zed"), [".config/zed/settings.json", "project/.zed/settings.json"]);
    assert_eq!(
        searched(&home, "opencode"),
        [
            ".config/opencode/opencode.json",
            ".config/opencode/opencode.jsonc",
            ".config/opencode/config.json",
            "project/opencode.json",
            "project/opencode.jsonc",
            "project/.opencode/opencode.json",
            "project/.opencode/opencode.jsonc",
        ]
    );
}

#[test]
fn on_other_systems() {
    let mut home = Home::new();
    home.folders.system = System::MacOs;
    assert_eq!(
        searched(&home, "claude-desktop"),
        ["Library/Application Support/Claude/claude_desktop_config.json"]
    );
    assert_eq!(searched(&home, "vscode")[0], "Library/Application Support/Code/User/mcp.json");
    assert_eq!(searched(&home, "zed")[0], ".config/zed/settings.json");
    home.folders.system = System::Windows;
    assert_eq!(searched(&home, "claude-desktop"), ["AppData/Roaming/Claude/claude_desktop_config.json"]);
    home.folders.variables.insert("APPDATA".into(), home.path("roaming"));
    assert_eq!(searched(&home, "vscode")[0], "roaming/Code/User/mcp.json");
    assert_eq!(searched(&home, "zed")[0], "roaming/Zed/settings.json");
    assert_eq!(searched(&home, "opencode")[0], ".config/opencode/opencode.json");
}

#[test]
fn variables_change_folders() {
    for (client, variable, first) in [
        ("claude-code", "CLAUDE_CONFIG_DIR", "moved/.claude.json"),
        ("codex", "CODEX_HOME", "moved/config.toml"),
        ("gemini", "GEMINI_CLI_HOME", "moved/.gemini/settings.json"),
        ("opencode", "XDG_CONFIG_HOME", "moved/opencode/opencode.json"),
        ("opencode", "OPENCODE_CONFIG", "moved"),
        ("zed", "XDG_CONFIG_HOME", "moved/zed/settings.json"),
    ] {
        assert!(Folders::VARIABLES.contains(&variable));
        let mut home = Home::new();
        home.folders.variables.insert(variable.into(), home.path("moved"));
        assert_eq!(searched(&home, client)[0], first, "{variable}");
        home.folders.variables.insert(variable.into(), PathBuf::new());
        assert_ne!(searched(&home, client)[0], first, "an empty {variable} is ignored");
    }
    let mut home = Home::new();
    home.folders.variables.insert("OPENCODE_CONFIG_DIR".into(), home.path("moved"));
    assert!(searched(&home, "opencode").contains(&"moved/opencode.jsonc".to_owned()));
}

#[test]
fn only_the_selection_is_wrapped() {
    let home = Home::new();
    crate::home::FIXTURES.iter().for_each(|(name, text)| home.write(name, text.as_bytes()));
    let wraps = |selection: Selection| -> Vec<String> {
        let changes = home.plan_of(&selection).changes;
        changes.iter().flat_map(|change| &change.servers).map(|wrapped| wrapped.server().to_owned()).collect()
    };
    let none = Selection::default;
    assert_eq!(wraps(Selection { scope: Some(Scope::Local), ..none() }), ["db", "lone"]);
    assert_eq!(wraps(Selection { scope: Some(Scope::Project), ..none() }), ["files", "fetch", "api"]);
    assert_eq!(
        wraps(Selection { clients: vec!["cursor".into(), "zed".into()], ..none() }),
        ["files", "docs", "plain", "older", "far"]
    );
    assert_eq!(wraps(Selection { servers: vec!["files".into()], ..none() }), ["files", "files"]);
    assert_eq!(
        wraps(Selection { clients: vec!["cursor".into()], servers: vec!["docs".into()], ..none() }),
        ["docs"]
    );
}
