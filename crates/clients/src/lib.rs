//! Knows the configuration files of MCP clients: finds the servers in them, puts tidegate in front, and undoes that.
//!
//! [`install::plan`] looks and says what would change; [`install::apply`] writes one file, with a copy and a record of it
//! in tidegate's data folder; [`uninstall::plan`] and [`uninstall::apply`] lead back. What is known of a client is one
//! small file each ([`CLIENTS`]).
//!
//! What always holds: bytes that are not part of an edit stay as they are; undoing an edit leads back to every byte; a
//! secret that is not in a command's arguments does not get there; a crash leaves a file as it was or as it should be.

mod address;
mod client;
mod disk;
mod display;
mod document;
mod entry;
mod folders;
pub mod install;
mod launch;
mod manifest;
mod places;
mod text;
pub mod uninstall;
mod wrap;

pub use client::{CLIENTS, Client, Scope};
pub use disk::Disk;
pub use document::{Broken, Notation};
pub use folders::{Folders, System};
pub use launch::{Launch, LaunchError, Surroundings, launch};
pub use manifest::{ManifestError, Records};
pub use text::{FileError, Setting, setting};
pub use wrap::{Options, Verdict, Wrapped};
