//! Artifact ids: random, so that they cannot be guessed, and short enough for a model to copy.
//!
//! An id is made before its result is stored, and appears in overviews, in resource links and on the command line. In a store
//! that many callers share it is longer, so that no caller can guess another's. An artifact whose maker chose its name has
//! the digest of that name as its id.

use std::fmt;

use crate::artifact::Owner;

/// Crockford's base 32: without the letters i, l, o and u, which are easily misread.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// Digits of an id in a store of one user: 60 random bits.
const LOCAL_DIGITS: usize = 12;
/// Digits of an id in a store that many callers share: 130 random bits.
const SHARED_DIGITS: usize = 26;

/// The id of an artifact.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ArtifactId(String);

impl ArtifactId {
    /// Returns a new random id for a store of one user.
    pub fn random() -> Self {
        Self::with_digits(LOCAL_DIGITS)
    }

    /// Returns a new random id for a store that many callers share.
    pub fn random_shared() -> Self {
        Self::with_digits(SHARED_DIGITS)
    }

    fn with_digits(count: usize) -> Self {
        let mut bytes = vec![0; count];
        getrandom::fill(&mut bytes).expect("the system provides random bytes");
        Self::of_bytes(&bytes)
    }

    /// Returns the id of an artifact whose maker chose its name: one for each owner, server, domain and name.
    pub fn of_name(owner: &Owner, server: &str, domain: &str, name: &str) -> Self {
        let mut hasher = blake3::Hasher::new();
        for part in [owner.as_str(), server, domain, name] {
            // Hash each part with its length, so that different lists of parts give different bytes.
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
        }
        Self::of_bytes(&hasher.finalize().as_bytes()[..SHARED_DIGITS])
    }

    /// Returns whether it has the length of ids that are the digest of a name.
    pub fn may_be_of_name(&self) -> bool {
        self.0.len() == SHARED_DIGITS
    }

    fn of_bytes(bytes: &[u8]) -> Self {
        Self(bytes.iter().map(|byte| char::from(ALPHABET[usize::from(byte & 31)])).collect())
    }

    /// Parses an id that is nothing but its digits.
    pub fn parse_bare(text: &str) -> Option<Self> {
        let valid = text.bytes().all(|byte| ALPHABET.contains(&byte));
        (valid && matches!(text.len(), LOCAL_DIGITS | SHARED_DIGITS)).then(|| Self(text.to_owned()))
    }

    /// Parses an id in any of its written forms: alone, `<tool>-<id>`, or `ax://<domain>/<id>`.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim().trim_matches('"');
        let text = text.split(['?', '#']).next().unwrap_or(text);
        let id = text.rsplit(['-', '/']).next().unwrap_or(text).to_ascii_lowercase();
        Self::parse_bare(&id)
    }

    /// Returns the digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ArtifactId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_an_id_of_its_own_for_each_owner_server_and_domain() {
        let of = |owner, server, domain, name| ArtifactId::of_name(&Owner::new(owner), server, domain, name);
        let id = of("ada", "bugtrace", "trace", "t1");
        assert_eq!(of("ada", "bugtrace", "trace", "t1"), id);
        assert!(id.may_be_of_name() && ArtifactId::parse(id.as_str()) == Some(id.clone()));
        for other in [
            of("bob", "bugtrace", "trace", "t1"),
            of("ada", "other", "trace", "t1"),
            of("ada", "bugtrace", "tracet", "1"),
            of("ada", "bugtrace", "trace", "t2"),
        ] {
            assert_ne!(other, id);
        }
    }

    #[test]
    fn every_written_form_parses() {
        let id = ArtifactId::random();
        for form in [
            id.to_string(),
            format!("list_issues-{id}"),
            format!("\"a-b-{id}\""),
            format!("ax://t/{id}?page=2"),
        ] {
            assert_eq!(ArtifactId::parse(&form).as_ref(), Some(&id), "{form}");
        }
        assert_eq!(ArtifactId::random_shared().as_str().len(), 26);
        assert_eq!(ArtifactId::parse_bare(id.as_str()).as_ref(), Some(&id));
        assert_eq!(ArtifactId::parse_bare(&format!("t-{id}")), None);
        for wrong in ["", "short", "list_issues", "../../etc/passwd", "iiiiiiiiiiii", "0123456789ab0"] {
            assert_eq!(ArtifactId::parse(wrong), None, "{wrong}");
        }
    }
}
