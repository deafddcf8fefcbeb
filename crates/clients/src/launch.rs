//! How a client starts a server: the command, variables and folder that its entry comes to.
//!
//! Clients put values into entries before they use them; each writes references in its own way ([`References`]). What only
//! the client knows, such as what it asks a person for, is told instead of guessed.

use std::path::{Path, PathBuf};

use crate::client::Scope;
use crate::document::Node;
use crate::entry::Way;
use crate::install::Found;
use crate::text::{FileError, read, unmarked};

/// How a client writes references to values that are elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum References {
    /// Not at all.
    None,
    /// `${NAME}`, and `${NAME:-what else}`.
    Braces,
    /// `$NAME` too.
    Dollar,
    /// `${env:NAME}`, `${workspaceFolder}`, and names of other things that the client knows.
    Named,
    /// `{env:NAME}`, and `{file:PATH}`.
    Bare,
}

impl References {
    /// Tells whether a text is one reference and nothing else; what it may fall back to is something else.
    pub(crate) fn is_whole(self, text: &str) -> bool {
        let is_name = |name: &str| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        };
        let braced = text.strip_prefix("${").and_then(|text| text.strip_suffix('}'));
        match self {
            Self::None => false,
            Self::Braces => braced.is_some_and(is_name),
            Self::Dollar => braced.or_else(|| text.strip_prefix('$')).is_some_and(is_name),
            Self::Named => braced.is_some_and(|name| match name.split_once(':') {
                Some(("env" | "input" | "config" | "command", name)) => {
                    is_name(&name.replace(['.', '-'], "_"))
                }
                Some(_) => false,
                None => matches!(
                    name,
                    "workspaceFolder" | "workspaceFolderBasename" | "userHome" | "pathSeparator" | "/"
                ),
            }),
            Self::Bare => match text.strip_prefix('{').and_then(|text| text.strip_suffix('}')) {
                Some(name) => match name.split_once(':') {
                    Some(("env", name)) => is_name(name),
                    Some(("file", path)) => !path.contains(['{', '}']),
                    _ => false,
                },
                None => false,
            },
        }
    }
}

/// The variables that a client with a list of those it passes on passes on anyway.
const ALWAYS: [&str; 11] = [
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
    /// The program, and its arguments.
    pub words: Vec<String>,
    /// The variables of its entry.
    pub variables: Vec<(String, String)>,
    /// The variables of the client that it gets besides; all of them if `None`.
    pub passed: Option<Vec<String>>,
    /// Where it is started, if that is not wherever the client was.
    pub folder: Option<PathBuf>,
}

/// Why a server cannot be started by anybody but its client.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// The file of the client.
    #[error(transparent)]
    File(#[from] FileError),
    /// The entry is not one of a server that is started.
    #[error("{0}")]
    Unknown(&'static str),
    /// It refers to a variable that is not set here.
    #[error("its entry refers to the variable {0}, which is not set here")]
    Unset(String),
    /// It refers to something else.
    #[error("its entry refers to {0}, which only the client knows")]
    Asked(String),
}

/// What is known of the place where a server is started.
#[derive(Clone, Copy)]
pub struct Surroundings<'s> {
    /// The home of the person.
    pub home: &'s Path,
    /// The folder that a client is started in.
    pub current: &'s Path,
    /// The variables of the environment.
    pub variable: &'s dyn Fn(&str) -> Option<String>,
}

/// Reads how a server is started from the file it was found in.
///
/// # Errors
///
/// What cannot be read, and what only the client can start.
pub fn launch(found: &Found, surroundings: Surroundings<'_>) -> Result<Launch, LaunchError> {
    const GONE: &str = "it is not there any more";
    let content = read(&found.file)?.ok_or(LaunchError::Unknown(GONE))?;
    let root = found
        .notation
        .syntax()
        .parse(unmarked(&content).1)
        .map_err(|broken| FileError::Broken { path: found.file.clone(), broken })?;
    let entry = root.at(&found.path).ok_or(LaunchError::Unknown(GONE))?;
    let shape = &found.client.shape;
    let way = Way::of(entry, shape);
    let holder = match way {
        Way::Apart { holder, .. } => holder,
        Way::Together { .. } => entry,
        Way::Remote { .. } => return Err(LaunchError::Unknown("it is reached at an address")),
        Way::Unknown(why) => return Err(LaunchError::Unknown(why)),
    };
    let project = project_of(found);
    let folder = project.as_deref().unwrap_or(surroundings.current);
    let fill = |text: &str| filled(text, shape.references, surroundings, folder);
    let words = way.words().into_iter().map(|word| fill(word.text().unwrap_or_default()));
    let words = words.collect::<Result<_, _>>()?;
    let own = entry.get("cwd").and_then(|own| own.value.text());
    Ok(Launch {
        words,
        variables: variables(entry, holder, shape.environment, fill)?,
        passed: shape.by_variable.map(|by| passed(entry, by.passed)),
        folder: match own {
            Some(own) => Some(folder.join(fill(own)?)),
            None => project,
        },
    })
}

fn variables(
    entry: &Node,
    holder: &Node,
    key: &str,
    fill: impl Fn(&str) -> Result<String, LaunchError>,
) -> Result<Vec<(String, String)>, LaunchError> {
    let variables = entry.get(key).or_else(|| holder.get(key));
    let variables = variables.map(|variables| variables.value.members()).unwrap_or_default();
    let text = |value: &Node| value.text().map(str::to_owned);
    variables
        .iter()
        .filter_map(|member| Some((member.name.clone(), text(&member.value)?)))
        .map(|(name, value)| Ok((name, fill(&value)?)))
        .collect()
}

