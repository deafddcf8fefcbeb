//! Which files are read: the one that the user named, or else the project's and the user's.
//!
//! A project's file is read without the user's consent: cloning a repository is enough. So it may set fewer keys than the
//! user's.

use std::path::{Path, PathBuf};

/// The name of the file.
pub const FILE_NAME: &str = "tidegate.toml";

/// Whom a configuration file belongs to, which decides the keys it may set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FileOwner {
    /// The user: their own file, or one that they named. It may set every key.
    #[default]
    User,
    /// A project: a file that was found in the current folder or above it. A stranger may have written it.
    Project,
}

/// A configuration file to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigPath {
    /// Where it is.
    pub path: PathBuf,
    /// Whom it belongs to.
    pub owner: FileOwner,
}

/// Returns the files to read, the one with the highest precedence first: the named one or that of `TIDEGATE_CONFIG`, or
/// else the project's and the user's.
pub fn config_paths(named: Option<&Path>) -> Vec<ConfigPath> {
    let of_user = |path| ConfigPath { path, owner: FileOwner::User };
    if let Some(path) = named.map(Path::to_owned).or_else(|| path_variable("TIDEGATE_CONFIG")) {
        return vec![of_user(path)];
    }
    let user = user_file().filter(|path| path.is_file());
    // In the user's configuration folder the search finds the user's own file.
    let project = project_file().filter(|path| user.as_ref().is_none_or(|user| !is_same_file(path, user)));
    let project = project.map(|path| ConfigPath { path, owner: FileOwner::Project });
    project.into_iter().chain(user.map(of_user)).collect()
}

/// Returns a file that the user names to check it; it belongs to the project if a search would find it there.
pub fn path_to_check(path: &Path) -> ConfigPath {
    let is_project = project_file().is_some_and(|project| is_same_file(&project, path))
        && !user_file().is_some_and(|user| is_same_file(&user, path));
    let owner = if is_project { FileOwner::Project } else { FileOwner::User };
    ConfigPath { path: path.to_owned(), owner }
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
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
