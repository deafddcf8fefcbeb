//! What both proxies do: listen on a free port of 127.0.0.1, and serve each connection in a thread of its own.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

/// A proxy that listens, and what its connections share.
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
        let port = listen(server, &state, serve);
        Self { port, state }
    }
}

/// Starts to listen in front of the port of a server, and returns the port. `serve` gets each connection.
///
/// # Panics
///
/// No port is free.
fn listen<S: Send + Sync + 'static>(
    server: u16,
    state: &Arc<S>,
    serve: fn(TcpStream, u16, &S) -> io::Result<()>,
) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("it is bound").port();
    let shared = Arc::clone(state);
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let state = Arc::clone(&shared);
            thread::spawn(move || drop(serve(client, server, &state)));
        }
    });
    port
}
