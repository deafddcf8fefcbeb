//! An MCP server that scans a source tree and follows the response contract: a summary, a few items, and a reference to
//! the rest.
//!
//! [`server`] is the server wrapped with tidegate, [`plain`] the same tools without: every result in full. [`measure`]
//! calls all tools of both and compares the cost; [`sample`] unpacks a source tree, so that this works anywhere.

mod agents;
mod answer;
mod backend;
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

use std::io;

pub use measure::{Measured, Row, measure, tour};
pub use sample::sample;
pub use server::Bugtrace;
pub use tree::Tree;

use answer::AnswerStyle;
use backend::Backend;
use tidegate_sdk::{Artifacts, Rules, StoreLocation, Style, Tidegate};

/// Returns the server for a tree, wrapped with tidegate.
///
/// The tools follow the contract and the byte budgets of their categories themselves. The gate enforces both, and lets
/// clients read the artifacts.
///
/// # Errors
///
/// Fails if the system provides no random bytes.
pub fn server(tree: Tree, artifacts: &Artifacts) -> io::Result<Tidegate<Bugtrace>> {
    let backend = Backend::new(tree, artifacts.clone()).map_err(io::Error::other)?;
    let rules = Rules { style: Some(Style::Contract), category_budgets: Some(true), ..Rules::default() };
    Ok(Tidegate::wrap(Bugtrace::new(backend, AnswerStyle::Contract)).artifacts(artifacts).defaults(rules))
}

/// Returns the same tools without tidegate: every result in full.
///
/// # Errors
///
/// Fails if the system provides no random bytes.
pub fn plain(tree: Tree) -> io::Result<Bugtrace> {
    let backend = Backend::new(tree, Artifacts::store_in(StoreLocation::Memory)).map_err(io::Error::other)?;
    Ok(Bugtrace::new(backend, AnswerStyle::Plain))
}
