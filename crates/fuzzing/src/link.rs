//! A conversation of any lines, from both sides in any order.
//!
//! Holds: no more answers reach the client than it asked for, by id; what is forwarded is JSON where what came was; and
//! where nothing is to be changed, every line crosses as it came.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;
use tidegate_core::budget::Budget;
use tidegate_gate::policy::{Policies, Rules};
use tidegate_gate::{Caller, Gate, Keep, Place, Setup};
use tidegate_proxy::{Limits, Link, Message, Mode};
use tidegate_query::{Queries, Worker};

/// Runs one input: lines, of which the first byte says whose it is: `c` and `s` of client and server, `e` ends the
/// server; any other is the client's with that byte in it.
pub fn target(data: &[u8]) {
    observe(data);
    shape(data);
}

fn link(mode: Mode) -> Link {
    // The least budget, so that short results are long.
    let defaults = Rules {
        budget_tokens: Some(Budget::LEAST_TOKENS.0),
        max_bytes: Some(Budget::LEAST_BYTES.0),
        ..Rules::default()
    };
    let mut policies = Policies::default();
    policies.defaults = defaults;
    let gate = Gate::new(Setup {
        keep: Arc::new(Keep::of_user(Place::Memory)),
        policies,
        // jq is the business of another target.
        engines: Queries::new(tidegate_query::Limits::default(), Worker::new(PathBuf::from("/nonexistent"))),
        server: "test".into(),
    });
    Link::new(Arc::new(gate), Caller::unknown(Vec::new()), mode, None)
}

enum Said {
    Client(Vec<u8>),
    Server(Vec<u8>),
    End,
}

fn said(data: &[u8]) -> impl Iterator<Item = Said> {
    data.split(|byte| *byte == b'\n').map(|line| {
        let with_end = |line: &[u8]| [line, b"\n"].concat();
        match line.split_first() {
            Some((b'c', line)) => Said::Client(with_end(line)),
            Some((b's', line)) => Said::Server(with_end(line)),
            Some((b'e', _)) => Said::End,
            _ => Said::Client(with_end(line)),
        }
    })
}

fn on_disk(line: &[u8]) -> Message {
    let limits = Limits { spool_above: 0, ..Limits::default() };
    Message::receive(line, limits).expect("it is not larger than the largest")
}

fn observe(data: &[u8]) {
    let link = link(Mode::Observe);
    for said in said(data) {
        match said {
            Said::Client(line) => {
                let outcome = link.from_client(line.clone());
                assert_eq!(outcome.forward, Some(line));
                assert!(outcome.local.is_empty());
            }
            Said::Server(line) => {
                // A message is the same wherever it is held.
                for message in [line.clone().into(), on_disk(&line)] {
                    let outcome = link.from_server(message);
                    assert_eq!(
                        outcome.forward.and_then(|message| message.into_bytes().ok()).as_ref(),
                        Some(&line)
                    );
                    assert!(outcome.shape_job.is_none());
                }
            }
            Said::End => {}
        }
    }
}

fn shape(data: &[u8]) {
    let link = link(Mode::Shape);
    let mut counts = Counts::default();
    let mut disk = false;
    for said in said(data) {
        match said {
            Said::Client(line) => {
                counts.asked(&line);
                let outcome = link.from_client(line);
                for request in &outcome.local {
                    counts.answered(&link.answer_locally(request));
                }
            }
            Said::Server(line) => {
                let was_json = is_json(&line);
                // Every other line is on disk, however small it is.
                disk = !disk;
                let outcome = link.from_server(if disk { on_disk(&line) } else { line.into() });
                let forward = match outcome.shape_job {
                    Some(job) => link.finish(*job).forward,
                    None => outcome.forward,
                };
                if let Some(forward) = forward.and_then(|message| message.into_bytes().ok()) {
                    let shown = String::from_utf8_lossy(&forward);
                    assert!(!was_json || is_json(&forward), "JSON stays JSON: {shown}");
                    counts.answered(&forward);
                }
            }
            Said::End => link.end("the server ended").iter().for_each(|line| counts.answered(line)),
        }
    }
    link.end("the server ended").iter().for_each(|line| counts.answered(line));
    counts.check();
}

fn is_json(line: &[u8]) -> bool {
    serde_json::from_slice::<Value>(line).is_ok()
}

/// Requests and answers by id.
#[derive(Default)]
struct Counts {
    balance: HashMap<String, i64>,
    /// The client said something that is no message: an answer may then be to what nobody could read.
    unreadable: bool,
}

impl Counts {
    fn asked(&mut self, line: &[u8]) {
        let messages = messages(line);
        self.unreadable |= messages.is_none();
        for message in messages.unwrap_or_default() {
            let request = message.get("method").is_some_and(Value::is_string);
            match message.get("id") {
                Some(id) if request => *self.balance.entry(name(id)).or_default() += 1,
                _ => self.unreadable |= !message.is_object(),
            }
        }
    }

    fn answered(&mut self, line: &[u8]) {
        for message in messages(line).unwrap_or_default() {
            let answer = message.get("method").is_none()
                && (message.get("result").is_some() || message.get("error").is_some());
            match message.get("id") {
                // What cannot be said to answer a request crosses.
                Some(id) if answer && !id.is_null() => *self.balance.entry(name(id)).or_default() -= 1,
                _ => {}
            }
        }
    }

    fn check(&self) {
        for (id, balance) in &self.balance {
            assert!(self.unreadable || *balance >= 0, "{} answers too many to {id}", -balance);
        }
    }
}

/// The messages of a line: one, or those of a batch.
fn messages(line: &[u8]) -> Option<Vec<Value>> {
    match serde_json::from_slice(line).ok()? {
        Value::Array(messages) => Some(messages),
        Value::Object(message) => Some(vec![Value::Object(message)]),
        _ => None,
    }
}

/// An id however it is written: `1` and `1.0` are one.
fn name(id: &Value) -> String {
    match id.as_f64().filter(|number| number.fract() == 0.0 && number.abs() < 9e15) {
        Some(whole) => format!("{whole:.0}"),
        None => id.to_string(),
    }
}
