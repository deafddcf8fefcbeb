//! The credentials that callers have for servers: the seam between the gateway that serves and wherever they are kept.
//!
//! A server with credentials of callers gets that of the caller whose request it answers, on a connection of this caller alone.
//! The gateway asks [`FindCredential`] before every request, so that a credential that was changed or removed is noticed.

use std::future::Future;
use std::pin::Pin;

pub use tidegate_store::Credential;

/// A future that [`FindCredential::find`] returns.
pub type Finding<'a> = Pin<Box<dyn Future<Output = Result<Option<Credential>, String>> + Send + 'a>>;

/// Finds the credentials of callers.
pub trait FindCredential: Send + Sync {
    /// Returns the credential that a caller has for a server, or why it cannot be read.
    fn find<'a>(&'a self, owner: &'a str, server: &'a str) -> Finding<'a>;
}

/// Nobody has a credential.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoCredentials;

impl FindCredential for NoCredentials {
    fn find<'a>(&'a self, _: &'a str, _: &'a str) -> Finding<'a> {
        Box::pin(std::future::ready(Ok(None)))
    }
}
