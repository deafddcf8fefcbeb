//! Which files are read: the one that was named, or else the project's and the user's.

use std::path::{Path, PathBuf};

/// The name of the file.
pub const FILE_NAME: &str = "tidegate.toml";

/// Returns the files to read, the one with the highest precedence first: the named one or that of `TIDEGATE_CONFIG`, or
/// else the project's and the user's.
pub fn config_paths(named: Option<&Path>) -> Vec<PathBuf> {
    match named.map(Path::to_owned).or_else(|| path_variable("TIDEGATE_CONFIG")) {
        Some(path) => vec![path],
        None => project_file().into_iter().chain(user_file().filter(|path| path.is_file())).collect(),
    }
}

/// Returns the path of the user's file, whether or not there is one.
pub fn user_file() -> Option<PathBuf> {
    Some(dirs::config_dir()?.join("tidegate").join(FILE_NAME))
}

/// Returns the nearest file in the current folder or above it, up to the root of the repository.
fn project_file() -> Option<PathBuf> {
    let current = std::env::current_dir().ok()?;
    for folder in current.ancestors() {
        let path = folder.join(FILE_NAME);
        if path.is_file() {
            return Some(path);
        }
        if folder.join(".git").exists() {
            return None;
        }
    }
    None
}

/// Returns the path in an environment variable; an empty one counts as unset.
pub(crate) fn path_variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Expands a path that a file sets: `~/` is the home folder, a relative path starts at the folder of the file.
pub(crate) fn expand(file: &Path, path: &str) -> PathBuf {
    match (path.strip_prefix("~/"), dirs::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => file.parent().unwrap_or(Path::new("")).join(path),
    }
}
