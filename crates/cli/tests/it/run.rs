//! The laws over stdio: no tool runs twice, results that fit are unchanged, every request gets one response.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::place::{Place, processes};
use crate::session::{Session, handle};
use crate::tidegate_in;

fn executions(session: &mut Session, tool: &str) -> usize {
    let seen: Vec<(Option<String>, Value)> = serde_json::from_str(&session.text("seen", json!({}))).unwrap();
    seen.iter().filter(|(method, name)| method.as_deref() == Some("tools/call") && name == tool).count()
}

#[test]
fn follow_ups_never_run_the_tool() {
    let place = Place::new();
    let mut session = place.start(&[]);
    let id = session.keep_rows(400);
    for (arguments, words) in [
        (json!({"id": id}), "rows returned 400 rows"),
        (json!({"id": id, "page": 2}), "issue"),
        (json!({"id": id, "page": 1, "fields": ["number"]}), "number"),
        (json!({"id": id, "path": "/399/title"}), "issue 399"),
        (json!({"id": id, "jq": ".[399].title"}), "issue 399"),
        (json!({"id": id, "sql": "select count(*) from t where state = 'closed'"}), "133"),
        (json!({"id": id, "grep": "issue 399"}), "issue 399"),
        (json!({"id": id, "range": "0-99"}), "content"),
        (json!({"id": id, "mode": "full"}), "issue 0"),
        (json!({"id": id, "mode": "summary", "max_tokens": 500}), "rows returned"),
        (json!({"id": id, "page": 1, "max_tokens": 10}), "issue 0"),
    ] {
        let answer = session.call("result_query", arguments.clone());
        let text = answer["content"][0]["text"].as_str().unwrap();
        assert!(text.contains(words) && answer.get("isError").is_none(), "{arguments}: {text}");
    }
    let read = session.request("resources/read", json!({"uri": format!("ax://rows/{}", &id[5..])}));
    assert!(read["result"]["contents"][0]["text"].as_str().unwrap().contains("400 rows"));
    assert_eq!(executions(&mut session, "rows"), 1);
    assert_eq!(executions(&mut session, "result_query"), 0, "our tool is no business of the upstream's");
    assert_eq!(session.end().0, 0);
}

/// Answers all calls in one write: results that fit first, then results that are shaped on other threads.
const AT_ONCE: &str = r#"
import json, os, sys
ids = [json.loads(sys.stdin.readline())["id"] for _ in range(5)]
line = lambda message: json.dumps({"jsonrpc": "2.0", **message}) + "\n"
text = " ".join(f"row {n}" for n in range(1300))
out = line({"method": "notifications/progress", "params": {"progressToken": 1, "progress": 1}})
out += "".join(line({"id": id, "result": {"content": [{"type": "text", "text": text}]}}) for id in ids)
assert 10_240 < len(text) < 12_000 and len(out) < 65_536
os.write(1, out.encode())
sys.stdin.read()
"#;

#[test]
fn messages_keep_their_order() {
    let place = Place::new();
    let mut session = Session::command(&place.home(), &[], &[], &["python3", "-S", "-c", AT_ONCE]);
    let asked: Vec<u64> =
        (0..5).map(|_| session.ask("tools/call", json!({"name": "rows", "arguments": {}}))).collect();
    assert_eq!(session.message()["method"], "notifications/progress");
    let mut answered: Vec<u64> = asked
        .iter()
        .map(|_| {
            let answer = session.message();
            let text = answer["result"]["content"][0]["text"].as_str().unwrap();
            assert!(text.starts_with("rows returned"), "{text}");
            answer["id"].as_u64().unwrap()
        })
        .collect();
    answered.sort_unstable();
    assert_eq!(answered, asked);
    session.end();
}

