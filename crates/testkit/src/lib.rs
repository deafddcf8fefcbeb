//! What the tests of several crates share. Never published.

pub mod clock;
pub mod contract;
pub mod flaky;
#[cfg(unix)]
pub mod hostile;
pub mod make;
pub mod sample;
pub mod source;
