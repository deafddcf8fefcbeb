//! Lists all artifacts with all of their metadata, for copying a store.

use super::database::Scope;
use super::{COLUMNS, JOINED, Shared};
use crate::artifact::{CallDigest, CallOrigin, Owner, Session, StoredArtifact, TierLevel};
use crate::error::StoreError;
use crate::id::ArtifactId;

impl Shared {
    pub(super) async fn walk(
        &self,
        after: Option<ArtifactId>,
        limit: usize,
    ) -> Result<Vec<StoredArtifact>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS}, a.owner, a.session, a.server, a.arguments, a.call, a.tier FROM {JOINED}
             WHERE a.id > $1 AND a.expires > $2 ORDER BY a.id LIMIT $3"
        );
        let after = after.as_ref().map_or("", ArtifactId::as_str);
        let (now, limit) = (self.clock.certain_now().0, i64::try_from(limit).unwrap_or(i64::MAX));
        let rows = self.query(&Scope::AllOwners, &sql, &[&after, &now, &limit]).await?;
        let codec = self.codec();
        let stored = rows.iter().map(|row| {
            let artifact = self.artifact(row)?;
            let owner = Owner::new(row.get::<_, String>(9));
            let call = row.get::<_, Option<&[u8]>>(13).and_then(|call| call.try_into().ok()).map(CallDigest);
            let details = codec.open_details(&owner, &artifact.id, row.get(12), call)?;
            let call = details.call();
            let origin = CallOrigin { server: row.get(11), arguments: details.arguments };
            Ok(StoredArtifact {
                session: Session::new(row.get::<_, String>(10)),
                owner,
                origin,
                call,
                tier: TierLevel::new(u8::try_from(row.get::<_, i16>(14)).unwrap_or(u8::MAX)),
                artifact,
            })
        });
        stored.collect()
    }
}
