//! The laws of a link, without processes: what crosses, what does not, and what is answered instead.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by failing")]

mod exact;
mod references;
mod tiers;

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};
use tidegate_core::budget::Budget;
use tidegate_core::measure::{Fit, Meter, cost, fits};
use tidegate_core::payload::Payload;
use tidegate_core::source::Span;
use tidegate_gate::policy::{Compact, Policies, Rules};
use tidegate_gate::profile::{OutputSchema, ProfileRules};
use tidegate_gate::{Caller, Gate, Setup, StoreLocation, UserStore};
use tidegate_proxy::{Link, Message, Mode};
use tidegate_query::{Limits, Queries, Worker};
use tidegate_store::{ArtifactId, open};
use tidegate_testkit::make;

fn gate() -> Arc<Gate> {
    gate_of(Rules::default())
}

fn gate_of(rules: Rules) -> Arc<Gate> {
    let gate = Gate::new(Setup {
        keep: Arc::new(UserStore::of_user(StoreLocation::Memory)),
        policies: Policies::of_defaults(rules),
        engines: Queries::new(Limits::default(), Worker::new("/nonexistent".into())),
        server: "test".into(),
    });
    Arc::new(gate.resolving_references())
}

fn link(gate: &Arc<Gate>, rules: Option<ProfileRules>, mode: Mode) -> Link {
    let set = rules.into_iter().map(|rules| ("*".to_owned(), rules)).collect();
    Link::new(Arc::clone(gate), Caller::unknown(set), mode, None)
}

/// Takes a line from the server to the end, even if it is worked on later.
fn from_server(link: &Link, line: impl Into<Message>) -> Option<Vec<u8>> {
    let outcome = link.from_server(line);
    let forward = match outcome.shape_job {
        Some(job) => link.finish(*job).forward,
        None => outcome.forward,
    };
    forward.map(|message| message.into_bytes().unwrap())
}

/// A message that is on disk however small it is.
fn on_disk(line: &[u8]) -> Message {
    let limits = tidegate_proxy::Limits { spool_above: 0, ..tidegate_proxy::Limits::default() };
    Message::receive(line, limits).unwrap()
}

/// Ids as clients write them.
fn id() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => any::<u32>().prop_map(|id| id.to_string()),
        2 => "[a-z0-9-]{1,12}".prop_map(|id| format!("\"{id}\"")),
        1 => prop::sample::select(vec!["-1", "1.5", "18446744073709551616", "\"\\u0041\"", "\"\""]).prop_map(String::from),
    ]
}

/// Methods that are nothing to us, those of other revisions and future ones among them.
fn method() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => prop::sample::select(vec![
            "ping", "prompts/list", "prompts/get", "completion/complete", "logging/setLevel", "resources/subscribe",
            "subscriptions/listen", "tasks/list", "tasks/cancel", "sampling/createMessage", "elicitation/create",
            "roots/list", "future/method",
        ]).prop_map(String::from),
        1 => "[a-z]{1,8}/[a-z]{1,8}",
    ]
}

/// Members that no revision knows yet, in any place.
fn extra() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), make::json().prop_map(|value| format!(",\"xFuture\":{value}"))]
}

