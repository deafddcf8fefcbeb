//! This machine: where files are, how their paths are shown, and how tidegate is started.

use std::path::{Path, PathBuf};

use tidegate_clients::{Folders, System};
use tidegate_store::{Home, HomeError};

use crate::error::CommandError;
use crate::installed_copy::{InstalledCopy, is_in_cache};
use crate::ui;

/// A file that is always empty: the configuration of a proxy that should have none.
pub(crate) const EMPTY_FILE: &str = if cfg!(windows) { "NUL" } else { "/dev/null" };

/// The folders of this machine, and short names for paths in them.
pub(crate) struct SystemPaths {
    pub(crate) folders: Folders,
    current: PathBuf,
}

impl SystemPaths {
    /// Reads them from the environment.
    pub(crate) fn detect() -> Result<Self, CommandError> {
        let home = dirs::home_dir()
            .ok_or_else(|| CommandError::failed("cannot find the home folder").hint("set HOME"))?;
        let current = std::env::current_dir()
            .map_err(|error| CommandError::failed(format!("cannot read the current folder: {error}")))?;
        let root = current.ancestors().find(|folder| folder.join(".git").exists());
        let mut projects = vec![current.clone()];
        projects.extend(root.filter(|root| **root != *current).map(Path::to_owned));
        let variables = Folders::VARIABLES
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), PathBuf::from(std::env::var_os(name)?))));
        let variables = variables.collect();
        let folders = Folders { home, projects, system: System::current(), variables };
        Ok(Self { folders, current })
    }

    /// Returns a path as a person would write it here: relative to the current folder or to `~`.
    pub(crate) fn short(&self, path: &Path) -> String {
        let home = &self.folders.home;
        let is_above_home = home.starts_with(&self.current);
        let short = match (path.strip_prefix(&self.current), path.strip_prefix(home)) {
            _ if path == self.current => ".".into(),
            _ if path == home => "~".into(),
            (Ok(below), _) if !is_above_home => below.to_owned(),
            (_, Ok(below)) => Path::new("~").join(below),
            (Ok(below), _) => below.to_owned(),
            _ => path.to_owned(),
        };
        ui::printable(&short.to_string_lossy())
    }
}

/// The program that entries of clients start.
pub(crate) struct Program {
    /// Its absolute path. A link such as `~/.cargo/bin/tidegate` is preferred to its target, since it survives updates.
    pub(crate) path: String,
    /// Whether it can be started by name.
    pub(crate) is_on_path: bool,
}

impl Program {
    /// Finds this program on the `PATH` and on disk. If it runs from a cache, entries start its copy instead.
    pub(crate) fn detect(copy: &InstalledCopy) -> Result<Self, CommandError> {
        let this = match copy.cache {
            Some(_) => copy.path.clone(),
            None => std::env::current_exe().map_err(CommandError::failed)?,
        };
        // npx and uvx put their caches on the PATH, but only for this run.
        let on_path: Vec<_> = programs_on_path().into_iter().filter(|path| !is_in_cache(path)).collect();
        let called =
            std::env::args_os().next().map(PathBuf::from).filter(|called| called.components().count() > 1);
        let is_this = |path: &PathBuf| is_same_file(path, &this);
        let path = on_path.iter().chain(&called).find(|path| is_this(path)).unwrap_or(&this);
        let path = std::path::absolute(path).map_err(CommandError::failed)?;
        let path = path.into_os_string().into_string().map_err(|path| {
            CommandError::failed(format!("the path {} of this program is not UTF-8", path.display()))
                .hint("move tidegate to another folder")
        })?;
        Ok(Self { path, is_on_path: !on_path.is_empty() })
    }
}

/// Returns every program named `tidegate` on the `PATH`, the one that is started by name first.
pub(crate) fn programs_on_path() -> Vec<PathBuf> {
    let name = format!("tidegate{}", std::env::consts::EXE_SUFFIX);
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).map(|folder| folder.join(&name)).filter(|path| path.is_file()).collect()
}

/// Returns whether two paths lead to the same file.
pub(crate) fn is_same_file(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    real(one).is_some() && real(one) == real(other)
}

/// Returns the folder with the records of `install` and the copies of files, whether or not it exists.
///
/// It belongs to the user and does not depend on the current folder. So `tidegate.toml` does not move it: a project's file
/// would get copies of files with secrets, and a file with mistakes would block `uninstall`.
pub(crate) fn data_folder() -> Result<PathBuf, CommandError> {
    let named = std::env::var_os("TIDEGATE_HOME").filter(|named| !named.is_empty()).map(PathBuf::from);
    if let Some(relative) = named.as_deref().filter(|named| named.is_relative()) {
        let text = format!("TIDEGATE_HOME is the relative path {:?}", relative.display());
        return Err(CommandError::bad_input(text).hint("set it to an absolute path"));
    }
    Home::find(named).ok_or_else(|| CommandError::out_of_reach(HomeError::Unknown))
}
