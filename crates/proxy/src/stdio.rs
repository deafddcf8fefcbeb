//! The proxy between the standard streams of this process and those of a server that it starts.
//!
//! Each direction has one thread, so messages keep their order and a line is read and written without a thread switch.
//! Workers shape results and answer local requests. The main thread waits for the end and never reads or writes itself, so
//! a stream that hangs cannot hang it.

mod child;
mod end;
mod input;
mod log;
mod workers;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal, Read, Write};
use std::path::PathBuf;
use std::process::ChildStdout;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use child::Child;
pub(crate) use end::EndEvent;
use end::{EndState, watch_signals};
use input::ServerInput;
use log::Log;
use workers::Workers;

use crate::guard::{GRACE, exit_text};
use crate::link::{Link, OwnWork, Resolution, ResolveJob, ServerOutcome};
use crate::spool::{Line, LineSplitter, Message, Received};
use crate::system;

/// What to run.
pub struct Options {
    /// The server's command: a program and its arguments.
    pub command: Vec<OsString>,
    /// The path of tidegate itself, which starts the guard of the server.
    pub program: PathBuf,
}

/// Why the server could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// There is no such program.
    #[error("cannot start {name:?}: {why}")]
    NotThere {
        /// The program.
        name: String,
        /// Why it cannot be started.
        why: &'static str,
    },
    /// The system refuses to start it.
    #[error("cannot start {0:?}: {1}")]
    Refused(String, #[source] io::Error),
}

/// How long after the server has ended tidegate still answers requests that the client has already sent.
const MIN_ANSWER_TIME: Duration = Duration::from_millis(250);
/// How long the last output of the server may take to arrive after it has ended.
const MAX_OUTPUT_DELAY: Duration = Duration::from_secs(1);
/// How long open requests may still take once the client has closed its side.
const MAX_DRAIN_TIME: Duration = Duration::from_secs(10);
/// How long open requests may still take after a termination signal; its sender usually waits about ten seconds.
const MAX_SIGNAL_DRAIN_TIME: Duration = Duration::from_secs(5);
/// How long the workers may still take once the server has ended.
const MAX_WORK_TIME: Duration = Duration::from_secs(60);
/// The largest line that is written together with others.
const MAX_JOINED_LINE_BYTES: usize = 16 * 1024;
/// How long the main thread sleeps unless something happens.
const MAX_SLEEP: Duration = Duration::from_secs(600);

/// Forwards between client and server until one of them ends; returns the exit code.
///
/// # Errors
///
/// A server that cannot be started.
pub fn run(link: Link, options: &Options) -> Result<u8, StartError> {
    let unusable = |error| StartError::Refused("tidegate".into(), error);
    let streams = ClientStreams {
        input: system::duplicate_stdin().map_err(unusable)?,
        output: system::duplicate_stdout().map_err(unusable)?,
    };
    let (sender, events) = channel();
    watch_signals(sender.clone());
    run_between(streams, link, options, sender, events)
}

/// The streams to and from the client.
pub(crate) struct ClientStreams {
    pub(crate) input: File,
    pub(crate) output: File,
}

/// Forwards between the streams of a client and a server that it starts, until one of them ends.
pub(crate) fn run_between(
    streams: ClientStreams,
    link: Link,
    options: &Options,
    sender: Sender<EndEvent>,
    events: Receiver<EndEvent>,
) -> Result<u8, StartError> {
    let (mut child, pipes) = Child::start(&options.program, &options.command)?;
    let ClientStreams { input, output } = streams;
    let is_terminal = input.is_terminal();
    let proxy = Arc::new(StdioProxy {
        link: Arc::new(link),
        client: Mutex::new(output),
        server: ServerInput::start(pipes.stdin),
        log: Log::start(pipes.stderr),
        output_bytes: AtomicU64::new(0),
        busy: AtomicBool::new(false),
    });
    if is_terminal {
        proxy
            .log
            .say("waiting for an MCP client on stdin; clients start this command themselves, Ctrl-C ends it");
    }
    let background = proxy.link.start_background();
    let workers = Workers::start(&proxy);
    proxy.spawn("client", {
        let (proxy, sender, workers) = (Arc::clone(&proxy), sender.clone(), workers.clone());
        move || proxy.read_client(input, &workers, &sender)
    });
    proxy.spawn("server", {
        let (proxy, sender, workers) = (Arc::clone(&proxy), sender.clone(), workers.clone());
        move || proxy.read_server(pipes.stdout, &workers, &sender)
    });
    child.watch({
        let sender = sender.clone();
        move |code| {
            let _ = sender.send(EndEvent::ServerExited(code));
        }
    });
    let code = proxy.wait_for_end(&mut EndState::new(events), &child, &workers);
    background.finish();
    proxy.log.finish();
    Ok(code)
}

