//! Servers over HTTP that answer each request of a client on stdio differently: streams that are resumed, and sessions that
//! are begun again.

use std::sync::atomic::Ordering;

use hyper::header::HeaderMap;
use serde_json::Value;

use super::http_server::Step::{self, Hang};
use super::http_server::{OK, events, json, response, start_sequence};
use super::{LONG, error_of, pairings};
use crate::http::Remote;
use crate::http::tests::{CALL, INITIALIZE, run};

/// Sends lines to a server that takes these steps; returns the answer to the call, and how many requests the server got.
fn call(lines: &[&str], steps: Vec<Vec<Step>>) -> (Value, usize) {
    let server = start_sequence(steps);
    let remote = Remote::new(&server.address, HeaderMap::new()).unwrap();
    let answers = run(pairings::stdio_to_http(remote, lines, LONG));
    let mut answers: Vec<Value> =
        answers.messages.into_iter().filter(|message| message["id"] == 101).collect();
    assert_eq!(answers.len(), 1, "{answers:?}");
    (answers.remove(0), server.requests.load(Ordering::SeqCst))
}

fn answer() -> Vec<Step> {
    vec![events(&format!("data: {OK}\n\n"))]
}

/// A stream that can be resumed at once.
fn begin() -> Vec<Step> {
    vec![events("id: 1\nretry: 1\ndata:\n\n")]
}

#[test]
fn a_stream_is_read_after_its_last_resume() {
    let mut steps = vec![begin()];
    steps.extend([1, 2, 3, 4].map(|_| vec![events("")]));
    steps.push(answer());
    let (answer, requests) = call(&[CALL], steps);
    assert!(answer["result"].is_object(), "{answer}");
    assert_eq!(requests, 6);
}

/// A server may close a stream as often as it likes, and let the client ask again.
#[test]
fn a_server_that_is_polled_may_take_its_time() {
    for closes in ["retry: 1\n\n", "id: 2\ndata:\n\n", ": wait\n\n"] {
        let mut steps = vec![begin()];
        steps.extend((0..12).map(|_| vec![events(closes)]));
        steps.push(answer());
        let (answer, requests) = call(&[CALL], steps);
        assert!(answer["result"].is_object(), "{answer}");
        assert_eq!(requests, 14);
    }
}

#[test]
fn a_stream_that_brings_nothing_is_given_up() {
    let (answer, requests) = call(&[CALL], vec![begin(), vec![events("")]]);
    assert!(error_of(&answer).starts_with("the stream of the server ended before"), "{answer}");
    assert_eq!(requests, 7);
}

/// Returns a response to `initialize`.
fn session(id: &str) -> Vec<Step> {
    let body = r#"{"jsonrpc":"2.0","id":100,"result":{"capabilities":{}}}"#;
    vec![response(&format!("200 OK\r\ncontent-type: application/json\r\nmcp-session-id: {id}"), body)]
}

/// A server that answers a call has looked at it, whatever the status.
#[test]
fn a_call_that_was_answered_is_not_sent_again() {
    let refusal = r#"{"jsonrpc":"2.0","id":101,"error":{"code":-32602,"message":"no such file"}}"#;
    let not_found = vec![response("404 Not Found\r\ncontent-type: application/json", refusal)];
    let (answer, requests) = call(&[INITIALIZE, CALL], vec![session("a"), not_found]);
    assert_eq!(error_of(&answer), "no such file");
    assert_eq!(requests, 2);
}

#[test]
fn a_session_that_the_server_dropped_is_begun_again() {
    let dropped = r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"no session"}}"#;
    let not_found = vec![response("404 Not Found\r\ncontent-type: application/json", dropped)];
    // This server keeps the stream open after its answer.
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nmcp-session-id: b\r\n\r\n";
    let again = format!("{head}data: {{\"jsonrpc\":\"2.0\",\"id\":100,\"result\":{{}}}}\n\n");
    let (answer, requests) = call(
        &[INITIALIZE, CALL],
        vec![
            session("a"),
            not_found,
            vec![Step::Send(again), Hang],
            vec![response("202 Accepted", "")],
            vec![json(OK)],
        ],
    );
    assert!(answer["result"].is_object(), "{answer}");
    assert_eq!(requests, 5);
}
