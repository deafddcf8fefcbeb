//! An MCP server that scans a source tree and answers by the response contract: a summary, a few items, and a reference
//! to the rest.
//!
//! [`server`] is the server with the gate inside, [`plain`] the same tools without: every result whole. [`measure`]
//! calls all tools of both and tells what each costs; [`sample`] unpacks a real source tree to do so anywhere.

mod agents;
mod answer;
mod finding;
mod guard;
mod journal;
mod measure;
mod memory;
mod rules;
mod sample;
mod scan;
mod server;
mod source;
mod tools;
mod trace;
mod tree;
mod workshop;

use std::io;

pub use measure::{Measured, Row, measure, tour};
pub use sample::sample;
pub use server::Bugtrace;
pub use tree::Tree;

use answer::Form;
use tidegate_sdk::{Artifacts, Place, Rules, Style, Tidegate};
use workshop::Workshop;

/// Returns the server for a tree, with the gate inside.
///
/// The tools keep to the contract and the bytes of their category themselves; the gate holds them to it, and reads what
/// they keep.
///
/// # Errors
///
/// Where the system gives no random bytes.
pub fn server(tree: Tree, artifacts: &Artifacts) -> io::Result<Tidegate<Bugtrace>> {
    let workshop = Workshop::new(tree, artifacts.clone()).map_err(io::Error::other)?;
    let rules = Rules { style: Some(Style::Contract), category_budgets: Some(true), ..Rules::default() };
    Ok(Tidegate::wrap(Bugtrace::new(workshop, Form::Contract)).artifacts(artifacts).defaults(rules))
}

/// Returns the same tools as they were before: every result whole.
///
/// # Errors
///
/// Where the system gives no random bytes.
pub fn plain(tree: Tree) -> io::Result<Bugtrace> {
    let workshop = Workshop::new(tree, Artifacts::kept_in(Place::Memory)).map_err(io::Error::other)?;
    Ok(Bugtrace::new(workshop, Form::Plain))
}
