//! Embeds the sources of two crates of this repository, so that the program can scan a real source tree anywhere.

use std::env;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// The embedded folders, relative to the root of the repository.
const EMBEDDED_FOLDERS: [&str; 2] = ["crates/core/src", "crates/sdk/src"];

fn main() -> io::Result<()> {
    let variable = |name| env::var_os(name).map(PathBuf::from).ok_or_else(|| io::Error::other(name));
    let repository = variable("CARGO_MANIFEST_DIR")?.join("../..");
    let mut list = String::from("static FILES: &[(&str, &str)] = &[\n");
    for folder in EMBEDDED_FOLDERS {
        let mut files = Vec::new();
        collect(&repository.join(folder), &mut files)?;
        files.sort();
        for file in files {
            let name = file.strip_prefix(&repository).unwrap_or(&file).to_string_lossy().replace('\\', "/");
            list += &format!("    ({name:?}, include_str!({:?})),\n", fs::canonicalize(&file)?);
        }
    }
    list.push_str("];\n");
    fs::write(variable("OUT_DIR")?.join("sample.rs"), list)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    // A folder changes when a file is added or removed; cargo tracks the files themselves through `include_str!`.
    writeln!(io::stdout(), "cargo::rerun-if-changed={}", folder.display())?;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        match path.extension() {
            _ if path.is_dir() => collect(&path, files)?,
            Some(extension) if extension == "rs" => files.push(path),
            _ => {}
        }
    }
    Ok(())
}
