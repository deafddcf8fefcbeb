//! The command line as clap reads it.

use clap::{Parser, Subcommand, ValueEnum};

use crate::{
    completions, config, demo, doctor, install, kept, man, query, run, scan, shape, stats, uninstall,
};

/// Keep MCP tool results inside a token budget and lose nothing
///
/// A result that fits passes untouched; one that would flood the agent's context becomes the most useful overview
/// that fits, with exact ways to read any part of the rest.
#[derive(Debug, Parser)]
#[command(name = "tidegate", version = env!("TIDEGATE_VERSION"))]
#[command(after_help = "Kept results are in $TIDEGATE_HOME, by default the platform's folder for data.\n\n\
    Examples:\n  tidegate demo\n  tidegate run -- npx -y @modelcontextprotocol/server-filesystem .\n  tidegate ls")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// One subcommand each.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(Box<run::Arguments>),
    Install(install::Arguments),
    Uninstall(uninstall::Arguments),
    Doctor(doctor::Arguments),
    Shape(shape::Arguments),
    Query(Box<query::Arguments>),
    Ls(kept::Ls),
    Show(kept::Show),
    Export(kept::Export),
    Rm(kept::Rm),
    Gc(kept::Gc),
    Stats(stats::Arguments),
    Scan(Box<scan::Arguments>),
    Config(config::command::Arguments),
    Completions(completions::Arguments),
    Man(man::Arguments),
    Demo(demo::Arguments),
}

/// What to print where there is data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For a person
    Text,
    /// For a program
    Json,
}

/// What to print where the data is a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TableFormat {
    /// For a person
    Text,
    /// For a program
    Json,
    /// For a spreadsheet
    Csv,
}

/// Returns a command whose help does not tell what is set in this environment.
pub(crate) fn without_values(command: clap::Command) -> clap::Command {
    command.mut_args(|argument| argument.hide_env_values(true)).mut_subcommands(without_values)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    /// Calls a function with every command and its name.
    fn walk(command: &clap::Command, name: &str, each: &mut dyn FnMut(&clap::Command, &str)) {
        each(command, name);
        for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
            walk(below, &format!("{name} {}", below.get_name()), each);
        }
    }

    /// The words of a line as a shell would hand them over, up to where it does something else with them.
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
    fn every_command_ends_its_help_with_examples_that_are_understood() {
        walk(&Cli::command(), "tidegate", &mut |command, name| {
            let help = command.get_after_long_help().or(command.get_after_help());
            let help = help.unwrap_or_else(|| panic!("{name} has no examples")).to_string();
            let (_, examples) =
                help.split_once("Examples:\n").unwrap_or_else(|| panic!("{name} has no examples: {help}"));
            for line in examples.lines() {
                assert!(line.chars().count() <= 100, "a line is broken behind 100 characters: {line}");
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
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }
}
