//! A plain proxy that gives connections to replicas in turn, as a load balancer does that knows nothing of HTTP.

use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering};

use tidegate_testkit::connections::listen;

/// The proxy.
pub(super) struct Balancer {
    pub(super) port: u16,
    /// The ports of the replicas; 0 for one that is down.
    replicas: Arc<Vec<AtomicU16>>,
}

impl Balancer {
    /// Starts it before its replicas, which must know its port: it is the one that clients name in `Host`.
    pub(super) fn start(replicas: usize) -> Self {
        let replicas = Arc::new((0..replicas).map(|_| AtomicU16::new(0)).collect::<Vec<_>>());
        let (targets, turn) = (Arc::clone(&replicas), Arc::new(AtomicUsize::new(0)));
        let port = listen(move |client| drop(relay(&client, &targets, &turn)));
        Self { port, replicas }
    }

    /// Sets the port of a replica.
    pub(super) fn set(&self, replica: usize, port: u16) {
        self.replicas[replica].store(port, Ordering::SeqCst);
    }
}

/// Connects a client with the next replica that accepts it.
fn relay(client: &TcpStream, replicas: &[AtomicU16], turn: &AtomicUsize) -> io::Result<()> {
    let first = turn.fetch_add(1, Ordering::SeqCst);
    let mut ports =
        (0..replicas.len()).map(|more| replicas[(first + more) % replicas.len()].load(Ordering::SeqCst));
    let server = ports.find_map(|port| TcpStream::connect(("127.0.0.1", port)).ok());
    let server = server.ok_or(io::ErrorKind::ConnectionRefused)?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (mut from_server, mut to_client) = (server.try_clone()?, client.try_clone()?);
    let answers = std::thread::spawn(move || {
        let _ = io::copy(&mut from_server, &mut to_client);
        let _ = to_client.shutdown(Shutdown::Both);
    });
    let (mut from_client, mut to_server) = (client.try_clone()?, server.try_clone()?);
    let _ = io::copy(&mut from_client, &mut to_server);
    let _ = server.shutdown(Shutdown::Both);
    let _ = answers.join();
    Ok(())
}
