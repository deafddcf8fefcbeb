//! `articles`: the server over stdio or HTTP, plain or with tidegate inside, and the table that compares the two.

use std::error::Error;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use articles::{Articles, Library, Plain, server, table};
use clap::Parser;
use tidegate_sdk::serve;

/// Serve 840 articles over MCP, in pages that fit an agent's context
///
/// Speaks MCP on stdin and stdout; one line for each call goes to stderr.
#[derive(Debug, Parser)]
#[command(version, about)]
struct Arguments {
    /// Listen here for clients over streamable HTTP (path /mcp), instead of stdin and stdout
    #[arg(long, value_name = "ADDRESS", conflicts_with = "measure")]
    http: Option<SocketAddr>,

    /// Keep the articles in this file, so that other programs can change them; a new file is filled
    #[arg(long, value_name = "FILE")]
    db: Option<PathBuf>,

    /// Serve the same tools as they were before: every result whole, without tidegate
    #[arg(long)]
    plain: bool,

    /// Print what the tools cost before and after, and exit
    #[arg(long, conflicts_with = "plain")]
    measure: bool,
}

async fn run(arguments: Arguments) -> Result<(), Box<dyn Error + Send + Sync>> {
    let library = Library::open(arguments.db.as_deref())?;
    let articles = Articles::new(library.clone())?;
    if arguments.measure {
        return show(&table(&library, &articles).await?);
    }
    if arguments.plain {
        return Ok(serve(arguments.http, Plain::new(library)).await?);
    }
    Ok(serve(arguments.http, server(articles)).await?)
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
            eprintln!("articles: {error}");
            ExitCode::FAILURE
        }
    }
}