proptest! {
    #![proptest_config(tidegate_testkit::cases(2000))]

    #[test]
    fn what_is_not_ours_crosses_from_the_client(
        id in id(), method in method(), params in make::json(), extra in extra(), notification in any::<bool>(),
    ) {
        let link = link(&gate(), None, Mode::Shape);
        let id = if notification { String::new() } else { format!("\"id\":{id},") };
        let line = format!("{{\"jsonrpc\":\"2.0\",{id}\"method\":\"{method}\",\"params\":{params}{extra}}}\n").into_bytes();
        let from = link.from_client(line.clone());
        prop_assert_eq!(from.forward, Some(line));
        prop_assert!(from.local.is_empty());
    }

    #[test]
    fn answers_to_what_is_not_ours_cross_once(
        id in id(), method in method(), result in make::json(), extra in extra(), failed in any::<bool>(),
    ) {
        // An error that is null is none.
        prop_assume!(!(failed && result == "null"));
        let link = link(&gate(), None, Mode::Shape);
        link.from_client(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\"}}\n").into_bytes());
        let member = if failed { "error" } else { "result" };
        let line = format!("{{\"{member}\":{result},\"jsonrpc\":\"2.0\"{extra},\"id\":{id}}}\n").into_bytes();
        prop_assert_eq!(from_server(&link, line.clone()), Some(line.clone()));
        prop_assert_eq!(from_server(&link, line), None, "a second answer is left out");
        prop_assert!(link.end("the server ended").is_empty(), "nothing is open");
    }

    #[test]
    fn requests_of_the_server_cross(id in id(), method in method(), params in make::json(), extra in extra()) {
        let link = link(&gate(), None, Mode::Shape);
        for head in [format!("\"id\":{id},"), String::new()] {
            let line = format!("{{\"jsonrpc\":\"2.0\",{head}\"method\":\"{method}\",\"params\":{params}{extra}}}\n").into_bytes();
            prop_assert_eq!(from_server(&link, on_disk(&line)), Some(line.clone()));
            prop_assert_eq!(from_server(&link, line.clone()), Some(line));
        }
    }

    #[test]
    fn every_open_request_is_answered_when_the_server_ends(ids in prop::collection::hash_set(any::<u16>(), 1..20)) {
        let link = link(&gate(), None, Mode::Shape);
        for id in &ids {
            link.from_client(json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "x"}}).to_string().into_bytes());
        }
        let mut answered: Vec<u64> = link
            .end("the server ended")
            .iter()
            .map(|line| serde_json::from_slice::<Value>(line).unwrap()["id"].as_u64().unwrap())
            .collect();
        answered.sort_unstable();
        let mut asked: Vec<u64> = ids.iter().map(|id| u64::from(*id)).collect();
        asked.sort_unstable();
        prop_assert_eq!(answered, asked);
        prop_assert!(link.end("the server ended").is_empty());
    }
}

/// A step of a conversation, in which the server says what it likes.
#[derive(Debug, Clone)]
enum Step {
    /// The client asks, unless it waits for an answer to this id.
    Ask(u8),
    /// The server answers an id with these members.
    Answer(u8, &'static str),
    /// The client sends something that is not JSON and names no id.
    Garbage,
    /// The server sends something that answers nothing.
    Noise(&'static str),
}

fn step() -> impl Strategy<Value = Step> {
    let members = prop::sample::select(vec![
        r#","result":{}"#,
        r#","result":null"#,
        r#","result":{},"error":null"#,
        r#","error":{"code":1,"message":"x"}"#,
        r#","error":{"code":1,"message":"x"},"result":null"#,
        r#","error":{"code":1,"message":"x"},"result":{}"#,
        r#","error":null"#,
        "",
    ]);
    let noise = prop::sample::select(vec![
        "not JSON",
        "{",
        "[]",
        "[7]",
        r#"{"level":"info","id":1}"#,
        r#"{"jsonrpc":"2.0","id":2,"result":{"#,
        r#"{"jsonrpc":"2.0","id":"1","result":{}}"#,
    ]);
    prop_oneof![
        4 => (0_u8..5).prop_map(Step::Ask),
        6 => (0_u8..5, members).prop_map(|(id, members)| Step::Answer(id, members)),
        1 => Just(Step::Garbage),
        1 => noise.prop_map(Step::Noise),
    ]
}

/// Returns the ids that lines answer, with a result or an error.
fn answered_ids(lines: &[Vec<u8>]) -> Vec<u8> {
    let id = |line: &Vec<u8>| {
        let message: Value = serde_json::from_slice(line).unwrap();
        let outcomes =
            [&message["result"], &message["error"]].iter().filter(|outcome| outcome.is_object()).count();
        // The only result that is not an object is null, which some servers send.
        let is_null = outcomes == 0 && message.get("result") == Some(&Value::Null);
        assert!(outcomes == 1 || is_null, "{message}");
        u8::try_from(message["id"].as_u64().unwrap()).unwrap()
    };
    lines.iter().map(id).collect()
}

proptest! {
    #![proptest_config(tidegate_testkit::cases(10_000))]

    /// The client's side of it is the oracle: an answer arrives exactly if the client waits for one.
    #[test]
    fn every_request_is_answered_once_whatever_the_server_says(
        steps in prop::collection::vec(step(), 0..30), disk in any::<bool>(),
    ) {
        let link = link(&gate(), None, Mode::Shape);
        let mut open: Vec<u8> = Vec::new();
        for step in steps {
            match step {
                Step::Ask(id) if !open.contains(&id) => {
                    let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "x"}});
                    link.from_client(call.to_string().into_bytes());
                    open.push(id);
                }
                Step::Ask(_) => {}
                Step::Garbage => drop(link.from_client(b"{garbage".to_vec())),
                Step::Noise(line) => {
                    let line = line.as_bytes().to_vec();
                    prop_assert_eq!(from_server(&link, if disk { on_disk(&line) } else { line.into() }), None);
                }
                Step::Answer(id, members) => {
                    let line = format!(r#"{{"jsonrpc":"2.0","id":{id}{members}}}"#).into_bytes();
                    let sent = from_server(&link, if disk { on_disk(&line) } else { line.into() });
                    let is_waited_for = open.contains(&id);
                    open.retain(|waits| *waits != id);
                    let answered = answered_ids(sent.as_slice());
                    prop_assert_eq!(answered, if is_waited_for { vec![id] } else { vec![] });
                }
            }
        }
        let mut rest = answered_ids(&link.end("the server ended"));
        rest.sort_unstable();
        open.sort_unstable();
        prop_assert_eq!(rest, open);
    }
}

