//! The fuzz targets: one module each, with a function `target` that takes any bytes and panics if an invariant is broken.
//!
//! `fuzz/` at the root of the repository passes these functions to libFuzzer. The test of this crate replays the inputs
//! in `fuzz/`, the seeds and every finding, so that a finding stays fixed without a fuzzer. Never published.

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
