//! The names under which tools and prompts are listed: `server__tool`, a pure function of server and tool.
//!
//! A name does not depend on the other servers, so it stays the same when one joins or leaves. It matches
//! `^[a-zA-Z0-9_-]{1,60}$`, which every known client accepts. A name with other characters, or a long one, is changed and ends
//! in a hash of server and tool. A name that happens to end like a hash gets a hash as well. So two tools share a name only if
//! their hashes collide.

/// What separates the server from the tool.
pub const SEPARATOR: &str = "__";
/// The longest name without a hash; a longer name is cut to this length before its hash.
const MAX_PLAIN_BYTES: usize = 45;
/// The hexadecimal digits of a hash.
const HASH_DIGITS: usize = 8;

/// Returns the name under which a tool or prompt of a server is listed.
///
/// ```
/// # use tidegate_gateway::names::listed_name;
/// assert_eq!(listed_name("github", "list_issues"), "github__list_issues");
/// assert_eq!(listed_name("github", "list.issues"), "github__list_issues_ae18ad30");
/// ```
pub fn listed_name(server: &str, name: &str) -> String {
    let mut listed = format!("{}{SEPARATOR}{}", clean(server), clean(name));
    let is_unchanged = !server.is_empty()
        && !name.is_empty()
        && listed.strip_prefix(server).and_then(|rest| rest.strip_prefix(SEPARATOR)) == Some(name);
    // Otherwise the first separator in the name may not be the one between server and tool.
    let is_unambiguous = !server.contains(SEPARATOR) && !server.ends_with('_');
    if is_unchanged && is_unambiguous && listed.len() <= MAX_PLAIN_BYTES && !ends_in_hash(&listed) {
        return listed;
    }
    listed.truncate(MAX_PLAIN_BYTES);
    format!("{listed}_{}", hash(server, name))
}

/// Replaces the characters that clients do not accept in a name.
fn clean(name: &str) -> String {
    let is_accepted = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
    name.chars().map(|character| if is_accepted(character) { character } else { '_' }).collect()
}

/// Returns whether a name looks as if it ended in a hash.
fn ends_in_hash(name: &str) -> bool {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let end = name.len().checked_sub(HASH_DIGITS + 1).map(|start| &name.as_bytes()[start..]);
    end.is_some_and(|end| end[0] == b'_' && end[1..].iter().copied().all(is_digit))
}

fn hash(server: &str, name: &str) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in [server, name] {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.finalize().to_hex()[..HASH_DIGITS].to_owned()
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn plain_names_stay_readable() {
        assert_eq!(listed_name("jira-cloud", "get_issue"), "jira-cloud__get_issue");
        let long = listed_name("github", &"x".repeat(60));
        assert_eq!((long.len(), &long[..12]), (54, "github__xxxx"));
        assert_eq!(listed_name("a", &"b".repeat(42)).len(), 45);
        assert_eq!(listed_name("a", &"b".repeat(43)).len(), 54);
    }

    /// Each pair would have the same name if server and tool were only joined.
    #[test]
    fn names_that_would_be_equal_when_joined_differ() {
        let hashed = listed_name("a", "b.c");
        let looks_hashed = hashed.strip_prefix("a__").unwrap();
        for (one, two) in [
            (("a", "b__c"), ("a__b", "c")),
            (("a", "_b"), ("a_", "b")),
            (("a", "b.c"), ("a", "b_c")),
            (("a", "b.c"), ("a", "b c")),
            (("a", "b.c"), ("a", looks_hashed)),
            (("a.b", "c"), ("a_b", "c")),
            (("a", ""), ("a", "_")),
            (("", "a"), ("_", "a")),
        ] {
            assert_ne!(listed_name(one.0, one.1), listed_name(two.0, two.1), "{one:?} {two:?}");
        }
    }

    fn part() -> impl Strategy<Value = String> {
        prop_oneof![
            "[a-c_]{0,4}",
            "[a-zA-Z0-9_.: /-]{0,12}",
            "[a-z_]{30,70}",
            "[a-c]__?[0-9a-f]{8}",
            any::<String>(),
        ]
    }

    proptest! {
        #![proptest_config(tidegate_testkit::cases(10_000))]

        /// Clients accept every name, equal tools have equal names, and different tools have different ones.
        #[test]
        fn names_are_valid_stable_and_different(tools in prop::collection::vec((part(), part()), 1..40)) {
            let mut known: HashMap<String, (String, String)> = HashMap::new();
            for (server, name) in tools {
                let listed = listed_name(&server, &name);
                prop_assert!((1..=60).contains(&listed.len()), "{}", listed);
                let is_accepted = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
                prop_assert!(listed.bytes().all(is_accepted), "{}", listed);
                prop_assert_eq!(&listed, &listed_name(&server, &name));
                let other = known.insert(listed, (server.clone(), name.clone()));
                prop_assert!(other.is_none_or(|other| other == (server, name)));
            }
        }
    }
}
