//! Small documents over HTTP, such as the keys of an issuer of tokens.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::{Method, StatusCode};

use super::remote::{Remote, RemoteError};

/// How long fetching a document may take.
const MAX_TIME: Duration = Duration::from_secs(10);

/// Why a document cannot be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DocumentError {
    /// The server cannot be reached.
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// The server has no such document. Redirects are not followed.
    #[error("{host} answered with status {status}")]
    Status {
        /// The server.
        host: String,
        /// The status of its response.
        status: StatusCode,
    },
    /// The document is longer than allowed, or the connection broke.
    #[error("the document of {host} is longer than {max_bytes} bytes, or was cut off")]
    Body {
        /// The server.
        host: String,
        /// The limit.
        max_bytes: usize,
    },
    /// It took too long.
    #[error("{host} did not answer within {} s", MAX_TIME.as_secs())]
    Timeout {
        /// The server.
        host: String,
    },
}

/// The longest response to a document that is sent; nobody reads it.
const MAX_RECEIPT_BYTES: usize = 64 * 1024;

impl Remote {
    /// Sends a JSON document to the address; returns the status of the response.
    ///
    /// # Errors
    ///
    /// The server cannot be reached, or does not answer.
    pub async fn post(&self, document: Bytes) -> Result<StatusCode, DocumentError> {
        let sent = tokio::time::timeout(MAX_TIME, async {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            let response = self.send(Method::POST, headers, document).await?;
            let status = response.status();
            // A connection whose response was read can be used again.
            let _ = Limited::new(response.into_body(), MAX_RECEIPT_BYTES).collect().await;
            Ok(status)
        });
        sent.await.unwrap_or_else(|_| Err(DocumentError::Timeout { host: self.host() }))
    }

    /// Returns the JSON document at the address.
    ///
    /// # Errors
    ///
    /// The server cannot be reached, has no such document, or it is too long.
    pub async fn document(&self, max_bytes: usize) -> Result<Bytes, DocumentError> {
        let fetched = tokio::time::timeout(MAX_TIME, async {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
            let response = self.send(Method::GET, headers, Bytes::new()).await?;
            if response.status() != StatusCode::OK {
                return Err(DocumentError::Status { host: self.host(), status: response.status() });
            }
            let body = Limited::new(response.into_body(), max_bytes).collect().await;
            let body = body.map_err(|_| DocumentError::Body { host: self.host(), max_bytes })?;
            Ok(body.to_bytes())
        });
        fetched.await.unwrap_or_else(|_| Err(DocumentError::Timeout { host: self.host() }))
    }
}
