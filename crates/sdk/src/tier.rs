//! Permission tiers, and the hook that assigns one to each caller.
//!
//! `#[heavy(tier = ...)]` sets the tier a tool requires. The gate asks [`Permission`] on every call, whenever a
//! continuation token is used, and when it lists tools.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::text::excerpt;

/// A permission level; each tier includes the ones before it.
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
    /// May read.
    Read,
    /// May read and write.
    ReadWrite,
    /// May do everything.
    Admin,
}

/// The error for an unknown tier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("tier must be \"read\", \"read_write\" or \"admin\", not {given}")]
pub struct UnknownTier {
    /// The beginning of the given value, as JSON.
    pub given: String,
}

impl Tier {
    /// All tiers, lowest first.
    pub const ALL: [Self; 3] = [Self::Read, Self::ReadWrite, Self::Admin];

    /// Returns the name, as in `#[heavy(tier = ...)]`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::ReadWrite => "read_write",
            Self::Admin => "admin",
        }
    }

    /// Returns whether a caller with this tier may use a tool that requires `needed`.
    pub fn allows(self, needed: Self) -> bool {
        self >= needed
    }

    fn from_value(value: &Value) -> Result<Self, UnknownTier> {
        let tier = Self::ALL.into_iter().find(|tier| value.as_str() == Some(tier.name()));
        tier.ok_or_else(|| UnknownTier { given: excerpt(&value.to_string()).to_owned() })
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
        Self::from_value(&text.into())
    }
}

impl<'de> Deserialize<'de> for Tier {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_value(&Value::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

/// Decides the tier of a caller.
///
/// A closure from the caller's name to a [`Tier`] implements it.
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
    /// Returns the tier of a caller; by default everyone is an admin.
    fn tier_of(&self, caller: &str) -> Tier {
        let _ = caller;
        Tier::Admin
    }
}

/// Grants every caller the admin tier, for a server with one user.
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
    fn names_round_trip() {
        for (tier, name) in Tier::ALL.into_iter().zip(["read", "read_write", "admin"]) {
            assert_eq!(serde_json::to_value(tier).unwrap(), json!(name));
            assert_eq!(serde_json::from_value::<Tier>(json!(name)).unwrap(), tier);
            assert_eq!((name.parse(), tier.to_string()), (Ok(tier), name.to_owned()));
        }
    }

    #[test]
    fn the_error_lists_all_tiers() {
        for (given, quoted) in [(json!("Admin"), "\"Admin\""), (json!(2), "2"), (json!(""), "\"\"")] {
            let error = serde_json::from_value::<Tier>(given).unwrap_err().to_string();
            assert_eq!(error, format!("tier must be \"read\", \"read_write\" or \"admin\", not {quoted}"));
        }
    }

    #[test]
    fn a_closure_decides_and_the_default_is_admin() {
        let decide = |caller: &str| if caller == "ada" { Tier::Admin } else { Tier::Read };
        assert_eq!((decide.tier_of("ada"), decide.tier_of("bob")), (Tier::Admin, Tier::Read));
        assert_eq!(AllowAll.tier_of("anybody"), Tier::Admin);
    }
}
