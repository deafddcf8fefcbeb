//! What the tests of several crates share. Never published.

pub mod clock;
pub mod contract;
pub mod flaky;
pub mod make;
pub mod sample;
pub mod source;
