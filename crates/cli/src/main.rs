//! The `tidegate` command: parses arguments, runs one subcommand, and turns its outcome into an exit code.
//!
//! stdout is data, stderr is everything else; only `ui.rs` prints.

mod cli;
mod error;
mod input;
mod shape;
mod ui;

use std::process::ExitCode;

use clap::Parser;

use cli::{Cli, Command};

fn main() -> ExitCode {
    let cli = Cli::parse();
    let outcome = match cli.command {
        Command::Shape(arguments) => shape::run(&arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => ui::fail(&error),
    }
}
