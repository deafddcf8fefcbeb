//! What the commands on kept results share: the store of this user, names of results, and how they are listed.

use std::path::PathBuf;
use std::time::Duration;

use tidegate_core::outline::Outline;
use tidegate_core::payload::Payload;
use tidegate_store::{
    Artifact, ArtifactId, ArtifactStore, Home, Millis, NewArtifact, Owner, Quotas, SealKey, Session,
    SqliteStore, StoreError, StoredSource, open,
};

use crate::error::CommandError;

/// For how long a result is kept unless something else was asked for.
pub(crate) const TTL: Duration = Duration::from_secs(24 * 3600);

/// The results of this user.
pub(crate) struct Keep {
    home: Home,
    pub(crate) store: SqliteStore,
    pub(crate) owner: Owner,
}

impl Keep {
    /// Opens the store of this user.
    pub(crate) fn open() -> Result<Self, CommandError> {
        let home = Home::open(std::env::var_os("TIDEGATE_HOME").map(PathBuf::from))
            .map_err(CommandError::out_of_reach)?;
        let store = SqliteStore::open(&home.artifacts(), Quotas::default()).map_err(|error| {
            let path = home.artifacts();
            CommandError::out_of_reach(format!("cannot use the store {}: {}", path.display(), causes(&error)))
        })?;
        Ok(Self { home, store, owner: Owner::new(format!("local:{}", user())) })
    }

    /// Returns the key that seals cursors.
    pub(crate) fn seal_key(&self) -> Result<SealKey, CommandError> {
        SealKey::of_folder(self.home.path()).map_err(CommandError::out_of_reach)
    }

    /// Stores a result with its outline.
    pub(crate) fn put(
        &self,
        payload: &Payload<'_>,
        outline: &Outline,
        tool: &str,
        tokens: u64,
    ) -> Result<Artifact, CommandError> {
        let session = Session::new(format!("cli:{}", std::process::id()));
        let bytes = outline.to_bytes();
        let new = NewArtifact {
            outline: &bytes,
            kind: outline.kind(),
            records: outline.record_count(),
            tokens,
            ..NewArtifact::new(&self.owner, &session, tool, TTL)
        };
        self.store.put(&new, payload.source()).map_err(|error| {
            CommandError::out_of_reach(format!("cannot keep the result: {}", causes(&error)))
        })
    }

    /// Opens a result by any form of its name.
    pub(crate) fn source(&self, name: &str) -> Result<StoredSource<'_>, CommandError> {
        open(&self.store, &self.owner, &id(name)?).map_err(|error| self.missing(name, error))
    }

    /// Says why a result is not there, and what to do.
    pub(crate) fn missing(&self, name: &str, error: StoreError) -> CommandError {
        match error {
            StoreError::NotFound => CommandError::failed(format!("no result is called {name:?}"))
                .hint("tidegate ls shows what is kept"),
            StoreError::Expired { at } => CommandError::failed(format!("{name:?} expired {}", time(at)))
                .hint("call the tool again if it is safe to repeat; tidegate ls shows what is kept"),
            other => CommandError::out_of_reach(format!("cannot read {name:?}: {}", causes(&other))),
        }
    }
}

/// Reads a name in any of its forms.
pub(crate) fn id(name: &str) -> Result<ArtifactId, CommandError> {
    ArtifactId::parse(name).ok_or_else(|| {
        CommandError::bad_input(format!("{name:?} is not the name of a result"))
            .hint("it looks like list_issues-3f9c2kq7m0xw")
    })
}

/// An error with what caused it.
pub(crate) fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    text
}

/// A point in time as ISO 8601 in UTC.
pub(crate) fn time(at: Millis) -> String {
    let seconds = at.0.div_euclid(1000);
    let (days, of_day) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // The civil date of a day number, counting years from March.
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", of_day / 3600, of_day / 60 % 60, of_day % 60)
}

/// Who the user of this process is.
#[cfg(unix)]
fn user() -> String {
    rustix::process::getuid().as_raw().to_string()
}

#[cfg(not(unix))]
fn user() -> String {
    std::env::var("USERNAME").unwrap_or_else(|_| "user".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        assert_eq!(time(Millis(0)), "1970-01-01T00:00:00Z");
        assert_eq!(time(Millis(1_794_706_222_835)), "2026-11-15T01:30:22Z");
        assert_eq!(time(Millis(951_782_400_000)), "2000-02-29T00:00:00Z");
    }
}
