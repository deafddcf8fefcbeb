//! Clients on stdio that read slowly, or not at all, when the conversation ends.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use hyper::header::HeaderMap;
use serde_json::Value;

use super::http_server::{self, Step};
use super::{LONG, healthy_http, pairings};
use crate::http::Remote;
use crate::http::stdio_to_http::run_between;
use crate::http::tests::{CALL, GUARD, run};
use crate::stdio::{self, ClientStreams};
use crate::tests::link;

/// How long the end of a conversation may take on a slow machine.
const MAX_END_TIME: Duration = Duration::from_secs(20);

/// The output to a client that never reads.
struct Unread;

impl Write for Unread {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        loop {
            std::thread::park();
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The output to a client that reads a message now and then.
struct ReadSlowly(Sender<Vec<u8>>);

impl Write for ReadSlowly {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        std::thread::sleep(Duration::from_millis(5));
        self.0.send(bytes.to_vec()).map_err(io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Calls with the ids 1 to `count`, the last of them of tidegate's own tool, and input that stays open after them.
fn calls(count: usize) -> impl BufRead {
    let call = |id: usize| {
        let call = format!("{}\n", CALL.replace("101", &id.to_string()));
        if id == count { call.replace("list", "result_query") } else { call }
    };
    let calls: String = (1..=count).map(call).collect();
    let (open, keep) = io::pipe().unwrap();
    // It is never closed.
    std::mem::forget(keep);
    BufReader::new(io::Cursor::new(calls).chain(open))
}

/// Sends calls to a server over HTTP and tells the proxy to end; returns how long that took.
fn end_after_calls<O: Write>(
    server: &str,
    count: usize,
    output: impl FnOnce() -> O + Send + 'static,
) -> Duration {
    let remote = Remote::new(server, HeaderMap::new()).unwrap();
    run(async {
        let end = tokio::time::sleep(Duration::from_secs(1));
        let started = Instant::now();
        let ended =
            run_between(move || calls(count), output, link(Some(LONG)), remote, Arc::new(|_: &str| {}), end);
        let _ = tokio::time::timeout(MAX_END_TIME, ended).await;
        started.elapsed()
    })
}

#[test]
fn a_client_that_does_not_read_does_not_hold_up_the_end() {
    assert!(end_after_calls(&healthy_http(), 300, || Unread) < MAX_END_TIME);
}

#[test]
fn a_client_that_reads_slowly_gets_every_answer() {
    let (sender, received) = channel();
    let server = http_server::start(&[Step::Hang]);
    assert!(end_after_calls(&server, 150, || ReadSlowly(sender)) < MAX_END_TIME);
    let lines: Vec<u8> = received.try_iter().flatten().collect();
    let mut ids: Vec<u64> = lines
        .split(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice::<Value>(line).ok()?["id"].as_u64())
        .collect();
    ids.sort_unstable();
    assert_eq!(ids, (1..=150).collect::<Vec<u64>>());
}

/// A server on stdio dies while nobody reads what tidegate writes.
#[test]
fn the_last_errors_wait_for_the_client() {
    let (input, mut to_proxy) = io::pipe().unwrap();
    let (from_proxy, output) = io::pipe().unwrap();
    let output = File::from(OwnedFd::from(output));
    fill(&output);
    let streams = ClientStreams { input: File::from(OwnedFd::from(input)), output };
    let options = stdio::Options { command: pairings::command("exit 3"), program: GUARD.clone() };
    let (sender, events) = channel();
    let proxy = std::thread::spawn(move || {
        stdio::run_between(streams, link(None), &options, sender, events).unwrap()
    });
    to_proxy.write_all(format!("{CALL}\n").as_bytes()).unwrap();
    std::thread::sleep(Duration::from_secs(4));
    assert!(!proxy.is_finished(), "the call is not answered yet");
    let (sender, received) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(from_proxy).split(b'\n').map_while(Result::ok) {
            let _ = sender.send(line);
        }
    });
    assert_eq!(proxy.join().unwrap(), 3);
    let until = Instant::now() + MAX_END_TIME;
    let mut answers = Vec::new();
    while answers.is_empty()
        && let Ok(line) = received.recv_timeout(until.saturating_duration_since(Instant::now()))
    {
        answers = pairings::responses(&line);
    }
    assert_eq!(answers[0]["id"], 101, "{answers:?}");
}

/// Fills a pipe with empty lines.
fn fill(pipe: &File) {
    rustix::io::ioctl_fionbio(pipe, true).unwrap();
    while rustix::io::write(pipe, &[b'\n'; 4096]).is_ok() {}
    while rustix::io::write(pipe, b"\n").is_ok() {}
    rustix::io::ioctl_fionbio(pipe, false).unwrap();
}
