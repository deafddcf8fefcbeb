//! `tidegate gateway`: one HTTP endpoint in front of the servers that the configuration names.

#[cfg(feature = "gateway")]
mod callers;
#[cfg(feature = "gateway")]
mod credential;
#[cfg(feature = "gateway")]
mod key;
#[cfg(feature = "gateway")]
mod serve;
#[cfg(feature = "gateway")]
mod traces;
#[cfg(feature = "gateway")]
mod upstreams;

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
#[cfg(feature = "gateway")]
use clap::Subcommand;

use crate::error::CommandError;
#[cfg(feature = "gateway")]
pub(crate) use credential::stored as stored_credentials;

/// Serve many MCP servers at one address
///
/// Reads the servers from the sections [upstream.NAME] of the configuration and lists their tools as NAME__tool. A result
/// that fits passes unchanged; a larger one is stored and replaced by an overview, and one tool, result_query, reads the
/// results of all servers.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  tidegate gateway --config gateway.toml\n  tidegate gateway --config gateway.toml --http 127.0.0.1:9000"
)]
pub(crate) struct Arguments {
    #[cfg(feature = "gateway")]
    #[command(subcommand)]
    command: Option<Command>,

    /// Configuration file [default: tidegate.toml of the project and of the user]
    #[arg(long, value_name = "FILE", env = "TIDEGATE_CONFIG")]
    config: Option<PathBuf>,

    /// Address to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    http: SocketAddr,

    /// Host header to accept besides loopback, such as example.com:8080; may be repeated
    #[arg(long, value_name = "HOST")]
    allow_host: Vec<String>,

    #[arg(long, value_name = "ORIGIN")]
    #[arg(help = "Origin header to accept besides loopback, such as https://app.example; may be repeated")]
    allow_origin: Vec<String>,

    /// File with the certificate of this address and those that signed it, in PEM; serves https
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,

    /// File with the private key of the certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
}

/// Looking after the callers of the gateway.
#[cfg(feature = "gateway")]
#[derive(Debug, Subcommand)]
enum Command {
    Key(key::Arguments),
    Credential(credential::Arguments),
}

/// Runs the command until a signal ends the process.
#[cfg(feature = "gateway")]
pub(crate) fn run(arguments: &Arguments) -> Result<(), CommandError> {
    match &arguments.command {
        Some(Command::Key(arguments)) => key::run(arguments),
        Some(Command::Credential(arguments)) => credential::run(arguments),
        None => serve::run(arguments),
    }
}

/// Says that this build has no gateway.
#[cfg(not(feature = "gateway"))]
pub(crate) fn run(arguments: &Arguments) -> Result<(), CommandError> {
    let Arguments { config: _, http, allow_host: _, allow_origin: _, tls_cert: _, tls_key: _ } = arguments;
    Err(CommandError::bad_input(format!("cannot listen on {http}: this build of tidegate has no gateway"))
        .hint("install a build that has it: cargo install tidegate --features gateway"))
}
