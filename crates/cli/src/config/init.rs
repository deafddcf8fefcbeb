//! `tidegate config init`: writes a `tidegate.toml` to start from. An existing file is never lost.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use tempfile::NamedTempFile;
use tidegate_config::{FILE_NAME, template, user_file};

use crate::error::CommandError;
use crate::ui;

/// Write a tidegate.toml with every key, commented out
///
/// Writes to the current folder; the file applies to every tidegate started in that folder or below. With --user, writes
/// to the user's configuration folder. Does not overwrite an existing file without --force.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tidegate config init\n  tidegate config init --user")]
pub(super) struct Init {
    /// Write the user's file, which applies in every folder
    #[arg(long)]
    user: bool,

    /// Replace an existing file, and keep the old one beside it
    #[arg(long)]
    force: bool,
}

/// Runs the command.
pub(super) fn run(arguments: &Init) -> Result<(), CommandError> {
    let path = match arguments.user {
        false => PathBuf::from(FILE_NAME),
        true => user_file().ok_or_else(|| {
            CommandError::failed("cannot find the user's configuration folder")
                .hint("set HOME or XDG_CONFIG_HOME")
        })?,
    };
    let failed = |error: io::Error| CommandError::failed(format!("cannot write {}: {error}", path.display()));
    if let Some(folder) = path.parent().filter(|_| arguments.user) {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    if arguments.force && path.exists() {
        // Follow a symbolic link, so that the link itself stays.
        let file = path.canonicalize().map_err(failed)?;
        let old = back_up(&file).map_err(failed)?;
        write_temporary(&file).and_then(|new| new.persist(&file).map_err(Into::into)).map_err(failed)?;
        ui::note(&format!("moved the old file to {}", old.display()));
    } else {
        let new = write_temporary(&path).map_err(failed)?;
        new.persist_noclobber(&path).map_err(|refused| match refused.error.kind() {
            io::ErrorKind::AlreadyExists => {
                CommandError::failed(format!("{} already exists", path.display()))
                    .hint("--force replaces it and keeps the old one beside it")
            }
            _ => failed(refused.error),
        })?;
    }
    ui::note(&format!("wrote {}; every key is commented out, remove the # to set one", path.display()));
    ui::note("next: edit it, then run tidegate config check");
    Ok(())
}

/// Writes the template to a temporary file beside its place, so that it appears whole or not at all.
fn write_temporary(path: &Path) -> io::Result<NamedTempFile> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".tidegate-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The permissions of any new file; the umask applies.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    let mut file = builder.tempfile_in(folder)?;
    file.write_all(template().as_bytes())?;
    file.as_file().sync_all()?;
    Ok(file)
}

/// Copies a file to an unused name beside it, and returns that name.
fn back_up(path: &Path) -> io::Result<PathBuf> {
    let text = std::fs::read(path)?;
    for number in 0.. {
        let ending = if number == 0 { ".old".to_owned() } else { format!(".old{number}") };
        let mut name = path.as_os_str().to_owned();
        name.push(&ending);
        match std::fs::File::create_new(&name) {
            Ok(mut file) => {
                file.write_all(&text)?;
                file.set_permissions(std::fs::metadata(path)?.permissions())?;
                file.sync_all()?;
                return Ok(name.into());
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}
