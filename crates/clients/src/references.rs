//! References to variables in the values of an entry, such as `${GITHUB_TOKEN}`: recognising and resolving them.
//!
//! Clients resolve references before they use an entry, each with its own syntax ([`References`]). A reference that only the
//! client can resolve, such as a prompt for a password, is an error here and is never guessed.

use std::path::Path;

use crate::launch::{LaunchContext, LaunchError};

/// The syntax in which a client writes references.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum References {
    /// The client has no references.
    None,
    /// `${NAME}` and `${NAME:-default}`.
    ShellBraces,
    /// `${NAME}` and `$NAME`.
    Shell,
    /// `${env:NAME}`, `${workspaceFolder}`, `${input:ID}` and other variables of VS Code.
    VsCode,
    /// `{env:NAME}` and `{file:PATH}`.
    Opencode,
}

impl References {
    /// Returns whether a text is one reference and nothing else; one with a default value does not count.
    pub(crate) fn is_whole(self, text: &str) -> bool {
        let is_name = |name: &str| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        };
        let braced = text.strip_prefix("${").and_then(|text| text.strip_suffix('}'));
        match self {
            Self::None => false,
            Self::ShellBraces => braced.is_some_and(is_name),
            Self::Shell => braced.or_else(|| text.strip_prefix('$')).is_some_and(is_name),
            Self::VsCode => braced.is_some_and(|name| match name.split_once(':') {
                Some(("env" | "input" | "config" | "command", name)) => {
                    is_name(&name.replace(['.', '-'], "_"))
                }
                Some(_) => false,
                None => matches!(
                    name,
                    "workspaceFolder" | "workspaceFolderBasename" | "userHome" | "pathSeparator" | "/"
                ),
            }),
            Self::Opencode => match text.strip_prefix('{').and_then(|text| text.strip_suffix('}')) {
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

/// Replaces references by their values.
#[derive(Clone, Copy)]
pub(crate) struct Resolver<'s> {
    pub(crate) references: References,
    pub(crate) surroundings: LaunchContext<'s>,
    /// The value of `${workspaceFolder}`.
    pub(crate) workspace: &'s Path,
}

impl Resolver<'_> {
    /// Returns a text with every reference replaced.
    pub(crate) fn resolve(&self, text: &str) -> Result<String, LaunchError> {
        let open = match self.references {
            References::None => return Ok(text.to_owned()),
            References::ShellBraces | References::Shell | References::VsCode => "${",
            References::Opencode => "{",
        };
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once(open) {
            let Some((name, after)) = after.split_once('}') else { break };
            out.push_str(&self.resolve_unbraced(before));
            match self.references {
                References::Opencode if !name.starts_with("env:") && !name.starts_with("file:") => {
                    out.push_str(&format!("{{{name}}}"));
                }
                _ => out.push_str(&self.value(name)?),
            }
            rest = after;
        }
        out.push_str(&self.resolve_unbraced(rest));
        Ok(out)
    }

    /// Returns the value of the reference between two braces.
    fn value(&self, name: &str) -> Result<String, LaunchError> {
        let (name, default) = match name.split_once(":-") {
            Some((name, default)) if self.references == References::ShellBraces => (name, Some(default)),
            _ => (name, None),
        };
        let path = |path: &Path| Ok(path.to_string_lossy().into_owned());
        let only_client_knows = || {
            let sign = if self.references == References::VsCode { "$" } else { "" };
            Err(LaunchError::Asked(format!("{sign}{{{name}}}")))
        };
        let variable = match (self.references, name.split_once(':')) {
            (References::VsCode, None) => {
                return match name {
                    "workspaceFolder" => path(self.workspace),
                    "userHome" => path(self.surroundings.home),
                    _ => only_client_knows(),
                };
            }
            (References::VsCode | References::Opencode, Some(("env", variable))) => variable,
            (References::VsCode | References::Opencode, _) => return only_client_knows(),
            _ => name,
        };
        let value = (self.surroundings.variable)(variable).or_else(|| default.map(str::to_owned));
        value.ok_or_else(|| LaunchError::Unset(variable.to_owned()))
    }

    /// Replaces `$NAME` where the client does; like the client, leaves an unset variable as it is written.
    fn resolve_unbraced(&self, text: &str) -> String {
        if self.references != References::Shell {
            return text.to_owned();
        }
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('$') {
            let end = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(after.len());
            let (name, after) = after.split_at(end);
            out.push_str(before);
            match (self.surroundings.variable)(name).filter(|_| !name.is_empty()) {
                Some(value) => out.push_str(&value),
                None => out.push_str(&format!("${name}")),
            }
            rest = after;
        }
        out + rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(text: &str, references: References) -> Result<String, String> {
        let variable = |name: &str| (name == "KEY").then(|| "value".to_owned());
        let surroundings =
            LaunchContext { home: Path::new("/home/me"), current: Path::new("/"), variable: &variable };
        let resolver = Resolver { references, surroundings, workspace: Path::new("/work") };
        resolver.resolve(text).map_err(|error| error.to_string())
    }

    #[test]
    fn each_syntax_is_resolved() {
        for (text, references, expected) in [
            ("a ${KEY} $KEY", References::None, "a ${KEY} $KEY"),
            ("a ${KEY} $KEY", References::ShellBraces, "a value $KEY"),
            ("${NIX:-else}${KEY:-else}", References::ShellBraces, "elsevalue"),
            ("$KEY/${KEY}/$NIX/$", References::Shell, "value/value/$NIX/$"),
            ("${env:KEY}:${workspaceFolder}:${userHome}", References::VsCode, "value:/work:/home/me"),
            ("{env:KEY} {\"a\":1} ${KEY}", References::Opencode, "value {\"a\":1} ${KEY}"),
            ("open ${KEY", References::ShellBraces, "open ${KEY"),
        ] {
            assert_eq!(resolve(text, references).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn a_whole_reference_is_recognised() {
        for (references, whole) in [
            (References::None, &[][..]),
            (References::ShellBraces, &["${KEY}", "${userHome}"]),
            (References::Shell, &["${KEY}", "$KEY", "${userHome}"]),
            (References::VsCode, &["${env:KEY}", "${input:my-key}", "${userHome}"]),
            (References::Opencode, &["{env:KEY}", "{file:~/.key}"]),
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
    fn what_cannot_be_resolved_is_an_error() {
        let unset = "its entry refers to the variable NIX, which is not set here";
        assert_eq!(resolve("${NIX}", References::ShellBraces).unwrap_err(), unset);
        assert_eq!(resolve("${env:NIX}", References::VsCode).unwrap_err(), unset);
        assert_eq!(resolve("{env:NIX}", References::Opencode).unwrap_err(), unset);
        let asked = "its entry refers to ${input:token}, which only the client knows";
        assert_eq!(resolve("${input:token}", References::VsCode).unwrap_err(), asked);
        assert!(resolve("{file:~/key}", References::Opencode).unwrap_err().contains("{file:~/key}"));
    }
}