/// What the threads share.
struct StdioProxy {
    link: Arc<Link>,
    client: Mutex<File>,
    server: ServerInput,
    log: Log,
    /// How many bytes the server has written.
    output_bytes: AtomicU64,
    /// Whether output of the server is being handled.
    busy: AtomicBool,
}

impl StdioProxy {
    fn spawn(&self, name: &str, run: impl FnOnce() + Send + 'static) {
        let spawned = thread::Builder::new().name(format!("tidegate-{name}")).spawn(run);
        if let Err(error) = spawned {
            self.log.say(&format!("cannot start a thread: {error}"));
        }
    }

    /// Writes lines to the client.
    fn write_lines(&self, lines: &[u8]) -> io::Result<()> {
        let mut client = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        client.write_all(lines)?;
        client.flush()
    }

    /// Writes a message to the client, as a line.
    fn write_message(&self, message: &Message) -> io::Result<()> {
        let mut client = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        match message {
            Message::Memory(line) => client.write_all(line)?,
            Message::Disk(spooled) => spooled.write_to(&mut *client)?,
        }
        // A spooled message has the line end that the server wrote, if the server wrote one.
        if message.as_bytes().is_some_and(|line| line.last() != Some(&b'\n')) {
            client.write_all(b"\n")?;
        }
        client.flush()
    }

