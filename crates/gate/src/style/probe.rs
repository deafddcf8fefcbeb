//! The style `probe`: the first answer, and the token that fetches the rest.
//!
//! A token names the result, the tool, who asked and when it ends, under a seal of the store's key, so that nothing has
//! to be remembered for it and nothing about it can be changed. It ends before the result does.

use std::io;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use tidegate_core::view::{Dataset, cursor, visible_text};
use tidegate_store::{ArtifactId, Clock, Millis, SystemClock};

use super::{Room, quoted};

/// Characters of the preview.
const PREVIEW: usize = 200;
/// The ways to fetch.
pub(crate) const MODES: [&str; 4] = ["summary", "paginated", "filtered", "full"];
/// The answer to every token that does not lead to a result of this tool and caller now.
pub(crate) const GONE: &str = "Continuation token expired or not found. Re-invoke without continuation_token to start a new negotiation.";

const VERSION: u8 = 1;

/// Returns the first answer: what the result looks like, how large it is, and the token.
pub(crate) fn envelope(
    data: &Dataset<'_>,
    total_size: u64,
    token: &str,
    room: Room<'_>,
) -> io::Result<String> {
    let beginning = visible_text(&data.beginning(PREVIEW)?);
    let modes = MODES.map(quoted).join(",");
    let text = |characters: usize| {
        let preview: String = beginning.chars().take(characters).collect();
        format!(
            r#"{{"preview":{},"total_size":{total_size},"available_modes":[{modes}],"continuation_token":"{token}"}}"#,
            quoted(&preview)
        )
    };
    // Characters may cost several tokens each.
    let mut characters = PREVIEW;
    while characters > 0 && !room.fits(&text(characters)) {
        characters /= 2;
    }
    Ok(text(characters))
}

/// A token, opened.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) id: ArtifactId,
    expires: Millis,
    seal: Vec<u8>,
}

/// Whom and what a token is for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bound<'b> {
    /// The server's name.
    pub(crate) server: &'b str,
    pub(crate) tool: &'b str,
    /// Who asked, where the results of several are kept by one.
    pub(crate) who: &'b str,
}

impl Bound<'_> {
    fn sealed(&self, expires: Millis) -> Vec<u8> {
        // With their lengths, so that no two of them make the same bytes.
        let part = |text: &str| [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat();
        let parts = [self.server, self.tool, self.who].map(part).concat();
        [b"probe".as_slice(), &parts, &expires.0.to_le_bytes()].concat()
    }

    /// Makes the token of a result.
    pub(crate) fn token(
        &self,
        id: &ArtifactId,
        life: Duration,
        seal: impl Fn(&[u8]) -> [u8; cursor::SEAL],
    ) -> String {
        let expires = SystemClock.now().after(life);
        let mut bytes = vec![VERSION];
        bytes.extend(expires.0.to_le_bytes());
        bytes.extend(seal(&self.sealed(expires)));
        bytes.extend(id.as_str().as_bytes());
        URL_SAFE_NO_PAD.encode(bytes)
    }
}

impl Token {
    /// Reads a token; whether it holds is another question.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(text.trim()).ok()?;
        let (&version, rest) = bytes.split_first()?;
        let (expires, rest) = rest.split_first_chunk::<8>()?;
        let (seal, id) = rest.split_at_checked(cursor::SEAL)?;
        let id = ArtifactId::parse(std::str::from_utf8(id).ok()?)?;
        (version == VERSION).then(|| Self {
            id,
            expires: Millis(i64::from_le_bytes(*expires)),
            seal: seal.to_vec(),
        })
    }

    /// Returns whether it is of this tool and caller, and has not ended.
    pub(crate) fn holds(&self, bound: Bound<'_>, seal: impl Fn(&[u8]) -> [u8; cursor::SEAL]) -> bool {
        let right = seal(&bound.sealed(self.expires));
        // Every byte is compared, so that the time does not tell how many were right.
        let differing = right.iter().zip(&self.seal).fold(0, |sum, (one, two)| sum | (one ^ two));
        (differing == 0) & (self.expires.0 > SystemClock.now().0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seal(bytes: &[u8]) -> [u8; cursor::SEAL] {
        let mut seal = [7_u8; cursor::SEAL];
        for (at, byte) in bytes.iter().enumerate() {
            seal[at % cursor::SEAL] = seal[at % cursor::SEAL].rotate_left(1) ^ byte;
        }
        seal
    }

    #[test]
    fn a_token_holds_for_its_tool_and_caller_until_it_ends() {
        let bound = Bound { server: "s", tool: "list", who: "ada" };
        let id = ArtifactId::random();
        let text = bound.token(&id, Duration::from_secs(300), seal);
        let token = Token::read(&text).unwrap();
        assert_eq!(token.id, id);
        assert!(token.holds(bound, seal));
        assert!(!token.holds(Bound { tool: "lis", who: "tada", ..bound }, seal));
        assert!(!token.holds(Bound { tool: "other", ..bound }, seal));
        assert!(!token.holds(Bound { who: "bob", ..bound }, seal));
        assert!(!token.holds(Bound { server: "other", ..bound }, seal));
        let ended = Token::read(&bound.token(&id, Duration::ZERO, seal)).unwrap();
        assert!(!ended.holds(bound, seal));
        let mut longer = Token::read(&text).unwrap();
        longer.expires.0 += 1;
        assert!(!longer.holds(bound, seal));
        for broken in ["", "abc123xyz", "AA", &text[1..]] {
            assert!(Token::read(broken).is_none_or(|token| !token.holds(bound, seal)), "{broken}");
        }
    }
}
