//! The proxy between the standard streams of this process and those of a server it starts.
//!
//! One thread for each direction, so that the order of messages stays and a line goes from read to write without a hop. A
//! result that must be stored and shaped is worked on beside, as are our own answers. The thread that attends to the end
//! never reads or writes itself, so that nothing that hangs can hang it.

mod child;
mod input;
mod log;
mod orders;

use std::ffi::OsString;
use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::path::PathBuf;
use std::process::ChildStdout;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use child::Child;
use input::Input;
use log::Log;
use orders::Orders;

use crate::guard::GRACE;
use crate::held::{Cut, Framed, Lines, Message};
use crate::link::{FromServer, Link};

/// How to run.
pub struct Options {
    /// The server's command: a program and its arguments.
    pub command: Vec<OsString>,
    /// Our own program, to start the guard of the server with.
    pub program: PathBuf,
}

/// Why the server could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// There is no such program.
    #[error("cannot start {name:?}: {why}")]
    NotThere {
        /// What was to be started.
        name: String,
        /// Why it cannot be.
        why: &'static str,
    },
    /// The system refuses.
    #[error("cannot start {0:?}: {1}")]
    Refused(String, #[source] io::Error),
}

enum Event {
    ClientGone,
    ServerSilent,
    ServerEnded(u8),
}

/// How long what the client has already sent is still answered after the server has ended.
const LAST_REQUESTS: Duration = Duration::from_millis(250);
/// How long the server's last words may take to arrive after it has ended.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// How long requests that are open may still take once the client has closed its side.
const LAST_ANSWERS: Duration = Duration::from_secs(10);
/// How long what we work on may still take once the server has ended.
const LAST_WORK: Duration = Duration::from_secs(60);
/// Lines up to this many bytes are sent together.
const SMALL: usize = 16 * 1024;
/// How long nothing has to be looked at, unless something happens.
const LONG: Duration = Duration::from_secs(600);

/// Carries a conversation until it is over, and returns the exit code.
///
/// # Errors
///
/// A server that cannot be started.
pub fn run(link: Link, options: &Options) -> Result<u8, StartError> {
    let (mut child, pipes) = Child::start(&options.program, &options.command)?;
    let front = Arc::new(Front {
        link: Arc::new(link),
        client: Mutex::new(io::stdout()),
        server: Input::start(pipes.stdin),
        log: Log::start(pipes.stderr),
        heard: AtomicU64::new(0),
        busy: AtomicBool::new(false),
    });
    if io::stdin().is_terminal() {
        front
            .log
            .say("waiting for an MCP client on stdin; clients start this command themselves, Ctrl-C ends it");
    }
    let chores = front.link.start_chores();
    let orders = Orders::start(&front);
    let (sender, events) = channel();
    front.spawn("client", {
        let (front, sender, orders) = (Arc::clone(&front), sender.clone(), orders.clone());
        move || front.read_client(&orders, &sender)
    });
    front.spawn("server", {
        let (front, sender, orders) = (Arc::clone(&front), sender.clone(), orders.clone());
        move || front.read_server(pipes.stdout, &orders, &sender)
    });
    child.watch({
        let sender = sender.clone();
        move |code| {
            let _ = sender.send(Event::ServerEnded(code));
        }
    });
    let code = front.attend(&mut Ends::new(events), &child, &orders);
    chores.finish();
    front.log.finish();
    Ok(code)
}

/// What the threads share.
struct Front {
    link: Arc<Link>,
    client: Mutex<io::Stdout>,
    server: Input,
    log: Log,
    /// Bytes that the server has written.
    heard: AtomicU64,
    /// Whether a line of the server's is being worked on.
    busy: AtomicBool,
}

impl Front {
    fn spawn(&self, name: &str, run: impl FnOnce() + Send + 'static) {
        let spawned = thread::Builder::new().name(format!("tidegate-{name}")).spawn(run);
        if let Err(error) = spawned {
            self.log.say(&format!("cannot start a thread: {error}"));
        }
    }

    /// Sends lines to the client.
    fn lines_to_client(&self, lines: &[u8]) -> io::Result<()> {
        let mut client = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        client.write_all(lines)?;
        client.flush()
    }

    /// Sends a message to the client, as a line.
    fn to_client(&self, message: &Message) -> io::Result<()> {
        let mut client = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        match message {
            Message::Memory(line) => client.write_all(line)?,
            Message::Disk(spooled) => spooled.write_to(&mut *client)?,
        }
        // A message on disk is a line of the server's as it came, with its end unless the server ended.
        if message.as_bytes().is_some_and(|line| line.last() != Some(&b'\n')) {
            client.write_all(b"\n")?;
        }
        client.flush()
    }

