//! `tidegate gateway` reads its configuration again, or drops a session from memory: what a client and a server still have to
//! say to each other arrives, and what has ended stays ended.

use serde_json::{Value, json};

use crate::gateway::{Gateway, asking, repeat};
use crate::http::{Connection, call};

/// The maximum number of sessions in memory.
const MAX_SESSIONS: usize = 20_000;

/// Sends a call whose answer is a stream, and returns the stream.
fn begin_call(gateway: &Gateway, session: &str, id: u64, tool: &str) -> Connection {
    let mut stream = Connection::to(gateway.port);
    stream.send("POST", &[("Mcp-Session-Id", session)], &call(id, tool, json!({})));
    assert_eq!(stream.reply_head(), 200);
    stream
}

/// Returns the next request or response on a stream, on which the gateway also says that lists have changed.
fn next(stream: &mut Connection) -> Value {
    loop {
        let event = stream.next_event();
        if event.get("id").is_some() {
            return event;
        }
    }
}

fn answer(id: &Value, name: &str) -> String {
    json!({"jsonrpc": "2.0", "id": id, "result": {"action": "accept", "content": {"name": name}}}).to_string()
}

#[test]
fn a_question_is_answered_after_the_configuration_was_read_again() {
    let home = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(home.path(), &asking("one", ""));
    let mut client = gateway.client();
    let mut stream = begin_call(&gateway, &client.session, 7, "one__ask");
    let asked = next(&mut stream);
    assert_eq!(asked["method"], "elicitation/create", "{asked}");
    gateway.reload();
    let mut later = begin_call(&gateway, &client.session, 8, "one__ask");
    let asked_later = next(&mut later);
    gateway.reload();
    let mut other = gateway.client();
    assert_eq!(other.post(&answer(&asked["id"], "of another session")).status, 202);
    // Two gateways wait for the same session by now, neither of which serves.
    for (asked, name) in [(&asked, "first"), (&asked_later, "second")] {
        assert_eq!(client.post(&answer(&asked["id"], name)).status, 202);
    }
    for (stream, id, name) in [(&mut stream, 7, "first"), (&mut later, 8, "second")] {
        let answered = next(stream);
        assert_eq!(answered["id"], id, "{answered}");
        let text = answered["result"]["content"][0]["text"].as_str().unwrap_or_default();
        assert!(text.contains(name), "{answered}");
    }
    assert_eq!(client.post(&answer(&asked["id"], "again")).status, 202);
    // Nor is that of another session.
    repeat("a second answer is for nobody", || {
        gateway.log().matches("dropped an answer of a client").count() == 2
    });
}

#[test]
fn a_call_is_cancelled_after_the_configuration_was_read_again() {
    let home = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(home.path(), &asking("one", ""));
    let mut client = gateway.client();
    // The second call keeps the gateway that served before, and so the process of its server, which notes the cancellation.
    let _streams = [50, 51].map(|id| begin_call(&gateway, &client.session, id, "one__wait"));
    repeat("the server has the calls", || gateway.log().matches("a call waits").count() == 2);
    gateway.reload();
    assert!(!gateway.log().contains("a call was cancelled"));
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 50}});
    assert_eq!(client.post(&cancel.to_string()).status, 202);
    repeat("it is cancelled", || gateway.log().contains("a call was cancelled"));
}

#[test]
fn a_session_that_has_ended_stays_ended() {
    let home = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(home.path(), &asking("one", ""));
    let (mut before, mut after) = (gateway.client(), gateway.client());
    let mut stays = gateway.client();
    let end = |session: &str| {
        let mut connection = Connection::to(gateway.port);
        connection.send("DELETE", &[("Mcp-Session-Id", session)], "");
        assert_eq!(connection.reply().status, 200);
    };
    end(&before.session);
    // A call of the session that ends later is in flight at the gateway that served before.
    let mut stream = begin_call(&gateway, &after.session, 9, "one__ask");
    assert_eq!(next(&mut stream)["method"], "elicitation/create");
    gateway.reload();
    let said = call(1, "one__said", json!({}));
    assert_eq!(before.post(&said).status, 404, "it had ended before");
    end(&after.session);
    assert_eq!(after.post(&said).status, 404);
    gateway.reload();
    assert_eq!(after.post(&said).status, 404);
    assert_eq!(stays.post(&said).status, 200, "other sessions go on");
}

/// A session that was dropped because there were too many gets new connections, whose questions reach it.
#[test]
fn a_session_that_was_dropped_is_asked_again() {
    let home = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(home.path(), &asking("one", ""));
    let mut client = gateway.client();
    assert!(client.call("one__said", json!({})).contains("somebody"));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut connection = Connection::to(gateway.port);
                (0..MAX_SESSIONS / 4).for_each(|_| drop(connection.greet()));
            });
        }
    });
    let mut stream = begin_call(&gateway, &client.session, 7, "one__ask");
    let asked = next(&mut stream);
    assert_eq!(asked["method"], "elicitation/create", "{asked}");
    assert_eq!(client.post(&answer(&asked["id"], "still here")).status, 202);
    assert!(next(&mut stream).to_string().contains("still here"));
}
