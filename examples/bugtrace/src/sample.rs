//! A source tree embedded in the program: two crates of this repository at build time.

use std::fs;
use std::io;
use std::path::Path;

include!(concat!(env!("OUT_DIR"), "/sample.rs"));

/// Unpacks the sample tree into a folder.
///
/// # Errors
///
/// Fails if the folder cannot be written.
pub fn sample(folder: &Path) -> io::Result<()> {
    for (name, text) in FILES {
        let path = folder.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, text)?;
    }
    Ok(())
}
