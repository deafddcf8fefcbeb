//! Deadlines without a transport: when a clock starts, starts again, and stands still; and which responses are wanted.

use std::thread::sleep;
use std::time::{Duration, Instant};

use super::link;
use crate::link::Link;

const TIMEOUT: Duration = Duration::from_millis(600);
const CALL: &str = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"list","_meta":{"progressToken":"p"}}}"#;
const ANSWER: &str = r#"{"jsonrpc":"2.0","id":7,"result":{"content":[]}}"#;

fn from_client(link: &Link, line: &str) {
    assert!(link.from_client(line.as_bytes().to_vec()).forward.is_some());
}

fn from_server(link: &Link, line: &str) -> Option<String> {
    let forward = link.from_server(line.as_bytes().to_vec()).forward?;
    Some(String::from_utf8(forward.into_bytes().unwrap()).unwrap())
}

/// Returns the error responses of what is overdue.
fn overdue(link: &Link) -> Vec<String> {
    let found = link.overdue().into_iter();
    found.map(|overdue| String::from_utf8(overdue.answer).unwrap()).collect()
}

/// Waits until a call is overdue; returns how long that took.
fn time_until_overdue(link: &Link) -> Duration {
    let started = Instant::now();
    while overdue(link).is_empty() {
        let wake = link.next_wake().unwrap();
        assert!(wake <= TIMEOUT, "whoever watches looks again in time");
        sleep(wake.min(Duration::from_millis(20)));
        assert!(started.elapsed() < Duration::from_secs(20), "it is never overdue");
    }
    started.elapsed()
}

#[test]
fn a_silent_server_is_answered_for_once() {
    let link = link(Some(TIMEOUT));
    from_client(&link, CALL);
    assert!(overdue(&link).is_empty());
    sleep(TIMEOUT);
    let answers = overdue(&link);
    assert!(answers[0].contains(r#""id":7"#) && answers[0].contains("the tool may have run"), "{answers:?}");
    assert_eq!((answers.len(), overdue(&link).len()), (1, 0));
    assert_eq!(from_server(&link, ANSWER), None, "the late response is dropped");
}

#[test]
fn progress_of_the_request_starts_its_clock_again() {
    let progress = |token: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":1}}}}"#
        )
    };
    for (token, restarts) in [("\"p\"", true), ("\"other\"", false)] {
        let link = link(Some(TIMEOUT));
        from_client(&link, CALL);
        sleep(TIMEOUT.mul_f32(0.7));
        from_server(&link, &progress(token)).unwrap();
        sleep(TIMEOUT.mul_f32(0.5));
        assert_eq!(overdue(&link).is_empty(), restarts, "{token}");
    }
}

