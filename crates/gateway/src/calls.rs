//! Requests in flight: the interface between the gateway and the code that limits, counts and records them.
//!
//! The gateway calls [`Govern::admit`] before it sends a request to a server, and holds the returned [`Admitted`] until the
//! request ends. Dropping it gives the place in the queue back, however the request ended. [`Govern::record`] gets each entry
//! of the ledger, which has the bytes and tokens of a result.

use std::future::Future;
use std::pin::Pin;

use tidegate_store::Call;

use crate::caller::{Challenge, Principal};

/// A request that goes to a server.
#[derive(Debug, Clone, Copy)]
pub struct Request<'r> {
    /// Who sends it.
    pub principal: &'r Principal,
    /// The session of the client; empty for a client without one.
    pub session: &'r str,
    /// The method, such as `tools/call`.
    pub method: &'r str,
    /// The name of the server, as in `[upstream.NAME]`.
    pub server: &'r str,
    /// The tool, by the name that its server gave it; empty for other requests.
    pub tool: &'r str,
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The server answered with a result.
    Answered,
    /// The server answered with a JSON-RPC error of this code, or the gateway did in its place.
    Failed(i64),
    /// The server could not be reached, closed the connection, or did not answer in time.
    Unreachable,
    /// The client cancelled the request or disconnected.
    Abandoned,
}

/// A request that was admitted. Dropping it without [`Admitted::end`] means [`End::Abandoned`].
pub trait Admitted: Send + Sync {
    /// Records how the request ended.
    fn end(&self, end: End);
}

/// The state of a server, for the metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerState<'s> {
    /// Its name, as in `[upstream.NAME]`.
    pub name: &'s str,
    /// Whether its lists could be read the last time.
    pub is_up: bool,
    /// The number of open connections to it.
    pub connections: usize,
    /// The number of its processes; `None` if it is reached over HTTP.
    pub processes: Option<usize>,
}

/// A future that [`Govern::admit`] returns.
pub type Admitting<'a> = Pin<Box<dyn Future<Output = Result<Box<dyn Admitted>, Challenge>> + Send + 'a>>;

/// Limits, counts and records requests.
pub trait Govern: Send + Sync {
    /// Waits until a request may go to its server, or refuses it.
    fn admit<'a>(&'a self, request: Request<'a>) -> Admitting<'a>;

    /// Records a request that is refused before it could be admitted, for example because its caller may not use the tool.
    fn refuse(&self, request: Request<'_>, reason: &'static str) {
        let _ = (request, reason);
    }

    /// Records a result or a follow-up, with its sizes, from its entry in the ledger.
    fn record(&self, call: &Call) {
        let _ = call;
    }

    /// Returns the content type and the body of `/metrics`, with the states of the servers now; `None` if nothing is measured.
    fn metrics(&self, servers: &[ServerState<'_>]) -> Option<(&'static str, Vec<u8>)> {
        let _ = servers;
        None
    }
}

/// Admits every request and records nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unlimited;

struct AlwaysAdmitted;

impl Admitted for AlwaysAdmitted {
    fn end(&self, _: End) {}
}

impl Govern for Unlimited {
    fn admit<'a>(&'a self, _: Request<'a>) -> Admitting<'a> {
        Box::pin(std::future::ready(Ok(Box::new(AlwaysAdmitted) as Box<dyn Admitted>)))
    }
}
