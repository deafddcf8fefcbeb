//! The copy of the program that clients start, where `install` ran from a cache.
//!
//! `npx`, `uvx` and similar commands run a program from a folder that they empty on their own, so no entry of a client may
//! point there. `install` copies the program to `bin` in the data folder instead. A later `install` updates this copy in
//! place: the new file replaces the old one in one step, and processes that run the old one keep it. Windows does not replace a
//! program that runs; there the old one is renamed first, and removed by a later `install`.

use std::cmp::Ordering;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tempfile::NamedTempFile;

use crate::error::CommandError;
use crate::system::{SystemPaths, data_folder, is_same_file};
use crate::version::VERSION;

/// The beginning of the name of a program that was renamed because it could not be replaced.
const PUT_ASIDE: &str = ".tidegate-old-";

/// What has to happen to the copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CopyAction {
    /// Nothing: no client needs a copy, or the copy is this program.
    Nothing,
    /// There is none yet.
    Create,
    /// It is older, or another build of this version.
    Update,
    /// It is newer than this program.
    KeepNewer,
}

/// The copy in the data folder, whether or not it exists.
#[derive(Debug)]
pub(crate) struct InstalledCopy {
    /// Where it is.
    pub(crate) path: PathBuf,
    /// What it prints for `--version`; `None` if there is no copy, or it cannot be started.
    pub(crate) version: Option<String>,
    /// Whose cache this program runs from, if it does.
    pub(crate) cache: Option<&'static str>,
    /// What `install` does to it.
    pub(crate) action: CopyAction,
}

impl InstalledCopy {
    /// Looks for the copy, and compares it with this program.
    pub(crate) fn find() -> Result<Self, CommandError> {
        let this = std::env::current_exe().map_err(CommandError::failed)?;
        let path = data_folder()?.join("bin").join(format!("tidegate{}", std::env::consts::EXE_SUFFIX));
        let cache = cache_of(&this, dirs::cache_dir().as_deref());
        let exists = path.is_file();
        let version = if exists { version_of(&path) } else { None };
        let action = match exists {
            false if cache.is_some() => CopyAction::Create,
            false => CopyAction::Nothing,
            true if is_same_file(&path, &this) || has_same_bytes(&path, &this) => CopyAction::Nothing,
            true if version.as_deref().is_some_and(|version| order(version) == Ordering::Greater) => {
                CopyAction::KeepNewer
            }
            true => CopyAction::Update,
        };
        Ok(Self { path, version, cache, action })
    }

    /// Says what `install` will do; `None` if that is nothing.
    pub(crate) fn plan_text(&self, paths: &SystemPaths) -> Option<String> {
        let path = paths.short(&self.path);
        let version = self.version.as_deref().unwrap_or("a version that does not start");
        match self.action {
            CopyAction::Nothing => None,
            CopyAction::Create => {
                let owner = self.cache.unwrap_or_default();
                Some(format!(
                    "this program is in the cache of {owner}; it will be copied to {path}, which clients start"
                ))
            }
            CopyAction::Update => {
                Some(format!("{path}, which clients start, will be updated from {version} to {VERSION}"))
            }
            CopyAction::KeepNewer => Some(format!(
                "{path}, which clients start, stays at {version}, newer than this program ({VERSION})"
            )),
        }
    }

    /// Returns whether `install` has to write it.
    pub(crate) fn is_written(&self) -> bool {
        matches!(self.action, CopyAction::Create | CopyAction::Update)
    }

    /// Returns it for the JSON output of `install`.
    pub(crate) fn json(&self, is_done: bool) -> Value {
        let action = match self.action {
            CopyAction::Nothing => return Value::Null,
            CopyAction::Create => "create",
            CopyAction::Update => "update",
            CopyAction::KeepNewer => "keep",
        };
        json!({"path": self.path, "action": action, "version": self.version, "written": is_done})
    }

    /// Writes this program over the copy, or creates it.
    pub(crate) fn write(&self) -> Result<(), CommandError> {
        let failed = |error: io::Error| {
            CommandError::failed(format!("cannot copy the program to {}: {error}", self.path.display()))
                .hint("nothing was changed; set TIDEGATE_HOME to a folder that can be written, or install tidegate permanently")
        };
        let folder = self.path.parent().unwrap_or(Path::new(""));
        std::fs::create_dir_all(folder).map_err(failed)?;
        remove_put_aside(folder);
        let this = std::env::current_exe().map_err(failed)?;
        let mut from = std::fs::File::open(&this).map_err(failed)?;
        let mut new = tempfile::Builder::new().prefix(".tidegate").tempfile_in(folder).map_err(failed)?;
        io::copy(&mut from, &mut new).map_err(failed)?;
        new.flush().map_err(failed)?;
        // Executable like the original.
        let permissions = from.metadata().map_err(failed)?.permissions();
        new.as_file().set_permissions(permissions).map_err(failed)?;
        new.as_file().sync_all().map_err(failed)?;
        match new.persist(&self.path) {
            Err(error) if cfg!(windows) && self.path.exists() => {
                replace_running(error.file, &self.path).map_err(failed)
            }
            done => done.map(drop).map_err(|error| failed(error.error)),
        }
    }
}

