//! The name of an artifact: random, so that it cannot be guessed, and short enough to be copied by a model.

use std::fmt;

/// Digits of base 32 without those that are taken for others.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// Digits of an id on one machine: 60 random bits.
const LOCAL: usize = 12;
/// Digits of an id where many callers share a store: 130 random bits.
const SHARED: usize = 26;

/// The name of an artifact.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ArtifactId(String);

impl ArtifactId {
    /// Makes a new id for a store of one machine.
    pub fn random() -> Self {
        Self::of_length(LOCAL)
    }

    /// Makes a new id for a store that many callers share.
    pub fn random_shared() -> Self {
        Self::of_length(SHARED)
    }

    fn of_length(length: usize) -> Self {
        let mut bytes = vec![0; length];
        getrandom::fill(&mut bytes).expect("the system gives random bytes");
        Self(bytes.iter().map(|byte| char::from(ALPHABET[usize::from(byte & 31)])).collect())
    }

    /// Reads an id from any form it is written in: alone, `<tool>-<id>`, or `ax://<domain>/<id>`.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim().trim_matches('"');
        let text = text.split(['?', '#']).next().unwrap_or(text);
        let id = text.rsplit(['-', '/']).next().unwrap_or(text).to_ascii_lowercase();
        let digits = id.bytes().all(|byte| ALPHABET.contains(&byte));
        (digits && matches!(id.len(), LOCAL | SHARED)).then_some(Self(id))
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
    fn every_form_reads_back() {
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
        for wrong in ["", "short", "list_issues", "../../etc/passwd", "iiiiiiiiiiii", "0123456789ab0"] {
            assert_eq!(ArtifactId::parse(wrong), None, "{wrong}");
        }
    }
}
