//! A server that several HTTP requests share: each request gets an id of tidegate's on the way to the server, and
//! its own id back. Most are processes on stdio; behind a gateway, also servers over HTTP (`over_http.rs`).
//!
//! Clients choose their ids and progress tokens themselves, and many choose 1. So every request is given a number that no
//! other request has, which is also its progress token, and the response with that number goes to the client that sent the
//! request (`route.rs`). The link of the request decides on the message.

#[cfg(feature = "gateway")]
mod over_http;
mod route;

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use hyper::header::HeaderMap;
use tidegate_gate::raw::{self, Edits};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::process::Child;
use tokio::sync::{mpsc, watch};

use crate::guard;
use crate::link::{Failure, Link, Overdue, ServerMessage};
use crate::message::{MessageHead, MessageKind, ParsedLine};
use crate::spool::{Limits, Line, LineSplitter, Message};
use crate::system::{ProcessTree, async_command};

/// How many messages may wait for a client that does not read.
const MAX_WAITING_MESSAGES: usize = 1024;
/// How many of these places are for responses only: a slow client misses progress, but no response.
const PLACES_FOR_RESPONSES: usize = 256;
/// How many bytes may wait for a server that does not read.
const MAX_WAITING_INPUT_BYTES: usize = 8 << 20;
/// The longest line of a server in the log; the rest is a line of its own.
const MAX_LOG_LINE_BYTES: u64 = 8192;
/// How often tidegate checks whether a server that takes no more requests has answered all others.
const IDLE_CHECK_INTERVAL: Duration = Duration::from_millis(500);

/// Writes a line to the log.
pub(super) type Log = Arc<dyn Fn(&str) + Send + Sync>;

/// How a server is started.
pub(super) struct ServerCommand {
    /// tidegate itself, which starts the guard of the server.
    pub(super) program: PathBuf,
    pub(super) command: Vec<OsString>,
    pub(super) environment: Environment,
    /// Takes what it writes to stderr; `None` if that goes to the stderr of tidegate.
    pub(super) stderr: Option<Log>,
}

/// The environment variables of a server.
#[derive(Debug, Clone, Default)]
pub(super) struct Environment {
    /// Variables of tidegate's own that the server must not see.
    pub(super) hidden: Vec<String>,
    /// The only variables of tidegate's own that the server sees; `None` for all that are not hidden.
    pub(super) only: Option<Vec<String>>,
    /// Variables for the server alone.
    pub(super) set: Vec<(String, String)>,
}

impl Environment {
    fn apply(&self, command: &mut tokio::process::Command) {
        if let Some(only) = &self.only {
            let kept: Vec<_> = only.iter().filter_map(|name| Some((name, std::env::var_os(name)?))).collect();
            command.env_clear().envs(kept);
        }
        for name in &self.hidden {
            command.env_remove(name);
        }
        command.envs(self.set.iter().map(|(name, value)| (name, value)));
    }
}

/// What a message says about the server that it is from, or that should have sent it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Liveness {
    /// The server sent it, or has said something else in its place.
    Alive,
    /// tidegate answers in place of a server that is down or silent.
    Down,
    /// Nothing: tidegate itself ended the connection.
    Unknown,
}

/// A message for the client that sent a request.
#[derive(Debug)]
pub(super) struct Delivery {
    pub(super) message: Message,
    /// Whether it is the response to the request.
    pub(super) is_response: bool,
    /// The code of the error, if it is an error response.
    pub(super) error_code: Option<i64>,
    #[cfg_attr(not(feature = "gateway"), expect(dead_code, reason = "only a gateway judges servers"))]
    pub(super) liveness: Liveness,
}

/// Where the messages for a request go.
pub(super) type DeliverySender = mpsc::Sender<Delivery>;

/// Returns a channel for the messages for a request.
pub(super) fn deliveries() -> (DeliverySender, mpsc::Receiver<Delivery>) {
    mpsc::channel(MAX_WAITING_MESSAGES)
}

/// A request that was sent to the server.
struct SentRequest {
    /// Its id, as the client wrote it.
    id: Vec<u8>,
    /// Its progress token, as the client wrote it.
    token: Option<Vec<u8>>,
    link: Arc<Link>,
    deliveries: DeliverySender,
    /// Whether its response has arrived, though it may still be shaped.
    answered: bool,
}

/// The open requests, by the number they were given.
type SentRequests = Arc<Mutex<HashMap<u64, SentRequest>>>;

/// A line for the server, with the numbers of the requests in it.
struct InputLine {
    bytes: Vec<u8>,
    numbers: Vec<u64>,
    /// Headers for a server over HTTP.
    #[cfg_attr(
        not(feature = "gateway"),
        expect(dead_code, reason = "only a gateway has servers over HTTP here")
    )]
    headers: Option<Box<HeaderMap>>,
}

