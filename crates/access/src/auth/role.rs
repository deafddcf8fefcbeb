//! Roles: what callers may use, by their groups, scopes or names.
//!
//! A role says who has it and what it allows: servers, tools, a tier and limits. A caller may use whatever one of its roles
//! allows, and of several limits the most generous applies. A caller without a role may use nothing. If the configuration has
//! no roles at all, every verified caller may use everything.

use std::collections::BTreeSet;
use std::sync::Arc;

use tidegate_gate::policy::matches;
use tidegate_gate::tier::Tier;

use tidegate_gateway::caller::Use;
use tidegate_gateway::limits::Limits;

/// A verified caller, before its roles are looked up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity {
    /// Its name: `key:NAME`, or issuer and subject.
    pub owner: String,
    /// Its groups.
    pub groups: BTreeSet<String>,
    /// The scopes of its token.
    pub scopes: BTreeSet<String>,
}

/// What a role allows, and who has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Role {
    /// Its name.
    pub name: String,
    /// Groups whose members have it.
    pub groups: Vec<String>,
    /// Scopes that give it; a token must have all of them.
    pub scopes: Vec<String>,
    /// Callers that have it, as patterns of their names.
    pub callers: Vec<String>,
    /// What its callers may call and read.
    pub tier: Tier,
    /// Patterns of the servers it allows.
    pub servers: Vec<String>,
    /// Patterns of the tools it allows, by the names that their servers gave them.
    pub tools: Vec<String>,
    /// What its callers may consume.
    pub limits: Limits,
}

impl Role {
    /// Returns a role that every verified caller has and that allows everything.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            groups: Vec::new(),
            scopes: Vec::new(),
            callers: Vec::new(),
            tier: Tier::Admin,
            servers: vec!["*".into()],
            tools: vec!["*".into()],
            limits: Limits::default(),
        }
    }

    /// Returns whether a caller has the role: by one of its groups, all of its scopes, or its name.
    fn is_of(&self, identity: &Identity) -> bool {
        let is_open = self.groups.is_empty() && self.scopes.is_empty() && self.callers.is_empty();
        let has_scopes =
            !self.scopes.is_empty() && self.scopes.iter().all(|scope| identity.scopes.contains(scope));
        is_open
            || has_scopes
            || self.groups.iter().any(|group| identity.groups.contains(group))
            || self.callers.iter().any(|pattern| matches(pattern, &identity.owner))
    }

    /// Returns whether the role allows a use. Resources have no tool name that a pattern could match, so a role for some tools
    /// of a server does not allow the server's resources.
    fn allows(&self, use_of: Use<'_>) -> bool {
        let tool = use_of.tool.unwrap_or_default();
        self.servers.iter().any(|pattern| matches(pattern, use_of.server))
            && self.tools.iter().any(|pattern| matches(pattern, tool))
    }
}

/// The roles of the configuration.
#[derive(Debug, Clone, Default)]
pub struct Roles(Vec<Arc<Role>>);

impl Roles {
    /// Returns the roles of a configuration; without any, every verified caller may use everything.
    pub fn new(roles: Vec<Role>) -> Self {
        Self(roles.into_iter().map(Arc::new).collect())
    }

    /// Returns what a caller may use.
    pub fn granted(&self, identity: &Identity) -> Granted {
        if self.0.is_empty() {
            return Granted(vec![Arc::new(Role::new(""))]);
        }
        Granted(self.0.iter().filter(|role| role.is_of(identity)).map(Arc::clone).collect())
    }

    /// Returns the scopes a client should ask for at first: those of all roles.
    pub fn scopes(&self) -> Vec<String> {
        let scopes: BTreeSet<&String> = self.0.iter().flat_map(|role| &role.scopes).collect();
        scopes.into_iter().cloned().collect()
    }

    /// Returns all the scopes that a token needs to use something of a tier: those of its own that some role names, and those of
    /// the allowing role of which it lacks the fewest. `None` if no scope allows the use.
    pub fn scopes_for(&self, use_of: Use<'_>, needed: Tier, has: &BTreeSet<String>) -> Option<Vec<&str>> {
        let missing = |role: &&Arc<Role>| role.scopes.iter().filter(|scope| !has.contains(*scope)).count();
        let fits =
            |role: &&Arc<Role>| !role.scopes.is_empty() && role.allows(use_of) && role.tier.allows(needed);
        let fitting = self.0.iter().filter(fits);
        let role = fitting.min_by_key(missing)?;
        let known = self.0.iter().flat_map(|role| &role.scopes).filter(|scope| has.contains(*scope));
        let all: BTreeSet<&str> = known.chain(&role.scopes).map(String::as_str).collect();
        Some(all.into_iter().collect())
    }
}

/// The roles of one caller.
#[derive(Debug, Clone)]
pub struct Granted(Vec<Arc<Role>>);

