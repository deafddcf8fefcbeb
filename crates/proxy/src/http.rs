//! Streamable HTTP on either side, in both protocol eras.
//!
//! A `legacy` request belongs to a session that `initialize` began; since protocol version 2026-07-28 (`modern`) every request
//! stands alone and repeats parts of its body in headers.

mod body;
mod body_kind;
mod clients;
mod document;
mod exchange;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;
#[cfg(feature = "gateway")]
pub mod gateway;
mod headers;
mod http_to_http;
mod http_to_stdio;
mod legacy;
mod modern;
mod remote;
mod respond;
mod safety;
mod saved;
mod serve;
mod session;
mod shared_server;
mod sse;
mod stdio_to_http;
#[cfg(test)]
mod tests;
#[cfg(feature = "gateway")]
mod tls;

pub use clients::Clients;
pub use document::DocumentError;
pub use http_to_http::HttpToHttp;
pub use http_to_stdio::HttpToStdio;
pub use remote::{Remote, RemoteError, header_of};
pub use safety::Safety;
pub use serve::{Backend, Options, ServeError, serve};
pub use stdio_to_http::stdio_to_http;
#[cfg(feature = "gateway")]
pub use tls::{Tls, TlsError};