/// A server on stdio.
pub(super) struct SharedServer {
    /// A task writes what is sent here, so a server that does not read holds up no request.
    input: mpsc::UnboundedSender<InputLine>,
    waiting_bytes: AtomicUsize,
    sent: SentRequests,
    next_number: AtomicU64,
    /// Where messages go that belong to no request, until the server ends.
    unrouted: Mutex<Option<mpsc::UnboundedSender<ServerMessage>>>,
    log: Log,
    /// Whether the server takes no more requests: it has closed a stream, and ends or will be ended.
    gone: AtomicBool,
    /// How the server ended, once it has.
    exit: watch::Sender<Option<String>>,
    /// Whether the server was told to end.
    told_to_end: watch::Sender<bool>,
    tree: Option<ProcessTree>,
}

/// Logs what a server writes to stderr, line by line.
async fn log_lines(stderr: impl AsyncRead + Unpin, log: Log) {
    let (mut reader, mut line) = (tokio::io::BufReader::new(stderr), Vec::new());
    loop {
        line.clear();
        let read = (&mut reader).take(MAX_LOG_LINE_BYTES).read_until(b'\n', &mut line).await;
        if !matches!(read, Ok(1..)) {
            return;
        }
        let text = String::from_utf8_lossy(&line);
        if !text.trim_end().is_empty() {
            log(text.trim_end());
        }
    }
}

