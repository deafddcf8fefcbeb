//! The `tidegate` command: parses arguments, runs one subcommand, and turns its outcome into an exit code.
//!
//! stdout is data, stderr is everything else; only `ui.rs` prints.

mod artifacts;
mod cli;
mod completions;
mod config;
mod demo;
mod diff;
mod doctor;
mod error;
mod gateway;
mod install;
mod installed_copy;
mod keep;
mod ledger;
mod man;
mod mcp_client;
mod output_file;
mod overrides;
mod query;
#[cfg(test)]
mod reference;
mod run;
mod scan;
mod server_filter;
mod shape;
mod stats;
mod store;
mod system;
mod ui;
mod uninstall;
mod version;

use std::process::ExitCode;

use clap::Parser;
use tidegate_proxy::guard;
use tidegate_query::worker;

use cli::{Cli, Command};

/// Runs the command with the arguments of this process.
pub fn main() -> ExitCode {
    if let Some(code) = run_helper() {
        return ExitCode::from(code);
    }
    let cli = Cli::parse();
    let Some(command) = cli.command.filter(|_| !cli.version) else {
        return match version::print(cli.verbose) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => ui::fail(&error),
        };
    };
    let outcome = match command {
        Command::Run(arguments) => match run::run(&arguments) {
            Ok(code) => return ExitCode::from(code),
            Err(error) => Err(error),
        },
        Command::Gateway(arguments) => gateway::run(&arguments),
        Command::Install(arguments) => install::run(&arguments),
        Command::Uninstall(arguments) => uninstall::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::Shape(arguments) => shape::run(&arguments),
        Command::Query(arguments) => query::run(&arguments),
        Command::Ls(arguments) => artifacts::ls(&arguments),
        Command::Show(arguments) => artifacts::show(&arguments),
        Command::Export(arguments) => artifacts::export(&arguments),
        Command::Diff(arguments) => diff::run(&arguments),
        Command::Rm(arguments) => artifacts::rm(&arguments),
        Command::Gc(arguments) => artifacts::gc(&arguments),
        Command::Store(arguments) => store::run(&arguments),
        Command::Stats(arguments) => stats::run(&arguments),
        Command::Scan(arguments) => scan::run(&arguments),
        Command::Config(arguments) => config::run(&arguments),
        Command::Completions(arguments) => completions::run(&arguments),
        Command::Man(arguments) => man::run(&arguments),
        Command::Demo(arguments) => demo::run(&arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => ui::fail(&error),
    }
}

/// Runs a helper process that tidegate starts itself. These subcommands are not for people and not in the help.
fn run_helper() -> Option<u8> {
    let mut arguments = std::env::args_os().skip(1);
    match arguments.next()?.to_str()? {
        // Runs a jq program.
        worker::SUBCOMMAND => Some(u8::from(!worker::main())),
        // Ends a server when its proxy is gone.
        guard::SUBCOMMAND => Some(guard::main(arguments)),
        demo::server::SUBCOMMAND => Some(demo::server::main()),
        _ => None,
    }
}
