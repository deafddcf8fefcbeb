//! The program itself: which one runs, which one is on the PATH, and whether it can start itself again.

use std::path::{Path, PathBuf};

use tidegate_core::outline::Outline;
use tidegate_core::payload::Payload;
use tidegate_core::view::{Dataset, Engines, Window};
use tidegate_query::{Limits, Queries, Worker};

use super::check::Check;
use crate::install::Names;
use crate::keep::causes;

const SUBJECT: &str = "program";

pub(super) fn checks(names: &Names) -> Vec<Check> {
    let version = env!("CARGO_PKG_VERSION");
    let this = match std::env::current_exe() {
        Ok(this) if this.is_file() => this,
        Ok(this) => {
            let text = format!("tidegate {version} runs, but {} is not there any more", this.display());
            return vec![
                Check::failure(SUBJECT, text).fix("start tidegate doctor again, from where it is now"),
            ];
        }
        Err(error) => {
            return vec![
                Check::failure(SUBJECT, format!("cannot tell which one runs: {error}"))
                    .fix("start it by its path"),
            ];
        }
    };
    let text = format!("tidegate {version}, {}", names.short(&this));
    let here = match on_path() {
        Some(first) if real(&first) == real(&this) => Check::fine(SUBJECT, format!("{text}, on the PATH")),
        Some(first) => Check::warning(
            SUBJECT,
            format!("{text}; the PATH has another one, {}", names.short(&first)),
        )
        .fix("clients that start it by name get the other one: take it away, or put this one's folder first"),
        None => {
            Check::note(SUBJECT, format!("{text}; not on the PATH, so clients must start it by its path"))
        }
    };
    let here = here.with("version", version).with("path", this.to_string_lossy());
    std::iter::once(here).chain(jq().err().map(jq_failed)).collect()
}

/// Runs jq, which is a process of its own: this program again. Says why it cannot be run.
fn jq() -> Result<(), String> {
    let source = b"[1,2]".as_slice();
    let payload = Payload::read(&source).map_err(|error| causes(&error))?;
    let outline = Outline::read(&payload).map_err(|error| causes(&error))?;
    let worker = Worker::current().map_err(|error| error.to_string())?;
    let found = Queries::new(Limits::default(), worker)
        .jq(&Dataset::new(&source, &outline), "add", Window { skip: 0, bytes: 100 })
        .map_err(|error| causes(&error))?;
    match found.results.as_slice() {
        [three] if three == "3" => Ok(()),
        other => Err(format!("it answered {other:?}")),
    }
}

fn jq_failed(why: String) -> Check {
    Check::failure(SUBJECT, format!("jq cannot be run: {why}"))
        .fix("see that this program may be started from where it lies, and that there is room for a process")
}

/// The first program of our name on the PATH.
fn on_path() -> Option<PathBuf> {
    let name = format!("tidegate{}", std::env::consts::EXE_SUFFIX);
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).map(|folder| folder.join(&name)).find(|path| path.is_file())
}

fn real(path: &Path) -> Option<PathBuf> {
    std::fs::canonicalize(path).ok()
}
