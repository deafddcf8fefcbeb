//! The server as a program: over stdio, or over HTTP.

use std::net::SocketAddr;
use std::process::ExitCode;

use clap::Parser;
use orbit::{plain, server, table};
use tidegate_sdk::{Rules, serve};

/// An MCP server for satellites (SGP4) and transfers from Earth to Mars (porkchop plots)
///
/// Both tools answer with a summary; what is asked for in full and does not fit is attached, and any part of it can be
/// read. Without options it speaks the protocol on stdin and stdout.
#[derive(Debug, Parser)]
#[command(name = "orbit", version)]
struct Arguments {
    /// Listen here instead of on stdin and stdout; clients connect to http://ADDR/mcp
    #[arg(long, value_name = "ADDR")]
    http: Option<SocketAddr>,
    /// Serve the tools as they were before: every result whole, no tidegate
    #[arg(long)]
    plain: bool,
    /// Answer a full output of up to so many tokens in line
    #[arg(long, value_name = "TOKENS", conflicts_with = "plain")]
    full_cap_tokens: Option<u64>,
    /// Print what both tools cost, before and after, and exit
    #[arg(long, conflicts_with_all = ["http", "plain", "full_cap_tokens"])]
    measure: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tell(error.as_ref());
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: Arguments) -> Result<(), Box<dyn std::error::Error>> {
    if arguments.measure {
        print(&table().await?);
    } else if arguments.plain {
        serve(arguments.http, plain()).await?;
    } else {
        let cap = Rules { full_cap_tokens: arguments.full_cap_tokens, ..Rules::default() };
        serve(arguments.http, server().tools("*", cap)).await?;
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "the table is what was asked for")]
fn print(table: &str) {
    print!("{table}");
}

#[expect(clippy::print_stderr, reason = "stdout belongs to the protocol")]
fn tell(error: &dyn std::error::Error) {
    eprintln!("orbit: {error}");
}
