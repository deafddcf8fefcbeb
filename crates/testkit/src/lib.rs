//! Code that the tests of several crates share: generated results, a clock to set, servers that misbehave, and the
//! contract suite for stores. Never published.

mod cases;
pub mod clock;
pub mod connections;
pub mod contract;
#[cfg(feature = "servers")]
pub mod faults;
pub mod flaky;
pub mod frame;
#[cfg(unix)]
pub mod hostile;
pub mod identity;
pub mod make;
pub mod sample;
pub mod schema;
#[cfg(feature = "servers")]
pub mod servers;
pub mod source;
pub mod tables;

pub use cases::cases;