/// Puts a new program in the place of one that runs, which is renamed.
fn replace_running(new: NamedTempFile, path: &Path) -> io::Result<()> {
    let aside = path.with_file_name(format!("{PUT_ASIDE}{}", std::process::id()));
    std::fs::rename(path, &aside)?;
    new.persist(path).map(drop).map_err(|error| {
        // Clients start what is there, so it must not stay missing.
        let _ = std::fs::rename(&aside, path);
        error.error
    })
}

/// Removes programs that an earlier update had to rename, unless they still run.
fn remove_put_aside(folder: &Path) {
    for file in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if file.file_name().to_string_lossy().starts_with(PUT_ASIDE) {
            let _ = std::fs::remove_file(file.path());
        }
    }
}

/// Returns whose cache a program is in: a folder that another program empties.
fn cache_of(program: &Path, caches: Option<&Path>) -> Option<&'static str> {
    let owner = |name: &OsStr| match name.to_str()? {
        "_npx" => Some("npx"),
        name if name.starts_with("dlx-") => Some("dlx"),
        name if name.starts_with("bunx-") => Some("bunx"),
        name if name.starts_with("archive-v") || name.starts_with("environments-v") => Some("uv"),
        _ => None,
    };
    let mut names = program.components().map(std::path::Component::as_os_str);
    let is_in_caches = || caches.is_some_and(|caches| program.starts_with(caches));
    names.find_map(owner).or_else(|| is_in_caches().then_some("your user"))
}

/// Returns whether a program is in a folder that another program empties.
pub(crate) fn is_in_cache(program: &Path) -> bool {
    cache_of(program, dirs::cache_dir().as_deref()).is_some()
}

/// Returns what a program prints for `--version`, without its name.
pub(crate) fn version_of(program: &Path) -> Option<String> {
    let mut command = Command::new(program);
    let output = command.arg("--version").stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.lines().next()?.strip_prefix("tidegate ")?.trim().to_owned())
}

/// Compares a version with that of this program, without the commit.
pub(crate) fn order(version: &str) -> Ordering {
    numbers(version).cmp(&numbers(VERSION))
}

fn numbers(version: &str) -> Vec<u64> {
    let number = version.split(' ').next().unwrap_or_default();
    number.split(['.', '-', '+']).map_while(|part| part.parse().ok()).collect()
}

fn has_same_bytes(one: &Path, other: &Path) -> bool {
    let length = |path: &Path| std::fs::metadata(path).map(|metadata| metadata.len()).ok();
    length(one) == length(other)
        && matches!((std::fs::read(one), std::fs::read(other)), (Ok(one), Ok(other)) if one == other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caches_are_recognised() {
        let caches = Path::new("/home/me/.cache");
        let owner = |program: &str| cache_of(Path::new(program), Some(caches));
        for (program, cache) in [
            ("/home/me/.npm/_npx/0a1b/node_modules/@tidegate/linux-x64/bin/tidegate", Some("npx")),
            ("/home/me/.cache/uv/archive-v0/Xy_1/bin/tidegate", Some("uv")),
            ("/srv/uv-cache/archive-v0/Xy_1/bin/tidegate", Some("uv")),
            ("/home/me/.cache/pnpm/dlx/0a1b/node_modules/tidegate", Some("your user")),
            ("/tmp/xfs-1/dlx-77/node_modules/@tidegate/linux-x64/bin/tidegate", Some("dlx")),
            ("/tmp/bunx-1000-tidegate@latest/node_modules/@tidegate/linux-x64/bin/tidegate", Some("bunx")),
            ("/home/me/.cache/pipx/0a1b/bin/tidegate", Some("your user")),
            ("/home/me/.local/share/uv/tools/tidegate/bin/tidegate", None),
            ("/home/me/.local/share/pipx/venvs/tidegate/bin/tidegate", None),
            ("/home/me/.cargo/bin/tidegate", None),
            ("/usr/lib/node_modules/tidegate/node_modules/@tidegate/linux-x64/bin/tidegate", None),
            ("/home/me/src/tidegate/target/release/tidegate", None),
        ] {
            assert_eq!(owner(program), cache, "{program}");
        }
    }

    #[test]
    fn a_program_that_cannot_be_replaced_is_put_aside_and_removed_later() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tidegate.exe");
        let names = || {
            let entries = std::fs::read_dir(folder.path()).unwrap();
            let mut names: Vec<String> =
                entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        };
        std::fs::write(&path, "old").unwrap();
        let mut new = NamedTempFile::new_in(folder.path()).unwrap();
        new.write_all(b"new").unwrap();
        replace_running(new, &path).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        let aside = names().remove(0);
        assert_eq!(std::fs::read(folder.path().join(&aside)).unwrap(), b"old", "{aside}");
        remove_put_aside(folder.path());
        assert_eq!(names(), ["tidegate.exe"]);
    }

    #[test]
    fn versions_are_ordered_by_their_numbers() {
        assert_eq!(order(VERSION), Ordering::Equal);
        assert_eq!(order(env!("CARGO_PKG_VERSION")), Ordering::Equal, "whatever the commit is");
        assert_eq!((order("0.1.0 (0000000)"), order("0.1.10")), (Ordering::Less, Ordering::Less));
        assert_eq!((order("0.10.0"), order("1.0.0 (abcdef0)")), (Ordering::Greater, Ordering::Greater));
    }
}
