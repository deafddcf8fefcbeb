//! The gate inside a server: [`Tidegate`] wraps any `ServerHandler` of rmcp.
//!
//! Every caller has its own gate, and is a separate owner in the shared store, so that no caller can read another's
//! results. There is always an owner: on stdio it is the user who runs the server, a named caller is its own owner, and an
//! unnamed caller is isolated or refused.

mod handler;
mod requests;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::ProtocolVersion;
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use tidegate_gate::policy::{Policies, Rules};
use tidegate_gate::profile::ProfileRules;
use tidegate_gate::{
    AlertLimits, Alerts, CallerId, Gate, Observer, Principal, SessionMeter, Setup, StoreLocation, UserStore,
};
use tidegate_query::{Limits, Queries, Worker};
use tidegate_store::{ArtifactId, Call, Clock};

use crate::artifact::Artifacts;
use crate::dispatcher::Dispatcher;
use crate::sweeper::Sweeper;
use crate::tier::{AllowAll, Permission, Tier};
use crate::totals::{Totals, log_line, say};

/// Returns the caller of a request; written by the author of the server.
type WhoCalls = Arc<dyn Fn(&RequestContext<RoleServer>) -> Option<CallerId> + Send + Sync>;

/// What happens to a caller without a name: one for which [`Tidegate::callers`] returns nothing, or, without that, any
/// client over HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unnamed {
    /// It is served, but isolated: only its own connection or MCP session can read what was stored for it. If nothing
    /// connects its requests, as with protocol version 2026-07-28 over HTTP, its results are never listed, and only a
    /// caller that knows the id of a result, which has 130 random bits, can read it.
    #[default]
    Isolated,
    /// Its requests are answered with an error.
    Refused,
}

/// Returns whether the caller with this name may use the tool with this name.
type MayUse = Arc<dyn Fn(&str, &str) -> bool + Send + Sync>;

/// The program that runs queries in its own process. If it is not installed, `jq` is not available, and neither is `sql`
/// without the feature `sql`; other views run in this process.
const WORKER: &str = "tidegate";
/// The header with the MCP session of a request over HTTP.
const SESSION_HEADER: &str = "mcp-session-id";
/// The name of a server that did not set one.
const UNSET_NAME: &str = "rmcp";
/// The maximum number of callers whose gate stays open. Closing a gate loses nothing: results are in the store.
const MAX_GATES: usize = 1000;

/// A server with the gate inside: a result that fits its budget is sent unchanged. A larger one is stored, a smaller answer
/// is sent instead, and any part of the result can be read without running the tool again.
///
/// It is a `ServerHandler` of rmcp, like the server itself: `Tidegate::wrap(server).serve(stdio())`.
pub struct Tidegate<S> {
    server: S,
    artifacts: Artifacts,
    policies: Policies,
    clients: Vec<(String, ProfileRules)>,
    permission: Arc<dyn Permission + Send + Sync>,
    /// Returns whether a caller may use a tool, in addition to its tier.
    allowed: Option<MayUse>,
    who: Option<WhoCalls>,
    unnamed: Unnamed,
    /// Identifies the connection of an unnamed caller that is not on HTTP.
    connection: String,
    gates: Mutex<HashMap<Principal, Arc<Gate>>>,
    sweeper: Sweeper,
    dispatcher: Option<Dispatcher>,
    session: Session,
    alerts: Arc<Alerts>,
}

/// The totals of a session, logged at each call and when it ends.
struct Session {
    quiet: bool,
    totals: Arc<Totals>,
    /// What the session was sent.
    meter: Arc<SessionMeter>,
}

impl Drop for Session {
    fn drop(&mut self) {
        if !self.quiet && self.totals.calls() > 0 {
            say(&format!("session: {}", self.totals));
        }
    }
}

