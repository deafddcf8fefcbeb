//! Who asks: what a client has said of itself, and how it is treated.

use std::sync::LazyLock;

use memchr::memmem::Finder;
use tidegate_core::envelope::Handle;

use crate::policy::matches;
use crate::profile::{Profile, ProfileRules};
use crate::raw::{self, Place};

/// The key under which a 2026-07-28 request names its protocol version.
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// Looked for in every request, so made once.
static VERSION_FINDER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(VERSION));
/// The key under which a 2026-07-28 request names its client.
const CLIENT: &str = "io.modelcontextprotocol/clientInfo";

/// A client of this gate.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The name it gives itself; empty as long as it has not.
    pub client: String,
    /// How it is treated.
    pub profile: Profile,
    /// Whether its requests are of the 2026-07-28 revision, where every result says its type.
    pub modern: bool,
    /// Who asks, where one process serves several; empty where there is only one.
    pub who: String,
    /// What our tool is called for it.
    pub reader: &'static str,
    /// What is set for clients, by pattern of their name; of several that match, the first wins.
    set: Vec<(String, ProfileRules)>,
}

impl Caller {
    /// Returns a client that has not said who it is; `set` is what the user has set for clients.
    pub fn unknown(set: Vec<(String, ProfileRules)>) -> Self {
        let mut caller = Self {
            client: String::new(),
            profile: Profile::strictest(),
            modern: false,
            who: String::new(),
            reader: Handle::READER,
            set,
        };
        caller.name("");
        caller
    }

    /// Returns a client that has not said who it is, where the same is set.
    pub fn forgotten(&self) -> Self {
        Self::unknown(self.set.clone())
    }

    /// Notes the name the client gives itself.
    pub fn name(&mut self, client: &str) {
        let matching = self.set.iter().filter(|(pattern, _)| matches(pattern, client));
        self.profile =
            matching.rev().fold(Profile::of_client(client), |profile, (_, rules)| rules.over(profile));
        self.client = client.chars().take(64).collect();
    }

    /// Returns the client as a request makes it known, where that is something new: in `initialize`, or, since
    /// 2026-07-28, in every request.
    pub fn renewed(&self, method: &str, json: &[u8], params: &Place) -> Option<Self> {
        if method == "initialize" {
            return self.introduced(false, json, raw::member(json, params, "clientInfo"));
        }
        // Most requests of the earlier revisions have no `_meta`, or one without this key.
        let bytes = &json[params.clone()];
        VERSION_FINDER.find(bytes)?;
        let meta = raw::member(json, params, "_meta")?;
        raw::member(json, &meta, VERSION)?;
        self.introduced(true, json, raw::member(json, &meta, CLIENT))
    }

    fn introduced(&self, modern: bool, json: &[u8], info: Option<Place>) -> Option<Self> {
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
