//! Files of every client: install and uninstall, with all that can stand in the way.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by failing")]

mod changed;
mod crash;
mod files;
mod home;
mod places;
mod property;
mod round_trip;
mod shown;
mod wrapped;
