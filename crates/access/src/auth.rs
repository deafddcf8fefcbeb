//! Who is calling: authenticates callers by configured keys and by tokens of configured issuers, and says what they may use.
//!
//! ```text
//! Authorization ──▶ bearer ──▶ key?   ──▶ keys of the configuration ──▶ identity ──▶ roles ──▶ principal
//!                      │   └─▶ token? ──▶ issuer: signature, claims ──▶ identity ──┘
//!                      └─▶ 400 or 401 with WWW-Authenticate, which names the metadata of the gateway
//! ```
//!
//! A token must be issued for this gateway: its audience must be the URL of the gateway, or the audience configured for its
//! issuer. It is never forwarded, because the gateway has its own credential for each server. Valid tokens are cached by
//! their hash for a short time, so that a caller's next requests need no signature check.

pub mod bearer;
pub mod issuer;
pub mod jwk;
pub mod jwt;
pub mod key;
pub mod metadata;
pub mod role;
mod strict_json;
mod verified;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use hyper::StatusCode;
use hyper::header::HeaderMap;
use tidegate_gate::CallerId;
use tidegate_gate::tier::Tier;
use tidegate_store::Clock;

use self::bearer::{BadRequest, Refused, challenge};
use self::issuer::{Issuer, Refusal, Unavailable};
use self::jwt::{Expected, TokenError, UnverifiedToken};
use self::key::{KEY_PREFIX, KeyHash, Keys};
use self::role::{Identity, Roles};
use self::verified::VerifiedTokens;
use tidegate_gateway::caller::{Authenticate, Authenticating, Challenge, Principal, Use};

/// A caller with a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyCaller {
    /// Its name in the configuration.
    pub name: String,
    /// The hash of its key.
    pub hash: KeyHash,
    /// Its groups.
    pub groups: Vec<String>,
}

/// Authenticates callers by keys and tokens.
pub struct Authentication {
    keys: Keys<Arc<Principal>>,
    issuers: HashMap<String, Arc<Issuer>>,
    /// The names of the issuers, in the order of the configuration.
    issuer_names: Vec<String>,
    roles: Roles,
    scopes: Vec<String>,
    resource: Option<String>,
    clock: Arc<dyn Clock>,
    verified: VerifiedTokens,
}

/// Why a caller is not authenticated.
enum Denied {
    NoToken,
    Invalid(TokenError),
    Unavailable(Unavailable),
}

impl Authentication {
    /// Returns an authenticator for these callers. `resource` is the configured URL of the gateway; without one, every issuer needs
    /// an audience, and the metadata names the URL that each request was sent to.
    pub fn new(
        keys: Vec<KeyCaller>,
        issuers: Vec<Arc<Issuer>>,
        roles: Roles,
        resource: Option<String>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let issuer_names: Vec<String> =
            issuers.iter().map(|issuer| issuer.settings().issuer.clone()).collect();
        let keys = keys.into_iter().filter_map(|key| {
            let identity = Identity {
                owner: format!("key:{}", key.name),
                groups: key.groups.into_iter().collect(),
                scopes: BTreeSet::new(),
            };
            Some((key.hash, Arc::new(principal(&roles, identity)?)))
        });
        Self {
            keys: Keys::new(keys.collect()),
            issuers: issuer_names.iter().cloned().zip(issuers).collect(),
            issuer_names,
            scopes: roles.scopes(),
            roles,
            resource,
            clock,
            verified: VerifiedTokens::default(),
        }
    }

    fn resource<'r>(&'r self, called: &'r str) -> &'r str {
        self.resource.as_deref().unwrap_or(called)
    }

    /// Returns the response to a refused request.
    fn refusal(&self, refused: Refused<'_>, called: &str) -> Challenge {
        let metadata = (!self.issuers.is_empty()).then(|| metadata::address(self.resource(called)));
        challenge(refused, metadata, &self.scopes)
    }

