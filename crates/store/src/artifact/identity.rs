//! Who may read an artifact, whose quota it uses, which tier it needs, and which call it answers.

use std::fmt;

/// Defines a text type, so that an owner cannot be passed where a session is expected.
macro_rules! text_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        pub struct $name(String);

        impl $name {
            /// Returns the type for a text.
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into())
            }

            /// Returns the text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.0)
            }
        }
    };
}

text_type! {
    /// Who may read an artifact: the user of the machine, or a verified principal.
    Owner
}

impl Owner {
    /// Returns the owner of a kind that several parts identify together. Only a digest of them is stored: one of them may be
    /// a credential, such as the id of a session.
    pub fn of_parts(kind: &str, parts: &[&str]) -> Self {
        let mut hasher = blake3::Hasher::new();
        for part in parts {
            // Each with its length, so that no two lists of parts make the same bytes.
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
        }
        Self::new(format!("{kind}:{}", &hasher.finalize().to_hex()[..32]))
    }
}

text_type! {
    /// What a session quota applies to: a process, an MCP session, or a principal.
    Session
}

/// A digest of a call, by which the last result of the same call is found. [`SealKey::call_digest`](crate::SealKey::call_digest)
/// makes it with a key, so that it reveals nothing about the arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CallDigest(pub(crate) [u8; 16]);

impl CallDigest {
    /// Reads a digest from its hexadecimal digits.
    pub(crate) fn from_hex(digits: &str) -> Option<Self> {
        let mut digest = [0; 16];
        if digits.len() != 32 || !digits.is_ascii() {
            return None;
        }
        for (at, byte) in digest.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).ok()?;
        }
        Some(Self(digest))
    }

    /// Returns the digest in hexadecimal digits.
    pub fn to_hex(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// A tier, as the program that stores results numbers its tiers: 0 is the lowest, which everybody has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct TierLevel(u8);

impl TierLevel {
    /// The highest tier, which may read all results of an owner.
    pub const HIGHEST: Self = Self(u8::MAX);

    /// Returns the tier with a number.
    pub const fn new(number: u8) -> Self {
        Self(number)
    }

    /// Returns the number of the tier.
    pub const fn number(self) -> u8 {
        self.0
    }
}

/// What a caller may read: the artifacts of an owner that need at most a tier. To everybody else they do not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clearance<'c> {
    /// The owner.
    pub owner: &'c Owner,
    /// The tier that the caller has.
    pub tier: TierLevel,
}

impl<'c> Clearance<'c> {
    /// Returns the clearance for everything of an owner.
    pub fn all_of(owner: &'c Owner) -> Self {
        Self { owner, tier: TierLevel::HIGHEST }
    }
}
