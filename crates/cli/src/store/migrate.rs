//! `tidegate store migrate`: brings the schema of the store up to date.

use clap::Args;
use serde_json::json;
use tidegate_config::Config;

use super::{NamedStore, out_of_reach};
use crate::cli::Format;
use crate::error::CommandError;
use crate::ui;

/// Create the store's schema, or bring it up to date
///
/// Migrations only go forward, and run once, under a lock, so several processes can start this at the same time. A
/// store in a folder needs no migration: every version reads what earlier ones wrote.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tidegate store migrate")]
pub(super) struct Arguments {
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), CommandError> {
    let named = NamedStore::of_config(&Config::load(None)?)?;
    let shown = named.place.shown();
    // Opening a store migrates it.
    let status = named.open().and_then(|opened| opened.store.status());
    let schema = status.map_err(|error| out_of_reach(&shown, &error))?.schema;
    match (arguments.format, schema) {
        (Format::Json, schema) => ui::json(&json!({"store": shown, "schema": schema})),
        (Format::Text, Some(schema)) => {
            ui::data(format!("{shown} has schema {schema}, the current one\n").as_bytes())
        }
        (Format::Text, None) => ui::data(format!("{shown} needs no migration\n").as_bytes()),
    }
}
