//! Who the clients over HTTP are: whose results each can read.

use hyper::header::{AUTHORIZATION, HeaderMap};
use tidegate_gate::{CallerId, Principal};

/// How the proxy distinguishes clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clients {
    /// Every client has sent the token that the user of this process has set, and is that user.
    Authenticated,
    /// The server checks the `Authorization` header, which is forwarded to it: each value is a client of its own.
    ByAuthorization,
    /// Clients are not authenticated: each session is a separate client, and so is each request without a session.
    Unknown,
}

impl Clients {
    /// Returns whose results a request can read; `session` is its MCP session.
    pub(super) fn principal(self, headers: &HeaderMap, session: Option<&str>) -> Principal {
        let authorization = || {
            let value = headers.get(AUTHORIZATION)?.as_bytes();
            CallerId::new(String::from_utf8_lossy(value)).map(Principal::Named)
        };
        let unnamed =
            || session.map_or(Principal::Stateless, |session| Principal::Session(session.to_owned()));
        match self {
            Self::Authenticated => Principal::User,
            Self::ByAuthorization => authorization().unwrap_or_else(unnamed),
            Self::Unknown => unnamed(),
        }
    }
}
