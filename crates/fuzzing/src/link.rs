//! A conversation of arbitrary lines, from both sides in any order.
//!
//! Checks that the client gets no more responses than it sent requests, by id; that JSON stays JSON; and that every line is
//! forwarded unchanged when the link only observes.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;
use tidegate_core::budget::Budget;
use tidegate_gate::policy::{Policies, Rules};
use tidegate_gate::{Caller, Gate, Setup, StoreLocation, UserStore};
use tidegate_proxy::{Limits, Link, Message, Mode};
use tidegate_query::{Queries, Worker};

/// Runs one input: lines whose first byte says who sends them, `c` for the client and `s` for the server; `e` ends the
/// server. Any other line is sent by the client, first byte included.
pub fn target(data: &[u8]) {
    observe(data);
    shape(data);
}

fn link(mode: Mode) -> Link {
    // The smallest budget, so that short results are shaped.
    let defaults = Rules {
        budget_tokens: Some(Budget::MIN_TOKENS.0),
        max_bytes: Some(Budget::MIN_BYTES.0),
        ..Rules::default()
    };
    let mut policies = Policies::default();
    policies.defaults = defaults;
    let gate = Gate::new(Setup {
        keep: Arc::new(UserStore::of_user(StoreLocation::Memory)),
        policies,
        // Another target covers jq.
        engines: Queries::new(tidegate_query::Limits::default(), Worker::new(PathBuf::from("/nonexistent"))),
        server: "test".into(),
    });
    Link::new(Arc::new(gate), Caller::unknown(Vec::new()), mode, None)
}

enum Step {
    Client(Vec<u8>),
    Server(Vec<u8>),
    End,
}

fn steps(data: &[u8]) -> impl Iterator<Item = Step> {
    data.split(|byte| *byte == b'\n').map(|line| {
        let with_end = |line: &[u8]| [line, b"\n"].concat();
        match line.split_first() {
            Some((b'c', line)) => Step::Client(with_end(line)),
            Some((b's', line)) => Step::Server(with_end(line)),
            Some((b'e', _)) => Step::End,
            _ => Step::Client(with_end(line)),
        }
    })
}

fn on_disk(line: &[u8]) -> Message {
    let limits = Limits { spool_above: 0, ..Limits::default() };
    Message::receive(line, limits).expect("a line is within the limits")
}

fn observe(data: &[u8]) {
    let link = link(Mode::Observe);
    for step in steps(data) {
        match step {
            Step::Client(line) => {
                let outcome = link.from_client(line.clone());
                assert_eq!(outcome.forward, Some(line));
                assert!(outcome.local.is_empty());
            }
            Step::Server(line) => {
                // The outcome is the same in memory and on disk.
                for message in [line.clone().into(), on_disk(&line)] {
                    let outcome = link.from_server(message);
                    assert_eq!(
                        outcome.forward.and_then(|message| message.into_bytes().ok()).as_ref(),
                        Some(&line)
                    );
                    assert!(outcome.shape_job.is_none());
                }
            }
            Step::End => {}
        }
    }
}

fn shape(data: &[u8]) {
    let link = link(Mode::Shape);
    let mut counts = Counts::default();
    let mut disk = false;
    for step in steps(data) {
        match step {
            Step::Client(line) => {
                counts.asked(&line);
                let outcome = link.from_client(line);
                for request in &outcome.local {
                    counts.answered(&link.answer_locally(request));
                }
            }
            Step::Server(line) => {
                let was_json = is_json(&line);
                // Every other line is spooled, however small it is.
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
            Step::End => link.end("the server ended").iter().for_each(|line| counts.answered(line)),
        }
    }
    link.end("the server ended").iter().for_each(|line| counts.answered(line));
    counts.check();
}

fn is_json(line: &[u8]) -> bool {
    serde_json::from_slice::<Value>(line).is_ok()
}

/// Counts requests and responses by id.
#[derive(Default)]
struct Counts {
    balance: HashMap<String, i64>,
    /// Whether the client sent something that is not a message: an unexpected response may belong to it.
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
                // A response with a null id is always forwarded.
                Some(id) if answer && !id.is_null() => *self.balance.entry(name(id)).or_default() -= 1,
                _ => {}
            }
        }
    }

    fn check(&self) {
        for (id, balance) in &self.balance {
            assert!(self.unreadable || *balance >= 0, "{} too many responses to {id}", -balance);
        }
    }
}

/// Returns the messages of a line: one, or those of a batch.
fn messages(line: &[u8]) -> Option<Vec<Value>> {
    match serde_json::from_slice(line).ok()? {
        Value::Array(messages) => Some(messages),
        Value::Object(message) => Some(vec![Value::Object(message)]),
        _ => None,
    }
}

/// Returns an id in one form: `1` and `1.0` are the same.
fn name(id: &Value) -> String {
    match id.as_f64().filter(|number| number.fract() == 0.0 && number.abs() < 9e15) {
        Some(whole) => format!("{whole:.0}"),
        None => id.to_string(),
    }
}
