//! Streamable HTTP at `/mcp`, with a hook that authenticates requests.
//!
//! A request whose caller the hook does not know is answered with 401 and reaches nothing else. The caller of any other
//! request is put among its extensions, where [`crate::Tidegate`] finds it.

use std::convert::Infallible;
use std::fmt;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use http::request::Parts;
use http::{Request, Response, StatusCode, header};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tidegate_gate::CallerId;
use tokio::net::TcpListener;

use super::ServeError;

/// The path of the server.
const PATH: &str = "/mcp";

/// Returns the caller of a request; `None` if the request is refused.
type Authenticate = Arc<dyn Fn(&Parts) -> Option<CallerId> + Send + Sync>;

/// Where and for whom a server listens over HTTP.
///
/// A socket address is one that serves anybody on this machine:
///
/// ```no_run
/// # use tidegate_sdk::rmcp::ServerHandler;
/// # async fn run(server: impl ServerHandler) -> Result<(), Box<dyn std::error::Error>> {
/// use tidegate_sdk::{CallerId, HttpOptions, Tidegate, serve_http};
///
/// let address = "127.0.0.1:8080".parse()?;
/// let options = HttpOptions::at(address).authenticate(|request| {
///     let token = request.headers.get("authorization")?.to_str().ok()?.strip_prefix("Bearer ")?;
///     CallerId::new(if token == "s3cret" { "ada" } else { return None })
/// });
/// serve_http(options, Tidegate::wrap(server)).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct HttpOptions {
    place: ListenOn,
    authenticate: Option<Authenticate>,
    hosts: Vec<String>,
}

/// Where to listen.
#[derive(Clone)]
enum ListenOn {
    Address(SocketAddr),
    Listener(Arc<std::net::TcpListener>),
}

impl HttpOptions {
    /// Listens on an address.
    pub fn at(address: SocketAddr) -> Self {
        Self { place: ListenOn::Address(address), authenticate: None, hosts: Vec::new() }
    }

    /// Listens with a listener that is already bound, for example one that a service manager passed.
    pub fn on(listener: std::net::TcpListener) -> Self {
        Self { place: ListenOn::Listener(Arc::new(listener)), authenticate: None, hosts: Vec::new() }
    }

    /// Sets who the caller of a request is. A request for which `who` returns `None` is answered with 401.
    ///
    /// `who` sees the head of every request, and runs before anything else does. [`crate::Tidegate`] keeps the results of
    /// each caller apart, unless [`crate::Tidegate::callers`] says otherwise. With it, an address that other machines can
    /// reach is accepted: set [`Self::hosts`] then, and put TLS in front, since a token can be read on the way.
    #[must_use]
    pub fn authenticate(self, who: impl Fn(&Parts) -> Option<CallerId> + Send + Sync + 'static) -> Self {
        Self { authenticate: Some(Arc::new(who)), ..self }
    }

    /// Sets the host names under which clients reach the server, beside `localhost`: `example.org` or `example.org:8080`.
    #[must_use]
    pub fn hosts(self, hosts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { hosts: hosts.into_iter().map(Into::into).collect(), ..self }
    }

    async fn bind(&self) -> Result<TcpListener, ServeError> {
        let listener = match &self.place {
            ListenOn::Address(address) => {
                self.check(*address)?;
                return TcpListener::bind(address).await.map_err(|error| ServeError::Bind(*address, error));
            }
            ListenOn::Listener(listener) => listener.try_clone().map_err(ServeError::Listener)?,
        };
        self.check(listener.local_addr().map_err(ServeError::Listener)?)?;
        listener.set_nonblocking(true).map_err(ServeError::Listener)?;
        TcpListener::from_std(listener).map_err(ServeError::Listener)
    }

    /// Refuses an address where anybody could reach results.
    fn check(&self, address: SocketAddr) -> Result<(), ServeError> {
        match address.ip().is_loopback() || self.authenticate.is_some() {
            true => Ok(()),
            false => Err(ServeError::NotLoopback(address)),
        }
    }

