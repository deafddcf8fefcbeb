//! The response contract for every tool, on a real and on a hostile tree, in both protocol eras.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by failing")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use bugtrace::{Tree, measure, plain, sample, server, tour};
use serde_json::{Value, json};
use tidegate_sdk::contract::Category;
use tidegate_sdk::visit::{Seen, Visitor};
use tidegate_sdk::{Artifacts, StoreLocation};

const ERAS: [&str; 2] = ["2025-11-25", "2026-07-28"];

/// The sources of this repository.
fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates")
}

/// A client, and the artifacts of its server.
struct TestServer {
    visitor: Visitor,
    artifacts: Artifacts,
}

impl TestServer {
    async fn new(root: &Path, era: &str) -> Self {
        let artifacts = Artifacts::store_in(StoreLocation::Memory);
        let server = server(Tree::open(root).unwrap(), &artifacts).unwrap().quiet();
        let visitor = match era {
            "2025-11-25" => Visitor::to(server).await.unwrap(),
            _ => Visitor::modern(server).await.unwrap(),
        };
        Self { visitor, artifacts }
    }

    /// Calls a tool, checks the invariants of the contract, and returns the answer.
    async fn call(&self, tool: &str, arguments: Value) -> Seen {
        let seen = self.visitor.call(tool, &arguments).await.unwrap();
        assert_contract(tool, &seen);
        seen
    }

    /// Calls a tool that succeeds, and returns its answer.
    async fn json(&self, tool: &str, arguments: Value) -> Value {
        let seen = self.call(tool, arguments).await;
        assert!(!seen.failed(), "{}", seen.text());
        seen.json()
    }

    /// Calls a tool that fails, and returns the summary and the ids of what it accepts.
    async fn failure(&self, tool: &str, arguments: Value) -> (String, Vec<String>) {
        let seen = self.call(tool, arguments).await;
        assert!(seen.failed(), "{}", seen.text());
        let answer = seen.json();
        let items = answer["items"].as_array().cloned().unwrap_or_default();
        let ids = items.iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect();
        (answer["summary"].as_str().unwrap().to_owned(), ids)
    }

    /// Returns the data stored under the reference of an answer.
    fn stored(&self, answer: &Value) -> Value {
        self.artifacts.retrieve(answer["artifactRef"].as_str().unwrap()).unwrap()
    }
}

/// Returns the bytes of a result on the wire.
fn bytes(seen: &Seen) -> usize {
    serde_json::to_vec(&seen.result).unwrap().len()
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(values) => 1 + values.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

fn walk(value: &Value, visit: &mut impl FnMut(&Value)) {
    visit(value);
    match value {
        Value::Array(values) => values.iter().for_each(|value| walk(value, visit)),
        Value::Object(members) => members.values().for_each(|value| walk(value, visit)),
        _ => {}
    }
}

/// Checks INV-MCP-RESP-001 to 006 and the byte budget of the category. That a large result is stored (005) is checked by
/// [`check_tour`], which knows the result without the contract.
fn assert_contract(tool: &str, seen: &Seen) {
    let (answer, bytes) = (seen.json(), bytes(seen));
    assert!(bytes < 10_240, "{tool}: {bytes} bytes");
    let budget = Category::of_tool(tool).unwrap().bytes();
    assert!(bytes <= budget, "{tool}: {bytes} bytes of {budget}: {}", seen.text());
    walk(&answer, &mut |value| match value {
        Value::Array(values) => assert!(values.len() <= 10, "{tool}: {} items", values.len()),
        Value::String(text) => assert!(text.chars().count() <= 500, "{tool}: {text}"),
        _ => {}
    });
    let items = answer["items"].as_array().map_or(0, Vec::len) as u64;
    if !seen.failed() && answer["count"].as_u64().is_some_and(|count| count > items) {
        assert_eq!(answer["hasMore"], true, "{tool}: {answer}");
    }
    assert!(depth(&answer) <= 4, "{tool}: {answer}");
    if let Some(reference) = answer.get("artifactRef") {
        assert!(reference.as_str().is_some_and(|reference| reference.starts_with("ax://")), "{answer}");
        assert_eq!(answer["hasMore"], true, "{tool}: {answer}");
    }
    let summary = answer["summary"].as_str().unwrap_or_else(|| panic!("{tool} has no summary: {answer}"));
    assert!((1..=100).contains(&summary.chars().count()), "{tool}: {summary}");
    assert_eq!(answer["success"], !seen.failed(), "{tool}: {answer}");
}

/// Calls every tool with and without the contract; a result that is large without must be stored with it.
async fn check_tour(root: &Path, era: &str) -> usize {
    let server = TestServer::new(root, era).await;
    let without = Visitor::to(plain(Tree::open(root).unwrap()).unwrap()).await.unwrap();
    let mut total = 0;
    for (tool, arguments) in tour() {
        let seen = server.call(tool, arguments.clone()).await;
        assert!(!seen.failed(), "{tool}: {}", seen.text());
        total += bytes(&seen);
        let all = without.call(tool, &arguments).await.unwrap();
        let whole: Value = serde_json::from_str(all.text()).unwrap();
        if whole.to_string().len() > Category::of_tool(tool).unwrap().bytes() {
            assert!(seen.json().get("artifactRef").is_some(), "{tool}: {}", seen.text());
        }
    }
    total
}

/// Returns a hostile tree: 2,000 findings, lines of 5,000 characters, deep folders, invalid UTF-8.
fn hostile() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    fs::write(root.join("many.rs"), "x.unwrap(); // TODO \"quoted\" \u{1f30a}\u{202e}\n".repeat(1000))
        .unwrap();
    fs::write(root.join("long.rs"), format!("// FIXME {}\n", "\u{1f30a}\\\"".repeat(1700)).repeat(50))
        .unwrap();
    fs::write(root.join("broken.py"), b"# TODO \xff\xfe\xf0\x9f\n\xc3(\r\n# FIXME \x1b[31m\n").unwrap();
    fs::write(root.join("binary.c"), b"\0\0panic(").unwrap();
    fs::write(root.join("open.rs"), "fn a( {".repeat(5000)).unwrap();
    fs::write(root.join("large.js"), "x\n".repeat(600_000)).unwrap();
    let mut deep = root.to_owned();
    for level in 0..60 {
        deep.push(format!("folder-{level}-\u{1f30a}"));
    }
    fs::create_dir_all(&deep).unwrap();
    fs::write(deep.join("deep.rs"), "fn main() { todo!() }\n").unwrap();
    folder
}

