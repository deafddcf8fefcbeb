//! A server over HTTP: connecting to it and sending requests.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tidegate_gate::causes;

use super::headers::HeaderArguments;
use crate::link::Failure;

/// Why a server cannot be used or reached.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// The address is invalid.
    #[error("the URL of the server is invalid; it must look like https://example.com/mcp")]
    Address,
    /// The system's certificates cannot be read.
    #[error("the certificates of this system cannot be read")]
    Certificates(#[source] io::Error),
    /// The server cannot be reached.
    #[error("the server at {host} cannot be reached")]
    Unreachable {
        /// Its host; the rest of an address may be a secret.
        host: String,
        /// The cause.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The connection broke, or the response is not HTTP, after the request or a part of it was sent.
    #[error("the exchange with the server at {host} failed")]
    Broken {
        /// Its host; the rest of an address may be a secret.
        host: String,
        /// The cause.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl RemoteError {
    /// Returns the failure that the requests of the client are answered with.
    pub(super) fn failure(&self) -> Failure {
        match self {
            Self::Broken { .. } => Failure::Ended(causes(self)),
            _ => Failure::Unsent(causes(self)),
        }
    }
}

#[derive(Clone)]
enum Transport {
    Plain(Client<HttpConnector, Full<Bytes>>),
    Tls(Client<HttpsConnector<HttpConnector>, Full<Bytes>>),
}

/// A server over HTTP. Redirects are not followed, because they could lead anywhere.
pub struct Remote {
    transport: Transport,
    url: Uri,
    headers: HeaderMap,
    header_arguments: Mutex<HeaderArguments>,
}

/// How long connecting may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the server may take to accept a cancellation.
const MAX_CANCEL_TIME: Duration = Duration::from_secs(10);

impl Remote {
    /// Returns a server at an address; `headers` are sent with every request.
    ///
    /// # Errors
    ///
    /// An invalid address.
    pub fn new(url: &str, headers: HeaderMap) -> Result<Self, RemoteError> {
        let uri: Uri = url.parse().map_err(|_| RemoteError::Address)?;
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(CONNECT_TIMEOUT));
        connector.enforce_http(false);
        let transport = match (uri.scheme_str(), uri.host()) {
            (Some("http"), Some(_)) => {
                Transport::Plain(Client::builder(TokioExecutor::new()).build(connector))
            }
            (Some("https"), Some(_)) => {
                let builder =
                    HttpsConnectorBuilder::new().with_native_roots().map_err(RemoteError::Certificates)?;
                let connector = builder.https_only().enable_http1().wrap_connector(connector);
                Transport::Tls(Client::builder(TokioExecutor::new()).build(connector))
            }
            _ => return Err(RemoteError::Address),
        };
        Ok(Self { transport, url: uri, headers, header_arguments: Mutex::default() })
    }

    /// Returns the same server, to which a header is sent with every request. Both share connections of the transport.
    #[cfg(feature = "gateway")]
    pub(super) fn with_header(&self, name: HeaderName, value: HeaderValue) -> Self {
        let mut headers = self.headers.clone();
        headers.insert(name, value);
        let (transport, url) = (self.transport.clone(), self.url.clone());
        Self { transport, url, headers, header_arguments: Mutex::default() }
    }

    /// Returns scheme, host and port of the address; what comes before and after them may be a secret.
    pub(super) fn host(&self) -> String {
        let scheme = self.url.scheme_str().unwrap_or_default();
        let port = self.url.port().map_or_else(String::new, |port| format!(":{port}"));
        format!("{scheme}://{}{port}", self.url.host().unwrap_or_default())
    }

    /// Returns the arguments that tools of the server want repeated in headers, as far as its lists were seen.
    pub(super) fn header_arguments(&self) -> MutexGuard<'_, HeaderArguments> {
        self.header_arguments.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a request and returns its response, whose body follows.
    pub(super) async fn send(
        &self,
        method: Method,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Response<Incoming>, RemoteError> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = self.url.clone();
        *request.headers_mut() = headers;
        for (name, value) in &self.headers {
            request.headers_mut().insert(name.clone(), value.clone());
        }
        let sent = match &self.transport {
            Transport::Plain(client) => client.request(request).await,
            Transport::Tls(client) => client.request(request).await,
        };
        sent.map_err(|error| match error.is_connect() {
            true => RemoteError::Unreachable { host: self.host(), source: Box::new(error) },
            false => RemoteError::Broken { host: self.host(), source: Box::new(error) },
        })
    }

    /// Sends a cancellation, without waiting for the server to accept it.
    pub(super) fn send_cancel(self: &Arc<Self>, headers: HeaderMap, cancel: Vec<u8>) {
        let remote = Arc::clone(self);
        tokio::spawn(async move {
            let sent = remote.send(Method::POST, headers, cancel.into());
            let _ = tokio::time::timeout(MAX_CANCEL_TIME, sent).await;
        });
    }
}

/// Parses the name and value of a header.
///
/// # Errors
///
/// Says what is invalid.
pub fn header_of(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), String> {
    let name = HeaderName::from_bytes(name.as_bytes())
        .map_err(|_| format!("{name:?} is not the name of a header"))?;
    let mut value =
        HeaderValue::from_str(value).map_err(|_| format!("the value of {name} is not valid in a header"))?;
    value.set_sensitive(true);
    Ok((name, value))
}
