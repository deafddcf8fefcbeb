//! The program itself: which one runs, which one is on the PATH, which copy clients start, and whether it can start itself.

use std::cmp::Ordering;
use std::path::Path;

use tidegate_core::outline::Outline;
use tidegate_core::payload::Payload;
use tidegate_core::view::{Dataset, EngineProgram, Engines, ResultWindow};
use tidegate_query::{Limits, Queries, Worker};

use super::check::Check;
use crate::installed_copy::{CopyAction, InstalledCopy, is_in_cache, order, version_of};
use crate::keep::causes;
use crate::system::{SystemPaths, is_same_file, programs_on_path};
use crate::version::VERSION;

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
    // npx and uvx put their caches on the PATH, but only for this run.
    let here = match programs_on_path().iter().find(|path| !is_in_cache(path)) {
        Some(first) if is_same_file(first, &this) => Check::fine(SUBJECT, format!("{text}, on the PATH")),
        Some(first) => on_path(&text, first, paths),
        None => {
            Check::note(SUBJECT, format!("{text}; not on the PATH, so clients must start it by its path"))
        }
    };
    let here = here.with("version", version).with("path", this.to_string_lossy());
    [here].into_iter().chain(copy(paths)).chain(jq().err().map(jq_failed)).collect()
}

/// Returns the check of a program on the PATH that is another file. A launcher, such as npm's, starts this program.
fn on_path(text: &str, first: &Path, paths: &SystemPaths) -> Check {
    let name = paths.short(first);
    match version_of(first) {
        Some(version) if version == VERSION => Check::fine(SUBJECT, format!("{text}, on the PATH as {name}")),
        version => {
            let version =
                version.map_or_else(|| "does not start".into(), |version| format!("tidegate {version}"));
            Check::warning(SUBJECT, format!("{text}; another one is first on the PATH, {name} ({version})")).fix(
                "clients that start it by name get the other one: remove it, or put the folder of this one first",
            )
        }
    }
}

/// Returns the check of the copy that `install` made, if there is one and it is not this program.
fn copy(paths: &SystemPaths) -> Option<Check> {
    let copy = InstalledCopy::find().ok()?;
    let path = paths.short(&copy.path);
    let version = copy.version.clone().unwrap_or_default();
    let check = match copy.action {
        CopyAction::Create | CopyAction::Nothing => return None,
        CopyAction::Update if copy.version.is_none() => {
            Check::failure(SUBJECT, format!("{path}, which clients start, does not start"))
                .fix("tidegate install writes it again")
        }
        CopyAction::Update if order(&version) == Ordering::Less => {
            Check::warning(SUBJECT, format!("{path}, which clients start, is older: {version}"))
                .fix("tidegate install updates it")
        }
        CopyAction::Update => {
            Check::note(SUBJECT, format!("{path}, which clients start, is another build: {version}"))
                .fix("tidegate install replaces it with this one")
        }
        CopyAction::KeepNewer => Check::warning(
            SUBJECT,
            format!("{path}, which clients start, is newer than this program: {version}"),
        )
        .fix("update this one, or run that one"),
    };
    Some(check.with("copy", copy.path.to_string_lossy()).with("copy_version", version))
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
