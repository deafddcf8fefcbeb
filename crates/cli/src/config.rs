//! `tidegate config`: write, check, show and describe `tidegate.toml`. The reader itself is `tidegate-config`.

mod init;
mod show;

use std::path::PathBuf;

use clap::parser::ValueSource;
use clap::{Args, CommandFactory, Subcommand};
use serde_json::json;
use tidegate_config::{Config, ConfigPath, FileOwner, Mistakes, config_paths, path_to_check, schema};

use crate::cli::{Cli, Format};
use crate::error::CommandError;
use crate::ui;
use init::Init;
use show::Show;

/// Write, check and explain tidegate.toml
///
/// Settings apply to everything, to a server, to tools by name, or to a client.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tidegate config init\n  tidegate config check\n  \
    tidegate config show --server github --tool list_issues")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Init(Init),
    Check(Check),
    Show(Box<Show>),
    Schema(Schema),
}

/// Check the configuration and report every mistake
///
/// Checks the project's tidegate.toml and the user's, or only FILE. Reports each mistake with its file:line:column and
/// the text of that line. A key that only the user's file may set is a mistake in a project's file. Exits with 2 if
/// there is a mistake.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tidegate config check\n  tidegate config check ./tidegate.toml --format json"
)]
struct Check {
    /// File to check [default: tidegate.toml of the project and of the user]
    #[arg(value_name = "FILE", env = "TIDEGATE_CONFIG")]
    file: Option<PathBuf>,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// Print the JSON Schema of tidegate.toml
///
/// Editors use it to complete and check keys. With taplo, put `#:schema ./tidegate.schema.json` on the first line of
/// tidegate.toml.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tidegate config schema > tidegate.schema.json")]
struct Schema {}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<(), CommandError> {
    match &arguments.command {
        Command::Init(arguments) => init::run(arguments),
        Command::Check(arguments) => check(arguments),
        Command::Show(arguments) => show::run(arguments),
        Command::Schema(Schema {}) => ui::json(&schema()),
    }
}

/// Returns whether an argument of the current command comes from its environment variable. Clap knows where a value comes
/// from only before it becomes a struct.
fn is_from_environment(argument: &str) -> bool {
    let matches = Cli::command().get_matches();
    let mut matches = &matches;
    while let Some((_, below)) = matches.subcommand() {
        matches = below;
    }
    matches.value_source(argument) == Some(ValueSource::EnvVariable)
}

fn check(arguments: &Check) -> Result<(), CommandError> {
    let files = match &arguments.file {
        // `tidegate run` does not search if the variable names a file, and takes that file for the user's.
        Some(file) if !is_from_environment("file") => vec![path_to_check(file)],
        file => config_paths(file.as_deref()),
    };
    let (_, mistakes) = Config::read(&files);
    if arguments.format == Format::Json {
        let reports = mistakes.iter().map(|mistake| {
            let (line, column) = mistake.place().unzip();
            json!({"file": mistake.path(), "line": line, "column": column, "message": mistake.message()})
        });
        ui::json(
            &json!({"files": files.iter().map(|file| &file.path).collect::<Vec<_>>(), "mistakes": reports.collect::<Vec<_>>()}),
        )?;
    }
    match (mistakes.is_empty(), arguments.format) {
        (false, _) => Err(Mistakes(mistakes).into()),
        (true, Format::Json) => Ok(()),
        (true, Format::Text) if files.is_empty() => {
            ui::note("no tidegate.toml, using built-in defaults; tidegate config init writes one");
            Ok(())
        }
        (true, Format::Text) => {
            let owner = |owner| if owner == FileOwner::Project { " (the project's)" } else { "" };
            let line =
                |file: &ConfigPath| format!("{}{}: no mistakes\n", file.path.display(), owner(file.owner));
            let lines: Vec<String> = files.iter().map(line).collect();
            ui::data(lines.concat().as_bytes())
        }
    }
}
