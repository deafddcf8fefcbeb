//! Errors of the database: whether repeating the operation may help, and what they mean for the caller.

use tokio_postgres::error::SqlState;

use crate::error::StoreError;

/// Why an attempt failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// Repeating the attempt would fail in the same way.
    Final(StoreError),
    /// The connection was lost, or the server was not ready: the attempt may or may not have had its effect.
    Lost(StoreError),
    /// The attempt conflicted with another transaction and had no effect.
    Conflict(StoreError),
}

impl Failure {
    /// Returns the error for the caller.
    pub(super) fn into_error(self) -> StoreError {
        match self {
            Self::Final(error) | Self::Lost(error) | Self::Conflict(error) => error,
        }
    }

    /// Returns a failure that had no effect and is worth another attempt.
    pub(super) fn conflict(what: &'static str) -> Self {
        Self::Conflict(StoreError::Unusable(what.into()))
    }

    /// Returns the failure of an attempt that timed out; its connection is closed.
    pub(super) fn timeout() -> Self {
        Self::Lost(StoreError::Unusable("the database did not answer in time".into()))
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Final(error)
    }
}

impl From<tokio_postgres::Error> for Failure {
    fn from(error: tokio_postgres::Error) -> Self {
        let Some(state) = error.code() else {
            // The server did not answer: it closed the connection, or cannot be reached.
            let is_lost = error.is_closed() || has_io_source(&error);
            let error = StoreError::Unusable(Box::new(error));
            return if is_lost { Self::Lost(error) } else { Self::Final(error) };
        };
        match state {
            state if is_restart(state) => Self::Lost(StoreError::Unusable(Box::new(error))),
            state if is_conflict(state) => Self::Conflict(StoreError::Unusable(Box::new(error))),
            &SqlState::LOCK_NOT_AVAILABLE | &SqlState::QUERY_CANCELED => Self::Final(StoreError::Busy),
            &SqlState::DISK_FULL => Self::Final(StoreError::DiskFull),
            &SqlState::READ_ONLY_SQL_TRANSACTION => {
                Self::Lost(StoreError::ReadOnly(StoreError::Unusable(Box::new(error)).into()))
            }
            _ => Self::Final(StoreError::Unusable(Box::new(error))),
        }
    }
}

impl From<deadpool_postgres::PoolError> for Failure {
    fn from(error: deadpool_postgres::PoolError) -> Self {
        use deadpool_postgres::PoolError;
        match error {
            PoolError::Backend(error) => {
                let is_unreachable = error.code().is_none_or(is_restart);
                let error = StoreError::Unusable(Box::new(error));
                if is_unreachable { Self::Lost(error) } else { Self::Final(error) }
            }
            PoolError::Timeout(_) => Self::timeout(),
            error => Self::Lost(StoreError::Unusable(Box::new(error))),
        }
    }
}

fn has_io_source(error: &tokio_postgres::Error) -> bool {
    let source = std::error::Error::source(error);
    source.and_then(|source| source.downcast_ref::<std::io::Error>()).is_some()
}

/// Returns whether the server ended the connection or does not accept one, as while it restarts.
fn is_restart(state: &SqlState) -> bool {
    let code = state.code();
    code.starts_with("08") || code.starts_with("57P") || *state == SqlState::TOO_MANY_CONNECTIONS
}

fn is_conflict(state: &SqlState) -> bool {
    let conflicts =
        [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED, SqlState::UNIQUE_VIOLATION];
    conflicts.contains(state)
}
