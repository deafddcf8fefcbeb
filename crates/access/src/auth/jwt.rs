//! Tokens: what a JSON Web Token says, and whether it is valid for this gateway.
//!
//! There are three steps, and each needs the value that the one before returns, so none can be left out:
//! [`UnverifiedToken::read`] splits a token and reads its header; [`UnverifiedToken::verify`] checks the signature with the
//! keys of the issuer; [`VerifiedToken::check`] checks the claims. A header cannot supply a key or say where to fetch one:
//! `jku`, `x5u`, `jwk` and `x5c` are ignored. A header with a critical extension (`crit`) is refused.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value};

use super::jwk::{Algorithm, KeySet};
use super::strict_json;

/// The maximum size of a token.
pub const MAX_TOKEN_BYTES: usize = 16 * 1024;
/// The maximum size of a subject.
const MAX_SUBJECT_BYTES: usize = 255;
/// The values of `typ` that are accepted; a token of another type has another purpose, such as a logout.
const ACCEPTED_TYPES: [&str; 2] = ["jwt", "at+jwt"];

/// Why a token is refused. The messages reveal nothing that is not in the token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// It is too long.
    #[error("the token is longer than {MAX_TOKEN_BYTES} bytes")]
    TooLong,
    /// It is neither a key nor a JSON Web Token.
    #[error("the token is not valid")]
    Malformed,
    /// Its algorithm is not accepted.
    #[error("the token is signed with an algorithm that is not accepted")]
    Algorithm,
    /// Its header requires an extension that is not supported.
    #[error("the token requires an extension that is not supported")]
    Critical,
    /// It is a token for another purpose.
    #[error("the token is not an access token")]
    Type,
    /// Its issuer is not configured.
    #[error("the token is from an issuer that is not accepted")]
    Issuer,
    /// The issuer has no such key.
    #[error("the token is signed with a key that its issuer does not have")]
    UnknownKey,
    /// Its signature is wrong.
    #[error("the signature of the token is wrong")]
    Signature,
    /// It was issued for another resource.
    #[error("the token was issued for another resource")]
    Audience,
    /// It has expired.
    #[error("the token has expired")]
    Expired,
    /// It is not valid yet.
    #[error("the token is not valid yet")]
    NotYet,
    /// A claim is missing or of the wrong type.
    #[error("the token has no valid {0}")]
    Claim(&'static str),
    /// It is bound to a key whose possession the caller would have to prove.
    #[error("the token is bound to a key; only bearer tokens are accepted")]
    Bound,
}

/// A token whose signature was not checked.
#[derive(Debug)]
pub struct UnverifiedToken<'t> {
    algorithm: Algorithm,
    key: Option<String>,
    /// The signed bytes: header and claims.
    message: &'t [u8],
    claims: Map<String, Value>,
    signature: Vec<u8>,
}

impl<'t> UnverifiedToken<'t> {
    /// Reads a token.
    ///
    /// # Errors
    ///
    /// It is not a JSON Web Token, or one that is refused whatever its signature.
    pub fn read(token: &'t str) -> Result<Self, TokenError> {
        if token.len() > MAX_TOKEN_BYTES {
            return Err(TokenError::TooLong);
        }
        let mut parts = token.split('.');
        let (Some(header), Some(claims), Some(signature), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(TokenError::Malformed);
        };
        let message = &token.as_bytes()[..header.len() + 1 + claims.len()];
        let bytes = |part: &str| URL_SAFE_NO_PAD.decode(part).map_err(|_| TokenError::Malformed);
        let object = |part: &str| strict_json::object(&bytes(part)?).ok_or(TokenError::Malformed);
        let header = object(header)?;
        let (algorithm, key) = read_header(&header)?;
        Ok(Self { algorithm, key, message, claims: object(claims)?, signature: bytes(signature)? })
    }

    /// Returns its issuer, which is not verified yet.
    pub fn issuer(&self) -> Option<&str> {
        self.claims.get("iss")?.as_str()
    }

    /// Checks the signature.
    ///
    /// # Errors
    ///
    /// The algorithm is not accepted, the issuer has no such key, or the signature is wrong.
    pub fn verify(&self, keys: &KeySet, accepted: &[Algorithm]) -> Result<VerifiedToken<'_>, TokenError> {
        if !accepted.contains(&self.algorithm) {
            return Err(TokenError::Algorithm);
        }
        let candidates = keys.candidates(self.key.as_deref(), self.algorithm);
        if candidates.is_empty() {
            return Err(TokenError::UnknownKey);
        }
        let is_valid =
            candidates.iter().any(|key| key.verifies(self.algorithm, self.message, &self.signature));
        is_valid.then_some(VerifiedToken { claims: &self.claims }).ok_or(TokenError::Signature)
    }
}

