//! Serves an MCP server with one call, over stdio or streamable HTTP.
//!
//! HTTP is for local use: there is no authentication, so only loopback addresses are accepted, and requests from web
//! pages are rejected by their `Origin` header.

use std::net::SocketAddr;

use rmcp::{ServerHandler, ServiceExt};

/// Why serving failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The client did not complete `initialize`, or the connection broke.
    #[error("the connection failed: {0}")]
    Connection(String),
    /// The address is not a loopback address, and requests are not authenticated.
    #[error(
        "{0} can be reached from other machines; listen on 127.0.0.1, and put `tidegate run --http` in front for remote clients"
    )]
    NotLoopback(SocketAddr),
    /// The address could not be bound.
    #[error("cannot listen on {0}: {1}")]
    Bind(SocketAddr, #[source] std::io::Error),
    /// The crate was built without the feature `http`.
    #[error("this server was built without HTTP; build it with the feature `http` of tidegate-sdk")]
    NoHttp,
}

/// Serves over stdio, or over streamable HTTP at `/mcp` if an address is given.
///
/// Over stdio it returns when the client disconnects, over HTTP when the process receives Ctrl-C.
///
/// # Errors
///
/// Fails if the address is not loopback or cannot be bound, or if the connection to the stdio client fails.
pub async fn serve(http: Option<SocketAddr>, server: impl ServerHandler) -> Result<(), ServeError> {
    match http {
        Some(address) => over_http(address, server).await,
        None => {
            let failed = |error: &dyn std::fmt::Display| ServeError::Connection(error.to_string());
            let stdio = (tokio::io::stdin(), tokio::io::stdout());
            let running = server.serve(stdio).await.map_err(|error| failed(&error))?;
            running.waiting().await.map_err(|error| failed(&error))?;
            Ok(())
        }
    }
}

#[cfg(not(feature = "http"))]
async fn over_http(_address: SocketAddr, _server: impl ServerHandler) -> Result<(), ServeError> {
    Err(ServeError::NoHttp)
}

#[cfg(feature = "http")]
async fn over_http(address: SocketAddr, server: impl ServerHandler) -> Result<(), ServeError> {
    use tokio::net::TcpListener;

    if !address.ip().is_loopback() {
        return Err(ServeError::NotLoopback(address));
    }
    let bind_error = |error| ServeError::Bind(address, error);
    let listener = TcpListener::bind(address).await.map_err(bind_error)?;
    let bound = listener.local_addr().map_err(bind_error)?;
    crate::totals::say(&format!("listening on http://{bound}/mcp"));
    tokio::select! {
        () = http::accept(listener, server) => {}
        _ = tokio::signal::ctrl_c() => {}
    }
    Ok(())
}

#[cfg(feature = "http")]
mod http {
    use std::sync::Arc;
    use std::time::Duration;

    use hyper::server::conn::http1;
    use hyper_util::rt::{TokioIo, TokioTimer};
    use hyper_util::service::TowerToHyperService;
    use rmcp::ServerHandler;
    use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
    use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
    use tokio::net::TcpListener;

    /// Accepts connections forever.
    pub(super) async fn accept(listener: TcpListener, server: impl ServerHandler) {
        // All sessions share one server: a stateless request is a session of its own and must find what earlier
        // requests stored.
        let server = Arc::new(server);
        let service = StreamableHttpService::new(
            move || Ok(Arc::clone(&server)),
            Arc::new(LocalSessionManager::default()),
            // Rejects requests from web pages.
            StreamableHttpServerConfig::default().enforce_origin_validation(),
        );
        loop {
            let Ok((connection, _)) = listener.accept().await else {
                // Most likely out of file descriptors; wait until other connections close.
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            };
            let _ = connection.set_nodelay(true);
            let served = http1::Builder::new()
                .timer(TokioTimer::new())
                .serve_connection(TokioIo::new(connection), TowerToHyperService::new(service.clone()));
            tokio::spawn(async move {
                // An error means that the client disconnected.
                let _ = served.await;
            });
        }
    }
}
