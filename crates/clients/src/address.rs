//! What an address of a remote server tells.

/// Tells whether an address may stand in arguments, where every user of the machine can read it: it is a host, and a path
/// of short plain words such as `/api/v1/mcp`. Whatever is more may be a secret, or a reference that becomes one.
pub(crate) fn is_open(url: &str) -> bool {
    let path = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let Some((host, segments)) = path.map(|path| path.split_once('/').unwrap_or((path, ""))) else {
        return false;
    };
    let is_of_host = |byte: u8| byte.is_ascii_alphanumeric() || b".-:[]".contains(&byte);
    host.bytes().all(is_of_host) && segments.split('/').all(is_plain)
}

/// Tells whether a part of a path is nobody's secret: at most two words of a few letters, or a number of a version.
fn is_plain(segment: &str) -> bool {
    let is_word = |word: &str| word.len() <= 10 && word.bytes().all(|byte| byte.is_ascii_lowercase());
    let is_version = |word: &str| {
        let number = word.strip_prefix('v').unwrap_or(word);
        number.len() <= 3 && number.bytes().all(|byte| byte.is_ascii_digit())
    };
    let mut words = segment.splitn(3, ['-', '_', '.']);
    words.clone().count() <= 2 && words.all(|word| is_word(word) || is_version(word))
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
            "https://h/mcp-server/v2.1/sse/",
            "http://[::1]:80",
        ] {
            assert!(is_open(open), "{open}");
        }
        for secret in [
            "https://user:pass@h/mcp",
            "https://h/mcp?key=1",
            "https://h/s/ZDk2ZjA1YjItMWQ0/mcp",
            "https://mcp.ex.com/s/abcdefghijSECRETxyz/mcp",
            "https://h/s/abcdefghijklmnop/mcp",
            "https://h/correct-horse-battery-staple/mcp",
            "https://h/hunter2/mcp",
            "https://h/4711471147/mcp",
            "https://h/%61/mcp",
            "https://h/mcp#a",
            "https://h/${TENANT}/mcp",
            "https://${TENANT}.h/mcp",
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
