//! `tidegate man`: the help as pages for `man`.

use std::path::PathBuf;

use clap::{Args, CommandFactory};
use clap_mangen::{Man, generate_to};

use crate::cli::Cli;
use crate::error::CommandError;
use crate::ui;

/// Print the manual page
///
/// With --dir, a page for each command is written instead, as tidegate.1, tidegate-run.1 and so on.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tidegate man > tidegate.1\n  tidegate man --dir ~/.local/share/man/man1"
)]
pub(crate) struct Arguments {
    /// Folder to write a page for each command into; it is made if it is not there
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<(), CommandError> {
    // What is set in this environment is nothing for a manual.
    let command = crate::cli::without_values(Cli::command());
    match &arguments.dir {
        None => {
            let mut page = Vec::new();
            Man::new(command).render(&mut page).map_err(CommandError::failed)?;
            ui::data(&page)
        }
        Some(folder) => {
            let failed = |error: std::io::Error| {
                CommandError::failed(format!("cannot write the pages into {}: {error}", folder.display()))
            };
            std::fs::create_dir_all(folder).map_err(failed)?;
            generate_to(command, folder).map_err(failed)?;
            ui::note(&format!("the pages are in {}; read one with man -l", folder.display()));
            Ok(())
        }
    }
}
