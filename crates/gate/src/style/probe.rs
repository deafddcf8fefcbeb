//! The style `probe`: the first answer, and the token that fetches the rest.
//!
//! A token names the result, and is sealed with the store's key over the tool, the caller and the time it expires. So
//! nothing has to be remembered for it, and nothing about it can be changed. It expires before the result does.

use std::io;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use tidegate_core::view::{Dataset, cursor, visible_text};
use tidegate_store::{ArtifactId, Millis};

use super::{AnswerLimits, quoted};

/// The maximum number of characters of the preview.
const MAX_PREVIEW_CHARS: usize = 200;
/// The ways to fetch.
pub(crate) const MODES: [&str; 4] = ["summary", "paginated", "filtered", "full"];
/// The answer to every token that is not valid for this tool and caller now.
pub(crate) const GONE: &str = "Continuation token expired or not found. Re-invoke without continuation_token to start a new negotiation.";

/// The version of the token's bytes.
const VERSION: u8 = 1;

/// Returns the first answer: what the result looks like, how large it is, and the token.
pub(crate) fn envelope(
    data: &Dataset<'_>,
    total_size: u64,
    token: &str,
    limits: AnswerLimits<'_>,
) -> io::Result<String> {
    let beginning = visible_text(&data.beginning(MAX_PREVIEW_CHARS)?);
    let text = |characters: usize| {
        let preview: String = beginning.chars().take(characters).collect();
        written(&preview, total_size, token)
    };
    // A character may cost several tokens.
    let mut characters = MAX_PREVIEW_CHARS;
    while characters > 0 && !limits.fits(&text(characters)) {
        characters /= 2;
    }
    Ok(text(characters))
}

/// Returns the first answer with a preview.
pub(crate) fn written(preview: &str, total_size: u64, token: &str) -> String {
    let modes = MODES.map(quoted).join(",");
    let preview = quoted(preview);
    format!(
        r#"{{"preview":{preview},"total_size":{total_size},"available_modes":[{modes}],"continuation_token":"{token}"}}"#
    )
}

/// A token that was read; it may not be valid.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) id: ArtifactId,
    expires: Millis,
    seal: Vec<u8>,
}

/// The tool and caller that a token is valid for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bound<'b> {
    /// The server's name.
    pub(crate) server: &'b str,
    pub(crate) tool: &'b str,
    /// Who asked, where the results of several are kept by one.
    pub(crate) who: &'b str,
}

impl Bound<'_> {
    /// Returns the bytes that the seal of a token covers.
    fn sealed(&self, expires: Millis) -> Vec<u8> {
        // Each with its length, so that no two bounds make the same bytes.
        let part = |text: &str| [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat();
        let parts = [self.server, self.tool, self.who].map(part).concat();
        [b"probe".as_slice(), &parts, &expires.0.to_le_bytes()].concat()
    }

    /// Makes the token of a result.
    pub(crate) fn token(
        &self,
        id: &ArtifactId,
        expires: Millis,
        seal: impl Fn(&[u8]) -> [u8; cursor::SEAL_BYTES],
    ) -> String {
        let mut bytes = vec![VERSION];
        bytes.extend(expires.0.to_le_bytes());
        bytes.extend(seal(&self.sealed(expires)));
        bytes.extend(id.as_str().as_bytes());
        URL_SAFE_NO_PAD.encode(bytes)
    }
}

impl Token {
    /// Reads a token without checking it.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(text.trim()).ok()?;
        let (&version, rest) = bytes.split_first()?;
        let (expires, rest) = rest.split_first_chunk::<8>()?;
        let (seal, id) = rest.split_at_checked(cursor::SEAL_BYTES)?;
        let id = ArtifactId::parse(std::str::from_utf8(id).ok()?)?;
        (version == VERSION).then(|| Self {
            id,
            expires: Millis(i64::from_le_bytes(*expires)),
            seal: seal.to_vec(),
        })
    }

    /// Returns whether the token is of this tool and caller, and has not expired.
    pub(crate) fn is_valid(
        &self,
        bound: Bound<'_>,
        now: Millis,
        seal: impl Fn(&[u8]) -> [u8; cursor::SEAL_BYTES],
    ) -> bool {
        let right = seal(&bound.sealed(self.expires));
        // Every byte is compared, so that the time does not tell how many were right.
        let differing = right.iter().zip(&self.seal).fold(0, |sum, (one, two)| sum | (one ^ two));
        (differing == 0) & (self.expires > now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seal(bytes: &[u8]) -> [u8; cursor::SEAL_BYTES] {
        let mut seal = [7_u8; cursor::SEAL_BYTES];
        for (at, byte) in bytes.iter().enumerate() {
            seal[at % cursor::SEAL_BYTES] = seal[at % cursor::SEAL_BYTES].rotate_left(1) ^ byte;
        }
        seal
    }

    #[test]
    fn a_token_is_valid_for_its_tool_and_caller_until_it_expires() {
        let bound = Bound { server: "s", tool: "list", who: "ada" };
        let (now, expires) = (Millis(1000), Millis(301_000));
        let id = ArtifactId::random();
        let text = bound.token(&id, expires, seal);
        let token = Token::read(&text).unwrap();
        assert_eq!(token.id, id);
        assert!(token.is_valid(bound, now, seal));
        assert!(token.is_valid(bound, Millis(300_999), seal));
        assert!(!token.is_valid(bound, expires, seal));
        for other in [
            Bound { tool: "lis", who: "tada", ..bound },
            Bound { tool: "other", ..bound },
            Bound { who: "bob", ..bound },
            Bound { server: "other", ..bound },
        ] {
            assert!(!token.is_valid(other, now, seal), "{other:?}");
        }
        let mut longer = Token::read(&text).unwrap();
        longer.expires.0 += 1;
        assert!(!longer.is_valid(bound, now, seal));
        for broken in ["", "abc123xyz", "AA", &text[1..]] {
            assert!(Token::read(broken).is_none_or(|token| !token.is_valid(bound, now, seal)), "{broken}");
        }
    }
}
