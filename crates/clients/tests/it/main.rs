//! Installs into and uninstalls from the files of every client, with damaged, linked, changed and protected files.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod changed;
mod crash;
mod files;
mod home;
mod locations;
mod masked;
mod property;
mod round_trip;
mod wrapped;
