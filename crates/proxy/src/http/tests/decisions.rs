//! The same messages through every path: a line in memory, a spooled message, and both behind an HTTP front. What is
//! forwarded, its bytes and what is noted for the ledger are the same on each.

use std::sync::Arc;
use std::time::Duration;

use tidegate_testkit::make;
use tokio::sync::mpsc;

use super::link;
use crate::http::exchange;
use crate::http::shared_server::{SharedServer, deliveries};
use crate::link::{Link, ServerOutcome};
use crate::message::ParsedLine;
use crate::spool::{Limits, Line, Message, Received};

/// What a server message becomes.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Expected {
    /// It is forwarded as written here.
    Forwarded(&'static str),
    /// It is shaped, and the answer contains this text.
    Shaped(&'static str),
    Dropped,
}

use Expected::{Dropped, Forwarded, Shaped};

enum Step {
    Client(&'static str),
    /// `$1` is the id that the server sees for the first request of the client, `$2` for the second; `$LARGE` is a large
    /// tool result, `$LONG` a long text.
    Server(&'static str, Expected),
}

use Step::{Client, Server};

struct Case {
    name: &'static str,
    steps: Vec<Step>,
    /// Tools and steps that are noted for the ledger.
    noted: &'static [(&'static str, &'static str)],
}

/// The ids of the client's requests, in order.
const CLIENT_IDS: [&str; 2] = ["101", "\"two\""];
const CALL: &str = r#"{"jsonrpc":"2.0","id":101,"method":"tools/call","params":{"name":"list"}}"#;
const GET_TASK: &str = r#"{"jsonrpc":"2.0","id":"two","method":"tasks/get","params":{"taskId":"t"}}"#;
const TASK_RESULT: &str = r#"{"jsonrpc":"2.0","id":"two","method":"tasks/result","params":{"taskId":"t"}}"#;
const TASK: &str = r#"{"jsonrpc":"2.0","id":$1,"result":{"task":{"taskId":"t","status":"working"}}}"#;
const TASK_FORWARDED: Expected =
    Forwarded(r#"{"jsonrpc":"2.0","id":101,"result":{"task":{"taskId":"t","status":"working"}}}"#);

const ANSWER: &str = r#"{"jsonrpc":"2.0","id":$1,"result":{"content":[]}}"#;
const ANSWERED: Expected = Forwarded(r#"{"jsonrpc":"2.0","id":101,"result":{"content":[]}}"#);

fn responses() -> Vec<Case> {
    let stray = r#"{"jsonrpc":"2.0","id":"stray","result":{}}"#;
    let null = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}"#;
    let without = r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"parse error"}}"#;
    let answer = ANSWER;
    let answered = ANSWERED;
    vec![
        Case { name: "unknown id", steps: vec![Server(stray, Dropped)], noted: &[] },
        Case {
            name: "unknown id after an unreadable line",
            steps: vec![Client("[1]"), Server(stray, Dropped)],
            noted: &[],
        },
        Case {
            name: "an id of an unreadable line",
            steps: vec![
                Client(r#"[{"id":"stray","method":"x",]"#),
                Server(stray, Forwarded(stray)),
                Server(stray, Dropped),
            ],
            noted: &[],
        },
        Case {
            name: "null id",
            steps: vec![Server(null, Forwarded(null)), Server(without, Forwarded(without))],
            noted: &[],
        },
        Case {
            name: "second response",
            steps: vec![Client(CALL), Server(answer, answered.clone()), Server(answer, Dropped)],
            noted: &[("list", "pass")],
        },
        Case {
            name: "id written otherwise",
            steps: vec![
                Client(CALL),
                Server(r#"{"jsonrpc":"2.0","id":$1.0,"result":{"content":[]}}"#, answered.clone()),
            ],
            noted: &[("list", "pass")],
        },
        Case {
            name: "byte order mark",
            steps: vec![
                Client(CALL),
                Server(
                    "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":$1,\"result\":{\"content\":[]}}",
                    answered.clone(),
                ),
            ],
            noted: &[("list", "pass")],
        },
        Case {
            name: "text before a message",
            steps: vec![
                Client(CALL),
                Server(r#"50% {"jsonrpc":"2.0","id":$1,"result":{"content":[]}}"#, answered.clone()),
            ],
            noted: &[("list", "pass")],
        },
        Case { name: "not JSON", steps: vec![Server("listening on port 7", Dropped)], noted: &[] },
    ]
}

/// Responses that no client could use, and what looks like one.
fn wrong_responses() -> Vec<Case> {
    let answer = ANSWER;
    let answered = ANSWERED;
    vec![
        Case {
            name: "neither result nor error",
            steps: vec![
                Client(CALL),
                Server(r#"{"jsonrpc":"2.0","id":$1}"#, Shaped(r#""id":101,"error":{"code":-32000"#)),
                Server(answer, Dropped),
            ],
            noted: &[],
        },
        Case {
            name: "both result and error",
            steps: vec![
                Client(CALL),
                Server(
                    r#"{"jsonrpc":"2.0","id":$1,"result":{"content":[]},"error":{"code":1,"message":"x"}}"#,
                    Shaped("has both a result and an error; the tool may have run"),
                ),
                Server(answer, Dropped),
            ],
            noted: &[],
        },
        Case {
            name: "an error that is null",
            steps: vec![
                Client(CALL),
                Server(
                    r#"{"jsonrpc":"2.0","id":$1,"result":{"content":[]},"error":null}"#,
                    Forwarded(r#"{"jsonrpc":"2.0","id":101,"result":{"content":[]},"error":null}"#),
                ),
            ],
            noted: &[("list", "pass")],
        },
        Case {
            name: "a log line with the id of a request",
            steps: vec![
                Client(CALL),
                Server(r#"{"level":"info","id":$1}"#, Dropped),
                Server(answer, answered.clone()),
            ],
            noted: &[("list", "pass")],
        },
    ]
}

fn errors_and_tasks() -> Vec<Case> {
    vec![
        Case {
            name: "error of a call",
            steps: vec![
                Client(CALL),
                Server(
                    r#"{"jsonrpc":"2.0","id":$1,"error":{"code":-32602,"message":"no such list"}}"#,
                    Forwarded(
                        r#"{"jsonrpc":"2.0","id":101,"error":{"code":-32602,"message":"no such list"}}"#,
                    ),
                ),
            ],
            noted: &[("list", "pass")],
        },
        Case {
            name: "long error of a call",
            steps: vec![
                Client(CALL),
                Server(
                    r#"{"jsonrpc":"2.0","id":$1,"error":{"code":-5,"message":"$LONG"}}"#,
                    Shaped(r#""code":-5"#),
                ),
            ],
            noted: &[],
        },
        Case {
            name: "large result",
            steps: vec![
                Client(CALL),
                Server(r#"{"jsonrpc":"2.0","id":$1,"result":$LARGE}"#, Shaped("list returned 9,000")),
            ],
            noted: &[],
        },
        Case {
            name: "task notification",
            steps: vec![
                Client(CALL),
                Server(TASK, TASK_FORWARDED),
                Server(
                    r#"{"jsonrpc":"2.0","method":"notifications/tasks","params":{"taskId":"t","result":$LARGE}}"#,
                    Shaped("list returned 9,000"),
                ),
            ],
            noted: &[("list", "pass")],
        },
        Case {
            name: "task state with result",
            steps: vec![
                Client(CALL),
                Server(TASK, TASK_FORWARDED),
                Client(GET_TASK),
                Server(
                    r#"{"jsonrpc":"2.0","id":$2,"result":{"taskId":"t","result":$LARGE}}"#,
                    Shaped("list returned 9,000"),
                ),
            ],
            noted: &[("list", "pass")],
        },
        Case {
            name: "task result",
            steps: vec![
                Client(CALL),
                Server(TASK, TASK_FORWARDED),
                Client(TASK_RESULT),
                Server(
                    r#"{"jsonrpc":"2.0","id":$2,"result":{"content":[]}}"#,
                    Forwarded(r#"{"jsonrpc":"2.0","id":"two","result":{"content":[]}}"#),
                ),
            ],
            noted: &[("list", "pass"), ("list", "pass")],
        },
    ]
}

/// Returns a server message with its placeholders filled in.
fn filled(message: &str, ids: [&str; 2]) -> Vec<u8> {
    let large = String::from_utf8(make::text_result(&"a line of text\n".repeat(9000))).unwrap();
    let message = message.replace("$LARGE", &large).replace("$LONG", &"failed ".repeat(20_000));
    message.replace("$1", ids[0]).replace("$2", ids[1]).into_bytes()
}

/// Returns a line as it arrives: in memory or spooled.
fn arrived(line: &[u8], spooled: bool) -> Message {
    let spool_above = if spooled { 0 } else { Limits::default().spool_above };
    Message::receive(line, Limits { spool_above, ..Limits::default() }).unwrap()
}

fn check(path: &str, case: &Case, expected: &Expected, found: Option<Message>) {
    let found = found.map(|message| String::from_utf8(message.into_bytes().unwrap()).unwrap());
    let (found, context) = (found.as_deref(), format!("{}, {path}", case.name));
    match expected {
        Forwarded(bytes) => assert_eq!(found, Some(*bytes), "{context}"),
        Dropped => assert_eq!(found, None, "{context}"),
        Shaped(text) => {
            let found = found.unwrap_or_else(|| panic!("{context}: dropped"));
            assert!(found.len() < 12_000 && found.contains(text), "{context}: {found}");
        }
    }
}

fn check_noted(path: &str, case: &Case, link: &Link) {
    let noted = link.queued_for_ledger();
    let noted: Vec<(&str, &str)> = noted.iter().map(|(tool, step)| (tool.as_str(), *step)).collect();
    assert_eq!(noted, case.noted, "{}, {path}", case.name);
}

fn through_link(case: &Case, spooled: bool) {
    let (link, path) = (link(), if spooled { "spooled" } else { "in memory" });
    for step in &case.steps {
        match step {
            Client(line) => assert!(link.from_client(line.as_bytes().to_vec()).forward.is_some()),
            Server(message, expected) => {
                let outcome = link.from_server(arrived(&filled(message, CLIENT_IDS), spooled));
                let is_reported = !outcome.dropped.is_empty();
                let ServerOutcome { forward, .. } = match outcome.shape_job {
                    Some(job) => link.finish(*job),
                    None => outcome,
                };
                let drops_something = *expected == Dropped || message.starts_with("50%");
                assert_eq!(is_reported, drops_something, "{}, {path}", case.name);
                check(path, case, expected, forward);
            }
        }
    }
    check_noted(path, case, &link);
}

async fn through_http(case: &Case, spooled: bool) {
    let (link, path) = (Arc::new(link()), if spooled { "HTTP, spooled" } else { "HTTP" });
    let (unrouted, mut messages) = mpsc::unbounded_channel();
    let server = SharedServer::new(tokio::io::sink(), None, unrouted, Arc::new(|_: &str| {}));
    let (sender, mut receiver) = deliveries();
    for step in &case.steps {
        match step {
            Client(line) => {
                let exchange = Arc::new(link.exchange());
                let (forward, _) = exchange.parsed_from_client(ParsedLine::parse(line.as_bytes().to_vec()));
                server.send(&exchange, forward, &sender);
            }
            Server(message, expected) => {
                server
                    .route(Line::Buffered(Received::Message(arrived(&filled(message, ["1", "2"]), spooled))));
                let time = Duration::from_millis(if *expected == Dropped { 100 } else { 20_000 });
                let found = tokio::time::timeout(time, async {
                    tokio::select! {
                        delivery = receiver.recv() => delivery.map(|delivery| delivery.message),
                        message = messages.recv() => match message {
                            Some(message) => exchange::from_server(&link, message).await.forward,
                            None => None,
                        },
                    }
                });
                check(path, case, expected, found.await.ok().flatten());
            }
        }
    }
    check_noted(path, case, &link);
}

#[test]
fn every_path_decides_alike() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for case in responses().iter().chain(&wrong_responses()).chain(&errors_and_tasks()) {
        for spooled in [false, true] {
            through_link(case, spooled);
            runtime.block_on(through_http(case, spooled));
        }
    }
}
