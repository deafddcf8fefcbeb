//! Keeps oversized tool results out of the agent's context, for MCP servers built on [rmcp].
//!
//! [`Tidegate::wrap`] wraps any rmcp server. A result that fits the token budget is returned unchanged. A larger one is
//! stored whole: the agent gets an answer that fits, and reads any part of the rest with `result_query`, without the tool
//! running again. `#[heavy]` configures what one tool answers when its result is too large.
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
//! async fn run() -> Result<(), tidegate_sdk::ServeError> {
//!     // `serve_http` serves over HTTP, `serve` either way.
//!     tidegate_sdk::serve_stdio(Tidegate::wrap(Shop)).await
//! }
//! ```
//!
//! The modules below are building blocks for tools that keep their own answers small:
//!
//! - [`contract`]: answers within hard limits, whatever the data.
//! - [`page`] and [`keyset`]: pages of a list that fit their tokens and pass the gate; pagination whose cursor stays valid across inserts and deletes.
//! - [`fields`]: projection to the fields a caller asked for.
//! - [`output`], [`series`] and [`grid`]: a summary by default, the full data on request.
//! - [`checked`]: invalid arguments reported as tool errors that list the accepted arguments.
//! - [`budget`]: an error with a hint for an answer over its token budget.
//! - [`visit`]: an in-process client for testing a server and measuring what its answers cost.
//! - [`tier`]: permissions, checked on every call and whenever a continuation token is used.
//!
//! The views `jq` and `sql` of `result_query` run in a process of their own: the program `tidegate` on the PATH, or this
//! server itself with the features `jq` and `sql` ([`run_worker`]). Where neither is there, they are not offered.
//! stdout belongs to the protocol: the SDK logs one line per call, and the session totals, to stderr.

mod artifact;
pub mod budget;
mod call;
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
mod sweeper;
mod text;
pub mod tier;
mod totals;
#[cfg(feature = "visit")]
pub mod visit;
mod worker;

pub use artifact::{Artifact, ArtifactError, Artifacts};
pub use budget::{OutputBudgetExceeded, enforce_budget};
pub use call::within_call;
pub use checked::{Checked, ToolError};
pub use contract::{Contract, wrap_response};
pub use dispatcher::Dispatcher;
pub use fields::Fields;
pub use grid::Grid;
pub use heavy::Heavy;
pub use keyset::{Keyset, Scope};
pub use output::{OutputMode, SummaryOr};
pub use page::{Page, PageArguments, PageRequest, PageRules, Paged};
/// The library that servers are built on. Its macros name it `rmcp`: depend on it as well, or `use tidegate_sdk::rmcp`.
pub use rmcp;
pub use series::Series;
#[cfg(feature = "http")]
pub use serve::{HttpOptions, serve_http};
pub use serve::{ServeError, serve, serve_stdio};
pub use server::{Handler, IntoServer, Routed, RouterServer, Tidegate, Unnamed};
#[cfg(feature = "config")]
pub use tidegate_config::Mistakes;
pub use tidegate_core::Tokens;
pub use tidegate_core::measure::Meter;
pub use tidegate_gate::policy::{Compact, OnStoreFailure, RuleError, Rules};
pub use tidegate_gate::profile::{OutputSchema, ProfileRules};
pub use tidegate_gate::style::{AnswerWhen, Style};
pub use tidegate_gate::{AlertLimits, CallerId, StoreLocation};
/// Declares how a tool answers when its result is too large.
///
/// ```
/// use rmcp::{ServerHandler, tool, tool_handler, tool_router};
/// use tidegate_sdk::{Rules, StoreLocation, Tidegate, heavy, visit::Visitor};
///
/// const PAGE_SIZE: u64 = 25;
///
/// struct Shop;
///
/// #[tool_router]
/// impl Shop {
///     #[heavy(style = "probe", page_size = PAGE_SIZE, token_seconds = 300, tier = "read")]
///     #[tool(description = "List every item in stock")]
///     async fn list_all(&self) -> String {
///         (0..5000).map(|id| format!("{{\"id\":{id}}}\n")).collect()
///     }
/// }
///
/// #[tool_handler]
/// impl ServerHandler for Shop {}
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // `max_bytes` is not a key of `#[heavy]`, so it is set here.
/// let rules = Rules { max_bytes: Some(4000), ..Rules::default() };
/// let server = Tidegate::wrap(Shop).tools("list_all", rules).store_in(StoreLocation::Memory).quiet();
/// let probe = Visitor::to(server).await?.call("list_all", &serde_json::json!({})).await?;
/// assert!(probe.json()["continuation_token"].is_string());
/// # Ok(())
/// # }
/// ```
pub use tidegate_macros::heavy;
pub use tier::{Permission, Tier};
pub use totals::Totals;
pub use worker::run_worker;

/// The example of the README is compiled with the others.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
