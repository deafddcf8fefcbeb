//! Lines in, lines out.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tidegate_gate::policy::{Policies, Rules};
use tidegate_gate::style::Style;
use tidegate_gate::{Caller, Gate, Principal, Setup, StoreLocation, UserStore};
use tidegate_query::{Limits, Queries, Worker};

use super::{Service, Who};
use crate::link::{Link, Mode};

#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the conversation with a caller, all of whose results are in memory, as an owner of its own.
fn link(who: &Who) -> Link {
    let engines = Queries::new(Limits::default(), Worker::new("/nonexistent".into()));
    let principal = match who {
        Who::Everybody => Principal::User,
        Who::Named(name) | Who::Unknown(Some(name)) => Principal::Session(name.clone()),
        Who::Unknown(None) => Principal::Stateless,
    };
    let keep = UserStore::of_user(StoreLocation::Memory).of_principal(&principal, "test");
    let gate = Gate::new(Setup {
        keep: Arc::new(keep),
        policies: Policies::default(),
        engines,
        server: "test".into(),
    });
    gate.mark("probed", &Rules { style: Some(Style::Probe), ..Rules::default() });
    Link::new(Arc::new(gate), Caller::unknown(Vec::new()), Mode::Shape, None)
}

/// Makes a line from the answers so far.
type Line<'l> = &'l dyn Fn(&[Value]) -> Value;

/// Sends lines, one after the other.
fn answers(lines: &[Line<'_>]) -> Vec<Value> {
    let service = Arc::new(Service::new(link));
    let mut answers = Vec::new();
    for line in lines {
        let written = Written::default();
        let line = line(&answers);
        let text = line.as_str().map_or_else(|| line.to_string(), str::to_owned);
        service.run(text.as_bytes(), written.clone()).unwrap();
        let bytes = written.0.lock().unwrap().clone();
        let text = String::from_utf8(bytes).unwrap();
        answers.push(text.lines().next().map_or(Value::Null, |line| serde_json::from_str(line).unwrap()));
    }
    answers
}

fn call(id: u64, more: &Value, tool: &str, arguments: &Value) -> Value {
    let mut line = json!({
        "id": id,
        "request": { "method": "tools/call", "params": { "name": tool, "arguments": arguments } },
    });
    line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    line
}

fn result(id: u64, text: &str) -> Value {
    json!({ "id": id, "response": { "result": { "content": [{ "type": "text", "text": text }] } } })
}

fn large() -> String {
    (0..3000).map(|row| format!("{{\"id\":{row},\"name\":\"row {row}\"}}\n")).collect()
}

fn text(answer: &Value) -> &str {
    answer["response"]["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"))
}

/// Returns the id under which an answer says that the result is kept.
fn kept(answer: &Value) -> String {
    let text = text(answer);
    let start = text.find("result: \"").unwrap_or_else(|| panic!("{text}")) + 9;
    text[start..].split('"').next().unwrap().to_owned()
}

#[test]
fn small_results_stay_unchanged() {
    let found = answers(&[&|_| call(1, &json!({}), "list", &json!({})), &|_| result(1, "small")]);
    assert_eq!(found, [json!({"id": 1, "request": null}), json!({"id": 1, "response": null})]);
}

#[test]
fn a_large_result_is_kept_and_read_again() {
    let found = answers(&[
        &|_| call(1, &json!({"session": "a"}), "list", &json!({})),
        &|_| result(1, &large()),
        &|seen| {
            call(
                2,
                &json!({"session": "a"}),
                "result_query",
                &json!({"id": kept(&seen[1]), "path": "/2999/name"}),
            )
        },
        &|seen| call(3, &json!({}), "result_query", &json!({"id": kept(&seen[1]), "path": "/0/name"})),
    ]);
    assert!(text(&found[1]).contains("3,000 rows"), "{}", found[1]);
    assert!(text(&found[2]).contains("row 2999"), "{}", found[2]);
    assert!(text(&found[3]).contains("row 0"), "{}", found[3]);
}

