//! Calls with references over the messages of a link: what the server receives, and when it receives nothing.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};
use tidegate_gate::Gate;
use tidegate_gate::policy::Rules;
use tidegate_proxy::{Link, Mode};
use tidegate_store::ArtifactId;
use tidegate_testkit::make;

use crate::{from_server, gate_of, link};

/// The `_meta` of a request of the revision without sessions.
const MODERN_META: &str = r#","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

/// A client and a server with tidegate between them; the server records all it receives.
struct Exchange {
    gate: Arc<Gate>,
    link: Link,
    /// What every request has in its params.
    meta: &'static str,
    received: Vec<String>,
    /// A kept result.
    name: String,
}

impl Exchange {
    fn new(rules: Rules, mode: Mode, is_modern: bool) -> Self {
        let gate = gate_of(rules);
        let link = link(&gate, None, mode);
        let meta = if is_modern { MODERN_META } else { "" };
        let mut exchange = Self { gate, link, meta, received: Vec::new(), name: String::new() };
        let tools = r#"{"tools":[{"name":"send","inputSchema":{"type":"object","properties":{"count":{"type":"integer"},"text":{"type":"string"}}}}]}"#;
        exchange.ask("tools/list", "{}");
        exchange.answer(tools);
        let rows: Vec<Value> = (0..900)
            .map(|row| json!({"id": 9_007_199_254_740_993_u64 + row, "name": format!("row {row}")}))
            .collect();
        exchange.call("list", "{}");
        let result = String::from_utf8(make::text_result(&Value::from(rows).to_string())).unwrap();
        let answer = exchange.answer(&result).unwrap_or_default();
        if let Some(at) = answer.find("Complete result: \\\"") {
            exchange.name = answer[at + 19..].split('\\').next().unwrap().to_owned();
        }
        exchange.received.clear();
        exchange
    }

    fn with_references() -> Self {
        Self::new(Rules { references: Some(true), ..Rules::default() }, Mode::Shape, false)
    }

    /// Sends a line; returns the responses that the client gets at once.
    fn send(&mut self, line: &str) -> Vec<Value> {
        let outcome = self.link.from_client(line.as_bytes().to_vec());
        let mut answers: Vec<Vec<u8>> =
            outcome.local.iter().map(|request| self.link.answer_locally(request)).collect();
        let mut forward = Vec::from_iter(outcome.forward);
        for call in outcome.resolve {
            let resolved = self.link.resolve(call);
            forward.extend(resolved.forward);
            answers.extend(resolved.answer);
        }
        self.received.extend(forward.into_iter().map(|line| String::from_utf8(line).unwrap()));
        answers.iter().map(|answer| serde_json::from_slice(answer).unwrap()).collect()
    }

    fn ask(&mut self, method: &str, params: &str) -> Vec<Value> {
        let members = params.trim_start_matches('{').trim_end_matches('}');
        let meta = if members.is_empty() { self.meta.trim_start_matches(',') } else { self.meta };
        self.send(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{members}{meta}}}}}"#))
    }

    fn line(&self, tool: &str, arguments: &str) -> String {
        let (arguments, meta) = (arguments.replace("NAME", &self.name), self.meta);
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}{meta}}}}}"#
        )
    }

    fn call(&mut self, tool: &str, arguments: &str) -> Vec<Value> {
        let line = self.line(tool, arguments);
        self.send(&line)
    }

    /// Lets the server answer the request with a result; returns what the client gets.
    fn answer(&self, result: &str) -> Option<String> {
        let line = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#);
        from_server(&self.link, line.into_bytes()).map(|line| String::from_utf8(line).unwrap())
    }
}

/// Returns the words with which a call was refused.
fn refusal(answers: &[Value]) -> String {
    let [answer] = answers else { panic!("{answers:?}") };
    assert_eq!((&answer["id"], &answer["result"]["isError"]), (&json!(1), &json!(true)), "{answer}");
    answer["result"]["content"][0]["text"].as_str().unwrap().to_owned()
}

