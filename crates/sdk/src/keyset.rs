//! Keyset pagination: the cursor is the signed sort key of the last row on the page.
//!
//! An offset cursor repeats or skips rows when rows are inserted or deleted between two pages. A keyset cursor does not,
//! provided the key is unique: `updatedAt` alone is not, `(updatedAt, slug)` is. The next page holds the rows that sort
//! after the key.
//!
//! The cursor is base64url of the signature followed by the key as JSON. The signature is a keyed hash over the
//! [`Scope`] and the key, so a client can neither forge a cursor nor use it with another tool or other filters. Every
//! invalid cursor gives the same error, which does not reveal the reason.

mod limits;

use std::marker::PhantomData;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use tidegate_core::Tokens;

use crate::page::{Page, PageRequest};
use limits::{PageCost, PageLimits};

const SIGNATURE_BYTES: usize = 16;
/// The maximum length of a cursor; a longer one is rejected without decoding.
const MAX_CURSOR_CHARS: usize = 4096;

/// Where a cursor is valid: one tool with one set of filters.
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

    /// Narrows the scope to one value of a filter argument.
    ///
    /// Leave out `limit`, `fields` and the cursor: they may change from page to page.
    #[must_use]
    pub fn with(self, argument: &str, value: &Value) -> Self {
        let mut value = value.clone();
        // The order of keys in an object does not matter.
        value.sort_all_objects();
        self.part(argument).part(&value.to_string())
    }

    /// Appends a part with its length, so that different lists of parts give different bytes.
    fn part(mut self, text: &str) -> Self {
        self.0.extend((text.len() as u64).to_le_bytes());
        self.0.extend(text.as_bytes());
        self
    }
}

/// The error for a text that is not a cursor for this scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "this is not a cursor for this list; pass nextCursor of the previous page unchanged and with the same filters, or omit it to start over"
)]
pub struct InvalidCursor;

/// Why a page or its cursor could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeysetError {
    /// The key does not serialize.
    #[error("the sort key does not serialize as JSON")]
    Key(#[source] serde_json::Error),
    /// The key is too long for a cursor.
    #[error("the sort key makes a cursor of {length} characters, but at most {MAX_CURSOR_CHARS} are allowed")]
    TooLong {
        /// Characters of the cursor.
        length: usize,
    },
    /// The limit is zero.
    #[error("the limit of a page must be at least 1")]
    NoLimit,
    /// A row does not serialize.
    #[error("a row does not serialize as JSON")]
    Row(#[source] serde_json::Error),
    /// The first row alone is above the token budget.
    #[error(
        "a page with one row has {tokens} tokens, but max_tokens is {max_tokens}; ask for fewer fields, or for more tokens"
    )]
    RowTooLarge {
        /// Tokens of the page with the first row alone.
        tokens: Tokens,
        /// The token budget that was asked for.
        max_tokens: Tokens,
    },
}

