//! What the commands about kept results, and those that only print, say to a person and how they end.
//!
//! The other commands have tests of their own with the same: `install.rs`, `doctor.rs`, `stats.rs`, `scan.rs`, `config.rs`,
//! `shape.rs`, `demo.rs`. The help of every command is `docs/reference/cli.md`, which a test holds to the command line.

use serde_json::Value;
use tidegate_testkit::{make, sample};

use crate::tidegate_in;

/// A name as it appears in a snapshot.
const NAME: &str = "list_issues-3f9c2kq7m0xw";

/// Runs commands one after the other in a store that has one result; returns what was said, with what is new in each run
/// replaced.
fn transcript(commands: &[&str]) -> String {
    let home = tempfile::tempdir().unwrap();
    let result = make::text_result(&sample::issues(60));
    let kept = ["shape", "--tool", "list_issues", "--keep", "--format", "json"];
    let kept: Value = serde_json::from_slice(&tidegate_in(Some(home.path()), &kept, &result).stdout).unwrap();
    let name = kept["id"].as_str().unwrap();
    let mut out = String::new();
    for command in commands {
        let arguments: Vec<String> = command.split(' ').map(|word| word.replace(NAME, name)).collect();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let outcome = tidegate_in(Some(home.path()), &arguments, b"");
        out.push_str(&format!("$ tidegate {command}\nexit code {}\n", outcome.code));
        for (stream, said) in [("stdout", outcome.text()), ("stderr", outcome.stderr.as_str())] {
            if !said.is_empty() {
                out.push_str(&format!("── {stream}\n{}\n", said.trim_end()));
            }
        }
        out.push('\n');
    }
    let frame = format!("~~{}", &name[name.len() - 4..]);
    let out = out.replace(name, NAME).replace(&frame, "~~m0xw");
    times(&out.replace(&home.path().display().to_string(), "HOME"))
}

/// The text with times replaced: `2026-11-16T18:35:01Z` becomes `TIME`.
fn times(text: &str) -> String {
    let is_time = |word: &str| word.len() == 20 && word.ends_with('Z') && word.as_bytes()[10] == b'T';
    let mut out = text.to_owned();
    for word in text.split(|letter: char| letter.is_whitespace() || letter == '"') {
        if is_time(word) {
            out = out.replace(word, "TIME");
        }
    }
    out
}

#[test]
fn what_is_kept_is_listed_shown_read_and_removed() {
    insta::assert_snapshot!(transcript(&[
        "ls",
        "show list_issues-3f9c2kq7m0xw",
        "query list_issues-3f9c2kq7m0xw --path /3/title",
        "query list_issues-3f9c2kq7m0xw --grep nowhere",
        "gc",
        "rm list_issues-3f9c2kq7m0xw",
        "ls",
        "gc",
    ]));
}

#[test]
fn what_is_not_kept_is_told() {
    insta::assert_snapshot!(transcript(&[
        "show list_issues-000000000000",
        "query list_issues-000000000000",
        "export list_issues-000000000000",
        "rm list_issues-000000000000",
        "query list_issues-3f9c2kq7m0xw --sql select",
        "query list_issues-3f9c2kq7m0xw --jq .[",
        "query list_issues-3f9c2kq7m0xw --page 1 --path /0",
    ]));
}

#[test]
fn what_cannot_be_run_is_told() {
    insta::assert_snapshot!(transcript(&[
        "run",
        "run -- /nowhere/to-be-found",
        "run --url nowhere",
        "run --budget 5 -- cat",
        "completions tcsh",
        "dome",
    ]));
}
