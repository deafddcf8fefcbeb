//! Who asks: the client as it introduced itself, and the profile it gets.
//!
//! Until 2025-11-25 a client introduces itself once, in `initialize`; since 2026-07-28 in every request.

use std::sync::{Arc, LazyLock};

use memchr::memmem::Finder;
use tidegate_core::envelope::Handle;

use crate::policy::matches;
use crate::profile::{OutputSchema, Profile, ProfileRules};
use crate::raw::{self, ByteRange};
use crate::session::SessionMeter;
use crate::tools::save;

/// The key under which a 2026-07-28 request names its protocol version.
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// Built once, because every request is searched for the key.
static VERSION_FINDER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(VERSION));
/// The key under which a 2026-07-28 request names its client.
const CLIENT: &str = "io.modelcontextprotocol/clientInfo";

/// The name of a caller, which is never empty.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CallerId(String);

impl CallerId {
    /// Returns the id for a name; `None` for a name without a visible character, which is nobody's.
    ///
    /// ```
    /// # use tidegate_gate::CallerId;
    /// assert_eq!(CallerId::new("ada").unwrap().as_str(), "ada");
    /// assert_eq!(CallerId::new(" "), None);
    /// ```
    pub fn new(name: impl Into<String>) -> Option<Self> {
        let name = name.into();
        (!name.trim().is_empty()).then_some(Self(name))
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Who a caller is to the store. What is kept for one principal is out of reach for every other.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum Principal {
    /// The user who runs this process: the client on stdio, or whoever sends the token that this user has set.
    #[default]
    User,
    /// A caller whose name was verified.
    Named(CallerId),
    /// An unnamed caller with a session: a connection, or an MCP session over HTTP.
    Session(String),
    /// An unnamed caller whose requests belong to no session, as of protocol version 2026-07-28 over HTTP. Its results are never
    /// listed. Their ids have 130 random bits, and only a caller that knows one can read the result.
    Stateless,
}

impl Principal {
    /// Returns the name of the caller; empty for an unnamed one and for the user of this process.
    pub fn name(&self) -> &str {
        match self {
            Self::Named(id) => id.as_str(),
            _ => "",
        }
    }
}

/// A client of this gate.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The name that the client gave; empty before it gave one.
    pub client: String,
    /// What the client can take.
    pub profile: Profile,
    /// Whether its requests are of the 2026-07-28 protocol version, where every result carries its type.
    pub modern: bool,
    /// Whose results it can read.
    pub principal: Principal,
    /// The name of our tool for this client.
    pub query_tool: &'static str,
    /// The name of our second tool for this client, where it is offered.
    pub save_tool: &'static str,
    /// What its session was sent; `None` if its requests belong to no session, so that they count for the caller.
    pub session: Option<Arc<SessionMeter>>,
    /// What the settings for this client do with the `outputSchema` of tools; `None` if they do not say.
    pub output_schema_rule: Option<OutputSchema>,
    /// Settings for clients, by pattern of their name; of several that match, the first wins.
    rules: Vec<(String, ProfileRules)>,
}

impl Caller {
    /// Returns a client that has not introduced itself; `rules` are the user's settings for clients.
    pub fn unknown(rules: Vec<(String, ProfileRules)>) -> Self {
        let mut caller = Self {
            client: String::new(),
            profile: Profile::strictest(),
            modern: false,
            principal: Principal::User,
            query_tool: Handle::DEFAULT_QUERY_TOOL,
            save_tool: save::NAME,
            session: None,
            output_schema_rule: None,
            rules,
        };
        caller.name("");
        caller
    }

    /// Returns a client that has not introduced itself, under the same settings.
    pub fn forgotten(&self) -> Self {
        Self::unknown(self.rules.clone())
    }

    /// Sets the name of the client, and the profile that goes with it.
    pub fn name(&mut self, client: &str) {
        let matching = self.rules.iter().filter(|(pattern, _)| matches(pattern, client));
        let matching = matching.map(|(_, rules)| rules);
        self.output_schema_rule = matching.clone().find_map(|rules| rules.output_schema);
        self.profile = Profile::under(client, matching);
        self.client = client.chars().take(64).collect();
    }

    /// Returns the client as a request introduces it; `None` if the request says nothing new. A client introduces itself
    /// in `initialize`, or, since 2026-07-28, in every request.
    pub fn renewed(&self, method: &str, json: &[u8], params: &ByteRange) -> Option<Self> {
        if method == "initialize" {
            return self.introduced(false, json, raw::member(json, params, "clientInfo"));
        }
        // Most requests of the earlier protocol versions have no `_meta`, or one without this key.
        let bytes = &json[params.clone()];
        VERSION_FINDER.find(bytes)?;
        let meta = raw::member(json, params, "_meta")?;
        raw::member(json, &meta, VERSION)?;
        self.introduced(true, json, raw::member(json, &meta, CLIENT))
    }

    fn introduced(&self, modern: bool, json: &[u8], info: Option<ByteRange>) -> Option<Self> {
        let name = info.and_then(|info| raw::member(json, &info, "name"));
        let name = name.and_then(|name| raw::text(json, &name)).filter(|name| *name != self.client);
        if modern == self.modern && name.is_none() {
            return None;
        }
        let mut renewed = Self { modern, ..self.clone() };
        if let Some(name) = name {
            renewed.name(&name);
        }
        Some(renewed)
    }
}
