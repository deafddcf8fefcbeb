//! The time of the database server, by which everybody who shares a store agrees when a result expires.
//!
//! A machine whose clock is ahead would otherwise delete the results of all. How far its clock differs is read once, when it
//! connects. The rows have the server's time; what the store returns, and what callers give it, has the time of their clock.

use std::sync::Arc;

use super::database::Database;
use super::failure::Failure;
use crate::artifact::Artifact;
use crate::clock::{Clock, Millis};

/// A smaller difference is not corrected: the time that the question takes is as long.
const MIN_DIFFERENCE_MILLIS: i64 = 1000;

const SERVER_TIME: &str = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint";

/// The clock of the server, as far as this process knows it.
pub(super) struct ServerClock {
    clock: Arc<dyn Clock>,
    /// Milliseconds that the server's clock is ahead of this one.
    ahead: i64,
}

impl ServerClock {
    /// Compares the clock of this machine with that of the server. Any other clock, such as that of a test, counts as the server's.
    pub(super) async fn read(clock: Arc<dyn Clock>, database: &Database) -> Result<Self, Failure> {
        if !clock.is_of_machine() {
            return Ok(Self { clock, ahead: 0 });
        }
        let connection = database.connection().await?;
        // The first time includes preparing the statement.
        connection.query_one(SERVER_TIME, &[]).await?;
        let asked = clock.now();
        let row = connection.query_one(SERVER_TIME, &[]).await?;
        let answered = clock.now();
        connection.keep();
        let here = asked.0 + (answered.0 - asked.0) / 2;
        let ahead = row.map_or(0, |row| row.get::<_, i64>(0) - here);
        let ahead = if ahead.abs() < MIN_DIFFERENCE_MILLIS { 0 } else { ahead };
        Ok(Self { clock, ahead })
    }

    /// Returns the current time of the server.
    pub(super) fn now(&self) -> Millis {
        self.there(self.clock.now())
    }

    /// Returns the time of the server up to which a result counts as expired.
    pub(super) fn certain_now(&self) -> Millis {
        self.there(self.clock.certain_now())
    }

    /// Returns a time of the caller's clock in the server's.
    pub(super) fn there(&self, time: Millis) -> Millis {
        Millis(time.0.saturating_add(self.ahead))
    }

    /// Returns a time of the server in that of the caller's clock.
    pub(super) fn here(&self, time: Millis) -> Millis {
        Millis(time.0.saturating_sub(self.ahead))
    }

    /// Returns an artifact with the times of the caller's clock.
    pub(super) fn artifact_here(&self, artifact: Artifact) -> Artifact {
        Artifact { created: self.here(artifact.created), expires: self.here(artifact.expires), ..artifact }
    }
}
