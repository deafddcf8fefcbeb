//! Tokens that were found valid a moment ago, by their hash.
//!
//! An entry is used for half a minute and never after the token has expired, so that a change of keys or roles is seen soon.
//! There are at most [`MAX_TOKENS`]; when they are full, the old ones go.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tidegate_gateway::caller::Principal;

/// The most tokens that are remembered.
const MAX_TOKENS: usize = 10_000;
/// How long a token is remembered, in seconds.
const MAX_SECONDS: u64 = 30;

struct Entry {
    principal: Arc<Principal>,
    /// When the token was checked, and until when the entry holds, in seconds since 1970.
    from: u64,
    until: u64,
}

/// The tokens.
#[derive(Default)]
pub(super) struct VerifiedTokens(Mutex<HashMap<[u8; 32], Entry>>);

fn hash(token: &str, resource: &str) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&(token.len() as u64).to_le_bytes());
    hasher.update(token.as_bytes());
    hasher.update(resource.as_bytes());
    *hasher.finalize().as_bytes()
}

impl VerifiedTokens {
    /// Returns the caller of a token that was found valid for a resource.
    pub(super) fn get(&self, token: &str, resource: &str, now: u64) -> Option<Arc<Principal>> {
        let entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = entries.get(&hash(token, resource))?;
        (entry.from..entry.until).contains(&now).then(|| Arc::clone(&entry.principal))
    }

    /// Remembers a valid token, which expires at a time.
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
        let entry = Entry {
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
