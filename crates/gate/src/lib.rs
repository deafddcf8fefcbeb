//! The gate: what crosses between an agent and its MCP servers, as raw JSON.
//!
//! A [`Gate`] is policy, store and engine in one: it shapes the results that would flood the agent's context, answers
//! the follow-ups from the store, and makes the few changes to lists that let the agent know how to ask. It knows
//! nothing of transports; whoever carries the messages calls it with the parts of theirs that matter.

mod caller;
mod capabilities;
pub mod conflict;
mod error;
mod follow_up;
mod gate;
mod habits;
mod keep;
mod negotiation;
mod output;
mod passage;
pub mod policy;
pub mod profile;
pub mod raw;
mod reply;
mod resources;
mod schema;
pub mod style;
mod tools;

pub use caller::Caller;
pub use capabilities::Capabilities;
pub use error::{RpcError, causes, not_kept};
pub use follow_up::kept_words;
pub use gate::{Called, Gate, LIST, MORE_OF_LIST, Setup, Untouched};
pub use habits::Habits;
pub use keep::{Keep, Opened, Place};
pub use reply::{error_response, response};
pub use tools::listed_tokens;
pub use tools::reader_definition;
