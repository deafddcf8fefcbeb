//! The names and lists of many MCP servers as those of one.
//!
//! [`names`] gives tools and prompts their listed names, [`catalog`] holds what one server offers, and [`lists`] makes one
//! list of many, in pages with a cursor that [`seal`] protects. [`caller`] is where callers are authenticated, [`calls`]
//! where their requests are limited and counted, and [`credentials`] where their credentials for servers are found.

pub mod caller;
pub mod calls;
pub mod catalog;
pub mod credentials;
pub mod limits;
pub mod lists;
pub mod log;
pub mod names;
pub mod seal;
pub mod trace;
