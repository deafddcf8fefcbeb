//! Makes the names and lists of many MCP servers look like those of one server.
//!
//! [`names`] gives tools and prompts their listed names, [`catalog`] holds what one server offers, and [`lists`] makes one
//! list of many, in pages with a cursor that [`seal`] protects. [`caller`] and [`calls`] define the traits that authenticate
//! callers and that limit and count their requests, [`credentials`] that which finds their credentials for servers;
//! `tidegate-access` implements them.

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
