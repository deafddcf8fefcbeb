//! Batches in front of a server over HTTP, with requests that tidegate answers itself: each request of a batch is answered
//! once, whatever the server does.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hyper::header::HeaderMap;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::http_server::{
    CountingServer, OK, Step, events, faults, json as json_response, response, start_sequence,
};
use super::pairings::{Answers, read, responses};
use super::{LONG, SHORT, THREADS};
use crate::http::stdio_to_http::StdioToHttp;
use crate::http::tests::{CALL, link, post, run};
use crate::http::{HttpToHttp, Remote};
use crate::link::Link;
use crate::spool::Limits;

/// A call of tidegate's own tool.
const QUERY: &str =
    r#"{"jsonrpc":"2.0","id":102,"method":"tools/call","params":{"name":"result_query","arguments":{}}}"#;
const NOTIFICATION: &str = r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#;

fn send(server: &str, link: Link, bodies: &[&str]) -> Vec<Answers> {
    let remote = Remote::new(server, HeaderMap::new()).unwrap();
    let front = Arc::new(HttpToHttp::new(remote, false, move || link.fresh()));
    run(async {
        let mut answers = Vec::new();
        for body in bodies {
            let headers = [("mcp-session-id", "s")];
            answers.push(read(Arc::clone(&front).answer(post(&headers), (*body).into()).await).await);
        }
        answers
    })
}

/// Returns how many answers there are to each id.
fn counts(answers: &Answers) -> HashMap<u64, usize> {
    let mut counts = HashMap::new();
    for id in answers.messages.iter().filter_map(|message| message["id"].as_u64()) {
        *counts.entry(id).or_default() += 1;
    }
    counts
}

/// Checks a batch in front of a server; returns what is wrong with the answers.
fn check(steps: &[Step], batch: &str, ids: &[u64], is_short: bool) -> Result<(), String> {
    let link = crate::tests::link(Some(if is_short { SHORT } else { LONG }));
    let CountingServer { address, .. } = start_sequence(vec![steps.to_vec()]);
    let answers = send(&address, link, &[batch]).remove(0);
    let counts = counts(&answers);
    let is_complete = ids.iter().all(|id| counts.get(id) == Some(&1));
    // A server that only had a notification to accept cannot spoil the answers of tidegate's own.
    let is_readable = ids.contains(&101) || answers.status == Some(200);
    match is_complete && is_readable {
        true => Ok(()),
        false => Err(format!("{batch}: {:?} {:?}", answers.status, answers.messages)),
    }
}

#[test]
fn every_request_of_a_batch_is_answered_once() {
    let (with_call, alone) = (format!("[{QUERY},{CALL}]"), format!("[{QUERY},{NOTIFICATION}]"));
    let faults = faults();
    let (next, broken) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let Some(fault) = faults.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let never_ends = fault.does.iter().any(|step| !matches!(step, Step::Send(_)));
                    let checked = [
                        check(&fault.does, &with_call, &[101, 102], never_ends),
                        check(&fault.does, &alone, &[102], never_ends),
                    ];
                    for error in checked.into_iter().filter_map(Result::err) {
                        broken.lock().unwrap().push(format!("{}: {error}", fault.name));
                    }
                }
            });
        }
    });
    let broken = broken.into_inner().unwrap();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn a_batch_whose_answer_is_too_large_is_answered_for_each_request() {
    let large = json!([{"jsonrpc": "2.0", "id": 101, "result": {"content": ["x".repeat(2000)]}}]).to_string();
    let CountingServer { address, .. } = start_sequence(vec![vec![json_response(&large)]]);
    let limits = Limits { spool_above: 100, max_message_bytes: 1000, folder: None };
    let batch = format!("[{CALL},{},{QUERY}]", CALL.replace("101", "103"));
    let answers = send(&address, crate::tests::link(Some(LONG)).with_limits(limits), &[&batch]).remove(0);
    assert_eq!(counts(&answers), HashMap::from([(101, 1), (102, 1), (103, 1)]), "{:?}", answers.messages);
    let errors = answers.messages.iter().filter(|message| message["error"] != Value::Null);
    assert_eq!(errors.filter(|message| message.to_string().contains("is larger than")).count(), 2);
}

