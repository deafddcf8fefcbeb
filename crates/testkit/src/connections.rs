//! Serves each connection of a listener in a thread of its own.
//!
//! The threads are joined when they have ended, and never detached: in glibc before 2.39 a thread that ends while it is being
//! detached can crash the process (its bug 19951), and tests make thousands of connections.

use std::net::{TcpListener, TcpStream};
use std::thread::{self, JoinHandle};

/// Listens on a free port of 127.0.0.1, and returns the port. `serve` gets each connection.
///
/// # Panics
///
/// No port is free.
pub fn listen(serve: impl Fn(TcpStream) + Clone + Send + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("it is bound").port();
    thread::spawn(move || {
        let mut open: Vec<JoinHandle<()>> = Vec::new();
        for client in listener.incoming().flatten() {
            let serve = serve.clone();
            open.push(thread::spawn(move || serve(client)));
            let (ended, running) = open.into_iter().partition(JoinHandle::is_finished);
            let ended: Vec<JoinHandle<()>> = ended;
            open = running;
            // What failed in one connection is for the test to notice at its other end.
            ended.into_iter().for_each(|thread| drop(thread.join()));
        }
    });
    port
}
