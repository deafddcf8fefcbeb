//! Code that the tests of several crates share: generated results, a clock to set, servers that misbehave, and the
//! contract suite for stores. Never published.

mod cases;
pub mod clock;
pub mod contract;
pub mod flaky;
pub mod frame;
#[cfg(unix)]
pub mod hostile;
pub mod make;
pub mod sample;
pub mod schema;
pub mod source;
pub mod tables;

pub use cases::cases;
