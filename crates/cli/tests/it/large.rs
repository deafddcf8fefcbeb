//! Results that are too large to be held: on disk while they arrive, kept exactly, shaped in little memory, whatever
//! they came over.

use serde_json::{Value, json};

use crate::http::{Listening, Remote, call, modern, modern_headers};
use crate::place::Place;
use crate::session::{Session, handle, upstream};

/// Rows that make more than is held in memory, and not too much for a slow machine.
const ROWS: u64 = 80_000;

/// The bytes of the `result` in an answer.
fn result_of(answer: &[u8]) -> &[u8] {
    let answer = answer.trim_ascii_end();
    let start = memchr::memmem::find(answer, b"\"result\": ").unwrap() + "\"result\": ".len();
    &answer[start..answer.len() - 1]
}

fn text_of(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"))
}

/// Returns the most memory that a process has taken so far, in MiB.
pub(crate) fn most_memory(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let kilobytes = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_ascii_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
    };
    // The pages of the program itself are more in a build for tests, and those of the gateway, than in one that is released.
    (kilobytes("VmHWM:") - kilobytes("RssFile:")) / 1024
}

#[test]
fn over_stdio_it_is_kept_exactly_and_shaped_in_little_memory() {
    let place = Place::new();
    let mut observed = Session::start(&place.home(), &["--observe"]).greeted("somebody");
    observed.ask("tools/call", json!({"name": "rows", "arguments": {"n": ROWS}}));
    let answer = observed.line().unwrap();
    assert!(answer.len() > 10 << 20, "{} bytes", answer.len());
    let mut session = Session::start(&place.home(), &[]).greeted("somebody");
    let text = session.text("rows", json!({"n": ROWS}));
    assert!(text.starts_with("rows returned 80,000 rows"), "{text}");
    assert!(place.export(&handle(&text)) == result_of(&answer), "what was kept is what came");
    let last = session.text("result_query", json!({"id": handle(&text), "path": "/79999/title"}));
    assert!(last.contains("issue 79999"), "{last}");
    let most = most_memory(session.child.id());
    assert!(most < 64, "{most} MiB");
    assert!(most_memory(observed.child.id()) < 64, "what is only passed on is not held either");
    let left: Vec<_> =
        std::fs::read_dir(place.home()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().starts_with(".tmp")), "{left:?}");
}

#[test]
fn over_http_it_is_shaped_and_passed_on_alike() {
    let place = Place::new();
    let command = ["--", "python3", "-S", upstream().to_str().unwrap()].map(str::to_owned);
    let remote = Remote::start();
    for server in [command.to_vec(), vec!["--url".to_owned(), remote.url.clone()]] {
        let server: Vec<&str> = server.iter().map(String::as_str).collect();
        let bridges = server[0] == "--";
        let observing = Listening::start(&place.home(), &[&["--observe"], &server[..]].concat());
        let shaping = Listening::start(&place.home(), &server);
        let session = [observing.connect().greet(), shaping.connect().greet()];
        let headers = |at: usize| [("Mcp-Session-Id", session[at].as_str())];
        let rows = call(7, "rows", json!({"n": ROWS}));
        let observed = observing.connect().post(&headers(0), &rows);
        assert!(observed.body.len() > 10 << 20, "{} bytes", observed.body.len());
        let shaped = shaping.connect().post(&headers(1), &rows).json();
        assert_eq!(shaped["id"], 7);
        assert!(place.export(&handle(text_of(&shaped))) == result_of(&observed.body));
        if bridges {
            let modern = modern(8, "rows", json!({"n": ROWS}));
            let shaped = shaping.connect().post(&modern_headers("rows"), &modern).json();
            assert_eq!(shaped["id"], 8);
            assert!(text_of(&shaped).starts_with("rows returned 80,000 rows"), "{shaped}");
        } else {
            let streamed = call(9, "stream", json!({"n": ROWS}));
            let events = observing.connect().post(&headers(0), &streamed);
            assert!(events.text().starts_with(": hello\n\nid: 1\nretry: 250\nevent: message\ndata: {"));
            assert!(
                events.text().contains("\n\nid: 2\nevent: message\ndata: {\"jsonrpc\": \"2.0\", \"id\": 9")
            );
            assert!(events.body.len() > 10 << 20 && events.body.ends_with(b"}\n\n"));
            let shaped = shaping.connect().post(&headers(1), &streamed);
            assert!(
                shaped.text().contains("\n\nid: 2\nevent: message\ndata: {\"jsonrpc\": \"2.0\", \"id\": 9")
            );
            assert!(text_of(&shaped.json()).starts_with("stream returned 80,000 rows"));
        }
        for proxy in [&observing, &shaping] {
            let most = most_memory(proxy.child.id());
            assert!(most < 64, "{most} MiB");
        }
    }
}

#[test]
fn a_client_on_stdio_gets_it_from_a_server_over_http() {
    let place = Place::new();
    let remote = Remote::start();
    for tool in ["rows", "stream"] {
        let mut session = Session::remote(&place.home(), &["--url", &remote.url]).greeted("somebody");
        session.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        session.ask("tools/call", json!({"name": tool, "arguments": {"n": ROWS}}));
        let mut answer = session.message();
        if answer.get("id").is_none() {
            answer = session.message();
        }
        assert!(text_of(&answer).contains("returned 80,000 rows"), "{answer}");
        let most = most_memory(session.child.id());
        assert!(most < 64, "{most} MiB");
    }
}

#[test]
fn one_above_the_cap_is_an_error_and_the_connection_lives() {
    let place = Place::new();
    let flags = ["--max-result-bytes", "9000000"];
    let mut session = Session::start(&place.home(), &flags).greeted("somebody");
    let answer = session.request("tools/call", json!({"name": "rows", "arguments": {"n": ROWS}}));
    let words = "the answer to the call of rows is larger than the limit of 9000000 bytes; ask for less, or raise max_result_bytes; the tool did run";
    assert!(answer["error"]["message"].as_str().unwrap().starts_with(words), "{answer}");
    assert_eq!(session.text("echo", json!({"value": "still here"})), "still here");
    let remote = Remote::start();
    for server in [vec!["--", "python3", "-S", upstream().to_str().unwrap()], vec!["--url", &remote.url]] {
        let listening = Listening::start(&place.home(), &[&flags[..], &server].concat());
        let session = listening.connect().greet();
        let headers = [("Mcp-Session-Id", session.as_str())];
        let answer = listening.connect().post(&headers, &call(7, "rows", json!({"n": ROWS}))).json();
        assert_eq!(answer["id"], 7);
        assert!(answer["error"]["message"].as_str().unwrap().starts_with(words), "{answer}");
        let next = listening.connect().post(&headers, &call(8, "rows", json!({"n": 1}))).json();
        assert!(text_of(&next).contains("issue 0"), "{next}");
    }
    let mut session =
        Session::remote(&place.home(), &["--url", &remote.url, flags[0], flags[1]]).greeted("somebody");
    let answer = session.request("tools/call", json!({"name": "rows", "arguments": {"n": ROWS}}));
    assert!(answer["error"]["message"].as_str().unwrap().starts_with(words), "{answer}");
    assert!(session.text("rows", json!({"n": 1})).contains("issue 0"));
}
