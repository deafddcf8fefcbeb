//! The source tree that is scanned. Nothing outside of it is ever read: a path is relative, has no way up, and what it
//! leads to through links is still below the root; a walk follows no links at all.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use tidegate_sdk::contract::Item;

use crate::answer::{Refusal, shown};
use crate::source::Language;

/// Folders that hold what was made and not what was written; hidden ones are left out as well.
pub(crate) const SKIPPED: [&str; 6] = ["build", "dist", "node_modules", "target", "vendor", "__pycache__"];
/// The most files of one scan.
pub(crate) const MAX_FILES: usize = 20_000;
/// The largest file that is read.
pub(crate) const MAX_FILE_BYTES: u64 = 1 << 20;

/// A folder with everything below it.
#[derive(Debug, Clone)]
pub struct Tree {
    root: PathBuf,
}

/// A file to scan.
#[derive(Debug, Clone)]
pub(crate) struct File {
    /// Below the root, with `/` between its parts.
    pub(crate) path: String,
    pub(crate) at: PathBuf,
    pub(crate) language: Language,
}

/// What a walk has come to.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    pub(crate) files: Vec<File>,
    /// Paths that could not be read, and why.
    pub(crate) errors: Vec<(String, String)>,
}

impl Tree {
    /// Opens the tree below a folder.
    ///
    /// # Errors
    ///
    /// Where there is no such folder.
    pub fn open(root: &Path) -> io::Result<Self> {
        let root = fs::canonicalize(root)?;
        if !root.is_dir() {
            return Err(io::Error::new(io::ErrorKind::NotADirectory, "the root must be a folder"));
        }
        Ok(Self { root })
    }

    /// Returns the folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns what a path of a caller's stands for; none is the whole tree.
    pub(crate) fn place(&self, path: Option<&str>) -> Result<PathBuf, Refusal> {
        let path = path.unwrap_or(".");
        let refused = |why: &str| {
            let words = format!("path {} {why}; give one below the root, such as:", shown(path));
            Err(Refusal::new(words).accepting(self.examples()))
        };
        if path.contains('\0') {
            return refused("has a NUL in it");
        }
        let mut depth = 0_usize;
        for part in Path::new(path).components() {
            match part {
                Component::Normal(_) => depth += 1,
                Component::CurDir => {}
                Component::ParentDir if depth > 0 => depth -= 1,
                Component::ParentDir => return refused("leads out of the tree"),
                Component::RootDir | Component::Prefix(_) => return refused("is absolute"),
            }
        }
        match fs::canonicalize(self.root.join(path)) {
            Err(_) => refused("does not exist in the tree"),
            Ok(place) if place.starts_with(&self.root) => Ok(place),
            // Told like a path that is written that way: what lies outside is nobody's business.
            Ok(_) => refused("leads out of the tree"),
        }
    }

    /// The folders at the top, to choose from.
    fn examples(&self) -> Vec<Item> {
        let Ok(entries) = fs::read_dir(&self.root) else { return Vec::new() };
        let folders = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        let mut names: Vec<String> = folders
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| is_walked(name))
            .collect();
        names.sort();
        // An id is shown whole, so one that is too long is none.
        names
            .into_iter()
            .filter(|name| name.len() <= 50)
            .take(5)
            .map(|name| Item::new(&name, "folder"))
            .collect()
    }

    /// Returns the source files at a place, in the order of their paths.
    pub(crate) fn files(&self, place: &Path) -> Walk {
        let mut walk = Walk::default();
        if place.is_file() {
            walk.add(self, place);
            return walk;
        }
        let mut folders = vec![place.to_owned()];
        while let Some(folder) = folders.pop() {
            let mut entries: Vec<PathBuf> = match fs::read_dir(&folder) {
                Ok(entries) => entries.flatten().map(|entry| entry.path()).collect(),
                Err(error) => {
                    walk.errors.push((self.relative(&folder), error.to_string()));
                    continue;
                }
            };
            entries.sort();
            let mut below = Vec::new();
            for entry in entries.into_iter().filter(|entry| is_walked(&name(entry))) {
                match fs::symlink_metadata(&entry).map(|found| found.file_type()) {
                    Ok(kind) if kind.is_dir() => below.push(entry),
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
            folders.extend(below.into_iter().rev());
        }
        walk.files.sort_by(|one, other| one.path.cmp(&other.path));
        walk
    }

    fn relative(&self, path: &Path) -> String {
        let below = path.strip_prefix(&self.root).unwrap_or(path);
        let parts: Vec<_> = below.components().map(|part| part.as_os_str().to_string_lossy()).collect();
        if parts.is_empty() { ".".to_owned() } else { parts.join("/") }
    }

    /// Returns a place as it is told.
    pub(crate) fn told(&self, place: &Path) -> String {
        self.relative(place)
    }
}

impl Walk {
    fn add(&mut self, tree: &Tree, at: &Path) {
        if let Some(language) = Language::of(at) {
            self.files.push(File { path: tree.relative(at), at: at.to_owned(), language });
        }
    }
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn is_walked(name: &str) -> bool {
    !name.starts_with('.') && !SKIPPED.contains(&name)
}

/// Reads a file as text. What is no UTF-8 is replaced, and said.
pub(crate) fn read(file: &File) -> Result<(String, Option<&'static str>), String> {
    let size = fs::metadata(&file.at).map_err(|error| error.to_string())?.len();
    if size > MAX_FILE_BYTES {
        return Err(format!("{size} bytes are above the {MAX_FILE_BYTES} that are read"));
    }
    let bytes = fs::read(&file.at).map_err(|error| error.to_string())?;
    if bytes.contains(&0) {
        return Err("binary: it has NUL bytes".to_owned());
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok((text, None)),
        Err(error) => Ok((
            String::from_utf8_lossy(error.as_bytes()).into_owned(),
            Some("not valid UTF-8, read with marks"),
        )),
    }
}
