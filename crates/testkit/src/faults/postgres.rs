//! A proxy in front of PostgreSQL that cuts connections at a chosen statement, or stops to answer on them.
//!
//! It follows the protocol of the client as far as it must: a statement ends with a message `Q` (a simple query) or `S`
//! (sync). TLS is off in the tests, so that it can be read.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use super::listener::Listener;

/// How long the server may work on a statement whose answer is lost.
const LAST_WORK: Duration = Duration::from_millis(50);

/// On which side of a statement a connection is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// Before the server sees the statement.
    Before,
    /// After the server received the statement, before the client sees its answer.
    After,
}

#[derive(Default)]
struct CutPlan {
    /// The number of statements to let pass before the cut.
    plan: Mutex<Option<(u64, Cut)>>,
    statements: AtomicU64,
    cuts: AtomicU64,
    connections: AtomicU64,
    /// The connections before this number are silent.
    silent_before: AtomicU64,
}

impl CutPlan {
    /// Counts a statement, and returns whether its connection is to be cut.
    fn next(&self) -> Option<Cut> {
        self.statements.fetch_add(1, Ordering::SeqCst);
        let mut plan = self.plan.lock().expect("no thread panics while it holds it");
        match &mut *plan {
            Some((0, cut)) => {
                let cut = *cut;
                *plan = None;
                self.cuts.fetch_add(1, Ordering::SeqCst);
                Some(cut)
            }
            Some((left, _)) => {
                *left -= 1;
                None
            }
            None => None,
        }
    }
}

/// A proxy in front of PostgreSQL.
pub struct PostgresProxy(Listener<CutPlan>);

impl PostgresProxy {
    /// Starts a proxy in front of a port.
    ///
    /// # Panics
    ///
    /// No port is free.
    pub fn start(server: u16) -> Self {
        Self(Listener::start(server, serve))
    }

    /// Returns its port.
    pub fn port(&self) -> u16 {
        self.0.port
    }

    /// Cuts a connection once, after `statements` more statements of all connections.
    pub fn cut_after(&self, statements: u64, cut: Cut) {
        *self.0.state.plan.lock().expect("no thread panics while it holds it") = Some((statements, cut));
    }

    /// Stops to answer on the connections that are open now, without closing them, as a firewall does that has forgotten them.
    pub fn silence(&self) {
        let state = &self.0.state;
        state.silent_before.store(state.connections.load(Ordering::SeqCst), Ordering::SeqCst);
    }

    /// Returns how many connections were opened so far.
    pub fn connections(&self) -> u64 {
        self.0.state.connections.load(Ordering::SeqCst)
    }

    /// Cuts nothing any more.
    pub fn heal(&self) {
        *self.0.state.plan.lock().expect("no thread panics while it holds it") = None;
    }

    /// Returns how many statements passed or were cut so far.
    pub fn statements(&self) -> u64 {
        self.0.state.statements.load(Ordering::SeqCst)
    }

    /// Returns how often a connection was cut.
    pub fn cuts(&self) -> u64 {
        self.0.state.cuts.load(Ordering::SeqCst)
    }
}

fn serve(mut client: TcpStream, server: u16, state: &CutPlan) -> io::Result<()> {
    let connection = state.connections.fetch_add(1, Ordering::SeqCst);
    let mut upstream = TcpStream::connect(("127.0.0.1", server))?;
    client.set_nodelay(true)?;
    upstream.set_nodelay(true)?;
    let (answers, mut to_client) = (upstream.try_clone()?, client.try_clone()?);
    thread::spawn(move || {
        let mut answers = answers;
        let _ = io::copy(&mut answers, &mut to_client);
        let _ = to_client.shutdown(Shutdown::Both);
    });
    // The first message has no type.
    let startup = message(&mut client, false)?;
    upstream.write_all(&startup)?;
    loop {
        let Ok(bytes) = message(&mut client, true) else {
            return upstream.shutdown(Shutdown::Both);
        };
        if connection < state.silent_before.load(Ordering::SeqCst) {
            continue;
        }
        let cut = if matches!(bytes[0], b'Q' | b'S') { state.next() } else { None };
        match cut {
            None => upstream.write_all(&bytes)?,
            Some(Cut::Before) => {
                client.shutdown(Shutdown::Both)?;
                return upstream.shutdown(Shutdown::Both);
            }
            Some(Cut::After) => {
                // The client is gone before the server can answer, and the server has time to do what it was told.
                client.shutdown(Shutdown::Both)?;
                upstream.write_all(&bytes)?;
                thread::sleep(LAST_WORK);
                return upstream.shutdown(Shutdown::Both);
            }
        }
    }
}

/// Reads a message: a type, unless it is the first, and its length, which includes itself.
fn message(stream: &mut TcpStream, has_type: bool) -> io::Result<Vec<u8>> {
    let mut head = vec![0; if has_type { 5 } else { 4 }];
    stream.read_exact(&mut head)?;
    let length = u32::from_be_bytes(head[head.len() - 4..].try_into().expect("four bytes")) as usize;
    let before = head.len();
    head.resize(before + length.saturating_sub(4), 0);
    stream.read_exact(&mut head[before..])?;
    Ok(head)
}
