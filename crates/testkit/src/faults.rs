//! Proxies in front of real servers that injure what passes: connections that are cut, answers that are lost, errors,
//! truncated and wrong bodies. They listen on 127.0.0.1.

mod listener;
mod objects;
mod postgres;

pub use objects::{ObjectFault, ObjectProxy};
pub use postgres::{Cut, PostgresProxy};
