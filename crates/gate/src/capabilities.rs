//! The capabilities of a server: through the gate it also offers kept results as resources.

use crate::raw::{self, Edits};

/// What the upstream can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// It has tools.
    pub tools: bool,
    /// It has resources.
    pub resources: bool,
}

/// Reads the result of `initialize` or `server/discover`, and returns it with `resources` announced if the upstream
/// has none. Without that some clients refuse to read any resource.
pub(crate) fn announce(result: &[u8]) -> Option<(Capabilities, Option<Vec<u8>>)> {
    let place = raw::member(result, &raw::whole(result)?, "capabilities")?;
    let members = raw::members(result, &place)?;
    let has = |key: &str| members.iter().any(|member| member.key == key);
    let found = Capabilities { tools: has("tools"), resources: has("resources") };
    if !found.tools || found.resources {
        return Some((found, None));
    }
    let mut edits = Edits::new();
    edits.append(result, &place, b"\"resources\":{}");
    Some((found, Some(edits.apply(result))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn announced(json: &str) -> Option<(Capabilities, Option<String>)> {
        let (found, edited) = announce(json.as_bytes())?;
        Some((found, edited.map(|edited| String::from_utf8(edited).unwrap())))
    }

    #[test]
    fn resources_are_announced_once() {
        let (found, edited) = announced(r#"{"x":1.0,"capabilities":{"tools":{}}}"#).unwrap();
        assert_eq!(found, Capabilities { tools: true, resources: false });
        assert_eq!(edited.unwrap(), r#"{"x":1.0,"capabilities":{"tools":{},"resources":{}}}"#);
        let (_, edited) =
            announced(r#"{"capabilities":{"tools":{},"resources":{"subscribe":true}}}"#).unwrap();
        assert_eq!(edited, None);
        let (_, edited) = announced(r#"{"capabilities":{"prompts":{}}}"#).unwrap();
        assert_eq!(edited, None, "a server without tools gives no results");
        assert_eq!(announced("{}"), None);
    }
}
