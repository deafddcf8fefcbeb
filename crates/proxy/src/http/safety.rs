//! Who may send requests over HTTP.
//!
//! A page in the user's browser can send requests to this machine. By a name that resolves to it (DNS rebinding), so `Host`
//! must be exactly a name of this listener; by its address, so `Origin`, which browsers always send, must be an allowed
//! one. An address that other machines can reach needs a bearer token.

use std::net::SocketAddr;

use hyper::header::{AUTHORIZATION, HOST, HeaderMap, HeaderName, ORIGIN};
use hyper::http::uri::{Authority, Scheme};
use hyper::{StatusCode, Uri};

/// Who may send requests.
#[derive(Debug, Clone, Default)]
pub struct Safety {
    /// Values of `Host` that are allowed besides those of the loopback address.
    pub hosts: Vec<String>,
    /// Values of `Origin` that are allowed besides those of the loopback address.
    pub origins: Vec<String>,
    /// The bearer token that clients must send.
    pub token: Option<String>,
    /// Whether clients use TLS, so that their origin begins with `https`.
    pub https: bool,
}

/// The response to a request that is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Denied {
    pub(super) status: StatusCode,
    pub(super) message: &'static str,
}

const HOST_REFUSED: Denied = Denied {
    status: StatusCode::FORBIDDEN,
    message: "this Host is not allowed; use the address tidegate listens on, or --allow-host",
};
const ORIGIN_REFUSED: Denied =
    Denied { status: StatusCode::FORBIDDEN, message: "this Origin is not allowed; see --allow-origin" };
const TOKEN_REFUSED: Denied = Denied {
    status: StatusCode::UNAUTHORIZED,
    message: "the bearer token is missing or wrong; send Authorization: Bearer TOKEN",
};

/// The checks of every request.
#[derive(Debug, Clone)]
pub(super) struct Checks {
    hosts: Vec<String>,
    origins: Vec<String>,
    token: Option<String>,
    scheme: Scheme,
}

impl Checks {
    /// Returns the checks for a bound address.
    pub(super) fn new(safety: &Safety, bound: SocketAddr) -> Self {
        let port = bound.port();
        let mut names = vec!["127.0.0.1".to_owned(), "localhost".to_owned(), "[::1]".to_owned()];
        let own = if bound.is_ipv6() { format!("[{}]", bound.ip()) } else { bound.ip().to_string() };
        if !bound.ip().is_unspecified() && !names.contains(&own) {
            names.push(own);
        }
        let scheme = if safety.https { Scheme::HTTPS } else { Scheme::HTTP };
        let with_port = |name: &String| format!("{name}:{port}");
        let mut hosts: Vec<String> = names.iter().map(with_port).collect();
        if port == if safety.https { 443 } else { 80 } {
            hosts.extend(names);
        }
        let mut origins: Vec<String> = hosts.iter().map(|host| format!("{scheme}://{host}")).collect();
        hosts.extend(safety.hosts.iter().map(|host| host.to_ascii_lowercase()));
        origins.extend(safety.origins.iter().map(|origin| origin.to_ascii_lowercase()));
        Self { hosts, origins, token: safety.token.clone(), scheme }
    }

    /// Checks a request by its target and headers alone, so a refusal tells nothing about what it asks for.
    pub(super) fn check(&self, target: &Uri, headers: &HeaderMap) -> Result<(), Denied> {
        match single_value(headers, &HOST) {
            Some(Some(host)) if self.hosts.contains(&host) => {}
            _ => return Err(HOST_REFUSED),
        }
        // A target that is a whole URL names the host too, and counts more than the header.
        let is_ours = |host: &Authority| self.hosts.contains(&host.as_str().to_ascii_lowercase());
        let other_scheme = target.scheme().is_some_and(|scheme| *scheme != self.scheme);
        if other_scheme || target.authority().is_some_and(|host| !is_ours(host)) {
            return Err(HOST_REFUSED);
        }
        match single_value(headers, &ORIGIN) {
            None => {}
            Some(Some(origin)) if self.origins.contains(&origin) => {}
            Some(_) => return Err(ORIGIN_REFUSED),
        }
        match &self.token {
            Some(token) if !has_token(headers, token) => Err(TOKEN_REFUSED),
            _ => Ok(()),
        }
    }
}

fn has_token(headers: &HeaderMap, token: &str) -> bool {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return false };
    let bytes = value.as_bytes();
    let (scheme, given) = bytes.split_at_checked(7).unwrap_or((b"", bytes));
    scheme.eq_ignore_ascii_case(b"bearer ") && constant_time_eq(given.trim_ascii(), token.as_bytes())
}

/// Returns the value of a header in lower case: `None` without one, `Some(None)` if there are several or it is not text.
fn single_value(headers: &HeaderMap, name: &HeaderName) -> Option<Option<String>> {
    let mut values = headers.get_all(name).iter();
    let first = values.next()?;
    if values.next().is_some() {
        return Some(None);
    }
    Some(first.to_str().ok().map(str::to_ascii_lowercase))
}

