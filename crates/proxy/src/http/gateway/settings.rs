//! What a gateway is made of: its servers, and who may use them.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tidegate_gate::policy::Policies;
use tidegate_gate::profile::ProfileRules;
use tidegate_gateway::caller::Authenticate;
use tidegate_gateway::calls::Govern;
use tidegate_store::ReplicaMessages;

use crate::http::remote::Remote;

/// One server behind the gateway.
pub struct UpstreamSettings {
    /// Its name, which begins the names of its tools.
    pub name: String,
    /// How it is reached.
    pub target: UpstreamTarget,
    /// Whose requests share a connection to it.
    pub sharing: Sharing,
    /// Whether its tools and prompts keep their own names, because it is the only server.
    pub keeps_names: bool,
    /// How long it may be silent before a request is answered in its place.
    pub timeout: Duration,
    /// How long it may take to start and to say what it can do.
    pub start_timeout: Duration,
    /// How long a connection of one caller may be idle.
    pub idle_time: Duration,
    /// How many processes it may have at once.
    pub max_processes: usize,
    /// How long a caller waits for a process if it has as many as it may have.
    pub queue_time: Duration,
    /// The rules for its tools.
    pub policies: Arc<Policies>,
}

/// How a server is reached.
pub enum UpstreamTarget {
    /// It is a process that speaks on stdio.
    Command {
        /// The command, with its arguments.
        command: Vec<OsString>,
        /// Environment variables besides the few that every server gets.
        environment: Vec<(String, String)>,
    },
    /// It is reached over HTTP.
    Url(Arc<Remote>),
}

/// Whose requests share a connection to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// Those of all callers where the server keeps no sessions, else those of one caller.
    Auto,
    /// Those of all callers.
    Shared,
    /// Those of one session or, without a session, of one caller.
    Caller,
}

/// A gateway that does not serve yet.
pub struct GatewaySettings {
    /// The servers, in the order in which they are listed.
    pub upstreams: Vec<UpstreamSettings>,
    /// Settings for clients, by pattern of their name.
    pub clients: Vec<(String, ProfileRules)>,
    /// Finds out who sends a request.
    pub authenticate: Arc<dyn Authenticate>,
    /// Limits and counts requests.
    pub govern: Arc<dyn Govern>,
    /// The way to the other replicas, if there may be any.
    pub replicas: Option<Arc<dyn ReplicaMessages>>,
    /// tidegate itself, which starts the guard of a process.
    pub program: PathBuf,
    /// Takes a line of the log.
    pub log: Arc<dyn Fn(&str) + Send + Sync>,
}

/// The variables of tidegate's environment that every server gets. The others may hold secrets of the gateway.
pub(super) const INHERITED_VARIABLES: [&str; 10] =
    ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TZ", "TMPDIR", "TERM"];
