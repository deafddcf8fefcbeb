//! The command line as clap reads it.

use clap::{Parser, Subcommand, ValueEnum};

use crate::{demo, doctor, install, kept, query, run, scan, shape, stats, uninstall};

/// Keep MCP tool results inside a token budget and lose nothing
///
/// A result that fits passes untouched; one that would flood the agent's context becomes the most useful overview
/// that fits, with exact ways to read any part of the rest.
#[derive(Debug, Parser)]
#[command(name = "tidegate", version)]
#[command(after_help = "Kept results are in $TIDEGATE_HOME, by default the platform's folder for data.")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// One subcommand each.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(Box<run::Arguments>),
    Install(install::Arguments),
    Uninstall(uninstall::Arguments),
    Doctor(doctor::Arguments),
    Shape(shape::Arguments),
    Query(Box<query::Arguments>),
    Ls(kept::Ls),
    Show(kept::Show),
    Export(kept::Export),
    Rm(kept::Rm),
    Gc(kept::Gc),
    Stats(stats::Arguments),
    Scan(Box<scan::Arguments>),
    Demo(demo::Arguments),
}

/// What to print where there is data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For a person
    Text,
    /// For a program
    Json,
}

/// What to print where the data is a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TableFormat {
    /// For a person
    Text,
    /// For a program
    Json,
    /// For a spreadsheet
    Csv,
}
