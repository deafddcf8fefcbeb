//! Who is calling: the interface between the gateway and the code that authenticates its callers.
//!
//! The gateway asks [`Authenticate`] before it reads the body of a request. It gets a [`Principal`], which says whose
//! results the caller can read and which servers and tools it may use, or a [`Challenge`], which is the response that
//! refuses the request. Without authentication ([`Unauthenticated`]) each session is a caller of its own, never the user who
//! runs the gateway.

use std::collections::BTreeSet;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use hyper::StatusCode;
use hyper::header::HeaderMap;
use tidegate_gate::CallerId;
use tidegate_gate::tier::Tier;

use crate::limits::Limits;

/// The future that [`Authenticate::authenticate`] returns.
pub type Authenticating<'a> = Pin<Box<dyn Future<Output = Result<Arc<Principal>, Challenge>> + Send + 'a>>;

/// Finds out who sends a request.
pub trait Authenticate: Send + Sync {
    /// Returns who sends a request with these headers to this resource, the URL that the client called, such as
    /// `https://gateway.example/mcp`.
    fn authenticate<'a>(&'a self, headers: &'a HeaderMap, resource: &'a str) -> Authenticating<'a>;

    /// Refuses a request that carries a credential in its URL, which would end up in logs; `None` accepts it.
    fn refuse_address(&self, query: Option<&str>, resource: &str) -> Option<Challenge> {
        let _ = (query, resource);
        None
    }

    /// Returns whether a request without credentials is refused. Only then does the gateway listen on an address that
    /// other machines can reach.
    fn is_required(&self) -> bool;

    /// Returns the JSON document at a path that needs no credentials, such as `/.well-known/oauth-protected-resource`;
    /// `None` if there is none. `resource` is the URL of the gateway as the client calls it.
    fn document(&self, path: &str, resource: &str) -> Option<Vec<u8>> {
        let _ = (path, resource);
        None
    }

    /// Returns the response to a verified caller that lacks the scopes for a tool: `insufficient_scope` with all scopes that
    /// the tool requires, where `needed` is its tier. `None` if no scope would allow it.
    fn step_up(
        &self,
        principal: &Principal,
        use_of: Use<'_>,
        needed: Tier,
        resource: &str,
    ) -> Option<Challenge> {
        let _ = (principal, use_of, needed, resource);
        None
    }
}

/// What a caller wants to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Use<'u> {
    /// The name of the server, as in `[upstream.NAME]`.
    pub server: &'u str,
    /// The tool or prompt, by the name that its server gave it; `None` for anything else of the server, such as resources.
    pub tool: Option<&'u str>,
}

/// A caller that the gateway serves.
pub struct Principal {
    /// The name of the owner of its results, such as issuer and subject; `None` for an unauthenticated caller, whose
    /// session is the owner.
    pub owner: Option<CallerId>,
    /// What it may call and read.
    pub tier: Tier,
    /// Its groups or scopes, for the audit log.
    pub groups: BTreeSet<String>,
    /// What it may consume.
    pub limits: Limits,
    /// Which servers and tools it may use.
    permission: UseRule,
    /// The tier for each use; `None` if it is always `tier`.
    tiers: Option<Tiers>,
}

/// Returns the tier with which a caller uses something.
type Tiers = Box<dyn Fn(Use<'_>) -> Tier + Send + Sync>;

/// Decides which servers and tools a caller may use.
type UseRule = Box<dyn Fn(Use<'_>) -> bool + Send + Sync>;

impl Principal {
    /// Returns a verified caller; `may` says what it may use.
    pub fn verified(
        owner: CallerId,
        tier: Tier,
        groups: BTreeSet<String>,
        may: impl Fn(Use<'_>) -> bool + Send + Sync + 'static,
    ) -> Self {
        let (limits, permission) = (Limits::default(), Box::new(may));
        Self { owner: Some(owner), tier, groups, limits, permission, tiers: None }
    }

    /// Limits what the caller may consume.
    #[must_use]
    pub fn limited(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Makes the tier of the caller depend on what it uses.
    #[must_use]
    pub fn with_tiers(self, tiers: impl Fn(Use<'_>) -> Tier + Send + Sync + 'static) -> Self {
        Self { tiers: Some(Box::new(tiers)), ..self }
    }

    /// Returns a caller that was not authenticated; it may use everything.
    pub fn unauthenticated() -> Self {
        Self {
            owner: None,
            tier: Tier::Admin,
            groups: BTreeSet::new(),
            limits: Limits::default(),
            permission: Box::new(|_| true),
            tiers: None,
        }
    }

    /// Returns whether the caller may use a server or one of its tools.
    pub fn may(&self, use_of: Use<'_>) -> bool {
        (self.permission)(use_of)
    }

    /// Returns the tier with which the caller uses something.
    pub fn tier_for(&self, use_of: Use<'_>) -> Tier {
        self.tiers.as_ref().map_or(self.tier, |tiers| tiers(use_of))
    }

    /// Returns the name of the owner of its results; empty for an unauthenticated caller.
    pub fn name(&self) -> &str {
        self.owner.as_ref().map_or("", CallerId::as_str)
    }
}

impl fmt::Debug for Principal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("Principal");
        shown.field("owner", &self.owner).field("tier", &self.tier).field("groups", &self.groups);
        shown.finish_non_exhaustive()
    }
}

/// The refusal of a request, as the parts of an HTTP response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Challenge {
    /// 400, 401 or 403; 429 or 503 if the caller should try again later.
    pub status: StatusCode,
    /// The value of `WWW-Authenticate`.
    pub www_authenticate: Option<String>,
    /// Seconds after which the client may try again.
    pub retry_after: Option<u64>,
    /// Tells the client what is wrong and what to do.
    pub message: String,
}

/// No authentication: every session is a caller of its own.
#[derive(Debug, Default)]
pub struct Unauthenticated {
    principal: std::sync::OnceLock<Arc<Principal>>,
}

impl Authenticate for Unauthenticated {
    fn authenticate<'a>(&'a self, _: &'a HeaderMap, _: &'a str) -> Authenticating<'a> {
        let principal = self.principal.get_or_init(|| Arc::new(Principal::unauthenticated()));
        Box::pin(std::future::ready(Ok(Arc::clone(principal))))
    }

    fn is_required(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verified_caller_may_use_only_what_its_permission_allows() {
        let owner = CallerId::new("https://issuer.example ada").unwrap();
        let may = |use_of: Use<'_>| use_of.server == "github" && use_of.tool != Some("delete_repo");
        let ada = Principal::verified(owner, Tier::Read, BTreeSet::new(), may);
        assert!(ada.may(Use { server: "github", tool: Some("list_issues") }));
        assert!(!ada.may(Use { server: "github", tool: Some("delete_repo") }));
        assert!(!ada.may(Use { server: "payroll", tool: None }));
        assert_eq!(ada.name(), "https://issuer.example ada");
        assert_eq!(Principal::unauthenticated().name(), "");
    }
}
