//! A server on stdio that several HTTP requests share: each request gets an id of tidegate's on the way to the server, and
//! its own id back.
//!
//! Clients choose their ids and progress tokens themselves, and many choose 1. So every request is given a number that no
//! other request has, which is also its progress token, and what comes back with that number goes to whoever asked. This
//! file only routes messages; the link of the request decides on them.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, Signal, kill_process};
use tidegate_gate::raw::{self, ByteRange, Edits};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::process::{Child, Command};
use tokio::sync::{mpsc, watch};

use super::exchange::pass_on;
use crate::content::Content;
use crate::guard;
use crate::link::{Link, ServerMessage, dropped_line, dropped_response, dropped_text};
use crate::message::{MessageHead, MessageKind, ParsedLine, message_after_text, parse_heads};
use crate::spool::{Limits, Line, LineSplitter, Message, Received, Spooled, TooLarge};

const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";
/// How many messages may wait for a client that does not read.
const MAX_WAITING_MESSAGES: usize = 1024;
/// How many of these places are for responses only: a slow client misses progress, but no response.
const PLACES_FOR_RESPONSES: usize = 256;

/// Writes a line to the log.
pub(super) type Log = Arc<dyn Fn(&str) + Send + Sync>;

/// A message for the client that sent a request.
#[derive(Debug)]
pub(super) struct Delivery {
    pub(super) message: Message,
    /// Whether it is the response to the request.
    pub(super) is_response: bool,
    /// The code of the error, if it is an error response.
    pub(super) error_code: Option<i64>,
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
}

/// A server on stdio.
pub(super) struct StdioServer {
    input: tokio::sync::Mutex<Box<dyn AsyncWrite + Send + Unpin>>,
    /// The open requests, by the number they were given.
    sent: Mutex<HashMap<u64, SentRequest>>,
    next_number: AtomicU64,
    /// Where messages go that belong to no request, until the server ends.
    unrouted: Mutex<Option<mpsc::UnboundedSender<ServerMessage>>>,
    log: Log,
    /// Whether the server takes no more requests: it has closed a stream, and ends or will be ended.
    gone: AtomicBool,
    /// How the server ended, once it has.
    exit: watch::Sender<Option<String>>,
    guard: Option<Pid>,
}

