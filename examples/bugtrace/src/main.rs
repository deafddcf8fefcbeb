//! The program: the server on stdio or over HTTP, or what it costs with the gate and without.

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use bugtrace::{Tree, measure, plain, server};
use clap::Parser;
use tidegate_sdk::{Artifacts, serve};

/// Scan a source tree and answer by the response contract
///
/// An MCP server with seventeen tools: what may be a bug, what is hard to read, traces of every scan, agents and
/// workflows, guards, a small memory. Answers are summaries with a reference to the rest.
#[derive(Debug, Parser)]
#[command(name = "bugtrace", version)]
struct Arguments {
    /// The source tree; nothing outside of it is read
    #[arg(long, value_name = "DIR", default_value = ".")]
    root: PathBuf,
    /// Serve over HTTP at this address, path /mcp; without it on stdin and stdout
    #[arg(long, value_name = "ADDR")]
    http: Option<SocketAddr>,
    /// Answer with everything: the same tools without the contract
    #[arg(long)]
    plain: bool,
    /// Call every tool with the contract and without, print what each costs, and end
    #[arg(long, conflicts_with_all = ["http", "plain"])]
    measure: bool,
}

async fn run(arguments: Arguments) -> Result<(), Box<dyn std::error::Error>> {
    let Arguments { root, http, plain: is_plain, measure: is_measured } = arguments;
    let tree = Tree::open(&root).map_err(|error| format!("--root {}: {error}", root.display()))?;
    if is_measured {
        let measured = measure(tree.root()).await?;
        write!(std::io::stdout(), "{measured}")?;
        return Ok(());
    }
    match is_plain {
        true => serve(http, plain(tree)?).await?,
        false => serve(http, server(tree, &Artifacts::default())?).await?,
    }
    Ok(())
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // stderr may be closed; there is nobody else to tell.
            let _ = writeln!(std::io::stderr(), "bugtrace: {error}");
            ExitCode::FAILURE
        }
    }
}
