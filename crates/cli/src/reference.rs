//! The pages in `docs/reference`, generated from the code. A test fails if a page is out of date; with `TIDEGATE_BLESS=1`
//! it writes the page.

use std::fmt::Write;
use std::path::Path;

use clap::{Command, CommandFactory};
use serde_json::Value;
use tidegate_config::{Config, FILE_NAME, reference_page};

use crate::cli::{Cli, without_env_values};

/// Compares a page with the generated text.
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
        "docs/reference/{name} is out of date; `TIDEGATE_BLESS=1 cargo test -p tidegate --features gateway --lib reference` writes it"
    );
}

#[test]
fn the_page_of_the_configuration_is_up_to_date() {
    check("config.md", &reference_page());
}

/// The page has the commands of a build with the gateway, which `./check` tests.
#[cfg_attr(not(feature = "gateway"), ignore = "the page is that of a build with the gateway")]
#[test]
fn the_page_of_the_command_line_is_up_to_date() {
    let mut out = String::from(
        "# Command line\n\nThe help of every command, as `tidegate COMMAND --help` prints it. stdout is data, stderr is \
         everything else.\nExit codes: 0 done, 1 failed, 2 bad usage or input, 3 a server or the store cannot be \
         reached;\n`tidegate run -- COMMAND` exits with the code of the server.\n",
    );
    let mut command = without_env_values(Cli::command()).term_width(100);
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

/// One example of each view.
const VIEW_EXAMPLES: [(&str, &str); 14] = [
    ("the second page of records", r#""page":2"#),
    ("only some fields, of all records", r#""fields":["number","author.login"]"#),
    ("one value", r#""path":"/items/0/title""#),
    ("lines of a text inside JSON", r#""path":"/diff","lines":"10-20""#),
    ("a picture, as an image block", r#""path":"/content/1""#),
    ("results of a jq program", r#""jq":".[] | select(.state == \"open\") | .title""#),
    ("rows of an SQL query", r#""sql":"select author, count(*) from t group by 1 order by 2 desc""#),
    (
        "rows of two results",
        r#""sql":"select t.name, b.cost from t join \"get_bom-7k3m0xw2c9qf\" b on b.part = t.id""#,
    ),
    ("values of another result", r#""jq":"$results[\"get_bom-7k3m0xw2c9qf\"] | length""#),
    ("matching lines, with two lines of context", r#""grep":"timeout","context":2"#),
    ("lines of the text", r#""lines":"10-20""#),
    ("bytes of the original", r#""range":"0-999""#),
    ("as much as the caller can ask for", r#""mode":"full""#),
    ("what follows the last answer", r#""cursor":"…""#),
];

#[test]
fn the_page_of_result_query_is_up_to_date() {
    let definition = tidegate_gate::reader_definition();
    let tool: Value = serde_json::from_str(&definition).unwrap();
    let properties = tool["inputSchema"]["properties"].as_object().unwrap();
    // The order in which a model reads them.
    let mut in_order: Vec<_> = properties.iter().collect();
    in_order.sort_by_key(|(name, _)| definition.find(&format!("\"{name}\":{{")));
    let command = Cli::command();
    let query = command.find_subcommand("query").unwrap();
    let mut out = format!(
        "# result_query\n\nThe tool that tidegate adds to the tools of a server. If the server has a tool of this name, ours is \
         called\n`tidegate_result_query`. The model reads this description:\n\n> {}\n\n`tidegate query` takes the same arguments as \
         flags, except `id`, which is positional.\n\n| argument | type | description for models | help of `tidegate query` |\n|---|---|---|---|\n",
        tool["description"].as_str().unwrap()
    );
    for (name, schema) in in_order {
        let argument = query.get_arguments().find(|argument| argument.get_id().as_str() == name);
        let help = argument
            .and_then(|argument| argument.get_help())
            .unwrap_or_else(|| panic!("query has no {name}"));
        let (kind, description) = (kind_of(schema), schema["description"].as_str().unwrap_or_default());
        let _ = writeln!(out, "| `{name}` | {kind} | {description} | {help} |");
    }
    out.push_str(
        "\nAsk for at most one view; with `path`, it reads only the value at the path. `fields` combines with a page, `context`\n\
         and `count` with `grep`, `max_tokens` with any view. Every answer fits its budget and ends with how to continue.\n\n\
         Without `id`, the answer lists the stored results of this session, newest first: name, age, records, columns and\n\
         arguments. To read a result of another session, pass its exact name. In `sql` and `jq` a query can name other\n\
         stored results; each is checked like the one in `id`.\n\n| to get | arguments besides `id` |\n|---|---|\n",
    );
    for (goal, arguments) in VIEW_EXAMPLES {
        let asked: Value = serde_json::from_str(&format!("{{{arguments}}}")).unwrap();
        for name in asked.as_object().unwrap().keys() {
            assert!(properties.contains_key(name), "{name}");
        }
        let _ = writeln!(out, "| {goal} | `{}` |", arguments.replace('|', "\\|"));
    }
    check("result_query.md", &out);
}

/// Returns the type of an argument, for a reader.
fn kind_of(schema: &Value) -> String {
    match schema["enum"].as_array() {
        Some(choices) => choices.iter().map(|choice| format!("`{choice}`")).collect::<Vec<_>>().join(", "),
        None if schema["type"] == "array" => "list of strings".to_owned(),
        None => schema["type"].as_str().unwrap().to_owned(),
    }
}

#[test]
fn the_page_of_result_save_is_up_to_date() {
    let definition = tidegate_gate::saver_definition();
    let tool: Value = serde_json::from_str(&definition).unwrap();
    let properties = tool["inputSchema"]["properties"].as_object().unwrap();
    let reader: Value = serde_json::from_str(&tidegate_gate::reader_definition()).unwrap();
    let mut in_order: Vec<_> = properties.iter().collect();
    in_order.sort_by_key(|(name, _)| definition.find(&format!("\"{name}\":{{")));
    let mut out = format!(
        "# result_save\n\nThe tool that `tidegate run` adds where your own `tidegate.toml` sets `save = true` for at least one tool. It \
         writes a file, so\nclients ask before they call it. If the server has a tool of this name, ours is called \
         `tidegate_result_save`. The model reads\nthis description:\n\n> {}\n\n| argument | type | description for models |\n|---|---|---|\n",
        tool["description"].as_str().unwrap()
    );
    for (name, schema) in in_order {
        let described = schema["description"].as_str();
        let of_reader = || reader["inputSchema"]["properties"][name]["description"].as_str();
        let description = match described {
            Some(description) => description.to_owned(),
            None => format!("as for `result_query`: {}", of_reader().unwrap_or("records per page")),
        };
        let _ = writeln!(out, "| `{name}` | {} | {description} |", kind_of(schema));
    }
    out.push_str(
        "\nWithout a view the whole result is written, with `fields` alone those fields of all records. The endings of `name` are\n\
         those of [files](../concepts/store.md#as-files).\n\nOver stdio the answer has the path of the file; over HTTP it has a link that is \
         valid for 300 seconds, and nothing is written.\nEach also has bytes, rows and columns, within the budget of a follow-up.\n",
    );
    check("result_save.md", &out);
}

/// Collects the Markdown files in a folder.
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
fn every_tidegate_toml_in_the_documents_is_valid() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut paths = vec![root.join("README.md")];
    documents(&root.join("docs"), &mut paths);
    let mut checked = 0;
    for path in paths {
        let text = std::fs::read_to_string(&path).unwrap();
        for block in text.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()) {
            // Other blocks are files of clients and of Cargo.
            if ["[defaults]", "[server.", "[client.", "[store]"].iter().any(|heading| block.contains(heading))
            {
                if let Err(mistakes) = Config::parse(Path::new(FILE_NAME), block) {
                    panic!("{}: {mistakes}", path.display());
                }
                checked += 1;
            }
        }
    }
    assert!(checked > 0);
}
