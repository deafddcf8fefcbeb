//! The bearer token of a request, and the responses that ask for one (RFC 6750, RFC 9728).
//!
//! A token is read only from `Authorization`. A request with two such headers is refused, because a proxy in front of the
//! gateway may read a different one. Every refusal names the metadata of the gateway, where a client finds the issuers.

use hyper::StatusCode;
use hyper::header::{AUTHORIZATION, HeaderMap};

use tidegate_gateway::caller::Challenge;

/// Why the token of a request cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadRequest {
    /// There are several `Authorization` headers.
    #[error("send one Authorization header")]
    SeveralHeaders,
    /// The header is not text, or has no token.
    #[error("the Authorization header is malformed; send Authorization: Bearer TOKEN")]
    Malformed,
    /// The token is in the URL, which ends up in logs.
    #[error("the token is in the address of the request; send it in the Authorization header")]
    InAddress,
}

/// Returns the bearer token of a request; `None` if there is none.
///
/// # Errors
///
/// There are several headers, or the header is malformed.
pub fn token(headers: &HeaderMap) -> Result<Option<&str>, BadRequest> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(BadRequest::SeveralHeaders);
    }
    let value = value.to_str().map_err(|_| BadRequest::Malformed)?;
    let (scheme, token) = value.split_once(' ').unwrap_or((value, ""));
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Ok(None);
    }
    let token = token.trim_matches(' ');
    // The characters that RFC 6750 allows.
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte);
    match !token.is_empty() && token.bytes().all(is_token) {
        true => Ok(Some(token)),
        false => Err(BadRequest::Malformed),
    }
}

/// Returns whether the query of a URL carries a token.
pub fn is_in_query(query: Option<&str>) -> bool {
    let names = query.into_iter().flat_map(|query| query.split('&'));
    names.map(|pair| pair.split('=').next().unwrap_or_default()).any(|name| name == "access_token")
}

/// Why a request is refused, for [`challenge`].
#[derive(Debug, Clone, Copy)]
pub enum Refused<'r> {
    /// It carries no token.
    NoToken,
    /// It is malformed.
    BadRequest(BadRequest),
    /// Its token is not valid.
    InvalidToken(&'r str),
    /// Its token lacks scopes. These are all the scopes that it needs.
    InsufficientScope(&'r [&'r str]),
}

/// Returns the response to a refused request. `scopes` are those that a client should ask for at first; `metadata` is the URL
/// of the metadata that names the issuers, if there are any.
pub fn challenge(refused: Refused<'_>, metadata: Option<String>, scopes: &[String]) -> Challenge {
    let (status, error, message) = match refused {
        Refused::NoToken => (StatusCode::UNAUTHORIZED, None, "send Authorization: Bearer TOKEN".to_owned()),
        Refused::BadRequest(bad) => (StatusCode::BAD_REQUEST, Some("invalid_request"), bad.to_string()),
        Refused::InvalidToken(why) => {
            (StatusCode::UNAUTHORIZED, Some("invalid_token"), format!("{why}; get a new one"))
        }
        Refused::InsufficientScope(needed) => {
            let message = format!("the token needs the scopes {}", needed.join(" "));
            (StatusCode::FORBIDDEN, Some("insufficient_scope"), message)
        }
    };
    let needed = match refused {
        Refused::InsufficientScope(needed) => needed.join(" "),
        Refused::BadRequest(_) => String::new(),
        _ => scopes.join(" "),
    };
    let mut fields = Vec::new();
    if let Some(error) = error {
        fields.push(("error", error.to_owned()));
        fields.push(("error_description", message.clone()));
    }
    if !needed.is_empty() {
        fields.push(("scope", needed));
    }
    fields.extend(metadata.map(|metadata| ("resource_metadata", metadata)));
    let fields: Vec<String> =
        fields.into_iter().map(|(name, value)| format!("{name}=\"{}\"", quoted(&value))).collect();
    Challenge {
        status,
        www_authenticate: Some(format!("Bearer {}", fields.join(", ")).trim_end().to_owned()),
        retry_after: None,
        message,
    }
}

