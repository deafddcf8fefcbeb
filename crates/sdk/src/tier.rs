//! Permission tiers, and the hook that assigns one to each caller.
//!
//! `#[heavy(tier = ...)]` or [`Tidegate::tier`](crate::Tidegate::tier) sets the tier a tool requires. The gate asks
//! [`Permission`] on every call, whenever a continuation token is used, and when it lists tools.

pub use tidegate_gate::tier::{Tier, UnknownTier};

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

    /// Returns whether a caller may see and call a tool, and read its results; by default if its tier is the one that the
    /// tool needs, or a higher one.
    ///
    /// ```
    /// use tidegate_sdk::tier::{Permission, Tier};
    ///
    /// /// Everybody may read; the tools of a department are its own.
    /// struct Departments;
    ///
    /// impl Permission for Departments {
    ///     fn may_use(&self, caller: &str, tool: &str, _: Tier) -> bool {
    ///         tool.starts_with("read_") || caller.split('/').next() == tool.split('.').next()
    ///     }
    /// }
    ///
    /// assert!(Departments.may_use("sales/ada", "sales.forecast", Tier::Read));
    /// assert!(!Departments.may_use("sales/ada", "payroll.list", Tier::Read));
    /// ```
    fn may_use(&self, caller: &str, tool: &str, needed: Tier) -> bool {
        let _ = tool;
        self.tier_of(caller).allows(needed)
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
    use super::*;

    #[test]
    fn a_closure_decides_and_the_default_is_admin() {
        let decide = |caller: &str| if caller == "ada" { Tier::Admin } else { Tier::Read };
        assert_eq!((decide.tier_of("ada"), decide.tier_of("bob")), (Tier::Admin, Tier::Read));
        assert_eq!(AllowAll.tier_of("anybody"), Tier::Admin);
    }
}
