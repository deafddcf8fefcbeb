//! A server on stdio that several HTTP requests share: each gets an id of ours on the way there and its own back.
//!
//! Clients choose their ids and progress tokens themselves, and many choose 1. So every request is given a number that
//! nobody else has, which is also its progress token, and what comes back with that number goes to whoever asked.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, Signal, kill_process};
use tidegate_gate::raw::{self, Edits, Place};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::{mpsc, watch};

use super::exchange::pass_on;
use crate::guard;
use crate::held::{Cut, Framed, Limits, Lines, Message, Spooled, TooLong};
use crate::link::Link;
use crate::message::{Envelope, Kind, behind_text, messages};

const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// What is sent to whoever asked.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) message: Message,
    /// Whether it answers the request.
    pub(super) last: bool,
}

/// Where messages for a request go.
pub(super) type Sink = mpsc::Sender<Said>;

/// Returns where messages for a request go, and come from.
pub(super) fn sink() -> (Sink, mpsc::Receiver<Said>) {
    mpsc::channel(WAITING)
}

/// Messages that wait for a client that does not read.
const WAITING: usize = 1024;
/// How many of them can only be answers: a client that is slow misses progress, but no answer.
const ANSWERS: usize = 256;

struct Asked {
    /// The request's id, as the client wrote it.
    id: Vec<u8>,
    /// Its progress token, as the client wrote it.
    token: Option<Vec<u8>>,
    link: Arc<Link>,
    sink: Sink,
}

/// Where goes what answers no request, and what is no message.
struct Hearers {
    other: mpsc::UnboundedSender<Message>,
    log: Arc<dyn Fn(&str) + Send + Sync>,
}

/// A server on stdio.
pub(super) struct Peer {
    input: tokio::sync::Mutex<ChildStdin>,
    asked: Mutex<HashMap<u64, Asked>>,
    next: AtomicU64,
    /// Whether the server is not to be asked any more: it has closed a stream, and ends or will be ended.
    gone: AtomicBool,
    /// How the server ended, once it has.
    ended: watch::Receiver<Option<String>>,
    guard: Option<Pid>,
}

impl Peer {
    /// Starts a server. What it says that answers no request goes to `other`.
    pub(super) fn start(
        program: &Path,
        command: &[OsString],
        limits: Arc<Limits>,
        other: mpsc::UnboundedSender<Message>,
        log: Arc<dyn Fn(&str) + Send + Sync>,
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
        let (said, ended) = watch::channel(None);
        let peer = Arc::new(Self {
            input: tokio::sync::Mutex::new(stdin),
            asked: Mutex::default(),
            next: AtomicU64::new(1),
            gone: AtomicBool::new(false),
            ended,
            guard,
        });
        tokio::spawn(Arc::clone(&peer).read_all(child, stdout, limits, Hearers { other, log }, said));
        Ok(peer)
    }

    fn asked(&self) -> MutexGuard<'_, HashMap<u64, Asked>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends what a client said. Its requests are answered to `sink`; returns the numbers they were given.
    pub(super) async fn send(&self, link: &Arc<Link>, line: Vec<u8>, sink: &Sink) -> Vec<u64> {
        let mut numbers = Vec::new();
        let mut edits = Edits::new();
        for place in messages(&line).unwrap_or_default() {
            let Some(envelope) = Envelope::read(&line, &place) else { continue };
            match envelope.kind() {
                Kind::Request => numbers.push(self.mint(&line, &envelope, link, sink, &mut edits)),
                Kind::Notification if envelope.method.as_deref() == Some("notifications/cancelled") => {
                    self.translate_cancel(&line, &envelope, &mut edits);
                }
                _ => {}
            }
        }
        let mut line = edits.apply(&line);
        // A line is one message; what a client sends may be written over several.
        line.retain(|byte| !matches!(byte, b'\n' | b'\r'));
        line.push(b'\n');
        if self.has_ended() || self.write(&line).await.is_err() {
            self.gone.store(true, Ordering::SeqCst);
            self.fail(&numbers);
        }
        numbers
    }