/// Compares in a time that depends on the length alone.
fn constant_time_eq(one: &[u8], two: &[u8]) -> bool {
    one.len() == two.len() && one.iter().zip(two).fold(0, |differing, (a, b)| differing | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    fn checks(safety: &Safety) -> Checks {
        Checks::new(safety, "127.0.0.1:8080".parse().unwrap())
    }

    fn target() -> Uri {
        Uri::from_static("/mcp")
    }

    fn headers(fields: &[(HeaderName, &str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in fields {
            map.append(name, HeaderValue::from_str(value).unwrap());
        }
        map
    }

    /// Host by Origin: each row is a Host, whether it is ours; each column an Origin, whether it is allowed.
    #[test]
    fn host_and_origin_are_checked_together() {
        let hosts: [(Option<&str>, bool); 12] = [
            (Some("127.0.0.1:8080"), true),
            (Some("localhost:8080"), true),
            (Some("LOCALHOST:8080"), true),
            (Some("[::1]:8080"), true),
            (Some("ours.example:8080"), true),
            (None, false),
            (Some("127.0.0.1"), false),
            (Some("127.0.0.1:8081"), false),
            (Some("evil.example:8080"), false),
            (Some("127.0.0.1.evil.example:8080"), false),
            (Some("user@127.0.0.1:8080"), false),
            (Some(""), false),
        ];
        let origins: [(Option<&str>, bool); 12] = [
            (None, true),
            (Some("http://127.0.0.1:8080"), true),
            (Some("http://localhost:8080"), true),
            (Some("http://[::1]:8080"), true),
            (Some("https://app.example"), true),
            (Some("null"), false),
            (Some("http://evil.example"), false),
            (Some("http://localhost"), false),
            (Some("http://localhost:8081"), false),
            (Some("https://localhost:8080"), false),
            (Some("http://localhost:8080.evil.example"), false),
            (Some(""), false),
        ];
        let safety = Safety {
            hosts: vec!["ours.example:8080".into()],
            origins: vec!["https://app.example".into()],
            token: None,
            https: false,
        };
        let checks = checks(&safety);
        for (host, host_is_ours) in hosts {
            for (origin, origin_is_allowed) in origins {
                let mut fields = Vec::new();
                fields.extend(host.map(|host| (HOST, host)));
                fields.extend(origin.map(|origin| (ORIGIN, origin)));
                let expected = match (host_is_ours, origin_is_allowed) {
                    (false, _) => Err(HOST_REFUSED),
                    (true, false) => Err(ORIGIN_REFUSED),
                    (true, true) => Ok(()),
                };
                assert_eq!(checks.check(&target(), &headers(&fields)), expected, "{host:?} {origin:?}");
            }
        }
        let twice = headers(&[(HOST, "localhost:8080"), (HOST, "localhost:8080")]);
        assert_eq!(checks.check(&target(), &twice), Err(HOST_REFUSED));
        let twice = headers(&[(HOST, "localhost:8080"), (ORIGIN, "http://localhost:8080"), (ORIGIN, "null")]);
        assert_eq!(checks.check(&target(), &twice), Err(ORIGIN_REFUSED));
    }

    #[test]
    fn only_the_configured_bearer_token_is_accepted() {
        let checks = checks(&Safety { token: Some("s3cret".into()), ..Safety::default() });
        let with = |value: &str| headers(&[(HOST, "localhost:8080"), (AUTHORIZATION, value)]);
        assert_eq!(checks.check(&target(), &with("Bearer s3cret")), Ok(()));
        assert_eq!(checks.check(&target(), &with("bearer s3cret")), Ok(()));
        for wrong in
            ["Bearer s3cre", "Bearer s3cretx", "Bearer S3CRET", "Basic s3cret", "s3cret", "", "Bearer "]
        {
            assert_eq!(checks.check(&target(), &with(wrong)), Err(TOKEN_REFUSED), "{wrong}");
        }
        assert_eq!(checks.check(&target(), &headers(&[(HOST, "localhost:8080")])), Err(TOKEN_REFUSED));
        let twice =
            headers(&[(HOST, "localhost:8080"), (AUTHORIZATION, "Bearer s3cret"), (AUTHORIZATION, "x")]);
        assert_eq!(checks.check(&target(), &twice), Err(TOKEN_REFUSED));
    }

    #[test]
    fn a_target_that_is_a_whole_url_must_name_an_allowed_host() {
        let checks = checks(&Safety::default());
        let ours = headers(&[(HOST, "localhost:8080")]);
        for (target, allowed) in [
            ("/mcp", true),
            ("http://localhost:8080/mcp", true),
            ("http://LOCALHOST:8080/mcp", true),
            ("http://evil.example/mcp", false),
            ("http://user@localhost:8080/mcp", false),
            ("https://localhost:8080/mcp", false),
            ("localhost:8081", false),
        ] {
            let expected = if allowed { Ok(()) } else { Err(HOST_REFUSED) };
            assert_eq!(checks.check(&target.parse().unwrap(), &ours), expected, "{target}");
        }
    }

    #[test]
    fn every_loopback_address_is_a_name_of_its_listener() {
        let checks = Checks::new(&Safety::default(), "127.0.0.2:8080".parse().unwrap());
        let host = |host: &str| checks.check(&target(), &headers(&[(HOST, host)]));
        assert_eq!(host("127.0.0.2:8080"), Ok(()));
        assert_eq!(host("127.0.0.3:8080"), Err(HOST_REFUSED));
        let own = headers(&[(HOST, "127.0.0.2:8080"), (ORIGIN, "http://127.0.0.2:8080")]);
        assert_eq!(checks.check(&target(), &own), Ok(()));
    }
}
