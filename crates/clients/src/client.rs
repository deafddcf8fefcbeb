//! What is known of a client: its files, where servers stand in them, and how an entry is written.
//!
//! A new client is one small file here and a line in [`CLIENTS`].

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
use crate::launch::References;

/// Every client that is known.
pub static CLIENTS: [Client; 9] = [
    claude_code::CLIENT,
    claude_desktop::CLIENT,
    cursor::CLIENT,
    vscode::CLIENT,
    codex::CLIENT,
    gemini::CLIENT,
    windsurf::CLIENT,
    zed::CLIENT,
    opencode::CLIENT,
];

/// A client and its configuration.
#[derive(Debug)]
pub struct Client {
    /// What it is called on the command line.
    pub name: &'static str,
    /// What people call it.
    pub title: &'static str,
    /// What it calls itself when it greets a server.
    pub greets_as: &'static str,
    /// How it takes note of a changed file.
    pub reload: &'static str,
    pub(crate) places: fn(&Folders) -> Vec<Place>,
    pub(crate) shape: Shape,
}

impl Client {
    /// Returns the client of a name.
    pub fn named(name: &str) -> Option<&'static Self> {
        CLIENTS.iter().find(|client| client.name == name)
    }
}

/// For whom a server is configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// For the person, everywhere.
    User,
    /// For everybody in a project.
    Project,
    /// For the person, in one project.
    Local,
}

impl Scope {
    /// The names of all scopes.
    pub const NAMES: [&str; 3] = ["user", "project", "local"];

    /// Returns the scope of a name.
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

/// Stands for every name in a path of keys.
pub(crate) const ANY: &str = "*";

/// Where servers may stand: a file, and the path to them in it.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) scope: Scope,
    pub(crate) path: PathBuf,
    pub(crate) notation: Notation,
    pub(crate) keys: &'static [&'static str],
}

impl Place {
    /// A JSON file of the person.
    pub(crate) fn user(path: PathBuf, keys: &'static [&'static str]) -> Self {
        Self { scope: Scope::User, path, notation: Notation::Json, keys }
    }

    /// The JSON files of the project.
    pub(crate) fn project(folders: &Folders, path: &str, keys: &'static [&'static str]) -> Vec<Self> {
        let file = |folder: &PathBuf| Self { scope: Scope::Project, ..Self::user(folder.join(path), keys) };
        folders.projects.iter().map(file).collect()
    }
}

/// How an entry of a server is written.
#[derive(Debug)]
pub(crate) struct Shape {
    /// The command.
    pub(crate) command: CommandShape,
    /// The variables of its environment.
    pub(crate) environment: &'static str,
    /// The address of a remote server, by any of these names.
    pub(crate) url: &'static [&'static str],
    /// The headers for a remote server.
    pub(crate) headers: &'static str,
    /// What `type` says of a server that is started, if a remote one has a `type`.
    pub(crate) started: &'static str,
    /// What `type` says of a server that is reached at an address.
    pub(crate) reached: &'static str,
    /// What shows that the client logs in at a remote server by itself.
    pub(crate) login: &'static [&'static str],
    /// Where a client keeps names of variables instead of headers.
    pub(crate) by_variable: Option<&'static ByVariable>,
    /// How it writes references to values that are elsewhere.
    pub(crate) references: References,
    /// The list of tools that are allowed, where there can be one.
    pub(crate) allowed: Option<&'static str>,
}

impl Shape {
    /// How most clients write it.
    pub(crate) const COMMON: Self = Self {
        command: CommandShape::Apart,
        environment: "env",
        url: &["url"],
        headers: "headers",
        started: "stdio",
        reached: "http",
        login: &["oauth", "auth"],
        by_variable: None,
        references: References::None,
        allowed: None,
    };
}

/// How a command is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommandShape {
    /// The program in `command`, the rest in `args`.
    Apart,
    /// All of it as one list in `command`.
    Together,
}

/// Headers whose values the client takes from its own environment.
#[derive(Debug)]
pub(crate) struct ByVariable {
    /// Names the variable of a bearer token.
    pub(crate) bearer: &'static str,
    /// Names the variable for each header.
    pub(crate) headers: &'static str,
    /// Names the variables that a started server gets.
    pub(crate) passed: &'static str,
}
