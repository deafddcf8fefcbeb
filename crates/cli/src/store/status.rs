//! `tidegate store status`: whether the store can be reached, what it holds, and how it is encrypted.

use clap::Args;
use serde_json::{Value, json};
use tidegate_config::Config;
use tidegate_store::{Quotas, StoreStatus};

use super::{NamedStore, out_of_reach};
use crate::cli::Format;
use crate::error::CommandError;
use crate::keep::causes;
use crate::ui;

/// Show whether the store can be reached, what it holds, and whether it is encrypted
///
/// Exits with 3 if the store or its bucket cannot be used. Tables are neither created nor migrated.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tidegate store status\n  tidegate store status --format json")]
pub(super) struct Arguments {
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), CommandError> {
    let config = Config::load(None)?;
    let named = NamedStore::of_config(&config)?;
    let configured = ConfiguredStore {
        shown: named.place.shown(),
        kind: if named.place.remote().is_some() { "postgres" } else { "folder" },
        objects: named.place.remote().and_then(|remote| Some(remote.objects.as_ref()?.url.clone())),
        quotas: named.settings.quotas.over(named.place.default_quotas()),
    };
    let status = named.open_to_look().and_then(|opened| opened.store.status());
    match (&status, arguments.format) {
        (Ok(status), format) => {
            match format {
                Format::Text => ui::data(configured.text(status).as_bytes())?,
                Format::Json => ui::json(&configured.json(status))?,
            }
            match (&status.problem, configured.objects) {
                (Some(problem), Some(objects)) => Err(CommandError::out_of_reach(format!(
                    "cannot store results above 256 KB in {objects}: {problem}"
                ))),
                _ => Ok(()),
            }
        }
        (Err(error), format) => {
            if format == Format::Json {
                ui::json(
                    &json!({"store": configured.shown, "kind": configured.kind, "reachable": false, "error": causes(error)}),
                )?;
            }
            Err(out_of_reach(&configured.shown, error))
        }
    }
}

/// What the configuration says about the store, known before it is opened.
struct ConfiguredStore {
    shown: String,
    kind: &'static str,
    objects: Option<String>,
    quotas: Quotas,
}

impl ConfiguredStore {
    fn text(&self, status: &StoreStatus) -> String {
        let usage = status.usage;
        let quota = self.quotas.store_bytes;
        let encrypted = match (&status.key, status.is_rekeying) {
            (None, _) => "no".to_owned(),
            (Some(key), false) => format!("yes, key {key}"),
            (Some(key), true) => {
                format!("partly: run tidegate store rekey to finish the change to key {key}")
            }
        };
        let mut rows = vec![["store", &self.shown].map(str::to_owned)];
        rows.extend(self.objects.as_ref().map(|url| ["objects", url].map(str::to_owned)));
        rows.push(["reachable", "yes"].map(str::to_owned));
        rows.extend(status.schema.map(|schema| ["schema".to_owned(), schema.to_string()]));
        rows.push([
            "results".to_owned(),
            format!(
                "{}, {} of {}",
                ui::grouped(usage.artifacts),
                ui::bytes(usage.stored_bytes),
                ui::bytes(quota)
            ),
        ]);
        rows.push(["expired".to_owned(), ui::grouped(status.expired)]);
        rows.push([
            "oldest".to_owned(),
            status.oldest.map_or_else(|| "-".to_owned(), |time| time.to_string()),
        ]);
        rows.push(["orphans".to_owned(), ui::grouped(status.orphans)]);
        rows.push(["encrypted".to_owned(), encrypted]);
        ui::table(&rows, &[])
    }

    fn json(&self, status: &StoreStatus) -> Value {
        json!({
            "store": self.shown,
            "kind": self.kind,
            "objects": self.objects,
            "objects_problem": status.problem,
            "reachable": true,
            "schema": status.schema,
            "results": status.usage.artifacts,
            "stored_bytes": status.usage.stored_bytes,
            "quota_bytes": self.quotas.store_bytes,
            "owner_quota_bytes": self.quotas.owner_bytes,
            "session_quota_bytes": self.quotas.session_bytes,
            "expired": status.expired,
            "oldest": status.oldest.map(|time| time.to_string()),
            "orphans": status.orphans,
            "encrypted": status.key.is_some(),
            "key": status.key.map(|key| key.to_string()),
            "rekeying": status.is_rekeying,
        })
    }
}
