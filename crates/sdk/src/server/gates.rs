//! Whose results a request can read, and the gate that keeps them.
//!
//! Every caller has a gate of its own. It is made when the caller is first seen; closing one loses nothing, since results
//! are in the store.

use std::sync::{Arc, PoisonError};

use rmcp::model::ProtocolVersion;
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use tidegate_gate::{CallerId, Gate, Observer, Principal, Setup, UserStore};
use tidegate_query::{Limits, Queries};
use tidegate_store::Call;

use super::{Tidegate, Unnamed};
use crate::totals::{log_line, say};
use crate::worker;

/// The header with the MCP session of a request over HTTP.
const SESSION_HEADER: &str = "mcp-session-id";
/// The name of a server that did not set one.
const UNSET_NAME: &str = "rmcp";
/// The maximum number of callers whose gate is held open. A gate that is closed loses nothing: results are in the store.
const MAX_GATES: usize = 1000;

impl<S: ServerHandler> Tidegate<S> {
    /// Returns the observer that gets every entry of the ledger, for the totals, the log and the alerts.
    fn observer(&self, keep: Arc<UserStore>) -> Observer {
        let (totals, alerts, quiet) = (self.totals(), Arc::clone(&self.alerts), self.session.is_quiet());
        Arc::new(move |call: &Call| {
            totals.count(call);
            if !quiet {
                log_line(call).iter().for_each(|line| say(line));
                alerts.of(call, &keep).iter().for_each(|alert| say(&format!("alert: {alert}")));
            }
        })
    }

    /// Returns whose results a request can read; `None` if it is refused.
    pub(super) fn principal(&self, context: &RequestContext<RoleServer>) -> Option<Principal> {
        if let Some(id) = self.who.as_ref().and_then(|who| who(context)) {
            return Some(Principal::Named(id));
        }
        let http = context.extensions.get::<http::request::Parts>();
        if let Some(id) = http.and_then(|parts| parts.extensions.get::<CallerId>()) {
            return Some(Principal::Named(id.clone()));
        }
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

    /// Returns the name of the server; the name of its program if it set none, because rmcp would then report its own.
    pub(super) fn name(&self) -> String {
        let name = self.server.get_info().server_info.name;
        let program = || std::env::current_exe().ok()?.file_stem()?.to_str().map(str::to_owned);
        if name == UNSET_NAME || name.is_empty() { program().unwrap_or(name) } else { name }
    }

    /// Returns the gate of a caller, whose results nobody else can read.
    pub(super) fn gate(&self, principal: &Principal) -> Arc<Gate> {
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
            engines: Queries::new(Limits::default(), self.worker.clone().unwrap_or_else(worker::find)),
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

/// Returns whether a request is of the protocol versions without sessions.
pub(super) fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    let version = context.protocol_version();
    version.is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}