#[test]
fn the_server_gets_the_value_in_both_eras() {
    for is_modern in [false, true] {
        let rules = Rules { references: Some(true), ..Rules::default() };
        let mut exchange = Exchange::new(rules, Mode::Shape, is_modern);
        for (arguments, expected) in [
            (r#"{"any":"result://NAME#/0/id"}"#, r#"{"any":9007199254740993}"#),
            (r#"{"any":[{"$result":"NAME","path":"/1/name"}], "n": 1.0}"#, r#"{"any":["row 1"], "n": 1.0}"#),
            (r#"{"text":{"$result":"NAME","path":"/2/id"}}"#, r#"{"text":"9007199254740995"}"#),
            (r#"{"any":{"$result":"NAME","sql":"select count(*) n from t"}}"#, r#"{"any":[{"n":900}]}"#),
        ] {
            assert_eq!(exchange.call("send", arguments), Vec::<Value>::new());
            assert_eq!(exchange.received, [exchange.line("send", expected)], "{arguments}");
            exchange.received.clear();
            let answer = exchange.answer(r#"{"content":[]}"#);
            assert_eq!(answer.as_deref(), Some(r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#));
            assert_eq!(exchange.answer(r#"{"content":[]}"#), None, "one answer");
        }
    }
}

/// Whatever the arguments are, the server gets either what the client wrote and means, or values, or nothing.
#[test]
fn no_placeholder_reaches_the_server() {
    let mut exchange = Exchange::with_references();
    let other = format!("list-{}", ArtifactId::random());
    // With the words of the refusal, or `None` if the call goes to the server.
    let cases: Vec<(String, Option<&str>)> = [
        (r#"{"a":"result://NAME#/0"}"#, None),
        (r#"{"a":{"b":[[{"c":"result://NAME#/0/name"}]]}}"#, None),
        (r#"{"a":"\u0072\u0065sult://NAME#/0"}"#, None),
        (r#"{"a":"result:\/\/NAME#\/0"}"#, None),
        (r#"{"a":{"\u0024result":"NAME","path":"/0"}}"#, None),
        (r#"{"a":{"$result":"NAME","p\u0061th":"/0"}}"#, None),
        (r#"{"a":"result://NAME#/0","a":"result://NAME#/1"}"#, None),
        (r#"{"a":"result://NAME"}"#, None),
        (r#"{"count":"result://NAME#/0/id"}"#, None),
        (r#"{"count":"result://NAME#/0/name"}"#, Some("of type string, but must be integer")),
        (r#"{"count":"result://NAME"}"#, Some("of type array, but must be integer")),
        (r#"{"a":"result://NAME#/5000"}"#, Some("argument /a:")),
        (r#"{"a":"result://OTHER"}"#, Some("no result is kept under")),
        (r#"{"a":["result://NAME#/0","result://OTHER"]}"#, Some("argument /a/1:")),
        (r#"{"a":{"$result":"OTHER"}}"#, Some("no result is kept under")),
        (r#"{"a":{"$result":"NAME","x":1}}"#, Some("one of jq, path and sql")),
        (r#"{"a":{"$result":"NAME","jq":"."," ":1}}"#, Some("one of jq, path and sql")),
        (r#"{"a":{"$result":"NAME","jq":"nonsense("}}"#, Some("argument /a:")),
        (r#"{"a":{"$result":"NAME","sql":"drop table t"}}"#, Some("argument /a:")),
        (r#"{"a":{"$result":"result://NAME"}}"#, Some("the name of a result alone")),
        (r#"{"a":{"\u0024result":"NAME","\u0024result":"NAME"}}"#, Some("one of jq, path and sql")),
    ]
    .into_iter()
    .map(|(arguments, words)| (arguments.replace("OTHER", &other), words))
    .collect();
    for (arguments, words) in cases {
        let answers = exchange.call("send", &arguments);
        match words {
            Some(words) => {
                let refusal = refusal(&answers);
                assert!(refusal.contains(words), "{arguments}: {refusal}");
                assert!(refusal.starts_with("send:") && refusal.ends_with("Nothing was run."), "{refusal}");
                assert_eq!(exchange.received, Vec::<String>::new(), "{arguments}");
                assert_eq!(exchange.answer("{}"), None, "nothing waits for the server");
            }
            None => {
                assert_eq!((answers.len(), exchange.received.len()), (0, 1), "{arguments}");
                let received = exchange.received.remove(0);
                let holds = |text: &str| received.contains(text);
                assert!(!holds("result:") && !holds("$result") && !holds(&exchange.name), "{received}");
                assert!(exchange.answer("{}").is_some());
            }
        }
    }
}

#[test]
fn strings_that_only_look_like_references_cross_as_they_are() {
    let mut exchange = Exchange::with_references();
    for arguments in [
        r#"{"a":"result://"}"#,
        r#"{"a":"result://x"}"#,
        r#"{"a":"see result://NAME"}"#,
        r#"{"a":"result://NAME and more"}"#,
        r#"{"a":"RESULT://NAME"}"#,
        r#"{"a":" result://NAME"}"#,
        r#"{"a":"ax://list/NAME"}"#,
        r##"{"schema":{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"result"}}}}"##,
        r#"{"a":{"$result":"elsewhere","jq":"."}}"#,
        r#"{"a":"\u00e9 \u0024result"}"#,
        r#"{"result://NAME":"NAME"}"#,
    ] {
        let line = exchange.line("send", arguments);
        assert_eq!(exchange.send(&line), Vec::<Value>::new());
        assert_eq!(exchange.received, [line]);
        exchange.received.clear();
    }
}

#[test]
fn where_references_are_off_every_byte_crosses() {
    for (rules, mode) in [
        (Rules::default(), Mode::Shape),
        (Rules { references: Some(false), ..Rules::default() }, Mode::Shape),
        (Rules { references: Some(true), ..Rules::default() }, Mode::Observe),
    ] {
        let mut exchange = Exchange::new(rules, mode, false);
        exchange.name = format!("list-{}", ArtifactId::random());
        for arguments in [r#"{"a":"result://NAME"}"#, r#"{"a":{"$result":"NAME","x":1}}"#] {
            let line = exchange.line("send", arguments);
            assert_eq!(exchange.send(&line), Vec::<Value>::new());
            assert_eq!(exchange.received.pop(), Some(line));
        }
    }
}

#[test]
fn a_call_that_is_cancelled_meanwhile_is_not_made() {
    let exchange = Exchange::with_references();
    let line = exchange.line("send", r#"{"a":"result://NAME"}"#).into_bytes();
    let cancel = br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#.to_vec();
    let mut outcome = exchange.link.from_client(line.clone());
    assert!(outcome.forward.is_none() && outcome.local.is_empty());
    assert_eq!(exchange.link.from_client(cancel.clone()).forward, None, "the server does not know the call");
    let resolved = exchange.link.resolve(outcome.resolve.remove(0));
    assert_eq!((resolved.forward, resolved.answer), (None, None));
    assert!(!exchange.link.is_open());
    // Once it was sent, the server gets the cancellation.
    let mut outcome = exchange.link.from_client(line);
    assert!(exchange.link.resolve(outcome.resolve.remove(0)).forward.is_some());
    assert_eq!(exchange.link.from_client(cancel.clone()).forward, Some(cancel));
}

#[test]
fn other_messages_do_not_wait() {
    let mut exchange = Exchange::with_references();
    let line = exchange.line("send", r#"{"a":"result://NAME#/0/name"}"#);
    let mut outcome = exchange.link.from_client(line.into_bytes());
    let ping = r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#;
    assert!(exchange.send(ping).is_empty());
    assert_eq!(exchange.received, [ping]);
    assert_eq!(exchange.answer("{}"), None, "the server cannot have answered the call yet");
    let resolved = exchange.link.resolve(outcome.resolve.remove(0));
    assert_eq!(resolved.forward.unwrap(), exchange.line("send", r#"{"a":"row 0"}"#).into_bytes());
    assert!(exchange.answer("{}").is_some());
}

#[test]
fn each_message_of_a_batch_goes_its_own_way() {
    let mut exchange = Exchange::with_references();
    let call = exchange.line("send", r#"{"a":"result://NAME#/0/name"}"#).replace("\"id\":1", "\"id\":2");
    let wrong = exchange.line("send", r#"{"a":"result://NAME#/no"}"#);
    let ping = r#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#;
    let answers = exchange.send(&format!("[{call}, {ping}, {wrong}]"));
    assert!(refusal(&answers).contains("argument /a:"));
    let resolved = exchange.line("send", r#"{"a":"row 0"}"#).replace("\"id\":1", "\"id\":2");
    assert_eq!(exchange.received, [format!("[{ping}]"), resolved]);
}

/// A server could read another member than tidegate.
#[test]
fn a_call_that_can_be_read_in_two_ways_is_refused() {
    let mut exchange = Exchange::with_references();
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"send","arguments":{"a":"result://NAME"},"arguments":{}}}"#;
    let other = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"send","arguments":{"a":"result://NAME"}},"params":{"name":"send"}}"#;
    for line in [call, other] {
        let answers = exchange.send(&line.replace("NAME", &exchange.name));
        assert_eq!(answers[0]["error"]["code"], -32600, "{answers:?}");
        let plain = line.replace("result://NAME", "x");
        assert!(exchange.send(&plain).is_empty(), "without a reference it crosses");
        assert_eq!(std::mem::take(&mut exchange.received), [plain]);
    }
    let notification = exchange.line("send", r#"{"a":"result://NAME"}"#).replace("\"id\":1,", "");
    assert!(exchange.send(&notification).is_empty() && exchange.received.is_empty());
}

/// Results are found again, listed and compared by what the client wrote.
#[test]
fn what_is_kept_of_a_call_is_what_the_client_wrote() {
    let mut exchange = Exchange::with_references();
    let large = String::from_utf8(make::text_result(&"a line of text\n".repeat(9000))).unwrap();
    let arguments = r#"{"a":"result://NAME#/0/name"}"#;
    exchange.call("send", arguments);
    let first = exchange.answer(&large).unwrap();
    exchange.call("send", arguments);
    let second = exchange.answer(&large).unwrap();
    assert!(!first.contains("Unchanged") && second.contains("Unchanged"), "{second}");
    let name = second.split("result: \\\"").nth(1).unwrap().split('\\').next().unwrap();
    let id = ArtifactId::parse(name).unwrap();
    let opened = exchange.gate.keep().open().unwrap();
    let origin = opened.store.origin(&exchange.gate.keep().owner, &id).unwrap();
    assert_eq!(origin.arguments, arguments.replace("NAME", &exchange.name));
}

#[test]
fn the_tool_that_reads_results_says_that_references_are_possible() {
    for (references, expected) in [(true, true), (false, false)] {
        let gate = gate_of(Rules { references: Some(references), ..Rules::default() });
        let link = link(&gate, None, Mode::Shape);
        link.from_client(br#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#.to_vec());
        let list = br#"{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}"#.to_vec();
        let list = String::from_utf8(from_server(&link, list).unwrap()).unwrap();
        assert_eq!(list.contains("result://ID#/pointer"), expected, "{list}");
    }
}

/// Strings with the words that references are made of.
fn near_miss() -> impl Strategy<Value = String> {
    let name = "[a-z_]{1,8}-[0-9a-z]{10,13}";
    let pieces = prop::sample::select(vec![
        "result://",
        "result:",
        "$result",
        "\\u0024result",
        "\\/\\/",
        "#/",
        "ax://",
        " ",
        "\\u0072esult",
        "é",
    ]);
    prop::collection::vec(prop_oneof![pieces.prop_map(String::from), name], 0..5)
        .prop_map(|words| words.concat())
}

proptest! {
    #![proptest_config(tidegate_testkit::cases(2000))]

    /// Arguments without references reach the server byte for byte, although references are on.
    #[test]
    fn arguments_without_references_cross_untouched(
        value in make::json(), near in near_miss(), key in near_miss(), disk in any::<bool>(),
    ) {
        let arguments = format!(r#"{{"x":{value},"{key}":["{near}",{{"$result":"{near}"}}]}}"#);
        let decoded: Value = serde_json::from_str(&format!("\"{near}\"")).unwrap();
        let decoded = decoded.as_str().unwrap();
        let is_name = |text: &str| tidegate_gate::is_reference(&format!("result://{text}"));
        prop_assume!(!tidegate_gate::is_reference(decoded) && !is_name(decoded) && !arguments.contains("\\ud"));
        let gate = gate_of(Rules { references: Some(true), ..Rules::default() });
        let link = link(&gate, None, Mode::Shape);
        let end = if disk { "\r\n" } else { "\n" };
        let line = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"send","arguments":{arguments}}}}}{end}"#);
        let outcome = link.from_client(line.clone().into_bytes());
        prop_assert_eq!(outcome.forward, Some(line.into_bytes()));
        prop_assert!(outcome.local.is_empty() && outcome.resolve.is_empty());
    }
}
