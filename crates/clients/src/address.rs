//! What an address of a remote server tells.

/// Tells whether an address may stand in arguments, where every user of the machine can read it: nothing in it looks like
/// a secret, and nothing in it is a reference that may become one.
pub(crate) fn is_open(url: &str) -> bool {
    let Some((_, rest)) = url.split_once("://") else { return false };
    !rest.contains(['@', '?', '#', '$', '{', '%']) && rest.split('/').skip(1).all(|part| !is_token(part))
}

/// A long part with letters and digits may be a key.
fn is_token(part: &str) -> bool {
    let letters = part.bytes().any(|byte| byte.is_ascii_alphabetic());
    let digits = part.bytes().any(|byte| byte.is_ascii_digit());
    part.len() >= 16 && letters && digits
}

/// Tells whether an address is of HTTP, as far as it is written out.
pub(crate) fn is_http(url: &str) -> bool {
    url.starts_with("https://") || url.starts_with("http://") || url.starts_with(['$', '{'])
}

/// Tells whether a server is on this machine.
pub(crate) fn is_here(url: &str) -> bool {
    let rest = url.split_once("://").map_or("", |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let host = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    host == "localhost" || host == "::1" || host.parse().is_ok_and(|ip: std::net::Ipv4Addr| ip.is_loopback())
}

/// Tells whether an address is one of the transport of 2024, by the name that its servers give it.
pub(crate) fn is_of_old_sse(url: &str) -> bool {
    url.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/').ends_with("/sse")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_seen() {
        for open in [
            "https://mcp.example.com/mcp",
            "http://localhost:8080/v1/mcp",
            "https://h/some-long-name-of-it/mcp",
        ] {
            assert!(is_open(open), "{open}");
        }
        for secret in [
            "https://user:pass@h/mcp",
            "https://h/mcp?key=1",
            "https://h/s/ZDk2ZjA1YjItMWQ0/mcp",
            "https://h/${TENANT}/mcp",
            "{env:URL}",
        ] {
            assert!(!is_open(secret), "{secret}");
        }
    }

    #[test]
    fn what_is_here() {
        for here in
            ["http://localhost/mcp", "http://127.0.0.1:80/mcp", "http://[::1]:7/x", "https://a@localhost"]
        {
            assert!(is_here(here), "{here}");
        }
        for away in ["http://localhost.example/mcp", "https://h/127.0.0.1", "http://1270.0.0.1/"] {
            assert!(!is_here(away), "{away}");
        }
    }

    #[test]
    fn the_transport_of_2024() {
        assert!(is_of_old_sse("https://h/sse") && is_of_old_sse("https://h/sse/?a=b"));
        assert!(!is_of_old_sse("https://h/mcp") && !is_of_old_sse("https://h/asse"));
    }
}
