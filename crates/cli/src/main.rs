//! The `tidegate` command: parses arguments, runs one subcommand, and turns its outcome into an exit code.
//!
//! stdout is data, stderr is everything else; only `ui.rs` prints.

mod cli;
mod error;
mod input;
mod keep;
mod kept;
mod query;
mod shape;
mod ui;

use std::process::ExitCode;

use clap::Parser;
use tidegate_query::worker;

use cli::{Cli, Command};

/// Small values made and dropped by the million are what queries are about; this allocator halves the time of that.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // The process that runs one jq program; not for people, so not in the help.
    if std::env::args_os().nth(1).is_some_and(|argument| argument == worker::SUBCOMMAND) {
        return ExitCode::from(u8::from(!worker::main()));
    }
    let outcome = match Cli::parse().command {
        Command::Shape(arguments) => shape::run(&arguments),
        Command::Query(arguments) => query::run(&arguments),
        Command::Ls(arguments) => kept::ls(&arguments),
        Command::Show(arguments) => kept::show(&arguments),
        Command::Export(arguments) => kept::export(&arguments),
        Command::Rm(arguments) => kept::rm(&arguments),
        Command::Gc(arguments) => kept::gc(&arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => ui::fail(&error),
    }
}