#[test]
fn callers_read_only_their_own() {
    let ada = json!({"caller": "ada", "session": "1"});
    let asks = |more: Value| {
        move |seen: &[Value]| call(9, &more, "result_query", &json!({"id": kept(&seen[1]), "page": 1}))
    };
    let (own, other) =
        (asks(json!({"caller": "ada", "session": "2"})), asks(json!({"caller": "bob", "session": "3"})));
    let (unknown, all) = (asks(json!({"caller": null, "session": "4"})), asks(json!({"session": "5"})));
    let found = answers(&[
        &|_| call(1, &ada, "list", &json!({})),
        &|_| result(1, &large()),
        &own,
        &other,
        &unknown,
        &all,
    ]);
    assert!(text(&found[2]).contains("row 0"), "{}", found[2]);
    for refused in &found[3..] {
        assert_eq!(refused["response"]["result"]["isError"], json!(true), "{refused}");
        assert!(!refused.to_string().contains("row 0"), "{refused}");
    }
    let unknown = json!({"caller": null, "session": "6"});
    let (again, elsewhere) = (asks(unknown.clone()), asks(json!({"caller": null, "session": "7"})));
    let found =
        answers(&[&|_| call(1, &unknown, "list", &json!({})), &|_| result(1, &large()), &again, &elsewhere]);
    assert!(text(&found[2]).contains("row 0"), "{}", found[2]);
    assert_eq!(found[3]["response"]["result"]["isError"], json!(true), "{}", found[3]);
}

#[test]
fn nothing_is_listed_for_somebody_unknown_without_a_session() {
    let unknown = json!({"caller": null});
    let found = answers(&[
        &|_| call(1, &unknown, "list", &json!({})),
        &|_| result(1, &large()),
        &|seen| call(2, &unknown, "result_query", &json!({"id": kept(&seen[1]), "path": "/0/name"})),
        &|_| json!({"id": 1, "caller": null, "request": {"method": "resources/list"}}),
        &|_| json!({"id": 1, "response": {"result": {"resources": []}}}),
    ]);
    assert!(text(&found[2]).contains("row 0"), "its id was given: {}", found[2]);
    assert!(!found[4].to_string().contains("ax://"), "{}", found[4]);
}

#[test]
fn arguments_of_ours_are_answered_or_taken_out() {
    let listed = json!({"tools": [{"name": "probed", "inputSchema": {"type": "object", "properties": {}}}]});
    let found = answers(&[
        &|_| json!({"id": 1, "request": {"method": "tools/list"}}),
        &|_| json!({"id": 1, "response": {"result": listed}}),
        &|_| call(2, &json!({}), "probed", &json!({"mode": "summary", "shelf": 4})),
        &|_| call(3, &json!({}), "probed", &json!({"shelf": 4})),
        &|_| result(3, &large()),
        &|seen| {
            let probe: Value = serde_json::from_str(text(&seen[4])).unwrap();
            let token = &probe["continuation_token"];
            call(
                4,
                &json!({}),
                "probed",
                &json!({"continuation_token": token, "mode": "paginated", "page": 2}),
            )
        },
    ]);
    let tools = found[1]["response"]["result"]["tools"].as_array().unwrap_or_else(|| panic!("{}", found[1]));
    assert_eq!(tools.len(), 2, "the tool and ours");
    assert_eq!(found[2]["request"]["params"]["arguments"], json!({"shelf": 4}), "{}", found[2]);
    assert!(text(&found[5]).contains("\"items\""), "{}", found[5]);
}

#[test]
fn errors_and_cancelled_requests() {
    let error = json!({"id": 1, "response": {"error": {"code": -32000, "message": "no such shelf"}}});
    let found = answers(&[
        &|_| call(1, &json!({}), "list", &json!({})),
        &|_| error.clone(),
        &|_| error.clone(),
        &|_| call(2, &json!({}), "list", &json!({})),
        &|_| json!({"id": 2, "cancel": true}),
        &|_| result(2, "late"),
        &|_| json!({"end": "a"}),
    ]);
    assert_eq!(found[1], json!({"id": 1, "response": null}));
    for late in [&found[2], &found[5]] {
        assert!(late["failed"].as_str().unwrap().contains("no request with this id"), "{late}");
    }
    assert_eq!((&found[4], &found[6]), (&Value::Null, &Value::Null));
}

#[test]
fn lines_that_make_no_sense_are_answered() {
    for (line, id, said) in [
        (json!("{"), json!(null), "not JSON"),
        (json!([1]), json!(null), "not a JSON object"),
        (json!({}), json!(null), "no `id`"),
        (json!({"id": "x", "request": {}}), json!(null), "no `id`"),
        (json!({"id": 1}), json!(1), "neither `request` nor `response`"),
        (json!({"id": 1, "request": {}}), json!(1), "no `method`"),
        (json!({"id": 1, "response": {}}), json!(1), "neither `result` nor `error`"),
        (json!({"id": 1, "dance": {}}), json!(1), "there is no \"dance\""),
        (json!({"id": 1, "count_tokens": {}}), json!(1), "count_tokens: missing field `text`"),
    ] {
        let found = answers(&[&|_| line.clone()]);
        assert_eq!(found[0]["id"], id, "{line}");
        assert!(found[0]["failed"].as_str().unwrap().contains(said), "{line}: {}", found[0]);
    }
}