#[tokio::test]
async fn every_tool_keeps_the_contract_on_a_real_tree() {
    for era in ERAS {
        let total = check_tour(&crates(), era).await;
        assert!(total < 25 * 1024, "{era}: {total} bytes");
        assert!(total / tour().len() < 3 * 1024, "{era}: {total} bytes");
    }
}

#[tokio::test]
async fn every_tool_keeps_the_contract_on_a_hostile_tree() {
    let folder = hostile();
    for era in ERAS {
        assert!(check_tour(folder.path(), era).await < 25 * 1024);
    }
}

#[tokio::test]
async fn the_tour_has_every_tool() {
    for era in ERAS {
        let server = TestServer::new(&crates(), era).await;
        let listed: BTreeSet<String> =
            server.visitor.tools().await.unwrap().iter().map(|tool| tool.name.to_string()).collect();
        let toured: BTreeSet<String> =
            tour().iter().map(|(tool, _)| (*tool).to_owned()).chain(["result_query".to_owned()]).collect();
        assert_eq!(listed, toured);
        assert_eq!(toured.len(), 18);
    }
}

#[tokio::test]
async fn a_scan_stores_every_finding() {
    let folder = hostile();
    for era in ERAS {
        for root in [crates(), folder.path().to_owned()] {
            let server = TestServer::new(&root, era).await;
            for tool in ["bugfix_scan", "refactor_scan"] {
                let scan = server.json(tool, json!({})).await;
                let count = scan["count"].as_u64().unwrap();
                let items = scan["items"].as_array().unwrap();
                assert_eq!(items.len() as u64, count.min(5), "{scan}");
                assert!(scan["summary"].as_str().unwrap().contains(&format!(": {count} total (")), "{scan}");
                let stored = server.stored(&scan);
                let findings = stored["findings"].as_array().unwrap();
                assert_eq!(findings.len() as u64, count);
                let ids: BTreeSet<&str> =
                    findings.iter().map(|finding| finding["id"].as_str().unwrap()).collect();
                assert_eq!(ids.len() as u64, count);
                assert_eq!(items[0]["id"], findings[0]["id"]);
                assert_eq!(items[0]["severity"], findings[0]["severity"]);
            }
        }
    }
}