impl<S: ServerHandler> Tidegate<S> {
    /// Wraps a server in the gate. Like `tidegate run`, it keeps results in `$TIDEGATE_HOME`, or in the user's data folder
    /// if that is not set.
    pub fn wrap(server: S) -> Self {
        Self {
            server,
            artifacts: Artifacts::default(),
            policies: Policies::default(),
            clients: Vec::new(),
            permission: Arc::new(AllowAll),
            allowed: None,
            who: None,
            unnamed: Unnamed::default(),
            connection: ArtifactId::random_shared().to_string(),
            gates: Mutex::default(),
            sweeper: Sweeper::default(),
            dispatcher: None,
            session: Session { quiet: false, totals: Arc::default(), meter: Arc::default() },
            alerts: Arc::default(),
        }
    }

    /// Keeps results in a folder, or in memory.
    #[must_use]
    pub fn store_in(self, place: StoreLocation) -> Self {
        self.artifacts(&Artifacts::store_in(place))
    }

    /// Keeps results where the server itself keeps artifacts, so that clients can read those artifacts too.
    #[must_use]
    pub fn artifacts(self, artifacts: &Artifacts) -> Self {
        Self { artifacts: artifacts.clone(), ..self }
    }

    /// Sets the clock by which results and tokens expire, for tests. Call it after [`Self::store_in`] or
    /// [`Self::artifacts`].
    #[must_use]
    pub fn clock(self, clock: Arc<dyn Clock>) -> Self {
        Self { artifacts: self.artifacts.with_clock(clock), ..self }
    }

    /// Sets rules for all tools; `#[heavy]` on a tool wins over them.
    #[must_use]
    pub fn defaults(mut self, rules: Rules) -> Self {
        self.policies.defaults = rules.over(&self.policies.defaults);
        self
    }

    /// Sets rules for the tools whose name matches a pattern; `*` matches any characters. The rules win over `#[heavy]`.
    #[must_use]
    pub fn tools(mut self, pattern: &str, rules: Rules) -> Self {
        self.policies.add_tools(pattern, rules);
        self
    }

    /// Sets what clients can handle, by a pattern for the name they send; if several match, the first wins. A client that
    /// is marked as a program gets a whole result if it asks for it.
    #[must_use]
    pub fn clients(mut self, pattern: &str, rules: ProfileRules) -> Self {
        self.clients.push((pattern.to_owned(), rules));
        self
    }

    /// Sets how callers are identified: no caller can read another's results, and a token is valid only for its own caller.
    /// `None` is an unnamed caller, see [`Unnamed`].
    ///
    /// Without it, a client on stdio is the user who runs the server, and clients over HTTP are unnamed.
    #[must_use]
    pub fn callers(
        self,
        who: impl Fn(&RequestContext<RoleServer>) -> Option<CallerId> + Send + Sync + 'static,
    ) -> Self {
        Self { who: Some(Arc::new(who)), ..self }
    }

    /// Sets what happens to callers without a name.
    #[must_use]
    pub fn unnamed(self, unnamed: Unnamed) -> Self {
        Self { unnamed, ..self }
    }

    /// Sets who may call what; it is checked at every call and whenever a token is used.
    #[must_use]
    pub fn permission(self, permission: impl Permission + Send + Sync + 'static) -> Self {
        Self { permission: Arc::new(permission), ..self }
    }

    /// Sets the tier that tools need, by a pattern for their name; it wins over `#[heavy(tier = ...)]`.
    #[must_use]
    pub fn tier(self, pattern: &str, tier: Tier) -> Self {
        self.tools(pattern, Rules { tier: Some(tier), ..Rules::default() })
    }

    /// Decides for each caller and tool, in addition to the tier, whether the caller may see and call the tool and read its
    /// results: `allow_if(|caller, tool| ...)`. The name of an unnamed caller is empty.
    #[must_use]
    pub fn allow_if(self, allowed: impl Fn(&str, &str) -> bool + Send + Sync + 'static) -> Self {
        Self { allowed: Some(Arc::new(allowed)), ..self }
    }

    /// Adds a tool that fronts all others: `{"tool": ..., "arguments": ...}`.
    #[must_use]
    pub fn dispatcher(self, dispatcher: Dispatcher) -> Self {
        Self { dispatcher: Some(dispatcher), ..self }
    }