#[test]
fn what_fits_crosses_byte_for_byte() {
    let place = Place::new();
    let mut session = place.start(&[]);
    for result in [
        r#"{"content":[{"type":"text","text":"x","xBlock":1}],"tools":[],"xTop":{"big":123456789012345678901234567890,"f":1.0}}"#,
        r#"{ "content" : [ ] , "a":1e400,"a":2, "structuredContent":{"\u0061":"\ud800"} }"#,
        r#"{"resultType":"input_required","inputRequests":{"k":{"method":"elicitation/create"}},"requestState":"s"}"#,
        r#"{}"#,
        "7",
    ] {
        let id = session.ask("tools/call", json!({"name": "exact", "arguments": {"result": result}}));
        let expected = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
        assert_eq!(String::from_utf8(session.line().unwrap()).unwrap(), expected);
    }
    // A request for input is forwarded, however long it is.
    let long = format!(r#"{{"resultType":"input_required","requestState":"{}"}}"#, "s".repeat(50_000));
    session.ask("tools/call", json!({"name": "exact", "arguments": {"result": long}}));
    assert!(String::from_utf8(session.line().unwrap()).unwrap().contains(&long));
}

#[test]
fn observing_changes_nothing() {
    let place = Place::new();
    let mut session = place.start(&["--observe"]);
    let tools = session.request("tools/list", json!({}));
    assert!(!tools.to_string().contains("result_query"), "{tools}");
    let text = session.text("rows", json!({"n": 400}));
    assert_eq!(serde_json::from_str::<Vec<Value>>(&text).unwrap().len(), 400);
    let refused = session.request("tools/call", json!({"name": "result_query", "arguments": {"id": "x"}}));
    assert!(refused.get("error").is_some());
    assert_eq!(session.end().0, 0);
    let ledger = rusqlite::Connection::open(place.home().join("ledger.db")).unwrap();
    let noted: (String, i64) = ledger
        .query_row("SELECT step, raw_tokens FROM call WHERE tool = 'rows'", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .unwrap();
    assert_eq!(noted.0, "observe");
    assert!(noted.1 > 2000, "{noted:?}");
}

#[test]
fn a_server_that_dies_leaves_no_request_open() {
    let place = Place::new();
    let mut session = place.start(&[]);
    let never = session.ask("tools/call", json!({"name": "never", "arguments": {}}));
    let ping = session.ask("tools/call", json!({"name": "die", "arguments": {"code": 7}}));
    let mut answered: Vec<Value> = vec![session.message(), session.message()];
    answered.sort_by_key(|message| message["id"].as_u64());
    for (message, id) in answered.iter().zip([never, ping]) {
        assert_eq!(message["id"], id);
        let words = message["error"]["message"].as_str().unwrap();
        assert!(words.contains("ended with exit code 7") && words.contains("the call of"), "{words}");
    }
    assert_eq!(session.line(), None, "one answer each");
    let (code, stderr) = session.ended();
    assert_eq!(code, 7);
    assert!(stderr.contains("dying as told"), "{stderr}");
}

#[test]
fn a_server_that_hangs_is_answered_for() {
    let place = Place::new();
    let mut session = place.start(&["--timeout", "0.5s"]);
    let answer = session.request("tools/call", json!({"name": "late", "arguments": {"seconds": 1.2}}));
    let words = answer["error"]["message"].as_str().unwrap();
    assert!(words.contains("no answer to the call of late within 0.5 s"), "{words}");
    // The late response is dropped, and the server was told to cancel.
    std::thread::sleep(Duration::from_millis(1200));
    let seen = session.text("seen", json!({}));
    assert!(seen.contains("notifications/cancelled"), "{seen}");
    let (_, stderr) = session.end();
    assert!(stderr.contains("a response to no open request"), "{stderr}");
}

#[test]
fn a_signal_lets_open_requests_finish() {
    let place = Place::new();
    let mut session = place.start(&[]);
    let id = session.ask("tools/call", json!({"name": "late", "arguments": {"seconds": 0.8}}));
    std::thread::sleep(Duration::from_millis(300));
    let sent = std::process::Command::new("kill").arg(session.child.id().to_string()).status().unwrap();
    assert!(sent.success());
    let answer = session.message();
    assert!(answer["id"] == id && answer["result"].is_object(), "{answer}");
    assert_eq!(session.line(), None, "then it ends");
    assert_eq!(session.ended().0, 0);
}

#[test]
fn a_server_that_answers_twice_is_heard_once() {
    let place = Place::new();
    let mut session = place.start(&[]);
    assert_eq!(session.text("twice", json!({})), "first");
    assert!(session.text("seen", json!({})).contains("twice"), "the next line is the next answer");
}

#[test]
fn noise_on_stdout_is_skipped() {
    let place = Place::new();
    let mut session = Session::start_with(&place.home(), &[], &[("UPSTREAM_NOISE", "1")]).greeted("somebody");
    assert!(session.text("seen", json!({})).contains("initialize"));
    let (_, stderr) = session.end();
    assert!(
        stderr.contains("not JSON): Listening on stdio...") && stderr.contains("no message): {\"level\""),
        "{stderr}"
    );
}

#[test]
fn nothing_outlives_a_killed_proxy() {
    let place = Place::new();
    let mark = place.folder.path().join("mark").to_str().unwrap().to_owned();
    // A launcher that starts a server that starts a helper in a session of its own; both ignore TERM.
    let helper = format!(
        "import signal,time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)  # {mark}"
    );
    let server = format!(
        "import signal,subprocess,sys,time; signal.signal(signal.SIGTERM, signal.SIG_IGN); \
         subprocess.Popen([sys.executable, '-c', {helper:?}], start_new_session=True); \
         print('{{\"jsonrpc\":\"2.0\",\"method\":\"up\"}}', flush=True); time.sleep(60)  # {mark}"
    );
    let command = format!("python3 -c \"$SERVER\"; true # {mark}");
    let mut session = Session::command(&place.home(), &[], &[("SERVER", &server)], &["sh", "-c", &command]);
    assert_eq!(session.message()["method"], "up");
    assert!(processes(&mark) >= 3);
    session.child.kill().unwrap();
    let killed = Instant::now();
    while processes(&mark) > 0 {
        assert!(killed.elapsed() < Duration::from_secs(5), "{} are left", processes(&mark));
        std::thread::sleep(Duration::from_millis(100));
    }
    session.child.wait().unwrap();
}

#[test]
fn proxies_share_a_store() {
    let place = Place::new();
    let kept: Vec<String> = std::thread::scope(|scope| {
        let run = |_| scope.spawn(|| place.start(&[]).keep_rows(200));
        let running: Vec<_> = (0..6).map(run).collect();
        running.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let mut session = place.start(&[]);
    for id in &kept {
        let text = session.text("result_query", json!({"id": id, "sql": "select count(*) from t"}));
        assert!(text.contains("200"), "{text}");
    }
    let listed = session.request("resources/list", json!({}));
    assert_eq!(
        listed["result"]["resources"].as_array().unwrap().len(),
        1 + kept.len(),
        "one is the upstream's own"
    );
}

#[test]
fn results_do_not_wait_for_slow_queries() {
    let place = Place::new();
    let mut session = place.start(&[]);
    let id = session.keep_rows(200);
    let slow = "with recursive r(n) as (select 1 union all select n + 1 from r) select max(n) from r";
    let call = |tool: &str, arguments: Value| json!({"name": tool, "arguments": arguments});
    let queries: Vec<u64> = (0..4)
        .map(|_| session.ask("tools/call", call("result_query", json!({"id": id, "sql": slow}))))
        .collect();
    let results: Vec<u64> =
        (0..3).map(|_| session.ask("tools/call", call("rows", json!({"n": 400})))).collect();
    let answered: Vec<u64> = (0..7).map(|_| session.message()["id"].as_u64().unwrap()).collect();
    let position = |id: &u64| answered.iter().position(|answered| answered == id).unwrap();
    // Two queries run at once, so the last one ends long after the results.
    let last_query = queries.iter().map(position).max().unwrap();
    assert_eq!(last_query, 6, "{answered:?}");
    assert!(results.iter().map(position).max().unwrap() < 5, "{answered:?}");
}

#[test]
fn a_program_gets_the_result_whole() {
    let place = Place::new();
    let mut session = Session::start(&place.home(), &[]).greeted("codex-mcp-client");
    session.meta = Some(json!({"callId": "exec-123"}));
    let text = session.text("rows", json!({"n": 400}));
    assert_eq!(serde_json::from_str::<Vec<Value>>(&text).unwrap().len(), 400);
    session.meta = Some(json!({"callId": "call_123"}));
    assert!(session.text("rows", json!({"n": 400})).starts_with("rows returned 400 rows"));
    session.end();
    let listed = tidegate_in(Some(&place.home()), &["ls", "--format", "json"], b"");
    let listed: Vec<Value> = serde_json::from_slice(&listed.stdout).unwrap();
    assert_eq!(listed.len(), 2, "both are kept");
}

#[test]
fn lists_gain_one_tool_and_lose_schemas() {
    let place = Place::new();
    let mut session = place.start(&[]);
    let list = session.request("tools/list", json!({}))["result"].take();
    let names: Vec<&str> =
        list["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "rows",
            "exact",
            "seen",
            "twice",
            "late",
            "never",
            "die",
            "task",
            "given",
            "paged",
            "bugs",
            "report",
            "result_query"
        ]
    );
    assert!(list["tools"][0].get("outputSchema").is_none());
    assert_eq!(list["cacheScope"], "private");
    drop(session);

    let mut session = Session::start_with(&place.home(), &[], &[("UPSTREAM_PAGES", "1")]).greeted("somebody");
    let pages =
        [session.request("tools/list", json!({})), session.request("tools/list", json!({"cursor": "2"}))];
    let count = |page: &Value| page["result"]["tools"].as_array().unwrap().len();
    assert_eq!((count(&pages[0]), count(&pages[1])), (5, 8), "on one page");
}

#[test]
fn an_upstream_tool_of_our_name_keeps_it() {
    let place = Place::new();
    let mut session = Session::start_with(&place.home(), &[], &[("UPSTREAM_CLASH", "1")]).greeted("somebody");
    session.request("tools/list", json!({}));
    assert_eq!(session.text("result_query", json!({})), "the upstream's own");
    let text = session.text("rows", json!({"n": 300}));
    assert!(text.contains("Read the rest with tidegate_result_query"), "{text}");
    assert!(text.contains("\nnext: tidegate_result_query {"), "{text}");
    let page = session.text("tidegate_result_query", json!({"id": handle(&text), "page": 1}));
    assert!(page.contains("issue 1"), "{page}");
}

#[test]
fn a_server_without_resources_gets_ours() {
    let place = Place::new();
    let mut session = Session::start_with(&place.home(), &[], &[("UPSTREAM_PLAIN", "1")]);
    let greeting =
        session.request("initialize", json!({"protocolVersion": "2025-11-25", "clientInfo": {"name": "x"}}));
    assert_eq!(greeting["result"]["capabilities"], json!({"tools": {}, "resources": {}}));
    let id = session.keep_rows(300);
    let listed = session.request("resources/list", json!({}));
    assert_eq!(listed["result"]["resources"][0]["name"], id.as_str());
    let templates = session.request("resources/templates/list", json!({}));
    assert_eq!(templates["result"]["resourceTemplates"].as_array().unwrap().len(), 1);
    // Without `initialize`, the server's own answer counts.
    let mut session = Session::start_with(&place.home(), &[], &[("UPSTREAM_PLAIN", "1")]);
    let listed = session.request("resources/list", json!({}));
    assert_eq!(listed["result"]["resources"][0]["name"], id.as_str(), "{listed}");
    let missing = session.request("resources/read", json!({"uri": "ax://rows/000000000000"}));
    assert_eq!(missing["error"]["code"], -32002);
}

#[test]
fn modern_requests_get_modern_answers() {
    let place = Place::new();
    let mut session = Session::start(&place.home(), &[]);
    session.meta = Some(json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "claude-code", "version": "2"},
    }));
    session.request("server/discover", json!({}));
    let result = session.call("rows", json!({"n": 400}));
    assert_eq!(result["resultType"], "complete");
    assert_eq!(result["content"][1]["type"], "resource_link", "this client takes links");
    let id = handle(result["content"][0]["text"].as_str().unwrap());
    assert_eq!(session.call("result_query", json!({"id": id, "page": 1}))["resultType"], "complete");
    let read = session.request("resources/read", json!({"uri": result["content"][1]["uri"]}));
    assert_eq!(
        (&read["result"]["resultType"], &read["result"]["cacheScope"]),
        (&json!("complete"), &json!("private"))
    );
    let missing = session.request("resources/read", json!({"uri": "ax://rows/000000000000"}));
    assert_eq!(missing["error"]["code"], -32602);
}

