//! What the example servers share: the options of their command lines, their start-up, and opening a database.
//!
//! An example's `main` parses its arguments and hands a future to [`run`], which serves or returns a table to print.

mod database;

use std::error::Error;
use std::future::Future;
use std::io::Write as _;
use std::net::SocketAddr;
use std::process::ExitCode;

use clap::Args;

pub use database::open_database;

/// Why an example cannot run.
pub type Failure = Box<dyn Error + Send + Sync>;

/// Options that every example has.
#[derive(Debug, Clone, Args)]
pub struct ServeOptions {
    /// Listen here for clients over streamable HTTP (path /mcp), instead of stdin and stdout
    #[arg(long, value_name = "ADDRESS", conflicts_with = "measure")]
    pub http: Option<SocketAddr>,

    /// Serve the same tools without tidegate: every result whole
    #[arg(long)]
    pub plain: bool,

    /// Print what the tools cost before and after, and exit
    #[arg(long, conflicts_with = "plain")]
    pub measure: bool,
}

/// Runs an example to its end; prints the table it returns to stdout, or its failure to stderr.
pub fn run(name: &str, example: impl Future<Output = Result<Option<String>, Failure>>) -> ExitCode {
    let outcome = tokio::runtime::Runtime::new()
        .map_err(Failure::from)
        .and_then(|runtime| runtime.block_on(example))
        .and_then(|table| Ok(write!(std::io::stdout(), "{}", table.unwrap_or_default())?));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // If stderr is closed, there is nowhere to report it.
            let _ = writeln!(std::io::stderr(), "{name}: {error}");
            ExitCode::FAILURE
        }
    }
}