    async fn principal(&self, token: Option<&str>, resource: &str) -> Result<Arc<Principal>, Denied> {
        let token = token.ok_or(Denied::NoToken)?;
        if token.starts_with(KEY_PREFIX) {
            return self.keys.find(token).map(Arc::clone).ok_or(Denied::Invalid(TokenError::Malformed));
        }
        let now = u64::try_from(self.clock.now().0 / 1000).unwrap_or_default();
        if let Some(principal) = self.verified.get(token, resource, now) {
            return Ok(principal);
        }
        let read = UnverifiedToken::read(token).map_err(Denied::Invalid)?;
        let issuer = read.issuer().and_then(|name| self.issuers.get(name));
        let issuer = issuer.ok_or(Denied::Invalid(TokenError::Issuer))?;
        let settings = issuer.settings();
        let verified = issuer.verify(&read).await.map_err(|refusal| match refusal {
            Refusal::Token(error) => Denied::Invalid(error),
            Refusal::Unavailable(unavailable) => Denied::Unavailable(unavailable),
        })?;
        // Not the address that the client says it called: with it, a token for another service could pass.
        let audience = settings.audience.as_deref().or(self.resource.as_deref());
        let audience = audience.ok_or(Denied::Invalid(TokenError::Audience))?;
        let expected = Expected { issuer: &settings.issuer, audience, now, leeway: settings.leeway_seconds };
        let valid = verified.check(&expected).map_err(Denied::Invalid)?;
        let owned = |texts: Vec<&str>| texts.into_iter().map(str::to_owned).collect();
        let identity = Identity {
            // An issuer contains no space, so no other issuer and subject give the same name.
            owner: format!("{} {}", settings.issuer, valid.subject),
            groups: owned(valid.groups(&settings.groups_claim)),
            scopes: owned(valid.scopes()),
        };
        let principal = principal(&self.roles, identity).ok_or(Denied::Invalid(TokenError::Claim("sub")))?;
        let principal = Arc::new(principal);
        self.verified.put(token, resource, valid.expires + settings.leeway_seconds, now, &principal);
        Ok(principal)
    }
}

/// Returns the caller with what its roles allow.
fn principal(roles: &Roles, identity: Identity) -> Option<Principal> {
    let granted = roles.granted(&identity);
    let owner = CallerId::new(identity.owner)?;
    let names = identity.groups.into_iter().chain(identity.scopes).collect();
    let (tiers, limits, tier) = (granted.clone(), granted.limits(), granted.tier());
    let principal = Principal::verified(owner, tier, names, move |use_of| granted.allows(use_of));
    Some(principal.limited(limits).with_tiers(move |use_of| tiers.tier_for(use_of)))
}

impl Authenticate for Authentication {
    fn authenticate<'a>(&'a self, headers: &'a HeaderMap, resource: &'a str) -> Authenticating<'a> {
        Box::pin(async move {
            let token = bearer::token(headers);
            let token = token.map_err(|bad| self.refusal(Refused::BadRequest(bad), resource))?;
            let found = self.principal(token, self.resource(resource)).await;
            found.map_err(|denied| match denied {
                Denied::NoToken => self.refusal(Refused::NoToken, resource),
                Denied::Invalid(error) => self.refusal(Refused::InvalidToken(&error.to_string()), resource),
                Denied::Unavailable(Unavailable { retry_after }) => Challenge {
                    status: StatusCode::SERVICE_UNAVAILABLE,
                    www_authenticate: None,
                    retry_after: Some(retry_after),
                    message:
                        "the issuer of the token cannot be reached, so the token cannot be checked; try \
                              again later"
                            .into(),
                },
            })
        })
    }

    fn refuse_address(&self, query: Option<&str>, resource: &str) -> Option<Challenge> {
        let refused = Refused::BadRequest(BadRequest::InAddress);
        bearer::is_in_query(query).then(|| self.refusal(refused, resource))
    }

    fn is_required(&self) -> bool {
        true
    }

    fn document(&self, path: &str, resource: &str) -> Option<Vec<u8>> {
        let issuers: Vec<&str> = self.issuer_names.iter().map(String::as_str).collect();
        // MCP requires the metadata to name an issuer.
        (!issuers.is_empty()).then_some(())?;
        metadata::document(path, self.resource(resource), &issuers, &self.scopes)
    }

    fn step_up(
        &self,
        principal: &Principal,
        use_of: Use<'_>,
        needed: Tier,
        resource: &str,
    ) -> Option<Challenge> {
        // A caller with a key has no token for which it could get more scopes.
        let is_key = principal.name().starts_with("key:");
        let scopes = self.roles.scopes_for(use_of, needed, &principal.groups).filter(|_| !is_key)?;
        Some(self.refusal(Refused::InsufficientScope(&scopes), resource))
    }
}
