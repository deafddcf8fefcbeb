//! The proxy: messages cross between an agent and its MCP servers as the bytes they came as, and a gate looks at the
//! few that matter.
//!
//! A [`Link`] is one conversation, without a transport: it is told what each side says and tells what to pass on. The
//! [`stdio`] front carries it between the standard streams of this process and those of a child.

#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
pub mod guard;
mod held;
pub mod http;
mod link;
mod message;
mod notes;
mod pending;
pub mod stdio;
mod task;

pub use held::{Limits, Message, Spooled};
pub use link::{FromClient, FromServer, Later, Link, Mode, Order};
pub use notes::Chores;