    fn read_client(&self, orders: &Orders, events: &Sender<Event>) {
        let mut input = io::stdin().lock();
        // Lines that came together go on together.
        let (mut line, mut forward) = (Vec::new(), Vec::new());
        loop {
            let read = match input.fill_buf() {
                Ok([]) => break,
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => break,
            };
            let mut rest = read;
            while let Some(end) = memchr::memchr(b'\n', rest).map(|end| end + 1) {
                let (piece, behind) = rest.split_at(end);
                rest = behind;
                if line.is_empty() {
                    self.hear_client(piece, orders, &mut forward);
                } else {
                    line.extend_from_slice(piece);
                    self.hear_client(&std::mem::take(&mut line), orders, &mut forward);
                }
            }
            line.extend_from_slice(rest);
            let count = read.len();
            input.consume(count);
            self.to_server(&mut forward);
        }
        if !line.is_empty() {
            self.hear_client(&line, orders, &mut forward);
        }
        self.to_server(&mut forward);
        let _ = events.send(Event::ClientGone);
    }

    /// Takes a line of the client's, and adds what to pass on.
    fn hear_client(&self, line: &[u8], orders: &Orders, forward: &mut Vec<u8>) {
        for order in self.link.pass_to_server(line, forward) {
            orders.carry_out(order);
        }
    }

    fn to_server(&self, lines: &mut Vec<u8>) {
        if !lines.is_empty() {
            // A server that no longer reads is about to end, and its end answers what is open.
            let _ = self.server.send(lines);
            lines.clear();
            lines.shrink_to(SMALL);
        }
    }

    fn read_server(&self, output: ChildStdout, orders: &Orders, events: &Sender<Event>) {
        let mut output = Heard { output, bytes: &self.heard };
        let mut lines = Lines::new(self.link.limits());
        let mut buffer = vec![0; 64 * 1024];
        // Small lines that came together go on together.
        let mut small = Vec::new();
        loop {
            let count = output.read(&mut buffer).unwrap_or(0);
            self.busy.store(true, Ordering::SeqCst);
            let mut sent = Ok(());
            let mut hear = |cut: Cut<'_>| {
                let heard = self.hear_server(cut, orders, &mut small);
                sent = std::mem::replace(&mut sent, Ok(())).and(heard);
            };
            match count {
                0 => lines.rest().map(Cut::Framed).into_iter().for_each(&mut hear),
                count => lines.push(&buffer[..count], &mut hear),
            }
            if sent.and_then(|()| self.send_small(&mut small)).is_err() {
                let _ = events.send(Event::ClientGone);
            }
            self.busy.store(false, Ordering::SeqCst);
            if count == 0 {
                break;
            }
        }
        let _ = events.send(Event::ServerSilent);
    }

    /// Does what is to be done with a message of the server's; small lines are only put with others.
    fn hear_server(&self, cut: Cut<'_>, orders: &Orders, small: &mut Vec<u8>) -> io::Result<()> {
        if let Some(line) = cut.line().filter(|line| line.len() <= SMALL) {
            let from = self.link.pass_to_client(line, small);
            if from.later.is_some() {
                // Its answer comes from another thread; what came before it must be there first.
                self.send_small(small)?;
            }
            self.attend_to(from, orders);
            return Ok(());
        }
        let from = match cut.into() {
            Framed::Message(message) => self.link.from_server(message),
            Framed::TooLong(too_long) => self.link.refuse(&too_long),
        };
        self.send_small(small).and_then(|()| self.pass_on(from, orders))
    }

    fn send_small(&self, small: &mut Vec<u8>) -> io::Result<()> {
        if small.is_empty() {
            return Ok(());
        }
        let sent = self.lines_to_client(small);
        small.clear();
        sent
    }

    /// Sends what there is to send, and does the rest.
    fn pass_on(&self, mut from: FromServer, orders: &Orders) -> io::Result<()> {
        let sent = from.forward.take().map_or(Ok(()), |message| self.to_client(&message));
        self.attend_to(from, orders);
        sent
    }

    fn attend_to(&self, from: FromServer, orders: &Orders) {
        for words in &from.left_out {
            self.log.say(words);
        }
        if let Some(later) = from.later {
            orders.shape(later);
        }
    }

    /// Waits for the end, and sees to it that it is a good one.
    fn attend(&self, ends: &mut Ends, child: &Child, orders: &Orders) -> u8 {
        while !ends.wait(self.next_wake(), Ends::has_begun) {
            self.answer_overdue(orders);
        }
        if ends.client_gone {
            self.client_is_gone(ends, child, orders)
        } else {
            self.server_is_gone(ends, child, orders)
        }
    }

    fn answer_overdue(&self, orders: &Orders) {
        for (answer, cancel) in self.link.overdue() {
            orders.send(answer);
            let _ = self.server.send(&cancel);
        }
    }

    /// How long nothing has to be looked at, unless something happens.
    fn next_wake(&self) -> Duration {
        // A request that comes in meanwhile may have an earlier deadline.
        let most = if self.link.has_timeout() { Duration::from_millis(50) } else { LONG };
        let left = |deadline: Instant| deadline.saturating_duration_since(Instant::now()).min(most);
        self.link.next_deadline().map_or(most, left)
    }

    /// The client has closed its side. What it still waits for may come, as long as somebody could read it; then the
    /// server is told by the end of its input, and then less gently.
    fn client_is_gone(&self, ends: &mut Ends, child: &Child, orders: &Orders) -> u8 {
        let until = Instant::now() + LAST_ANSWERS;
        while self.link.is_open() && is_read(&io::stdout()) && Instant::now() < until && ends.code.is_none() {
            ends.wait(Duration::from_millis(20), |ends| ends.code.is_some());
            self.answer_overdue(orders);
        }
        self.server.close();
        if !ends.wait(GRACE, |ends| ends.code.is_some()) {
            child.end();
            // The guard waits as long again before it kills.
            ends.wait(GRACE * 2, |ends| ends.code.is_some());
        }
        let ended = ends.code;
        self.hear_the_rest(ends);
        if ended.is_some_and(|code| code != 0) && !self.link.has_answered() {
            self.say_ended(child, ended.unwrap_or(1));
        }
        self.answer_the_rest("the server was ended, as the client had closed its side,", orders);
        // A server that had to be told has not failed.
        ended.filter(|code| *code < 128).unwrap_or(0)
    }

    /// The server has ended, or at least says nothing any more.
    fn server_is_gone(&self, ends: &mut Ends, child: &Child, orders: &Orders) -> u8 {
        if !ends.wait(LAST_WORDS, |ends| ends.code.is_some()) {
            self.log.say("the server closed its output but did not end; it is told to");
            self.server.close();
            child.end();
            ends.wait(GRACE * 2, |ends| ends.code.is_some());
        }
        self.hear_the_rest(ends);
        let code = ends.code.unwrap_or(1);
        let reason = self.say_ended(child, code);
        self.server.close();
        self.answer_the_rest(&reason, orders);
        code
    }

    /// Waits until all that the server has written is read and decided on.
    fn hear_the_rest(&self, ends: &mut Ends) {
        loop {
            let heard = self.heard.load(Ordering::SeqCst);
            let silent = ends.wait(LAST_WORDS, |ends| ends.silent);
            let busy = self.busy.load(Ordering::SeqCst) || self.heard.load(Ordering::SeqCst) != heard;
            if silent || !busy {
                return;
            }
        }
    }

    /// Answers what is open, also what has been sent but not read yet, and waits for what is being worked on.
    fn answer_the_rest(&self, reason: &str, orders: &Orders) {
        let started = Instant::now();
        loop {
            for answer in self.link.end(reason) {
                orders.send(answer);
            }
            let done = started.elapsed() >= LAST_REQUESTS && orders.are_done();
            if done || started.elapsed() >= LAST_WORK || !is_read(&io::stdout()) {
                break;
            }
            thread::sleep(Duration::from_millis(10));
        }
        // The last lines are on their way to the client.
        thread::sleep(Duration::from_millis(20));
    }

    /// Says how the server ended, and returns it for those who wait for an answer.
    fn say_ended(&self, child: &Child, code: u8) -> String {
        let how = match code {
            129..=192 => format!("was killed by signal {}", code - 128),
            _ => format!("ended with exit code {code}"),
        };
        let reason = format!("the server ({}) {how}", child.name);
        match self.link.has_answered() {
            true => self.log.say(&reason),
            false => self
                .log
                .say(&format!("{reason} before it answered anything; run the command alone to see why")),
        }
        reason
    }
}

