//! The gate inside a server: one line around any `ServerHandler` of rmcp.

mod handler;
mod requests;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use tidegate_gate::policy::{Policies, Rules};
use tidegate_gate::{Gate, Place, Setup};
use tidegate_query::{Limits, Queries, Worker};

use crate::artifact::Artifacts;
use crate::dispatcher::Dispatcher;
use crate::tier::{AllowAll, Permission};
use crate::totals::{Totals, say};

/// Who asks, as the author of the server tells them apart.
type Who = Arc<dyn Fn(&RequestContext<RoleServer>) -> String + Send + Sync>;

/// Runs jq apart, with its memory bounded. Where it is not installed, every other view is there.
const WORKER: &str = "tidegate";
/// Callers whose gate is held open.
const GATES: usize = 1000;

/// A server with the gate inside: what fits its budget is answered as it is, what does not is kept and answered with
/// something smaller, and any part of it can be read without running the tool again.
///
/// It is a `ServerHandler` of rmcp like the server itself: `Tidegate::wrap(server).serve(stdio())`.
pub struct Tidegate<S> {
    server: S,
    artifacts: Artifacts,
    policies: Policies,
    permission: Arc<dyn Permission + Send + Sync>,
    who: Who,
    gates: Mutex<HashMap<String, Arc<Gate>>>,
    dispatcher: Option<Dispatcher>,
    session: Session,
}

/// What is told of a session, at each call and when it ends.
struct Session {
    quiet: bool,
    totals: Arc<Totals>,
}

impl Drop for Session {
    fn drop(&mut self) {
        if !self.quiet && self.totals.calls() > 0 {
            say(&format!("session: {}", self.totals));
        }
    }
}

impl<S: ServerHandler> Tidegate<S> {
    /// Puts the gate around a server. Results are kept in `$TIDEGATE_HOME`, or else in the user's data folder, as those of
    /// `tidegate run` are.
    pub fn wrap(server: S) -> Self {
        Self {
            server,
            artifacts: Artifacts::default(),
            policies: Policies::default(),
            permission: Arc::new(AllowAll),
            who: Arc::new(|_| String::new()),
            gates: Mutex::default(),
            dispatcher: None,
            session: Session { quiet: false, totals: Arc::default() },
        }
    }

    /// Keeps results in a folder, or in memory.
    #[must_use]
    pub fn kept_in(self, place: Place) -> Self {
        self.artifacts(&Artifacts::kept_in(place))
    }

    /// Keeps results where the server itself keeps artifacts, so that clients can read those.
    #[must_use]
    pub fn artifacts(self, artifacts: &Artifacts) -> Self {
        Self { artifacts: artifacts.clone(), ..self }
    }

    /// Sets rules for all tools; what `#[heavy]` says of one is narrower.
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

    /// Tells callers apart: what one keeps no other can read, and tokens hold for their own caller only.
    #[must_use]
    pub fn callers(
        self,
        who: impl Fn(&RequestContext<RoleServer>) -> String + Send + Sync + 'static,
    ) -> Self {
        Self { who: Arc::new(who), ..self }
    }

    /// Asks who may call what, at every call and whenever a token is redeemed.
    #[must_use]
    pub fn permission(self, permission: impl Permission + Send + Sync + 'static) -> Self {
        Self { permission: Arc::new(permission), ..self }
    }

    /// Adds a tool that fronts all others: `{"tool": ..., "arguments": ...}`.
    #[must_use]
    pub fn dispatcher(self, dispatcher: Dispatcher) -> Self {
        Self { dispatcher: Some(dispatcher), ..self }
    }

    /// Once a session has been sent so many bytes, answers are as small as they can be, and say so.
    #[must_use]
    pub fn session_max_bytes(mut self, bytes: u64) -> Self {
        self.policies.defaults.session_max_bytes = Some(bytes);
        self
    }

    /// Writes no line for each call.
    #[must_use]
    pub fn quiet(mut self) -> Self {
        self.session.quiet = true;
        self
    }

    /// Returns what the session has cost so far.
    pub fn totals(&self) -> Arc<Totals> {
        Arc::clone(&self.session.totals)
    }

    /// The gate of a caller, whose results nobody else can read.
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
        if gates.len() >= GATES
            && let Some(one) = gates.keys().find(|known| !known.is_empty()).cloned()
        {
            gates.remove(&one);
        }
        gates.insert(who.to_owned(), Arc::clone(&gate));
        gate
    }
}

/// Where a program is installed. It is started without our environment, and so without our PATH.
fn installed(program: &str) -> PathBuf {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let mut paths = std::env::split_paths(&folders).map(|folder| folder.join(program));
    paths.find(|path| path.is_file()).unwrap_or_else(|| program.into())
}
