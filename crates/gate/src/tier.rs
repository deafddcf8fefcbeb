//! Permission tiers: what a tool requires, and what a caller has.
//!
//! A tool above the tier of a caller is not listed to it and cannot be called, and its results cannot be read.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use tidegate_store::TierLevel;

use crate::choice;

/// A permission level; each tier includes the ones before it.
///
/// ```
/// # use tidegate_gate::tier::Tier;
/// assert!(Tier::Admin.allows(Tier::Read));
/// assert_eq!(
///     "write".parse::<Tier>().unwrap_err().to_string(),
///     "tier must be \"read\", \"read_write\" or \"admin\", not \"write\""
/// );
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
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

/// Characters of an unknown tier that an error shows.
const MAX_GIVEN_CHARS: usize = 60;

impl Tier {
    /// All tiers, lowest first.
    pub const ALL: [Self; 3] = [Self::Read, Self::ReadWrite, Self::Admin];
    /// The names of the tiers in the configuration, in the same order.
    pub const NAMES: [&'static str; 3] = ["read", "read_write", "admin"];

    /// Returns the tier of a name.
    pub fn named(name: &str) -> Option<Self> {
        choice::named(Self::NAMES, Self::ALL, name)
    }

    /// Returns the name, as in the configuration and in `#[heavy(tier = ...)]`.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// Returns whether a caller with this tier may use a tool that requires `needed`.
    pub fn allows(self, needed: Self) -> bool {
        self >= needed
    }

    /// Returns the tier as stores number it. The numbers are stored: they never change, and leave room between them.
    pub fn level(self) -> TierLevel {
        match self {
            Self::Read => TierLevel::new(0),
            Self::ReadWrite => TierLevel::new(100),
            Self::Admin => TierLevel::new(200),
        }
    }

    fn from_value(value: &Value) -> Result<Self, UnknownTier> {
        let given = || value.to_string().chars().take(MAX_GIVEN_CHARS).collect();
        value.as_str().and_then(Self::named).ok_or_else(|| UnknownTier { given: given() })
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

/// Says that a caller may not call a tool.
pub fn refusal(tool: &str, needed: Tier, has: Tier) -> String {
    format!(
        "{tool} needs the tier {needed}, and this caller has {has}. Nothing was run. Use a tool from tools/list, or ask \
         the administrator of the server for the tier."
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tiers_are_ordered() {
        assert!(Tier::ALL.is_sorted() && Tier::ALL.is_sorted_by_key(|tier| tier.level()));
        assert_eq!(Tier::ALL.map(|tier| tier.level().number()), [0, 100, 200], "as they are stored");
        assert!(Tier::ReadWrite.allows(Tier::ReadWrite) && Tier::ReadWrite.allows(Tier::Read));
        assert!(!Tier::ReadWrite.allows(Tier::Admin));
    }

    #[test]
    fn names_round_trip() {
        for (tier, name) in Tier::ALL.into_iter().zip(Tier::NAMES) {
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
}