/// Encodes and decodes cursors for rows with a sort key `K`.
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
    /// Returns a keyset with a random secret; its cursors are valid until the process ends.
    ///
    /// # Errors
    ///
    /// Fails if the system provides no random bytes.
    pub fn ephemeral() -> Result<Self, getrandom::Error> {
        let mut secret = [0; 32];
        getrandom::fill(&mut secret)?;
        Ok(Self::with_secret(secret))
    }

    /// Returns a keyset with this secret, 32 random bytes; every process with the same secret accepts its cursors.
    pub fn with_secret(secret: [u8; 32]) -> Self {
        Self { secret, key: PhantomData }
    }

    /// Returns the cursor for a key.
    ///
    /// # Errors
    ///
    /// Fails if the key does not serialize as JSON or is too long.
    pub fn encode(&self, scope: &Scope, key: &K) -> Result<String, KeysetError> {
        let key = serde_json::to_vec(key).map_err(KeysetError::Key)?;
        let mut bytes = self.signature(scope, &key).to_vec();
        bytes.extend(key);
        let cursor = URL_SAFE_NO_PAD.encode(bytes);
        if cursor.len() > MAX_CURSOR_CHARS {
            return Err(KeysetError::TooLong { length: cursor.len() });
        }
        Ok(cursor)
    }

    /// Returns the key in a cursor.
    ///
    /// # Errors
    ///
    /// Fails on anything but a cursor encoded for this scope with this secret.
    pub fn decode(&self, scope: &Scope, cursor: &str) -> Result<K, InvalidCursor> {
        if cursor.len() > MAX_CURSOR_CHARS {
            return Err(InvalidCursor);
        }
        let bytes = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| InvalidCursor)?;
        let (given, key) = bytes.split_at_checked(SIGNATURE_BYTES).ok_or(InvalidCursor)?;
        // Constant time: comparing every byte does not leak how many were right.
        let differing =
            self.signature(scope, key).iter().zip(given).fold(0, |sum, (one, two)| sum | (one ^ two));
        if differing != 0 {
            return Err(InvalidCursor);
        }
        serde_json::from_slice(key).map_err(|_| InvalidCursor)
    }

    fn signature(&self, scope: &Scope, key: &[u8]) -> [u8; SIGNATURE_BYTES] {
        let mut hasher = blake3::Hasher::new_keyed(&self.secret);
        for part in [scope.0.as_slice(), key] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        let mut signature = [0; SIGNATURE_BYTES];
        hasher.finalize_xof().fill(&mut signature);
        signature
    }

    /// Returns a page of the fetched rows, with the cursor for the next page.
    ///
    /// Fetch `limit + 1` rows in key order. The extra row is dropped: it only shows that there is a next page, whose
    /// cursor is then the key of the last row kept.
    ///
    /// # Errors
    ///
    /// Fails if the limit is zero, or if no cursor can be made of the key.
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

    /// Returns the page with as many of the fetched rows as fit `limit` and `max_tokens` of a request.
    ///
    /// Fetch `limit + 1` rows in key order, as for [`Self::page`], and pass each as its key and what the page shows of it.
    /// The page as compact JSON, its cursor included, never has more than `max_tokens` tokens. The rows that did not fit
    /// are the first ones of the next page.
    ///
    /// In a tool of a wrapped server, the page also stays within what passes the gate for this tool and this client: by
    /// default 2,500 tokens and the client's byte limit. Return it as `Json(page)` or as text, and it is sent unchanged. A
    /// single row above that limit becomes a page of its own, which the gate replaces with an overview. On another thread,
    /// wrap the work with [`crate::within_call`], so that these limits are known there.
    ///
    /// ```
    /// use serde_json::json;
    /// use tidegate_sdk::{Keyset, PageRules, Scope};
    ///
    /// let (keyset, scope) = (Keyset::<u32>::with_secret([7; 32]), Scope::of_tool("list_articles"));
    /// let request = PageRules::default().read(&json!({"limit": 20, "max_tokens": 200}))?;
    /// let rows = (0..21).map(|id| (id, json!({"id": id, "title": "A title of a few words"})));
    /// let page = keyset.page_within(&scope, rows, &request, 300)?;
    /// assert!(page.items.len() < 20);
    /// let last = u32::try_from(page.items.len() - 1)?;
    /// assert_eq!(keyset.decode(&scope, &page.next_cursor.unwrap())?, last);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the limit is zero, if a row or a key does not serialize, or if the first row alone is above `max_tokens`.
    pub fn page_within<T: Serialize>(
        &self,
        scope: &Scope,
        rows: impl IntoIterator<Item = (K, T)>,
        request: &PageRequest,
        total: u64,
    ) -> Result<Page<T>, KeysetError> {
        if request.limit == 0 {
            return Err(KeysetError::NoLimit);
        }
        let limits = PageLimits::of_call(request.max_tokens);
        let (keys, mut rows): (Vec<K>, Vec<T>) = rows.into_iter().unzip();
        let mut count = affordable(&rows, request.limit, &limits)?;
        loop {
            let last = keys[..count].last().filter(|_| rows.len() > count);
            let next_cursor = last.map(|key| self.encode(scope, key)).transpose()?;
            let page = Page { items: rows[..count].iter().collect(), total, next_cursor };
            let cost = limits.cost(&page)?;
            if limits.allow(cost) && (count <= 1 || limits.let_pass(cost)) {
                let next_cursor = page.next_cursor;
                rows.truncate(count);
                return Ok(Page { items: rows, total, next_cursor });
            }
            if count <= 1 {
                return Err(KeysetError::RowTooLarge { tokens: cost.tokens, max_tokens: request.max_tokens });
            }
            count -= 1;
        }
    }
}

/// Returns how many rows, at least one, may fit into a page, by the cost of the rows alone.
fn affordable<T: Serialize>(rows: &[T], limit: usize, limits: &PageLimits) -> Result<usize, KeysetError> {
    let (mut used, mut count) = (PageCost::default(), 0);
    for row in rows.iter().take(limit) {
        used += limits.cost(row)?;
        if !limits.allow(used) || !limits.let_pass(used) {
            break;
        }
        count += 1;
    }
    Ok(count.max(1).min(rows.len()))
}

#[cfg(test)]
mod tests;
