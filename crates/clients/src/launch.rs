//! How a client starts a server: the command, the environment variables and the working folder of its entry.
//!
//! `doctor` starts servers the way their clients do, so references are resolved here too (`references.rs`).

use std::path::{Path, PathBuf};

use crate::client::Scope;
use crate::document::Node;
use crate::entry::EntryKind;
use crate::error::FileError;
use crate::install::FoundServer;
use crate::references::Resolver;
use crate::text::{parse, read};

/// The variables that a server inherits even if its client passes on only a list of variables.
const ALWAYS_INHERITED: [&str; 11] = [
    "HOME",
    "LOGNAME",
    "PATH",
    "SHELL",
    "USER",
    "LANG",
    "LC_ALL",
    "TERM",
    "TMPDIR",
    "TZ",
    "__CF_USER_TEXT_ENCODING",
];

/// How a server is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// The program and its arguments.
    pub words: Vec<String>,
    /// The environment variables that its entry sets.
    pub variables: Vec<(String, String)>,
    /// The variables that it inherits from the client; all of them if `None`.
    pub passed: Option<Vec<String>>,
    /// The working folder, if it is not that of the client.
    pub folder: Option<PathBuf>,
}

/// Why only its client can start a server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// The client's file cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// The entry has no command.
    #[error("{0}")]
    Unknown(&'static str),
    /// The entry uses a variable that is not set.
    #[error("its entry refers to the variable {0}, which is not set here")]
    Unset(String),
    /// The entry uses a value that only the client has.
    #[error("its entry refers to {0}, which only the client knows")]
    Asked(String),
}

/// The environment a server is started in.
#[derive(Clone, Copy)]
pub struct LaunchContext<'s> {
    /// The user's home folder.
    pub home: &'s Path,
    /// The folder that the client is started in.
    pub current: &'s Path,
    /// Returns the value of an environment variable.
    pub variable: &'s dyn Fn(&str) -> Option<String>,
}

/// Reads how a server is started from the file it was found in.
///
/// # Errors
///
/// If the file cannot be read, or only the client can start the server.
pub fn launch(found: &FoundServer, surroundings: LaunchContext<'_>) -> Result<Launch, LaunchError> {
    const GONE: LaunchError = LaunchError::Unknown("its entry is gone");
    let content = read(&found.file)?.ok_or(GONE)?;
    let root = parse(&found.file, found.notation, &content)?;
    let entry = root.at(&found.path).ok_or(GONE)?;
    let format = &found.client.format;
    let kind = EntryKind::of(entry, format);
    let holder = match kind {
        EntryKind::SplitCommand { holder, .. } => holder,
        EntryKind::ListCommand { .. } => entry,
        EntryKind::Remote { .. } => return Err(LaunchError::Unknown("it is a remote server")),
        EntryKind::Unsupported(why) => return Err(LaunchError::Unknown(why)),
    };
    let project = project_folder(found);
    let workspace = project.as_deref().unwrap_or(surroundings.current);
    let resolver = Resolver { references: format.references, surroundings, workspace };
    let words = kind.words().into_iter().map(|word| resolver.resolve(word.as_str().unwrap_or_default()));
    let words = words.collect::<Result<_, _>>()?;
    let folder = entry.get("cwd").and_then(|folder| folder.value.as_str());
    Ok(Launch {
        words,
        variables: variables(entry, holder, format.environment, &resolver)?,
        passed: format.header_variables.map(|keys| inherited(entry, keys.inherited)),
        folder: match folder {
            Some(folder) => Some(workspace.join(resolver.resolve(folder)?)),
            None => project,
        },
    })
}

fn variables(
    entry: &Node,
    holder: &Node,
    key: &str,
    resolver: &Resolver<'_>,
) -> Result<Vec<(String, String)>, LaunchError> {
    let variables = entry.get(key).or_else(|| holder.get(key));
    let variables = variables.map(|variables| variables.value.members()).unwrap_or_default();
    variables
        .iter()
        .filter_map(|member| Some((member.name.clone(), member.value.as_str()?)))
        .map(|(name, value)| Ok((name, resolver.resolve(value)?)))
        .collect()
}

fn inherited(entry: &Node, key: &str) -> Vec<String> {
    let listed = entry.get(key).and_then(|listed| listed.value.as_array()).unwrap_or_default();
    let listed = listed.iter().filter_map(|name| name.as_str());
    ALWAYS_INHERITED.into_iter().chain(listed).map(str::to_owned).collect()
}

/// Returns the folder of the project that a server is configured for.
fn project_folder(found: &FoundServer) -> Option<PathBuf> {
    match found.scope {
        Scope::User => None,
        Scope::Local => found.project().map(PathBuf::from),
        Scope::Project => {
            let folder = found.file.parent()?;
            let hidden = folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
            Some(if hidden { folder.parent()? } else { folder }.to_owned())
        }
    }
}
