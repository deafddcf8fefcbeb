//! `tidegate store`: shows the state of the store, migrates, copies and cleans it, and makes and changes its key.
//!
//! The commands work on the store that the configuration names; `copy` on any two. Addresses are shown without passwords.

mod copy;
mod key;
mod migrate;
mod rekey;
mod status;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, Subcommand};
use tidegate_config::Config;
use tidegate_gate::{Opened, RemoteStore, StoreLocation, StoreSettings, UserStore};
use tidegate_store::{SealKey, StoreError, StoreKey};

use crate::artifacts::{self, Gc};
use crate::error::CommandError;
use crate::keep::{causes, store_settings};

/// Inspect, migrate, copy and clean up the store, and change its key
///
/// Every command works on the store of the configuration: the data folder, or the PostgreSQL database that `url` under
/// [store] of your own tidegate.toml names.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tidegate store status\n  \
    tidegate store copy --from ~/.local/share/tidegate --to ~/backup/tidegate\n  tidegate store rekey")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Status(status::Arguments),
    Migrate(migrate::Arguments),
    Copy(copy::Arguments),
    Gc(StoreGc),
    Key(key::Arguments),
    Rekey(rekey::Arguments),
}

/// Remove expired results and unreferenced data, and free their space
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tidegate store gc")]
struct StoreGc {
    #[command(flatten)]
    gc: Gc,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<(), CommandError> {
    match &arguments.command {
        Command::Status(arguments) => status::run(arguments),
        Command::Migrate(arguments) => migrate::run(arguments),
        Command::Copy(arguments) => copy::run(arguments),
        Command::Gc(arguments) => artifacts::gc(&arguments.gc),
        Command::Key(arguments) => key::run(arguments),
        Command::Rekey(arguments) => rekey::run(arguments),
    }
}

/// A store that a command works on.
struct NamedStore {
    place: StoreLocation,
    settings: StoreSettings,
}

impl NamedStore {
    /// Returns the store of the configuration.
    fn of_config(config: &Config) -> Result<Self, CommandError> {
        Ok(Self { place: config.place(), settings: store_settings(config)? })
    }

    /// Returns the store at a URL or in a folder. If the configuration does not name this store, its key is in `key_file`.
    fn at(address: &str, key_file: Option<&Path>, config: &Config) -> Result<Self, CommandError> {
        let place = match RemoteStore::is_url(address) {
            true => {
                let folder = config.place().folder();
                StoreLocation::Remote(Box::new(RemoteStore {
                    url: config.address(address),
                    objects: config.objects(),
                    folder,
                }))
            }
            false => StoreLocation::Folder(Some(PathBuf::from(address))),
        };
        let mut named = Self::of_config(config)?;
        if !is_same_place(&named.place, &place) {
            named.settings.keys = Default::default();
        }
        if let Some(path) = key_file {
            let key = StoreKey::from_file(path).map_err(|error| CommandError::bad_input(causes(&error)))?;
            named.settings.keys.current = Some(key);
        }
        Ok(Self { place, ..named })
    }

    /// Opens the store. These commands seal no cursors, so a shared store may be opened without its sealing key.
    fn open(self) -> Result<Arc<Opened>, StoreError> {
        let seal = self.settings.seal.or_else(|| self.place.remote().map(|_| SealKey::ephemeral()));
        UserStore::of_user(self.place).with_settings(StoreSettings { seal, ..self.settings }).open()
    }

    /// Opens the store to look at it: tables of an earlier version are not migrated.
    fn open_to_look(mut self) -> Result<Arc<Opened>, StoreError> {
        self.settings.keep_schema = true;
        self.open()
    }

    /// Opens the store, or returns the error for the user.
    fn open_or_fail(self) -> Result<Arc<Opened>, CommandError> {
        let shown = self.place.shown();
        self.open().map_err(|error| out_of_reach(&shown, &error))
    }
}

fn is_same_place(one: &StoreLocation, other: &StoreLocation) -> bool {
    match (one.remote(), other.remote()) {
        (Some(one), Some(other)) => one.url == other.url,
        (None, None) => {
            let real = |place: &StoreLocation| place.folder().and_then(|folder| folder.canonicalize().ok());
            real(one).is_some() && real(one) == real(other)
        }
        _ => false,
    }
}

/// Returns the error for a store that cannot be used.
fn out_of_reach(shown: &str, error: &StoreError) -> CommandError {
    CommandError::out_of_reach(format!("cannot use the store {shown}: {}", causes(error)))
}
