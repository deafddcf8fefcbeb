//! A server over HTTP that several requests share: one session with it, or none, through which lines go as over stdio.
//!
//! `stdio_to_http.rs` makes a request over HTTP of each line, begins a session again if the server dropped it, resumes
//! streams and listens. What it returns is routed like the output of a process.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::{InputLine, Liveness, Log, SharedServer};
use crate::http::remote::Remote;
use crate::http::stdio_to_http::{ForClient, StdioToHttp};
use crate::link::{Failure, Link, ServerMessage};
use crate::spool::{Line, Received};

/// How many messages of the server may wait to be routed.
const MAX_WAITING_MESSAGES: usize = 64;

impl SharedServer {
    /// Returns a server over HTTP; `link` is a conversation that changes nothing. Also returns what tells whether the
    /// server has begun a session.
    pub(in crate::http) fn over_http(
        remote: Arc<Remote>,
        link: Link,
        timeout: Option<Duration>,
        unrouted: mpsc::UnboundedSender<ServerMessage>,
        log: Log,
    ) -> (Arc<Self>, Weak<StdioToHttp>) {
        let (server, lines) = Self::unconnected(None, unrouted, Arc::clone(&log));
        let (out, messages) = mpsc::channel(MAX_WAITING_MESSAGES);
        let bridge = Arc::new(StdioToHttp::for_many(link, remote, out, log));
        let session = Arc::downgrade(&bridge);
        tokio::spawn(route_all(Arc::downgrade(&server), messages));
        tokio::spawn(send_all(Arc::downgrade(&server), bridge, lines));
        if let Some(timeout) = timeout {
            tokio::spawn(Self::watch_deadlines(Arc::downgrade(&server), timeout));
        }
        (server, session)
    }
}

/// Routes the messages of the server.
async fn route_all(server: Weak<SharedServer>, mut messages: mpsc::Receiver<ForClient>) {
    while let Some(message) = messages.recv().await {
        let Some(server) = server.upgrade() else { return };
        let liveness = if message.is_outage { Liveness::Down } else { Liveness::Alive };
        server.route_as(Line::Buffered(Received::Message(message.message)), liveness);
    }
}

/// Sends lines to the server until nobody has any, or it was told to end.
async fn send_all(
    server: Weak<SharedServer>,
    bridge: Arc<StdioToHttp>,
    mut lines: mpsc::UnboundedReceiver<InputLine>,
) {
    let Some(mut told_to_end) = server.upgrade().map(|server| server.told_to_end.subscribe()) else { return };
    let mut tasks = JoinSet::new();
    loop {
        let line = tokio::select! {
            line = lines.recv() => line,
            _ = told_to_end.wait_for(|told| *told) => None,
            Some(_) = tasks.join_next() => continue,
        };
        let Some(line) = line else { break };
        if let Some(server) = server.upgrade() {
            server.waiting_bytes.fetch_sub(line.bytes.len(), Ordering::Relaxed);
        }
        Arc::clone(&bridge).take_with(line.bytes, line.headers, &mut tasks).await;
    }
    if let Some(server) = server.upgrade() {
        server.gone.store(true, Ordering::SeqCst);
        server.unrouted().take();
        let reason = "the session with the server was closed".to_owned();
        server.exit.send_replace(Some(reason.clone()));
        let open: Vec<u64> = server.sent().keys().copied().collect();
        server.fail(&open, &Failure::Ended(reason), Liveness::Unknown);
    }
    bridge.end_session().await;
}
