//! Arguments by reference in front of a server, over the wire, with the real engines behind jq and SQL.

use serde_json::{Value, json};

use crate::place::Place;
use crate::session::Session;

/// Starts a run whose tools take references; `more` is added to the user's file.
fn start(place: &Place, flags: &[&str], more: &str) -> Session {
    let file = place.folder.path().join("user.toml");
    std::fs::write(&file, format!("[server.upstream]\nreferences = true\n{more}")).unwrap();
    let config = ["--config", file.to_str().unwrap()];
    let mut session = Session::start(&place.home(), &[&config, flags].concat()).greeted("somebody");
    let listed = session.request("tools/list", json!({})).to_string();
    assert!(listed.contains("result://ID#/pointer"), "{listed}");
    session
}

/// Calls the tool that answers with its arguments; returns them.
fn given(session: &mut Session, arguments: Value) -> Value {
    let text = session.text("given", arguments);
    let mut given: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}"));
    given["arguments"].take()
}

#[test]
fn the_server_gets_what_a_query_finds() {
    let place = Place::new();
    let mut session = start(&place, &[], "");
    let id = session.keep_rows(400);
    for (reference, expected) in [
        (json!(format!("result://{id}#/7/number")), json!(7)),
        (json!({"$result": id, "jq": "length"}), json!(400)),
        (json!({"$result": id, "jq": ".[:3][].number"}), json!([0, 1, 2])),
        (json!({"$result": id, "jq": "[.[] | select(.number > 999)]"}), json!([])),
        (json!({"$result": id, "jq": "9007199254740993"}), json!(9_007_199_254_740_993_u64)),
        (
            json!({"$result": id, "sql": "select state, count(*) n from t group by 1 order by 1"}),
            json!([
                {"state": "closed", "n": 133},
                {"state": "open", "n": 267},
            ]),
        ),
    ] {
        let arguments = given(&mut session, json!({"x": {"y": [reference]}, "size": 0}));
        assert_eq!(arguments, json!({"x": {"y": [expected]}, "size": 0}), "{reference}");
    }
    let whole = given(&mut session, json!({"x": format!("result://{id}#/0")}));
    assert_eq!(whole["x"]["title"], "issue 0");
    for (reference, words) in [
        (json!({"$result": id, "jq": "empty"}), "has no result"),
        (json!({"$result": id, "jq": "error(\"no\")"}), "argument /x:"),
        (json!({"$result": id, "jq": "[range(1e6)]"}), "reference_max_bytes"),
        (json!({"$result": id, "jq": "def f: f; f"}), "argument /x:"),
    ] {
        let refused = session.call("given", json!({"x": reference}));
        let text = refused["content"][0]["text"].as_str().unwrap();
        assert!(refused["isError"] == true && text.contains(words), "{reference}: {text}");
        assert!(text.ends_with("Nothing was run."), "{text}");
    }
    let seen: Vec<(Option<String>, Value)> = serde_json::from_str(&session.text("seen", json!({}))).unwrap();
    assert_eq!(seen.iter().filter(|(_, tool)| tool == "given").count(), 7, "nothing of what was refused");
    place.end(session);
}

/// While a query runs for a call, other messages go on; a cancellation meanwhile ends the call.
#[test]
fn a_slow_query_for_a_call_holds_up_nothing() {
    let place = Place::new();
    let mut session = start(&place, &[], "");
    let id = session.keep_rows(400);
    let slow = json!({"$result": id, "jq": "def f: f; f"});
    let call = session.ask("tools/call", json!({"name": "given", "arguments": {"x": slow}}));
    assert!(session.text("seen", json!({})).contains("rows"), "answered meanwhile");
    let cancel =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": call}});
    session.send(&cancel.to_string());
    std::thread::sleep(std::time::Duration::from_secs(4));
    assert!(session.is_silent(), "a cancelled call is not answered");
    let seen = session.text("seen", json!({}));
    assert!(!seen.contains("given") && !seen.contains("cancelled"), "{seen}");
    place.end(session);
}

/// Results of one server go to another only where the user says so.
#[test]
fn servers_get_each_others_results_only_where_that_is_allowed() {
    let place = Place::new();
    let mut other = start(&place, &["--server", "other"], "[server.other]\nreferences = true\n");
    let id = other.keep_rows(300);
    other.end();
    let reference = json!({"x": format!("result://{id}#/1/number")});
    let mut session = start(&place, &[], "");
    let refused = session.text("given", reference.clone());
    assert!(refused.contains("is a result of the server \"other\""), "{refused}");
    session.end();
    let mut session = start(&place, &[], "references_from = [\"oth*\"]\n");
    assert_eq!(given(&mut session, reference), json!({"x": 1}));
    session.end();
}

/// A project's file comes from others; it must not let a server read what others returned.
#[test]
fn a_project_cannot_turn_references_on() {
    let place = Place::new();
    place.configure("[defaults]\nreferences = true\n");
    let (code, stderr) = Session::start(&place.home(), &[]).ended();
    assert!(code == 2 && stderr.contains("references"), "{stderr}");
}
