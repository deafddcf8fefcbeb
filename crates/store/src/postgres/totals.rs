//! Daily totals in the database, which all replicas of a gateway share.

use super::database::Scope;
use super::failure::Failure;
use super::{PostgresStore, Shared};
use crate::error::StoreError;
use crate::usage::{Consumed, DailyTotals};

/// The number of past days whose totals are kept.
const KEPT_DAYS: i32 = 40;

impl DailyTotals for PostgresStore {
    fn add(&self, day: &str, added: &[(String, Consumed)]) -> Result<Vec<(String, Consumed)>, StoreError> {
        let (day, mut added) = (day.to_owned(), added.to_vec());
        // All replicas lock the rows in the same order, so that they cannot deadlock.
        added.sort_by(|(one, _), (two, _)| one.cmp(two));
        // Not repeated after a lost connection, because nothing may count twice.
        self.run(|shared| async move { shared.add_totals(&day, &added).await.map_err(Failure::into_error) })
    }
}

impl Shared {
    async fn add_totals(
        &self,
        day: &str,
        added: &[(String, Consumed)],
    ) -> Result<Vec<(String, Consumed)>, Failure> {
        let column = |of: fn(&Consumed) -> u64| -> Vec<i64> {
            added.iter().map(|(_, consumed)| i64::try_from(of(consumed)).unwrap_or(i64::MAX)).collect()
        };
        let callers: Vec<&str> = added.iter().map(|(caller, _)| caller.as_str()).collect();
        let requests = column(|consumed| consumed.requests);
        let tokens = column(|consumed| consumed.tokens);
        let stored = column(|consumed| consumed.stored_bytes);
        let transaction = self.database.begin(&Scope::AllOwners).await?;
        let sql = "INSERT INTO daily_total AS total (day, owner, requests, tokens, stored)
                   SELECT $1, added.* FROM unnest($2::text[], $3::bigint[], $4::bigint[], $5::bigint[]) AS added
                   ON CONFLICT (day, owner) DO UPDATE SET requests = total.requests + excluded.requests,
                       tokens = total.tokens + excluded.tokens, stored = total.stored + excluded.stored
                   RETURNING owner, requests, tokens, stored";
        let rows = transaction.query(sql, &[&day, &callers, &requests, &tokens, &stored]).await?;
        let consumed = |row: &tokio_postgres::Row| {
            let number = |column: usize| row.get::<_, i64>(column).unsigned_abs();
            let consumed = Consumed { requests: number(1), tokens: number(2), stored_bytes: number(3) };
            (row.get(0), consumed)
        };
        let totals: Vec<(String, Consumed)> = rows.iter().map(consumed).collect();
        // Old days are deleted when a caller appears for the first time on a day.
        if totals.iter().any(|total| added.contains(total)) {
            let sql = "DELETE FROM daily_total WHERE day < to_char($1::text::date - $2::int, 'YYYY-MM-DD')";
            transaction.execute(sql, &[&day, &KEPT_DAYS]).await?;
        }
        transaction.commit().await?;
        Ok(totals)
    }
}