/// The text of the `result` in a response, as it is on the wire.
fn result_of(line: &[u8]) -> &[u8] {
    let line = line.trim_ascii_end();
    let start = memchr::memmem::find(line, b"\"result\":").unwrap() + 9;
    &line[start..line.len() - 1]
}

fn call(link: &Link, result: &[u8], disk: bool) -> Vec<u8> {
    link.from_client(
        br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list","arguments":{}}}"#.to_vec(),
    );
    let line = [b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":", result, b"}\n"].concat();
    from_server(link, if disk { on_disk(&line) } else { line.into() }).unwrap()
}

proptest! {
    #![proptest_config(tidegate_testkit::cases(1500))]

    #[test]
    fn results_cross_untouched_or_are_kept_whole_and_bounded(
        result in make::result(), union in any::<bool>(), links in any::<bool>(), disk in any::<bool>(),
    ) {
        let profile = ProfileRules {
            output_schema: Some(if union { OutputSchema::Union } else { OutputSchema::Strip }),
            resource_link: Some(links),
            ..ProfileRules::default()
        };
        let gate = gate();
        let link = link(&gate, Some(profile), Mode::Shape);
        let answer = call(&link, &result, disk);
        let sent = result_of(&answer);
        let passes = is_within_the_line(&result);
        prop_assert_eq!(sent == result, passes, "what is within the line, and nothing else, crosses untouched");
        if passes {
            return Ok(());
        }
        let value: Value = serde_json::from_slice(sent).unwrap();
        let text = value["content"][0]["text"].as_str().unwrap();
        prop_assert_eq!(value["structuredContent"]["tidegate"].as_str(), union.then_some(text));
        prop_assert_eq!(value["content"].as_array().unwrap().iter().any(|block| block["type"] == "resource_link"), links);
        let pictures: usize =
            value["content"].as_array().unwrap().iter().filter_map(|block| block["data"].as_str()).map(str::len).sum();
        prop_assert!(sent.len() - pictures <= 10_240, "{} bytes", sent.len());
        let payload = Payload::read(&sent).unwrap();
        let mut counted = cost(&payload, &Meter::default()).unwrap().tokens;
        if union && !payload.structured_repeats_text {
            // The same text in another channel, which a model reads once.
            counted = counted - Meter::default().count(&value["structuredContent"].to_string());
        }
        prop_assert!(counted <= Budget::DEFAULT_TOKENS, "{counted} tokens");
        // What was kept is what came.
        let name = text.split("Complete result: \"").nth(1).unwrap().split('"').next().unwrap();
        prop_assert_eq!(kept(&gate, name), result);
    }

    /// A shorter form is an answer of ours, so the result is kept.
    #[test]
    fn what_passes_is_sent_as_it_came_or_in_less_space(result in make::result(), union in any::<bool>()) {
        prop_assume!(is_within_the_line(&result));
        let schema = if union { OutputSchema::Union } else { OutputSchema::Strip };
        let profile = ProfileRules { output_schema: Some(schema), ..ProfileRules::default() };
        let gate = gate_of(Rules { compact: Some(Compact::Lossless), ..Rules::default() });
        let answer = call(&link(&gate, Some(profile), Mode::Shape), &result, false);
        let sent = result_of(&answer);
        if sent == result {
            prop_assert_eq!(gate.keep().open().unwrap().store.usage().unwrap().artifacts, 0);
            return Ok(());
        }
        let value: Value = serde_json::from_slice(sent).unwrap();
        let text = value["content"][0]["text"].as_str().unwrap();
        prop_assert_eq!(kept(&gate, text.split(':').next().unwrap()), &result[..]);
        let source = result.as_slice();
        let raw = cost(&Payload::read_result(&source).unwrap(), &Meter::default()).unwrap();
        prop_assert!(Meter::default().count(text) < raw.tokens && sent.len() <= 10_240, "{}", text);
    }
}