#[test]
fn results_of_tasks_are_shaped() {
    let place = Place::new();
    let mut session = place.start(&[]);
    assert_eq!(session.call("task", json!({}))["task"]["taskId"], "task-1");
    let result = session.request("tasks/result", json!({"taskId": "task-1"}));
    let text = result["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("task returned 500 rows"), "{text}");
    let state = session.request("tasks/get", json!({"taskId": "task-1"}))["result"].take();
    assert_eq!(state["status"], "completed");
    assert!(state["result"]["content"][0]["text"].as_str().unwrap().starts_with("task returned 500 rows"));
}

#[test]
fn batches_cross_without_what_is_ours() {
    let place = Place::new();
    let mut session = place.start(&[]);
    let id = session.keep_rows(300);
    session.send(&format!(
        r#"[{{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{{"name":"rows","arguments":{{"n":1}}}}}},{{"jsonrpc":"2.0","id":"b","method":"tools/call","params":{{"name":"result_query","arguments":{{"id":"{id}","path":"/299/number"}}}}}}]"#
    ));
    let mut ids: Vec<String> = vec![session.message()["id"].to_string(), session.message()["id"].to_string()];
    ids.sort();
    assert_eq!(ids, ["\"a\"", "\"b\""]);
    assert_eq!(executions(&mut session, "result_query"), 0);
}

#[test]
fn cancelling_what_is_ours_stays_with_us() {
    let place = Place::new();
    let mut session = place.start(&[]);
    let id = session.keep_rows(300);
    let ours = session.ask("tools/call", json!({"name": "result_query", "arguments": {"id": id}}));
    session.message();
    for request in [ours, ours - 1] {
        session.send(
            &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": request}})
                .to_string(),
        );
    }
    let seen: Vec<(Option<String>, Value)> = serde_json::from_str(&session.text("seen", json!({}))).unwrap();
    let cancelled: Vec<&Value> = seen
        .iter()
        .filter(|(method, _)| method.as_deref() == Some("notifications/cancelled"))
        .map(|(_, id)| id)
        .collect();
    assert_eq!(cancelled, [&json!(ours - 1)], "of a call already finished, and not of ours");
}

#[test]
fn a_result_that_cannot_be_stored_is_kept_in_memory() {
    let place = Place::new();
    std::fs::write(place.folder.path().join("file"), "not a folder").unwrap();
    let file = place.folder.path().join("file");
    place.configure("[defaults]\non_store_failure = \"error\"\n");
    let mut session = Session::start(&file, &[]).greeted("somebody");
    // The store is checked beside the start of the server.
    std::thread::sleep(Duration::from_millis(500));
    let text = session.text("rows", json!({"n": 400}));
    assert!(
        text.contains("rows returned 400 rows")
            && text.contains("(kept in memory 24 h, or until this server exits)"),
        "{text}"
    );
    let page = session.text("result_query", json!({"id": handle(&text), "path": "/399/number"}));
    assert!(page.contains("399"), "{page}");
    assert!(session.text("rows", json!({"n": 1})).contains("issue 0"), "small results still pass");
    let (code, stderr) = session.end();
    assert_eq!(code, 0);
    let warnings = stderr.lines().filter(|line| line.starts_with("tidegate: nothing can be stored in "));
    assert_eq!(warnings.count(), 1, "once, and not again for each result: {stderr}");
}

#[test]
fn what_is_kept_in_memory_is_not_on_disk() {
    let place = Place::new();
    let mut session = place.start(&["--ephemeral"]);
    let id = session.keep_rows(300);
    assert!(session.text("result_query", json!({"id": id, "path": "/299/number"})).contains("299"));
    session.end();
    assert_eq!(std::fs::read_dir(place.home()).unwrap().count(), 0);
}

/// The line is higher than the budget, and a policy or a flag moves it.
#[test]
fn a_result_within_the_line_passes() {
    let place = Place::new();
    let answers = |flags: &[&str], count: u64| {
        let mut session = place.start(flags);
        let text = session.text("rows", json!({"n": count}));
        session.end();
        text
    };
    // 45 rows have about 2,000 tokens: twice the budget of a first answer, and within the line.
    assert!(answers(&[], 45).starts_with("[{\"number\": 0"));
    assert!(answers(&["--line", "1000"], 45).starts_with("rows returned "));
    assert!(answers(&["--style", "error"], 45).starts_with("{\"error\":\"OUTPUT_BUDGET_EXCEEDED\""));
    place.configure("[server.upstream.tool.rows]\nline_tokens = 1500\n");
    assert!(answers(&[], 45).starts_with("rows returned "));
    assert!(answers(&["--line", "2500"], 45).starts_with("[{\"number\": 0"), "a flag wins over a file");
    for (flags, environment) in
        [(&["--line", "900"][..], &[][..]), (&["--budget", "3000"], &[("TIDEGATE_LINE", "2500")])]
    {
        let mut session = Session::start_with(&place.home(), flags, environment);
        let code = session.child.wait().unwrap().code();
        assert_eq!(code, Some(2), "{flags:?}: a line below the budget");
    }
}

#[test]
fn a_verbose_result_is_sent_in_less_space() {
    let place = Place::new();
    place.configure("[server.upstream.tool.rows]\ncompact = \"lossless\"\n");
    let mut session = place.start(&[]);
    let text = session.text("rows", json!({"n": 40}));
    let name = text.split(':').next().unwrap().to_owned();
    assert!(name.starts_with("rows-") && text.contains(": all of it as CSV"), "{text}");
    assert!(text.contains("\nnumber,title,state\n0,issue 0,open\n"), "{text}");
    assert_eq!(text.matches("words words").count(), 10, "a value that all rows share stands once");
    let whole = session.text("result_query", json!({"id": name, "mode": "full"}));
    assert!(whole.contains("{\"number\": 39, \"title\": \"issue 39\""), "{whole}");
    assert!(session.text("rows", json!({"n": 1})).starts_with("[{"), "there is no shorter form");
    assert_eq!(executions(&mut session, "rows"), 2);
}

#[test]
fn policies_reach_their_tools() {
    let place = Place::new();
    place.configure(
        "[server.hub.tool.\"ro*\"]\nbudget_tokens = 400\nfields = [\"number\", \"state\"]\npage_size = 3\n",
    );
    let mut session = place.start(&["--server", "hub", "--ttl", "1s"]);
    let text = session.text("rows", json!({"n": 300}));
    assert!(text.contains("\n#,number,state\n") && text.contains("(kept 1 s)"), "{text}");
    let id = handle(&text);
    let page = session.text("result_query", json!({"id": id, "page": 2}));
    assert!(page.contains("rows 4-6 of 300"), "{page}");
    std::thread::sleep(Duration::from_millis(1300));
    let expired = session.call("result_query", json!({"id": id, "page": 2}));
    assert_eq!(expired["isError"], true);
    let words = expired["content"][0]["text"].as_str().unwrap();
    assert!(
        words.contains("expired") && words.contains("call rows again only if it is safe to repeat"),
        "{words}"
    );
}

#[test]
fn mistakes_of_a_model_are_explained() {
    let place = Place::new();
    let mut session = place.start(&[]);
    let id = session.keep_rows(300);
    for (arguments, words) in [
        (json!({"id": "rows-000000000000"}), "no result is kept under \"rows-000000000000\""),
        (json!({"id": "rows"}), "no result is kept under \"rows\""),
        (json!({"id": id, "jq": ".", "sql": "select 1"}), "jq and sql are two views"),
        (json!({"id": id, "sql": "select titel from t"}), "title"),
        (json!({"id": id, "jq": ".[0].titel | error"}), "jq"),
        (json!({"id": id, "cursor": "zzz"}), "not a cursor of this result"),
        (json!({"page": 1}), "id is missing"),
        (json!({"id": id, "jq": ".title"}), "title"),
        (json!({"id": "x".repeat(60_000)}), "no result is kept under"),
        (json!({"id": id, "y".repeat(60_000): 1}), "there is no argument"),
        (json!({"id": id, "lines": "z".repeat(60_000)}), "is not a span"),
    ] {
        let answer = session.call("result_query", arguments.clone());
        assert_eq!(answer["isError"], true, "{arguments} {answer}");
        let text = answer["content"][0]["text"].as_str().unwrap();
        assert!(text.contains(words) && text.len() < 3000, "{} bytes: {text}", text.len());
    }
    let uri = format!("ax://rows/{}?jq={}", &id[5..], "%2e".repeat(1500));
    let read = session.request("resources/read", json!({"uri": uri}));
    assert!(read.to_string().len() < 12_000, "{}", read.to_string().len());
}

/// A server that does not read its input delays neither deadlines nor the end.
#[test]
fn a_server_that_does_not_read() {
    let place = Place::new();
    let mut session = Session::command(&place.home(), &["--timeout", "1s"], &[], &["sleep", "60"]);
    let long = "x".repeat(45_000);
    let asked: Vec<u64> =
        (0..6).map(|_| session.ask("tools/call", json!({"name": long, "arguments": {}}))).collect();
    let mut answered: Vec<u64> = asked.iter().map(|_| session.message()["id"].as_u64().unwrap()).collect();
    answered.sort_unstable();
    assert_eq!(answered, asked);
    let started = Instant::now();
    session.end();
    assert!(started.elapsed() < Duration::from_secs(20), "it ends");
}

/// Requests that are open when the client closes its side are still answered, as they are without tidegate.
#[test]
fn a_client_that_only_asks_is_answered() {
    let place = Place::new();
    let server = crate::session::upstream();
    let requests = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "late", "arguments": {"seconds": 2.5}}}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "rows", "arguments": {"n": 900}}}),
    ];
    let lines: String = requests.iter().map(|request| format!("{request}\n")).collect();
    let outcome = tidegate_in(
        Some(&place.home()),
        &["run", "--", "python3", "-S", server.to_str().unwrap()],
        lines.as_bytes(),
    );
    let mut ids: Vec<u64> = outcome
        .text()
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["id"].as_u64().unwrap())
        .collect();
    ids.sort_unstable();
    assert_eq!((ids, outcome.code), (vec![1, 2], 0));
}

