//! What a store holds, and the versions of its server and tables, for `tidegate store status`.

use super::database::Scope;
use super::{Shared, schema};
use crate::clock::Millis;
use crate::error::StoreError;

const STATUS: &str = "SELECT
    (SELECT artifacts FROM quota_use WHERE scope = 0), (SELECT stored FROM quota_use WHERE scope = 0),
    (SELECT count(*) FROM quota_use WHERE scope = 1 AND artifacts > 0),
    (SELECT min(created) FROM artifact),
    (SELECT count(*) FROM artifact WHERE expires <= $1),
    (SELECT count(*) FROM body WHERE NOT visible),
    (SELECT count(*) FROM orphan),
    (SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c
     JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $2 AND c.relkind = 'r')";

/// What a shared store holds.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BackendStatus {
    /// The version of the database server.
    pub server: String,
    /// The version of the tables.
    pub schema: u32,
    /// The version of the tables that this program works with.
    pub expected_schema: u32,
    /// Where large bodies are: `s3://bucket/prefix`; `None` if they are in the database.
    pub objects: Option<String>,
    /// Why no object can be stored now; `None` if the object store works, or there is none.
    pub objects_problem: Option<String>,
    /// Number of artifacts, including expired ones that were not removed yet.
    pub artifacts: u64,
    /// Number of expired artifacts.
    pub expired: u64,
    /// Number of owners that have artifacts.
    pub owners: u64,
    /// Stored bytes of all bodies.
    pub stored_bytes: u64,
    /// Bytes of the tables and their indexes.
    pub table_bytes: u64,
    /// When the oldest artifact was stored.
    pub oldest: Option<Millis>,
    /// Bodies that are being written, or that a process left unfinished.
    pub unfinished: u64,
    /// Objects that no artifact refers to: being written, or waiting to be removed.
    pub orphans: u64,
}

impl Shared {
    pub(super) async fn status(&self) -> Result<BackendStatus, StoreError> {
        let found = self.retry(|_| schema::version(&self.database, &self.schema)).await?;
        let now = self.clock.certain_now().0;
        let rows = self.query(&Scope::AllOwners, STATUS, &[&now, &self.schema]).await?;
        let row = rows.first().ok_or(StoreError::Damaged { what: "the tables" })?;
        let number = |column: usize| row.get::<_, i64>(column).unsigned_abs();
        Ok(BackendStatus {
            server: format!("PostgreSQL {}", self.server),
            schema: found,
            expected_schema: schema::VERSION,
            objects: self.objects_address(),
            objects_problem: self.objects_problem().await,
            artifacts: number(0),
            stored_bytes: number(1),
            owners: number(2),
            oldest: row.get::<_, Option<i64>>(3).map(|time| self.clock.here(Millis(time))),
            expired: number(4),
            unfinished: number(5),
            orphans: number(6),
            table_bytes: number(7),
        })
    }

    #[cfg(feature = "objects")]
    fn objects_address(&self) -> Option<String> {
        self.objects.as_ref().map(|objects| objects.address().to_owned())
    }

    #[cfg(feature = "objects")]
    async fn objects_problem(&self) -> Option<String> {
        let error = self.objects.as_ref()?.check_now().await.err()?;
        let cause = std::error::Error::source(&error).map(ToString::to_string);
        Some(cause.unwrap_or_else(|| error.to_string()))
    }

    #[cfg(not(feature = "objects"))]
    async fn objects_problem(&self) -> Option<String> {
        None
    }

    #[cfg(not(feature = "objects"))]
    fn objects_address(&self) -> Option<String> {
        None
    }
}
