//! The source tree to scan.
//!
//! Invariant: nothing outside the tree is read. A path is relative and does not leave the root, neither through `..` nor
//! through symbolic links; a walk does not follow links at all.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use tidegate_sdk::contract::Item;

use crate::answer::{Failure, quote};
use crate::source::Language;

/// Folders with generated files, which are not scanned. Hidden folders are skipped as well.
pub(crate) const SKIPPED_FOLDERS: [&str; 6] =
    ["build", "dist", "node_modules", "target", "vendor", "__pycache__"];
/// The maximum number of files of one scan.
pub(crate) const MAX_FILES: usize = 20_000;
/// The maximum size of a file.
pub(crate) const MAX_FILE_BYTES: u64 = 1 << 20;

/// A folder with everything below it; nothing outside is read.
#[derive(Debug, Clone)]
pub struct Tree {
    root: PathBuf,
}

/// A file to scan.
#[derive(Debug, Clone)]
pub(crate) struct File {
    /// The path relative to the root, with `/` as separator.
    pub(crate) path: String,
    pub(crate) absolute: PathBuf,
    pub(crate) language: Language,
}

/// The source files found by a walk.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    pub(crate) files: Vec<File>,
    /// Paths that could not be read, and the reasons.
    pub(crate) errors: Vec<(String, String)>,
}

impl Tree {
    /// Opens the tree below a folder.
    ///
    /// # Errors
    ///
    /// Fails if the folder does not exist.
    pub fn open(root: &Path) -> io::Result<Self> {
        let root = fs::canonicalize(root)?;
        if !root.is_dir() {
            return Err(io::Error::new(io::ErrorKind::NotADirectory, "the root must be a folder"));
        }
        Ok(Self { root })
    }

    /// Returns the root folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the absolute path for a path given by a caller; `None` means the root.
    pub(crate) fn resolve(&self, path: Option<&str>) -> Result<PathBuf, Failure> {
        let path = path.unwrap_or(".");
        let invalid = |problem: &str| {
            let summary = format!("path {} {problem}; use one below the root, such as:", quote(path));
            Err(Failure::new(summary).with_accepted(self.examples()))
        };
        if path.contains('\0') {
            return invalid("contains NUL");
        }
        let mut depth = 0_usize;
        for part in Path::new(path).components() {
            match part {
                Component::Normal(_) => depth += 1,
                Component::CurDir => {}
                Component::ParentDir if depth > 0 => depth -= 1,
                Component::ParentDir => return invalid("leads out of the tree"),
                Component::RootDir | Component::Prefix(_) => return invalid("is absolute"),
            }
        }
        match fs::canonicalize(self.root.join(path)) {
            Err(_) => invalid("does not exist in the tree"),
            Ok(target) if target.starts_with(&self.root) => Ok(target),
            // The same error as for `..`, which reveals nothing about what exists outside.
            Ok(_) => invalid("leads out of the tree"),
        }
    }

    /// Returns top-level folders as suggestions.
    fn examples(&self) -> Vec<Item> {
        let Ok(entries) = fs::read_dir(&self.root) else { return Vec::new() };
        let folders = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        let mut names: Vec<String> = folders
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| is_walked(name))
            .collect();
        names.sort();
        // An id is never truncated, so long names are left out.
        names
            .into_iter()
            .filter(|name| name.len() <= 50)
            .take(5)
            .map(|name| Item::new(&name, "folder"))
            .collect()
    }

    /// Returns the source files at or below a path, sorted by path.
    pub(crate) fn files(&self, target: &Path) -> Walk {
        let mut walk = Walk::default();
        if target.is_file() {
            walk.add(self, target);
            return walk;
        }
        let mut folders = vec![target.to_owned()];
        while let Some(folder) = folders.pop() {
            let mut entries: Vec<PathBuf> = match fs::read_dir(&folder) {
                Ok(entries) => entries.flatten().map(|entry| entry.path()).collect(),
                Err(error) => {
                    walk.errors.push((self.relative(&folder), error.to_string()));
                    continue;
                }
            };
            entries.sort();
            let mut subfolders = Vec::new();
            for entry in entries.into_iter().filter(|entry| is_walked(&name(entry))) {
                match fs::symlink_metadata(&entry).map(|found| found.file_type()) {
                    Ok(kind) if kind.is_dir() => subfolders.push(entry),
                    Ok(kind) if kind.is_file() => walk.add(self, &entry),
                    Ok(_) => {}
                    Err(error) => walk.errors.push((self.relative(&entry), error.to_string())),
                }
                if walk.files.len() > MAX_FILES {
                    walk.files.truncate(MAX_FILES);
                    walk.errors.push((self.relative(&folder), format!("stopped after {MAX_FILES} files")));
                    return walk;
                }
            }
            folders.extend(subfolders.into_iter().rev());
        }
        walk.files.sort_by(|one, other| one.path.cmp(&other.path));
        walk
    }

    /// Returns a path relative to the root, with `/` as separator; the root itself is `.`.
    pub(crate) fn relative(&self, path: &Path) -> String {
        let relative = path.strip_prefix(&self.root).unwrap_or(path);
        let parts: Vec<_> = relative.components().map(|part| part.as_os_str().to_string_lossy()).collect();
        if parts.is_empty() { ".".to_owned() } else { parts.join("/") }
    }
}

impl Walk {
    fn add(&mut self, tree: &Tree, path: &Path) {
        if let Some(language) = Language::of(path) {
            self.files.push(File { path: tree.relative(path), absolute: path.to_owned(), language });
        }
    }
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn is_walked(name: &str) -> bool {
    !name.starts_with('.') && !SKIPPED_FOLDERS.contains(&name)
}

/// Reads a file as text. Invalid UTF-8 is replaced and reported as a warning.
pub(crate) fn read(file: &File) -> Result<(String, Option<&'static str>), String> {
    let size = fs::metadata(&file.absolute).map_err(|error| error.to_string())?.len();
    if size > MAX_FILE_BYTES {
        return Err(format!("{size} bytes are more than the limit of {MAX_FILE_BYTES}"));
    }
    let bytes = fs::read(&file.absolute).map_err(|error| error.to_string())?;
    if bytes.contains(&0) {
        return Err("binary: contains NUL bytes".to_owned());
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok((text, None)),
        Err(error) => {
            Ok((String::from_utf8_lossy(error.as_bytes()).into_owned(), Some("invalid UTF-8 was replaced")))
        }
    }
}
