//! `tidegate store rekey`: encrypts a store, or replaces its key.

use clap::Args;
use serde_json::json;
use tidegate_config::Config;
use tidegate_store::{ArtifactId, StoreError};

use super::{NamedStore, out_of_reach};
use crate::cli::Format;
use crate::error::CommandError;
use crate::ui;

/// Encrypt the store, or replace its key
///
/// Encrypts everything with the key in `encryption_key_file`. If the store has another key now, set that key as
/// `previous_key_file` until this command is done. The command can be interrupted and started again; meanwhile every
/// process that has both keys can use the store.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tidegate store rekey\n  tidegate store rekey --format json")]
pub(super) struct Arguments {
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), CommandError> {
    let mut named = NamedStore::of_config(&Config::load(None)?)?;
    let shown = named.place.shown();
    named.settings.keys.from_plain = true;
    let Some(key) = named.settings.keys.current.as_ref().map(|key| key.id().to_string()) else {
        let text = "no key is configured to encrypt the store with";
        return Err(CommandError::bad_input(text).hint(
            "make one with tidegate store key -o FILE, and set encryption_key_file of [store] to FILE",
        ));
    };
    #[cfg(feature = "gateway")]
    let (place, settings) = (named.place.clone(), named.settings.clone());
    let opened = named.open_or_fail()?;
    let progress = ui::Progress::new();
    let rekeyed = opened.store.rekey(&mut |step| {
        progress.bytes(step.done, step.total, "encrypting");
    });
    drop(progress);
    let rekeyed = rekeyed.map_err(|error| match error {
        StoreError::Busy => CommandError::failed("other processes kept writing with the previous key")
            .hint("run tidegate store rekey again"),
        error => out_of_reach(&shown, &error),
    })?;
    if !rekeyed.damaged.is_empty() {
        return Err(damaged(&rekeyed.damaged));
    }
    #[cfg(feature = "gateway")]
    crate::gateway::stored_credentials(&place, &settings)?.reseal().map_err(|error| {
        out_of_reach(&shown, &error).hint(
            "its results have the new key, but not all credentials of callers: keep previous_key_file, and run this again",
        )
    })?;
    match arguments.format {
        Format::Json => ui::json(&json!({"store": shown, "key": key, "bodies": rekeyed.bodies})),
        Format::Text if rekeyed.bodies == 0 => {
            ui::data(format!("everything in {shown} is encrypted with the key {key}\n").as_bytes())
        }
        Format::Text => {
            let bodies = ui::count(rekeyed.bodies, "result");
            ui::data(format!("encrypted {bodies} in {shown} with the key {key}\n").as_bytes())
        }
    }
}

/// The error for results that cannot be encrypted, because they cannot be read.
fn damaged(ids: &[ArtifactId]) -> CommandError {
    let names: Vec<&str> = ids.iter().map(ArtifactId::as_str).collect();
    let are = if ids.len() == 1 { "is" } else { "are" };
    let text =
        format!("{} {are} damaged, so the previous key stays in use", ui::count(ids.len() as u64, "result"));
    CommandError::failed(text)
        .hint(format!("remove them and run this again: tidegate rm {}", names.join(" ")))
}
