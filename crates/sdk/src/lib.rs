//! Typed pieces for people who write MCP servers whose answers stay small. No transport: values in, values out.
//!
//! - [`contract`]: an answer within hard limits, whatever the data.

pub mod contract;
