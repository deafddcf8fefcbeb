//! How much a caller may do, and the hook that decides it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// What a caller may do; each tier may do what those before it may.
///
/// ```
/// use tidegate_sdk::tier::Tier;
///
/// assert!(Tier::Admin.allows(Tier::Read));
/// assert_eq!(
///     "write".parse::<Tier>().unwrap_err().to_string(),
///     "tier must be \"read\", \"read_write\" or \"admin\", not \"write\""
/// );
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Look at things.
    Read,
    /// Change things.
    ReadWrite,
    /// Everything.
    Admin,
}

/// A tier that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("tier must be \"read\", \"read_write\" or \"admin\", not {given}")]
pub struct UnknownTier {
    /// What was given, as JSON.
    pub given: String,
}

impl Tier {
    /// Every tier, lowest first.
    pub const ALL: [Self; 3] = [Self::Read, Self::ReadWrite, Self::Admin];

    /// Returns its name as it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::ReadWrite => "read_write",
            Self::Admin => "admin",
        }
    }

    /// Returns whether who has this tier may use what needs another.
    pub fn allows(self, needed: Self) -> bool {
        self >= needed
    }

    fn of(value: &Value) -> Result<Self, UnknownTier> {
        let named = Self::ALL.into_iter().find(|tier| value.as_str() == Some(tier.name()));
        named.ok_or_else(|| UnknownTier { given: crate::shown(&value.to_string()).to_owned() })
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for Tier {
    type Err = UnknownTier;

    fn from_str(text: &str) -> Result<Self, UnknownTier> {
        Self::of(&text.into())
    }
}

impl<'de> Deserialize<'de> for Tier {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::of(&Value::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

/// Decides what a caller may do. A closure from a name to a [`Tier`] is one, too.
///
/// ```
/// use tidegate_sdk::tier::{Permission, Tier};
///
/// struct Admins(Vec<String>);
///
/// impl Permission for Admins {
///     fn tier_of(&self, caller: &str) -> Tier {
///         if self.0.iter().any(|admin| admin == caller) { Tier::Admin } else { Tier::Read }
///     }
/// }
///
/// assert!(!Admins(vec!["ada".into()]).tier_of("bob").allows(Tier::ReadWrite));
/// ```
pub trait Permission {
    /// Returns the tier of a caller; everybody may do everything unless this is written anew.
    fn tier_of(&self, caller: &str) -> Tier {
        let _ = caller;
        Tier::Admin
    }
}

/// Allows everything to everybody: for a server with one user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AllowAll;

impl Permission for AllowAll {}

impl<F: Fn(&str) -> Tier> Permission for F {
    fn tier_of(&self, caller: &str) -> Tier {
        self(caller)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tiers_are_ordered() {
        assert!(Tier::ALL.is_sorted());
        assert!(Tier::ReadWrite.allows(Tier::ReadWrite) && Tier::ReadWrite.allows(Tier::Read));
        assert!(!Tier::ReadWrite.allows(Tier::Admin));
    }

    #[test]
    fn names_are_read_and_written_alike() {
        for (tier, name) in Tier::ALL.into_iter().zip(["read", "read_write", "admin"]) {
            assert_eq!(serde_json::to_value(tier).unwrap(), json!(name));
            assert_eq!(serde_json::from_value::<Tier>(json!(name)).unwrap(), tier);
            assert_eq!((name.parse(), tier.to_string()), (Ok(tier), name.to_owned()));
        }
    }

    #[test]
    fn other_names_are_told_the_three() {
        for (given, shown) in [(json!("Admin"), "\"Admin\""), (json!(2), "2"), (json!(""), "\"\"")] {
            let error = serde_json::from_value::<Tier>(given).unwrap_err().to_string();
            assert_eq!(error, format!("tier must be \"read\", \"read_write\" or \"admin\", not {shown}"));
        }
    }

    #[test]
    fn a_closure_decides_and_the_default_allows() {
        let decide = |caller: &str| if caller == "ada" { Tier::Admin } else { Tier::Read };
        assert_eq!((decide.tier_of("ada"), decide.tier_of("bob")), (Tier::Admin, Tier::Read));
        assert_eq!(AllowAll.tier_of("anybody"), Tier::Admin);
    }
}