/// Returns the value of one function.
fn value(line: &Value) -> Value {
    let found = answers(&[&|_| line.clone()]);
    assert!(found[0].get("failed").is_none(), "{}", found[0]);
    found[0]["value"].clone()
}

#[test]
fn functions_for_other_languages_return_their_values() {
    let count = json!({"id": 5, "count_tokens": {"text": "one two three", "limit": 2}});
    assert_eq!(value(&count), json!({"tokens": 3, "within": false}));
    let summary = json!({"action": "Found bugs", "count": 3, "by_severity": [["high", 1], ["low", 2]]});
    assert_eq!(
        value(&json!({"id": 5, "create_summary": summary})),
        json!("Found bugs: 3 total (1 high, 2 low)")
    );
    let wrap =
        json!({"data": vec![7; 12], "summary": "Sevens", "limits": {"max_array_items": 2}, "success": false});
    let answer = value(&json!({"id": 5, "wrap_response": wrap}));
    let answer: Value = serde_json::from_str(answer.as_str().unwrap()).unwrap();
    let wanted = json!({
        "summary": "Sevens", "success": false, "items": [7, 7], "totalCount": 12, "showing": 2, "hasMore": true
    });
    assert_eq!(answer, wanted);
    for (line, said) in [
        (json!({"summary": "s", "data": [], "limits": {"max_rows": 1}}), "unknown field `max_rows`"),
        (json!({"summary": "s", "data": [], "limits": {"max_bytes": 9}}), "max_bytes is 9"),
        (json!({"summary": "s"}), "missing field `data`"),
        (json!({"summary": "s", "data": vec![1; 20], "domain": "a/b"}), "Invalid artifact ref: ax://a/b/"),
    ] {
        let found = answers(&[&|_| json!({"id": 5, "wrap_response": line})]);
        assert!(found[0]["failed"].as_str().unwrap().contains(said), "{}", found[0]);
    }
}

#[test]
fn what_a_tool_leaves_out_is_kept_for_its_caller() {
    let bugs: Vec<Value> = (0..40).map(|n| json!({"id": format!("bug-{n}")})).collect();
    let wrap = json!({"data": {"bugs": bugs}, "summary": "40 bugs", "domain": "bugfix"});
    let line = json!({"id": 1, "caller": "ada", "session": "1", "tool": "scan", "wrap_response": wrap});
    let reference = |seen: &[Value]| {
        let answer: Value = serde_json::from_str(seen[0]["value"].as_str().unwrap()).unwrap();
        answer["artifactRef"].clone()
    };
    let query = |more: Value| {
        move |seen: &[Value]| {
            call(2, &more, "result_query", &json!({"id": reference(seen), "path": "/bugs/39/id"}))
        }
    };
    let retrieve = |caller: &'static str| move |seen: &[Value]| json!({"id": 3, "caller": caller, "retrieve_artifact": {"reference": reference(seen)}});
    let found = answers(&[
        &|_| line.clone(),
        &query(json!({"caller": "ada", "session": "1"})),
        &query(json!({"caller": "bob", "session": "2"})),
        &retrieve("ada"),
        &retrieve("bob"),
    ]);
    assert!(reference(&found).as_str().unwrap().starts_with("ax://bugfix/"), "{}", found[0]);
    assert!(text(&found[1]).contains("bug-39"), "{}", found[1]);
    assert_eq!(found[2]["response"]["result"]["isError"], json!(true), "{}", found[2]);
    assert_eq!(found[3]["value"], json!({"bugs": bugs}));
    assert!(found[4]["failed"].as_str().unwrap().contains("is not stored or has expired"), "{}", found[4]);
}

#[test]
fn an_artifact_has_the_id_that_was_chosen() {
    let store = |id: &str, data: Value| json!({"id": 1, "tool": "trace", "store_artifact": {"domain": "trace", "id": id, "data": data}});
    let found = answers(&[
        &|_| store("t1", json!([1, 2])),
        &|_| store("t1", json!([3])),
        &|_| json!({"id": 2, "retrieve_artifact": {"reference": "ax://trace/t1"}}),
        &|_| json!({"id": 3, "retrieve_artifact": {"reference": "nowhere"}}),
        &|_| json!({"id": 4, "wrap_response": {"data": null, "summary": "s", "artifact_ref": "ax://trace/t1"}}),
    ]);
    assert_eq!(found[0]["value"], json!("ax://trace/t1"));
    assert!(found[1]["failed"].as_str().unwrap().contains("holds other data"), "{}", found[1]);
    assert_eq!(found[2]["value"], json!([1, 2]));
    assert_eq!(found[3]["failed"], json!("Invalid artifact ref: nowhere"));
    assert!(found[4]["value"].as_str().unwrap().contains("ax://trace/t1"), "{}", found[4]);
}
