//! Serving with one call: on stdin and stdout, or over HTTP.

use std::net::SocketAddr;

use rmcp::{ServerHandler, ServiceExt};

/// Why a server could not be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The client did not greet it as the protocol says, or went away.
    #[error("the connection failed: {0}")]
    Connection(String),
    /// Others could reach the address, and nobody would be asked who they are.
    #[error(
        "{0} can be reached from other machines; listen on 127.0.0.1, and put `tidegate run --http` in front for others"
    )]
    Open(SocketAddr),
    /// The address cannot be listened on.
    #[error("cannot listen on {0}: {1}")]
    Address(SocketAddr, #[source] std::io::Error),
    /// It was built without the feature `http`.
    #[error("this server was built without HTTP; build it with the feature `http` of tidegate-sdk")]
    NoHttp,
}

/// Serves until the client leaves: on stdin and stdout, or, where an address is given, over streamable HTTP at `/mcp`
/// until the process is told to end.
///
/// # Errors
///
/// An address that cannot be used, or a client that does not speak the protocol.
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
        return Err(ServeError::Open(address));
    }
    let refused = |error| ServeError::Address(address, error);
    let listener = TcpListener::bind(address).await.map_err(refused)?;
    let bound = listener.local_addr().map_err(refused)?;
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

    /// Takes connections for as long as it is polled.
    pub(super) async fn accept(listener: TcpListener, server: impl ServerHandler) {
        // One server for all sessions: a request of the later era is a session of its own, and has to find what an
        // earlier one left.
        let server = Arc::new(server);
        let service = StreamableHttpService::new(
            move || Ok(Arc::clone(&server)),
            Arc::new(LocalSessionManager::default()),
            // A page in a browser has no business here.
            StreamableHttpServerConfig::default().enforce_origin_validation(),
        );
        loop {
            let Ok((connection, _)) = listener.accept().await else {
                // Out of file descriptors, most likely; others will be closed.
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            };
            let _ = connection.set_nodelay(true);
            let served = http1::Builder::new()
                .timer(TokioTimer::new())
                .serve_connection(TokioIo::new(connection), TowerToHyperService::new(service.clone()));
            tokio::spawn(async move {
                // A client that is gone needs no answer.
                let _ = served.await;
            });
        }
    }
}
