//! Finds the MCP servers in the configuration files of clients, puts tidegate in front of them, and undoes that.
//!
//! [`install::plan`] reads every file and returns what would change. [`install::apply`] writes one file and keeps a backup
//! and a record of the change in tidegate's data folder. [`uninstall::plan`] and [`uninstall::apply`] are the way back.
//! Everything specific to one client is in one small file ([`CLIENTS`]).
//!
//! Invariants: bytes outside an edit do not change; undoing an edit restores every byte; a secret never moves into a
//! command's arguments; after a crash a file has either its old or its new content.

mod client;
mod client_files;
mod disk;
mod document;
mod entry;
mod error;
mod folders;
pub mod install;
mod launch;
mod manifest;
mod mask;
mod references;
mod remote_url;
mod setting;
mod text;
pub mod uninstall;
mod wrap;

pub use client::{CLIENTS, Client, Scope};
pub use disk::Disk;
pub use document::Notation;
pub use error::{Broken, FileError};
pub use folders::{Folders, System};
pub use launch::{Launch, LaunchContext, LaunchError, launch};
pub use manifest::{ManifestError, Records};
pub use setting::{Setting, setting};
pub use wrap::{Options, Verdict, Wrapped};
