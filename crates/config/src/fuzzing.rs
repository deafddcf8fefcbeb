//! The fuzz target of the reader: any text as a `tidegate.toml`, and its settings written as one again.
//!
//! Behind the feature `fuzzing`, and not part of the public interface.

use std::fmt::Write;
use std::path::Path;

use tidegate_gate::policy::Rules;

use crate::file::{ConfigFile, Heading};
use crate::locate::FileOwner;
use crate::resolve::Config;
use crate::value::Value;

/// Reads a text as a configuration and checks the invariants: every mistake has a place within the text, and a file
/// without mistakes, written again, has the same settings.
///
/// # Panics
///
/// If an invariant is broken.
pub fn check_config(text: &str) {
    let path = Path::new("/etc/tidegate.toml");
    let mut mistakes = Vec::new();
    let file = ConfigFile::read(path, FileOwner::User, text, &mut mistakes);
    let lines: Vec<&str> = text.split('\n').collect();
    for mistake in &mistakes {
        let (line, column) =
            mistake.place().unwrap_or_else(|| panic!("a mistake without a place: {mistake}"));
        assert!((1..=lines.len()).contains(&line), "the text has {} lines: {mistake}", lines.len());
        let columns = lines[line - 1].chars().count() + 1;
        assert!((1..=columns).contains(&column), "the line has {columns} columns: {mistake}");
        assert!(
            mistake.to_string().starts_with(&format!("/etc/tidegate.toml:{line}:{column}: ")),
            "{mistake}"
        );
        assert_eq!(mistake.with_excerpt().lines().count(), 3, "{}", mistake.with_excerpt());
    }
    if !mistakes.is_empty() {
        return;
    }
    let written = write(&file);
    let again = ConfigFile::read(path, FileOwner::User, &written, &mut mistakes);
    assert!(mistakes.is_empty(), "the written file has mistakes: {mistakes:?}\n{written}");
    assert_eq!(settings(&file), settings(&again), "{written}");
    check_policies(file);
}

/// Checks that any rules make a policy for any tool and a profile for any client.
fn check_policies(file: ConfigFile) {
    let servers: Vec<String> = file
        .sections
        .iter()
        .filter_map(|section| match &section.heading {
            Heading::Server(name) => Some(name.clone()),
            _ => None,
        })
        .collect();
    let config = Config::of_files(vec![file]);
    let mut caller = tidegate_gate::Caller::unknown(config.clients());
    caller.name("codex-mcp-client");
    for server in servers {
        let policy = config.policies(&server, Rules::default()).of_tool("list_issues");
        let (usual, cap) = (policy.budget(&caller.profile), policy.cap(&caller.profile));
        for answer in [usual, policy.follow_up(&caller.profile)] {
            assert!(answer.tokens <= cap.tokens && answer.bytes <= cap.bytes);
        }
        let line = policy.line(&caller.profile);
        assert!(usual.tokens <= line.tokens && usual.bytes <= line.bytes);
    }
}

/// Returns every setting of a file, without lines.
fn settings(file: &ConfigFile) -> Vec<(&Heading, Vec<(&str, &Value)>)> {
    let mut sections: Vec<_> = file
        .sections
        .iter()
        .map(|section| {
            let settings = section.settings.iter().map(|setting| (setting.key.name, &setting.value));
            (&section.heading, settings.collect())
        })
        .collect();
    sections.sort_by_key(|(heading, _)| heading.to_string());
    sections
}

fn write(file: &ConfigFile) -> String {
    let mut out = String::new();
    for section in &file.sections {
        let _ = writeln!(out, "[{}]", section.heading);
        for setting in &section.settings {
            let _ = writeln!(out, "{} = {}", setting.key.name, setting.value);
        }
    }
    out
}