#[tokio::test]
async fn an_artifact_is_read_in_parts_and_as_a_resource() {
    for era in ERAS {
        let server = TestServer::new(&crates(), era).await;
        let scan = server.json("bugfix_scan", json!({})).await;
        let (id, count) = (scan["artifactRef"].as_str().unwrap(), scan["count"].as_u64().unwrap());
        let last = &server.stored(&scan)["findings"][count as usize - 1]["id"];
        let path = format!("/findings/{}/id", count - 1);
        let seen = server.visitor.call("result_query", &json!({"id": id, "path": path})).await.unwrap();
        assert!(seen.text().contains(last.as_str().unwrap()) && bytes(&seen) < 10_240, "{}", seen.text());
        let sql = json!({"id": id, "sql": "select count(*) as n from t"});
        let seen = server.visitor.call("result_query", &sql).await.unwrap();
        assert!(seen.text().contains(&format!("\nn\n{count}\n")), "{}", seen.text());
        let read = serde_json::to_value(server.visitor.read(id).await.unwrap()).unwrap();
        assert_eq!(read["contents"][0]["uri"], id, "{read}");
        assert!(read.to_string().len() < 11_000);
    }
}

#[tokio::test]
async fn the_findings_of_the_hostile_tree_are_counted() {
    let folder = hostile();
    let server = TestServer::new(folder.path(), ERAS[0]).await;
    let scan = server.json("bugfix_scan", json!({})).await;
    // 1,000 unwraps and 1,000 TODOs; 50 FIXMEs on 50 long lines; one TODO and one FIXME; one long line of `fn a( {`;
    // one todo!().
    assert_eq!(scan["count"], 2000 + 100 + 2 + 1 + 1, "{scan}");
    assert!(scan["summary"].as_str().unwrap().contains("1 critical, 51 high, 2001 medium, 51 low"), "{scan}");
    let trace = server.json("trace_get", json!({})).await;
    assert_eq!((&trace["status"], &trace["startEvent"]["event"]), (&json!("partial"), &json!("start")));
    let errors = trace["errorSummary"].as_str().unwrap();
    assert!(errors.starts_with("binary.c: binary") && errors.ends_with("(and 2 more)"), "{errors}");
    let page = server.json("bugfix_list", json!({"severity": "critical"})).await;
    assert!(page["items"][0]["label"].as_str().unwrap().ends_with("deep.rs:1"), "{page}");
}

#[tokio::test]
async fn pages_cover_the_whole_list() {
    let folder = hostile();
    for era in ERAS {
        let server = TestServer::new(folder.path(), era).await;
        let mut arguments = json!({"severity": "high"});
        let mut seen = BTreeSet::new();
        let mut first = None;
        loop {
            let page = server.json("bugfix_list", arguments.clone()).await;
            assert_eq!(page["count"], 51);
            for item in page["items"].as_array().unwrap() {
                assert_eq!(item["severity"], "high");
                assert!(seen.insert(item["id"].as_str().unwrap().to_owned()), "{item} twice");
            }
            first.get_or_insert_with(|| page.clone());
            match page.get("nextCursor") {
                Some(cursor) => arguments["cursor"] = cursor.clone(),
                None => break,
            }
        }
        assert_eq!(seen.len(), 51);
        // A cursor belongs to the scan it was made for, even after a later scan.
        let first = first.unwrap();
        server.json("bugfix_scan", json!({"path": "many.rs"})).await;
        let next = json!({"severity": "high", "cursor": first["nextCursor"]});
        assert_eq!(server.json("bugfix_list", next).await["artifactRef"], first["artifactRef"]);
    }
}

#[tokio::test]
async fn a_trace_has_its_first_and_last_event_and_metrics() {
    for era in ERAS {
        let server = TestServer::new(&crates(), era).await;
        let scan = server.json("bugfix_scan", json!({"path": "core/src"})).await;
        let trace = server.json("trace_get", json!({"trace": "t1"})).await;
        let stored = server.stored(&trace);
        let events = stored["events"].as_array().unwrap();
        assert_eq!(trace["eventCount"], events.len());
        assert_eq!((&trace["startEvent"], &trace["endEvent"]), (&events[0], &events[events.len() - 1]));
        assert_eq!((&trace["status"], &trace["errorSummary"]), (&json!("completed"), &Value::Null));
        let of = |what: &str| events.iter().filter(|event| event["event"] == what).count() as u64;
        let metrics = server.json("trace_analyze", json!({})).await;
        assert_eq!((&metrics["hits"], &metrics["files"]), (&json!(of("rule_hit")), &json!(of("file_read"))));
        assert_eq!(metrics["hits"], scan["count"]);
        let by_rule: u64 = metrics["byRule"].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum();
        assert_eq!(metrics["hits"], by_rule);
        assert!(metrics.get("events").is_none(), "{metrics}");
    }
}

