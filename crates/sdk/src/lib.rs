//! Typed pieces for people who write MCP servers whose answers stay small. No transport: values in, values out.
//!
//! - [`contract`]: an answer within hard limits, whatever the data.
//! - [`page`] and [`keyset`]: lists in pages whose cursor survives inserts and deletes.
//! - [`fields`]: only the fields a caller asked for.
//! - [`output`], [`series`] and [`grid`]: a summary unless the caller asks for everything.
//! - [`budget`]: an answer over its budget as an error that says what to do.
//! - [`tier`]: what a caller may do.

pub mod budget;
pub mod contract;
pub mod fields;
pub mod grid;
pub mod keyset;
pub mod output;
pub mod page;
pub mod series;
pub mod tier;

pub use budget::{OverBudget, enforce_budget};
pub use contract::{Contract, wrap_response};
pub use fields::Fields;
pub use grid::Grid;
pub use keyset::{Keyset, Scope};
pub use output::{OutputMode, SummaryOr};
pub use page::{Page, PageArguments, PageRequest, PageRules};
pub use series::Series;
pub use tier::{Permission, Tier};

/// Characters of something foreign in an error.
const SHOWN: usize = 60;

/// The beginning of something foreign, short enough for an error.
fn shown(text: &str) -> &str {
    text.char_indices().nth(SHOWN).map_or(text, |(end, _)| &text[..end])
}
