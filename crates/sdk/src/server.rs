//! The gate inside a server: [`Tidegate`] wraps any `ServerHandler` of rmcp.
//!
//! Every caller has its own gate, and is a separate owner in the shared store, so that no caller can read another's
//! results. There is always an owner: on stdio it is the user who runs the server, a named caller is its own owner, and an
//! unnamed caller is isolated or refused.

mod forward;
mod gates;
mod handler;
mod requests;
mod router;
mod tasks;

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use tidegate_gate::policy::{Policies, Rules};
use tidegate_gate::profile::ProfileRules;
use tidegate_gate::{AlertLimits, Alerts, CallerId, Gate, Principal, SessionMeter, StoreLocation};
use tidegate_query::Worker;
use tidegate_store::{ArtifactId, Clock};

use crate::artifact::Artifacts;
use crate::dispatcher::Dispatcher;
use crate::sweeper::SweepThread;
use crate::tier::{AllowAll, Permission, Tier};
use crate::totals::{Totals, say};
use crate::worker;
pub use router::{Handler, IntoServer, Routed, RouterServer};
use tasks::Tasks;

/// Returns the caller of a request; written by the author of the server.
type WhoCalls = Arc<dyn Fn(&RequestContext<RoleServer>) -> Option<CallerId> + Send + Sync>;

/// What happens to a caller without a name: one for which [`Tidegate::callers`] returns nothing, or, without that, any
/// client over HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
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

/// A server with the gate inside: a result that fits its budget is sent unchanged. A larger one is stored, a smaller answer
/// is sent instead, and any part of the result can be read without running the tool again.
///
/// It is a `ServerHandler` of rmcp, like the server itself: `Tidegate::wrap(server).serve(stdio())`. A clone, for another
/// connection, has the same store, rules and totals.
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
    gates: Arc<Mutex<HashMap<Principal, Arc<Gate>>>>,
    sweeper: Arc<SweepThread>,
    dispatcher: Option<Dispatcher>,
    session: Arc<Session>,
    /// What the session of a client that is not on HTTP was sent.
    meter: Arc<SessionMeter>,
    alerts: Arc<Alerts>,
    /// The calls that became tasks.
    tasks: Arc<Tasks>,
    /// The program that runs jq and SQL; `None` if it is to be looked for.
    worker: Option<Worker>,
}

/// The totals of a session, logged at each call and when it ends.
#[derive(Default)]
struct Session {
    quiet: AtomicBool,
    totals: Arc<Totals>,
}

impl Session {
    fn is_quiet(&self) -> bool {
        self.quiet.load(Ordering::Relaxed)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if !self.is_quiet() && self.totals.calls() > 0 {
            say(&format!("session: {}", self.totals));
        }
    }
}

impl<S: Clone> Clone for Tidegate<S> {
    fn clone(&self) -> Self {
        Self {
            server: self.server.clone(),
            artifacts: self.artifacts.clone(),
            policies: self.policies.clone(),
            clients: self.clients.clone(),
            permission: Arc::clone(&self.permission),
            allowed: self.allowed.clone(),
            who: self.who.clone(),
            unnamed: self.unnamed,
            // A clone serves another connection, with another unnamed caller.
            connection: ArtifactId::random_shared().to_string(),
            gates: Arc::clone(&self.gates),
            sweeper: Arc::clone(&self.sweeper),
            dispatcher: self.dispatcher.clone(),
            session: Arc::clone(&self.session),
            meter: Arc::default(),
            alerts: Arc::clone(&self.alerts),
            tasks: Arc::clone(&self.tasks),
            worker: self.worker.clone(),
        }
    }
}

impl<S: fmt::Debug> fmt::Debug for Tidegate<S> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Tidegate")
            .field("server", &self.server)
            .field("artifacts", &self.artifacts)
            .field("policies", &self.policies)
            .field("unnamed", &self.unnamed)
            .finish_non_exhaustive()
    }
}

impl<S> Tidegate<S> {
    /// Returns the server without the gate.
    pub fn into_inner(self) -> S {
        self.server
    }
}

