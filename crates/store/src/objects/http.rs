//! The HTTP client of the object store: the one that the rest of tidegate uses. The library's own would bring a second HTTP
//! stack and a second cryptography library.

use std::error::Error;

use http_body_util::BodyExt;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector as TcpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody, HttpResponse,
    HttpResponseBody, HttpService,
};
use std::time::Duration;

use crate::error::StoreError;

/// How long connecting may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a connection is kept without being used. Servers close theirs after some time as well.
const IDLE_TIMEOUT: Duration = Duration::from_secs(20);

type HyperClient = Client<HttpsConnector<TcpConnector>, HttpRequestBody>;

/// Makes clients for the object store.
#[derive(Debug)]
pub(super) struct HyperConnector(HyperClient);

impl HyperConnector {
    pub(super) fn new() -> Result<Self, StoreError> {
        let mut tcp = TcpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(CONNECT_TIMEOUT));
        // Whether plain HTTP may be used was decided by who built the requests.
        let connector = HttpsConnectorBuilder::new()
            .with_native_roots()?
            .https_or_http()
            .enable_http1()
            .wrap_connector(tcp);
        let client = Client::builder(TokioExecutor::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .pool_timer(TokioTimer::new())
            .build(connector);
        Ok(Self(client))
    }
}

impl HttpConnector for HyperConnector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(HyperService(self.0.clone())))
    }
}

#[derive(Debug)]
struct HyperService(HyperClient);

#[async_trait::async_trait]
impl HttpService for HyperService {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let response = self.0.request(request).await.map_err(|error| {
            let kind = if error.is_connect() { HttpErrorKind::Connect } else { kind_of(&error) };
            HttpError::new(kind, error)
        })?;
        let (head, body) = response.into_parts();
        let body = body.map_err(|error| HttpError::new(kind_of(&error), error));
        Ok(HttpResponse::from_parts(head, HttpResponseBody::new(body)))
    }
}

/// Returns what kind of error it is, by which the library decides whether to repeat the request.
fn kind_of(error: &(dyn Error + 'static)) -> HttpErrorKind {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<hyper::Error>() {
            if error.is_closed() || error.is_incomplete_message() || error.is_body_write_aborted() {
                return HttpErrorKind::Request;
            }
            if error.is_timeout() {
                return HttpErrorKind::Timeout;
            }
        }
        if let Some(error) = error.downcast_ref::<std::io::Error>() {
            return match error.kind() {
                std::io::ErrorKind::TimedOut => HttpErrorKind::Timeout,
                _ => HttpErrorKind::Interrupted,
            };
        }
        cause = error.source();
    }
    HttpErrorKind::Unknown
}
