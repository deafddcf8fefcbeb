//! Quotas: charges a result to its session, its owner and the store.
//!
//! The use of each is a row. A transaction locks the rows in the order session, owner, store and holds them until it commits, so
//! the limits are exact however many processes store at once. The row of the store, which every process needs, is locked last.
//! A body counts once for its owner and the store, and once for each session that has an artifact with it.

use super::database::{Parameter, Transaction};
use super::failure::Failure;
use super::key::RECORD;
use crate::artifact::{Quotas, UsedBytes};
use crate::error::StoreError;

/// Locks the row of the session and counts artifacts ($3) and bytes ($4).
const SESSION: &str = "INSERT INTO quota_use VALUES (2, $1, $2, $3, $4)
    ON CONFLICT (scope, owner, session) DO UPDATE
    SET artifacts = quota_use.artifacts + excluded.artifacts, stored = quota_use.stored + excluded.stored
    RETURNING stored";
/// Counts the bytes of a body ($3, $4) if the session now has its first artifact with it.
const SESSION_BODY: &str = "UPDATE quota_use SET stored = stored + $4
    WHERE scope = 2 AND owner = $1 AND session = $2 AND 1 =
        (SELECT count(*) FROM (SELECT 1 FROM artifact WHERE body = $3 AND owner = $1 AND session = $2 LIMIT 2) same)
    RETURNING stored";
const OWNER: &str = "INSERT INTO quota_use VALUES (1, $1, '', $2, $3)
    ON CONFLICT (scope, owner, session) DO UPDATE
    SET artifacts = quota_use.artifacts + excluded.artifacts, stored = quota_use.stored + excluded.stored
    RETURNING stored";
const STORE: &str =
    "UPDATE quota_use SET artifacts = artifacts + $1, stored = stored + $2 WHERE scope = 0 RETURNING stored";

/// The use of the three quotas after a charge; `None` where the session was not charged.
#[derive(Debug, Clone, Copy)]
pub(super) struct Charged {
    session: Option<i64>,
    owner: i64,
    store: i64,
}

impl Charged {
    /// Fails if a charge of `size` bytes exceeded a quota.
    pub(super) fn check(&self, quotas: Quotas, size: u64) -> Result<(), StoreError> {
        let before = |after: i64| after.unsigned_abs().saturating_sub(size);
        let session = self.session.map_or(0, before);
        quotas.check(UsedBytes { session, owner: before(self.owner), store: before(self.store) }, size)
    }
}

/// The artifact that a charge is for.
pub(super) struct NewArtifactRow<'r> {
    pub(super) insert: &'r str,
    pub(super) parameters: &'r [Parameter<'r>],
    pub(super) body: i64,
}

/// Inserts an artifact and charges the bytes of its body: `session_bytes` to its session if that has no other artifact with this
/// body, and `bytes` to the owner and the store. Returns the key record of the store, and what was charged; `None` if an
/// artifact with this id exists already.
pub(super) async fn insert_and_charge(
    transaction: &Transaction,
    (owner, session): (&str, &str),
    artifact: NewArtifactRow<'_>,
    session_bytes: i64,
    bytes: i64,
) -> Result<(Option<Vec<u8>>, Option<Charged>), Failure> {
    let (none, one) = (0i64, 1i64);
    let rows = transaction
        .pipeline(&[
            (SESSION, &[&owner, &session, &one, &none]),
            (artifact.insert, artifact.parameters),
            (SESSION_BODY, &[&owner, &session, &artifact.body, &session_bytes]),
            (OWNER, &[&owner, &one, &bytes]),
            (STORE, &[&one, &bytes]),
            (RECORD, &[]),
        ])
        .await?;
    let record = rows[5].first().map(|row| row.get(0));
    if rows[1].is_empty() {
        return Ok((record, None));
    }
    let stored = |at: usize| rows[at].first().map(|row| row.get::<_, i64>(0));
    let missing = || StoreError::Damaged { what: "the rows of the quotas" };
    let (owner, store) = (stored(3).ok_or_else(missing)?, stored(4).ok_or_else(missing)?);
    Ok((record, Some(Charged { session: stored(2), owner, store })))
}

/// Charges bytes of an unfinished body to its session, its owner and the store; negative bytes are a refund.
pub(super) async fn charge_bytes(
    transaction: &Transaction,
    (owner, session): (&str, &str),
    bytes: i64,
) -> Result<Charged, Failure> {
    let none = 0i64;
    let rows = transaction
        .pipeline(&[
            (SESSION, &[&owner, &session, &none, &bytes]),
            (OWNER, &[&owner, &none, &bytes]),
            (STORE, &[&none, &bytes]),
        ])
        .await?;
    let missing = || StoreError::Damaged { what: "the rows of the quotas" };
    let stored = |at: usize| rows[at].first().map(|row| row.get::<_, i64>(0)).ok_or_else(missing);
    Ok(Charged { session: Some(stored(0)?), owner: stored(1)?, store: stored(2)? })
}
