//! A cache of tokens that were recently verified, by their hash.
//!
//! An entry is used for at most half a minute, so that a change of the issuer's keys takes effect soon, and never after the
//! token has expired. There are at most [`MAX_TOKENS`] entries: a full cache drops expired ones, or all if none has expired.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tidegate_gateway::caller::Principal;

/// The maximum number of cached tokens.
const MAX_TOKENS: usize = 10_000;
/// How long a token is cached, in seconds.
const MAX_SECONDS: u64 = 30;

struct CachedToken {
    principal: Arc<Principal>,
    /// When the token was verified and when the entry expires, in seconds since 1970.
    from: u64,
    until: u64,
}

/// The cache, by the hash of token and resource.
#[derive(Default)]
pub(super) struct VerifiedTokens(Mutex<HashMap<[u8; 32], CachedToken>>);

fn hash(token: &str, resource: &str) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&(token.len() as u64).to_le_bytes());
    hasher.update(token.as_bytes());
    hasher.update(resource.as_bytes());
    *hasher.finalize().as_bytes()
}

impl VerifiedTokens {
    /// Returns the caller of a token that was verified for a resource.
    pub(super) fn get(&self, token: &str, resource: &str, now: u64) -> Option<Arc<Principal>> {
        let entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = entries.get(&hash(token, resource))?;
        (entry.from..entry.until).contains(&now).then(|| Arc::clone(&entry.principal))
    }

    /// Caches a verified token; `expires` is when the token expires.
    pub(super) fn put(
        &self,
        token: &str,
        resource: &str,
        expires: u64,
        now: u64,
        principal: &Arc<Principal>,
    ) {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.len() >= MAX_TOKENS {
            entries.retain(|_, entry| now < entry.until);
        }
        if entries.len() >= MAX_TOKENS {
            entries.clear();
        }
        let entry = CachedToken {
            principal: Arc::clone(principal),
            from: now,
            until: expires.min(now.saturating_add(MAX_SECONDS)),
        };
        entries.insert(hash(token, resource), entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_never_outlives_its_token() {
        let (tokens, caller) = (VerifiedTokens::default(), Arc::new(Principal::unauthenticated()));
        tokens.put("short", "r", 1005, 1000, &caller);
        tokens.put("long", "r", 9000, 1000, &caller);
        for (token, resource, now, is_known) in [
            ("short", "r", 1004, true),
            ("short", "r", 1005, false),
            ("short", "r", 999, false),
            ("short", "other", 1000, false),
            ("shor", "tr", 1000, false),
            ("long", "r", 1029, true),
            ("long", "r", 1030, false),
        ] {
            assert_eq!(tokens.get(token, resource, now).is_some(), is_known, "{token} {resource} {now}");
        }
        for number in 0..2 * MAX_TOKENS {
            tokens.put(&number.to_string(), "r", 9000, 2000, &caller);
        }
        assert!(tokens.0.lock().unwrap().len() <= MAX_TOKENS);
    }
}
