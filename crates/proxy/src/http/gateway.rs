//! One HTTP endpoint in front of many servers, for many callers.
//!
//! ```text
//!  client ─▶ front (who is it? which session?) ─▶ link ─▶ dispatch ─▶ upstream ─▶ connection ─▶ server
//!                                                  │          │
//!                                                 gate        └─▶ own answers: merged lists, capabilities
//! ```
//!
//! To the link of a client, all servers together look like one server whose tools have their listed names. So one gate bounds
//! the results of all servers, and one `result_query` reads them. `registry.rs` holds what the servers offer, `lister.rs`
//! keeps it up to date, `dispatch.rs` sends a request to its server under the name that this server knows, `own.rs`
//! answers the requests that no single server can answer, and `fulfil.rs` asks clients what a server without sessions asks.

mod client;
mod connection;
mod credential;
mod dispatch;
mod front;
mod fulfil;
mod lister;
mod own;
mod problem;
mod registry;
mod replicas;
mod route;
mod running;
mod sessions;
mod settings;
mod tasks;
mod trace;
mod unrouted;
mod upstream;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use tidegate_gate::profile::ProfileRules;
use tidegate_gate::{Caller, Gate, Principal as StorePrincipal, Servers};
use tidegate_gateway::caller::{Authenticate, Principal};
use tidegate_gateway::calls::Govern;
use tidegate_gateway::catalog::ListKind;
use tidegate_gateway::credentials::FindCredential;
use tidegate_gateway::log::{Level, Line};
use tidegate_gateway::seal::Sealer;
use tidegate_gateway::trace::Trace;
use tokio::sync::{broadcast, watch};

pub use running::{RunningGateway, Unprotected};
pub use settings::{
    CredentialPlace, GatewaySettings, Sharing, UpstreamSettings, UpstreamTarget, UserCredential,
};

use super::shared_server::Log;
use crate::background::Background;
use crate::link::Link;
use crate::spool::Limits;
use client::ClientSession;
use registry::{ListedServer, Registry};
use replicas::Replicas;
use upstream::{Upstream, UpstreamLog};

/// The maximum number of sessions in memory. A session that was dropped is restored from its token.
const MAX_SESSIONS: usize = 20_000;
/// How long the token of a session is valid.
const MAX_SESSION_AGE: Duration = Duration::from_secs(30 * 24 * 3600);
/// The maximum number of ended sessions that are remembered, so that their tokens are refused.
const MAX_ENDED_SESSIONS: usize = 10_000;
/// The maximum number of list changes that wait for a client that does not read.
const MAX_WAITING_CHANGES: usize = 64;

/// A gateway: the servers, and the sessions of its clients.
pub struct Gateway {
    upstreams: Vec<Arc<Upstream>>,
    registry: Arc<Registry>,
    /// The link from which the links of all clients are made.
    link: Link,
    clients: Vec<(String, ProfileRules)>,
    sealer: Arc<Sealer>,
    authenticate: Arc<dyn Authenticate>,
    govern: Arc<dyn Govern>,
    credentials: Arc<dyn FindCredential>,
    trace: Option<Arc<dyn Trace>>,
    log: Log,
    sessions: Mutex<HashMap<String, Arc<ClientSession>>>,
    ended: Arc<Mutex<HashMap<String, Instant>>>,
    /// The gateways that served before the configuration was read again, while they have calls in flight.
    earlier: Vec<Weak<Gateway>>,
    /// The gateway that serves since the configuration was read again.
    later: OnceLock<Weak<Gateway>>,
    replicas: Replicas,
    /// Announces lists that have changed.
    changes: broadcast::Sender<ListKind>,
    /// Whether reading the lists of every server has been tried.
    is_listed: watch::Sender<bool>,
    ticks: OnceLock<watch::Receiver<()>>,
    /// Whether the gateway is ending, so that clients with an open stream must connect again.
    is_ending: watch::Sender<bool>,
    /// The thread that counts results and removes expired ones.
    background: Mutex<Option<Background>>,
}

/// What a gate needs to know about the servers before the gateway exists.
pub struct GatewayServers(Arc<Registry>);

impl GatewayServers {
    /// Returns the servers of a gateway.
    pub fn new(upstreams: &[UpstreamSettings]) -> Self {
        let server = |upstream: &UpstreamSettings| ListedServer {
            name: Arc::from(upstream.name.as_str()),
            keeps_names: upstream.keeps_names,
            policies: Arc::clone(&upstream.policies),
        };
        Self(Arc::new(Registry::new(upstreams.iter().map(server).collect())))
    }

    /// Returns the servers, for [`Gate::in_front_of`].
    pub fn for_gate(&self) -> Arc<dyn Servers> {
        Arc::clone(&self.0) as Arc<dyn Servers>
    }
}