    fn config(&self) -> StreamableHttpServerConfig {
        // Rejects requests from web pages.
        let mut config = StreamableHttpServerConfig::default().enforce_origin_validation();
        config.allowed_hosts.extend(self.hosts.iter().cloned());
        config
    }
}

impl From<SocketAddr> for HttpOptions {
    fn from(address: SocketAddr) -> Self {
        Self::at(address)
    }
}

impl fmt::Debug for HttpOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place: &dyn fmt::Debug = match &self.place {
            ListenOn::Address(address) => address,
            ListenOn::Listener(listener) => listener,
        };
        formatter
            .debug_struct("HttpOptions")
            .field("place", place)
            .field("authenticates", &self.authenticate.is_some())
            .field("hosts", &self.hosts)
            .finish()
    }
}

/// Serves over streamable HTTP at `/mcp`, until the process receives Ctrl-C. The options can be a socket address.
///
/// # Errors
///
/// Fails if the address cannot be bound, or if other machines can reach it and requests are not authenticated.
pub async fn serve_http(
    options: impl Into<HttpOptions>,
    server: impl ServerHandler,
) -> Result<(), ServeError> {
    let options = options.into();
    let listener = options.bind().await?;
    let bound = listener.local_addr().map_err(ServeError::Listener)?;
    crate::totals::say(&format!("listening on http://{bound}{PATH}"));
    tokio::select! {
        () = accept(listener, &options, server) => {}
        _ = tokio::signal::ctrl_c() => {}
    }
    Ok(())
}

/// Accepts connections forever.
async fn accept(listener: TcpListener, options: &HttpOptions, server: impl ServerHandler) {
    // All sessions share one server: a stateless request is a session of its own and must find what earlier requests
    // stored.
    let server = Arc::new(server);
    let service = StreamableHttpService::new(
        move || Ok(Arc::clone(&server)),
        Arc::new(LocalSessionManager::default()),
        options.config(),
    );
    let service =
        Guarded { inner: TowerToHyperService::new(service), authenticate: options.authenticate.clone() };
    loop {
        let Ok((connection, _)) = listener.accept().await else {
            // Most likely out of file descriptors; wait until other connections close.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let _ = connection.set_nodelay(true);
        let served = http1::Builder::new()
            .timer(TokioTimer::new())
            .serve_connection(TokioIo::new(connection), service.clone());
        tokio::spawn(async move {
            // An error means that the client disconnected.
            let _ = served.await;
        });
    }
}

/// A service whose requests are authenticated first.
#[derive(Clone)]
struct Guarded<T> {
    inner: T,
    authenticate: Option<Authenticate>,
}

type Answer = Response<BoxBody<Bytes, Infallible>>;
type Answering<E> = Pin<Box<dyn Future<Output = Result<Answer, E>> + Send>>;

impl<T> Service<Request<Incoming>> for Guarded<T>
where
    T: Service<Request<Incoming>, Response = Answer>,
    T::Future: Send + 'static,
    T::Error: Send + 'static,
{
    type Response = Answer;
    type Error = T::Error;
    type Future = Answering<T::Error>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let Some(authenticate) = &self.authenticate else { return Box::pin(self.inner.call(request)) };
        let (mut parts, body) = request.into_parts();
        let Some(caller) = authenticate(&parts) else {
            return Box::pin(std::future::ready(Ok(unauthorized())));
        };
        parts.extensions.insert(caller);
        Box::pin(self.inner.call(Request::from_parts(parts, body)))
    }
}

fn unauthorized() -> Answer {
    let body =
        Full::new(Bytes::from_static(b"this server answers only callers that it knows; authenticate\n"));
    let mut answer = Response::new(body.boxed());
    *answer.status_mut() = StatusCode::UNAUTHORIZED;
    answer.headers_mut().insert(header::WWW_AUTHENTICATE, header::HeaderValue::from_static("Bearer"));
    answer
}
