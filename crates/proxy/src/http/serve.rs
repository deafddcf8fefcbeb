//! The HTTP listener: it accepts connections, checks each request, and shuts down in order.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::header::{HOST, HeaderMap, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use super::body::Body;
use super::exchange::{self, BodyRoom, failure};
use super::http_to_http::HttpToHttp;
use super::http_to_stdio::HttpToStdio;
use super::safety::{Checks, Safety};
use super::saved;
use crate::link::LinkBase;
use crate::system;

/// The server behind the listener.
#[derive(Clone)]
pub enum Backend {
    /// A server over HTTP.
    Http(Arc<HttpToHttp>),
    /// A server on stdio.
    Stdio(Arc<HttpToStdio>),
    /// Many servers, and TLS in front of them.
    #[cfg(feature = "gateway")]
    Gateway(Arc<super::gateway::RunningGateway>, Option<super::tls::Tls>),
}

impl Backend {
    /// Returns whether the backend itself refuses requests without credentials.
    fn is_protected(&self) -> bool {
        match self {
            Self::Http(_) | Self::Stdio(_) => false,
            #[cfg(feature = "gateway")]
            Self::Gateway(gateway, _) => gateway.current().is_protected(),
        }
    }

    /// Does what has to be done once requests are accepted.
    fn start(&self) {
        match self {
            Self::Http(_) | Self::Stdio(_) => {}
            #[cfg(feature = "gateway")]
            Self::Gateway(gateway, _) => gateway.current().start(),
        }
    }

    /// Ends what has been idle for too long.
    fn expire(&self) {
        match self {
            Self::Http(_) => {}
            Self::Stdio(front) => front.expire(),
            #[cfg(feature = "gateway")]
            Self::Gateway(gateway, _) => gateway.current().expire(),
        }
    }

    /// Ends the streams that clients would never end.
    fn hang_up(&self) {
        match self {
            Self::Http(_) | Self::Stdio(_) => {}
            #[cfg(feature = "gateway")]
            Self::Gateway(gateway, _) => gateway.current().hang_up(),
        }
    }

    /// Ends all servers.
    async fn end(&self) {
        match self {
            Self::Http(_) => {}
            Self::Stdio(front) => front.end().await,
            #[cfg(feature = "gateway")]
            Self::Gateway(gateway, _) => gateway.current().end(),
        }
    }
}

/// Options of the listener.
pub struct Options {
    /// The address; port 0 takes a free one.
    pub address: SocketAddr,
    /// Who may send requests.
    pub safety: Safety,
    /// Called with the bound address once requests are accepted.
    pub ready: Box<dyn FnOnce(SocketAddr) + Send>,
}

/// Why the listener cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// Other machines could reach the address, and no token protects it.
    #[error("{0} can be reached from other machines, and no token is required")]
    Open(SocketAddr),
    /// The address cannot be bound.
    #[error("cannot listen on {0}")]
    Address(SocketAddr, #[source] io::Error),
}

/// How many requests are handled at once. One whose body is still arriving does not count.
const MAX_IN_FLIGHT: usize = 1024;
/// How many connections there may be at once, if the system allows twice as many open files.
const MAX_CONNECTIONS: usize = 4096;
/// How many bytes the bodies of requests may take while they arrive.
const MAX_ARRIVING_BYTES: usize = 64 << 20;
/// The response on a connection that is one too many.
const NO_CONNECTION: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
/// How long open requests may still take at shutdown.
const MAX_DRAIN_TIME: Duration = Duration::from_secs(10);
/// How often idle sessions are ended.
const EXPIRE_INTERVAL: Duration = Duration::from_secs(60);
/// How long the headers of a request may take to arrive.
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);
/// The largest headers of a request.
const MAX_HEADER_BYTES: usize = 64 * 1024;

/// Serves HTTP until a signal ends the process.
///
/// # Errors
///
/// An address that cannot be bound, or that other machines could reach without a token.
pub async fn serve(backend: Backend, options: Options) -> Result<(), ServeError> {
    let Options { address, safety, ready } = options;
    if !address.ip().is_loopback() && safety.token.is_none() && !backend.is_protected() {
        return Err(ServeError::Open(address));
    }
    let refused = |error| ServeError::Address(address, error);
    let listener = TcpListener::bind(address).await.map_err(refused)?;
    let bound = listener.local_addr().map_err(refused)?;
    let checks = Checks::new(&safety, bound);
    let behind = backend.clone();
    let service = Arc::new(Service {
        backend,
        checks,
        in_flight: Semaphore::new(MAX_IN_FLIGHT),
        arriving: BodyRoom::new(MAX_ARRIVING_BYTES),
        bound,
        is_https: safety.https,
    });
    let connections = Arc::new(Semaphore::new(max_connections()));
    let graceful = GracefulShutdown::new();
    let mut end = pin!(system::end_signal());
    let mut expire = tokio::time::interval(EXPIRE_INTERVAL);
    behind.start();
    ready(bound);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut end => break,
            _ = expire.tick() => {
                behind.expire();
                continue;
            }
        };
        let Ok((connection, _)) = accepted else {
            // Most likely there are no file descriptors left until other connections close.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let Ok(place) = Arc::clone(&connections).try_acquire_owned() else {
            // A client that does not read it notices the closed connection.
            let _ = connection.try_write(NO_CONNECTION);
            continue;
        };
        // A response is one write; waiting for more to send with it only delays it.
        let _ = connection.set_nodelay(true);
        let service = Arc::clone(&service);
        let answer = service_fn(move |request| {
            let service = Arc::clone(&service);
            async move { Ok::<_, Infallible>(service.answer(request).await) }
        });
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT).max_buf_size(MAX_HEADER_BYTES);
        #[cfg(feature = "gateway")]
        if let Backend::Gateway(_, Some(tls)) = &behind {
            let tls = tls.clone();
            let watcher = graceful.watcher();
            tokio::spawn(async move {
                if let Ok(connection) = tls.accept(connection).await {
                    let _ = watcher.watch(http.serve_connection(TokioIo::new(connection), answer)).await;
                }
                drop(place);
            });
            continue;
        }
        let served = graceful.watch(http.serve_connection(TokioIo::new(connection), answer));
        tokio::spawn(async move {
            // A client that is gone needs no response.
            let _ = served.await;
            drop(place);
        });
    }
    drop(listener);
    behind.hang_up();
    let _ = tokio::time::timeout(MAX_DRAIN_TIME, graceful.shutdown()).await;
    behind.end().await;
    Ok(())
}

