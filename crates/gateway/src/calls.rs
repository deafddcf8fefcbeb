//! Calls on their way: the seam between the gateway that serves and whoever limits, counts and records calls.
//!
//! The gateway asks [`Govern::admit`] before a request goes to a server. What it gets is dropped when the request is
//! answered, so a place in a queue is given back whatever happens. Sizes and tokens of results are in the entries of the
//! ledger, which [`Govern::record`] gets as well.

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
    /// The server could not be reached, broke off, or did not answer in time.
    Unreachable,
    /// The client is gone.
    Abandoned,
}

/// A request that was admitted. Dropping it without [`Admitted::end`] means [`End::Abandoned`].
pub trait Admitted: Send + Sync {
    /// Notes how the request ended.
    fn end(&self, end: End);
}

/// A future that [`Govern::admit`] returns.
pub type Admitting<'a> = Pin<Box<dyn Future<Output = Result<Box<dyn Admitted>, Challenge>> + Send + 'a>>;

/// Limits, counts and records requests.
pub trait Govern: Send + Sync {
    /// Waits until a request may go to its server, or refuses it.
    fn admit<'a>(&'a self, request: Request<'a>) -> Admitting<'a>;

    /// Takes an entry of the ledger: one per result, with its sizes.
    fn record(&self, call: &Call) {
        let _ = call;
    }

    /// Returns the text at `/metrics`, with its content type; `None` if there is none.
    fn metrics(&self) -> Option<(&'static str, Vec<u8>)> {
        None
    }
}

/// Admits every request and records nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unlimited;

struct Nothing;

impl Admitted for Nothing {
    fn end(&self, _: End) {}
}

impl Govern for Unlimited {
    fn admit<'a>(&'a self, _: Request<'a>) -> Admitting<'a> {
        Box::pin(std::future::ready(Ok(Box::new(Nothing) as Box<dyn Admitted>)))
    }
}
