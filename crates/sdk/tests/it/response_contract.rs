//! The response contract convention: summaries, limits, lists and artifacts.

use serde_json::{Value, json};
use tidegate_sdk::{Artifacts, StoreLocation, Tidegate};

use crate::bugs::Bugs;
use crate::{Client, ERAS};

async fn connect(era: &str) -> Client {
    let artifacts = Artifacts::store_in(StoreLocation::Memory);
    let server = Tidegate::wrap(Bugs::new(&artifacts)).artifacts(&artifacts).quiet();
    Client::connect(server, era).await
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(values) => 1 + values.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// Checks the invariants of the contract.
fn assert_contract(answer: &Value) {
    assert!(serde_json::to_string_pretty(answer).unwrap().len() < 10_240);
    assert!(answer["summary"].as_str().is_some_and(|summary| summary.chars().count() <= 100), "{answer}");
    assert!(depth(answer) <= 4, "{answer}");
    assert!(answer["success"].is_boolean(), "{answer}");
    fn walk(value: &Value) {
        match value {
            Value::Array(values) => {
                assert!(values.len() <= 10);
                values.iter().for_each(walk);
            }
            Value::Object(members) => members.values().for_each(walk),
            Value::String(text) => {
                assert!(text.chars().count() <= 500 && text.lines().count() <= 20, "{text}");
            }
            _ => {}
        }
    }
    walk(answer);
}

#[tokio::test]
async fn a_scan_is_summarized_and_stored_whole() {
    for era in ERAS {
        let client = connect(era).await;
        let scan = client.json("bugfix_scan", json!({"count": 150})).await;
        assert_contract(&scan);
        assert_eq!(scan["summary"], "Found bugs: 150 total (38 critical, 38 high, 37 medium, 37 low)");
        assert_eq!((&scan["hasMore"], &scan["bugs"]["totalCount"]), (&json!(true), &json!(150)));
        let reference = scan["artifactRef"].as_str().unwrap();
        assert!(reference.starts_with("ax://bugfix/"));
        let read =
            client.text("result_query", json!({"id": reference, "jq": null, "path": "/bugs/149/id"})).await;
        assert!(read.contains("bug-149"), "{read}");
        let small = client.json("bugfix_scan", json!({"count": 2})).await;
        assert_contract(&small);
        // Two bugs fit, but their logs of forty lines are cut, so the whole is stored.
        assert_eq!(
            (small["bugs"].as_array().unwrap().len(), &small["hasMore"]),
            (2, &json!(true)),
            "{small}"
        );
        assert!(small["artifactRef"].as_str().unwrap().starts_with("ax://bugfix/"), "{small}");
    }
}

#[tokio::test]
async fn lists_are_paginated() {
    for era in ERAS {
        let client = connect(era).await;
        let list = client.json("bugfix_list", json!({"count": 34})).await;
        assert_contract(&list);
        assert_eq!((&list["summary"], &list["totalCount"]), (&json!("34 bug(s)"), &json!(34)));
        assert_eq!(list["items"].as_array().unwrap().len(), 10);
        assert_eq!(list["items"][3], json!({"id": "bug-3", "label": "Something is wrong in part 3"}));
        assert_eq!(list["hasMore"], true);
        assert_eq!(client.json("bugfix_list", json!({"count": 3})).await["hasMore"], false);
    }
}

#[tokio::test]
async fn a_trace_shows_its_ends() {
    for era in ERAS {
        let client = connect(era).await;
        let trace = client.json("trace_get", json!({"count": 900})).await;
        assert_contract(&trace);
        assert_eq!(trace["summary"], "Trace t1: done (900 events)");
        assert_eq!((&trace["startEvent"]["at"], &trace["endEvent"]["at"]), (&json!(0), &json!(899)));
        let events =
            client.text("result_query", json!({"id": trace["artifactRef"], "page": 1, "page_size": 2})).await;
        assert!(events.contains("step 0"), "{events}");
        let strict = client.json("status", json!({})).await;
        assert_eq!(strict, json!({"summary": "Checked: 3 items", "success": true, "count": 3}));
    }
}

#[tokio::test]
async fn references_are_checked() {
    for era in ERAS {
        let client = connect(era).await;
        let kept = client.json("trace_get", json!({"count": 2})).await["artifactRef"].clone();
        let got = client.json("artifact_get", json!({"reference": kept})).await;
        assert_eq!(got[1]["event"], "step 1");
        let error = client.any_error("artifact_get", json!({"reference": "trace/t1"})).await;
        assert!(error.contains("Invalid artifact ref: trace/t1"), "{error}");
    }
}

#[tokio::test]
async fn a_tool_chooses_the_id_of_its_artifact() {
    let id = "550e8400-e29b-41d4-a716-446655440000";
    let uri = format!("ax://trace/{id}");
    for era in ERAS {
        let client = connect(era).await;
        let keep = |count: usize| json!({"trace_id": id, "count": count});
        let answer = client.json("trace_keep", keep(900)).await;
        assert_eq!((&answer["artifactRef"], &answer["hasMore"]), (&json!(uri), &json!(true)));
        assert_eq!(client.json("trace_keep", keep(900)).await["artifactRef"], json!(uri), "the same data");
        let taken = client.any_error("trace_keep", keep(3)).await;
        assert!(taken.contains("holds other data"), "{taken}");
        let page = json!({"id": uri, "page": 2, "page_size": 2});
        assert!(client.text("result_query", page).await.contains("step 2"));
        let read = client.read(&uri).await.unwrap();
        assert!(read.contains("900 rows") && read.contains(&uri), "it names its address: {read}");
        assert_eq!(client.resources().await, std::slice::from_ref(&uri), "the list has the same address");
        for wrong in [format!("ax://other/{id}"), "ax://trace/t2".to_owned(), id.to_owned()] {
            assert!(
                client.any_error("result_query", json!({"id": wrong})).await.contains("no result is kept")
            );
        }
        client.read(&format!("ax://other/{id}")).await.unwrap_err();
        let other = connect(era).await;
        other.read(&uri).await.unwrap_err();
    }
}

#[tokio::test]
async fn a_wrong_domain_does_not_resolve() {
    for era in ERAS {
        let client = connect(era).await;
        let scan = client.json("bugfix_scan", json!({"count": 150})).await;
        let uri = scan["artifactRef"].as_str().unwrap();
        assert_eq!(client.resources().await, [uri], "answers and lists use the same address");
        client.read(uri).await.unwrap();
        client.read(&uri.replace("bugfix", "trace")).await.unwrap_err();
        let wrong = json!({"id": uri.replace("bugfix", "trace")});
        assert!(client.any_error("result_query", wrong).await.contains("no result is kept"));
    }
}