/// Whether a result is within the line of a client that takes 10,240 bytes.
fn is_within_the_line(result: &[u8]) -> bool {
    let payload = Payload::read_result(&result).unwrap();
    let line = Budget::of_tokens(Budget::LINE_TOKENS).with_bytes(Budget::DEFAULT_BYTES);
    fits(&payload, &line, &Meter::default()).unwrap() != Fit::Over
}

/// The bytes that are kept under a name.
fn kept(gate: &Gate, name: &str) -> Vec<u8> {
    let opened = gate.keep().open().unwrap();
    let source = open(&*opened.store, &gate.keep().owner, &ArtifactId::parse(name).unwrap()).unwrap();
    Span::whole(&source).read(&source).unwrap()
}

#[test]
fn observing_changes_no_byte() {
    let gate = gate();
    let link = link(&gate, None, Mode::Observe);
    let large = make::text_result(&"a line of text\n".repeat(9000));
    assert_eq!(result_of(&call(&link, &large, false)), large);
    assert_eq!(result_of(&call(&link, &large, true)), large);
    for line in ["not json\n", "{}\n", "\n", "{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}}\n", "[]\n"] {
        assert_eq!(
            from_server(&link, line.as_bytes().to_vec()).as_deref(),
            Some(line.as_bytes()),
            "{line:?}"
        );
        assert_eq!(
            from_server(&link, on_disk(line.as_bytes())).as_deref(),
            Some(line.as_bytes()),
            "{line:?}"
        );
        assert_eq!(
            link.from_client(line.as_bytes().to_vec()).forward.as_deref(),
            Some(line.as_bytes()),
            "{line:?}"
        );
    }
}

