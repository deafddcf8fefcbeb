//! `tidegate store key`: makes a key for encryption or for signing cursors.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use tidegate_store::StoreKey;

use crate::error::CommandError;
use crate::output_file::OutputFile;
use crate::ui;

/// Make a new key, to encrypt a store with or to sign cursors with
///
/// Prints 32 random bytes in base64, or writes them to a new file that only you can read. Keep a copy in a safe place:
/// without its key, an encrypted store cannot be read.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tidegate store key --output ~/.config/tidegate/store.key\n  \
    tidegate store key > store.key")]
pub(super) struct Arguments {
    /// New file to write the key to [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), CommandError> {
    let key = StoreKey::random();
    let line = format!("{}\n", key.to_text());
    let Some(path) = &arguments.output else { return ui::data(line.as_bytes()) };
    if path.symlink_metadata().is_ok() {
        return Err(CommandError::bad_input(format!("{} exists", path.display()))
            .hint("a key is never overwritten; name another file"));
    }
    let mut file = OutputFile::create_private(path)?;
    file.write_all(line.as_bytes()).map_err(|error| file.failed(&error))?;
    file.finish()?;
    ui::note(&format!("wrote the key {} to {}", key.id(), path.display()));
    Ok(())
}
