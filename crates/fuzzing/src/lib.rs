//! What the fuzzers run: one module per target, each with one function `target` that takes any bytes and panics where
//! something that always holds does not.
//!
//! `fuzz/` at the root of the repository hands these functions to libFuzzer. The test here replays the inputs that are
//! kept there, the seeds and every finding, so that a finding stays fixed without a fuzzer at hand. Never published.

pub mod config;
mod input;
pub mod lines;
pub mod link;
pub mod payload;
pub mod query;
pub mod raw;
pub mod skim;
pub mod sse;
pub mod unescape;
pub mod views;
