//! Tokens that clients hold for the gateway: list cursors, session ids and ids of tasks.
//!
//! A token is a text and a seal, which is computed over purpose, caller and text with the store's key. Every replica with that
//! key can open it, nobody without the key can forge one, and a token does not open for another caller.

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
    /// A task of a server.
    Task,
}

impl Purpose {
    fn name(self) -> &'static str {
        match self {
            Self::Cursor => "cursor",
            Self::Session => "session",
            Self::Task => "task",
        }
    }
}

/// Seals and opens tokens.
pub struct Sealer {
    keep: Arc<UserStore>,
    opened: Mutex<Option<Arc<Opened>>>,
}

impl Sealer {
    /// Returns a sealer that uses the key of a store.
    pub fn new(keep: Arc<UserStore>) -> Self {
        Self { keep, opened: Mutex::default() }
    }

    /// Returns a token that holds a text for a caller.
    ///
    /// # Errors
    ///
    /// The store cannot be opened, so its key cannot be read.
    pub fn seal(&self, purpose: Purpose, caller: &str, text: &[u8]) -> Result<String, StoreError> {
        let seal = self.mac(purpose, caller, text)?;
        Ok(URL_SAFE_NO_PAD.encode([text, &seal].concat()))
    }

    /// Returns the text of a token; `None` unless it was sealed for this purpose and caller.
    pub fn open(&self, purpose: Purpose, caller: &str, token: &str) -> Option<Vec<u8>> {
        let mut bytes = URL_SAFE_NO_PAD.decode(token).ok()?;
        let (owner, id) = binding(purpose, caller);
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
        let (owner, id) = binding(purpose, caller);
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

/// Returns the owner and the id that a seal is bound to. No result has an owner of the kind `gateway`, so no token is valid
/// as the cursor of a result.
fn binding(purpose: Purpose, caller: &str) -> (Owner, ArtifactId) {
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
