//! Encrypts the content of a store: XChaCha20-Poly1305 with a random nonce, bound to the place where the bytes are stored.
//!
//! ```text
//! magic(4) key-id(8) nonce(24) ciphertext tag(16)
//! ```
//!
//! The place is the associated data, for example owner, body and number of a chunk. Sealed bytes that were changed, truncated
//! or moved to another place do not open. Digests of bodies are keyed, so that a digest does not confirm a guess of its bytes.

use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};

use crate::key::{KeyId, StoreKey};

const MAGIC: [u8; 4] = *b"TGs1";
const NONCE_BYTES: usize = 24;
/// The size of magic and key id, which say that bytes are sealed, and with which key.
pub(crate) const HEADER_BYTES: usize = MAGIC.len() + 8;
/// The number of bytes that sealing adds.
pub(crate) const OVERHEAD_BYTES: usize = HEADER_BYTES + NONCE_BYTES + 16;

/// The place that sealed bytes are bound to. Its parts are encoded with their lengths, so no two places have the same encoding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SealedPlace(Vec<u8>);

impl SealedPlace {
    /// Returns the place that these parts identify.
    pub(crate) fn new(parts: &[&[u8]]) -> Self {
        let mut bytes = Vec::with_capacity(parts.iter().map(|part| part.len() + 8).sum());
        for part in parts {
            bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
            bytes.extend_from_slice(part);
        }
        Self(bytes)
    }

    /// Returns a numbered place within this one, such as a chunk of a body.
    pub(crate) fn numbered(&self, number: u64) -> Self {
        Self([&self.0[..], &number.to_le_bytes()].concat())
    }
}

/// A key with what is derived from it: a cipher for the content, and a key for digests.
#[derive(Clone)]
pub(crate) struct Cipher {
    id: KeyId,
    seal: XChaCha20Poly1305,
    digest: [u8; 32],
}

impl std::fmt::Debug for Cipher {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Cipher({})", self.id)
    }
}

impl Cipher {
    pub(crate) fn new(key: &StoreKey) -> Self {
        Self {
            id: key.id(),
            seal: XChaCha20Poly1305::new(&key.derive("tidegate 2026 store content").into()),
            digest: key.derive("tidegate 2026 store digests"),
        }
    }

    pub(crate) fn id(&self) -> KeyId {
        self.id
    }

    /// Returns the first bytes of everything that this key seals.
    pub(crate) fn header(&self) -> [u8; HEADER_BYTES] {
        let mut header = [0; HEADER_BYTES];
        header[..MAGIC.len()].copy_from_slice(&MAGIC);
        header[MAGIC.len()..].copy_from_slice(&self.id.0);
        header
    }

    /// Seals bytes for a place.
    pub(crate) fn seal(&self, place: &SealedPlace, bytes: &[u8]) -> Vec<u8> {
        let mut nonce = [0; NONCE_BYTES];
        getrandom::fill(&mut nonce).expect("the system provides random bytes");
        let payload = Payload { msg: bytes, aad: &place.0 };
        let sealed = self.seal.encrypt(&XNonce::from(nonce), payload);
        let sealed = sealed.expect("what is sealed is shorter than the cipher's limit of 256 GB");
        let mut out = Vec::with_capacity(OVERHEAD_BYTES + bytes.len());
        out.extend_from_slice(&self.header());
        out.extend_from_slice(&nonce);
        out.extend_from_slice(&sealed);
        out
    }

    /// Opens bytes; `None` unless this key sealed them for this place.
    pub(crate) fn open(&self, place: &SealedPlace, sealed: &[u8]) -> Option<Vec<u8>> {
        let sealed = sealed.strip_prefix(&self.header())?;
        let (nonce, msg) = sealed.split_first_chunk::<NONCE_BYTES>()?;
        self.seal.decrypt(&XNonce::from(*nonce), Payload { msg, aad: &place.0 }).ok()
    }

    /// Returns a hasher whose digests only this key can compute.
    pub(crate) fn hasher(&self) -> blake3::Hasher {
        blake3::Hasher::new_keyed(&self.digest)
    }
}

/// Returns whether bytes were sealed by any key. Compressed chunks, which are not sealed, never begin with the magic.
pub(crate) fn is_sealed(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

/// Returns the id of the key that sealed these bytes.
pub(crate) fn key_of(sealed: &[u8]) -> Option<KeyId> {
    sealed.strip_prefix(&MAGIC)?.first_chunk().map(|id| KeyId(*id))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sealing_the_same_bytes_twice_gives_different_bytes() {
        let cipher = Cipher::new(&StoreKey::random());
        let place = SealedPlace::new(&[b"owner", b"body"]);
        let (one, two) = (cipher.seal(&place, b"text"), cipher.seal(&place, b"text"));
        assert_ne!(one, two);
        assert_eq!(one.len(), OVERHEAD_BYTES + 4);
        assert_eq!(key_of(&one), Some(cipher.id()));
        assert_eq!(Cipher::new(&StoreKey::random()).open(&place, &one), None, "another key");
    }

    proptest! {
        #![proptest_config(tidegate_testkit::cases(2_000))]

        /// Sealed bytes that were changed, cut or moved do not open.
        #[test]
        fn only_unchanged_bytes_open_and_only_in_their_place(
            bytes in prop::collection::vec(any::<u8>(), 0..300),
            parts in prop::collection::vec("[a-c]{0,3}", 1..4),
            other in prop::collection::vec("[a-c]{0,3}", 1..4),
            (number, other_number) in (0_u64..4, 0_u64..4),
            flip in any::<prop::sample::Index>(),
        ) {
            let cipher = Cipher::new(&StoreKey::random());
            let place = |parts: &[String], number| {
                SealedPlace::new(&parts.iter().map(String::as_bytes).collect::<Vec<_>>()).numbered(number)
            };
            let here = place(&parts, number);
            let sealed = cipher.seal(&here, &bytes);
            prop_assert_eq!(cipher.open(&here, &sealed), Some(bytes));
            let elsewhere = place(&other, other_number);
            prop_assert_eq!(cipher.open(&elsewhere, &sealed).is_some(), parts == other && number == other_number);
            let mut changed = sealed.clone();
            let bit = flip.index(sealed.len() * 8);
            changed[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(cipher.open(&here, &changed), None);
            prop_assert_eq!(cipher.open(&here, &sealed[..bit / 8]), None);
        }
    }
}