    fn read_client(&self, input: File, workers: &Workers, events: &Sender<EndEvent>) {
        let mut input = BufReader::new(input);
        // Lines that arrive together are forwarded together.
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
                let (piece, after) = rest.split_at(end);
                rest = after;
                if line.is_empty() {
                    self.take_client_line(piece, workers, &mut forward);
                } else {
                    line.extend_from_slice(piece);
                    self.take_client_line(&std::mem::take(&mut line), workers, &mut forward);
                }
            }
            line.extend_from_slice(rest);
            let count = read.len();
            input.consume(count);
            self.write_to_server(&mut forward);
        }
        if !line.is_empty() {
            self.take_client_line(&line, workers, &mut forward);
        }
        self.write_to_server(&mut forward);
        let _ = events.send(EndEvent::ClientGone);
    }

    /// Takes a line of the client, and appends what to forward.
    fn take_client_line(&self, line: &[u8], workers: &Workers, forward: &mut Vec<u8>) {
        let OwnWork { requests, calls } = self.link.pass_to_server(line, forward);
        requests.into_iter().for_each(|request| workers.answer(request));
        calls.into_iter().for_each(|call| workers.resolve(call));
    }

    /// Resolves the references of a call, and sends it to the server or its refusal to the client.
    fn resolve(&self, job: ResolveJob) {
        let answer = match self.link.resolve_call(job) {
            Resolution::Forward(message) => {
                let id = message.first().map(|head| head.id_bytes().to_vec()).unwrap_or_default();
                let line = [message.bytes.as_slice(), b"\n"].concat();
                match self.server.send(&line, self.link.timeout()) {
                    Ok(()) => None,
                    Err(_) => self.link.fail_unsent(&id, "the server no longer reads its input"),
                }
            }
            Resolution::Answer(answer) => Some(answer.line),
            Resolution::Cancelled(_) => None,
        };
        // A client that is gone needs no response; the thread that reads from it ends the proxy.
        let _ = answer.map_or(Ok(()), |answer| self.write_message(&answer.into()));
    }

    fn write_to_server(&self, lines: &mut Vec<u8>) {
        if !lines.is_empty() {
            // A server that no longer reads is about to end, and open requests are answered then; or it hangs, and they are
            // answered when their time is over. Waiting longer for it would keep later requests from being read.
            let _ = self.server.send(lines, self.link.timeout());
            lines.clear();
            lines.shrink_to(MAX_JOINED_LINE_BYTES);
        }
    }

    fn read_server(&self, output: ChildStdout, workers: &Workers, events: &Sender<EndEvent>) {
        let mut output = CountingReader { output, bytes: &self.output_bytes };
        let mut lines = LineSplitter::new(self.link.limits());
        let mut buffer = vec![0; 64 * 1024];
        // Small lines that arrive together are written together.
        let mut joined = Vec::new();
        loop {
            let count = output.read(&mut buffer).unwrap_or(0);
            self.busy.store(true, Ordering::SeqCst);
            let mut sent = Ok(());
            let mut take = |line: Line<'_>| {
                let written = self.take_server_line(line, workers, &mut joined);
                sent = std::mem::replace(&mut sent, Ok(())).and(written);
            };
            match count {
                0 => lines.finish().map(Line::Buffered).into_iter().for_each(&mut take),
                count => lines.push(&buffer[..count], &mut take),
            }
            if sent.and_then(|()| self.write_joined(&mut joined)).is_err() {
                let _ = events.send(EndEvent::ClientGone);
            }
            self.busy.store(false, Ordering::SeqCst);
            if count == 0 {
                break;
            }
        }
        let _ = events.send(EndEvent::OutputClosed);
    }

    /// Handles a line of the server. A small line is only appended to `joined`, to be written with others.
    fn take_server_line(&self, line: Line<'_>, workers: &Workers, joined: &mut Vec<u8>) -> io::Result<()> {
        if let Some(line) = line.as_bytes().filter(|line| line.len() <= MAX_JOINED_LINE_BYTES) {
            let outcome = self.link.pass_to_client(line, joined);
            if outcome.shape_job.is_some() {
                // Another thread writes the shaped response; what came before it has to be written first.
                self.write_joined(joined)?;
            }
            self.handle_rest(outcome, workers);
            return Ok(());
        }
        let outcome = match line.into() {
            Received::Message(message) => self.link.from_server(message),
            Received::TooLarge(too_large) => self.link.refuse(&too_large),
        };
        self.write_joined(joined).and_then(|()| self.handle(outcome, workers))
    }

    fn write_joined(&self, joined: &mut Vec<u8>) -> io::Result<()> {
        if joined.is_empty() {
            return Ok(());
        }
        let written = self.write_lines(joined);
        joined.clear();
        written
    }

    /// Writes what there is to forward, logs what was dropped, and starts what has to be shaped.
    fn handle(&self, mut outcome: ServerOutcome, workers: &Workers) -> io::Result<()> {
        let written = outcome.forward.take().map_or(Ok(()), |message| self.write_message(&message));
        self.handle_rest(outcome, workers);
        written
    }

    fn handle_rest(&self, outcome: ServerOutcome, workers: &Workers) {
        for reason in &outcome.dropped {
            self.log.say(reason);
        }
        if let Some(job) = outcome.shape_job {
            workers.shape(job);
        }
    }

    /// Waits until client or server ends, and shuts the other down in order.
    fn wait_for_end(&self, state: &mut EndState, child: &Child, workers: &Workers) -> u8 {
        while !state.wait(self.next_wake(), EndState::has_begun) {
            self.answer_overdue(workers);
        }
        if state.client_gone || state.signalled {
            self.end_after_client(state, child, workers)
        } else {
            self.end_after_server(state, child, workers)
        }
    }

    fn answer_overdue(&self, workers: &Workers) {
        for overdue in self.link.overdue() {
            workers.send(overdue.answer);
            if let Some(cancel) = overdue.cancel {
                self.server.send_if_room(&cancel);
            }
        }
    }

    /// Returns how long the main thread may sleep unless something happens.
    fn next_wake(&self) -> Duration {
        self.link.next_wake().unwrap_or(MAX_SLEEP).min(MAX_SLEEP)
    }

    /// Ends the server after the client has closed its side, or a signal told tidegate to end. Open requests may still be
    /// answered while the client could read the responses. Then the server's input is closed, and a server that does not exit
    /// gets a signal.
    fn end_after_client(&self, state: &mut EndState, child: &Child, workers: &Workers) -> u8 {
        let (drain_time, work_time, reason) = match state.client_gone {
            true => (MAX_DRAIN_TIME, MAX_WORK_TIME, "the client closed its side, and the server was ended"),
            false => (MAX_SIGNAL_DRAIN_TIME, MAX_SIGNAL_DRAIN_TIME, "tidegate was told to end"),
        };
        let until = Instant::now() + drain_time;
        // A client that has closed its side and then signals does not wait for responses.
        let is_waited_for = |state: &EndState| !(state.client_gone && state.signalled);
        while (self.link.is_open() || !workers.are_done())
            && self.has_reader()
            && Instant::now() < until
            && is_waited_for(state)
            && state.exit_code.is_none()
        {
            state.wait(Duration::from_millis(20), EndState::has_exited);
            self.answer_overdue(workers);
        }
        if state.signalled {
            // The sender of the signal may not wait until the server has ended.
            self.answer_open(reason, workers);
        }
        self.server.close();
        if !state.wait(GRACE, EndState::has_exited) {
            child.end();
            // The guard waits as long again before it kills.
            state.wait(GRACE * 2, EndState::has_exited);
        }
        let exit_code = state.exit_code;
        self.read_rest(state);
        if exit_code.is_some_and(|code| code != 0) && !self.link.has_answered() {
            self.log_exit(child, exit_code.unwrap_or(1));
        }
        self.answer_rest(reason, workers, work_time);
        // A server that was ended by a signal of ours has not failed.
        exit_code.filter(|code| *code < 128).unwrap_or(0)
    }

    /// Ends the conversation after the server has ended or closed its output.
    fn end_after_server(&self, state: &mut EndState, child: &Child, workers: &Workers) -> u8 {
        if !state.wait(MAX_OUTPUT_DELAY, EndState::has_exited) {
            self.log.say("the server closed its output but did not exit; ending it");
            self.server.close();
            child.end();
            state.wait(GRACE * 2, EndState::has_exited);
        }
        self.read_rest(state);
        let code = state.exit_code.unwrap_or(1);
        let reason = self.log_exit(child, code);
        self.server.close();
        self.answer_rest(&reason, workers, MAX_WORK_TIME);
        code
    }

    /// Waits until all output of the server is read and handled.
    fn read_rest(&self, state: &mut EndState) {
        loop {
            let before = self.output_bytes.load(Ordering::SeqCst);
            let closed = state.wait(MAX_OUTPUT_DELAY, |state| state.output_closed);
            let busy = self.busy.load(Ordering::SeqCst) || self.output_bytes.load(Ordering::SeqCst) != before;
            if closed || !busy {
                return;
            }
        }
    }

    /// Answers open requests, also those that have been sent but not read yet, and waits for the workers.
    fn answer_rest(&self, reason: &str, workers: &Workers, work_time: Duration) {
        let started = Instant::now();
        loop {
            self.answer_open(reason, workers);
            let done = started.elapsed() >= MIN_ANSWER_TIME && workers.are_done();
            if done || started.elapsed() >= work_time || !self.has_reader() {
                break;
            }
            thread::sleep(Duration::from_millis(10));
        }
        // The last lines are on their way to the client.
        thread::sleep(Duration::from_millis(20));
    }

    /// Answers the open requests with an error.
    fn answer_open(&self, reason: &str, workers: &Workers) {
        for answer in self.link.end(reason).into_iter().chain(self.link.fail_resolving(reason)) {
            workers.send(answer);
        }
    }

    /// Returns whether the client could still read what is written to it.
    fn has_reader(&self) -> bool {
        // A write that blocks holds the lock; then the client could still read.
        self.client.try_lock().map_or(true, |client| system::has_reader(&client))
    }

    /// Logs how the server ended, and returns it as the reason for error responses.
    fn log_exit(&self, child: &Child, code: u8) -> String {
        let reason = format!("the server ({}) {}", child.name, exit_text(code));
        match self.link.has_answered() {
            true => self.log.say(&reason),
            false => self
                .log
                .say(&format!("{reason} before it answered anything; run the command alone to see why")),
        }
        reason
    }
}

/// Counts the bytes that the server writes, which tells whether it still writes.
struct CountingReader<'c> {
    output: ChildStdout,
    bytes: &'c AtomicU64,
}

impl Read for CountingReader<'_> {
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
