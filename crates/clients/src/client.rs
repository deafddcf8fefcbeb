//! One MCP client: where its configuration files are, under which keys it lists servers, and how it writes an entry.
//!
//! To support another client, add a file in `client/` and a line in [`CLIENTS`].

mod antigravity;
mod claude_code;
mod claude_desktop;
mod codex;
mod cursor;
mod gemini;
mod opencode;
mod vscode;
mod windsurf;
mod zed;

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::document::Notation;
use crate::folders::Folders;
use crate::references::References;

/// Every supported client.
pub static CLIENTS: [Client; 10] = [
    claude_code::CLIENT,
    claude_desktop::CLIENT,
    cursor::CLIENT,
    vscode::CLIENT,
    codex::CLIENT,
    gemini::CLIENT,
    windsurf::CLIENT,
    antigravity::CLIENT,
    zed::CLIENT,
    opencode::CLIENT,
];

/// A client and its configuration.
#[derive(Debug)]
pub struct Client {
    /// The name on the command line.
    pub name: &'static str,
    /// The product name.
    pub title: &'static str,
    /// The `clientInfo.name` that it sends in `initialize`.
    pub client_info_name: &'static str,
    /// What the user does to make it apply a changed file.
    pub reload: &'static str,
    pub(crate) locations: fn(&Folders) -> Vec<Location>,
    pub(crate) format: EntryFormat,
}

impl Client {
    /// Returns the client with a command-line name.
    pub fn named(name: &str) -> Option<&'static Self> {
        CLIENTS.iter().find(|client| client.name == name)
    }
}

/// Who a server entry applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// The user, in every project.
    User,
    /// Everybody who works on a project.
    Project,
    /// The user, in one project.
    Local,
}

impl Scope {
    /// The names of all scopes.
    pub const NAMES: [&str; 3] = ["user", "project", "local"];

    /// Returns the scope with a name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::User, Self::Project, Self::Local].into_iter().find(|scope| scope.to_string() == name)
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::User => Self::NAMES[0],
            Self::Project => Self::NAMES[1],
            Self::Local => Self::NAMES[2],
        })
    }
}

/// Matches any key in a key path.
pub(crate) const ANY_KEY: &str = "*";

/// Where a client looks for servers: a file, and the key path of the object that lists them.
#[derive(Debug, Clone)]
pub(crate) struct Location {
    pub(crate) scope: Scope,
    pub(crate) path: PathBuf,
    pub(crate) notation: Notation,
    pub(crate) keys: &'static [&'static str],
}

impl Location {
    /// Returns the location of servers in a JSON file of the user.
    pub(crate) fn user(path: PathBuf, keys: &'static [&'static str]) -> Self {
        Self { scope: Scope::User, path, notation: Notation::Json, keys }
    }

    /// Returns the locations of servers in the JSON files at a relative path in each project folder.
    pub(crate) fn project(folders: &Folders, path: &str, keys: &'static [&'static str]) -> Vec<Self> {
        let file = |folder: &PathBuf| Self { scope: Scope::Project, ..Self::user(folder.join(path), keys) };
        folders.projects.iter().map(file).collect()
    }
}

/// The keys and values a client uses in the entry of a server.
#[derive(Debug)]
pub(crate) struct EntryFormat {
    pub(crate) command: CommandFormat,
    /// The key of the environment variables.
    pub(crate) environment: &'static str,
    /// The keys that may hold the URL of a remote server; the first is the one to write.
    pub(crate) url: &'static [&'static str],
    /// The key of the headers sent to a remote server.
    pub(crate) headers: &'static str,
    /// The value of `type` for a server that is started by a command.
    pub(crate) stdio_type: &'static str,
    /// The value of `type` for a remote server.
    pub(crate) remote_type: &'static str,
    /// Keys that show that the client itself logs in to a remote server.
    pub(crate) login: &'static [&'static str],
    /// The keys for header values from environment variables, if the client has them.
    pub(crate) header_variables: Option<&'static HeaderVariables>,
    /// How values refer to environment variables.
    pub(crate) references: References,
    /// The key of the list of allowed tools, if the client has one.
    pub(crate) allowed_tools: Option<&'static str>,
}

impl EntryFormat {
    /// The format most clients share.
    pub(crate) const COMMON: Self = Self {
        command: CommandFormat::Split,
        environment: "env",
        url: &["url"],
        headers: "headers",
        stdio_type: "stdio",
        remote_type: "http",
        login: &["oauth", "auth"],
        header_variables: None,
        references: References::None,
        allowed_tools: None,
    };
}

/// How a command is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommandFormat {
    /// The program in `command`, its arguments in `args`.
    Split,
    /// Program and arguments in one list, `command`.
    List,
}

/// The keys under which a client names the environment variables that hold header values.
#[derive(Debug)]
pub(crate) struct HeaderVariables {
    /// The key of the variable that holds the bearer token.
    pub(crate) bearer: &'static str,
    /// The key of the map from header names to variables.
    pub(crate) headers: &'static str,
    /// The key of the list of variables that a started server inherits.
    pub(crate) inherited: &'static str,
}
