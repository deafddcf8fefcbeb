//! The style `contract` over the wire: every answer of a tool has its shape where that is set.

use serde_json::{Value, json};

use crate::place::Place;
use crate::session::Session;

const ALWAYS: &str = "[server.upstream]\nstyle = \"contract\"\ncontract_when = \"always\"\n";

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(values) => 1 + values.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// Calls `exact` with a result, and returns the contract that answers it, which has the shape and the limits of one.
fn answered(session: &mut Session, result: &Value) -> Value {
    let answer = session.call("exact", json!({"result": result.to_string()}));
    let contract: Value = serde_json::from_str(answer["content"][0]["text"].as_str().unwrap()).unwrap();
    let names = ["summary", "success", "count", "items", "artifactRef", "hasMore", "nextCursor"];
    let members = contract.as_object().unwrap();
    assert!(members.keys().all(|name| names.contains(&name.as_str())), "{contract}");
    assert!(contract["summary"].as_str().unwrap().chars().count() <= 100, "{contract}");
    assert!(contract["success"].is_boolean() && contract["hasMore"].is_boolean(), "{contract}");
    assert_eq!(contract.get("artifactRef").is_some(), contract["hasMore"] == true, "{contract}");
    for item in contract["items"].as_array().into_iter().flatten() {
        assert!(item["label"].as_str().unwrap().chars().count() <= 50, "{contract}");
    }
    assert!(contract["items"].as_array().is_none_or(|items| items.len() <= 10), "{contract}");
    assert!(depth(&contract) <= 4 && answer.to_string().len() < 10_240, "{contract}");
    contract
}

fn text(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

fn labels(contract: &Value) -> Vec<&str> {
    contract["items"].as_array().unwrap().iter().map(|item| item["label"].as_str().unwrap()).collect()
}

#[test]
fn every_answer_of_a_tool_has_the_shape_where_that_is_set() {
    let place = Place::new();
    place.configure(ALWAYS);
    let mut session = place.start(&[]);
    let done = answered(&mut session, &text("done"));
    assert_eq!(done, json!({"summary": "exact: done", "success": true, "hasMore": false}));
    let array = answered(&mut session, &text("[1,2,3]"));
    assert_eq!((&array["summary"], &array["count"]), (&json!("exact: 3 items"), &json!(3)));
    assert_eq!((labels(&array), &array["hasMore"]), (vec!["1", "2", "3"], &json!(false)));
    let status = answered(&mut session, &text(r#"{"state":"ready","version":"1.2"}"#));
    assert_eq!(status["items"][1], json!({"id": "version", "label": "1.2"}));
    assert_eq!(status["hasMore"], false, "every field is there");
    assert_eq!(answered(&mut session, &text("[]"))["count"], 0);
    assert_eq!(answered(&mut session, &json!({"content": []}))["success"], true);

    let deep = format!("{}1{}", r#"{"a":"#.repeat(60), "}".repeat(60));
    let contract = answered(&mut session, &text(&deep));
    assert_eq!(contract["hasMore"], true);
    let path = "/a".repeat(60);
    let read = session.text("result_query", json!({"id": contract["artifactRef"], "path": path}));
    assert!(read.contains('1'), "{read}");
    // A result that follows the contract by itself stays as it is.
    let own = r#"{ "summary": "All good", "success": true, "checks": [{"id": "a", "ok": [1.0]}] }"#;
    let answer = session.call("exact", json!({"result": text(own).to_string()}));
    assert_eq!(answer["content"][0]["text"], own);
    // What has no summary, or is above a limit, does not.
    let long = json!({"summary": "s", "success": true, "rows": vec![1; 11]}).to_string();
    assert_eq!(answered(&mut session, &text(&long))["hasMore"], true);
}

#[test]
fn a_failure_has_the_words_of_its_error() {
    let place = Place::new();
    place.configure(ALWAYS);
    let mut session = place.start(&[]);
    let failed = |text: &str| json!({"content": [{"type": "text", "text": text}], "isError": true});
    let long = format!("connection refused by 10.0.0.7\n{}", "at frame\n".repeat(5000));
    let json = json!({"error": {"code": 7, "message": "no such trace"}}).to_string();
    for (error, words) in [
        ("quota exceeded", "failed: exact: quota exceeded"),
        (long.as_str(), "failed: exact: connection refused by 10.0.0.7"),
        (json.as_str(), "failed: exact: no such trace"),
    ] {
        let contract = answered(&mut session, &failed(error));
        assert_eq!((&contract["summary"], &contract["success"]), (&json!(words), &json!(false)));
    }
    let answer = session.call("exact", json!({"result": failed("x").to_string()}));
    assert_eq!(answer["isError"], true);
}

#[test]
fn a_log_shows_its_head_and_its_tail() {
    let place = Place::new();
    place.configure(ALWAYS);
    let mut session = place.start(&[]);
    let line = |n: u64| format!("2026-11-16T10:{:02}:{:02}Z INFO worker {n} is done", n / 60, n % 60);
    for log in [(0..700).map(line).collect::<Vec<_>>(), (0..700).map(|n| format!("step {n}")).collect()] {
        let contract = answered(&mut session, &text(&log.join("\n")));
        assert_eq!((&contract["count"], &contract["hasMore"]), (&json!(700), &json!(true)), "{contract}");
        let shown: Vec<&str> = log[..5].iter().chain(&log[695..]).map(String::as_str).collect();
        assert_eq!(labels(&contract), shown);
        assert_eq!(contract["items"][9]["id"], "700");
    }
}

#[test]
fn labels_and_ids_come_from_the_fields_that_are_set() {
    let place = Place::new();
    place.configure(&format!(
        "{ALWAYS}[server.upstream.tool.rows]\nlabel_field = \"state\"\nid_field = \"title\"\n"
    ));
    let mut session = place.start(&[]);
    let rows = json!([{"id": 0, "product__name": "Widget A", "quantity": 42}]).to_string();
    assert_eq!(labels(&answered(&mut session, &text(&rows))), ["Widget A"]);
    let rows: Value = serde_json::from_str(&session.text("rows", json!({"n": 3}))).unwrap();
    assert_eq!(rows["items"][2], json!({"id": "issue 2", "label": "closed"}));
}

#[test]
fn pictures_stay_beside_the_contract_where_they_fit() {
    let place = Place::new();
    place.configure(ALWAYS);
    let mut session = place.start(&[]);
    let pixel =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let picture = json!({"type": "image", "data": pixel, "mimeType": "image/png"});
    let result = json!({"content": [{"type": "text", "text": "a page"}, picture]});
    let answer = session.call("exact", json!({"result": result.to_string()}));
    assert_eq!(answer["content"][1], picture);
    assert!(answer["content"][0]["text"].as_str().unwrap().starts_with(r#"{"summary":"exact: a page""#));
}