/// The last result of a server that exits right after it is not lost.
#[test]
fn a_server_that_ends_with_its_answer() {
    let place = Place::new();
    let server = "import json,sys\nm=json.loads(sys.stdin.readline())\nt='a line of text\\n'*2000000\n\
        sys.stdout.write(json.dumps({'jsonrpc':'2.0','id':m['id'],'result':{'content':[{'type':'text','text':t}]}})+'\\n')\n\
        sys.stdout.flush()\n";
    let mut session = Session::command(&place.home(), &[], &[], &["python3", "-c", server]);
    let answer = session.request("tools/call", json!({"name": "big", "arguments": {}}));
    assert!(
        answer["result"]["content"][0]["text"].as_str().unwrap().contains("Complete result:"),
        "{answer}"
    );
}

#[test]
fn commands_that_cannot_run() {
    let place = Place::new();
    let run = |arguments: &[&str]| tidegate_in(Some(&place.home()), &[&["run"], arguments].concat(), b"");
    let missing = run(&["--", "no-such-program"]);
    assert_eq!(missing.code, 3);
    assert!(
        missing.stderr.contains("there is no such program on the PATH; check that the command runs"),
        "{}",
        missing.stderr
    );
    let ends = run(&["--", "sh", "-c", "echo broken >&2; exit 4"]);
    assert_eq!(ends.code, 4);
    assert!(
        ends.stderr.contains("broken\n")
            && ends.stderr.contains("before it answered anything; run the command alone"),
        "{}",
        ends.stderr
    );
    let nothing = run(&[]);
    assert_eq!(nothing.code, 2);
    assert!(nothing.stderr.contains("COMMAND"), "{}", nothing.stderr);
    let config = place.folder.path().join("broken.toml");
    std::fs::write(&config, "[defaults]\nbudget = 5\n[sever]\n").unwrap();
    let broken = run(&["--config", config.to_str().unwrap(), "--", "true"]);
    assert_eq!(broken.code, 2);
    assert!(
        broken.stderr.contains("2 mistakes")
            && broken.stderr.contains("broken.toml:2:")
            && broken.stderr.contains("broken.toml:3:"),
        "{}",
        broken.stderr
    );
    let small = run(&["--budget", "10", "--", "true"]);
    assert_eq!(small.code, 2);
    let unknown = tidegate_in(Some(&place.home()), &["rum"], b"");
    assert_eq!(unknown.code, 2);
    assert!(unknown.stderr.contains("'run'"), "{}", unknown.stderr);
}
