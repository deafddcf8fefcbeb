//! Responses to nobody or to other requests: every request gets one response, with its id as written.

use serde_json::{Value, json};
use tidegate_testkit::hostile::Mode;

use super::{assert_ends, assert_sound};
use crate::place::Place;
use crate::session::Session;

/// Sends a request with an id of any form, and returns the response line.
fn ask_as(session: &mut Session, id: &str, tool: &str) -> String {
    session.send(&format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{{"value":"hello"}}}}}}"#
    ));
    String::from_utf8(session.line().unwrap()).unwrap()
}

#[test]
fn every_answer_twice() {
    let place = Place::new();
    let mut session = place.hostile(Mode::DuplicateAnswers, &[]);
    assert_eq!(session.text("trouble", json!({})), "no trouble");
    assert_sound(&place, &mut session);
    assert!(session.is_silent());
    assert!(assert_ends(&place, session).contains("dropped a response to no open request (id 2)"));
}

#[test]
fn responses_with_unknown_ids_are_dropped() {
    let place = Place::new();
    let mut session = place.hostile(Mode::WrongIds, &[]);
    assert_eq!(session.text("trouble", json!({})), "to you");
    assert_sound(&place, &mut session);
    assert!(session.is_silent());
    let stderr = assert_ends(&place, session);
    for id in ["4711", "\"wrong\"", "true", "[1]"] {
        assert!(stderr.contains(&format!("dropped a response to no open request (id {id})")), "{stderr}");
    }
}

#[test]
fn ids_that_are_almost_right() {
    let place = Place::new();
    let mut session = place.hostile(Mode::OddIds, &[]);
    let id = session.ask("tools/call", json!({"name": "trouble", "arguments": {}}));
    // A response with a null id, such as an error about an unreadable line, is forwarded.
    assert_eq!(session.message()["id"], Value::Null);
    let answer = session.message();
    assert_eq!((&answer["id"], &answer["result"]["content"][0]["text"]), (&json!(id), &json!("to you")));
    assert_sound(&place, &mut session);
    assert!(session.is_silent());
    let stderr = assert_ends(&place, session);
    for odd in [format!("\"{id}\""), (u128::from(id) + (1 << 64)).to_string(), "1e400".into()] {
        assert!(stderr.contains(&format!("no open request (id {odd})")), "{odd}: {stderr}");
    }
}

#[test]
fn ids_of_clients_come_back_as_they_were_written() {
    let place = Place::new();
    let mut session = place.hostile(Mode::OddIds, &[]);
    let ids =
        ["1.5", "1e2", "-0", "18446744073709551617", "\"\"", "\"\\u0041\"", "\"a\u{2028}\"", "null", "0"];
    for id in ids {
        for (tool, words) in
            [("echo", "hello"), ("big", "big returned"), ("result_query", "there is no argument")]
        {
            let line = ask_as(&mut session, id, tool);
            let head = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"#);
            assert!(line.starts_with(&head) && line.contains(words), "{id} {tool}: {line}");
        }
    }
    // Several open requests with one id get as many responses.
    for _ in 0..50 {
        session.send(r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"value":"x"}}}"#);
    }
    for _ in 0..50 {
        assert_eq!(session.message()["id"], 7);
    }
    assert_sound(&place, &mut session);
    assert!(session.is_silent());
    assert_ends(&place, session);
}

/// A server that writes `2.0` for `2` has answered, and the client gets the id it wrote.
#[test]
fn ids_as_floats() {
    let place = Place::new();
    let mut session = place.hostile(Mode::FloatIds, &[]);
    let id = session.ask("tools/call", json!({"name": "trouble", "arguments": {}}));
    let line = String::from_utf8(session.line().unwrap()).unwrap();
    assert!(line.starts_with(&format!(r#"{{"jsonrpc":"2.0","id":{id},"#)), "{line}");
    assert_ends(&place, session);
}

#[test]
fn answers_in_a_batch() {
    let place = Place::new();
    let mut session = place.hostile(Mode::Batches, &[]);
    let id = session.ask("tools/call", json!({"name": "trouble", "arguments": {}}));
    let batch = session.message();
    assert_eq!(batch.as_array().unwrap().len(), 2, "{batch}");
    assert_eq!(batch[0]["params"]["x"], json!(1.0));
    assert_eq!((&batch[1]["id"], &batch[1]["result"]["content"][0]["text"]), (&json!(id), &json!("to you")));
    assert_sound(&place, &mut session);
    assert_ends(&place, session);
}

#[test]
fn answers_before_their_request_are_dropped() {
    let place = Place::new();
    let mut session = place.hostile(Mode::AnswersEarly, &[]);
    assert_sound(&place, &mut session);
    assert!(session.is_silent());
    assert!(assert_ends(&place, session).contains("no open request (id 2)"));
}

#[test]
fn requests_of_the_server_with_ids_of_the_client() {
    let place = Place::new();
    let mut session = place.hostile(Mode::OwnRequests, &[]);
    let id = session.ask("tools/call", json!({"name": "trouble", "arguments": {}}));
    let request = session.message();
    assert_eq!((&request["id"], &request["method"]), (&json!(id), &json!("sampling/createMessage")));
    // A local request is answered meanwhile.
    session.send(r#"{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"result_query"}}"#);
    assert_eq!(session.message()["id"], "x");
    session.send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"role":"assistant","x":1.0}}}}"#));
    let answer = session.message();
    assert_eq!(answer["id"], id);
    assert_eq!(answer["result"]["content"][0]["text"], r#"{"role":"assistant","x":1.0}"#);
    assert_sound(&place, &mut session);
    assert_ends(&place, session);
}
