//! What the caller of `put` knows of a result before it is stored.

use std::time::Duration;

use super::{Artifact, CallDigest, CallOrigin, Description, Owner, Session, TierLevel};
use crate::clock::Millis;
use crate::id::ArtifactId;

/// The maximum number of bytes stored of a call's arguments. They show which call it was; whole, they may be as large as a
/// result.
const MAX_ARGUMENT_BYTES: usize = 1000;
/// Follows arguments of which only the beginning is stored.
const ELLIPSIS: char = '…';

/// The metadata of a result that the caller has before the result is stored.
#[derive(Debug, Clone)]
pub struct NewArtifact<'n> {
    /// The id, made in advance, so that the answer can be composed while the result is being stored.
    pub id: ArtifactId,
    /// Who may read it.
    pub owner: &'n Owner,
    /// The session whose quota it uses.
    pub session: &'n Session,
    /// The tool it came from.
    pub tool: &'n str,
    /// The server of the tool; empty if it is not known.
    pub server: &'n str,
    /// The arguments of the call, as JSON; only their beginning is stored.
    pub arguments: Option<&'n str>,
    /// The call that returned it; `None` if later results of the call are not to be compared with it.
    pub call: Option<CallDigest>,
    /// The shortest time for which it is kept.
    pub ttl: Duration,
    /// The tier that a caller needs to read it.
    pub tier: TierLevel,
    /// When it was stored and when it expires, for a copy from another store; `None` for a new one.
    pub lifetime: Option<Lifetime>,
}

/// When an artifact was stored, and when it expires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lifetime {
    /// When it was stored.
    pub created: Millis,
    /// When it expires.
    pub expires: Millis,
}

impl<'n> NewArtifact<'n> {
    /// Returns the metadata of a result, with a new random id.
    pub fn new(owner: &'n Owner, session: &'n Session, tool: &'n str, ttl: Duration) -> Self {
        Self {
            id: ArtifactId::random(),
            owner,
            session,
            tool,
            server: "",
            arguments: None,
            call: None,
            ttl,
            tier: TierLevel::default(),
            lifetime: None,
        }
    }

    /// Returns the metadata to store, with what was found by reading and storing the result.
    pub(crate) fn artifact(
        &self,
        description: &Description,
        bytes: u64,
        stored_bytes: u64,
        now: Millis,
    ) -> Artifact {
        let new = Lifetime { created: now, expires: now.after(self.ttl) };
        let Lifetime { created, expires } = self.lifetime.unwrap_or(new);
        Artifact {
            id: self.id.clone(),
            tool: self.tool.to_owned(),
            kind: description.kind.clone(),
            records: description.records,
            tokens: description.tokens,
            bytes,
            stored_bytes,
            created,
            expires,
        }
    }

    /// Returns what is stored of the call.
    pub(crate) fn origin(&self) -> CallOrigin {
        let arguments = beginning(self.arguments.unwrap_or_default());
        CallOrigin { server: self.server.to_owned(), arguments }
    }
}

/// Returns a text, or its beginning and an ellipsis if it is too long.
fn beginning(text: &str) -> String {
    // What was cut before, by another store, is not cut again.
    let whole = text.strip_suffix(ELLIPSIS).unwrap_or(text);
    if whole.len() <= MAX_ARGUMENT_BYTES {
        return text.to_owned();
    }
    let cut = (0..=MAX_ARGUMENT_BYTES).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    format!("{}{ELLIPSIS}", &text[..cut])
}
