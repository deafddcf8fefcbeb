//! The client's side: lines of its stdin to the server, messages to its stdout, and the end of the conversation.
//!
//! A client that does not read its output holds up the server's messages, but not the end: every step of it has a limit.

use std::io::{self, BufRead, Write};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use super::{ForClient, StdioToHttp};
use crate::http::remote::Remote;
use crate::http::shared_server::Log;
use crate::link::{Failure, Link};
use crate::spool::Message;
use crate::system;

/// How many messages may wait for a client that does not read; then the server waits too.
const MAX_WAITING_MESSAGES: usize = 64;

/// Why the conversation ends, and how much time is left for that.
struct End {
    reason: &'static str,
    /// How long open requests may still take.
    drain_time: Duration,
    /// How long the client may take to read its last messages.
    write_time: Duration,
}

const CLIENT_GONE: End = End {
    reason: "the client closed its side, and tidegate gave up on the server",
    drain_time: Duration::from_secs(10),
    write_time: Duration::from_secs(60),
};
/// A supervisor that sends a signal usually waits about ten seconds.
const SIGNALLED: End = End {
    reason: "tidegate was told to end",
    drain_time: Duration::from_secs(if cfg!(test) { 1 } else { 5 }),
    write_time: Duration::from_secs(4),
};

/// Forwards between a client on stdin and stdout and a server over HTTP until the client closes its side, or a signal tells
/// tidegate to end.
pub async fn stdio_to_http(link: Link, remote: Remote, log: impl Fn(&str) + Send + Sync + 'static) {
    let input = || io::stdin().lock();
    let output = || io::stdout().lock();
    run_between(input, output, link, remote, Arc::new(log), system::end_signal()).await;
}

/// Forwards between the streams of a client and a server over HTTP, until the client closes its side or `end` is ready.
pub(in crate::http) async fn run_between<I: BufRead, O: Write>(
    input: impl FnOnce() -> I + Send + 'static,
    output: impl FnOnce() -> O + Send + 'static,
    link: Link,
    remote: Remote,
    log: Log,
    end: impl Future<Output = ()>,
) {
    let (out, messages) = mpsc::channel(MAX_WAITING_MESSAGES);
    let (writing, written) = oneshot::channel::<()>();
    std::thread::spawn(move || {
        write_all(messages, output());
        drop(writing);
    });
    let proxy = Arc::new(StdioToHttp::new(link, remote, out, log));
    let (mut tasks, mut end) = (JoinSet::new(), pin!(end));
    if forward_input(&proxy, read_lines(input), &mut tasks, end.as_mut()).await {
        return say_goodbye(proxy, tasks, written, SIGNALLED).await;
    }
    tokio::select! {
        () = say_goodbye(proxy, tasks, written, CLIENT_GONE) => {}
        // A client that has closed its side and then signals does not wait for responses.
        () = end => {}
    }
}

/// Forwards lines of the client until there are no more; returns true if it was told to end before.
async fn forward_input(
    proxy: &Arc<StdioToHttp>,
    mut input: mpsc::Receiver<Vec<u8>>,
    tasks: &mut JoinSet<()>,
    mut end: Pin<&mut impl Future<Output = ()>>,
) -> bool {
    loop {
        tokio::select! {
            line = input.recv() => {
                let Some(line) = line else { return false };
                tokio::select! {
                    () = Arc::clone(proxy).take(line, tasks) => {}
                    () = end.as_mut() => return true,
                }
            }
            () = end.as_mut() => return true,
        }
        while tasks.try_join_next().is_some() {}
    }
}

/// Waits for open requests, answers those that are left, and ends the session.
async fn say_goodbye(
    proxy: Arc<StdioToHttp>,
    mut tasks: JoinSet<()>,
    written: oneshot::Receiver<()>,
    end: End,
) {
    let until = Instant::now() + end.drain_time;
    while proxy.is_busy() && Instant::now() < until {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let answers = proxy.fail_open(&Failure::Ended(end.reason.into()));
    let until = Instant::now() + end.write_time;
    let write = async {
        for answer in answers {
            let _ = proxy.out.send(Message::from(answer).into()).await;
        }
    };
    let (_, ()) = tokio::join!(timeout_at(until, write), proxy.end_session());
    while proxy.deliveries.load(Ordering::SeqCst) > 0 && Instant::now() < until {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // A task that answers a local request cannot be aborted.
    let _ = timeout_at(until, tasks.shutdown()).await;
    drop(proxy);
    let _ = timeout_at(until, written).await;
}

fn read_lines<I: BufRead>(input: impl FnOnce() -> I + Send + 'static) -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel(64);
    std::thread::spawn(move || {
        let mut input = input();
        loop {
            let mut line = Vec::new();
            match input.read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) if line.trim_ascii().is_empty() => {}
                Ok(_) if sender.blocking_send(line).is_err() => return,
                Ok(_) => {}
            }
        }
    });
    receiver
}

fn write_all(mut messages: mpsc::Receiver<ForClient>, mut output: impl Write) {
    while let Some(ForClient { message, .. }) = messages.blocking_recv() {
        // A body over HTTP may have several lines; on stdio a message is one line.
        let written = match message {
            Message::Memory(mut line) => {
                line.retain(|byte| !matches!(byte, b'\n' | b'\r'));
                line.push(b'\n');
                output.write_all(&line)
            }
            Message::Disk(spooled) => spooled.on_one_line().between(b"", b"\n").write_to(&mut output),
        };
        if written.and_then(|()| output.flush()).is_err() {
            return;
        }
    }
}
