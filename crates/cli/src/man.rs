//! `tidegate man`: the help as manual pages.

use std::path::PathBuf;

use clap::{Args, CommandFactory};
use clap_mangen::{Man, generate_to};

use crate::cli::Cli;
use crate::error::CommandError;
use crate::ui;

/// Print the manual page
///
/// With --dir, writes a page for each command instead: tidegate.1, tidegate-run.1 and so on.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tidegate man > tidegate.1\n  tidegate man --dir ~/.local/share/man/man1"
)]
pub(crate) struct Arguments {
    /// Folder to write a page for each command into; created if missing
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<(), CommandError> {
    // A manual must not contain the values of this environment.
    let command = crate::cli::without_env_values(Cli::command());
    match &arguments.dir {
        None => {
            let mut page = Vec::new();
            Man::new(command).render(&mut page).map_err(CommandError::failed)?;
            ui::data(&page)
        }
        Some(folder) => {
            let failed = |error: std::io::Error| {
                CommandError::failed(format!("cannot write the pages to {}: {error}", folder.display()))
            };
            std::fs::create_dir_all(folder).map_err(failed)?;
            generate_to(command, folder).map_err(failed)?;
            ui::note(&format!("wrote the pages to {}; read one with man -l", folder.display()));
            Ok(())
        }
    }
}
