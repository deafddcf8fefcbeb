//! The ceiling of a session over the wire: answers of every style, follow-ups and reads of resources shrink towards what is
//! left, and are then the smallest of their style.

use serde_json::{Value, json};

use crate::http::{Connection, Listening, call, modern, modern_headers};
use crate::place::Place;
use crate::session::{Session, upstream};

const MAX_BYTES: usize = 25_000;
/// The maximum number of bytes of an answer once the ceiling is reached.
const SMALLEST: usize = 400;

const RULES: &str = "[defaults]\nsession_max_bytes = 25000\n[server.upstream.tool.bugs]\nstyle = \"contract\"\ndomain = \"bugfix\"\n\
                     [server.upstream.tool.report]\nstyle = \"probe\"\n[server.upstream.tool.exact]\nstyle = \"error\"\n";

/// Sends a request, and returns the response with its bytes on the wire.
fn sent(session: &mut Session, method: &str, params: Value) -> (Value, usize) {
    session.ask(method, params);
    let line = session.line().unwrap();
    (serde_json::from_slice(&line).unwrap(), line.len() + 1)
}

/// The calls of a session, by turns: each style, what follows up on it, and something small.
struct Turns {
    reference: Value,
    token: Value,
    id: String,
}

impl Turns {
    fn call(&self, number: usize) -> (&'static str, Value) {
        let tool =
            |name: &str, arguments: Value| ("tools/call", json!({"name": name, "arguments": arguments}));
        let failed =
            json!({"content": [{"type": "text", "text": "it broke\n".repeat(900)}], "isError": true});
        let result = json!({"content": [{"type": "text", "text": "many words ".repeat(900)}]});
        match number % 10 {
            0 => tool("rows", json!({"n": 400})),
            1 => tool("bugs", json!({"n": 300})),
            2 => tool("report", json!({"n": 100})),
            3 => tool("report", json!({"continuation_token": self.token, "mode": "paginated"})),
            4 => tool("exact", json!({"result": result.to_string()})),
            5 => tool("result_query", json!({"id": self.id, "page": number})),
            6 => ("resources/read", json!({"uri": self.reference})),
            7 => tool("exact", json!({"result": failed.to_string()})),
            8 => tool("result_query", json!({"id": self.id, "nonsense": "x".repeat(500)})),
            _ => tool("echo", json!({"value": "small"})),
        }
    }
}

fn text(response: &Value) -> &str {
    response["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{response}"))
}

fn parsed(response: &Value) -> Value {
    serde_json::from_str(text(response)).unwrap_or_else(|_| panic!("{response}"))
}

/// Makes forty calls, and returns the last response of each turn.
fn forty_calls(session: &mut Session) -> Vec<Value> {
    let mut turns = Turns { reference: Value::Null, token: Value::Null, id: String::new() };
    let (mut total, mut after, mut last) = (0, 0, vec![Value::Null; 10]);
    for number in 0..40 {
        let (method, params) = turns.call(number);
        let is_after = total >= MAX_BYTES;
        let (response, bytes) = sent(session, method, params);
        assert!(!is_after || bytes <= SMALLEST, "call {number}: {bytes} bytes: {response}");
        after += usize::from(is_after);
        total += bytes;
        match number {
            0 => turns.id = crate::session::handle(text(&response)),
            1 => turns.reference = parsed(&response)["artifactRef"].clone(),
            2 => turns.token = parsed(&response)["continuation_token"].clone(),
            _ => {}
        }
        last[number % 10] = response;
    }
    assert!(after > 10, "the ceiling was reached: {total} bytes");
    assert!(total <= MAX_BYTES + SMALLEST * after, "{total} bytes, {after} calls after the ceiling");
    last
}

#[test]
fn forty_calls_of_mixed_styles_stay_below_the_ceiling() {
    for modern in [false, true] {
        let place = Place::new();
        place.configure(RULES);
        let mut session = place.start(&[]);
        if modern {
            session.meta = Some(json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": {"name": "somebody", "version": "1"}}));
        }
        let last = forty_calls(&mut session);
        let says_so = |text: &str| text.contains("used its 25000 bytes");
        assert!(says_so(text(&last[0])) && text(&last[0]).contains("Kept as"), "{}", last[0]);
        let contract = parsed(&last[1]);
        assert_eq!((&contract["success"], &contract["hasMore"]), (&json!(true), &json!(true)));
        assert!(contract["artifactRef"].as_str().unwrap().starts_with("ax://bugfix/"), "{contract}");
        let probe = parsed(&last[2]);
        assert_eq!(probe.as_object().unwrap().len(), 4, "{probe}");
        assert!(probe["continuation_token"].is_string() && probe["available_modes"].is_array(), "{probe}");
        assert!(says_so(parsed(&last[3])["error"].as_str().unwrap()), "{}", last[3]);
        let error = parsed(&last[4]);
        assert_eq!((&error["error"], &error["tool"]), (&json!("OUTPUT_BUDGET_EXCEEDED"), &json!("exact")));
        assert!(says_so(error["hint"].as_str().unwrap()), "{error}");
        assert!(says_so(text(&last[5])), "{}", last[5]);
        assert!(says_so(last[6]["error"]["message"].as_str().unwrap()), "{}", last[6]);
        assert!(text(&last[7]).contains("it broke"), "{}", last[7]);
        assert_eq!(text(&last[9]), "small", "no answer gets larger");
    }
}

fn listening(place: &Place) -> Listening {
    let config = place.folder.path().join("tidegate.toml");
    let server = upstream();
    let server = ["--", "python3", "-S", server.to_str().unwrap()];
    Listening::start(&place.home(), &[&["--config", config.to_str().unwrap()], &server[..]].concat())
}

#[test]
fn sessions_over_http_have_a_ceiling_each() {
    let place = Place::new();
    place.configure("[defaults]\nsession_max_bytes = 3000\n");
    let listening = listening(&place);
    let (mut one, mut two) = (listening.connect(), listening.connect());
    let sessions = [one.greet(), two.greet()];
    let sizes_of = |connection: &mut Connection, session: &str| {
        let rows = |id| call(id, "rows", json!({"n": 400}));
        let headers = [("Mcp-Session-Id", session)];
        [1, 2, 3].map(|id| connection.post(&headers, &rows(id)).json().to_string().len())
    };
    for (connection, session) in [(&mut one, &sessions[0]), (&mut two, &sessions[1])] {
        let sizes = sizes_of(connection, session);
        assert!(sizes[0] > 800 && sizes[2] <= SMALLEST, "{sizes:?}");
        assert!(sizes.iter().sum::<usize>() <= 3000 + SMALLEST, "{sizes:?}");
    }
}

#[test]
fn calls_without_a_session_count_for_their_principal() {
    let place = Place::new();
    place.configure("[defaults]\nsession_max_bytes = 3000\n");
    let listening = listening(&place);
    let sizes = [1, 2, 3].map(|id| {
        let rows = modern(id, "rows", json!({"n": 400}));
        listening.connect().post(&modern_headers("rows"), &rows).json().to_string().len()
    });
    assert!(sizes[0] > 800 && sizes[2] <= SMALLEST, "{sizes:?}");
}
