//! What the table expects: who has which roles, what each tool requires, and the few rules that follow from both.
//!
//! The configuration of the gateway is written from the same values. The rules themselves are written here once more, on
//! purpose: what the product computes must not be what it is compared with.

/// A tier, lowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Tier {
    Read,
    ReadWrite,
    Admin,
}

impl Tier {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::ReadWrite => "read_write",
            Self::Admin => "admin",
        }
    }
}

/// A tool of a server, and the tier that it requires.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tool {
    pub(super) server: &'static str,
    pub(super) name: &'static str,
    pub(super) tier: Tier,
}

impl Tool {
    pub(super) fn listed(self) -> String {
        format!("{}__{}", self.server, self.name)
    }
}

/// A server, and how callers share it.
pub(super) struct Server {
    pub(super) name: &'static str,
    pub(super) sharing: &'static str,
    /// How many resources it lists; more than a page for one of them.
    pub(super) resources: usize,
    pub(super) tools: &'static [(&'static str, Tier)],
    /// The other server whose results references may pass to its tools.
    pub(super) references_from: Option<&'static str>,
}

use Tier::{Admin, Read, ReadWrite};

pub(super) static SERVERS: [Server; 3] = [
    Server {
        name: "one",
        sharing: "auto",
        resources: 2,
        tools: &[
            ("list_rows", Read),
            ("list_secrets", Admin),
            ("make_row", ReadWrite),
            ("drop_all", Admin),
            ("report", Read),
        ],
        references_from: None,
    },
    Server {
        name: "two",
        sharing: "shared",
        resources: 1100,
        tools: &[
            ("list_rows", Read),
            ("list_users", ReadWrite),
            ("make_row", Read),
            ("tell", Read),
            ("purge", Admin),
        ],
        references_from: None,
    },
    Server {
        name: "three",
        sharing: "caller",
        resources: 2,
        tools: &[("list_rows", Read), ("report", ReadWrite), ("wipe", Admin)],
        references_from: Some("one"),
    },
];

/// The server whose list of resources has several pages.
pub(super) const LONG_SERVER: &str = "two";

/// Every server has this prompt.
pub(super) const PROMPT: &str = "greet";

pub(super) fn tools() -> impl Iterator<Item = Tool> {
    SERVERS
        .iter()
        .flat_map(|server| server.tools.iter().map(|&(name, tier)| Tool { server: server.name, name, tier }))
}

/// What one role gives.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grant {
    pub(super) tier: Tier,
    pub(super) servers: &'static [&'static str],
    pub(super) tools: &'static [&'static str],
}

/// How a caller proves who it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Proof {
    Key,
    /// A token of the first or second issuer. Its subject is the name that another caller's key has.
    Token(usize),
}

/// A caller.
#[derive(Debug, Clone, Copy)]
pub(super) struct Person {
    pub(super) name: &'static str,
    pub(super) proof: Proof,
    pub(super) grants: &'static [Grant],
}

const ALL: &[&str] = &["*"];
const EVERYTHING: Grant = Grant { tier: Admin, servers: ALL, tools: ALL };
const READING: Grant = Grant { tier: Read, servers: ALL, tools: ALL };
const READING_TWO: Grant = Grant { tier: Read, servers: &["one", "two"], tools: ALL };

pub(super) static PEOPLE: [Person; 9] = [
    Person { name: "reader", proof: Proof::Key, grants: &[READING] },
    Person { name: "admin", proof: Proof::Key, grants: &[EVERYTHING] },
    // May do the same as the one before, so that only whose a thing is tells them apart.
    Person { name: "twin", proof: Proof::Key, grants: &[EVERYTHING] },
    Person {
        name: "single",
        proof: Proof::Key,
        grants: &[Grant { tier: ReadWrite, servers: &["two"], tools: ALL }],
    },
    Person {
        name: "lists",
        proof: Proof::Key,
        grants: &[Grant { tier: Admin, servers: ALL, tools: &["list_*", "greet"] }],
    },
    // The tier of one role does not extend to the tools of another.
    Person {
        name: "mixed",
        proof: Proof::Key,
        grants: &[READING, Grant { tier: Admin, servers: &["thr*"], tools: &["wipe"] }],
    },
    Person { name: "nobody", proof: Proof::Key, grants: &[] },
    Person { name: "token", proof: Proof::Token(0), grants: &[READING_TWO] },
    Person { name: "other-token", proof: Proof::Token(1), grants: &[READING_TWO] },
];

/// The subject of both tokens.
pub(super) const SUBJECT: &str = "key:admin";

fn matches(patterns: &[&str], name: &str) -> bool {
    patterns.iter().any(|pattern| match pattern.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => *pattern == name,
    })
}

impl Person {
    /// Whether it may use a tool or prompt that requires a tier.
    pub(super) fn may(self, server: &str, name: &str, tier: Tier) -> bool {
        let gives = |grant: &&Grant| matches(grant.servers, server) && matches(grant.tools, name);
        self.grants.iter().filter(gives).any(|grant| grant.tier >= tier)
    }

    pub(super) fn may_call(self, tool: Tool) -> bool {
        self.may(tool.server, tool.name, tool.tier)
    }

    pub(super) fn may_use_prompt(self, server: &str) -> bool {
        self.may(server, PROMPT, Read)
    }

    /// Whether it may use the resources of a server; roles for some tools give none.
    pub(super) fn may_use_resources(self, server: &str) -> bool {
        self.may(server, "", Read)
    }

    /// The most protected tool of a server that it may call.
    pub(super) fn best_tool(self, server: &str) -> Option<Tool> {
        tools().filter(|tool| tool.server == server && self.may_call(*tool)).max_by_key(|tool| tool.tier)
    }

    /// A tool that it may call and that everybody with a role for it may.
    pub(super) fn plain_tool(self) -> Option<Tool> {
        tools().find(|tool| tool.tier == Read && self.may_call(*tool))
    }

    /// The same caller whose roles give the lowest tier only.
    pub(super) fn demoted(self) -> Self {
        let grants = self.grants.iter().map(|grant| Grant { tier: Read, ..*grant }).collect();
        Self { grants: Vec::leak(grants), ..self }
    }
}

/// Whether results of one server may be passed to the tools of another by reference.
pub(super) fn may_refer(from: &str, to: &str) -> bool {
    let to = SERVERS.iter().find(|server| server.name == to).unwrap();
    from == to.name || to.references_from == Some(from)
}
