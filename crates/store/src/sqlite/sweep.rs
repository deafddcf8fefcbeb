//! Deletes what is no longer needed: expired artifacts, bodies that no artifact refers to, bodies that were never finished.
//!
//! Proxies sweep now and then, `tidegate gc` on request, and `put` when a quota is full. An artifact that has not expired is
//! never touched.

use std::time::Duration;

use rusqlite::{Connection, Transaction, TransactionBehavior, params};

use super::{BodyId, chunks};
use crate::artifact::Swept;
use crate::clock::Millis;
use crate::error::StoreError;

/// A body unfinished for longer than this was left by a process that has ended. Ten minutes: a process writes its body to a local
/// file, and until the leftovers are deleted they use up the disk of the user.
const UNFINISHED_TIMEOUT: Duration = Duration::from_secs(600);
/// Bodies deleted in one transaction; more would make other processes wait.
const BATCH_BODIES: usize = 16;

pub(super) fn sweep(connection: &mut Connection, now: Millis) -> Result<Swept, StoreError> {
    let before = file_bytes(connection)?;
    let artifacts = connection.execute("DELETE FROM artifact WHERE expires <= ?1", [now.0])? as u64;
    let unfinished = "SELECT id FROM body WHERE visible = 0 AND created <= ?1 LIMIT ?2";
    let unfinished = delete_bodies(connection, unfinished, now.before(UNFINISHED_TIMEOUT))?;
    let bodies = unfinished + delete_unreferenced_bodies(connection)?;
    if artifacts + bodies > 0 {
        // Each step of the statement frees one page.
        let mut statement = connection.prepare("PRAGMA incremental_vacuum")?;
        let mut rows = statement.query([])?;
        while rows.next()?.is_some() {}
    }
    let freed_bytes = before.saturating_sub(file_bytes(connection)?);
    Ok(Swept { artifacts, bodies, freed_bytes })
}

/// Deletes bodies that no artifact refers to any more.
pub(super) fn delete_unreferenced_bodies(connection: &mut Connection) -> Result<u64, StoreError> {
    let unreferenced = "SELECT id FROM body WHERE visible = 1 AND created <= ?1
                   AND NOT EXISTS (SELECT 1 FROM artifact WHERE artifact.body = body.id) LIMIT ?2";
    delete_bodies(connection, unreferenced, Millis(i64::MAX))
}

fn delete_bodies(
    connection: &mut Connection,
    select: &str,
    created_until: Millis,
) -> Result<u64, StoreError> {
    let mut deleted = 0;
    loop {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let bodies: Vec<i64> = transaction
            .prepare_cached(select)?
            .query_map(params![created_until.0, BATCH_BODIES as i64], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        for body in &bodies {
            delete_body(&transaction, BodyId(*body))?;
        }
        transaction.commit()?;
        deleted += bodies.len() as u64;
        if bodies.len() < BATCH_BODIES {
            return Ok(deleted);
        }
    }
}

/// Deletes the chunks of a body.
pub(super) fn delete_chunks(transaction: &Transaction<'_>, body: BodyId) -> rusqlite::Result<()> {
    let sql = "DELETE FROM chunk WHERE id >= ?1 AND id < ?2";
    transaction.execute(sql, params![chunks::row_id(body, 0), chunks::end_row_id(body)]).map(drop)
}

/// Deletes a body with its chunks.
pub(super) fn delete_body(transaction: &Transaction<'_>, body: BodyId) -> rusqlite::Result<()> {
    delete_chunks(transaction, body)?;
    transaction.execute("DELETE FROM body WHERE id = ?1", [body.0])?;
    Ok(())
}

fn file_bytes(connection: &Connection) -> Result<u64, StoreError> {
    let pages: i64 = connection.pragma_query_value(None, "page_count", |row| row.get(0))?;
    let size: i64 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
    Ok((pages * size).unsigned_abs())
}
