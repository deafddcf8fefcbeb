//! `tidegate config init`: writes a `tidegate.toml` to start from, and never takes one away.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use tempfile::NamedTempFile;

use super::{NAME, template, user_file};
use crate::error::CommandError;
use crate::ui;

/// Write a tidegate.toml with every key, commented out
///
/// It is written into the current folder and holds for what is started in it or below, or, with --user, into the
/// configuration folder of the user. A file that is there stays as it is.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tidegate config init\n  tidegate config init --user")]
pub(super) struct Init {
    /// Write the file that holds everywhere for this user
    #[arg(long)]
    user: bool,

    /// Write it where there is one already; the old one is kept beside it
    #[arg(long)]
    force: bool,
}

/// Runs the command.
pub(super) fn run(arguments: &Init) -> Result<(), CommandError> {
    let path = match arguments.user {
        false => PathBuf::from(NAME),
        true => user_file().ok_or_else(|| {
            CommandError::failed("the configuration folder of the user is not known")
                .hint("set HOME, or XDG_CONFIG_HOME")
        })?,
    };
    let failed = |error: io::Error| CommandError::failed(format!("cannot write {}: {error}", path.display()));
    if let Some(folder) = path.parent().filter(|_| arguments.user) {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    if arguments.force && path.exists() {
        // Through a link it is the file behind it that is replaced.
        let file = path.canonicalize().map_err(failed)?;
        let old = set_aside(&file).map_err(failed)?;
        written(&file).and_then(|new| new.persist(&file).map_err(Into::into)).map_err(failed)?;
        ui::note(&format!("the old file is {}", old.display()));
    } else {
        let new = written(&path).map_err(failed)?;
        new.persist_noclobber(&path).map_err(|refused| match refused.error.kind() {
            io::ErrorKind::AlreadyExists => {
                CommandError::failed(format!("{} is there already", path.display()))
                    .hint("it stays as it is; --force writes a new one and keeps the old one beside it")
            }
            _ => failed(refused.error),
        })?;
    }
    ui::note(&format!("{} is written; nothing in it holds until you take a # away", path.display()));
    ui::note("next: edit it, then run tidegate config check");
    Ok(())
}

/// Writes the text beside its place, so that it is there whole or not at all.
fn written(path: &Path) -> io::Result<NamedTempFile> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".tidegate-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // As any new file; the user's mask takes away from it.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    let mut file = builder.tempfile_in(folder)?;
    file.write_all(template::template().as_bytes())?;
    file.as_file().sync_all()?;
    Ok(file)
}

/// Copies a file to a name beside it that is free, and returns that.
fn set_aside(path: &Path) -> io::Result<PathBuf> {
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