    fn mint(
        &self,
        line: &[u8],
        envelope: &Envelope<'_>,
        link: &Arc<Link>,
        sink: &Sink,
        edits: &mut Edits,
    ) -> u64 {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let id = envelope.id.clone().unwrap_or(0..0);
        let token =
            envelope.params.as_ref().and_then(|params| raw::at(line, params, &["_meta", "progressToken"]));
        if let Some(token) = &token {
            edits.replace(token.clone(), number.to_string());
        }
        let asked = Asked {
            id: line[id.clone()].to_vec(),
            token: token.map(|token| line[token].to_vec()),
            link: Arc::clone(link),
            sink: sink.clone(),
        };
        edits.replace(id, number.to_string());
        self.asked().insert(number, asked);
        number
    }

    fn translate_cancel(&self, line: &[u8], envelope: &Envelope<'_>, edits: &mut Edits) {
        let id = envelope.params.as_ref().and_then(|params| raw::member(line, params, "requestId"));
        let Some(id) = id else { return };
        let asked = self.asked();
        let number = asked.iter().find(|(_, asked)| asked.id == line[id.clone()]).map(|(number, _)| *number);
        // One that is not open is no number of the server's.
        edits.replace(id, number.unwrap_or(0).to_string());
    }

    /// Tells the server that nobody waits for some answers any more.
    pub(super) async fn abandon(&self, numbers: &[u64]) {
        for number in numbers {
            let known = self.asked().remove(number).is_some();
            if known {
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

    /// Answers requests for a server that is gone.
    fn fail(&self, numbers: &[u64]) {
        let reason = self.ended.borrow().clone().unwrap_or_else(|| "the server has ended".into());
        for number in numbers {
            let Some(asked) = self.asked().remove(number) else { continue };
            for answer in asked.link.end(&reason) {
                say(&asked.sink, Said { message: answer.into(), last: true });
            }
        }
    }

    /// Returns whether the server has ended.
    pub(super) fn has_ended(&self) -> bool {
        self.gone.load(Ordering::SeqCst)
    }

    /// Ends the server.
    pub(super) fn end(&self) {
        if let Some(guard) = self.guard {
            let _ = kill_process(guard, Signal::TERM);
        }
    }

    async fn read_all(
        self: Arc<Self>,
        mut child: Child,
        mut stdout: ChildStdout,
        limits: Arc<Limits>,
        hearers: Hearers,
        said: watch::Sender<Option<String>>,
    ) {
        let mut lines = Lines::new(limits);
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(count @ 1..) = stdout.read(&mut buffer).await {
            lines.push(&buffer[..count], |cut| match cut {
                Cut::Whole(line) => self.hear_line(line, &hearers),
                Cut::Framed(framed) => self.hear(framed, &hearers),
            });
        }
        if let Some(framed) = lines.rest() {
            self.hear(framed, &hearers);
        }
        // Whoever asks from now on gets another server, though this one may take a while to end.
        self.gone.store(true, Ordering::SeqCst);
        let ended = match tokio::time::timeout(guard::GRACE, child.wait()).await {
            Ok(ended) => ended,
            Err(_) => {
                self.end();
                child.wait().await
            }
        };
        let code = ended.map_or(1, guard::exit_code);
        let _ = said.send(Some(format!("the server ended with exit code {code}")));
        let open: Vec<u64> = self.asked().keys().copied().collect();
        self.fail(&open);
    }

    /// Sends a line of the server's to whoever it is for.
    fn hear(&self, framed: Framed, hearers: &Hearers) {
        match framed {
            Framed::Message(Message::Memory(line)) => self.hear_line(&line, hearers),
            Framed::Message(Message::Disk(spooled)) => self.hear_spooled(&spooled, hearers),
            Framed::TooLong(too_long) => {
                let id = too_long.id.unwrap_or_default();
                let Some(asked) = self.take(&id, &(0..id.len())) else {
                    return (hearers.log)(&format!(
                        "a message of the server's {} and was left out",
                        too_long.why
                    ));
                };
                let refused = asked.link.refuse(&TooLong { id: Some(asked.id), why: too_long.why });
                if let Some(message) = refused.forward {
                    say(&asked.sink, Said { message, last: true });
                }
            }
        }
    }

    fn hear_spooled(&self, spooled: &Spooled, hearers: &Hearers) {
        if spooled.messages.is_empty() {
            (hearers.log)("a line of the server's output was left out (not JSON)");
        }
        for (index, message) in spooled.messages.iter().enumerate() {
            if message.member("method").is_some() {
                let _ = hearers.other.send(Message::Disk(Box::new(spooled.only(index, None))));
                continue;
            }
            let id = message.member("id").map_or(&b""[..], |id| &id.head);
            match self.take(id, &(0..id.len())) {
                Some(asked) => {
                    let only = spooled.only(index, Some(&asked.id));
                    deliver(asked.link, Message::Disk(Box::new(only)), asked.sink, true);
                }
                None => (hearers.log)("an answer to no open request was left out"),
            }
        }
    }

    fn hear_line(&self, line: &[u8], hearers: &Hearers) {
        let Some(places) = messages(line) else {
            if !line.trim_ascii().is_empty() {
                (hearers.log)("a line of the server's output was left out (not JSON)");
            }
            if let Some(start) = behind_text(line) {
                self.hear_line(&line[start..], hearers);
            }
            return;
        };
        for place in places {
            let message = line[place.clone()].to_vec();
            let Some(envelope) = Envelope::read(&message, &(0..message.len())) else { continue };
            match envelope.kind() {
                Kind::Response => self.answer(&message, &envelope, hearers),
                Kind::Other => (hearers.log)("a line of the server's output was left out (no message)"),
                _ => match self.recipient(&message, &envelope) {
                    Some((line, link, sink)) => deliver(link, line.into(), sink, false),
                    None => {
                        let _ = hearers.other.send(message.into());
                    }
                },
            }
        }
    }

    /// Takes the request that was given the number at a place.
    fn take(&self, message: &[u8], place: &Place) -> Option<Asked> {
        let number = number(message, place)?;
        self.asked().remove(&number)
    }

    fn answer(&self, message: &[u8], envelope: &Envelope<'_>, hearers: &Hearers) {
        let id = envelope.id.clone().unwrap_or(0..0);
        let Some(asked) = self.take(message, &id) else {
            return (hearers.log)("an answer to no open request was left out");
        };
        let mut edits = Edits::new();
        edits.replace(id, asked.id);
        deliver(asked.link, edits.apply(message).into(), asked.sink, true);
    }

    /// Who a notification is for, by its progress token or subscription, with those as they know them.
    fn recipient(&self, message: &[u8], envelope: &Envelope<'_>) -> Option<(Vec<u8>, Arc<Link>, Sink)> {
        let params = envelope.params.as_ref().filter(|_| envelope.id.is_none())?;
        let token = raw::member(message, params, "progressToken");
        let token = token.or_else(|| raw::at(message, params, &["_meta", "progressToken"]));
        let (place, subscribed) = match token {
            Some(token) => (token, false),
            None => (raw::at(message, params, &["_meta", SUBSCRIPTION])?, true),
        };
        let open = self.asked();
        let asked = open.get(&number(message, &place)?)?;
        let own = if subscribed { asked.id.clone() } else { asked.token.clone()? };
        let mut edits = Edits::new();
        edits.replace(place, own);
        Some((edits.apply(message), Arc::clone(&asked.link), asked.sink.clone()))
    }
}

/// Sends a message to whoever it is for.
fn deliver(link: Arc<Link>, message: Message, sink: Sink, last: bool) {
    pass_on(link, message, move |message| say(&sink, Said { message, last }));
}

/// Tells whoever asked, who may be gone.
fn say(sink: &Sink, said: Said) {
    if said.last || sink.capacity() > ANSWERS {
        let _ = sink.try_send(said);
    }
}

/// The number at a place; some servers write it as a string.
fn number(message: &[u8], place: &Place) -> Option<u64> {
    let text = std::str::from_utf8(message.get(place.clone())?).ok()?;
    text.trim_matches('"').parse().ok()
}
