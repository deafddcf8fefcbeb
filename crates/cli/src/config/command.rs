//! `tidegate config`: write, check, show and describe `tidegate.toml`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;

use super::init::{self, Init};
use super::show::{self, Show};
use super::{Config, paths, refused, schema};
use crate::cli::Format;
use crate::error::CommandError;
use crate::ui;

/// Write, check and explain tidegate.toml
///
/// What is set there holds for everything, for a server, for tools by name, or for a client.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tidegate config init\n  tidegate config check\n  \
    tidegate config show --server github --tool list_issues")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

/// One subcommand each.
#[derive(Debug, Subcommand)]
enum Command {
    Init(Init),
    Check(Check),
    Show(Box<Show>),
    Schema(Schema),
}

/// Check the configuration and tell every mistake
///
/// Reads the files that hold here, the project's and the user's, or the one that is named. Each mistake is told as
/// file:line:column with the line it is in; the exit code is 2 if there is any.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tidegate config check\n  tidegate config check ./tidegate.toml --format json"
)]
struct Check {
    /// File to check [default: tidegate.toml of the project and of the user]
    #[arg(value_name = "FILE", env = "TIDEGATE_CONFIG")]
    file: Option<PathBuf>,

    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// Print the JSON Schema of tidegate.toml
///
/// Editors use it to complete and check keys. With taplo, write `#:schema ./tidegate.schema.json` into the first line of
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
        Command::Schema(Schema {}) => ui::json(&schema::schema()),
    }
}

fn check(arguments: &Check) -> Result<(), CommandError> {
    let paths = paths(arguments.file.as_deref());
    let (_, mistakes) = Config::read(&paths);
    if arguments.format == Format::Json {
        let told = mistakes.iter().map(|mistake| {
            let (line, column) = mistake.place().unzip();
            json!({"file": mistake.path(), "line": line, "column": column, "message": mistake.message()})
        });
        ui::json(&json!({"files": paths, "mistakes": told.collect::<Vec<_>>()}))?;
    }
    match (mistakes.as_slice(), arguments.format) {
        ([], Format::Json) => Ok(()),
        ([], Format::Text) if paths.is_empty() => {
            ui::note("there is no tidegate.toml here, so the defaults hold; tidegate config init writes one");
            Ok(())
        }
        ([], Format::Text) => {
            let lines: Vec<String> =
                paths.iter().map(|path| format!("{}: no mistakes\n", path.display())).collect();
            ui::data(lines.concat().as_bytes())
        }
        (mistakes, _) => Err(refused(mistakes)),
    }
}
