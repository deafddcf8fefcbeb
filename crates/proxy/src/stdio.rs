//! The proxy between the standard streams of this process and those of a server it starts.
//!
//! One thread for each direction, each the only writer of what it carries but for our own answers, so that the order of
//! messages stays; a result is shaped where it stands in that order. A thread waits for the server to end. Plain
//! threads: a line goes from read to write without a hop.

mod child;
mod log;
mod orders;

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::ChildStdin;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use child::Child;
use log::Log;
use orders::Orders;

use crate::guard::GRACE;
use crate::link::Link;

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
    #[error("cannot start {0:?}: there is no such program on the PATH")]
    NotFound(String),
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
/// How often what has expired is taken away.
const SWEEP: Duration = Duration::from_secs(600);
/// When it is taken away first: a client that only asks what the server can do is gone by then.
const FIRST_SWEEP: Duration = Duration::from_secs(10);

/// Carries a conversation until it is over, and returns the exit code.
///
/// # Errors
///
/// A server that cannot be started.
pub fn run(link: Link, options: &Options) -> Result<u8, StartError> {
    let (mut child, pipes) = Child::start(&options.program, &options.command)?;
    let log = Log::start(pipes.stderr);
    let front = Arc::new(Front {
        link: Arc::new(link),
        client: Mutex::new(io::stdout()),
        server: Mutex::new(Some(pipes.stdin)),
        log,
    });
    let orders = Orders::start(&front);
    let (sender, events) = channel();
    front.spawn("client", {
        let (front, sender, orders) = (Arc::clone(&front), sender.clone(), orders.clone());
        move || front.read_client(&orders, &sender)
    });
    front.spawn("server", {
        let (front, sender) = (Arc::clone(&front), sender.clone());
        let notes = orders.clone();
        move || front.read_server(BufReader::with_capacity(64 * 1024, pipes.stdout), &notes, &sender)
    });
    child.watch({
        let sender = sender.clone();
        move |code| {
            let _ = sender.send(Event::ServerEnded(code));
        }
    });
    let code = front.attend(&mut Ends::new(events), &child, &orders);
    orders.finish();
    front.log.finish();
    Ok(code)
}

/// What the threads share.
struct Front {
    link: Arc<Link>,
    client: Mutex<io::Stdout>,
    /// `None` once its input has been closed.
    server: Mutex<Option<ChildStdin>>,
    log: Log,
}

impl Front {
    fn spawn(&self, name: &str, run: impl FnOnce() + Send + 'static) {
        let spawned = thread::Builder::new().name(format!("tidegate-{name}")).spawn(run);
        if let Err(error) = spawned {
            self.log.say(&format!("cannot start a thread: {error}"));
        }
    }

    /// Sends a line to the client.
    fn to_client(&self, line: &[u8]) -> io::Result<()> {
        let mut client = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        client.write_all(line)?;
        if line.last() != Some(&b'\n') {
            client.write_all(b"\n")?;
        }
        client.flush()
    }

    /// Sends a line to the server.
    fn to_server(&self, line: &[u8]) -> io::Result<()> {
        match &mut *self.server.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(server) => server.write_all(line).and_then(|()| server.flush()),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn close_server(&self) {
        *self.server.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn read_client(&self, orders: &Orders, events: &Sender<Event>) {
        let mut input = io::stdin().lock();
        loop {
            let mut line = Vec::new();
            match input.read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => break,
                Ok(_) => {}
            }
            let from = self.link.from_client(line);
            for order in from.orders {
                orders.carry_out(order);
            }
            // A server that no longer reads is about to end, and its end answers what is open.
            if let Some(mut line) = from.forward {
                if line.last() != Some(&b'\n') {
                    line.push(b'\n');
                }
                let _ = self.to_server(&line);
            }
        }
        let _ = events.send(Event::ClientGone);
    }

    fn read_server(&self, mut output: impl BufRead, notes: &Orders, events: &Sender<Event>) {
        loop {
            let mut line = Vec::new();
            match output.read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => break,
                Ok(_) => {}
            }
            let from = self.link.from_server(line);
            for words in &from.left_out {
                self.log.say(words);
            }
            if let Some(line) = from.forward
                && self.to_client(&line).is_err()
            {
                let _ = events.send(Event::ClientGone);
            }
            for note in from.notes {
                notes.note(note);
            }
        }
        let _ = events.send(Event::ServerSilent);
    }

    /// Waits for the end, and sees to it that it is a good one.
    fn attend(&self, ends: &mut Ends, child: &Child, orders: &Orders) -> u8 {
        let mut sweep = Instant::now() + FIRST_SWEEP;
        while !ends.wait(self.next_wake(sweep), Ends::has_begun) {
            for (answer, cancel) in self.link.overdue() {
                let _ = self.to_client(&answer);
                let _ = self.to_server(&cancel);
            }
            if Instant::now() >= sweep {
                orders.sweep();
                sweep = Instant::now() + SWEEP;
            }
        }
        if ends.client_gone { self.client_is_gone(ends, child) } else { self.server_is_gone(ends, child) }
    }

    /// How long nothing has to be looked at, unless something happens.
    fn next_wake(&self, sweep: Instant) -> Duration {
        let deadline = self.link.next_deadline().map_or(sweep, |deadline| deadline.min(sweep));
        // A request that comes in meanwhile may have an earlier deadline.
        let most = if self.link.has_timeout() { Duration::from_millis(50) } else { SWEEP };
        deadline.saturating_duration_since(Instant::now()).min(most)
    }

    /// The client has closed its side: the server is told by the end of its input, and then less gently.
    fn client_is_gone(&self, ends: &mut Ends, child: &Child) -> u8 {
        self.close_server();
        if !ends.wait(GRACE, |ends| ends.code.is_some()) {
            child.end();
            // The guard waits as long again before it kills.
            ends.wait(GRACE * 2, |ends| ends.code.is_some());
            return 0;
        }
        ends.wait(LAST_WORDS, |ends| ends.silent);
        let code = ends.code.unwrap_or(0);
        if code != 0 && !self.link.has_answered() {
            self.say_ended(child, code);
        }
        code
    }

    /// The server has ended, or at least says nothing any more. Answers what is open, also what has been sent but not
    /// read yet.
    fn server_is_gone(&self, ends: &mut Ends, child: &Child) -> u8 {
        if !ends.wait(LAST_WORDS, |ends| ends.code.is_some()) {
            self.log.say("the server closed its output but did not end; it is told to");
            self.close_server();
            child.end();
            ends.wait(GRACE * 2, |ends| ends.code.is_some());
        }
        ends.wait(LAST_WORDS, |ends| ends.silent);
        let code = ends.code.unwrap_or(1);
        let reason = self.say_ended(child, code);
        self.close_server();
        let until = Instant::now() + LAST_REQUESTS;
        loop {
            for answer in self.link.end(&reason) {
                let _ = self.to_client(&answer);
            }
            if Instant::now() >= until {
                return code;
            }
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Says how the server ended, and returns it for those who wait for an answer.
    fn say_ended(&self, child: &Child, code: u8) -> String {
        let reason = format!("the server ({}) ended with exit code {code}", child.name);
        match self.link.has_answered() {
            true => self.log.say(&reason),
            false => self
                .log
                .say(&format!("{reason} before it answered anything; run the command alone to see why")),
        }
        reason
    }
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