/// Counts what the server writes, so that it is known whether it still does.
struct Heard<'h> {
    output: ChildStdout,
    bytes: &'h AtomicU64,
}

impl Read for Heard<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = loop {
            match self.output.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        self.bytes.fetch_add(count as u64, Ordering::SeqCst);
        Ok(count)
    }
}

/// Whether somebody could read what is written there.
fn is_read(output: &impl std::os::fd::AsFd) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut handles = [PollFd::new(output, PollFlags::OUT)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut handles, Some(&now)).is_err()
        || !handles[0].revents().intersects(PollFlags::ERR | PollFlags::HUP)
}

/// How far the conversation is from its end.
struct Ends {
    events: Receiver<Event>,
    client_gone: bool,
    silent: bool,
    code: Option<u8>,
}

impl Ends {
    fn new(events: Receiver<Event>) -> Self {
        Self { events, client_gone: false, silent: false, code: None }
    }

    fn has_begun(&self) -> bool {
        self.client_gone || self.silent || self.code.is_some()
    }

    /// Waits until something is so; false where it is not in time.
    fn wait(&mut self, time: Duration, so: impl Fn(&Self) -> bool) -> bool {
        let until = Instant::now() + time;
        while !so(self) {
            match self.events.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(Event::ClientGone) => self.client_gone = true,
                Ok(Event::ServerSilent) => self.silent = true,
                Ok(Event::ServerEnded(code)) => self.code = Some(code),
                Err(_) => return so(self),
            }
        }
        true
    }
}
