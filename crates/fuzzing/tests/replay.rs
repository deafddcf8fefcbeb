//! Replays the inputs of the fuzz targets: the seeds in `fuzz/corpus` and the findings in `fuzz/regressions`.
//!
//! A fixed finding stays fixed: each replay runs the same function as the fuzzer, without one.

use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use tidegate_fuzzing::{config, lines, link, payload, query, raw, skim, sse, unescape, views};

/// Returns the inputs of a target, sorted by name.
fn inputs(target: &str) -> Vec<PathBuf> {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let mut inputs = Vec::new();
    for folder in ["corpus", "regressions"] {
        // A target without findings has no folder for them.
        let entries = fs::read_dir(fuzz.join(folder).join(target)).into_iter().flatten();
        inputs.extend(entries.map(|entry| entry.expect("a folder can be listed").path()));
    }
    inputs.sort();
    inputs
}

fn replay(name: &str, target: fn(&[u8])) {
    query::set_worker(env!("CARGO_BIN_EXE_fuzzing-worker").into());
    let inputs = inputs(name);
    assert!(!inputs.is_empty(), "{name} has seeds");
    for input in inputs {
        let bytes = fs::read(&input).expect("a file can be read");
        if let Err(panic) = catch_unwind(|| target(&bytes)) {
            panic!("{}: {:?}", input.display(), panic.downcast_ref::<String>());
        }
    }
}

macro_rules! replays {
    ($($target:ident),* $(,)?) => {
        $(#[test]
        fn $target() {
            replay(stringify!($target), $target::target);
        })*
    };
}

replays!(config, lines, link, payload, query, raw, skim, sse, unescape, views);