#[tokio::test]
async fn runs_store_the_results_of_their_steps() {
    for era in ERAS {
        let server = TestServer::new(&crates(), era).await;
        let run = server.json("agent_run", json!({"agent": "reviewer", "path": "core"})).await;
        let steps = server.stored(&run)["stepResults"].clone();
        let named = |steps: &Value| {
            let steps = steps.as_array().unwrap().iter();
            steps.map(|step| step["step"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(named(&steps), ["1-scan", "2-rank", "3-suggest"]);
        assert_eq!(steps[2]["result"].as_array().unwrap().len(), 20);
        let nightly = server.json("workflow_run", json!({"workflow": "nightly", "path": "sdk"})).await;
        let steps = server.stored(&nightly)["stepResults"].clone();
        assert_eq!(named(&steps), ["1-bugfix_scan", "2-refactor_scan", "3-guard_check"]);
        let scan = &steps[0]["result"]["scan"];
        assert!(
            scan["findings"]
                .as_array()
                .unwrap()
                .iter()
                .all(|f| f["path"].as_str().unwrap().starts_with("sdk/"))
        );
        // The scans of a workflow count as the latest, so the explainer finds their findings.
        let id = &scan["findings"][0]["id"];
        let explained = server.json("agent_run", json!({"agent": "explainer", "finding": id})).await;
        let steps = server.stored(&explained)["stepResults"].clone();
        assert_eq!(named(&steps), ["1-find", "2-read", "3-explain"]);
        assert_eq!(steps[0]["result"]["id"], *id);
        let line = steps[1]["result"]
            .as_array()
            .unwrap()
            .iter()
            .any(|line| line.as_str().unwrap().contains(scan["findings"][0]["text"].as_str().unwrap()));
        assert!(line, "{}", steps[1]);
        let review = server.json("workflow_run", json!({"workflow": "review", "path": "sdk/src"})).await;
        assert_eq!(review["count"], 2, "{review}");
        let survey = server.json("workflow_run", json!({"workflow": "size", "path": "sdk/src"})).await;
        assert_eq!(survey["count"], 3, "{survey}");
    }
}

#[tokio::test]
async fn a_guard_names_the_failed_rules() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("good")).unwrap();
    fs::write(folder.path().join("good/a.rs"), "fn a() {}\n").unwrap();
    fs::write(folder.path().join("bad.rs"), "fn a() { unimplemented!() }\n").unwrap();
    for era in ERAS {
        let server = TestServer::new(folder.path(), era).await;
        let good = server.json("guard_check", json!({"path": "good"})).await;
        assert_eq!(good["summary"], r#"Guard release passed for "good": 3 rules"#);
        let bad = server.json("guard_check", json!({"guard": "strict"})).await;
        assert_eq!(bad["summary"], r#"Guard strict failed for ".": 1 of 3 rules (no-critical)"#);
        assert_eq!(bad["items"][0], json!({"id": "no-critical", "label": "failed: 1 found, at most 0"}));
    }
}

#[tokio::test]
async fn memory_returns_every_stored_value() {
    for era in ERAS {
        let server = TestServer::new(&crates(), era).await;
        let values = [
            json!("short"),
            json!("\u{1f30a}\"\\\u{1}".repeat(20_000)),
            json!({"a": {"b": {"c": {"d": {"e": [1, 2, 3]}}}}}),
            json!((0..500).collect::<Vec<_>>()),
            json!({"k".repeat(5000): "v"}),
            json!(null),
            json!(["line\n".repeat(400)]),
        ];
        for (index, value) in values.iter().enumerate() {
            let key = format!("case/{index}/{}", "x".repeat(50));
            let stored = server.json("memory_store", json!({"key": key, "value": value})).await;
            assert_eq!(stored["bytes"], value.to_string().len());
            let read = server.json("memory_retrieve", json!({"key": key})).await;
            match read.get("artifactRef") {
                Some(_) => assert_eq!(server.stored(&read), *value),
                None => match read.get("json").and_then(Value::as_str) {
                    Some(text) => assert_eq!(serde_json::from_str::<Value>(text).unwrap(), *value),
                    None => assert_eq!(read["value"], *value),
                },
            }
            assert_eq!(read.get("artifactRef").is_some(), !matches!(index, 0 | 2 | 5), "{read}");
        }
        let mut arguments = json!({"query": "CASE/"});
        let mut keys = Vec::new();
        loop {
            let page = server.json("memory_search", arguments.clone()).await;
            assert_eq!(page["count"], 7);
            keys.extend(page["items"].as_array().unwrap().iter().map(|item| item["id"].clone()));
            match page.get("nextCursor") {
                Some(cursor) => arguments["cursor"] = cursor.clone(),
                None => break,
            }
        }
        assert_eq!(keys.len(), 7);
        assert_eq!(server.json("memory_search", json!({"query": "nowhere"})).await["count"], 0);
    }
}

#[tokio::test]
async fn sessions_record_their_calls() {
    for era in ERAS {
        let server = TestServer::new(&crates(), era).await;
        server.json("config_get", json!({})).await;
        server.failure("trace_get", json!({"trace": "t9"})).await;
        let status = server.json("session_status", json!({})).await;
        assert_eq!(
            (&status["session"], &status["calls"], &status["failed"]),
            (&json!("s1"), &json!(2), &json!(1))
        );
        assert_eq!(status["lastCall"]["tool"], "trace_get");
        let list = server.json("session_list", json!({})).await;
        assert_eq!((&list["count"], &list["items"][0]["id"]), (&json!(1), &json!("s1")));
    }
}

#[tokio::test]
async fn unknown_names_fail_with_what_is_accepted() {
    for era in ERAS {
        let server = TestServer::new(&crates(), era).await;
        let nothing = "there are no traces yet; run bugfix_scan to create one";
        assert_eq!(server.failure("trace_get", json!({})).await.0, nothing);
        server.json("bugfix_scan", json!({"path": "sdk"})).await;
        server.json("memory_store", json!({"key": "known", "value": 1})).await;
        let long = "\u{1b}x\"".repeat(4000);
        for (tool, arguments, words, accepted) in [
            ("trace_get", json!({"trace": "t9"}), "no trace \"t9\"; the latest are:", "t1"),
            ("trace_analyze", json!({"trace": long}), "the latest are:", "t1"),
            ("session_status", json!({"session": "s9"}), "no session \"s9\"; the latest are:", "s1"),
            ("agent_run", json!({"agent": "nobody"}), "no agent \"nobody\"; one of:", "reviewer"),
            ("agent_run", json!({"agent": long}), "one of:", "surveyor"),
            ("workflow_run", json!({"workflow": "x"}), "no workflow \"x\"; one of:", "nightly"),
            ("memory_retrieve", json!({"key": "unknown"}), "stored keys include:", "known"),
            ("guard_check", json!({"guard": "x"}), "no guard \"x\"; one of:", "strict"),
            ("config_get", json!({"key": "x"}), "no key \"x\"; one of:", "thresholds"),
            ("bugfix_list", json!({"rule": "long-function"}), "one of:", "unwrap"),
            ("refactor_list", json!({"rule": "x"}), "refactor has no rule \"x\"; one of:", "deep-nesting"),
        ] {
            let (summary, ids) = server.failure(tool, arguments).await;
            assert!(summary.ends_with(words), "{tool}: {summary}");
            assert!(ids.iter().any(|id| id == accepted), "{tool}: {ids:?}");
        }
        let (summary, ids) = server.failure("bugfix_scan", json!({long.as_str(): 1})).await;
        assert!(summary.starts_with("unknown field `") && ids == ["path"], "{summary} {ids:?}");
        let (summary, ids) =
            server.failure("agent_run", json!({"agent": "explainer", "finding": "b-0"})).await;
        assert_eq!(summary, "no finding \"b-0\"; ids are in bugfix_list and refactor_list");
        assert!(ids.len() == 3 && ids.iter().all(|id| id.starts_with("b-")), "{ids:?}");
    }
}

#[tokio::test]
async fn invalid_values_fail_with_what_is_accepted() {
    for era in ERAS {
        let server = TestServer::new(&crates(), era).await;
        let severity = "severity must be critical, high, medium or low, not \"urgent\"";
        for (tool, arguments, words) in [
            ("bugfix_list", json!({"severity": "urgent"}), severity),
            ("bugfix_list", json!({"limit": 50}), "limit must be a whole number from 1 to 10, not 50"),
            (
                "bugfix_list",
                json!({"cursor": "abc"}),
                "cursor \"abc\" is not of this list; pass nextCursor unchanged, with the same filters",
            ),
            (
                "memory_store",
                json!({"key": "a b", "value": 1}),
                "key \"a b\" must be 1 to 64 letters, digits or - _ . : /",
            ),
            ("memory_store", json!({"key": "a"}), "missing field `value`"),
            ("bugfix_scan", json!({"path": 5}), "invalid type: integer `5`, expected a string"),
            ("bugfix_scan", json!({"paths": "a"}), "unknown field `paths`, expected `path`"),
            (
                "agent_run",
                json!({"agent": "explainer"}),
                "agent explainer needs `finding`, an id from bugfix_list or refactor_list",
            ),
        ] {
            assert_eq!(server.failure(tool, arguments).await.0, words, "{tool}");
        }
        let long = json!({"severity": "\u{1f30a}".repeat(4000)});
        let summary = server.failure("bugfix_list", long).await.0;
        assert!(summary.starts_with("severity must be critical, high, medium or low, not \""), "{summary}");
        assert!(server.visitor.call("no_such_tool", &json!({})).await.is_err());
    }
}

#[tokio::test]
async fn nothing_outside_the_tree_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("tree");
    fs::create_dir_all(root.join("src")).unwrap();
    fs::write(folder.path().join("secret.rs"), "// TODO outside\n").unwrap();
    fs::write(root.join("src/a.rs"), "// TODO inside\n").unwrap();
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(folder.path(), root.join("out")).unwrap();
        std::os::unix::fs::symlink(folder.path().join("secret.rs"), root.join("link.rs")).unwrap();
    }
    for era in ERAS {
        let server = TestServer::new(&root, era).await;
        let outside = "leads out of the tree; use one below the root, such as:";
        for (path, words) in [
            ("../..", outside),
            ("src/../../secret.rs", outside),
            ("out", outside),
            ("out/secret.rs", outside),
            ("link.rs", outside),
            ("/etc", "is absolute; use one below the root, such as:"),
            ("nowhere", "does not exist in the tree; use one below the root, such as:"),
            ("a\0b", "contains NUL; use one below the root, such as:"),
        ] {
            for (tool, name) in [
                ("bugfix_scan", None),
                ("refactor_scan", None),
                ("guard_check", None),
                ("agent_run", Some(("agent", "reviewer"))),
                ("workflow_run", Some(("workflow", "nightly"))),
            ] {
                let mut arguments = json!({"path": path});
                if let Some((key, value)) = name {
                    arguments[key] = value.into();
                }
                let (summary, ids) = server.failure(tool, arguments).await;
                assert!(summary.ends_with(words), "{tool} {path:?}: {summary}");
                assert_eq!(ids, ["src"]);
            }
        }
        // A walk does not follow links either.
        let scan = server.json("bugfix_scan", json!({})).await;
        assert_eq!(scan["count"], 1, "{scan}");
        assert_eq!(server.json("bugfix_scan", json!({"path": "src/../src"})).await["count"], 1);
    }
}

#[tokio::test]
async fn plain_returns_everything() {
    let folder = hostile();
    let visitor = Visitor::to(plain(Tree::open(folder.path()).unwrap()).unwrap()).await.unwrap();
    let scan = visitor.call("bugfix_scan", &json!({})).await.unwrap();
    assert_eq!(scan.json()["findings"].as_array().unwrap().len(), 2104);
    let list = visitor.call("bugfix_list", &json!({"severity": "high"})).await.unwrap();
    assert_eq!(list.json().as_array().unwrap().len(), 51);
    let trace = visitor.call("trace_get", &json!({})).await.unwrap();
    assert!(trace.json()["events"].as_array().unwrap().len() > 2104);
}

#[tokio::test]
async fn the_readme_has_the_table() {
    let folder = tempfile::tempdir().unwrap();
    sample(folder.path()).unwrap();
    let measured = measure(folder.path()).await.unwrap();
    let (before, after) = measured.totals();
    assert!(before > 20 * after && after < 25 * 1024, "{before} {after}");
    let table = measured.to_string();
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let shape = |text: &str| {
        let rows = text.lines().filter(|line| line.starts_with('|'));
        rows.map(|row| row.split(" | ").take(2).collect::<Vec<_>>().join(" | ")).collect::<Vec<_>>()
    };
    assert_eq!(table.lines().count(), 2 + 17 + 1);
    let rows = shape(&table);
    let written = shape(&readme);
    assert!(written.windows(rows.len()).any(|window| window == rows), "{rows:#?}\n{written:#?}");
}