impl SharedServer {
    /// Starts a server. Messages that belong to no request go to `unrouted`.
    pub(super) fn start(
        command: &ServerCommand,
        limits: Arc<Limits>,
        timeout: Option<Duration>,
        unrouted: mpsc::UnboundedSender<ServerMessage>,
        log: Log,
    ) -> io::Result<Arc<Self>> {
        let mut start = async_command(&command.program, &command.command);
        command.environment.apply(&mut start);
        let stderr = if command.stderr.is_some() { Stdio::piped() } else { Stdio::inherit() };
        let mut child = start.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr).spawn()?;
        if let (Some(log), Some(stderr)) = (&command.stderr, child.stderr.take()) {
            tokio::spawn(log_lines(stderr, Arc::clone(log)));
        }
        let tree = ProcessTree::of_async(&child);
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("the server has no streams"));
        };
        let server = Self::new(stdin, Some(tree), unrouted, log);
        tokio::spawn(Arc::clone(&server).run(child, stdout, limits));
        if let Some(timeout) = timeout {
            tokio::spawn(Self::watch_deadlines(Arc::downgrade(&server), timeout));
        }
        Ok(server)
    }

    /// Returns a server that is written to through `input`.
    pub(super) fn new(
        input: impl AsyncWrite + Send + Unpin + 'static,
        tree: Option<ProcessTree>,
        unrouted: mpsc::UnboundedSender<ServerMessage>,
        log: Log,
    ) -> Arc<Self> {
        let (server, waiting) = Self::unconnected(tree, unrouted, log);
        tokio::spawn(Self::write_input(Arc::downgrade(&server), input, waiting));
        server
    }

    /// Returns a server, and the lines that are for it.
    fn unconnected(
        tree: Option<ProcessTree>,
        unrouted: mpsc::UnboundedSender<ServerMessage>,
        log: Log,
    ) -> (Arc<Self>, mpsc::UnboundedReceiver<InputLine>) {
        let (lines, waiting) = mpsc::unbounded_channel();
        let server = Arc::new(Self {
            input: lines,
            waiting_bytes: AtomicUsize::new(0),
            sent: SentRequests::default(),
            next_number: AtomicU64::new(1),
            unrouted: Mutex::new(Some(unrouted)),
            log,
            gone: AtomicBool::new(false),
            exit: watch::Sender::new(None),
            told_to_end: watch::Sender::new(false),
            tree,
        });
        (server, waiting)
    }

    fn sent(&self) -> MutexGuard<'_, HashMap<u64, SentRequest>> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn unrouted(&self) -> MutexGuard<'_, Option<mpsc::UnboundedSender<ServerMessage>>> {
        self.unrouted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a message of a client. Responses to its requests go to `deliveries`; returns the numbers the requests were
    /// given.
    pub(super) fn send(
        &self,
        link: &Arc<Link>,
        line: Option<ParsedLine>,
        deliveries: &DeliverySender,
    ) -> Vec<u64> {
        self.send_with(link, line, deliveries, None)
    }

    /// Sends a message of a client, with headers if the server is reached over HTTP.
    pub(super) fn send_with(
        &self,
        link: &Arc<Link>,
        line: Option<ParsedLine>,
        deliveries: &DeliverySender,
        headers: Option<Box<HeaderMap>>,
    ) -> Vec<u64> {
        let Some(line) = line else { return Vec::new() };
        let (mut numbers, mut edits) = (Vec::new(), Edits::new());
        for head in line.heads() {
            match head.kind() {
                MessageKind::Request => {
                    numbers.push(self.assign_number(&line.bytes, head, link, deliveries, &mut edits));
                }
                MessageKind::Notification if head.method() == "notifications/cancelled" => {
                    self.translate_cancel(&line.bytes, head, &mut edits);
                }
                _ => {}
            }
        }
        let mut line = edits.apply(&line.bytes);
        // On stdio a message is one line; over HTTP a client may write it over several.
        line.retain(|byte| !matches!(byte, b'\n' | b'\r'));
        line.push(b'\n');
        // What came before this may have taken a while, and the server could not know of the request.
        link.restart_clocks();
        if self.has_ended() {
            let reason = self.exit.borrow().clone();
            let failure = Failure::Unsent(reason.unwrap_or_else(|| "the server has ended".into()));
            self.fail(&numbers, &failure, self.liveness());
        } else {
            self.write(line, numbers.clone(), headers);
        }
        numbers
    }

    fn assign_number(
        &self,
        line: &[u8],
        head: &MessageHead,
        link: &Arc<Link>,
        deliveries: &DeliverySender,
        edits: &mut Edits,
    ) -> u64 {
        let number = self.next_number.fetch_add(1, Ordering::Relaxed);
        let params = head.params.as_ref();
        let token = params.and_then(|params| raw::at(line, params, &["_meta", "progressToken"]));
        if let Some(token) = &token {
            edits.replace(token.clone(), number.to_string());
        }
        let request = SentRequest {
            id: head.id_bytes().to_vec(),
            token: token.map(|token| line[token].to_vec()),
            link: Arc::clone(link),
            deliveries: deliveries.clone(),
            answered: false,
        };
        edits.replace(head.id.clone().unwrap_or_default(), number.to_string());
        self.sent().insert(number, request);
        number
    }

    fn translate_cancel(&self, line: &[u8], head: &MessageHead, edits: &mut Edits) {
        let id = head.params.as_ref().and_then(|params| raw::member(line, params, "requestId"));
        let Some(id) = id else { return };
        let sent = self.sent();
        let is_open = |request: &SentRequest| !request.answered && request.id == line[id.clone()];
        let number = sent.iter().find(|(_, request)| is_open(request)).map(|(number, _)| *number);
        // 0 is never given to a request, so the server finds nothing to cancel.
        edits.replace(id, number.unwrap_or(0).to_string());
    }

    /// Tells the server that no client waits for some responses any more.
    pub(super) fn abandon(&self, numbers: &[u64]) {
        for number in numbers {
            let request = self.sent().remove(number);
            if request.is_some_and(|request| !request.answered) {
                self.cancel(*number, "the client is gone");
            }
        }
    }

    fn cancel(&self, number: u64, reason: &str) {
        let cancel = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{number},"reason":"{reason}"}}}}"#
        );
        self.write([cancel.as_bytes(), b"\n"].concat(), Vec::new(), None);
    }

    /// Queues a line for the server. If the server does not read, the requests in the line are answered with an error.
    fn write(&self, bytes: Vec<u8>, numbers: Vec<u64>, headers: Option<Box<HeaderMap>>) {
        let length = bytes.len();
        if self.waiting_bytes.fetch_add(length, Ordering::Relaxed) > MAX_WAITING_INPUT_BYTES {
            self.waiting_bytes.fetch_sub(length, Ordering::Relaxed);
            let failure = Failure::Unsent("the server does not read its input".into());
            return self.fail(&numbers, &failure, Liveness::Down);
        }
        // The task that writes lives as long as the server.
        let _ = self.input.send(InputLine { bytes, numbers, headers });
    }

    /// Writes the lines that are queued, in order.
    async fn write_input(
        server: Weak<Self>,
        mut input: impl AsyncWrite + Unpin,
        mut lines: mpsc::UnboundedReceiver<InputLine>,
    ) {
        while let Some(line) = lines.recv().await {
            let written = match input.write_all(&line.bytes).await {
                Ok(()) => input.flush().await,
                Err(error) => Err(error),
            };
            let Some(server) = server.upgrade() else { return };
            server.waiting_bytes.fetch_sub(line.bytes.len(), Ordering::Relaxed);
            if written.is_err() {
                if !server.gone.swap(true, Ordering::SeqCst) {
                    tokio::spawn(Self::end_when_idle(Arc::downgrade(&server)));
                }
                let failure = Failure::Ended("the server closed its input".into());
                server.fail(&line.numbers, &failure, server.liveness());
            }
        }
    }

    /// Ends a server that takes no more requests, once those that it took are answered.
    async fn end_when_idle(server: Weak<Self>) {
        while let Some(server) = server.upgrade() {
            if server.sent().is_empty() {
                return server.end();
            }
            drop(server);
            tokio::time::sleep(IDLE_CHECK_INTERVAL).await;
        }
    }

    /// Answers the requests that the server leaves unanswered for too long, until the server is gone.
    async fn watch_deadlines(server: Weak<Self>, timeout: Duration) {
        let mut wake = timeout;
        loop {
            tokio::time::sleep(wake).await;
            let Some(server) = server.upgrade() else { return };
            let mut links: Vec<Arc<Link>> = Vec::new();
            {
                let mut sent = server.sent();
                // The link has dropped the response, because the request was answered before.
                sent.retain(|_, request| !request.answered || request.link.is_open());
                links.extend(sent.values().map(|request| Arc::clone(&request.link)));
            }
            for link in &links {
                link.overdue().into_iter().for_each(|overdue| server.give_up(link, overdue));
            }
            wake = links.iter().filter_map(|link| link.next_wake()).min().unwrap_or(timeout);
        }
    }

    /// Answers a request in place of the server.
    fn give_up(&self, link: &Arc<Link>, overdue: Overdue) {
        let mut sent = self.sent();
        let number = sent
            .iter()
            .find(|(_, request)| Arc::ptr_eq(&request.link, link) && request.id == overdue.id)
            .map(|(number, _)| *number);
        let Some((number, request)) = number.and_then(|number| Some((number, sent.remove(&number)?))) else {
            return;
        };
        drop(sent);
        if overdue.cancel.is_some() {
            self.cancel(number, "timeout");
        }
        let liveness = if overdue.was_answered { Liveness::Alive } else { Liveness::Down };
        let answer = response(overdue.answer.into(), Some(overdue.code));
        deliver(&request.deliveries, Delivery { liveness, ..answer });
    }

    /// Returns what it says about the server that it takes no more requests.
    fn liveness(&self) -> Liveness {
        if *self.told_to_end.borrow() { Liveness::Unknown } else { Liveness::Down }
    }

    /// Answers requests with an error, because the server will not.
    fn fail(&self, numbers: &[u64], failure: &Failure, liveness: Liveness) {
        for number in numbers {
            let request = {
                let mut sent = self.sent();
                match sent.get(number).is_some_and(|request| !request.answered) {
                    true => sent.remove(number),
                    false => None,
                }
            };
            let Some(request) = request else { continue };
            for answer in request.link.fail(failure) {
                deliver(&request.deliveries, Delivery { liveness, ..response(answer.into(), None) });
            }
        }
    }

    /// Returns whether the server takes no more requests.
    pub(super) fn has_ended(&self) -> bool {
        self.gone.load(Ordering::SeqCst)
    }

    /// Returns whether requests wait for their response.
    #[cfg(feature = "gateway")]
    pub(super) fn is_busy(&self) -> bool {
        !self.sent().is_empty()
    }

    /// Ends the server.
    pub(super) fn end(&self) {
        self.told_to_end.send_replace(true);
        // Another process may have the number of a guard that is gone.
        if let Some(tree) = self.tree.as_ref().filter(|_| self.exit.borrow().is_none()) {
            tree.end();
        }
    }

    /// Routes the output of the server until it ends, then answers the requests that are still open.
    async fn run(self: Arc<Self>, mut child: Child, stdout: impl AsyncRead + Unpin, limits: Arc<Limits>) {
        self.read_output(stdout, limits).await;
        let liveness = self.liveness();
        self.unrouted().take();
        // Later requests get another server, though this one may take a while to end.
        self.gone.store(true, Ordering::SeqCst);
        let ended = match tokio::time::timeout(guard::GRACE, child.wait()).await {
            Ok(ended) => ended,
            Err(_) => {
                self.end();
                child.wait().await
            }
        };
        let code = ended.map_or(1, guard::exit_code);
        let reason = format!("the server {}", guard::exit_text(code));
        self.exit.send_replace(Some(reason.clone()));
        let open: Vec<u64> = self.sent().keys().copied().collect();
        self.fail(&open, &Failure::Ended(reason), liveness);
    }

    async fn read_output(&self, mut stdout: impl AsyncRead + Unpin, limits: Arc<Limits>) {
        let mut lines = LineSplitter::new(limits);
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(count @ 1..) = stdout.read(&mut buffer).await {
            lines.push(&buffer[..count], |line| self.route(line));
        }
        if let Some(received) = lines.finish() {
            self.route(Line::Buffered(received));
        }
    }
}

/// Returns the delivery of a response.
pub(super) fn response(message: Message, error_code: Option<i64>) -> Delivery {
    Delivery { message, is_response: true, error_code, liveness: Liveness::Alive }
}

/// Delivers a message to a client, which may be gone or slow.
pub(super) fn deliver(deliveries: &DeliverySender, delivery: Delivery) {
    if delivery.is_response || deliveries.capacity() > PLACES_FOR_RESPONSES {
        let _ = deliveries.try_send(delivery);
    }
}
