//! Listening: connections, what they may send, and the end.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::header::{HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Semaphore;

use super::body::Body;
use super::bridge::Bridge;
use super::exchange::failure;
use super::reverse::Reverse;
use super::safety::{Checks, Safety};

/// What stands behind.
#[derive(Clone)]
pub enum Front {
    /// A server that is reached over HTTP.
    Reverse(Arc<Reverse>),
    /// A server on stdio.
    Bridge(Arc<Bridge>),
}

/// Where and for whom to listen.
pub struct Options {
    /// The address; port 0 takes a free one.
    pub address: SocketAddr,
    /// Who may speak to us.
    pub safety: Safety,
    /// Called once requests are taken, with the address they are taken at.
    pub ready: Box<dyn FnOnce(SocketAddr) + Send>,
}

/// Why nobody can be listened to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// Others could reach the address, and nothing says who they are.
    #[error("{0} can be reached from other machines, and no token is asked for")]
    Open(SocketAddr),
    /// The address cannot be taken.
    #[error("cannot listen on {0}")]
    Address(SocketAddr, #[source] io::Error),
}

/// Requests that are worked on at once.
const IN_FLIGHT: usize = 1024;
/// How long requests may still take once we are told to end.
const DRAIN: Duration = Duration::from_secs(10);
/// How often sessions that nobody uses are ended.
const TIDY: Duration = Duration::from_secs(60);
/// How long the head of a request may take to arrive.
const HEAD: Duration = Duration::from_secs(30);
/// The most bytes of the head of a request.
const HEAD_BYTES: usize = 64 * 1024;

/// Listens until the process is told to end.
///
/// # Errors
///
/// An address that cannot be taken, or that others could reach without a token.
pub async fn serve(front: Front, options: Options) -> Result<(), ServeError> {
    let Options { address, safety, ready } = options;
    if !address.ip().is_loopback() && safety.token.is_none() {
        return Err(ServeError::Open(address));
    }
    let refused = |error| ServeError::Address(address, error);
    let listener = TcpListener::bind(address).await.map_err(refused)?;
    let bound = listener.local_addr().map_err(refused)?;
    let behind = front.clone();
    let door =
        Arc::new(Door { front, checks: Checks::new(&safety, bound), in_flight: Semaphore::new(IN_FLIGHT) });
    let graceful = GracefulShutdown::new();
    let mut end = pin!(told_to_end());
    let mut tidy = tokio::time::interval(TIDY);
    ready(bound);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut end => break,
            _ = tidy.tick() => {
                if let Front::Bridge(bridge) = &behind {
                    bridge.expire();
                }
                continue;
            }
        };
        let Ok((connection, _)) = accepted else {
            // Out of file descriptors, most likely; others will be closed.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        // An answer is one write; waiting for more to send with it only delays it.
        let _ = connection.set_nodelay(true);
        let door = Arc::clone(&door);
        let service = service_fn(move |request| {
            let door = Arc::clone(&door);
            async move { Ok::<_, Infallible>(door.answer(request).await) }
        });
        let served = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD)
            .max_buf_size(HEAD_BYTES)
            .serve_connection(TokioIo::new(connection), service);
        let served = graceful.watch(served);
        tokio::spawn(async move {
            // A client that is gone needs no answer.
            let _ = served.await;
        });
    }
    drop(listener);
    let _ = tokio::time::timeout(DRAIN, graceful.shutdown()).await;
    if let Front::Bridge(bridge) = &behind {
        bridge.end().await;
    }
    Ok(())
}

/// Waits for TERM or an interrupt.
async fn told_to_end() {
    let (Ok(mut term), Ok(mut interrupt)) =
        (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = term.recv() => {}
        _ = interrupt.recv() => {}
    }
}

/// What every request passes.
struct Door {
    front: Front,
    checks: Checks,
    in_flight: Semaphore,
}

impl Door {
    async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        if let Err(refusal) = self.checks.check(request.headers()) {
            let mut response = failure(refusal.status, -32000, refusal.message);
            if refusal.status == StatusCode::UNAUTHORIZED {
                response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            return response;
        }
        if request.uri().path() != "/mcp" {
            return failure(StatusCode::NOT_FOUND, -32600, "there is nothing here; the server is at /mcp");
        }
        if ![Method::GET, Method::POST, Method::DELETE].contains(request.method()) {
            return failure(StatusCode::METHOD_NOT_ALLOWED, -32600, "only GET, POST and DELETE are possible");
        }
        // A stream that stays open is no work, so only what comes before the first byte counts.
        let Ok(_permit) = self.in_flight.try_acquire() else {
            let mut response =
                failure(StatusCode::SERVICE_UNAVAILABLE, -32000, "too many requests at once; try again");
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
            return response;
        };
        match &self.front {
            Front::Reverse(front) => Arc::clone(front).answer(request).await,
            Front::Bridge(front) => Arc::clone(front).answer(request).await,
        }
    }
}