#[test]
fn the_clock_stands_still_while_the_server_waits_for_the_client() {
    let answer = r#"{"jsonrpc":"2.0","id":"q","result":{}}"#;
    let refusal = r#"{"jsonrpc":"2.0","id":"q","error":{"code":-1,"message":"no"}}"#;
    for (method, settled) in
        [("elicitation/create", answer), ("sampling/createMessage", refusal), ("roots/list", answer)]
    {
        let link = link(Some(TIMEOUT));
        from_client(&link, CALL);
        let question = format!(r#"{{"jsonrpc":"2.0","id":"q","method":"{method}"}}"#);
        from_server(&link, &question).unwrap();
        sleep(TIMEOUT.mul_f32(1.5));
        assert!(overdue(&link).is_empty(), "{method}");
        // Over HTTP the answer of the client belongs to another exchange.
        from_client(&link.exchange(), settled);
        assert!(time_until_overdue(&link) >= TIMEOUT.mul_f32(0.9), "{method}");
    }
    let link = link(Some(TIMEOUT));
    from_client(&link, CALL);
    from_server(&link, r#"{"jsonrpc":"2.0","id":9,"method":"roots/list"}"#).unwrap();
    let withdrawn = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}"#;
    from_server(&link, withdrawn).unwrap();
    time_until_overdue(&link);
}

/// A client that cancels a call drops the dialog of that call without an answer.
#[test]
fn a_cancelled_call_starts_the_clocks_again() {
    let link = link(Some(TIMEOUT));
    from_client(&link, CALL);
    from_server(&link, r#"{"jsonrpc":"2.0","id":"q","method":"elicitation/create"}"#).unwrap();
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#;
    from_client(&link.exchange(), cancel);
    from_client(&link, &CALL.replace('7', "8"));
    time_until_overdue(&link);
}

#[test]
fn other_requests_of_a_server_do_not_stop_the_clock() {
    let link = link(Some(TIMEOUT));
    from_client(&link, CALL);
    from_server(&link, r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).unwrap();
    assert!(time_until_overdue(&link) < TIMEOUT * 5);
}

#[test]
fn a_question_without_a_session_only_starts_the_clock_again() {
    let link = link(Some(TIMEOUT)).without_session();
    from_client(&link, CALL);
    sleep(TIMEOUT.mul_f32(0.7));
    from_server(&link, r#"{"jsonrpc":"2.0","id":1,"method":"elicitation/create"}"#).unwrap();
    sleep(TIMEOUT.mul_f32(0.5));
    assert!(overdue(&link).is_empty());
    time_until_overdue(&link);
}

#[test]
fn an_error_names_the_method_that_got_no_answer() {
    for method in ["initialize", "server/discover", "tools/list"] {
        let link = link(Some(Duration::ZERO));
        from_client(&link, &format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"}}"#));
        let overdue = link.overdue().remove(0);
        assert!(
            String::from_utf8(overdue.answer).unwrap().contains(&format!("no answer to {method} within"))
        );
        assert_eq!(overdue.cancel.is_none(), method == "initialize", "{method}");
    }
}

#[test]
fn a_request_that_waits_for_input_is_answered() {
    let link = link(Some(TIMEOUT));
    from_client(&link, CALL);
    let asks = r#"{"jsonrpc":"2.0","id":7,"result":{"resultType":"input_required","inputRequests":{}}}"#;
    assert_eq!(from_server(&link, asks).as_deref(), Some(asks));
    sleep(TIMEOUT * 2);
    assert!(overdue(&link).is_empty(), "the next request has a clock of its own");
}

#[test]
fn methods_that_may_take_any_time_have_no_deadline() {
    let link = link(Some(TIMEOUT));
    from_client(&link, r#"{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen"}"#);
    from_client(&link, r#"{"jsonrpc":"2.0","id":2,"method":"tasks/result","params":{"taskId":"t"}}"#);
    sleep(TIMEOUT * 2);
    assert!(overdue(&link).is_empty());
}

#[test]
fn a_message_that_cannot_be_read_lets_one_response_pass() {
    let link = link(None);
    // A server that is more lenient may read these: a number that JSON does not have, and a batch with one in it.
    for (line, ids) in [
        (r#"{"jsonrpc":"2.0","id":41,"method":"x","params":{"a":1]}"#, &["41"][..]),
        (r#"{"jsonrpc":"2.0", "id" : "s 1","method":"x","params":{"#, &["\"s 1\""]),
        (r#"{"jsonrpc":"2.0","id":43,"method":"x",{"id":44}"#, &["43", "44"]),
    ] {
        assert!(link.from_client(line.as_bytes().to_vec()).forward.is_some());
        for id in ids {
            let response = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
            assert_eq!(from_server(&link, &response).as_deref(), Some(response.as_str()), "{line}");
            assert_eq!(from_server(&link, &response), None, "a second response to {id}");
        }
    }
    from_client(&link, "not JSON");
    from_client(&link, CALL);
    assert_eq!(from_server(&link, ANSWER).as_deref(), Some(ANSWER));
    assert_eq!(from_server(&link, ANSWER), None, "the filter is still on");
    assert_eq!(from_server(&link, &ANSWER.replace('7', "8")), None, "nobody asked");
}