impl StdioServer {
    /// Starts a server. Messages that belong to no request go to `unrouted`.
    pub(super) fn start(
        program: &Path,
        command: &[OsString],
        limits: Arc<Limits>,
        unrouted: mpsc::UnboundedSender<ServerMessage>,
        log: Log,
    ) -> io::Result<Arc<Self>> {
        let mut child = Command::new(program)
            .arg(guard::SUBCOMMAND)
            .arg(std::process::id().to_string())
            .args(command)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .process_group(0)
            .spawn()?;
        let guard = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("the server has no streams"));
        };
        let server = Arc::new(Self { guard, ..Self::new(stdin, unrouted, log) });
        tokio::spawn(Arc::clone(&server).run(child, stdout, limits));
        Ok(server)
    }

    /// Returns a server that is written to through `input`.
    pub(super) fn new(
        input: impl AsyncWrite + Send + Unpin + 'static,
        unrouted: mpsc::UnboundedSender<ServerMessage>,
        log: Log,
    ) -> Self {
        Self {
            input: tokio::sync::Mutex::new(Box::new(input)),
            sent: Mutex::default(),
            next_number: AtomicU64::new(1),
            unrouted: Mutex::new(Some(unrouted)),
            log,
            gone: AtomicBool::new(false),
            exit: watch::Sender::new(None),
            guard: None,
        }
    }

    fn sent(&self) -> MutexGuard<'_, HashMap<u64, SentRequest>> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn unrouted(&self) -> MutexGuard<'_, Option<mpsc::UnboundedSender<ServerMessage>>> {
        self.unrouted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a message of a client. Responses to its requests go to `deliveries`; returns the numbers the requests were
    /// given.
    pub(super) async fn send(
        &self,
        link: &Arc<Link>,
        line: Option<ParsedLine>,
        deliveries: &DeliverySender,
    ) -> Vec<u64> {
        let (mut numbers, mut edits) = (Vec::new(), Edits::new());
        let line = line.unwrap_or(ParsedLine { bytes: Vec::new(), heads: None });
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
        if self.has_ended() || self.write(&line).await.is_err() {
            self.gone.store(true, Ordering::SeqCst);
            self.fail(&numbers);
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
        };
        edits.replace(head.id.clone().unwrap_or_default(), number.to_string());
        self.sent().insert(number, request);
        number
    }

    fn translate_cancel(&self, line: &[u8], head: &MessageHead, edits: &mut Edits) {
        let id = head.params.as_ref().and_then(|params| raw::member(line, params, "requestId"));
        let Some(id) = id else { return };
        let sent = self.sent();
        let number =
            sent.iter().find(|(_, request)| request.id == line[id.clone()]).map(|(number, _)| *number);
        // 0 is never given to a request, so the server finds nothing to cancel.
        edits.replace(id, number.unwrap_or(0).to_string());
    }

    /// Tells the server that nobody waits for some responses any more.
    pub(super) async fn abandon(&self, numbers: &[u64]) {
        for number in numbers {
            let is_open = self.sent().remove(number).is_some();
            if is_open {
                let cancel = format!(
                    r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{number},"reason":"the client is gone"}}}}"#
                );
                let _ = self.write(&[cancel.as_bytes(), b"\n"].concat()).await;
            }
        }
    }

    /// Writes a line, after those that were begun before.
    async fn write(&self, line: &[u8]) -> io::Result<()> {
        let mut input = self.input.lock().await;
        input.write_all(line).await?;
        input.flush().await
    }

    /// Answers requests with an error, because the server is gone.
    fn fail(&self, numbers: &[u64]) {
        let reason = self.exit.borrow().clone().unwrap_or_else(|| "the server has ended".into());
        for number in numbers {
            let Some(request) = self.sent().remove(number) else { continue };
            for answer in request.link.end(&reason) {
                deliver(&request.deliveries, response(answer.into(), None));
            }
        }
    }

    /// Returns whether the server takes no more requests.
    pub(super) fn has_ended(&self) -> bool {
        self.gone.load(Ordering::SeqCst)
    }

    /// Ends the server.
    pub(super) fn end(&self) {
        if let Some(guard) = self.guard {
            let _ = kill_process(guard, Signal::TERM);
        }
    }

    /// Routes the output of the server until it ends, then answers the requests that are still open.
    async fn run(self: Arc<Self>, mut child: Child, stdout: impl AsyncRead + Unpin, limits: Arc<Limits>) {
        self.read_output(stdout, limits).await;
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
        self.exit.send_replace(Some(format!("the server ended with exit code {code}")));
        let open: Vec<u64> = self.sent().keys().copied().collect();
        self.fail(&open);
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

    /// Sends a line of the server to whom it is for.
    pub(super) fn route(&self, line: Line<'_>) {
        match line {
            Line::InPlace(line) => self.route_line(line),
            Line::Buffered(Received::Message(Message::Memory(line))) => self.route_line(&line),
            Line::Buffered(Received::Message(Message::Disk(spooled))) => self.route_spooled(&spooled),
            Line::Buffered(Received::TooLarge(too_large)) => self.refuse(too_large),
        }
    }

    fn refuse(&self, too_large: TooLarge) {
        let request =
            too_large.id.as_deref().and_then(number_of).and_then(|number| self.sent().remove(&number));
        let Some(request) = request else {
            return (self.log)(&format!("dropped a message of the server: it {}", too_large.reason));
        };
        let refused = request.link.refuse(&TooLarge { id: Some(request.id), ..too_large });
        if let Some(message) = refused.forward {
            deliver(&request.deliveries, response(message, refused.error_code));
        }
    }

    fn route_line(&self, line: &[u8]) {
        let content = Content::Memory(line);
        let Some(heads) = parse_heads(line) else {
            let start = message_after_text(line);
            let text = 0..start.unwrap_or(line.len());
            self.log_dropped(content, &text);
            return start.map_or((), |start| self.route_line(&line[start..]));
        };
        for head in &heads {
            self.route_message(head, content, |change| ParsedLine::extract(line, head, change).into());
        }
    }

    fn route_spooled(&self, spooled: &Spooled) {
        if spooled.heads.is_empty() {
            let message = spooled.message_after_text();
            let text = 0..message.as_ref().map_or(spooled.len(), |head| head.whole.start);
            self.log_dropped(Content::Disk(spooled), &text);
            let Some(head) = message else { return };
            return self.route_spooled(&spooled.with_head(head));
        }
        let content = Content::Disk(spooled);
        for (index, head) in spooled.heads.iter().enumerate() {
            self.route_message(head, content, |change| {
                Message::Disk(Box::new(spooled.extract(index, change))).into()
            });
        }
    }

    fn log_dropped(&self, content: Content<'_>, text: &ByteRange) {
        if let Some(reason) = dropped_text(content, text) {
            (self.log)(&reason);
        }
    }

    /// Sends one message to whom it is for; `extract` returns it alone, with a change.
    fn route_message(
        &self,
        head: &MessageHead,
        content: Content<'_>,
        extract: impl FnOnce(Option<Change>) -> ServerMessage,
    ) {
        match head.kind() {
            MessageKind::Response => {
                let number = number_of(head.id_bytes());
                let request = number.and_then(|number| self.sent().remove(&number));
                if let (Some(request), Some(id)) = (request, head.id.clone()) {
                    let message = extract(Some((id, request.id)));
                    return pass_on(request.link, message, &self.log, move |message, error_code| {
                        deliver(&request.deliveries, response(message, error_code));
                    });
                }
                // A number that was given to a request was answered already, and means nothing to a client.
                if number.is_some_and(|number| number < self.next_number.load(Ordering::Relaxed)) {
                    return (self.log)(&dropped_response(head.id_bytes()));
                }
            }
            MessageKind::Notification => {
                if let Some((change, link, deliveries)) = self.recipient(head, content) {
                    let message = extract(Some(change));
                    return pass_on(link, message, &self.log, move |message, error_code| {
                        deliver(&deliveries, Delivery { message, is_response: false, error_code });
                    });
                }
            }
            // It cannot be sent over HTTP, where a message has to be JSON.
            MessageKind::Unreadable => {
                return (self.log)(&dropped_line(content, &head.whole, "no message"));
            }
            MessageKind::Request | MessageKind::Other => {}
        }
        if let Some(unrouted) = &*self.unrouted() {
            // Nobody listens once the session is gone.
            let _ = unrouted.send(extract(None));
        }
    }

    /// Returns whom a notification is for, by its progress token or subscription, with the change that gives it back the
    /// token or id that the client knows.
    fn recipient(
        &self,
        head: &MessageHead,
        content: Content<'_>,
    ) -> Option<(Change, Arc<Link>, DeliverySender)> {
        let params = head.params.as_ref()?;
        let meta = |key| content.member(&content.member(params, "_meta")?.range, key);
        let token = content.member(params, "progressToken").or_else(|| meta("progressToken"));
        let (found, is_subscription) = match token {
            Some(token) => (token, false),
            None => (meta(SUBSCRIPTION)?, true),
        };
        let sent = self.sent();
        let request = sent.get(&number_of(found.start())?)?;
        let known = if is_subscription { request.id.clone() } else { request.token.clone()? };
        Some(((found.range, known), Arc::clone(&request.link), request.deliveries.clone()))
    }
}

/// A range of a message and what it becomes.
type Change = (ByteRange, Vec<u8>);

fn response(message: Message, error_code: Option<i64>) -> Delivery {
    Delivery { message, is_response: true, error_code }
}

/// Delivers a message to a client, which may be gone or slow.
fn deliver(deliveries: &DeliverySender, delivery: Delivery) {
    if delivery.is_response || deliveries.capacity() > PLACES_FOR_RESPONSES {
        let _ = deliveries.try_send(delivery);
    }
}

/// Returns the number that an id or token is; some servers write it as a string or with a fraction.
fn number_of(id: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(id).ok()?.trim_matches('"');
    text.strip_suffix(".0").unwrap_or(text).parse().ok()
}
