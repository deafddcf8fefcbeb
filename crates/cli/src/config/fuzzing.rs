//! Any text as a `tidegate.toml`, and what was read written as one again.

use std::fmt::Write;
use std::path::Path;

use tidegate_gate::policy::{OnStoreFailure, Rules};
use tidegate_gate::profile::{OutputSchema, ProfileRules};

use super::Config;
use super::file::File;

/// Reads a text as a configuration and checks what always holds: every mistake has a line that the text has, and what
/// is right, written again, says the same.
///
/// # Panics
///
/// Where one of that does not hold.
pub fn check_config(text: &str) {
    // Absolute, so that a path in the text stays as it is when it is read again.
    let path = Path::new("/etc/tidegate.toml");
    let mut mistakes = Vec::new();
    let file = File::read(path, text, &mut mistakes);
    let lines = text.split('\n').count();
    for mistake in &mistakes {
        let line = mistake.line().unwrap_or_else(|| panic!("a mistake has a line: {mistake}"));
        assert!((1..=lines).contains(&line), "the text has {lines} lines: {mistake}");
        assert!(mistake.to_string().starts_with(&format!("/etc/tidegate.toml:{line}: ")), "{mistake}");
    }
    if !mistakes.is_empty() {
        return;
    }
    let written = write(&file);
    let again = File::read(path, &written, &mut mistakes);
    assert!(mistakes.is_empty(), "what was read is right: {mistakes:?}\n{written}");
    assert_eq!(file, again, "{written}");
    check_policies(file);
}

/// Rules of any kind become a policy for any tool and a profile for any client.
fn check_policies(file: File) {
    let servers: Vec<String> = file.servers.keys().cloned().collect();
    let config = Config { files: vec![file] };
    let mut caller = tidegate_gate::Caller::unknown(config.clients());
    caller.name("codex-mcp-client");
    for server in servers {
        let policy = config.policies(&server, Rules::default()).of_tool("list_issues");
        let (usual, cap) = (policy.budget(&caller.profile), policy.cap(&caller.profile));
        assert!(usual.tokens <= cap.tokens && usual.bytes <= cap.bytes);
    }
}

fn write(file: &File) -> String {
    let mut out = String::from("[defaults]\n");
    write_rules(&file.defaults, &mut out);
    // A section without anything in it is still a section.
    for (server, set) in &file.servers {
        let _ = writeln!(out, "[server.{}]", quoted(server));
        write_rules(&set.rules, &mut out);
        for (tool, rules) in &set.tools {
            let _ = writeln!(out, "[server.{}.tool.{}]", quoted(server), quoted(tool));
            write_rules(rules, &mut out);
        }
    }
    for (client, rules) in &file.clients {
        let _ = writeln!(out, "[client.{}]", quoted(client));
        write_profile(rules, &mut out);
    }
    let _ = writeln!(out, "[store]");
    if let Some(path) = &file.store.path {
        let _ = writeln!(out, "path = {}", quoted(&path.to_string_lossy()));
    }
    if let Some(bytes) = file.store.max_result_bytes {
        let _ = writeln!(out, "max_result_bytes = {bytes}");
    }
    out
}

fn write_rules(rules: &Rules, out: &mut String) {
    let on_store_failure = rules.on_store_failure.map(|choice| match choice {
        OnStoreFailure::Overview => "overview",
        OnStoreFailure::Error => "error",
    });
    let fields = rules.fields.as_ref().map(|fields| {
        let fields: Vec<String> = fields.iter().map(|field| quoted(field)).collect();
        format!("[{}]", fields.join(", "))
    });
    let number = |number: Option<u64>| number.map(|number| number.to_string());
    let text = |text: Option<&str>| text.map(quoted);
    for (key, value) in [
        ("budget_tokens", number(rules.budget_tokens)),
        ("max_bytes", number(rules.max_bytes)),
        ("cap_tokens", number(rules.cap_tokens)),
        ("ttl_seconds", number(rules.ttl_seconds)),
        ("page_size", number(rules.page_size)),
        ("fields", fields),
        ("rows", text(rules.rows.as_deref())),
        ("kind", text(rules.kind.as_deref())),
        ("on_store_failure", text(on_store_failure)),
    ] {
        write_member(key, value, out);
    }
}

fn write_profile(rules: &ProfileRules, out: &mut String) {
    let output_schema = rules.output_schema.map(|choice| match choice {
        OutputSchema::Strip => "strip",
        OutputSchema::Keep => "keep",
        OutputSchema::Union => "union",
    });
    for (key, value) in [
        ("budget_tokens", rules.budget_tokens.map(|number| number.to_string())),
        ("max_bytes", rules.max_bytes.map(|number| number.to_string())),
        ("cap_tokens", rules.cap_tokens.map(|number| number.to_string())),
        ("count_percent", rules.count_percent.map(|number| number.to_string())),
        ("resource_link", rules.resource_link.map(|choice| choice.to_string())),
        ("output_schema", output_schema.map(quoted)),
    ] {
        write_member(key, value, out);
    }
}

fn write_member(key: &str, value: Option<String>, out: &mut String) {
    if let Some(value) = value {
        let _ = writeln!(out, "{key} = {value}");
    }
}

/// A text as TOML writes it, also as a key: as JSON does, but for one character more.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}
