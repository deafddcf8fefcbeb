//! The metadata of the gateway as a protected resource (RFC 9728): which issuers a client can get a token from.
//!
//! It is served at `/.well-known/oauth-protected-resource` followed by the path of the gateway, and also without that path,
//! where some clients look. `resource` is exactly the URL that clients call.

use serde_json::json;

/// The path of the metadata.
const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// Splits a URL into origin and path.
pub(super) fn split(resource: &str) -> (&str, &str) {
    let host = resource.find("://").map_or(0, |at| at + 3);
    let path = resource[host..].find('/').map_or(resource.len(), |at| host + at);
    resource.split_at(path)
}

/// Returns the URL of the metadata of a resource.
pub fn address(resource: &str) -> String {
    let (host, path) = split(resource);
    format!("{host}{WELL_KNOWN}{}", path.trim_end_matches('/'))
}

/// Returns the metadata; `None` if it is not served at this path.
pub fn document(path: &str, resource: &str, issuers: &[&str], scopes: &[String]) -> Option<Vec<u8>> {
    let below = path.strip_prefix(WELL_KNOWN)?;
    if !below.is_empty() && below != split(resource).1.trim_end_matches('/') {
        return None;
    }
    let mut document = json!({
        "resource": resource,
        "authorization_servers": issuers,
        "bearer_methods_supported": ["header"],
        "resource_name": "tidegate",
    });
    if !scopes.is_empty() {
        document["scopes_supported"] = json!(scopes);
    }
    serde_json::to_vec(&document).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn metadata_is_served_with_and_without_the_path_of_the_gateway() {
        let resource = "https://gateway.example:8443/mcp";
        assert_eq!(
            address(resource),
            "https://gateway.example:8443/.well-known/oauth-protected-resource/mcp"
        );
        assert_eq!(address("https://g.example"), "https://g.example/.well-known/oauth-protected-resource");
        assert_eq!(address("https://g.example/"), "https://g.example/.well-known/oauth-protected-resource");
        let at = |path| document(path, resource, &["https://login.example"], &["mcp:read".to_owned()]);
        let root: Value = serde_json::from_slice(&at(WELL_KNOWN).unwrap()).unwrap();
        assert_eq!(
            root,
            json!({
                "resource": resource,
                "authorization_servers": ["https://login.example"],
                "bearer_methods_supported": ["header"],
                "resource_name": "tidegate",
                "scopes_supported": ["mcp:read"],
            })
        );
        assert_eq!(at("/.well-known/oauth-protected-resource/mcp"), at(WELL_KNOWN));
        for other in
            ["/mcp", "/.well-known/oauth-protected-resource/other", "/.well-known/oauth-protected-resourcex"]
        {
            assert_eq!(at(other), None, "{other}");
        }
    }
}
