//! The cursor of a list: the sort key of the last row that was seen, opaque and signed.
//!
//! A cursor that counts rows shows some twice and others never as soon as rows come and go between two pages. One
//! that holds the last key does not, if the key is unique: `updatedAt` alone is not, `(updatedAt, slug)` is. The next
//! page is what sorts after it.
//!
//! The text is base64url of `signature, key as JSON`. The signature is a keyed hash over the [`Scope`] and the key,
//! so a cursor can be neither made up nor used with another tool or other filters. Whatever is wrong with a cursor,
//! the error is the same and tells nothing about why.

use std::marker::PhantomData;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::page::Page;

const SIGNATURE: usize = 16;
/// The longest cursor that is read.
const LONGEST: usize = 4096;

/// What a cursor is good for: one tool with one choice of filters.
///
/// ```
/// use serde_json::json;
/// use tidegate_sdk::keyset::Scope;
///
/// let scope = Scope::of_tool("list_articles").with("site", &json!("harbour"));
/// assert_ne!(scope, Scope::of_tool("list_articles").with("site", &json!("pier")));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope(Vec<u8>);

impl Scope {
    /// Returns the scope of a tool without filters.
    pub fn of_tool(tool: &str) -> Self {
        Self(Vec::new()).part(tool)
    }

    /// Narrows the scope to the value of an argument; `limit`, `fields` and the cursor itself do not belong here.
    #[must_use]
    pub fn with(self, argument: &str, value: &Value) -> Self {
        let mut value = value.clone();
        // A caller may write the members of an object in another order next time.
        value.sort_all_objects();
        self.part(argument).part(&value.to_string())
    }

    /// With its length, so that no two lists of parts make the same bytes.
    fn part(mut self, text: &str) -> Self {
        self.0.extend((text.len() as u64).to_le_bytes());
        self.0.extend(text.as_bytes());
        self
    }
}

/// The text is no cursor for this scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "this is not a cursor of this list; pass nextCursor of the last page as it is and with the same filters, or leave it out to begin again"
)]
pub struct InvalidCursor;

/// A cursor could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeysetError {
    /// The key is not JSON.
    #[error("the sort key cannot be written as JSON")]
    Key(#[source] serde_json::Error),
    /// The key is too long to be read back.
    #[error("the sort key makes a cursor of {length} characters, but at most {LONGEST} are read back")]
    TooLong {
        /// Characters of the cursor.
        length: usize,
    },
    /// A page cannot be empty and have a successor.
    #[error("a page must have room for at least one row")]
    NoLimit,
}

/// Makes and reads cursors for rows with a sort key `K`.
#[derive(Clone)]
pub struct Keyset<K> {
    secret: [u8; 32],
    key: PhantomData<fn(K) -> K>,
}

impl<K> std::fmt::Debug for Keyset<K> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Keyset(..)")
    }
}

impl<K: Serialize + DeserializeOwned> Keyset<K> {
    /// Returns a keyset whose cursors are good until the process ends.
    ///
    /// # Errors
    ///
    /// Where the system gives no random bytes.
    pub fn ephemeral() -> Result<Self, getrandom::Error> {
        let mut secret = [0; 32];
        getrandom::fill(&mut secret)?;
        Ok(Self::with_secret(secret))
    }

    /// Returns a keyset whose cursors are good for everybody who has the same 32 random bytes.
    pub fn with_secret(secret: [u8; 32]) -> Self {
        Self { secret, key: PhantomData }
    }

    /// Returns the cursor behind a key.
    ///
    /// # Errors
    ///
    /// A key that cannot be written as JSON, or is too long.
    pub fn encode(&self, scope: &Scope, key: &K) -> Result<String, KeysetError> {
        let key = serde_json::to_vec(key).map_err(KeysetError::Key)?;
        let mut bytes = self.signature(scope, &key).to_vec();
        bytes.extend(key);
        let cursor = URL_SAFE_NO_PAD.encode(bytes);
        if cursor.len() > LONGEST {
            return Err(KeysetError::TooLong { length: cursor.len() });
        }
        Ok(cursor)
    }

    /// Returns the key in a cursor.
    ///
    /// # Errors
    ///
    /// Anything but a cursor that was made for this scope with this secret.
    pub fn decode(&self, scope: &Scope, cursor: &str) -> Result<K, InvalidCursor> {
        if cursor.len() > LONGEST {
            return Err(InvalidCursor);
        }
        let bytes = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| InvalidCursor)?;
        let (given, key) = bytes.split_at_checked(SIGNATURE).ok_or(InvalidCursor)?;
        // Every byte is compared, so that the time does not tell how many were right.
        let differing =
            self.signature(scope, key).iter().zip(given).fold(0, |sum, (one, two)| sum | (one ^ two));
        if differing != 0 {
            return Err(InvalidCursor);
        }
        serde_json::from_slice(key).map_err(|_| InvalidCursor)
    }

    fn signature(&self, scope: &Scope, key: &[u8]) -> [u8; SIGNATURE] {
        let mut hasher = blake3::Hasher::new_keyed(&self.secret);
        for part in [scope.0.as_slice(), key] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        let mut signature = [0; SIGNATURE];
        hasher.finalize_xof().fill(&mut signature);
        signature
    }

    /// Returns the page of rows that were fetched in the order of their keys, one more than `limit`.
    ///
    /// The row too many is dropped; that it was there says that there is more, and the cursor is the key of the last
    /// row that is kept.
    ///
    /// # Errors
    ///
    /// A limit of zero, or a key of which no cursor can be made.
    pub fn page<T>(
        &self,
        scope: &Scope,
        mut rows: Vec<T>,
        limit: usize,
        total: u64,
        key_of: impl FnOnce(&T) -> K,
    ) -> Result<Page<T>, KeysetError> {
        if limit == 0 {
            return Err(KeysetError::NoLimit);
        }
        let has_more = rows.len() > limit;
        rows.truncate(limit);
        let last = rows.last().filter(|_| has_more);
        let next_cursor = last.map(|row| self.encode(scope, &key_of(row))).transpose()?;
        Ok(Page { items: rows, total, next_cursor })
    }
}

#[cfg(test)]
mod tests;
