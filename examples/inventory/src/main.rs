//! `inventory`: the server over stdio or HTTP, plain or with tidegate inside, and the table that compares the two.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use example_shared::{Failure, ServeOptions};
use inventory::{Access, Inventory, Stock, server, table};
use tidegate_sdk::{Tier, serve};

/// Serve 10,000 stock records over MCP, by probe and fetch
///
/// Speaks MCP on stdin and stdout, and logs one line per call to stderr.
#[derive(Debug, Parser)]
#[command(version, about)]
struct Arguments {
    /// What callers may do: read, read_write or admin
    #[arg(long, value_name = "TIER", default_value = "read_write", conflicts_with = "plain")]
    tier: Tier,

    /// Keep the stock in this file, so that changes stay; a new file is filled
    #[arg(long, value_name = "FILE")]
    db: Option<PathBuf>,

    #[command(flatten)]
    serve: ServeOptions,
}

async fn run(Arguments { serve: options, db, tier }: Arguments) -> Result<Option<String>, Failure> {
    let stock = Stock::open(db.as_deref())?;
    if options.measure {
        return Ok(Some(table(&stock).await?));
    }
    let inventory = Inventory::new(stock);
    match options.plain {
        true => serve(options.http, inventory).await?,
        false => serve(options.http, server(inventory, Access::new(tier))).await?,
    }
    Ok(None)
}

fn main() -> ExitCode {
    example_shared::run("inventory", run(Arguments::parse()))
}
