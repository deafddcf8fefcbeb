//! The command line as clap reads it.

use clap::{Parser, Subcommand};

use crate::shape;

/// Keep MCP tool results inside a token budget and lose nothing
///
/// A result that fits passes untouched; one that would flood the agent's context becomes the most useful overview
/// that fits, with exact ways to read any part of the rest.
#[derive(Debug, Parser)]
#[command(name = "tidegate", version, about, long_about)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// One subcommand each.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Shape(shape::Arguments),
}