/// Replaces the characters that a quoted string in a header may not contain.
fn quoted(text: &str) -> String {
    text.chars()
        .map(
            |character| {
                if matches!(character, ' '..='~') && !"\"\\".contains(character) { character } else { '\'' }
            },
        )
        .collect()
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    fn headers(values: &[&[u8]]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(AUTHORIZATION, HeaderValue::from_bytes(value).unwrap());
        }
        headers
    }

    #[test]
    fn a_token_is_read_from_exactly_one_header() {
        for (values, found) in [
            (&[][..], Ok(None)),
            (&[&b"Bearer abc.def_-~+/="[..]], Ok(Some("abc.def_-~+/="))),
            (&[b"bearer  abc "], Ok(Some("abc"))),
            (&[b"Basic YTpi"], Ok(None)),
            (&[b""], Ok(None)),
            (&[b"Bearer"], Err(BadRequest::Malformed)),
            (&[b"Bearer "], Err(BadRequest::Malformed)),
            (&[b"Bearer a b"], Err(BadRequest::Malformed)),
            (&[b"Bearer a,Bearer b"], Err(BadRequest::Malformed)),
            (&[b"Bearer a\"b"], Err(BadRequest::Malformed)),
            (&[b"Bearer \xff"], Err(BadRequest::Malformed)),
            (&[b"Bearer a", b"Bearer a"], Err(BadRequest::SeveralHeaders)),
            (&[b"Bearer a", b"Basic b"], Err(BadRequest::SeveralHeaders)),
        ] {
            assert_eq!(token(&headers(values)), found, "{values:?}");
        }
    }

    #[test]
    fn a_token_in_the_query_is_found() {
        for (query, is_in) in [
            (None, false),
            (Some(""), false),
            (Some("access_tokens=1&x=access_token"), false),
            (Some("access_token=abc"), true),
            (Some("a=1&access_token"), true),
        ] {
            assert_eq!(is_in_query(query), is_in, "{query:?}");
        }
    }

    #[test]
    fn challenges_follow_rfc_6750_and_rfc_9728() {
        let metadata = "https://gateway.example/.well-known/oauth-protected-resource/mcp";
        let scopes = ["mcp:read".to_owned(), "mcp:list".to_owned()];
        let of = |refused| challenge(refused, Some(metadata.to_owned()), &scopes);
        for (refused, status, header) in [
            (Refused::NoToken, 401, "Bearer scope=\"mcp:read mcp:list\", ".to_owned()),
            (
                Refused::InvalidToken("the token has expired"),
                401,
                "Bearer error=\"invalid_token\", error_description=\"the token has expired; get a new one\", \
                 scope=\"mcp:read mcp:list\", "
                    .to_owned(),
            ),
            (
                Refused::BadRequest(BadRequest::SeveralHeaders),
                400,
                "Bearer error=\"invalid_request\", error_description=\"send one Authorization header\", ".to_owned(),
            ),
            (
                Refused::InsufficientScope(&["mcp:read", "mcp:write"]),
                403,
                "Bearer error=\"insufficient_scope\", error_description=\"the token needs the scopes mcp:read \
                 mcp:write\", scope=\"mcp:read mcp:write\", "
                    .to_owned(),
            ),
        ] {
            let challenge = of(refused);
            assert_eq!(challenge.status.as_u16(), status);
            assert_eq!(challenge.www_authenticate, Some(format!("{header}resource_metadata=\"{metadata}\"")));
        }
        assert_eq!(challenge(Refused::NoToken, None, &[]).www_authenticate.as_deref(), Some("Bearer"));
        assert_eq!(quoted("a\"b\\c\r\nd\u{e9}"), "a'b'c''d'");
    }
}
