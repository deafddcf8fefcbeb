//! Tokens that clients carry for us: list cursors and the ids of sessions.
//!
//! A token is its text and a seal over purpose, caller and text, with the key of the store. Every replica that shares the
//! store's key can open it, nobody can forge one, and one caller's token is worth nothing to another.

use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use tidegate_gate::{Opened, UserStore};
use tidegate_store::{ArtifactId, Owner, StoreError};

/// What a token is for; a token of one purpose is not valid for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// A position in a list.
    Cursor,
    /// A session.
    Session,
}

impl Purpose {
    fn name(self) -> &'static str {
        match self {
            Self::Cursor => "cursor",
            Self::Session => "session",
        }
    }
}

/// Seals and opens tokens.
pub struct Sealer {
    keep: Arc<UserStore>,
    opened: Mutex<Option<Arc<Opened>>>,
}

impl Sealer {
    /// Returns a sealer with the key of a store.
    pub fn new(keep: Arc<UserStore>) -> Self {
        Self { keep, opened: Mutex::default() }
    }

    /// Returns a token with a text for a caller.
    ///
    /// # Errors
    ///
    /// The store, which has the key, cannot be opened.
    pub fn seal(&self, purpose: Purpose, caller: &str, text: &[u8]) -> Result<String, StoreError> {
        let seal = self.mac(purpose, caller, text)?;
        Ok(URL_SAFE_NO_PAD.encode([text, &seal].concat()))
    }

    /// Returns the text of a token that was sealed for this purpose and caller.
    pub fn open(&self, purpose: Purpose, caller: &str, token: &str) -> Option<Vec<u8>> {
        let mut bytes = URL_SAFE_NO_PAD.decode(token).ok()?;
        let (owner, id) = place(purpose, caller);
        let opened = self.opened().ok()?;
        let text = bytes.len().checked_sub(opened.seal(&owner, &id, &[]).len())?;
        let given = bytes.split_off(text);
        let is_sealed = opened.unseal(&owner, &id, |seal| {
            let expected = seal(&bytes);
            let differing =
                given.iter().zip(&expected).fold(0, |differing, (one, two)| differing | (one ^ two));
            if differing == 0 { Ok(()) } else { Err(()) }
        });
        is_sealed.ok().map(|()| bytes)
    }

    fn mac(&self, purpose: Purpose, caller: &str, text: &[u8]) -> Result<Vec<u8>, StoreError> {
        let (owner, id) = place(purpose, caller);
        Ok(self.opened()?.seal(&owner, &id, text).to_vec())
    }

    fn opened(&self) -> Result<Arc<Opened>, StoreError> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(opened) = &*opened {
            return Ok(Arc::clone(opened));
        }
        let new = self.keep.open()?;
        *opened = Some(Arc::clone(&new));
        Ok(new)
    }
}

/// Returns what a seal is bound to. Seals of results have the id of a result; these have one that no result can have.
fn place(purpose: Purpose, caller: &str) -> (Owner, ArtifactId) {
    let owner = Owner::of_parts("gateway", &[purpose.name(), caller]);
    (owner, ArtifactId::parse_bare("000000000000").unwrap_or_else(ArtifactId::random))
}

#[cfg(test)]
mod tests {
    use tidegate_gate::StoreLocation;

    use super::*;

    #[test]
    fn a_token_opens_for_its_caller_and_purpose_only() {
        let sealer = Sealer::new(Arc::new(UserStore::of_user(StoreLocation::Memory)));
        let token = sealer.seal(Purpose::Cursor, "ada", b"text").unwrap();
        assert_eq!(sealer.open(Purpose::Cursor, "ada", &token).as_deref(), Some(&b"text"[..]));
        assert_eq!(sealer.open(Purpose::Cursor, "bob", &token), None);
        assert_eq!(sealer.open(Purpose::Session, "ada", &token), None);
        assert_eq!(sealer.open(Purpose::Cursor, "ada", ""), None);
        assert_eq!(sealer.open(Purpose::Cursor, "ada", "not base64!"), None);
        for at in 0..token.len() {
            let mut changed = token.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            assert_ne!(sealer.open(Purpose::Cursor, "ada", &changed).as_deref(), Some(&b"text"[..]));
        }
        let other = Sealer::new(Arc::new(UserStore::of_user(StoreLocation::Memory)));
        assert_eq!(other.open(Purpose::Cursor, "ada", &token), None);
    }
}
