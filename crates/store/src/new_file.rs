//! A file that is never seen in part under its name, and never overwritten unasked.
//!
//! The bytes go to a temporary file in the same folder, which gets its name once all of them are on disk. A process that is
//! killed leaves at most the temporary file.

#[cfg(any(not(unix), test))]
#[cfg_attr(unix, expect(unreachable_pub, reason = "it is the file of the system elsewhere"))]
mod portable;
#[cfg(unix)]
mod unix;

use crate::id::ArtifactId;
#[cfg(not(unix))]
pub use portable::NewFile;
#[cfg(unix)]
pub use unix::NewFile;

/// Bytes that are written at once.
const BUFFER_BYTES: usize = 256 * 1024;
/// The beginning of the name of a temporary file.
const TEMPORARY_PREFIX: &str = ".tidegate-";
/// The end of the name of a temporary file.
const TEMPORARY_SUFFIX: &str = ".part";

/// Who can read a new file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileAccess {
    /// Its user alone.
    Private,
    /// As the umask says.
    Umask,
}

/// What happens to a file that has the name already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// It stays; the new file is not kept.
    Keep,
    /// The new file replaces it.
    Replace,
}

fn temporary_name() -> String {
    format!("{TEMPORARY_PREFIX}{}{TEMPORARY_SUFFIX}", ArtifactId::random())
}

/// Returns whether a name is that of a temporary file.
#[cfg(any(unix, test))]
pub(crate) fn is_temporary(name: &str) -> bool {
    name.starts_with(TEMPORARY_PREFIX) && name.ends_with(TEMPORARY_SUFFIX)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    /// The same tests for the file of each system, as far as it works here.
    macro_rules! tests_of {
        ($module:ident, $system:ident) => {
            mod $module {
                use std::io::{self, Write};

                use super::super::$system::NewFile;
                use super::super::{Existing, FileAccess, is_temporary};
                use super::names;

                #[test]
                fn a_file_appears_when_it_is_complete() {
                    let folder = tempfile::tempdir().unwrap();
                    let path = folder.path().join("out.csv");
                    let mut file = NewFile::create_in(folder.path(), FileAccess::Umask).unwrap();
                    file.write_all(b"a,b\n").unwrap();
                    assert!(!path.exists() && is_temporary(&names(folder.path())[0]));
                    file.finish("out.csv".as_ref(), Existing::Keep).unwrap();
                    assert_eq!(std::fs::read(&path).unwrap(), b"a,b\n");
                    let mut dropped = NewFile::create_in(folder.path(), FileAccess::Private).unwrap();
                    dropped.write_all(b"x").unwrap();
                    drop(dropped);
                    assert_eq!(names(folder.path()), ["out.csv"]);
                }

                #[test]
                fn a_file_that_exists_stays_unless_it_is_to_be_replaced() {
                    let folder = tempfile::tempdir().unwrap();
                    let path = folder.path().join("out");
                    std::fs::write(&path, "theirs").unwrap();
                    for (existing, left) in
                        [(Existing::Keep, b"theirs".as_slice()), (Existing::Replace, b"ours")]
                    {
                        let mut file = NewFile::create_in(folder.path(), FileAccess::Private).unwrap();
                        file.write_all(b"ours").unwrap();
                        let kind = file.finish("out".as_ref(), existing).map_err(|error| error.kind());
                        assert_eq!(kind.is_err(), existing == Existing::Keep);
                        assert!(kind.is_ok() || kind == Err(io::ErrorKind::AlreadyExists));
                        assert_eq!(std::fs::read(&path).unwrap(), left);
                    }
                    assert_eq!(names(folder.path()), ["out"]);
                }
            }
        };
    }

    #[cfg(unix)]
    tests_of!(on_unix, unix);
    tests_of!(elsewhere, portable);
}
