//! The proxy: it forwards the messages between a client and its MCP servers byte for byte, and hands the few that matter
//! to a gate.
//!
//! A [`Link`] is one conversation without a transport: it takes the messages of both sides and returns what to forward.
//! [`stdio`] connects it to the standard streams of this process and of a server; [`http`] to HTTP on either side;
//! [`service`] to an adapter inside a server in another language.

mod background;
mod content;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
pub mod guard;
pub mod http;
mod jobs;
mod ledger_queue;
mod link;
mod message;
mod pending;
pub mod service;
mod spool;
pub mod stdio;
mod sweeper;
mod system;
mod task;
#[cfg(test)]
mod tests;

pub use background::Background;
pub use link::{ClientOutcome, Link, LocalRequest, Mode, ResolveJob, Resolved, ServerOutcome, ShapeJob};
pub use spool::{Limits, Message, Spooled};
