//! What a gateway is made of: its servers, and who may use them.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hyper::header::HeaderName;
use tidegate_gate::policy::Policies;
use tidegate_gate::profile::ProfileRules;
use tidegate_gateway::caller::Authenticate;
use tidegate_gateway::calls::Govern;
use tidegate_gateway::credentials::{Credential, FindCredential};
use tidegate_gateway::log::Log;
use tidegate_gateway::trace::Trace;

use crate::http::remote::Remote;

/// One server behind the gateway.
pub struct UpstreamSettings {
    /// Its name, which begins the names of its tools.
    pub name: String,
    /// How it is reached.
    pub target: UpstreamTarget,
    /// Where the credential of each caller goes, if it gets that. Then no two callers share a connection.
    pub user_credential: Option<UserCredential>,
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

/// How a server gets the credential of each caller.
pub struct UserCredential {
    /// Where it goes.
    pub place: CredentialPlace,
    /// The credential of the gateway, with which it reads lists.
    pub of_gateway: Option<Credential>,
}

/// Where the credential of a caller goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CredentialPlace {
    /// To the header `Authorization`, as a bearer token.
    Bearer,
    /// To another header.
    Header(HeaderName),
    /// To a variable of the process.
    Variable(String),
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
    /// Finds the credentials of callers for servers.
    pub credentials: Arc<dyn FindCredential>,
    /// tidegate itself, which starts the guard of a process.
    pub program: PathBuf,
    /// Takes the spans of requests; without it, contexts are not passed on in headers.
    pub trace: Option<Arc<dyn Trace>>,
    /// Takes a line of the log.
    pub log: Log,
    /// Whether what servers write to stderr goes to the log, instead of to the stderr of the gateway as it is.
    pub logs_stderr: bool,
}

/// The variables of tidegate's environment that every server gets. The others may hold secrets of the gateway.
pub(super) const INHERITED_VARIABLES: [&str; 10] =
    ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TZ", "TMPDIR", "TERM"];
