//! All artifacts with all of their metadata, for copying a store.

use rusqlite::{Row, params};

use super::{COLUMNS, JOINED, SqliteStore, artifact_from_row, tier_column};
use crate::artifact::{Artifact, CallDigest, CallOrigin, Owner, Session, StoredArtifact, TierLevel};
use crate::error::StoreError;
use crate::id::ArtifactId;

/// A row, with the call as it is stored.
pub(super) struct CallRow {
    pub(super) artifact: Artifact,
    pub(super) owner: Owner,
    pub(super) session: Session,
    pub(super) origin: CallOrigin,
    pub(super) call: Option<CallDigest>,
    pub(super) tier: TierLevel,
}

/// The columns of a [`CallRow`]; stores of earlier versions do not have the last ones.
const CALL_COLUMNS: &str = "artifact.owner, session";

pub(super) fn walk(
    store: &SqliteStore,
    after: Option<&ArtifactId>,
    limit: usize,
) -> Result<Vec<StoredArtifact>, StoreError> {
    let sql = |call: &str, tier: &str| {
        format!(
            "SELECT {COLUMNS}, {CALL_COLUMNS}, {call}, {tier} FROM {JOINED} WHERE artifact.id > ?1 AND expires > ?2 \
             ORDER BY artifact.id LIMIT ?3"
        )
    };
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let parameters = (after.map_or("", ArtifactId::as_str), store.clock.certain_now().0, limit);
    store.read(|connection| {
        let codec = store.codec(connection)?;
        let tier = tier_column(connection);
        let mut statement = match connection.prepare_cached(&sql("server, arguments, call", tier)) {
            Ok(statement) => statement,
            Err(_) => connection
                .prepare_cached(&sql("server, arguments, NULL", tier))
                .or_else(|_| connection.prepare_cached(&sql("'', '', NULL", tier)))?,
        };
        let rows: Vec<CallRow> = statement
            .query_map(params![parameters.0, parameters.1, parameters.2], call_row)?
            .collect::<rusqlite::Result<_>>()?;
        let stored = rows.into_iter().map(|row| {
            let CallRow { artifact, owner, session, origin, call, tier } = row;
            let details = codec.open_details(&owner, &artifact.id, &origin.arguments, call)?;
            let call = details.call();
            let origin = CallOrigin { arguments: details.arguments, ..origin };
            Ok(StoredArtifact { owner, session, origin, call, tier, artifact })
        });
        stored.collect()
    })
}

fn call_row(row: &Row<'_>) -> rusqlite::Result<CallRow> {
    Ok(CallRow {
        artifact: artifact_from_row(row)?,
        owner: Owner::new(row.get::<_, String>(9)?),
        session: Session::new(row.get::<_, String>(10)?),
        origin: CallOrigin { server: row.get(11)?, arguments: row.get(12)? },
        call: row.get::<_, Option<[u8; 16]>>(13)?.map(CallDigest),
        tier: TierLevel::new(row.get(14)?),
    })
}
