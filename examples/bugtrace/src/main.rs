//! `bugtrace`: the server over stdio or HTTP, plain or with tidegate inside, and the table that compares the two.

use std::path::PathBuf;
use std::process::ExitCode;

use bugtrace::{Tree, measure, plain, server};
use clap::Parser;
use example_shared::{Failure, ServeOptions};
use tidegate_sdk::{Artifacts, serve};

/// Scan a source tree and answer by the response contract
///
/// An MCP server with seventeen tools: possible bugs, code that is hard to read, traces of every scan, agents and
/// workflows, guards, a small memory. Answers are summaries with a reference to the rest.
#[derive(Debug, Parser)]
#[command(name = "bugtrace", version)]
struct Arguments {
    #[command(flatten)]
    serve: ServeOptions,

    /// The source tree; the server reads nothing outside it
    #[arg(long, value_name = "DIR", default_value = ".")]
    root: PathBuf,
}

async fn run(Arguments { serve: options, root }: Arguments) -> Result<Option<String>, Failure> {
    let tree = Tree::open(&root).map_err(|error| format!("--root {}: {error}", root.display()))?;
    if options.measure {
        return Ok(Some(measure(tree.root()).await?.to_string()));
    }
    match options.plain {
        true => serve(options.http, plain(tree)?).await?,
        false => serve(options.http, server(tree, &Artifacts::default())?).await?,
    }
    Ok(None)
}

fn main() -> ExitCode {
    example_shared::run("bugtrace", run(Arguments::parse()))
}