#[test]
fn answers_in_a_batch_are_shaped_where_they_stand() {
    let link = link(&gate(), None, Mode::Shape);
    let ask = |id: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"list"}}}}"#)
    };
    let asked = format!("[{}, {}]", ask("1"), ask("2"));
    let large = String::from_utf8(make::text_result(&"a line of text\n".repeat(9000))).unwrap();
    let answers = format!(
        r#"[{{"jsonrpc":"2.0","id":2,"result":{large}}},  {{"jsonrpc":"2.0","id":1,"result":{{"x":1.0}}}}]"#
    );
    for message in [answers.clone().into_bytes().into(), on_disk(answers.as_bytes())] {
        assert_eq!(link.from_client(asked.clone().into_bytes()).forward, Some(asked.clone().into_bytes()));
        let sent = String::from_utf8(from_server(&link, message).unwrap()).unwrap();
        assert!(sent.len() < 12_000 && sent.contains("list returned 9,000"), "{sent}");
        assert!(sent.ends_with(r#"},  {"jsonrpc":"2.0","id":1,"result":{"x":1.0}}]"#));
    }
    // What answers nobody is taken out of the batch.
    link.from_client(ask("1").into_bytes());
    let left = format!("[{}]", r#"{"jsonrpc":"2.0","id":1,"result":{"x":1.0}}"#);
    assert_eq!(from_server(&link, on_disk(answers.as_bytes())).unwrap(), left.as_bytes());
}

#[test]
fn a_batch_loses_only_what_answers_nothing() {
    let link = link(&gate(), None, Mode::Shape);
    link.from_client(
        br#"[{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","id":2,"method":"b"}]"#.to_vec(),
    );
    let answers = br#"[{"jsonrpc":"2.0","id":1,"result":1.0},{"jsonrpc":"2.0","id":1,"result":"again"},{"jsonrpc":"2.0","id":2,"result":{ }}]"#;
    let from = link.from_server(answers.to_vec());
    let expected =
        "[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1.0},{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{ }}]";
    assert_eq!(String::from_utf8(from.forward.unwrap().into_bytes().unwrap()).unwrap(), expected);
    assert_eq!(from.dropped.len(), 1);
}

#[test]
fn a_spooled_message_is_treated_like_one_in_memory() {
    let listed = br#"{"tools":[{"name":"list","inputSchema":{"type":"object"}}]}"#;
    let long_id = format!("\"{}\"", "i".repeat(3000));
    let lines: Vec<Vec<u8>> = [false, true]
        .into_iter()
        .map(|disk| {
            let link = link(&gate(), None, Mode::Shape);
            link.from_client(
                format!(r#"{{"jsonrpc":"2.0","id":{long_id},"method":"tools/list"}}"#).into_bytes(),
            );
            let line =
                [format!("{{\"jsonrpc\":\"2.0\",\"id\":{long_id},\"result\":").as_bytes(), listed, b"}\n"]
                    .concat();
            from_server(&link, if disk { on_disk(&line) } else { line.into() }).unwrap()
        })
        .collect();
    assert!(memchr::memmem::find(&lines[0], b"result_query").is_some(), "tidegate's tool is listed");
    assert_eq!(lines[0], lines[1]);
}

#[test]
fn odd_results_are_bounded_too() {
    let big = "word ".repeat(20_000);
    for result in [
        format!(r#"{{"jsonrpc":"2.0","content":[{{"type":"text","text":"{big}"}}]}}"#),
        format!(r#"{{"jsonrpc":"2.0","result":{{"content":[]}},"x":"{big}"}}"#),
        format!(r#"{{"resultType":"anything","content":[{{"type":"text","text":"{big}"}}]}}"#),
        format!(r#"{{"task":{{"x":1}},"x":"{big}"}}"#),
        format!(r#"{{"content":[{{"type":"text","text":"hi"}}],"_meta":{{"x":"{big}"}}}}"#),
        format!(r#"{{"content":[{{"type":"text","text":"hi","annotations":{{"x":"{big}"}}}}]}}"#),
        format!("\"{big}\""),
    ] {
        let link = link(&gate(), None, Mode::Shape);
        let answer = call(&link, result.as_bytes(), false);
        let text = String::from_utf8_lossy(result_of(&answer)).into_owned();
        assert!(text.len() <= 10_240, "{} bytes for {}", text.len(), &result[..60]);
        assert!(text.contains("Complete result:") && !text.contains("end of the complete result"), "{text}");
    }
}

#[test]
fn a_long_error_of_a_call_is_bounded() {
    let link = link(&gate(), None, Mode::Shape);
    link.from_client(br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list"}}"#.to_vec());
    let error = json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32099, "message": "failed ".repeat(20_000), "data": {"retry": 1.5}}});
    let sent: Value =
        serde_json::from_slice(&from_server(&link, error.to_string().into_bytes()).unwrap()).unwrap();
    assert_eq!((&sent["error"]["code"], &sent["error"]["data"]), (&json!(-32099), &json!({"retry": 1.5})));
    let message = sent["error"]["message"].as_str().unwrap();
    assert!(message.len() < 10_240 && message.contains("Complete result:"), "{message}");
}

#[test]
fn a_message_with_undecodable_parts_is_still_matched() {
    let link = link(&gate(), None, Mode::Shape);
    // A key that cannot be decoded is nothing to us.
    let line = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"\xff\\ud800\":1}\n".to_vec();
    assert_eq!(link.from_client(line.clone()).forward, Some(line));
    let answer = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"\\ud800\":1}\n".to_vec();
    assert_eq!(from_server(&link, answer.clone()), Some(answer));
    // A byte order mark hides nothing either.
    let odd = "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"x\"}\n".as_bytes().to_vec();
    assert_eq!(link.from_client(odd.clone()).forward, Some(odd));
    let answer = b"{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n".to_vec();
    assert_eq!(from_server(&link, answer.clone()), Some(answer));
}
