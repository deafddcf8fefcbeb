//! The tables and their migrations: run once, under a lock, forward only.
//!
//! A migration is a file of statements, compiled in. All that are missing run in one transaction, which PostgreSQL rolls
//! back as a whole if one fails. A process that finds a newer schema refuses to work with it. A library for migrations
//! would bring more crates than this file has functions.

use super::database::{Database, Transaction, quoted};
use super::failure::Failure;
use crate::error::StoreError;

/// The migrations, in order; the version of a schema is the number of those that ran.
const MIGRATIONS: [&str; 5] = [
    include_str!("migrations/0001_store.sql"),
    include_str!("migrations/0002_tier.sql"),
    include_str!("migrations/0003_gateway.sql"),
    include_str!("migrations/0004_replica.sql"),
    include_str!("migrations/0005_upload.sql"),
];

/// The version that this program works with.
pub(super) const VERSION: u32 = MIGRATIONS.len() as u32;

/// The first key of the advisory lock; the second is a digest of the schema's name.
const LOCK: i32 = 0x7469_6465;

/// Migrates the tables of a schema and returns their version before that.
pub(super) async fn migrate(database: &Database, schema: &str) -> Result<u32, Failure> {
    let mut connection = database.connection().await?;
    connection.batch("BEGIN").await?;
    // Another process may hold the lock for as long as its migrations take.
    connection.without_timeout().await?;
    let digest = blake3::hash(schema.as_bytes());
    let key = i32::from_le_bytes(digest.as_bytes()[..4].try_into().expect("a hash has 32 bytes"));
    connection.execute("SELECT pg_advisory_xact_lock($1, $2)", &[&LOCK, &key]).await?;
    let from = read_version(&connection, schema).await?;
    if from > VERSION {
        connection.rollback().await;
        return Err(newer(from).into());
    }
    if from == VERSION {
        connection.commit().await?;
        return Ok(from);
    }
    if from == 0 {
        // Somebody with more rights may have created it for this role.
        let exists = "SELECT 1 FROM pg_namespace WHERE nspname = $1";
        if connection.query_one(exists, &[&schema]).await?.is_none() {
            connection.batch(&format!("CREATE SCHEMA {}", quoted(schema))).await?;
        }
        connection.batch("CREATE TABLE schema_version (version INTEGER NOT NULL)").await?;
        connection.batch("INSERT INTO schema_version VALUES (0)").await?;
    }
    for migration in &MIGRATIONS[from as usize..] {
        connection.batch(migration).await?;
    }
    connection.execute("UPDATE schema_version SET version = $1", &[&(VERSION.cast_signed())]).await?;
    connection.commit().await?;
    Ok(from)
}

/// Returns the version of the tables of a schema; 0 if there are none.
pub(super) async fn version(database: &Database, schema: &str) -> Result<u32, Failure> {
    let connection = database.connection().await?;
    let version = read_version(&connection, schema).await?;
    connection.keep();
    Ok(version)
}

/// Fails unless the tables have the version of this program.
pub(super) async fn check(database: &Database, schema: &str) -> Result<(), Failure> {
    let found = version(database, schema).await?;
    match found.cmp(&VERSION) {
        std::cmp::Ordering::Equal => Ok(()),
        std::cmp::Ordering::Greater => Err(newer(found).into()),
        std::cmp::Ordering::Less if found == 0 => {
            Err(StoreError::Unusable("it has no tables yet; run `tidegate store migrate`".into()).into())
        }
        std::cmp::Ordering::Less => {
            let message = format!(
                "its tables have version {found}, this program needs {VERSION}; run `tidegate store migrate`"
            );
            Err(StoreError::Unusable(message.into()).into())
        }
    }
}

async fn read_version(connection: &Transaction, schema: &str) -> Result<u32, Failure> {
    let exists = "SELECT 1 FROM pg_tables WHERE schemaname = $1 AND tablename = 'schema_version'";
    if connection.query_one(exists, &[&schema]).await?.is_none() {
        return Ok(0);
    }
    let row = connection.query_one("SELECT version FROM schema_version", &[]).await?;
    Ok(row.map_or(0, |row| row.get::<_, i32>(0).unsigned_abs()))
}

fn newer(found: u32) -> StoreError {
    let message = format!(
        "its tables have version {found}, this program knows versions up to {VERSION}; update tidegate"
    );
    StoreError::Unusable(message.into())
}
