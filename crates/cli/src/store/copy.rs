//! `tidegate store copy`: copies all results from one store to another.
//!
//! Every result keeps its name, owner, session, tool, call and lifetime. The user who runs the command has a different owner
//! name in a shared store, and its results are copied to that owner. A result is either complete in the target or missing, so
//! an interrupted copy can be resumed. Each copied result is read back and compared with its source.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use tidegate_config::Config;
use tidegate_core::envelope::handle_name;
use tidegate_gate::{RemoteStore, UserStore};
use tidegate_store::{ArtifactStore, NewArtifact, Owner, StoreError, StoredArtifact, body_hash, open};

use super::NamedStore;
use crate::cli::Format;
use crate::error::CommandError;
use crate::keep::causes;
use crate::ui;

/// Results listed at a time.
const BATCH_RESULTS: usize = 100;
/// The maximum number of failed results that the error names.
const MAX_NAMED_FAILURES: usize = 5;

/// Copy all results from one store to another
///
/// A store is a data folder or a postgres:// URL. Every result keeps its name, owner and lifetime, and is read back
/// from the target and compared. Results that are already there are skipped, so start an interrupted copy again to
/// resume it. The ledger and saved files are not copied.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tidegate store copy --from ~/.local/share/tidegate --to ~/backup/tidegate\n  \
    tidegate store copy --from ~/.local/share/tidegate --to postgres://tidegate@db/tidegate"
)]
pub(super) struct Arguments {
    /// Store to copy from: a data folder or a postgres:// URL
    #[arg(long, value_name = "STORE")]
    from: String,

    /// Store to copy to: a data folder or a postgres:// URL
    #[arg(long, value_name = "STORE")]
    to: String,

    /// File with the key of the store to copy from [default: the configured key, if it is the configured store]
    #[arg(long, value_name = "FILE")]
    from_key_file: Option<PathBuf>,

    /// File with the key of the store to copy to [default: the configured key, if it is the configured store]
    #[arg(long, value_name = "FILE")]
    to_key_file: Option<PathBuf>,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// What a copy has done so far.
#[derive(Default)]
struct Copied {
    results: u64,
    bytes: u64,
    /// Results that were already in the target.
    present: u64,
    /// Names of results that could not be copied, with the reason.
    failed: Vec<(String, String)>,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), CommandError> {
    let config = Config::load(None)?;
    if !RemoteStore::is_url(&arguments.from) && !PathBuf::from(&arguments.from).is_dir() {
        return Err(CommandError::bad_input(format!("there is no store in {}", arguments.from))
            .hint("name a data folder, or a postgres:// URL"));
    }
    let from = NamedStore::at(&arguments.from, arguments.from_key_file.as_deref(), &config)?;
    let to = NamedStore::at(&arguments.to, arguments.to_key_file.as_deref(), &config)?;
    if super::is_same_place(&from.place, &to.place) {
        return Err(CommandError::bad_input("both stores are the same"));
    }
    let (from_shown, to_shown) = (from.place.shown(), to.place.shown());
    let user = [&from.place, &to.place].map(|place| UserStore::of_user(place.clone()).owner);
    let (from, to) = (from.open_or_fail()?, to.open_or_fail()?);
    let copied = copy(&*from.store, &*to.store, &user).map_err(|error| {
        CommandError::out_of_reach(format!("cannot copy from {from_shown} to {to_shown}: {}", causes(&error)))
            .hint("start the same command again to go on")
    })?;
    report(arguments.format, &copied)?;
    match copied.failed.as_slice() {
        [] => Ok(()),
        failed => {
            let named: Vec<String> =
                failed.iter().take(MAX_NAMED_FAILURES).map(|(name, why)| format!("{name} ({why})")).collect();
            let more = if failed.len() > MAX_NAMED_FAILURES { ", ..." } else { "" };
            let count = ui::count(failed.len() as u64, "result");
            Err(CommandError::failed(format!("{count} could not be copied: {}{more}", named.join(", "))))
        }
    }
}

fn report(format: Format, copied: &Copied) -> Result<(), CommandError> {
    let Copied { results, bytes, present, failed } = copied;
    if format == Format::Json {
        let failed: Vec<_> = failed.iter().map(|(id, why)| json!({"id": id, "error": why})).collect();
        return ui::json(&json!({"copied": results, "bytes": bytes, "present": present, "failed": failed}));
    }
    let text = format!(
        "copied {} of {}, verified; {} there already\n",
        ui::count(*results, "result"),
        ui::bytes(*bytes),
        ui::grouped(*present)
    );
    ui::data(text.as_bytes())
}

/// Copies all results. `user` is the owner of this user's results in the source and in the target.
fn copy(from: &dyn ArtifactStore, to: &dyn ArtifactStore, user: &[Owner; 2]) -> Result<Copied, StoreError> {
    let total = usize::try_from(from.usage()?.artifacts).unwrap_or(usize::MAX);
    let (progress, mut copied, mut done, mut after) = (ui::Progress::new(), Copied::default(), 0, None);
    loop {
        let batch = from.walk(after.as_ref(), BATCH_RESULTS)?;
        let Some(last) = batch.last() else { return Ok(copied) };
        after = Some(last.artifact.id.clone());
        for stored in &batch {
            let name = handle_name(&stored.artifact.tool, stored.artifact.id.as_str());
            progress.step(done, total, &name);
            done += 1;
            match copy_one(from, to, stored, user) {
                Ok(true) => {
                    copied.results += 1;
                    copied.bytes += stored.artifact.bytes;
                }
                Ok(false) => copied.present += 1,
                // Expired or deleted since it was listed.
                Err(StoreError::NotFound | StoreError::Expired { .. }) => {}
                Err(error @ (StoreError::Damaged { .. } | StoreError::Source(_) | StoreError::Taken)) => {
                    copied.failed.push((name, causes(&error)));
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// Copies one result; returns false if it was already there.
fn copy_one(
    from: &dyn ArtifactStore,
    to: &dyn ArtifactStore,
    stored: &StoredArtifact,
    [user, user_there]: &[Owner; 2],
) -> Result<bool, StoreError> {
    let id = &stored.artifact.id;
    let owner = if stored.owner == *user { user_there } else { &stored.owner };
    let source = open(from, &stored.owner, id)?;
    let is_new = match to.owner_of(id)? {
        Some(other) if other != *owner => return Err(StoreError::Taken),
        Some(_) => false,
        None => {
            let describe = || Ok(stored.description(source.outline().to_vec()));
            to.put(&NewArtifact { owner, ..stored.as_new() }, &source, &describe)?;
            true
        }
    };
    if body_hash(&source)? == body_hash(&open(to, owner, id)?)? {
        return Ok(is_new);
    }
    if is_new {
        to.delete(owner, id)?;
    }
    Err(StoreError::Damaged { what: "the copy" })
}
