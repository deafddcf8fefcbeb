//! A link to a view of a stored result: `<base>/saved/<token>/<name>`.
//!
//! The token holds the result, the view, the caller's tier and the time it expires. It is sealed with the store's key over
//! all of them, the owner of the result and the name of the file. So tidegate keeps no state for a link, and nobody can change a
//! link or use that of another owner.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use tidegate_core::view::{Query, cursor};
use tidegate_store::{ArtifactId, FileName, Millis};

use crate::resources::decode;
use crate::tier::Tier;

/// The path below which links lead.
pub(crate) const PATH: &str = "/saved/";
/// The version of the token's bytes.
const VERSION: u8 = 1;

/// What a link leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LinkTarget {
    pub(crate) id: ArtifactId,
    pub(crate) query: Query,
    /// The tier of the caller who asked for the link.
    pub(crate) tier: Tier,
    pub(crate) expires: Millis,
}

/// A link that a client follows, not checked yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedLink {
    name: FileName,
    seal: Vec<u8>,
    target: LinkTarget,
}

impl LinkTarget {
    /// Returns the bytes that a seal covers.
    fn sealed(&self, name: &FileName, query: &[u8]) -> Vec<u8> {
        let name = name.as_str().as_bytes();
        let mut bytes = b"saved".to_vec();
        bytes.extend((name.len() as u64).to_le_bytes());
        bytes.extend(name);
        bytes.push(self.tier as u8);
        bytes.extend(self.expires.0.to_le_bytes());
        bytes.extend(query);
        bytes
    }

    /// Returns the path of a link to this.
    pub(crate) fn path(&self, name: &FileName, seal: impl Fn(&[u8]) -> [u8; cursor::SEAL_BYTES]) -> String {
        let (id, query) = (self.id.as_str().as_bytes(), cursor::to_bytes(&self.query));
        let mut bytes = vec![VERSION, self.tier as u8];
        bytes.extend(self.expires.0.to_le_bytes());
        bytes.extend(seal(&self.sealed(name, &query)));
        bytes.push(u8::try_from(id.len()).unwrap_or_default());
        bytes.extend(id);
        bytes.extend(query);
        format!("{PATH}{}/{}", URL_SAFE_NO_PAD.encode(bytes), encode(name.as_str()))
    }
}

impl SavedLink {
    /// Reads the path of a link without checking its seal; `None` if it never was one.
    pub fn parse(path: &str) -> Option<Self> {
        let (token, name) = path.strip_prefix(PATH)?.split_once('/')?;
        if token.len() > cursor::MAX_CURSOR_BYTES {
            return None;
        }
        let bytes = URL_SAFE_NO_PAD.decode(token).ok()?;
        let ([version, tier], rest) = bytes.split_first_chunk::<2>()?;
        let (expires, rest) = rest.split_first_chunk::<8>()?;
        let (seal, rest) = rest.split_at_checked(cursor::SEAL_BYTES)?;
        let (length, rest) = rest.split_first()?;
        let (id, query) = rest.split_at_checked(usize::from(*length))?;
        let target = LinkTarget {
            id: ArtifactId::parse_bare(std::str::from_utf8(id).ok()?)?,
            query: cursor::from_bytes(query)?,
            tier: *Tier::ALL.get(usize::from(*tier))?,
            expires: Millis(i64::from_le_bytes(*expires)),
        };
        let name = FileName::parse(&decode(name)).ok()?;
        (*version == VERSION).then(|| Self { name, seal: seal.to_vec(), target })
    }

    /// Returns the name of the file.
    pub fn name(&self) -> &str {
        self.name.as_str()
    }

    /// Returns the result that it names, whether it is valid or not.
    pub(crate) fn id(&self) -> &ArtifactId {
        &self.target.id
    }

    /// Returns what it leads to, if it is sealed as it should be and has not expired.
    pub(crate) fn target(
        &self,
        now: Millis,
        seal: impl Fn(&[u8]) -> [u8; cursor::SEAL_BYTES],
    ) -> Option<&LinkTarget> {
        let right = seal(&self.target.sealed(&self.name, &cursor::to_bytes(&self.target.query)));
        // Every byte is compared, so that the time does not tell how many were right.
        let differing = right.iter().zip(&self.seal).fold(0, |sum, (one, two)| sum | (one ^ two));
        (differing == 0 && now < self.target.expires).then_some(&self.target)
    }
}

/// Encodes a name for a path: everything but letters, digits and `-._~` as `%41`.
pub fn encode(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            byte if byte.is_ascii_alphanumeric() => out.push(char::from(byte)),
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use tidegate_core::view::View;
    use tidegate_store::{Owner, SealKey};

    use super::*;

    fn target() -> LinkTarget {
        LinkTarget {
            id: ArtifactId::random(),
            query: Query { fields: vec!["é".into()], ..Query::new(View::Sql("select 1".into())) },
            tier: Tier::ReadWrite,
            expires: Millis(1000),
        }
    }

    #[test]
    fn a_link_leads_to_what_was_sealed_until_it_expires() {
        let (key, owner, target) = (SealKey::ephemeral(), Owner::new("a"), target());
        let seal = |bytes: &[u8]| key.seal(&owner, &target.id, bytes);
        let name = FileName::parse("Größe 1+2%.csv").unwrap();
        let path = target.path(&name, seal);
        assert!(path.ends_with("/Gr%C3%B6%C3%9Fe%201%2B2%25.csv"), "{path}");
        let link = SavedLink::parse(&path).unwrap();
        assert_eq!(link.name(), name.as_str());
        assert_eq!(link.target(Millis(999), seal), Some(&target));
        assert_eq!(link.target(Millis(1000), seal), None, "expired");
        let other = |bytes: &[u8]| key.seal(&Owner::new("b"), &target.id, bytes);
        assert_eq!(link.target(Millis(0), other), None, "another owner");
    }

    #[test]
    fn nothing_about_a_link_can_be_changed() {
        let (key, owner, target) = (SealKey::ephemeral(), Owner::new("a"), target());
        let path =
            target.path(&FileName::parse("a.csv").unwrap(), |bytes| key.seal(&owner, &target.id, bytes));
        let is_valid = |path: &str| {
            let link = SavedLink::parse(path);
            link.is_some_and(|link| {
                link.target(Millis(0), |bytes| key.seal(&owner, link.id(), bytes)).is_some()
            })
        };
        assert!(is_valid(&path));
        let token = PATH.len()..path.len() - "/a.csv".len();
        for at in token {
            let mut changed = path.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            assert!(!is_valid(std::str::from_utf8(&changed).unwrap()), "{at}");
        }
        for other in ["a.html", "b.csv", "..%2Fa.csv", "", "a.csv/b"] {
            assert!(!is_valid(&path.replace("a.csv", other)), "{other}");
        }
        for garbage in ["", "/saved/", "/saved//a", "/saved/x/a", &format!("/saved/{}/a", "A".repeat(9000))] {
            assert_eq!(SavedLink::parse(garbage), None);
        }
    }
}
