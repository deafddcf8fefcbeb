//! The store: its folder, who can read it, whether it is sound, and how much room there is.

use std::path::{Path, PathBuf};

use tidegate_gate::Place;
use tidegate_store::{Clock, Health, HomeError, Quotas, StoreError, SystemClock, can_write, check, health};

use super::check::Check;
use crate::install::Names;
use crate::keep::causes;
use crate::ui;

const SUBJECT: &str = "store";
/// Free bytes below which a disk is nearly full, and below which no result can be kept.
const LITTLE: u64 = 256 << 20;
const NOTHING: u64 = 4 << 20;

pub(super) fn checks(place: &Place, names: &Names) -> Vec<Check> {
    let Some(folder) = place.folder() else {
        return vec![
            Check::failure(SUBJECT, HomeError::Unknown.to_string()).fix("export TIDEGATE_HOME=FOLDER"),
        ];
    };
    match std::fs::metadata(&folder) {
        Ok(metadata) if metadata.is_dir() => Folder { path: &folder, names }.checks(),
        Ok(_) => vec![
            Check::failure(SUBJECT, format!("{} is not a folder", names.short(&folder)))
                .fix("move it away, or set TIDEGATE_HOME to a folder"),
        ],
        Err(_) => vec![not_there(&folder, names)],
    }
}

/// A folder that is not there is made when something is to be kept.
fn not_there(folder: &Path, names: &Names) -> Check {
    let above = folder.ancestors().skip(1).find(|folder| folder.exists()).unwrap_or(Path::new("/"));
    let name = names.short(folder);
    match writable(above) {
        Ok(()) => {
            Check::fine(SUBJECT, format!("{name}, made when the first result is kept{}", free(above).1))
                .with("path", folder.to_string_lossy())
        }
        Err(why) => Check::failure(SUBJECT, format!("{name} cannot be made: {}: {why}", names.short(above)))
            .fix(
                "set TIDEGATE_HOME, or path under [store] in tidegate.toml, to a folder that can be written",
            ),
    }
}

struct Folder<'f> {
    path: &'f Path,
    names: &'f Names,
}