/// The deadline of one request of a batch passes while the answer to another is shaped.
#[test]
fn an_answer_that_is_shaped_is_not_lost_with_an_overdue_one() {
    let rows: String = (0..40_000).map(|row| format!("row {row} of a long table\n")).collect();
    let large =
        json!([{"jsonrpc": "2.0", "id": 101, "result": {"content": [{"type": "text", "text": rows}]}}]);
    let batch = format!("[{CALL},{}]", CALL.replace("101", "103"));
    for does in
        [vec![json_response(&large.to_string())], vec![events(&format!("data: {large}\n\n")), Step::Hang]]
    {
        let CountingServer { address, .. } = start_sequence(vec![does]);
        let link = crate::tests::link(Some(Duration::from_millis(300)));
        let answers = send(&address, link, &[&batch]).remove(0);
        assert_eq!(counts(&answers), HashMap::from([(101, 1), (103, 1)]), "{:?}", answers.messages);
    }
}

/// The deadline of one request of a batch passes while the answer to another waits for a slow client.
#[test]
fn an_answer_that_waits_for_the_client_is_not_lost_with_an_overdue_one() {
    let does = vec![events(&format!("data: [{OK}]\n\n")), Step::Hang];
    let CountingServer { address, .. } = start_sequence(vec![does]);
    let remote = Remote::new(&address, HeaderMap::new()).unwrap();
    let batch = format!("[{CALL},{}]", CALL.replace("101", "103"));
    let answers = run(async {
        let (out, mut received) = mpsc::channel(2);
        for _ in 0..2 {
            out.send(crate::spool::Message::from(b"{}".to_vec()).into()).await.unwrap();
        }
        let proxy = StdioToHttp::new(crate::tests::link(Some(SHORT)), remote, out, Arc::new(|_: &str| {}));
        let mut tasks = JoinSet::new();
        Arc::new(proxy).take(batch.into_bytes(), &mut tasks).await;
        tokio::time::sleep(SHORT * 3).await;
        let mut answers = Vec::new();
        while let Ok(Some(message)) = tokio::time::timeout(SHORT, received.recv()).await {
            answers.extend(responses(&message.message.into_bytes().unwrap()));
        }
        answers
    });
    let answers = Answers { status: None, messages: answers };
    assert_eq!(counts(&answers), HashMap::from([(101, 1), (103, 1)]), "{:?}", answers.messages);
}

#[test]
fn the_server_sees_nothing_of_a_cancellation_of_a_local_request() {
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":102}}"#;
    let server = start_sequence(vec![vec![response("202 Accepted", "")]]);
    // The first message makes the session known.
    let answers = send(&server.address, link(), &[NOTIFICATION, QUERY, cancel]);
    let statuses: Vec<_> = answers.iter().map(|answers| answers.status).collect();
    assert_eq!(statuses, [Some(202), Some(200), Some(202)]);
    assert_eq!(server.requests.load(Ordering::SeqCst), 1);
}

/// A session may be older than this process.
#[test]
fn a_session_that_the_server_knows_is_remembered() {
    let question = "data: {\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"elicitation/create\"}\n\n";
    let server = start_sequence(vec![
        vec![events(&format!("id: 1\n{question}"))],
        vec![events(&format!("data: {OK}\n\n"))],
    ]);
    let remote = Remote::new(&server.address, HeaderMap::new()).unwrap();
    let link = crate::tests::link(Some(LONG));
    let front = Arc::new(HttpToHttp::new(remote, false, move || link.fresh()));
    run(async {
        let headers = [("mcp-session-id", "of-another-process")];
        let broken = read(Arc::clone(&front).answer(post(&headers), CALL.into()).await).await;
        assert!(broken.messages.is_empty(), "the stream can be resumed: {:?}", broken.messages);
        let mut resume = post(&headers);
        resume.method = hyper::Method::GET;
        let resumed = read(Arc::clone(&front).answer(resume, Vec::new()).await).await;
        assert_eq!(counts(&resumed), HashMap::from([(101, 1)]));
    });
}