impl<S: ServerHandler> Tidegate<S> {
    /// Wraps a server in the gate: a `ServerHandler`, or a `Router` of rmcp. Results are kept in `$TIDEGATE_HOME`, or else in
    /// the user's data folder, like those of `tidegate run`.
    pub fn wrap<M>(server: impl IntoServer<M, Server = S>) -> Self {
        Self {
            server: server.into_server(),
            artifacts: Artifacts::default(),
            policies: Policies::default(),
            clients: Vec::new(),
            permission: Arc::new(AllowAll),
            allowed: None,
            who: None,
            unnamed: Unnamed::default(),
            connection: ArtifactId::random_shared().to_string(),
            gates: Arc::default(),
            sweeper: Arc::default(),
            dispatcher: None,
            session: Arc::default(),
            meter: Arc::default(),
            alerts: Arc::default(),
            tasks: Arc::default(),
            worker: None,
        }
    }

    /// Keeps results in a folder, or in memory.
    ///
    /// All servers of one type in this process share their memory. So a result can be read even if a new server is made for
    /// each request, as in `StreamableHttpService::new(|| Ok(Tidegate::wrap(..)), ..)`. For a separate memory, pass
    /// [`Artifacts::store_in`] to [`Self::artifacts`].
    #[must_use]
    pub fn store_in(self, place: StoreLocation) -> Self {
        let artifacts = match place {
            StoreLocation::Memory => Artifacts::in_memory_of::<S>(),
            place => Artifacts::store_in(place),
        };
        self.artifacts(&artifacts)
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
    ///
    /// # Panics
    ///
    /// Panics if a value is invalid; [`Rules::validate`] checks it without a panic.
    #[must_use]
    pub fn defaults(mut self, rules: Rules) -> Self {
        valid(&rules);
        self.policies.defaults = rules.over(&self.policies.defaults);
        self
    }

    /// Sets rules for the tools whose name matches a pattern; `*` matches any characters. The rules win over `#[heavy]`.
    ///
    /// # Panics
    ///
    /// Panics if a value is invalid; [`Rules::validate`] checks it without a panic.
    #[must_use]
    pub fn tools(mut self, pattern: &str, rules: Rules) -> Self {
        valid(&rules);
        self.policies.add_tools(pattern, rules);
        self
    }

    /// Reads the rules for tools and clients from a file `tidegate.toml`; without one, from the project's and the user's, as
    /// `tidegate run` finds them. They win over rules that were set before. A table `[server.NAME]` applies to a server that
    /// reports the name `NAME`.
    ///
    /// # Errors
    ///
    /// Every mistake in the files.
    #[cfg(feature = "config")]
    pub fn config(mut self, file: Option<&std::path::Path>) -> Result<Self, tidegate_config::Mistakes> {
        let config = tidegate_config::Config::load(file)?;
        self.policies = config.policies(&self.name(), Rules::default()).over(self.policies);
        self.clients.splice(0..0, config.clients());
        Ok(self)
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
    /// Without it, a client on stdio is the user who runs the server. Over HTTP the caller is the [`CallerId`] among the
    /// extensions of the request, where [`crate::HttpOptions::authenticate`] or a layer in front puts it; without one, it is
    /// unnamed.
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
    pub fn quiet(self) -> Self {
        self.session.quiet.store(true, Ordering::Relaxed);
        self
    }

    /// Returns what the session has cost so far.
    pub fn totals(&self) -> Arc<Totals> {
        Arc::clone(&self.session.totals)
    }

    /// Sets the program that runs jq and SQL for `result_query`, instead of the `tidegate` on the PATH. If it does not exist,
    /// jq and SQL are not offered.
    #[must_use]
    pub fn worker(self, program: impl Into<PathBuf>) -> Self {
        Self { worker: Some(worker::given(program.into())), ..self }
    }

    /// Starts no program: `result_query` offers no jq, and SQL only with the feature `sql`.
    #[must_use]
    pub fn without_worker(self) -> Self {
        Self { worker: Some(Worker::none()), ..self }
    }
}

/// Panics with the mistake in rules.
fn valid(rules: &Rules) {
    if let Err(error) = rules.validate() {
        panic!("invalid rules: {error}");
    }
}