/// Returns the algorithm and the id of the key that a header names.
fn read_header(header: &Map<String, Value>) -> Result<(Algorithm, Option<String>), TokenError> {
    let text = |name: &str| match header.get(name) {
        None => Ok(None),
        Some(value) => value.as_str().map(Some).ok_or(TokenError::Malformed),
    };
    let algorithm = text("alg")?.and_then(Algorithm::named).ok_or(TokenError::Algorithm)?;
    // `b64` changes which bytes are signed; RFC 7797 requires `crit` to list it.
    if header.contains_key("crit") || header.contains_key("b64") {
        return Err(TokenError::Critical);
    }
    if let Some(kind) = text("typ")? {
        let kind = kind.to_ascii_lowercase();
        if !ACCEPTED_TYPES.contains(&kind.strip_prefix("application/").unwrap_or(&kind)) {
            return Err(TokenError::Type);
        }
    }
    // Encrypted, compressed and nested tokens are not supported.
    if header.contains_key("enc") || header.contains_key("zip") || text("cty")?.is_some() {
        return Err(TokenError::Malformed);
    }
    Ok((algorithm, text("kid")?.map(str::to_owned)))
}

/// What a token must claim.
#[derive(Debug, Clone, Copy)]
pub struct Expected<'e> {
    /// The issuer, exactly.
    pub issuer: &'e str,
    /// The audience, which must be one of its audiences.
    pub audience: &'e str,
    /// The time, in seconds since 1970.
    pub now: u64,
    /// How far the clock of the issuer may be off, in seconds.
    pub leeway: u64,
}

/// A token that its issuer signed.
#[derive(Debug)]
pub struct VerifiedToken<'t> {
    claims: &'t Map<String, Value>,
}

impl<'t> VerifiedToken<'t> {
    /// Checks issuer, audience, times and subject.
    ///
    /// # Errors
    ///
    /// A claim is missing, of the wrong type, or not as expected.
    pub fn check(&self, expected: &Expected<'_>) -> Result<ValidToken<'t>, TokenError> {
        if self.text("iss")? != Some(expected.issuer) {
            return Err(TokenError::Issuer);
        }
        let audiences = texts(self.claims.get("aud")).ok_or(TokenError::Claim("aud"))?;
        if !audiences.contains(&expected.audience) {
            return Err(TokenError::Audience);
        }
        let expires = self.time("exp")?.ok_or(TokenError::Claim("exp"))?;
        let (now, leeway) = (expected.now as f64, expected.leeway as f64);
        if now >= expires + leeway {
            return Err(TokenError::Expired);
        }
        if self.time("nbf")?.is_some_and(|from| now + leeway < from) {
            return Err(TokenError::NotYet);
        }
        self.time("iat")?;
        if self.claims.contains_key("cnf") {
            return Err(TokenError::Bound);
        }
        let is_name = |subject: &&str| {
            !subject.trim().is_empty()
                && subject.len() <= MAX_SUBJECT_BYTES
                && !subject.chars().any(char::is_control)
        };
        let subject = self.text("sub")?.filter(is_name).ok_or(TokenError::Claim("sub"))?;
        Ok(ValidToken { subject, claims: self.claims, expires: expires as u64 })
    }

    fn text(&self, name: &'static str) -> Result<Option<&'t str>, TokenError> {
        match self.claims.get(name) {
            None => Ok(None),
            Some(value) => value.as_str().map(Some).ok_or(TokenError::Claim(name)),
        }
    }

    /// Returns a time in seconds since 1970, which may have a fraction.
    fn time(&self, name: &'static str) -> Result<Option<f64>, TokenError> {
        match self.claims.get(name) {
            None => Ok(None),
            Some(value) => {
                value.as_f64().filter(|time| *time >= 0.0).map(Some).ok_or(TokenError::Claim(name))
            }
        }
    }
}

/// A token that is valid for this gateway.
#[derive(Debug, Clone, Copy)]
pub struct ValidToken<'t> {
    /// Whom it was issued for.
    pub subject: &'t str,
    /// When it expires, in seconds since 1970.
    pub expires: u64,
    claims: &'t Map<String, Value>,
}

impl ValidToken<'_> {
    /// Returns the scopes: `scope` separated by spaces, or `scp` in either form.
    pub fn scopes(&self) -> Vec<&str> {
        let claim = self.claims.get("scope").or_else(|| self.claims.get("scp"));
        let texts = texts(claim).unwrap_or_default();
        texts.into_iter().flat_map(str::split_ascii_whitespace).collect()
    }

    /// Returns the groups in a claim, whose name may be a path such as `realm_access.roles`.
    pub fn groups(&self, claim: &str) -> Vec<&str> {
        let found = self.claims.get(claim).or_else(|| {
            let (first, rest) = claim.split_once('.')?;
            let inner = self.claims.get(first)?;
            rest.split('.').try_fold(inner, |value, name| value.get(name))
        });
        texts(found).unwrap_or_default()
    }
}

/// Reads a string or a list of strings.
fn texts(value: Option<&Value>) -> Option<Vec<&str>> {
    match value? {
        Value::String(text) => Some(vec![text]),
        Value::Array(list) => list.iter().map(Value::as_str).collect(),
        _ => None,
    }
}
