//! The pages in `docs/reference`, made from the code. A test fails where a page is not what the code says; with
//! `TIDEGATE_BLESS=1` it writes the page anew.

use std::fmt::Write;
use std::path::Path;

use clap::{Command, CommandFactory};
use serde_json::Value;

use crate::cli::{Cli, without_values};
use crate::config::reference as config;

/// Compares a page with what it should be.
fn check(name: &str, text: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference");
    let path = folder.join(name);
    if std::env::var_os("TIDEGATE_BLESS").is_some() {
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(&path, text).unwrap();
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        there == text,
        "docs/reference/{name} is not what the code says; `TIDEGATE_BLESS=1 cargo test -p tidegate --lib reference` writes it"
    );
}

#[test]
fn the_page_of_the_configuration_is_up_to_date() {
    check("config.md", &config::page());
}

#[test]
fn the_page_of_the_command_line_is_up_to_date() {
    let mut out = String::from(
        "# Command line\n\nThe help of every command, as `tidegate COMMAND --help` prints it. stdout is data, stderr is \
         everything else.\nExit codes: 0 done, 1 failed, 2 bad usage or input, 3 a server or the store is out of \
         reach;\n`tidegate run` ends with the exit code of the server.\n",
    );
    let mut command = without_values(Cli::command()).term_width(100);
    command.build();
    push_help(&mut command, "tidegate", &mut out);
    check("cli.md", &out);
}

fn push_help(command: &mut Command, name: &str, out: &mut String) {
    let help = command.render_long_help().to_string();
    let _ = write!(out, "\n## {name}\n\n```text\n");
    for line in help.trim_end().lines() {
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out.push_str("```\n");
    for below in
        command.get_subcommands_mut().filter(|below| !below.is_hide_set() && below.get_name() != "help")
    {
        let name = format!("{name} {}", below.get_name());
        push_help(below, &name, out);
    }
}

/// One of each view, as a model would ask.
const EXAMPLES: [(&str, &str); 10] = [
    ("the second page of records", r#""page":2"#),
    ("only some fields, of all records", r#""fields":["number","author.login"]"#),
    ("one value", r#""path":"/items/0/title""#),
    ("what a jq program makes of it", r#""jq":".[] | select(.state == \"open\") | .title""#),
    ("rows of an SQL query", r#""sql":"select author, count(*) from t group by 1 order by 2 desc""#),
    ("lines that match, with two around each", r#""grep":"timeout","context":2"#),
    ("lines of the text", r#""lines":"10-20""#),
    ("bytes of the original", r#""range":"0-999""#),
    ("as much as the caller may ask for", r#""mode":"full""#),
    ("where the last answer ended", r#""cursor":"…""#),
];

#[test]
fn the_page_of_result_query_is_up_to_date() {
    let definition = tidegate_gate::reader_definition();
    let tool: Value = serde_json::from_str(&definition).unwrap();
    let properties = tool["inputSchema"]["properties"].as_object().unwrap();
    // In the order in which a model reads them.
    let mut in_order: Vec<_> = properties.iter().collect();
    in_order.sort_by_key(|(name, _)| definition.find(&format!("\"{name}\":{{")));
    let command = Cli::command();
    let query = command.find_subcommand("query").unwrap();
    let mut out = format!(
        "# result_query\n\nThe one tool that tidegate adds to a server's. A server that has a tool of this name keeps it; ours is \
         then\n`tidegate_result_query`. What a model reads of it:\n\n> {}\n\n`tidegate query` takes the same arguments as \
         flags, but for the name, which stands alone.\n\n| argument | type | for a model | for a person |\n|---|---|---|---|\n",
        tool["description"].as_str().unwrap()
    );
    for (name, schema) in in_order {
        let argument = query.get_arguments().find(|argument| argument.get_id().as_str() == name);
        let help = argument
            .and_then(|argument| argument.get_help())
            .unwrap_or_else(|| panic!("query has no {name}"));
        let kind = match schema["enum"].as_array() {
            Some(choices) => {
                choices.iter().map(|choice| format!("`{choice}`")).collect::<Vec<_>>().join(", ")
            }
            None if schema["type"] == "array" => "list of strings".to_owned(),
            None => schema["type"].as_str().unwrap().to_owned(),
        };
        let required = if name == "id" { ", required" } else { "" };
        let told = schema["description"].as_str().unwrap_or_default();
        let _ = writeln!(out, "| `{name}` | {kind}{required} | {told} | {help} |");
    }
    out.push_str(
        "\nAt most one view is asked for; `fields` goes with a page, `context` with `grep`, `max_tokens` with anything. Every \
         answer fits\nits budget and ends with how to read on.\n\n| asks for | arguments beside `id` |\n|---|---|\n",
    );
    for (what, arguments) in EXAMPLES {
        let asked: Value = serde_json::from_str(&format!("{{{arguments}}}")).unwrap();
        for name in asked.as_object().unwrap().keys() {
            assert!(properties.contains_key(name), "{name}");
        }
        let _ = writeln!(out, "| {what} | `{}` |", arguments.replace('|', "\\|"));
    }
    check("result_query.md", &out);
}

/// The documents of the repository that people read.
fn documents(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            documents(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
}

#[test]
fn every_tidegate_toml_in_the_documents_is_right() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut paths = vec![root.join("README.md")];
    documents(&root.join("docs"), &mut paths);
    let mut checked = 0;
    for path in paths {
        let text = std::fs::read_to_string(&path).unwrap();
        for block in text.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()) {
            // Others are files of clients and of Cargo.
            if ["[defaults]", "[server.", "[client.", "[store]"].iter().any(|heading| block.contains(heading))
            {
                assert_eq!(config::mistakes(block), "", "in {}", path.display());
                checked += 1;
            }
        }
    }
    assert!(checked > 0);
}
