//! `inventory`: the server over stdio or HTTP, bare or with tidegate inside, and the table that compares the two.

use std::error::Error;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use inventory::{Access, Inventory, Stock, server, table};
use tidegate_sdk::{Tier, serve};

/// Serve 10,000 stock records over MCP, by probe and fetch
///
/// Speaks MCP on stdin and stdout; one line for each call goes to stderr.
#[derive(Debug, Parser)]
#[command(version, about)]
struct Arguments {
    /// Listen here for clients over streamable HTTP (path /mcp), instead of stdin and stdout
    #[arg(long, value_name = "ADDRESS", conflicts_with = "measure")]
    http: Option<SocketAddr>,

    /// Keep the stock in this file, so that changes stay; a new file is filled
    #[arg(long, value_name = "FILE")]
    db: Option<PathBuf>,

    /// What callers may do: read, read_write or admin
    #[arg(long, value_name = "TIER", default_value = "read_write", conflicts_with = "plain")]
    tier: Tier,

    /// Serve the same tools without tidegate: every result whole, everything for everybody
    #[arg(long)]
    plain: bool,

    /// Print what each step costs, and exit
    #[arg(long, conflicts_with = "plain")]
    measure: bool,
}

async fn run(arguments: Arguments) -> Result<(), Box<dyn Error + Send + Sync>> {
    let stock = Stock::open(arguments.db.as_deref())?;
    if arguments.measure {
        return show(&table(&stock).await?);
    }
    let inventory = Inventory::new(stock);
    if arguments.plain {
        return Ok(serve(arguments.http, inventory).await?);
    }
    Ok(serve(arguments.http, server(inventory, Access::new(arguments.tier))).await?)
}

#[expect(clippy::print_stdout, reason = "the table was asked for; nothing is served")]
fn show(table: &str) -> Result<(), Box<dyn Error + Send + Sync>> {
    print!("{table}");
    Ok(())
}

#[tokio::main]
#[expect(clippy::print_stderr, reason = "the one place where the program says why it ends")]
async fn main() -> ExitCode {
    match run(Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("inventory: {error}");
            ExitCode::FAILURE
        }
    }
}