impl Granted {
    /// Returns the names of the roles.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|role| role.name.as_str())
    }

    /// Returns whether one of the roles allows a use.
    pub fn allows(&self, use_of: Use<'_>) -> bool {
        self.0.iter().any(|role| role.allows(use_of))
    }

    /// Returns the highest tier of the roles that allow a use. The tier of one role does not extend to the tools of another.
    pub fn tier_for(&self, use_of: Use<'_>) -> Tier {
        let allowing = self.0.iter().filter(|role| role.allows(use_of));
        allowing.map(|role| role.tier).max().unwrap_or(Tier::Read)
    }

    /// Returns the highest tier of all its roles.
    pub fn tier(&self) -> Tier {
        self.0.iter().map(|role| role.tier).max().unwrap_or(Tier::Read)
    }

    /// Returns what the caller may consume.
    pub fn limits(&self) -> Limits {
        self.0.iter().map(|role| role.limits).reduce(Limits::or).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn list(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn roles() -> Roles {
        let reader = Role {
            groups: list(&["staff"]),
            tier: Tier::Read,
            servers: list(&["github", "jira-*"]),
            tools: list(&["list_*", "search"]),
            limits: Limits { requests_per_day: Some(100), tokens_per_day: Some(5), ..Limits::default() },
            ..Role::new("reader")
        };
        let writer = Role {
            scopes: list(&["mcp:read", "mcp:write"]),
            tier: Tier::ReadWrite,
            servers: list(&["github"]),
            limits: Limits { requests_per_day: Some(1000), ..Limits::default() },
            ..Role::new("writer")
        };
        let admin = Role { callers: list(&["key:ops", "https://login.example *"]), ..Role::new("admin") };
        Roles::new(vec![reader, writer, admin])
    }

    fn identity(owner: &str, groups: &[&str], scopes: &[&str]) -> Identity {
        Identity { owner: owner.into(), groups: set(groups), scopes: set(scopes) }
    }

    #[test]
    fn a_caller_has_roles_by_groups_scopes_or_name() {
        for (owner, groups, scopes, expected) in [
            ("key:ada", &[][..], &[][..], &[][..]),
            ("key:ada", &["staff"], &[], &["reader"]),
            ("key:ada", &["mcp:write", "mcp:read"], &["staff"], &[]),
            ("key:ada", &[], &["mcp:write"], &[]),
            ("key:ada", &["staff"], &["mcp:write", "mcp:read"], &["reader", "writer"]),
            ("key:ops", &[], &[], &["admin"]),
            ("key:ops2", &[], &[], &[]),
            ("https://login.example ada", &[], &[], &["admin"]),
            ("https://login.example.evil ada", &[], &[], &[]),
        ] {
            let granted = roles().granted(&identity(owner, groups, scopes));
            assert_eq!(granted.names().collect::<Vec<_>>(), expected, "{owner} {groups:?} {scopes:?}");
        }
    }

    #[test]
    fn a_caller_may_use_what_one_of_its_roles_allows() {
        let may = |groups: &[&str], scopes: &[&str], server, tool| {
            roles().granted(&identity("x", groups, scopes)).allows(Use { server, tool })
        };
        assert!(may(&["staff"], &[], "github", Some("list_issues")));
        assert!(may(&["staff"], &[], "jira-cloud", Some("search")));
        assert!(!may(&["staff"], &[], "github", Some("delete_repo")));
        assert!(!may(&["staff"], &[], "payroll", Some("search")));
        assert!(!may(&["staff"], &[], "github", None), "a role for some tools does not allow resources");
        assert!(!may(&[], &[], "github", Some("search")), "without a role nothing is allowed");
        assert!(may(&[], &["mcp:read", "mcp:write"], "github", None));
        assert!(!may(&[], &["mcp:read", "mcp:write"], "jira-cloud", Some("search")));
        let granted = roles().granted(&identity("x", &["staff"], &["mcp:read", "mcp:write"]));
        let tier = |server, tool| granted.tier_for(Use { server, tool: Some(tool) });
        assert_eq!((tier("github", "create_issue"), tier("jira-x", "search")), (Tier::ReadWrite, Tier::Read));
        assert_eq!(granted.limits(), Limits { requests_per_day: Some(1000), ..Limits::default() });
        let open = Roles::default().granted(&identity("x", &[], &[]));
        assert!(
            open.allows(Use { server: "any", tool: None })
                && open.tier_for(Use { server: "any", tool: None }) == Tier::Admin
        );
    }

    /// The reader may use every tool at a low tier, the searcher one tool at a high tier.
    #[test]
    fn the_tier_of_one_role_does_not_extend_to_the_tools_of_another() {
        let reader = Role { tier: Tier::Read, ..Role::new("reader") };
        let searcher = Role { tools: list(&["search"]), ..Role::new("searcher") };
        let granted = Roles::new(vec![reader, searcher]).granted(&identity("x", &[], &[]));
        let tier = |tool| granted.tier_for(Use { server: "github", tool: Some(tool) });
        assert_eq!((tier("delete_repo"), tier("search")), (Tier::Read, Tier::Admin));
    }

    #[test]
    fn a_challenge_names_all_needed_scopes() {
        let write = Use { server: "github", tool: Some("create_issue") };
        let roles = roles();
        assert_eq!(roles.scopes_for(write, Tier::Read, &set(&[])), Some(vec!["mcp:read", "mcp:write"]));
        assert_eq!(
            roles.scopes_for(write, Tier::Read, &set(&["mcp:read", "other"])),
            Some(vec!["mcp:read", "mcp:write"])
        );
        assert_eq!(roles.scopes_for(Use { server: "jira-x", tool: None }, Tier::Read, &set(&[])), None);
        assert_eq!(roles.scopes(), ["mcp:read", "mcp:write"]);
        assert_eq!(
            roles.scopes_for(write, Tier::Admin, &set(&[])),
            None,
            "no role with scopes has this tier"
        );
        let reader = Role { scopes: list(&["mcp:read"]), tier: Tier::Read, ..Role::new("reader") };
        let writer = Role { scopes: list(&["mcp:write"]), tier: Tier::ReadWrite, ..Role::new("writer") };
        let by_tier = Roles::new(vec![reader, writer]);
        let has = set(&["mcp:read"]);
        assert_eq!(by_tier.scopes_for(write, Tier::ReadWrite, &has), Some(vec!["mcp:read", "mcp:write"]));
    }
}
