//! Typed pieces for people who write MCP servers whose answers stay small. No transport: values in, values out.
//!
//! - [`contract`]: an answer within hard limits, whatever the data.
//! - [`page`] and [`keyset`]: lists in pages whose cursor survives inserts and deletes.
//! - [`fields`]: only the fields a caller asked for.

pub mod contract;
pub mod fields;
pub mod keyset;
pub mod page;

pub use contract::{Contract, wrap_response};
pub use fields::Fields;
pub use keyset::{Keyset, Scope};
pub use page::{Page, PageArguments, PageRequest, PageRules};

/// Characters of something foreign in an error.
const SHOWN: usize = 60;

/// The beginning of something foreign, short enough for an error.
fn shown(text: &str) -> &str {
    text.char_indices().nth(SHOWN).map_or(text, |(end, _)| &text[..end])
}
