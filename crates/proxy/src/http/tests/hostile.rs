//! Servers that misbehave, in front of every kind of client: each row is one fault, one pairing of transports and one era
//! of the protocol, with the answer that is promised for it.
//!
//! Whatever a server does, a call is answered once. A fault that only shows by silence is answered when the time is over;
//! everything else at once, so those rows have a timeout that would fail them.

mod batches;
mod http_server;
mod pairings;
mod sequences;
mod slow_clients;
mod stdio_server;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use pairings::{Answers, Pairing};

/// Returns the command of a server on stdio that runs these lines of shell when it is called.
pub(super) fn command(does: &str) -> Vec<std::ffi::OsString> {
    pairings::command(does)
}

/// Returns the command of a server on stdio without faults.
pub(super) fn healthy_stdio() -> Vec<std::ffi::OsString> {
    command(stdio_server::FAULTS[0].does)
}

/// Starts a server over HTTP without faults; returns its address.
pub(super) fn healthy_http() -> String {
    http_server::start(&http_server::faults()[0].does)
}

/// The timeout of rows that promise an answer when it is over.
const SHORT: Duration = Duration::from_secs(1);
/// The timeout of all other rows.
const LONG: Duration = Duration::from_secs(60);
/// How many rows run at once.
const THREADS: usize = 12;

/// What a client gets in answer to its call. Every answer has the id of the call, and there is no other.
#[derive(Debug, Clone, Copy)]
enum Promise {
    /// The result of the server.
    Result,
    /// An error whose message contains this.
    Error(&'static str),
    /// An error that says that the time is over, and that the tool may have run.
    Overdue,
    /// A status of HTTP, forwarded with whatever body it has.
    Status(u16),
}

/// One exchange: what the server does with a call, and what the client gets.
struct Row {
    fault: &'static str,
    pairing: Pairing,
    is_modern: bool,
    promise: Promise,
    server: Server,
}

/// What the server does when it is called.
enum Server {
    /// It runs these lines of shell; `@` is the id of the call.
    Stdio(&'static str),
    Http(Vec<http_server::Step>),
}

fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for is_modern in [false, true] {
        for fault in stdio_server::FAULTS {
            for pairing in [Pairing::StdioToStdio, Pairing::HttpToStdio] {
                let (fault, server, promise) = (fault.name, Server::Stdio(fault.does), fault.promise);
                rows.push(Row { fault, pairing, is_modern, promise, server });
            }
        }
        for pairing in [Pairing::StdioToHttp, Pairing::HttpToHttp] {
            for fault in http_server::faults() {
                let promise = if pairing == Pairing::HttpToHttp { fault.over_http } else { fault.on_stdio };
                let (fault, server) = (fault.name, Server::Http(fault.does));
                rows.push(Row { fault, pairing, is_modern, promise, server });
            }
        }
    }
    rows
}

impl Row {
    /// Returns what is wrong with the answers, if something is.
    fn check(&self) -> Result<(), String> {
        let timeout = if matches!(self.promise, Promise::Overdue) { SHORT } else { LONG };
        let answers = pairings::run(self, timeout);
        let kept = match (self.promise, answers.messages.as_slice()) {
            (Promise::Status(status), _) => answers.status == Some(status),
            (Promise::Result, [one]) => one["result"].is_object(),
            (Promise::Error(text), [one]) => error_of(one).contains(text),
            (Promise::Overdue, [one]) => {
                let error = error_of(one);
                error.contains("within 1 s (--timeout)") && error.contains("the tool may have run")
            }
            _ => false,
        };
        let era = if self.is_modern { "modern" } else { "legacy" };
        let Answers { status, messages } = answers;
        match kept {
            true => Ok(()),
            false => Err(format!(
                "{}, {:?}, {era}: promised {:?}, got {status:?} {messages:?}",
                self.fault, self.pairing, self.promise
            )),
        }
    }
}

fn error_of(message: &serde_json::Value) -> &str {
    message["error"]["message"].as_str().unwrap_or_default()
}

#[test]
fn every_call_is_answered_once() {
    let rows = rows();
    assert!(rows.len() >= 200, "{} rows", rows.len());
    let (next, broken) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let Some(row) = rows.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(error) = row.check() {
                        broken.lock().unwrap().push(error);
                    }
                }
            });
        }
    });
    let broken = broken.into_inner().unwrap();
    assert!(broken.is_empty(), "{} of {} rows:\n{}", broken.len(), rows.len(), broken.join("\n"));
}
