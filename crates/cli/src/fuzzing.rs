//! What is private here and fuzzed all the same. Behind a feature, and no part of the interface.

pub use crate::config::fuzzing::check_config;
