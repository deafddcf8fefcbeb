//! The command line as clap reads it.

use clap::{Parser, Subcommand, ValueEnum};

use crate::{
    artifacts, completions, config, demo, diff, doctor, gateway, install, man, query, run, scan, shape,
    stats, store, uninstall,
};

/// Keep MCP tool results within a token budget and lose nothing
///
/// A result that fits passes unchanged. A larger one is stored whole; the model gets an overview that fits, and a tool to
/// read any part of the rest.
#[derive(Debug, Parser)]
#[command(name = "tidegate", version = env!("TIDEGATE_VERSION"), disable_version_flag = true, arg_required_else_help = true)]
#[command(
    after_help = "Results are stored in $TIDEGATE_HOME [default: tidegate in the platform's data folder].\n\n\
    Examples:\n  tidegate demo\n  tidegate run -- npx -y @modelcontextprotocol/server-filesystem .\n  tidegate ls\n  tidegate --version --verbose"
)]
pub(crate) struct Cli {
    /// Print the version and the commit
    #[arg(short = 'V', long)]
    pub(crate) version: bool,

    /// With --version: also how the program was built, and where it and its data are
    #[arg(long, requires = "version")]
    pub(crate) verbose: bool,

    /// None only with `--version`.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(Box<run::Arguments>),
    Gateway(gateway::Arguments),
    Install(install::Arguments),
    Uninstall(uninstall::Arguments),
    Doctor(doctor::Arguments),
    Shape(shape::Arguments),
    Query(Box<query::Arguments>),
    Ls(artifacts::Ls),
    Show(artifacts::Show),
    Export(artifacts::Export),
    Diff(diff::Arguments),
    Rm(artifacts::Rm),
    Gc(artifacts::Gc),
    Store(store::Arguments),
    Stats(stats::Arguments),
    Scan(Box<scan::Arguments>),
    Config(config::Arguments),
    Completions(completions::Arguments),
    Man(man::Arguments),
    Demo(demo::Arguments),
}

/// The output format of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Text for people
    Text,
    /// JSON for programs
    Json,
}

/// The output format of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TableFormat {
    /// Text for people
    Text,
    /// JSON for programs
    Json,
    /// CSV for spreadsheets
    Csv,
}

/// Returns a command whose help does not show the values of environment variables.
pub(crate) fn without_env_values(command: clap::Command) -> clap::Command {
    command.mut_args(|argument| argument.hide_env_values(true)).mut_subcommands(without_env_values)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    /// Calls a function with every command and its full name.
    fn walk(command: &clap::Command, name: &str, each: &mut dyn FnMut(&clap::Command, &str)) {
        each(command, name);
        for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
            walk(below, &format!("{name} {}", below.get_name()), each);
        }
    }

    /// Splits a line into words as a shell does, up to a redirection, pipe or comment.
    fn words(line: &str) -> Vec<String> {
        let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
        for character in line.chars() {
            match (character, quote) {
                (mark, Some(open)) if mark == open => quote = None,
                ('\'' | '"', None) => {
                    quote = Some(character);
                    word.get_or_insert_default();
                }
                (' ', None) => words.extend(word.take()),
                ('<' | '>' | '|' | '#', None) if word.is_none() => return words,
                _ => word.get_or_insert_default().push(character),
            }
        }
        assert_eq!(quote, None, "{line}");
        words.extend(word);
        words
    }

    #[test]
    fn every_command_has_examples_that_parse() {
        walk(&Cli::command(), "tidegate", &mut |command, name| {
            let help = command.get_after_long_help().or(command.get_after_help());
            let help = help.unwrap_or_else(|| panic!("{name} has no examples")).to_string();
            let (_, examples) =
                help.split_once("Examples:\n").unwrap_or_else(|| panic!("{name} has no examples: {help}"));
            for line in examples.lines() {
                assert!(line.chars().count() <= 100, "longer than 100 characters, so clap wraps it: {line}");
                let example =
                    line.strip_prefix("  ").unwrap_or_else(|| panic!("examples are indented: {line}"));
                assert!(example.starts_with(name), "an example of {name}: {example}");
                let parsed = Cli::try_parse_from(words(example));
                assert!(
                    parsed.is_ok(),
                    "{example}\n{}",
                    parsed.err().map(|error| error.to_string()).unwrap_or_default()
                );
            }
        });
    }

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