fn passed(entry: &Node, key: &str) -> Vec<String> {
    let named = entry.get(key).and_then(|named| named.value.list()).unwrap_or_default();
    let named = named.iter().filter_map(|name| name.text());
    ALWAYS.into_iter().chain(named).map(str::to_owned).collect()
}

/// The folder of the project that a server is configured for.
fn project_of(found: &Found) -> Option<PathBuf> {
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

/// Puts values in the places of references.
fn filled(
    text: &str,
    references: References,
    surroundings: Surroundings<'_>,
    folder: &Path,
) -> Result<String, LaunchError> {
    let open = match references {
        References::None => return Ok(text.to_owned()),
        References::Braces | References::Dollar | References::Named => "${",
        References::Bare => "{",
    };
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(open) {
        let Some((name, after)) = after.split_once('}') else { break };
        out.push_str(&dollars(before, references, surroundings));
        match references {
            References::Bare if !name.starts_with("env:") && !name.starts_with("file:") => {
                out.push_str(&format!("{{{name}}}"));
            }
            _ => out.push_str(&value(name, references, surroundings, folder)?),
        }
        rest = after;
    }
    out.push_str(&dollars(rest, references, surroundings));
    Ok(out)
}

fn value(
    name: &str,
    references: References,
    surroundings: Surroundings<'_>,
    folder: &Path,
) -> Result<String, LaunchError> {
    let (name, otherwise) = match name.split_once(":-") {
        Some((name, otherwise)) if references == References::Braces => (name, Some(otherwise)),
        _ => (name, None),
    };
    let path = |path: &Path| Ok(path.to_string_lossy().into_owned());
    let asked = || {
        let sign = if references == References::Named { "$" } else { "" };
        Err(LaunchError::Asked(format!("{sign}{{{name}}}")))
    };
    let variable = match (references, name.split_once(':')) {
        (References::Named, None) => {
            return match name {
                "workspaceFolder" => path(folder),
                "userHome" => path(surroundings.home),
                _ => asked(),
            };
        }
        (References::Named | References::Bare, Some(("env", variable))) => variable,
        (References::Named | References::Bare, _) => return asked(),
        _ => name,
    };
    let set = (surroundings.variable)(variable);
    set.or_else(|| otherwise.map(str::to_owned)).ok_or_else(|| LaunchError::Unset(variable.to_owned()))
}

/// Puts values in the places of `$NAME`; one that is not set stays as it is written, as it does for the client.
fn dollars(text: &str, references: References, surroundings: Surroundings<'_>) -> String {
    if references != References::Dollar {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        let end = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(after.len());
        let (name, after) = after.split_at(end);
        out.push_str(before);
        match (surroundings.variable)(name).filter(|_| !name.is_empty()) {
            Some(value) => out.push_str(&value),
            None => out.push_str(&format!("${name}")),
        }
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(text: &str, references: References) -> Result<String, String> {
        let variable = |name: &str| (name == "KEY").then(|| "value".to_owned());
        let surroundings =
            Surroundings { home: Path::new("/home/me"), current: Path::new("/"), variable: &variable };
        filled(text, references, surroundings, Path::new("/work")).map_err(|error| error.to_string())
    }

    #[test]
    fn references_of_each_kind() {
        for (text, references, expected) in [
            ("a ${KEY} $KEY", References::None, "a ${KEY} $KEY"),
            ("a ${KEY} $KEY", References::Braces, "a value $KEY"),
            ("${NIX:-else}${KEY:-else}", References::Braces, "elsevalue"),
            ("$KEY/${KEY}/$NIX/$", References::Dollar, "value/value/$NIX/$"),
            ("${env:KEY}:${workspaceFolder}:${userHome}", References::Named, "value:/work:/home/me"),
            ("{env:KEY} {\"a\":1} ${KEY}", References::Bare, "value {\"a\":1} ${KEY}"),
            ("open ${KEY", References::Braces, "open ${KEY"),
        ] {
            assert_eq!(fill(text, references).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn a_reference_and_nothing_else() {
        for (references, whole) in [
            (References::None, &[][..]),
            (References::Braces, &["${KEY}", "${userHome}"]),
            (References::Dollar, &["${KEY}", "$KEY", "${userHome}"]),
            (References::Named, &["${env:KEY}", "${input:my-key}", "${userHome}"]),
            (References::Bare, &["{env:KEY}", "{file:~/.key}"]),
        ] {
            let some = [
                "${KEY}",
                "$KEY",
                "${env:KEY}",
                "${input:my-key}",
                "${userHome}",
                "{env:KEY}",
                "{file:~/.key}",
            ];
            let none = [
                "${KEY:-secret}",
                "Bearer ${KEY}",
                "$",
                "${}",
                "{}",
                "pa$$word",
                "${KEY}${KEY}",
                "{env:}",
                "a{b}",
            ];
            for text in some.iter().chain(&none) {
                assert_eq!(references.is_whole(text), whole.contains(text), "{references:?} {text}");
            }
        }
    }

    #[test]
    fn what_only_the_client_knows_is_told() {
        let unset = "its entry refers to the variable NIX, which is not set here";
        assert_eq!(fill("${NIX}", References::Braces).unwrap_err(), unset);
        assert_eq!(fill("${env:NIX}", References::Named).unwrap_err(), unset);
        assert_eq!(fill("{env:NIX}", References::Bare).unwrap_err(), unset);
        let asked = "its entry refers to ${input:token}, which only the client knows";
        assert_eq!(fill("${input:token}", References::Named).unwrap_err(), asked);
        assert!(fill("{file:~/key}", References::Bare).unwrap_err().contains("{file:~/key}"));
    }
}
