//! The program itself: which one runs, which one is on the PATH, and whether it can start itself.

use tidegate_core::outline::Outline;
use tidegate_core::payload::Payload;
use tidegate_core::view::{Dataset, EngineProgram, Engines, ResultWindow};
use tidegate_query::{Limits, Queries, Worker};

use super::check::Check;
use crate::keep::causes;
use crate::system::{SystemPaths, is_same_file, programs_on_path};

const SUBJECT: &str = "program";

pub(super) fn checks(paths: &SystemPaths) -> Vec<Check> {
    let version = env!("CARGO_PKG_VERSION");
    let this = match std::env::current_exe() {
        Ok(this) if this.is_file() => this,
        Ok(this) => {
            let text = format!("tidegate {version}, but its file {} is gone", this.display());
            return vec![
                Check::failure(SUBJECT, text).fix("run tidegate doctor from the new place of the program"),
            ];
        }
        Err(error) => {
            return vec![
                Check::failure(SUBJECT, format!("cannot find the running program: {error}"))
                    .fix("start it by its path"),
            ];
        }
    };
    let text = format!("tidegate {version}, {}", paths.short(&this));
    let here = match programs_on_path().first() {
        Some(first) if is_same_file(first, &this) => Check::fine(SUBJECT, format!("{text}, on the PATH")),
        Some(first) => Check::warning(
            SUBJECT,
            format!("{text}; another one is first on the PATH, {}", paths.short(first)),
        )
        .fix(
            "clients that start it by name get the other one: remove it, or put the folder of this one first",
        ),
        None => {
            Check::note(SUBJECT, format!("{text}; not on the PATH, so clients must start it by its path"))
        }
    };
    let here = here.with("version", version).with("path", this.to_string_lossy());
    std::iter::once(here).chain(jq().err().map(jq_failed)).collect()
}

/// Runs a jq program, which starts this program again as a worker; returns why that fails.
fn jq() -> Result<(), String> {
    let source = b"[1,2]".as_slice();
    let payload = Payload::read(&source).map_err(|error| causes(&error))?;
    let outline = Outline::read(&payload).map_err(|error| causes(&error))?;
    let worker = Worker::current().map_err(|error| error.to_string())?;
    let found = Queries::new(Limits::default(), worker)
        .run(&Dataset::new(&source, &outline), EngineProgram::Jq("add"), ResultWindow { skip: 0, bytes: 100 })
        .map_err(|error| causes(&error))?;
    match found.results.as_slice() {
        [three] if three == "3" => Ok(()),
        other => Err(format!("it answered {other:?}")),
    }
}

fn jq_failed(why: String) -> Check {
    Check::failure(SUBJECT, format!("cannot run jq: {why}"))
        .fix("check that this program can be started from its folder, and that no process limit is reached")
}
