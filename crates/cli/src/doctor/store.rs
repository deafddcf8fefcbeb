//! The store: its folder, its permissions, its integrity, and free space.
//!
//! A data folder has a database, and files in `artifacts/` if servers built with the SDK store their results there.

use std::path::{Path, PathBuf};

use tidegate_config::Config;
use tidegate_gate::{StoreLocation, StoreSettings, UserStore};
use tidegate_store::{
    Clock, FolderHealth, HomeError, KeyId, Quotas, SealKey, StoreError, SystemClock, Usage, check,
    check_can_create, check_writable, folder_health, free_bytes, health,
};

use super::check::Check;
use crate::keep::causes;
use crate::system::SystemPaths;
use crate::ui;

const SUBJECT: &str = "store";
/// Free bytes below which a disk is nearly full.
const LOW_SPACE_BYTES: u64 = 256 << 20;
/// Free bytes below which no result can be kept.
const NO_SPACE_BYTES: u64 = 4 << 20;
/// The maximum number of damaged files that a line names.
const MAX_NAMED_FILES: usize = 5;

pub(super) fn checks(config: &Config, paths: &SystemPaths) -> Vec<Check> {
    let place = config.place();
    let settings = match config.store_settings() {
        Ok(settings) => settings,
        Err(error) => {
            return vec![
                Check::failure(SUBJECT, causes(&error)).fix("correct [store] in your own tidegate.toml"),
            ];
        }
    };
    if place.remote().is_some() {
        return remote(&place, &settings);
    }
    let Some(folder) = place.folder() else {
        return vec![
            Check::failure(SUBJECT, HomeError::Unknown.to_string()).fix("export TIDEGATE_HOME=FOLDER"),
        ];
    };
    match std::fs::metadata(&folder) {
        Ok(metadata) if metadata.is_dir() => Folder { path: &folder, paths, settings: &settings }.checks(),
        Ok(_) => vec![
            Check::failure(SUBJECT, format!("{} is not a folder", paths.short(&folder)))
                .fix("move it away, or set TIDEGATE_HOME to a folder"),
        ],
        Err(_) => vec![missing_folder(&folder, paths)],
    }
}

/// Checks a folder that does not exist yet: the first kept result creates it.
fn missing_folder(folder: &Path, paths: &SystemPaths) -> Check {
    let parent = folder.ancestors().skip(1).find(|folder| folder.exists()).unwrap_or(Path::new("/"));
    let name = paths.short(folder);
    match check_can_create(parent) {
        Ok(()) => Check::fine(
            SUBJECT,
            format!("{name}, created when the first result is kept{}", free_space(parent).1),
        )
        .with("path", folder.to_string_lossy()),
        Err(why) => Check::failure(SUBJECT, format!("cannot create {name}: {}: {why}", paths.short(parent)))
            .fix("set TIDEGATE_HOME, or path under [store] in your own tidegate.toml, to a writable folder"),
    }
}

/// Checks a store that several machines share.
fn remote(place: &StoreLocation, settings: &StoreSettings) -> Vec<Check> {
    let shown = place.shown();
    let mut checks = Vec::new();
    if settings.seal.is_none() {
        let text = "no sealing key that all machines of the store share";
        checks.push(
            Check::failure(SUBJECT, text)
                .fix("tidegate store key -o FILE, and set sealing_key_file of [store] to FILE"),
        );
    }
    let seal = settings.seal.clone().unwrap_or_else(SealKey::ephemeral);
    let settings = StoreSettings { seal: Some(seal), keep_schema: true, ..settings.clone() };
    let quota = settings.quotas.over(place.default_quotas()).store_bytes;
    let opened = UserStore::of_user(place.clone()).with_settings(settings).open();
    match opened.and_then(|opened| opened.store.status()) {
        Ok(status) => {
            let usage = status.usage;
            let results = ui::count(usage.artifacts, "result");
            let text = format!(
                "{shown}, {results}, {}{}",
                ui::bytes(usage.stored_bytes),
                encrypted_text(status.key)
            );
            let check = Check::fine(SUBJECT, text).with("url", shown).with("results", usage.artifacts);
            checks.push(check.with("stored_bytes", usage.stored_bytes));
            checks.extend(status.problem.map(|problem| {
                Check::failure(SUBJECT, format!("cannot store results above 256 KB: {problem}"))
                    .fix("check that the object store runs and that the bucket, endpoint and key are right")
            }));
            checks.extend(expired_check(status.expired));
            checks.extend(fullness(usage.stored_bytes, quota));
        }
        Err(error) => checks.push(
            Check::failure(SUBJECT, format!("cannot use {shown}: {}", causes(&error)))
                .fix("check that the database runs and that the address, user and password are right"),
        ),
    }
    checks
}

