//! The gate inside a server: one line around any `ServerHandler` of rmcp.
//!
//! Every caller has a gate of its own, so that no caller can read the results of another.

mod handler;
mod requests;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use tidegate_gate::policy::{Policies, Rules};
use tidegate_gate::profile::ProfileRules;
use tidegate_gate::{Gate, SessionMeter, Setup, StoreLocation};
use tidegate_query::{Limits, Queries, Worker};
use tidegate_store::Clock;

use crate::artifact::Artifacts;
use crate::dispatcher::Dispatcher;
use crate::tier::{AllowAll, Permission};
use crate::totals::{Totals, say};

/// Returns the name of the caller of a request, as the author of the server tells callers apart.
type CallerName = Arc<dyn Fn(&RequestContext<RoleServer>) -> String + Send + Sync>;

/// The program that runs jq in a process of its own. Where it is not installed, only the view `jq` is missing.
const WORKER: &str = "tidegate";
/// The most callers whose gate is held open.
const MAX_GATES: usize = 1000;

/// A server with the gate inside: a result that fits its budget is answered as it is; a larger one is kept and answered
/// with something smaller, and any part of it can be read without running the tool again.
///
/// It is a `ServerHandler` of rmcp, like the server itself: `Tidegate::wrap(server).serve(stdio())`.
pub struct Tidegate<S> {
    server: S,
    artifacts: Artifacts,
    policies: Policies,
    clients: Vec<(String, ProfileRules)>,
    permission: Arc<dyn Permission + Send + Sync>,
    who: CallerName,
    gates: Mutex<HashMap<String, Arc<Gate>>>,
    dispatcher: Option<Dispatcher>,
    session: Session,
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
    /// Wraps a server in the gate. Results are kept in `$TIDEGATE_HOME`, or else in the user's data folder, like those of
    /// `tidegate run`.
    pub fn wrap(server: S) -> Self {
        Self {
            server,
            artifacts: Artifacts::default(),
            policies: Policies::default(),
            clients: Vec::new(),
            permission: Arc::new(AllowAll),
            who: Arc::new(|_| String::new()),
            gates: Mutex::default(),
            dispatcher: None,
            session: Session { quiet: false, totals: Arc::default(), meter: Arc::default() },
        }
    }

    /// Keeps results in a folder, or in memory.
    #[must_use]
    pub fn store_in(self, place: StoreLocation) -> Self {
        self.artifacts(&Artifacts::store_in(place))
    }

    /// Keeps results where the server itself keeps artifacts, so that clients can read those.
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

    /// Sets rules for tools by a pattern of their name, in which `*` stands for any characters; they win over `#[heavy]`.
    #[must_use]
    pub fn tools(mut self, pattern: &str, rules: Rules) -> Self {
        self.policies.add_tools(pattern, rules);
        self
    }

    /// Sets what clients can take, by a pattern of the name they send; of several that match, the first wins. A client
    /// that is marked as a program gets all of a result where it asks for that.
    #[must_use]
    pub fn clients(mut self, pattern: &str, rules: ProfileRules) -> Self {
        self.clients.push((pattern.to_owned(), rules));
        self
    }

    /// Tells callers apart: no caller can read the results of another, and tokens are valid for their own caller only.
    #[must_use]
    pub fn callers(
        self,
        who: impl Fn(&RequestContext<RoleServer>) -> String + Send + Sync + 'static,
    ) -> Self {
        Self { who: Arc::new(who), ..self }
    }

    /// Checks who may call what, at every call and whenever a token is used.
    #[must_use]
    pub fn permission(self, permission: impl Permission + Send + Sync + 'static) -> Self {
        Self { permission: Arc::new(permission), ..self }
    }

    /// Adds a tool that fronts all others: `{"tool": ..., "arguments": ...}`.
    #[must_use]
    pub fn dispatcher(self, dispatcher: Dispatcher) -> Self {
        Self { dispatcher: Some(dispatcher), ..self }
    }

    /// Limits the bytes of all answers of a session: they shrink towards what is left, and then each one has at most 400
    /// bytes and says so. The calls of a client without sessions (2026-07-28 over HTTP) count for its caller, until an hour
    /// passes without one.
    #[must_use]
    pub fn session_max_bytes(mut self, bytes: u64) -> Self {
        self.policies.defaults.session_max_bytes = Some(bytes);
        self
    }

    /// Logs no line for each call.
    #[must_use]
    pub fn quiet(mut self) -> Self {
        self.session.quiet = true;
        self
    }

    /// Returns what the session has cost so far.
    pub fn totals(&self) -> Arc<Totals> {
        Arc::clone(&self.session.totals)
    }

    /// Returns the gate of a caller, whose results nobody else can read.
    fn gate(&self, who: &str) -> Arc<Gate> {
        let mut gates = self.gates.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(gate) = gates.get(who) {
            return Arc::clone(gate);
        }
        let keep = self.artifacts.keep(who);
        let server = self.server.get_info().server_info.name;
        let policies = self.policies.clone();
        let gate = Arc::new(Gate::new(Setup {
            keep,
            policies,
            engines: Queries::new(Limits::default(), Worker::new(installed(WORKER))),
            server,
        }));
        if gates.len() >= MAX_GATES
            && let Some(one) = gates.keys().find(|known| !known.is_empty()).cloned()
        {
            gates.remove(&one);
        }
        gates.insert(who.to_owned(), Arc::clone(&gate));
        gate
    }
}

/// Returns where a program is installed. It is started without our environment, and so without our PATH.
fn installed(program: &str) -> PathBuf {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let mut paths = std::env::split_paths(&folders).map(|folder| folder.join(program));
    paths.find(|path| path.is_file()).unwrap_or_else(|| program.into())
}
