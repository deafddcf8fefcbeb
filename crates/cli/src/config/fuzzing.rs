//! Any text as a `tidegate.toml`, and what was read written as one again.

use std::fmt::Write;
use std::path::Path;

use tidegate_gate::policy::Rules;

use super::Config;
use super::file::{File, Whose};
use super::value::Value;

/// Reads a text as a configuration and checks what always holds: every mistake has a place that the text has and can be
/// drawn, and what is right, written again, says the same.
///
/// # Panics
///
/// Where one of that does not hold.
pub fn check_config(text: &str) {
    let path = Path::new("/etc/tidegate.toml");
    let mut mistakes = Vec::new();
    let file = File::read(path, text, &mut mistakes);
    let lines: Vec<&str> = text.split('\n').collect();
    for mistake in &mistakes {
        let (line, column) = mistake.place().unwrap_or_else(|| panic!("a mistake has a place: {mistake}"));
        assert!((1..=lines.len()).contains(&line), "the text has {} lines: {mistake}", lines.len());
        let most = lines[line - 1].chars().count() + 1;
        assert!((1..=most).contains(&column), "the line has {most} places: {mistake}");
        assert!(
            mistake.to_string().starts_with(&format!("/etc/tidegate.toml:{line}:{column}: ")),
            "{mistake}"
        );
        assert_eq!(mistake.drawn().lines().count(), 3, "{}", mistake.drawn());
    }
    if !mistakes.is_empty() {
        return;
    }
    let written = write(&file);
    let again = File::read(path, &written, &mut mistakes);
    assert!(mistakes.is_empty(), "what was read is right: {mistakes:?}\n{written}");
    assert_eq!(said(&file), said(&again), "{written}");
    check_policies(file);
}

/// Rules of any kind become a policy for any tool and a profile for any client.
fn check_policies(file: File) {
    let servers: Vec<String> = file
        .sections
        .iter()
        .filter_map(|section| match &section.whose {
            Whose::Server(name) => Some(name.clone()),
            _ => None,
        })
        .collect();
    let config = Config { files: vec![file] };
    let mut caller = tidegate_gate::Caller::unknown(config.clients());
    caller.name("codex-mcp-client");
    for server in servers {
        let policy = config.policies(&server, Rules::default()).of_tool("list_issues");
        let (usual, cap) = (policy.budget(&caller.profile), policy.cap(&caller.profile));
        assert!(usual.tokens <= cap.tokens && usual.bytes <= cap.bytes);
    }
}

/// Everything that a file says, but for where it says it.
fn said(file: &File) -> Vec<(&Whose, Vec<(&str, &Value)>)> {
    let mut said: Vec<_> = file
        .sections
        .iter()
        .map(|section| {
            let settings = section.settings.iter().map(|setting| (setting.key.name, &setting.value));
            (&section.whose, settings.collect())
        })
        .collect();
    said.sort_by_key(|(whose, _)| whose.to_string());
    said
}

fn write(file: &File) -> String {
    let mut out = String::new();
    // A section without anything in it is still a section.
    for section in &file.sections {
        let _ = writeln!(out, "[{}]", section.whose);
        for setting in &section.settings {
            let _ = writeln!(out, "{} = {}", setting.key.name, setting.value);
        }
    }
    out
}
