//! Serves an MCP server with one call, over stdio or streamable HTTP.
//!
//! Over HTTP, requests from web pages are rejected by their `Origin` header, and those that were sent to another host name
//! by their `Host` header. Without [`HttpOptions::authenticate`] only loopback addresses are accepted.

#[cfg(feature = "http")]
mod http;

use std::net::SocketAddr;

use rmcp::{ServerHandler, ServiceExt};

#[cfg(feature = "http")]
pub use http::{HttpOptions, serve_http};

/// Why serving failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The client did not complete `initialize`, or the connection broke.
    #[error("the connection failed")]
    Connection(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The address is not a loopback address, and requests are not authenticated.
    #[error(
        "{0} can be reached from other machines; listen on 127.0.0.1, authenticate requests, or put `tidegate run --http` in front"
    )]
    NotLoopback(SocketAddr),
    /// The address could not be bound.
    #[error("cannot listen on {0}")]
    Bind(SocketAddr, #[source] std::io::Error),
    /// The listener that was passed cannot be used.
    #[error("cannot use the listener")]
    Listener(#[source] std::io::Error),
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
        None => serve_stdio(server).await,
        #[cfg(feature = "http")]
        Some(address) => serve_http(address, server).await,
        #[cfg(not(feature = "http"))]
        Some(_) => Err(ServeError::NoHttp),
    }
}

/// Serves over stdio, until the client disconnects.
///
/// # Errors
///
/// Fails if the client does not complete `initialize`, or if the connection breaks.
pub async fn serve_stdio(server: impl ServerHandler) -> Result<(), ServeError> {
    let stdio = (tokio::io::stdin(), tokio::io::stdout());
    let running = server.serve(stdio).await.map_err(|error| ServeError::Connection(Box::new(error)))?;
    running.waiting().await.map_err(|error| ServeError::Connection(Box::new(error)))?;
    Ok(())
}
