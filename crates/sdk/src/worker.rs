//! The process in which jq and SQL run: an installed `tidegate`, or this program itself.
//!
//! jq can loop or allocate without end, so it never runs in the process of the server. `result_query` offers the languages
//! for which there is a process, and SQL also if its engine is built in (the feature `sql`).

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use tidegate_core::view::QueryLanguages;
use tidegate_query::{Worker, worker};

/// The program that runs jq and SQL where it is installed.
const PROGRAM: &str = "tidegate";

/// Whether this program called [`run_worker`], so that it can be its own worker.
static IS_WORKER: AtomicBool = AtomicBool::new(false);

/// Lets this program be the process that runs the queries of its own clients. Call it first in `main`.
///
/// A server that calls it offers jq with the feature `jq`, and SQL with the feature `sql`, even if the program `tidegate` is
/// not installed. If this process was started to run a query, the call runs it and ends the process.
///
/// ```no_run
/// // The first line of `main`; then start the runtime, and serve.
/// tidegate_sdk::run_worker();
/// ```
pub fn run_worker() {
    if std::env::args_os().nth(1).is_some_and(|argument| argument == worker::SUBCOMMAND) {
        std::process::exit(if worker::main() { 0 } else { 1 });
    }
    IS_WORKER.store(true, Ordering::Relaxed);
}

/// Returns how to start the process: this program if it has both engines, else an installed `tidegate`, else this program
/// with the engines that it has.
pub(crate) fn find() -> Worker {
    let this = if IS_WORKER.load(Ordering::Relaxed) { Worker::current().ok() } else { None };
    match (this, installed(PROGRAM)) {
        (Some(this), _) if this.languages() == QueryLanguages::ALL => this,
        (_, Some(program)) => Worker::new(program),
        (Some(this), None) => this,
        (None, None) => Worker::none(),
    }
}

/// Returns how to start a program as the process; no process if the program is not there.
pub(crate) fn given(program: PathBuf) -> Worker {
    if program.is_file() { Worker::new(program) } else { Worker::none() }
}

/// Returns where a program is installed. It is started without our environment, and so without our PATH.
fn installed(program: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(program)).find(|path| path.is_file())
}