impl Gateway {
    /// Returns a gateway, which connects to its servers once it serves. `gate` must have been made with `servers`.
    pub fn new(
        gate: Arc<Gate>,
        servers: GatewayServers,
        limits: Limits,
        sealer: Sealer,
        settings: GatewaySettings,
    ) -> Self {
        let GatewaySettings {
            upstreams,
            clients,
            authenticate,
            govern,
            replicas,
            credentials,
            trace,
            program,
            log,
            logs_stderr,
        } = settings;
        let caller = Caller::unknown(clients.clone());
        let longest = upstreams.iter().map(|upstream| upstream.timeout).max();
        let link = Link::new(gate, caller, crate::Mode::Shape, longest).with_limits(limits);
        let upstreams = upstreams.into_iter().enumerate().map(|(index, settings)| {
            let stderr = logs_stderr && matches!(settings.target, UpstreamTarget::Command { .. });
            let log = UpstreamLog::new(&settings.name, &log, stderr);
            Arc::new(Upstream::new(index, settings, program.clone(), link.relaying(), log))
        });
        let upstreams = upstreams.collect();
        let log: Log =
            Arc::new(move |message: &str| log(Line { level: Level::Warn, upstream: None, message }));
        Self {
            upstreams,
            registry: servers.0,
            link,
            clients,
            sealer: Arc::new(sealer),
            authenticate,
            govern,
            credentials,
            trace,
            log,
            sessions: Mutex::default(),
            ended: Arc::default(),
            earlier: Vec::new(),
            later: OnceLock::new(),
            replicas: Replicas::new(replicas),
            changes: broadcast::Sender::new(MAX_WAITING_CHANGES),
            is_listed: watch::Sender::new(false),
            ticks: OnceLock::new(),
            is_ending: watch::Sender::new(false),
            background: Mutex::default(),
        }
    }

    /// Ends the background thread, once it has written what is left for the ledger, and sends the last spans.
    fn finish_background(&self) {
        let background = self.background.lock().unwrap_or_else(PoisonError::into_inner).take();
        background.into_iter().for_each(Background::finish);
        if let Some(trace) = &self.trace {
            trace.finish();
        }
    }

    /// Returns whether requests without credentials are refused.
    pub(super) fn is_protected(&self) -> bool {
        self.authenticate.is_required()
    }

    /// Starts reading the lists of all servers, and the background thread.
    pub(super) fn start(self: &Arc<Self>) {
        let background = self.link.start_background();
        *self.background.lock().unwrap_or_else(PoisonError::into_inner) = Some(background);
        self.listen_to_replicas();
        for upstream in &self.upstreams {
            tokio::spawn(lister::keep_listed(Arc::downgrade(self), Arc::clone(upstream)));
        }
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<String, Arc<ClientSession>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the link of a caller; `session` is the id of its session, if it has one.
    fn link_of(&self, principal: &Principal, session: Option<&str>) -> Link {
        let everybody = ProfileRules { tier: Some(principal.tier), ..ProfileRules::default() };
        let mut rules = vec![("*".to_owned(), everybody)];
        rules.extend(self.clients.iter().cloned());
        let principal = match (&principal.owner, session) {
            (Some(owner), _) => StorePrincipal::Named(owner.clone()),
            (None, Some(session)) => StorePrincipal::Session(session.to_owned()),
            (None, None) => StorePrincipal::Stateless,
        };
        self.link.of_caller(Caller::unknown(rules)).of_principal(principal)
    }

    /// Sends every client the notification that lists have changed.
    fn announce_changes(&self, kinds: &[ListKind]) {
        let mut announced: Vec<&str> = Vec::new();
        for kind in kinds {
            let method = own::change_method(*kind);
            if announced.contains(&method) {
                continue;
            }
            announced.push(method);
            let _ = self.changes.send(*kind);
            let sessions: Vec<Arc<ClientSession>> = self.sessions().values().cloned().collect();
            for session in sessions {
                let message = format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{method}\"}}");
                session.put_unrouted(message.into_bytes().into());
            }
        }
    }

    /// Ends the sessions and connections that have been idle for too long.
    pub(super) fn expire(&self) {
        let now = Instant::now();
        let idle: Vec<String> = {
            let sessions = self.sessions();
            sessions.iter().filter(|(_, session)| session.is_idle(now)).map(|(id, _)| id.clone()).collect()
        };
        idle.iter().for_each(|id| self.drop_session(id));
        self.upstreams.iter().for_each(|upstream| upstream.reap());
    }

    /// Ends a session and its connections.
    fn drop_session(&self, id: &str) {
        let session = self.sessions().remove(id);
        if let Some(session) = session {
            session.server.end();
        }
        for upstream in &self.upstreams {
            upstream.forget(&upstream::Whose::Session(id.to_owned()));
        }
    }

    /// Ends the streams on which clients listen; requests in flight continue.
    pub(super) fn hang_up(&self) {
        self.sessions().values().for_each(|session| session.hang_up());
        self.is_ending.send_replace(true);
    }

    /// Ends all connections to servers.
    pub(super) fn end(&self) {
        self.upstreams.iter().for_each(|upstream| upstream.end());
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.end();
        if let Some(background) = self.background.get_mut().unwrap_or_else(PoisonError::into_inner).take() {
            // Finishing may take a second, and the thread that drops the gateway may be serving other clients.
            std::thread::spawn(move || background.finish());
        }
    }
}