fn encrypted_text(key: Option<KeyId>) -> String {
    key.map_or_else(String::new, |key| format!(", encrypted with key {key}"))
}

struct Folder<'f> {
    path: &'f Path,
    paths: &'f SystemPaths,
    settings: &'f StoreSettings,
}

impl Folder<'_> {
    fn checks(&self) -> Vec<Check> {
        let mut checks = self.permissions();
        let artifacts = self.path.join("artifacts.db");
        let is_writable = check_can_create(self.path);
        if let Err(why) = &is_writable {
            let text = format!("{}: {why}; no result can be kept", self.paths.short(self.path));
            checks.push(
                Check::failure(SUBJECT, text).fix("make it writable, or set TIDEGATE_HOME to another folder"),
            );
        }
        checks.extend(match artifacts.exists() {
            true => self.artifacts(&artifacts, is_writable.is_ok()),
            false => vec![self.fine(&Usage::default(), None)],
        });
        let ledger = self.path.join("ledger.db");
        if ledger.exists()
            && let Err(error) = check(&ledger)
        {
            checks.push(self.unusable(&ledger, &error));
        }
        checks.extend(self.files());
        checks.extend(self.space());
        checks
    }

    /// Checks the results that servers built with the SDK store as files, if there are any.
    fn files(&self) -> Vec<Check> {
        let folder = self.path.join("artifacts");
        if !folder.is_dir() {
            return Vec::new();
        }
        let within = Folder { path: &folder, ..*self };
        let mut checks = within.permissions();
        match folder_health(&folder, SystemClock.now()) {
            Ok(health) => checks.extend(within.of_files(&health)),
            Err(error) => checks.push(self.unusable(&folder, &error)),
        }
        checks
    }

    fn of_files(&self, health: &FolderHealth) -> Vec<Check> {
        let FolderHealth { usage, expired, damaged } = health;
        let name = self.paths.short(self.path);
        let results = ui::count(usage.artifacts, "result");
        let text = format!("{name}, {results} of SDK servers, {}", ui::bytes(usage.stored_bytes));
        let check = Check::fine(SUBJECT, text).with("path", self.path.to_string_lossy());
        let mut checks =
            vec![check.with("results", usage.artifacts).with("stored_bytes", usage.stored_bytes)];
        checks.extend(expired_check(*expired));
        checks.extend(fullness(usage.stored_bytes, self.quota()));
        if !damaged.is_empty() {
            let count = ui::count(damaged.len() as u64, "file");
            let names = damaged.iter().take(MAX_NAMED_FILES).filter_map(|path| path.file_name());
            let mut names: Vec<_> = names.map(|name| name.to_string_lossy().into_owned()).collect();
            if damaged.len() > MAX_NAMED_FILES {
                names.push("...".into());
            }
            let text = format!("{count} damaged in {name}: {}", names.join(", "));
            let files: Vec<String> = damaged.iter().map(ui::quoted).collect();
            let fix = format!("rm {}; the results in them are lost", files.join(" "));
            checks.push(Check::failure(SUBJECT, text).fix(fix).with("damaged", files));
        }
        checks
    }

    /// Checks that other users cannot read results.
    fn permissions(&self) -> Vec<Check> {
        let name = self.paths.short(self.path);
        let mut checks = Vec::new();
        if let Some(mode) = open_to_others(self.path) {
            let fix = format!("chmod 700 {}", ui::quoted(self.path));
            checks.push(match mode & 0o022 {
                // The files in it are checked below.
                0 => Check::warning(SUBJECT, format!("other users can look into {name} (mode {mode:o})"))
                    .fix(fix),
                _ => Check::failure(SUBJECT, format!("other users can write to {name} (mode {mode:o})"))
                    .fix(fix),
            });
        }
        let entries = std::fs::read_dir(self.path).into_iter().flatten().flatten();
        let mut files: Vec<PathBuf> =
            entries.map(|entry| entry.path()).filter(|path| path.is_file()).collect();
        files.sort();
        let open: Vec<&PathBuf> = files.iter().filter(|path| open_to_others(path).is_some()).collect();
        if !open.is_empty() {
            let names = open.iter().filter_map(|path| path.file_name()).map(|name| name.to_string_lossy());
            let text = format!("other users can read {} in {name}", names.collect::<Vec<_>>().join(", "));
            let files: Vec<String> = open.iter().map(ui::quoted).collect();
            checks.push(Check::failure(SUBJECT, text).fix(format!("chmod 600 {}", files.join(" "))));
        }
        checks
    }

    fn artifacts(&self, path: &Path, is_writable: bool) -> Vec<Check> {
        let health = match health(path, SystemClock.now(), &self.settings.keys) {
            Ok(health) => health,
            Err(error) => return vec![self.unusable(path, &error)],
        };
        let mut checks = vec![self.fine(&health.usage, health.key)];
        checks.extend(health.mismatch.map(|mismatch| {
            Check::failure(SUBJECT, format!("{}: {mismatch}", self.paths.short(path)))
                .fix("tidegate store status, once the key is configured")
        }));
        checks.extend(expired_check(health.expired));
        checks.extend(fullness(health.usage.stored_bytes, self.quota()));
        if is_writable && let Err(error) = check_writable(path) {
            checks.push(match error {
                StoreError::Busy => {
                    Check::failure(SUBJECT, "locked by another process, so nothing can be kept")
                        .fix(format!("find and stop that process: fuser {}", ui::quoted(path)))
                }
                other => self.unusable(path, &other),
            });
        }
        checks
    }

    fn quota(&self) -> u64 {
        self.settings.quotas.over(Quotas::default()).store_bytes
    }

    fn fine(&self, usage: &Usage, key: Option<KeyId>) -> Check {
        let text = format!(
            "{}, {}, {}{}{}",
            self.paths.short(self.path),
            ui::count(usage.artifacts, "result"),
            ui::bytes(usage.stored_bytes),
            encrypted_text(key),
            free_space(self.path).1
        );
        let check = Check::fine(SUBJECT, text).with("path", self.path.to_string_lossy());
        check.with("results", usage.artifacts).with("stored_bytes", usage.stored_bytes)
    }

    fn unusable(&self, path: &Path, error: &StoreError) -> Check {
        let name = self.paths.short(path);
        match error {
            StoreError::DamagedFile => Check::failure(SUBJECT, format!("{name} is damaged")).fix(format!(
                "mv {0} {0}.damaged; tidegate creates a new one, its content is lost",
                ui::quoted(path)
            )),
            StoreError::NewerFormat { format, known } => Check::failure(
                SUBJECT,
                format!("{name} was written by a newer tidegate (format {format}; this one knows {known})"),
            )
            .fix("update tidegate, or set TIDEGATE_HOME to another folder; nothing in it was changed"),
            other => Check::failure(SUBJECT, format!("cannot use {name}: {}", causes(other)))
                .fix("check that you own it and can read and write it"),
        }
    }

    fn space(&self) -> Option<Check> {
        let (free, _) = free_space(self.path);
        let free = free.filter(|free| *free < LOW_SPACE_BYTES)?;
        let text = format!("only {} free on the disk of {}", ui::bytes(free), self.paths.short(self.path));
        let fix = "free space with tidegate gc, or set TIDEGATE_HOME to a folder on another disk";
        Some(
            if free < NO_SPACE_BYTES { Check::failure(SUBJECT, text) } else { Check::warning(SUBJECT, text) }
                .fix(fix),
        )
    }
}

/// Warns of expired results that were not removed yet.
fn expired_check(expired: u64) -> Option<Check> {
    let text = format!("{} expired, but not removed yet", ui::count(expired, "result"));
    (expired > 0).then(|| Check::warning(SUBJECT, text).fix("tidegate gc").with("expired", expired))
}

/// Warns of a store that is full, or nearly so.
fn fullness(used: u64, quota: u64) -> Option<Check> {
    if used <= quota / 10 * 9 {
        return None;
    }
    let text =
        format!("{} of {} used; a full store keeps no more results", ui::bytes(used), ui::bytes(quota));
    let fix = "tidegate gc removes expired results, tidegate rm single ones";
    Some(if used < quota { Check::warning(SUBJECT, text) } else { Check::failure(SUBJECT, text) }.fix(fix))
}

/// Returns the mode of a file that other users can access.
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

/// Returns the free bytes on the disk of a folder, and as text to append.
fn free_space(folder: &Path) -> (Option<u64>, String) {
    let free = free_bytes(folder);
    (free, free.map_or_else(String::new, |free| format!(", {} free", ui::bytes(free))))
}
