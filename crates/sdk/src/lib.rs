//! For people who write MCP servers: results that fit the agent's context, and nothing lost.
//!
//! [`Tidegate::wrap`] puts the gate around any server of [rmcp]. A result that fits is answered as it is; a larger one is
//! kept, the agent gets the most useful answer that fits, and reads any part of the rest without the tool being run again.
//! `#[heavy]` says of one tool what to answer then.
//!
//! ```
//! use rmcp::{ServerHandler, tool, tool_handler, tool_router};
//! use tidegate_sdk::{Tidegate, heavy};
//!
//! struct Shop;
//!
//! #[tool_router]
//! impl Shop {
//!     #[heavy(style = "probe", page_size = 25)]
//!     #[tool(description = "List every item in stock")]
//!     async fn list_all(&self) -> String {
//!         (0..5000).map(|id| format!("{{\"id\":{id},\"name\":\"item {id}\"}}\n")).collect()
//!     }
//! }
//!
//! #[tool_handler]
//! impl ServerHandler for Shop {}
//!
//! async fn main_of_the_server() -> Result<(), tidegate_sdk::ServeError> {
//!     // On stdin and stdout; with an address, over HTTP.
//!     tidegate_sdk::serve(None, Tidegate::wrap(Shop)).await
//! }
//! ```
//!
//! Around it, pieces for tools that keep their answers small themselves:
//!
//! - [`contract`]: an answer within hard limits, whatever the data.
//! - [`page`] and [`keyset`]: lists in pages whose cursor survives inserts and deletes.
//! - [`fields`]: only the fields a caller asked for.
//! - [`output`], [`series`] and [`grid`]: a summary unless the caller asks for everything.
//! - [`checked`]: mistakes in arguments as answers of the tool, with what is accepted.
//! - [`budget`]: an answer over its budget as an error that says what to do.
//! - [`visit`]: a client in the same process, to test a server and to measure what its answers cost.
//! - [`tier`]: what a caller may do; asked at every call, and whenever a token is redeemed.
//!
//! Of the views of `result_query`, `jq` is run by the program `tidegate`, if it is installed; the others need nothing.
//! stdout belongs to the protocol: one line for each call, and the totals of the session, go to stderr.

mod artifact;
pub mod budget;
pub mod checked;
pub mod contract;
mod dispatcher;
pub mod fields;
pub mod grid;
mod heavy;
pub mod keyset;
pub mod output;
pub mod page;
pub mod series;
mod serve;
mod server;
pub mod tier;
mod totals;
pub mod visit;

pub use artifact::{Artifact, ArtifactError, Artifacts};
pub use budget::{OverBudget, enforce_budget};
pub use checked::{Checked, ToolError};
pub use contract::{Contract, wrap_response};
pub use dispatcher::Dispatcher;
pub use fields::Fields;
pub use grid::Grid;
pub use heavy::Heavy;
pub use keyset::{Keyset, Scope};
pub use output::{OutputMode, SummaryOr};
pub use page::{Page, PageArguments, PageRequest, PageRules};
pub use series::Series;
pub use serve::{ServeError, serve};
pub use server::Tidegate;
pub use tidegate_core::Tokens;
pub use tidegate_core::measure::Meter;
pub use tidegate_gate::Place;
pub use tidegate_gate::policy::Rules;
pub use tidegate_gate::style::{ProbeWhen, Style};
pub use tidegate_macros::heavy;
pub use tier::{Permission, Tier};
pub use totals::Totals;

/// Characters of something foreign in an error.
const SHOWN: usize = 60;

/// The beginning of something foreign, short enough for an error.
fn shown(text: &str) -> &str {
    text.char_indices().nth(SHOWN).map_or(text, |(end, _)| &text[..end])
}
