//! Starts PostgreSQL and an object store, runs a command that finds them in its environment, and stops them.
//!
//! `./check tests` runs all tests under it: each test may be a process of its own, and starting the servers takes seconds.

#![expect(clippy::print_stderr, reason = "the usage of a program")]

use std::process::{Command, ExitCode};

use tidegate_testkit::servers::{OBJECTS_VARIABLE, ObjectServer, POSTGRES_VARIABLE, PostgresServer};

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let Some(program) = arguments.next() else {
        eprintln!("usage: with_servers COMMAND [ARGUMENT...]");
        return ExitCode::from(2);
    };
    let (postgres, objects) = (PostgresServer::start(), ObjectServer::start());
    let mut command = Command::new(program);
    command.args(arguments);
    if let Some(postgres) = &postgres {
        command.env(POSTGRES_VARIABLE, postgres.address());
    }
    if let Some(objects) = &objects {
        command.env(OBJECTS_VARIABLE, objects.address());
    }
    match command.status() {
        Ok(status) => ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)),
        Err(error) => {
            eprintln!("the command could not be run: {error}");
            ExitCode::FAILURE
        }
    }
}
