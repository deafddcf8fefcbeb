//! A proxy in front of the port of a server, and what its connections share.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;

use crate::connections::listen;

/// A proxy that listens.
pub(super) struct Listener<S> {
    pub(super) port: u16,
    pub(super) state: Arc<S>,
}

impl<S: Default + Send + Sync + 'static> Listener<S> {
    /// Starts to listen in front of the port of a server. `serve` gets each connection.
    ///
    /// # Panics
    ///
    /// No port is free.
    pub(super) fn start(server: u16, serve: fn(TcpStream, u16, &S) -> io::Result<()>) -> Self {
        let state = Arc::new(S::default());
        let shared = Arc::clone(&state);
        let port = listen(move |client| drop(serve(client, server, &shared)));
        Self { port, state }
    }
}
