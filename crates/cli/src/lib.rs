//! The `tidegate` command: parses arguments, runs one subcommand, and turns its outcome into an exit code.
//!
//! stdout is data, stderr is everything else; only `ui.rs` prints.

mod cli;
mod client;
mod completions;
mod config;
mod demo;
mod doctor;
mod error;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod input;
mod install;
mod keep;
mod kept;
mod man;
mod notes;
mod overrides;
mod percentile;
mod query;
#[cfg(test)]
mod reference;
mod run;
mod scan;
mod shape;
mod stats;
mod ui;
mod uninstall;

use std::process::ExitCode;

use clap::Parser;
use tidegate_proxy::guard;
use tidegate_query::worker;

use cli::{Cli, Command};

/// Runs the command with the arguments of this process.
pub fn main() -> ExitCode {
    if let Some(code) = helper() {
        return ExitCode::from(code);
    }
    let outcome = match Cli::parse().command {
        Command::Run(arguments) => match run::run(&arguments) {
            Ok(code) => return ExitCode::from(code),
            Err(error) => Err(error),
        },
        Command::Install(arguments) => install::run(&arguments),
        Command::Uninstall(arguments) => uninstall::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::Shape(arguments) => shape::run(&arguments),
        Command::Query(arguments) => query::run(&arguments),
        Command::Ls(arguments) => kept::ls(&arguments),
        Command::Show(arguments) => kept::show(&arguments),
        Command::Export(arguments) => kept::export(&arguments),
        Command::Rm(arguments) => kept::rm(&arguments),
        Command::Gc(arguments) => kept::gc(&arguments),
        Command::Stats(arguments) => stats::run(&arguments),
        Command::Scan(arguments) => scan::run(&arguments),
        Command::Config(arguments) => config::command::run(&arguments),
        Command::Completions(arguments) => completions::run(&arguments),
        Command::Man(arguments) => man::run(&arguments),
        Command::Demo(arguments) => demo::run(&arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => ui::fail(&error),
    }
}

/// Runs as one of the processes that others of ours start: not for people, so not in the help.
fn helper() -> Option<u8> {
    let mut arguments = std::env::args_os().skip(1);
    match arguments.next()?.to_str()? {
        // Runs one jq program.
        worker::SUBCOMMAND => Some(u8::from(!worker::main())),
        // Watches over a server.
        guard::SUBCOMMAND => Some(guard::main(arguments)),
        // Is a server of the demo.
        demo::server::SUBCOMMAND => Some(demo::server::main(arguments)),
        _ => None,
    }
}
