//! Sealed credentials in the database, for all replicas of a gateway.

use super::PostgresStore;
use super::database::Scope;
use crate::artifact::Owner;
use crate::clock::Millis;
use crate::credential::{CredentialRows, StoredCredential};
use crate::error::StoreError;

const SET: &str = "INSERT INTO credential (owner, server, sealed, changed) VALUES ($1, $2, $3, $4)
                   ON CONFLICT (owner, server) DO UPDATE SET sealed = excluded.sealed, changed = excluded.changed";
const REMOVE: &str = "DELETE FROM credential WHERE owner = $1 AND server = $2";

impl CredentialRows for PostgresStore {
    fn read(&self, owner: &str, server: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let (owner, server) = (owner.to_owned(), server.to_owned());
        self.run(|shared| async move {
            let scope = Scope::Owner(Owner::new(owner.as_str()));
            let sql = "SELECT sealed FROM credential WHERE owner = $1 AND server = $2";
            let rows = shared.query(&scope, sql, &[&owner, &server]).await?;
            Ok(rows.first().map(|row| row.get(0)))
        })
    }

    fn write(&self, owner: &str, server: &str, sealed: &[u8], now: Millis) -> Result<(), StoreError> {
        let (owner, server, sealed) = (owner.to_owned(), server.to_owned(), sealed.to_vec());
        self.run(|shared| async move {
            let scope = Scope::Owner(Owner::new(owner.as_str()));
            // Repeating it has no further effect.
            shared
                .retry(|_| async {
                    let transaction = shared.database.begin(&scope).await?;
                    transaction.execute(SET, &[&owner, &server, &sealed, &now.0]).await?;
                    transaction.commit().await
                })
                .await
        })
    }

    fn remove(&self, owner: &str, server: &str) -> Result<bool, StoreError> {
        let (owner, server) = (owner.to_owned(), server.to_owned());
        self.run(|shared| async move {
            let scope = Scope::Owner(Owner::new(owner.as_str()));
            let removed = shared.retry(|may_be_removed| {
                let (shared, scope, owner, server) = (&shared, &scope, &owner, &server);
                async move {
                    let transaction = shared.database.begin(scope).await?;
                    let removed = transaction.execute(REMOVE, &[owner, server]).await?;
                    transaction.commit().await?;
                    Ok(removed > 0 || may_be_removed)
                }
            });
            removed.await
        })
    }

    fn list(&self) -> Result<Vec<StoredCredential>, StoreError> {
        self.run(|shared| async move {
            let sql = "SELECT owner, server, changed FROM credential ORDER BY owner, server";
            let rows = shared.query(&Scope::AllOwners, sql, &[]).await?;
            let stored = rows.iter().map(|row| StoredCredential {
                owner: row.get(0),
                server: row.get(1),
                changed: Millis(row.get(2)),
            });
            Ok(stored.collect())
        })
    }
}
