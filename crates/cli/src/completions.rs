//! `tidegate completions`: completion scripts for shells.

use clap::{Args, CommandFactory};
use clap_complete::{Shell, generate};

use crate::cli::Cli;
use crate::error::CommandError;
use crate::ui;

/// Print a completion script for a shell
///
/// Save it where the shell looks for completions, or load it when the shell starts.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tidegate completions bash > ~/.local/share/bash-completion/completions/tidegate\n  \
    tidegate completions zsh > ~/.zfunc/_tidegate\n  \
    tidegate completions fish > ~/.config/fish/completions/tidegate.fish\n  \
    tidegate completions powershell >> $PROFILE\n  \
    tidegate completions elvish > ~/.config/elvish/lib/tidegate.elv"
)]
pub(crate) struct Arguments {
    /// Shell to print the script for
    shell: Shell,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<(), CommandError> {
    let mut script = Vec::new();
    generate(arguments.shell, &mut Cli::command(), "tidegate", &mut script);
    ui::data(&script)
}
