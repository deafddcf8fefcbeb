//! What the URL of a remote server shows: whether it may hold a secret, and which transport and host it uses.
//!
//! A URL counts as harmless only if every part of it is known to be; anything else is treated as a secret.

/// Returns whether a URL may appear in arguments, which every user of the machine can read.
///
/// It must be a host and a path of short plain words such as `/api/v1/mcp`. Anything more may be a secret, or a reference
/// that the client replaces by one.
pub(crate) fn is_safe_to_show(url: &str) -> bool {
    let path = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let Some((host, segments)) = path.map(|path| path.split_once('/').unwrap_or((path, ""))) else {
        return false;
    };
    let is_host_byte = |byte: u8| byte.is_ascii_alphanumeric() || b".-:[]".contains(&byte);
    host.bytes().all(is_host_byte) && segments.split('/').all(is_plain_segment)
}

/// Returns whether a path segment cannot be a secret: at most two short words or version numbers.
fn is_plain_segment(segment: &str) -> bool {
    let is_word = |word: &str| word.len() <= 10 && word.bytes().all(|byte| byte.is_ascii_lowercase());
    let is_version = |word: &str| {
        let number = word.strip_prefix('v').unwrap_or(word);
        number.len() <= 3 && number.bytes().all(|byte| byte.is_ascii_digit())
    };
    let mut words = segment.splitn(3, ['-', '_', '.']);
    words.clone().count() <= 2 && words.all(|word| is_word(word) || is_version(word))
}

/// Returns whether a URL is HTTP, or starts with a reference that may become HTTP.
pub(crate) fn is_http(url: &str) -> bool {
    url.starts_with("https://") || url.starts_with("http://") || url.starts_with(['$', '{'])
}

/// Returns whether a URL points to this machine.
pub(crate) fn is_loopback(url: &str) -> bool {
    let rest = url.split_once("://").map_or("", |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let host = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    host == "localhost" || host == "::1" || host.parse().is_ok_and(|ip: std::net::Ipv4Addr| ip.is_loopback())
}

/// Returns whether a URL ends in `/sse`, as servers of the deprecated HTTP+SSE transport name it.
pub(crate) fn is_legacy_sse(url: &str) -> bool {
    url.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/').ends_with("/sse")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_urls_are_safe() {
        for safe in [
            "https://mcp.example.com/mcp",
            "http://localhost:8080/v1/mcp",
            "https://h/mcp-server/v2.1/sse/",
            "http://[::1]:80",
        ] {
            assert!(is_safe_to_show(safe), "{safe}");
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
            assert!(!is_safe_to_show(secret), "{secret}");
        }
    }

    #[test]
    fn loopback_urls() {
        for local in
            ["http://localhost/mcp", "http://127.0.0.1:80/mcp", "http://[::1]:7/x", "https://a@localhost"]
        {
            assert!(is_loopback(local), "{local}");
        }
        for remote in ["http://localhost.example/mcp", "https://h/127.0.0.1", "http://1270.0.0.1/"] {
            assert!(!is_loopback(remote), "{remote}");
        }
    }

    #[test]
    fn legacy_sse_urls() {
        assert!(is_legacy_sse("https://h/sse") && is_legacy_sse("https://h/sse/?a=b"));
        assert!(!is_legacy_sse("https://h/mcp") && !is_legacy_sse("https://h/asse"));
    }
}