/// Returns how many connections there may be: a request may need a file for its connection and one for that to the server.
fn max_connections() -> usize {
    system::max_open_files()
        .and_then(|files| usize::try_from(files / 2).ok())
        .map_or(MAX_CONNECTIONS, |half| half.clamp(16, MAX_CONNECTIONS))
}

/// Returns how many bytes the target and the headers of a request take. The limit of the buffer that they are read into is
/// not exact.
fn head_bytes(request: &Request<Incoming>) -> usize {
    let headers = request.headers().iter().map(|(name, value)| name.as_str().len() + value.len() + 4);
    request.uri().path().len() + headers.sum::<usize>()
}

/// Handles requests.
struct Service {
    backend: Backend,
    checks: Checks,
    in_flight: Semaphore,
    arriving: BodyRoom,
    bound: SocketAddr,
    /// Whether clients use TLS.
    is_https: bool,
}

impl Service {
    /// Returns the address that a client uses: the `Host` of its request, which was checked, or the one that is bound.
    fn link_base(&self, headers: &HeaderMap) -> LinkBase {
        let host = headers.get(HOST).and_then(|host| host.to_str().ok());
        let host = host.map_or_else(|| self.bound.to_string(), str::to_owned);
        if self.is_https { LinkBase::of_https_host(&host) } else { LinkBase::of_host(&host) }
    }

    /// Answers a request for a saved view.
    async fn download(&self, request: &Request<Incoming>) -> Response<Body> {
        let link = match &self.backend {
            Backend::Http(front) => Some(front.follower(request.headers())),
            Backend::Stdio(front) => front.follower(request.headers()),
            #[cfg(feature = "gateway")]
            Backend::Gateway(gateway, _) => {
                gateway
                    .current()
                    .follower(request.headers(), self.link_base(request.headers()).as_str())
                    .await
            }
        };
        saved::answer(request.method(), request.uri().path(), link).await
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        if head_bytes(&request) > MAX_HEADER_BYTES {
            let status = StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE;
            let message = format!("the head of the request is larger than {MAX_HEADER_BYTES} bytes");
            return failure(status, -32600, &message);
        }
        if let Err(denied) = self.checks.check(request.uri(), request.headers()) {
            let mut response = failure(denied.status, -32000, denied.message);
            if denied.status == StatusCode::UNAUTHORIZED {
                response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            return response;
        }
        if request.uri().path().starts_with(saved::PATH) {
            return self.download(&request).await;
        }
        #[cfg(feature = "gateway")]
        if let Backend::Gateway(gateway, _) = &self.backend
            && *request.method() == Method::GET
            && let Some(document) =
                gateway.current().document(request.uri().path(), self.link_base(request.headers()).as_str())
        {
            return document;
        }
        if request.uri().path() != "/mcp" {
            return failure(StatusCode::NOT_FOUND, -32600, "not found; the server is at /mcp");
        }
        if ![Method::GET, Method::POST, Method::DELETE].contains(request.method()) {
            return failure(
                StatusCode::METHOD_NOT_ALLOWED,
                -32600,
                "only GET, POST and DELETE are supported",
            );
        }
        let (mut parts, body) = request.into_parts();
        parts.extensions.insert(self.link_base(&parts.headers));
        let body = match exchange::read(body, &self.arriving).await {
            Ok(body) => body,
            Err(refusal) => return *refusal,
        };
        // An open stream costs little, so only the time until the response begins counts.
        let Ok(_permit) = self.in_flight.try_acquire() else {
            let mut response =
                failure(StatusCode::SERVICE_UNAVAILABLE, -32000, "too many requests at once; try again");
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
            return response;
        };
        match &self.backend {
            Backend::Http(front) => Arc::clone(front).answer(parts, body).await,
            Backend::Stdio(front) => Arc::clone(front).answer(parts, body).await,
            #[cfg(feature = "gateway")]
            Backend::Gateway(gateway, _) => gateway.current().answer_request(parts, body).await,
        }
    }
}
