//! `articles`: the server over stdio or HTTP, plain or with tidegate inside, and the table that compares the two.

use std::path::PathBuf;
use std::process::ExitCode;

use articles::{Articles, Library, Plain, server, table};
use clap::Parser;
use example_shared::{Failure, ServeOptions};
use tidegate_sdk::serve;

/// Serve 840 articles over MCP, in pages that fit an agent's context
///
/// Speaks MCP on stdin and stdout, and logs one line per call to stderr.
#[derive(Debug, Parser)]
#[command(version, about)]
struct Arguments {
    #[command(flatten)]
    serve: ServeOptions,

    /// Keep the articles in this file, so that other programs can change them; a new file is filled
    #[arg(long, value_name = "FILE")]
    db: Option<PathBuf>,
}

async fn run(arguments: Arguments) -> Result<Option<String>, Failure> {
    let ServeOptions { http, plain, measure } = arguments.serve;
    let library = Library::open(arguments.db.as_deref())?;
    if plain {
        serve(http, Plain::new(library)).await?;
        return Ok(None);
    }
    let articles = Articles::new(library.clone())?;
    if measure {
        return Ok(Some(table(&library, &articles).await?));
    }
    serve(http, server(articles)).await?;
    Ok(None)
}

fn main() -> ExitCode {
    example_shared::run("articles", run(Arguments::parse()))
}
