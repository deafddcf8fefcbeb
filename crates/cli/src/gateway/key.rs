//! `tidegate gateway key`: makes a key for a caller, and prints what to configure.

use clap::Args;
use tidegate_access::auth::key::{KeyHash, new_key};
use tidegate_config::quoted_key;

use crate::error::CommandError;
use crate::ui;

/// Make a key for a caller of the gateway
///
/// Prints a new key and the section to add to the configuration, which holds only the key's hash. Give the key only to the
/// caller. Nothing is stored.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tidegate gateway key ada")]
pub(super) struct Arguments {
    /// Name of the caller
    #[arg(default_value = "NAME")]
    name: String,
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> Result<(), CommandError> {
    let key = new_key();
    let name = quoted_key(&arguments.name);
    ui::note("The key, which the caller sends as Authorization: Bearer KEY. It is not shown again:");
    ui::data(format!("{key}\n").as_bytes())?;
    ui::note("\nAdd to the configuration of the gateway:");
    ui::data(format!("[gateway.key.{name}]\nhash = \"{}\"\n", KeyHash::of(&key)).as_bytes())
}
