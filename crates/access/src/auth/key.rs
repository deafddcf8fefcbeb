//! Keys that callers send as their bearer token.
//!
//! The configuration holds the hash of a key, never the key. A key is 32 random bytes, which cannot be guessed from their
//! hash, so a fast hash is enough. A key is compared with the hashes of all callers in constant time.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// The prefix of every key, by which secret scanners recognize keys.
pub const KEY_PREFIX: &str = "tgk_";
/// The prefix of a hash in the configuration.
const HASH_PREFIX: &str = "blake3:";
/// The size of a key, and of its hash.
const KEY_BYTES: usize = 32;
/// The context of the key derivation, which separates these hashes from all others.
const HASH_CONTEXT: &str = "tidegate 2026 gateway key";

/// Returns a new key.
///
/// # Panics
///
/// The system provides no random bytes.
///
/// ```
/// # use tidegate_access::auth::key::{new_key, KeyHash};
/// let key = new_key();
/// assert!(key.starts_with("tgk_") && key.len() == 47);
/// assert_eq!(KeyHash::of(&key), KeyHash::of(&key).to_string().parse().unwrap());
/// ```
pub fn new_key() -> String {
    let mut bytes = [0; KEY_BYTES];
    getrandom::fill(&mut bytes).expect("the system provides random bytes");
    format!("{KEY_PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes))
}

/// The hash of a key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct KeyHash([u8; KEY_BYTES]);

/// A text is not the hash of a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "this is not the hash of a key: it must be blake3: and 64 hexadecimal digits; tidegate gateway key makes a key and its hash"
)]
pub struct InvalidKeyHash;

impl KeyHash {
    /// Returns the hash of a key.
    pub fn of(key: &str) -> Self {
        Self(blake3::derive_key(HASH_CONTEXT, key.as_bytes()))
    }
}

impl fmt::Display for KeyHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(HASH_PREFIX)?;
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for KeyHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl FromStr for KeyHash {
    type Err = InvalidKeyHash;

    fn from_str(text: &str) -> Result<Self, InvalidKeyHash> {
        let digits = text.strip_prefix(HASH_PREFIX).filter(|digits| digits.len() == 2 * KEY_BYTES);
        let digits = digits.filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let digits = digits.ok_or(InvalidKeyHash)?;
        let mut hash = [0; KEY_BYTES];
        for (at, byte) in hash.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).map_err(|_| InvalidKeyHash)?;
        }
        Ok(Self(hash))
    }
}

/// The keys of the configuration, each with the caller it belongs to.
#[derive(Debug, Clone)]
pub struct Keys<T>(Vec<(KeyHash, T)>);

impl<T> Default for Keys<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Keys<T> {
    /// Returns a set of keys, given their hashes and callers.
    pub fn new(keys: Vec<(KeyHash, T)>) -> Self {
        Self(keys)
    }

    /// Returns whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the caller that a key belongs to. It compares every hash completely, so the time taken reveals nothing.
    pub fn find(&self, key: &str) -> Option<&T> {
        let given = KeyHash::of(key);
        let mut found = None;
        for (hash, caller) in &self.0 {
            if differing_bits(&given.0, &hash.0) == 0 {
                found = Some(caller);
            }
        }
        found
    }
}

/// Compares in constant time; 0 means equal.
fn differing_bits(one: &[u8; KEY_BYTES], two: &[u8; KEY_BYTES]) -> u8 {
    std::hint::black_box(one.iter().zip(two).fold(0, |differing, (one, two)| differing | (one ^ two)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_finds_its_caller_and_nothing_else_does() {
        let (ada, bob) = (new_key(), new_key());
        assert_ne!(ada, bob);
        let keys = Keys::new(vec![(KeyHash::of(&ada), "ada"), (KeyHash::of(&bob), "bob")]);
        assert_eq!((keys.find(&ada), keys.find(&bob)), (Some(&"ada"), Some(&"bob")));
        let hash = KeyHash::of(&ada).to_string();
        let upper = ada.to_uppercase();
        for wrong in [&new_key(), "", "tgk_", &ada[..46], &format!("{ada}A"), &upper, &hash, &hash[7..]] {
            assert_eq!(keys.find(wrong), None, "{wrong}");
        }
        assert_eq!(Keys::<()>::default().find(&ada), None);
    }

    #[test]
    fn only_a_well_formed_hash_is_parsed() {
        let hash = KeyHash::of("tgk_x").to_string();
        assert_eq!(hash.parse(), Ok(KeyHash::of("tgk_x")));
        assert_eq!(hash.to_uppercase().replace("BLAKE3", "blake3").parse(), Ok(KeyHash::of("tgk_x")));
        for wrong in
            ["", "blake3:", &hash[7..], &hash[..70], &format!("{hash}0"), &hash.replace(':', ":+"), "tgk_abc"]
        {
            assert_eq!(wrong.parse::<KeyHash>(), Err(InvalidKeyHash), "{wrong}");
        }
    }
}