impl Folder<'_> {
    fn checks(&self) -> Vec<Check> {
        let mut checks = self.permissions();
        let artifacts = self.path.join("artifacts.db");
        let writes = writable(self.path);
        if let Err(why) = &writes {
            let text = format!("{}: {why}; no result can be kept", self.names.short(self.path));
            checks.push(
                Check::failure(SUBJECT, text).fix("make it writable, or set TIDEGATE_HOME to another folder"),
            );
        }
        checks.extend(match artifacts.exists() {
            true => self.artifacts(&artifacts, writes.is_ok()),
            false => vec![self.fine(&Health { usage: Default::default(), expired: 0 })],
        });
        let ledger = self.path.join("ledger.db");
        if ledger.exists()
            && let Err(error) = check(&ledger)
        {
            checks.push(self.unusable(&ledger, &error));
        }
        checks.extend(self.room());
        checks
    }

    /// Others must not read what is kept.
    fn permissions(&self) -> Vec<Check> {
        let name = self.names.short(self.path);
        let mut checks = Vec::new();
        if let Some(mode) = open_to_others(self.path) {
            let text = format!("others can get into {name} (mode {mode:o})");
            checks.push(Check::failure(SUBJECT, text).fix(format!("chmod 700 {}", ui::quoted(self.path))));
        }
        let entries = std::fs::read_dir(self.path).into_iter().flatten().flatten();
        let mut files: Vec<PathBuf> =
            entries.map(|entry| entry.path()).filter(|path| path.is_file()).collect();
        files.sort();
        let open: Vec<&PathBuf> = files.iter().filter(|path| open_to_others(path).is_some()).collect();
        if !open.is_empty() {
            let names = open.iter().filter_map(|path| path.file_name()).map(|name| name.to_string_lossy());
            let text = format!("others can read {} in {name}", names.collect::<Vec<_>>().join(", "));
            let files: Vec<String> = open.iter().map(ui::quoted).collect();
            checks.push(Check::failure(SUBJECT, text).fix(format!("chmod 600 {}", files.join(" "))));
        }
        checks
    }

    fn artifacts(&self, path: &Path, writes: bool) -> Vec<Check> {
        let health = match health(path, SystemClock.now()) {
            Ok(health) => health,
            Err(error) => return vec![self.unusable(path, &error)],
        };
        let mut checks = vec![self.fine(&health)];
        if health.expired > 0 {
            let text = format!("{} expired and still there", ui::count(health.expired, "result"));
            checks.push(Check::warning(SUBJECT, text).fix("tidegate gc").with("expired", health.expired));
        }
        let (used, most) = (health.usage.stored_bytes, Quotas::default().store_bytes);
        if used > most / 10 * 9 {
            let text =
                format!("{} of {} are in use; a full store keeps no more", ui::bytes(used), ui::bytes(most));
            let fix = "tidegate gc takes away what has expired, tidegate rm what you name";
            checks.push(
                if used < most { Check::warning(SUBJECT, text) } else { Check::failure(SUBJECT, text) }
                    .fix(fix),
            );
        }
        if writes && let Err(error) = can_write(path) {
            checks.push(match error {
                StoreError::Busy => {
                    Check::failure(SUBJECT, "another process holds it, and nothing can be kept")
                        .fix(format!("find it and end it: fuser {}", ui::quoted(path)))
                }
                other => self.unusable(path, &other),
            });
        }
        checks
    }

    fn fine(&self, health: &Health) -> Check {
        let usage = health.usage;
        let text = format!(
            "{}, {}, {}{}",
            self.names.short(self.path),
            ui::count(usage.artifacts, "result"),
            ui::bytes(usage.stored_bytes),
            free(self.path).1
        );
        let check = Check::fine(SUBJECT, text).with("path", self.path.to_string_lossy());
        check.with("results", usage.artifacts).with("stored_bytes", usage.stored_bytes)
    }

    fn unusable(&self, path: &Path, error: &StoreError) -> Check {
        let name = self.names.short(path);
        match error {
            StoreError::DamagedFile => Check::failure(SUBJECT, format!("{name} is damaged")).fix(format!(
                "mv {0} {0}.damaged; a new one is made, and what was in it is lost",
                ui::quoted(path)
            )),
            other => Check::failure(SUBJECT, format!("{name} cannot be used: {}", causes(other)))
                .fix("see that you own it and may read and write it"),
        }
    }

    fn room(&self) -> Option<Check> {
        let (free, _) = free(self.path);
        let free = free.filter(|free| *free < LITTLE)?;
        let text =
            format!("only {} are free on the disk of {}", ui::bytes(free), self.names.short(self.path));
        let fix = "make room: tidegate gc, or set TIDEGATE_HOME to a folder on another disk";
        Some(
            if free < NOTHING { Check::failure(SUBJECT, text) } else { Check::warning(SUBJECT, text) }
                .fix(fix),
        )
    }
}

/// The mode of a file that others can open.
#[cfg(unix)]
fn open_to_others(path: &Path) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(path).ok()?.permissions().mode() & 0o777;
    (mode & 0o077 != 0).then_some(mode)
}

#[cfg(not(unix))]
fn open_to_others(_: &Path) -> Option<u32> {
    None
}

/// Tells whether files can be made in a folder.
#[cfg(unix)]
fn writable(folder: &Path) -> std::io::Result<()> {
    use rustix::fs::Access;
    Ok(rustix::fs::access(folder, Access::WRITE_OK | Access::EXEC_OK)?)
}

#[cfg(not(unix))]
fn writable(folder: &Path) -> std::io::Result<()> {
    match std::fs::metadata(folder)?.permissions().readonly() {
        true => Err(std::io::ErrorKind::PermissionDenied.into()),
        false => Ok(()),
    }
}

/// The bytes that are free on the disk of a folder, and how that is said.
#[cfg(unix)]
fn free(folder: &Path) -> (Option<u64>, String) {
    match rustix::fs::statvfs(folder) {
        Ok(disk) => {
            let free = disk.f_bavail.saturating_mul(disk.f_frsize);
            (Some(free), format!(", {} free", ui::bytes(free)))
        }
        Err(_) => (None, String::new()),
    }
}

#[cfg(not(unix))]
fn free(_: &Path) -> (Option<u64>, String) {
    (None, String::new())
}
