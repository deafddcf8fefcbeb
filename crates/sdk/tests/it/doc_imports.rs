//! Examples in the documentation import only crates that a server depends on.
//!
//! Doc tests do not check this: they can import every dependency of the SDK, so an example with `use tidegate_core::..`
//! compiles there, but not in a server.

use std::path::{Path, PathBuf};

/// The crates of this workspace that no server depends on.
const INTERNAL: [&str; 7] = [
    "tidegate_core",
    "tidegate_gate",
    "tidegate_store",
    "tidegate_query",
    "tidegate_tokens",
    "tidegate_macros",
    "tidegate_config",
];

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = entries.flat_map(|path| match path.is_dir() {
        true => rust_files(&path),
        false => vec![path],
    });
    files.filter(|path| path.extension().is_some_and(|extension| extension == "rs")).collect()
}

/// Returns the lines of examples among the lines of a document.
fn example_lines<'d>(lines: impl Iterator<Item = &'d str>) -> Vec<&'d str> {
    let mut inside = false;
    let mut found = Vec::new();
    for line in lines.map(str::trim) {
        match line.starts_with("```") {
            true => inside = !inside,
            false if inside => found.push(line),
            false => {}
        }
    }
    found
}

fn doc_lines(source: &str) -> impl Iterator<Item = &str> {
    source.lines().filter_map(|line| {
        let line = line.trim_start();
        line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))
    })
}

/// Regression: an example imported `tidegate_core`, because a type was not exported here.
#[test]
fn examples_import_the_public_api() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut examples = 0;
    let mut check = |path: &Path, lines: Vec<&str>| {
        for line in lines {
            examples += 1;
            let internal = INTERNAL.iter().find(|name| line.contains(&format!("{name}::")));
            assert!(internal.is_none(), "{}: {line}", path.display());
        }
    };
    for path in rust_files(&root.join("src")) {
        let source = std::fs::read_to_string(&path).unwrap();
        check(&path, example_lines(doc_lines(&source)));
    }
    for path in [
        root.join("README.md"),
        root.join("../macros/README.md"),
        root.join("../../docs/guides/heavy-tool.md"),
    ] {
        let text = std::fs::read_to_string(&path).unwrap();
        check(&path, example_lines(text.lines()));
    }
    assert!(examples > 100, "{examples} lines of examples");
}

/// `#[heavy]` knows every key of `Rules`: as a key of its own, or for an error that says where to set it.
#[test]
fn the_macro_knows_every_key_of_the_rules() {
    let error = serde_json::from_str::<tidegate_sdk::Rules>(r#"{"no_such_key": 1}"#).unwrap_err().to_string();
    let keys: Vec<&str> = error.split('`').skip(3).step_by(2).collect();
    assert!(keys.contains(&"max_bytes") && keys.contains(&"tier"), "{error}");
    let macros = include_str!("../../../macros/src/lib.rs");
    for key in keys {
        assert!(macros.contains(&format!("\"{key}\"")), "#[heavy] does not know {key}");
    }
}
