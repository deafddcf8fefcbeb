//! `orbit`: the server over stdio or HTTP, plain or with tidegate inside, and the table that compares the two.

use std::process::ExitCode;

use clap::Parser;
use example_shared::{Failure, ServeOptions};
use orbit::{plain, server, state_table, table};
use tidegate_sdk::{Rules, serve};

/// An MCP server for satellites (SGP4) and transfers from Earth to Mars (porkchop plots)
///
/// Both tools answer with a summary. A full result that does not fit is attached, and any part of it can be read. Without
/// options the server speaks MCP on stdin and stdout.
#[derive(Debug, Parser)]
#[command(name = "orbit", version)]
struct Arguments {
    #[command(flatten)]
    serve: ServeOptions,

    /// Answer a full output of up to this many tokens inline
    #[arg(long, value_name = "TOKENS", conflicts_with_all = ["plain", "measure"])]
    full_cap_tokens: Option<u64>,
}

async fn run(arguments: Arguments) -> Result<Option<String>, Failure> {
    let http = arguments.serve.http;
    if arguments.serve.measure {
        return Ok(Some(format!("{}\n{}", table().await?, state_table()?)));
    }
    if arguments.serve.plain {
        serve(http, plain()).await?;
        return Ok(None);
    }
    let cap = Rules { full_cap_tokens: arguments.full_cap_tokens, ..Rules::default() };
    serve(http, server().tools("*", cap)).await?;
    Ok(None)
}

fn main() -> ExitCode {
    example_shared::run("orbit", run(Arguments::parse()))
}
