//! A cursor: a query and a position in one opaque text, sealed so that it can neither be forged nor be used for another
//! owner or another artifact.
//!
//! The text is base64url of `version, length of the seal, seal, query`. The seal is a MAC that the caller computes
//! over owner, artifact, version and query; this file has no key. A cursor carries everything it needs, so that nothing
//! has to be remembered for it.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::Query;

const VERSION: u8 = 1;
/// Bytes of the seal.
pub const SEAL_BYTES: usize = 12;
/// The longest cursor.
pub const MAX_CURSOR_BYTES: usize = 4096;

/// Why a text is not a cursor of this artifact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CursorError {
    /// It was never a cursor, was cut or changed, or belongs to another result.
    #[error("this is not a cursor of this result; take it from the last answer as it is, or leave it out")]
    Invalid,
    /// It was made by another version.
    #[error("this cursor was made by another version; ask for the view again without it")]
    OtherVersion,
}

/// Makes a cursor; `seal` is the MAC over the bytes it is given.
pub fn encode(query: &Query, seal: impl FnOnce(&[u8]) -> [u8; SEAL_BYTES]) -> String {
    let mut sealed = vec![VERSION];
    sealed.extend(postcard::to_allocvec(query).unwrap_or_default());
    let mut bytes = vec![VERSION];
    bytes.extend(seal(&sealed));
    bytes.extend(&sealed[1..]);
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Reads a cursor back, if its seal is right.
///
/// # Errors
///
/// Anything but a cursor that was made with the same seal.
pub fn decode(cursor: &str, seal: impl FnOnce(&[u8]) -> [u8; SEAL_BYTES]) -> Result<Query, CursorError> {
    if cursor.len() > MAX_CURSOR_BYTES {
        return Err(CursorError::Invalid);
    }
    let bytes = URL_SAFE_NO_PAD.decode(cursor.trim()).map_err(|_| CursorError::Invalid)?;
    let (&version, rest) = bytes.split_first().ok_or(CursorError::Invalid)?;
    if version != VERSION {
        return Err(CursorError::OtherVersion);
    }
    let (given, query) = rest.split_at_checked(SEAL_BYTES).ok_or(CursorError::Invalid)?;
    let mut sealed = vec![VERSION];
    sealed.extend(query);
    // Constant time: comparing every byte does not reveal how many were right.
    let differing = seal(&sealed).iter().zip(given).fold(0, |sum, (one, two)| sum | (one ^ two));
    if differing != 0 {
        return Err(CursorError::Invalid);
    }
    postcard::from_bytes(query).map_err(|_| CursorError::Invalid)
}

#[cfg(test)]
mod tests {
    use super::super::View;
    use super::*;

    /// A stand-in for a MAC: every byte of the text changes it.
    fn seal(key: u8) -> impl Fn(&[u8]) -> [u8; SEAL_BYTES] {
        move |bytes| {
            let hash = crate::hash::bytes(&[&[key], bytes].concat());
            let mut seal = [0; SEAL_BYTES];
            seal[..8].copy_from_slice(&hash.to_le_bytes());
            seal
        }
    }

    #[test]
    fn a_cursor_decodes_to_what_was_encoded() {
        let query =
            Query { view: View::Jq(".[] | \"é\"".into()), fields: vec!["a.b".into()], position: 1 << 40 };
        let cursor = encode(&query, seal(1));
        assert_eq!(decode(&cursor, seal(1)), Ok(query));
        assert_eq!(decode(&cursor, seal(2)), Err(CursorError::Invalid), "another artifact");
    }

    #[test]
    fn garbage_is_refused() {
        let cursor = encode(&Query::new(View::Page { number: 2, size: None }), seal(1));
        for at in 0..cursor.len() {
            let mut changed = cursor.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            assert!(decode(&changed, seal(1)).is_err(), "{changed}");
            assert!(decode(&cursor[..at], seal(1)).is_err());
        }
        for garbage in ["", "x", "!!!!", &"A".repeat(10_000)] {
            assert!(decode(garbage, seal(1)).is_err());
        }
    }
}