    /// Limits the bytes of all answers of a session: they shrink as the limit nears, and then each one has at most 400
    /// bytes and says so. The calls of a client without sessions (2026-07-28 over HTTP) count for its caller; the count
    /// starts again after an hour without a call.
    #[must_use]
    pub fn session_max_bytes(mut self, bytes: u64) -> Self {
        self.policies.defaults.session_max_bytes = Some(bytes);
        self
    }

    /// Sets the sizes above which an answer, a session or the store is reported on stderr.
    #[must_use]
    pub fn alerts(self, limits: AlertLimits) -> Self {
        Self { alerts: Arc::new(Alerts::new(limits)), ..self }
    }

    /// Logs nothing: no line for each call, no totals, no alerts.
    #[must_use]
    pub fn quiet(mut self) -> Self {
        self.session.quiet = true;
        self
    }

    /// Returns what the session has cost so far.
    pub fn totals(&self) -> Arc<Totals> {
        Arc::clone(&self.session.totals)
    }

    /// Returns the observer of ledger entries: it updates the totals, logs calls and reports alerts.
    fn observer(&self, keep: Arc<UserStore>) -> Observer {
        let (totals, alerts, quiet) = (self.totals(), Arc::clone(&self.alerts), self.session.quiet);
        Arc::new(move |call: &Call| {
            totals.count(call);
            if !quiet {
                log_line(call).iter().for_each(|line| say(line));
                alerts.of(call, &keep).iter().for_each(|alert| say(&format!("alert: {alert}")));
            }
        })
    }

    /// Returns whose results a request can read; `None` if it is refused.
    fn principal(&self, context: &RequestContext<RoleServer>) -> Option<Principal> {
        if let Some(id) = self.who.as_ref().and_then(|who| who(context)) {
            return Some(Principal::Named(id));
        }
        let http = context.extensions.get::<http::request::Parts>();
        match (self.unnamed, http) {
            (_, None) if self.who.is_none() => Some(Principal::User),
            (Unnamed::Refused, _) => None,
            (Unnamed::Isolated, None) => Some(Principal::Session(self.connection.clone())),
            (Unnamed::Isolated, Some(parts)) => {
                let session = parts.headers.get(SESSION_HEADER).filter(|_| !is_modern(context));
                let session = session.and_then(|id| id.to_str().ok());
                Some(session.map_or(Principal::Stateless, |id| Principal::Session(id.to_owned())))
            }
        }
    }

    /// Returns the name of the server, or of its program if the server did not set one; rmcp then reports its own name.
    fn name(&self) -> String {
        let name = self.server.get_info().server_info.name;
        let program = || std::env::current_exe().ok()?.file_stem()?.to_str().map(str::to_owned);
        if name == UNSET_NAME || name.is_empty() { program().unwrap_or(name) } else { name }
    }

    /// Returns the gate of a caller, whose results nobody else can read.
    fn gate(&self, principal: &Principal) -> Arc<Gate> {
        let mut gates = self.gates.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(gate) = gates.get(principal) {
            return Arc::clone(gate);
        }
        let (keep, server) = (Arc::clone(self.artifacts.keep()), self.name());
        self.sweeper.start(&keep);
        let policies = self.policies.clone();
        let observer = self.observer(Arc::clone(&keep));
        let gate = Gate::new(Setup {
            keep,
            policies,
            engines: Queries::new(Limits::default(), Worker::new(installed(WORKER))),
            server,
        });
        let gate = Arc::new(gate.observed_by(observer));
        if gates.len() >= MAX_GATES
            && let Some(one) = gates.keys().find(|known| **known != Principal::User).cloned()
        {
            gates.remove(&one);
        }
        gates.insert(principal.clone(), Arc::clone(&gate));
        gate
    }
}

/// Returns whether a request uses a protocol version without sessions.
fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    let version = context.protocol_version();
    version.is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

/// Returns the path of an installed program. The program is started without our environment, and so without our PATH.
fn installed(program: &str) -> PathBuf {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let mut paths = std::env::split_paths(&folders).map(|folder| folder.join(program));
    paths.find(|path| path.is_file()).unwrap_or_else(|| program.into())
}
