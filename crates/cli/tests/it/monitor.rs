//! What `tidegate run` says about calls on stderr, and that it is what a client counts.

use serde_json::{Value, json};
use tidegate_core::measure::{Meter, cost};
use tidegate_core::payload::Payload;

use crate::place::Place;
use crate::session::{Session, handle};
use crate::tidegate_in;

/// Returns bytes and tokens of a result as it came over the wire.
fn measured(line: &[u8]) -> (u64, u64) {
    let line = String::from_utf8_lossy(line).into_owned();
    let result = line.split_once("\"result\":").unwrap().1.trim_start().strip_suffix('}').unwrap();
    let bytes = result.as_bytes();
    let cost = cost(&Payload::read_result(&bytes).unwrap(), &Meter::default()).unwrap();
    (cost.bytes.0, cost.tokens.0)
}

#[test]
fn every_call_is_a_line_with_the_figures_of_the_client() {
    for format in ["--log-calls", "--log-calls=json"] {
        let place = Place::new();
        place.configure("[server.upstream.tool.bugs]\nstyle = \"probe\"\n");
        let mut session = place.start(&[format]);
        session.request("tools/list", json!({}));
        let mut counted = Vec::new();
        let mut call = |tool: &str, arguments: Value| {
            session.ask("tools/call", json!({"name": tool, "arguments": arguments}));
            let line = session.line().unwrap();
            counted.push(measured(&line));
            let message: Value = serde_json::from_slice(&line).unwrap();
            message["result"]["content"][0]["text"].as_str().unwrap().to_owned()
        };
        call("echo", json!({"value": "small"}));
        let overview = call("rows", json!({"n": 400}));
        call("result_query", json!({"id": handle(&overview), "page": 2}));
        call("result_query", json!({"id": "rows-000000000000"}));
        let probe: Value = serde_json::from_str(&call("bugs", json!({"n": 300}))).unwrap();
        call("bugs", json!({"continuation_token": probe["continuation_token"]}));
        call("bugs", json!({"continuation_token": "x"}));
        call("bugs", json!({"n": 300, "mode": "nonsense"}));
        let (_, stderr) = session.end();
        let field = |line: &str, name: &str| -> u64 {
            let value = match serde_json::from_str::<Value>(line) {
                Ok(json) => json[name].to_string(),
                Err(_) => {
                    line.split_once(&format!(" {name}=")).unwrap().1.split(' ').next().unwrap().to_owned()
                }
            };
            value.parse().unwrap_or_else(|_| panic!("{name} in {line}"))
        };
        let lines =
            stderr.lines().filter(|line| line.contains("sent_tokens") && !line.contains("tools/list"));
        let mut logged: Vec<(u64, u64)> =
            lines.map(|line| (field(line, "sent_bytes"), field(line, "sent_tokens"))).collect();
        // A result that passes is counted in the background.
        logged.sort_unstable();
        counted.sort_unstable();
        assert_eq!(logged, counted, "{stderr}");
        let stats = tidegate_in(Some(&place.home()), &["stats", "--format", "json"], b"");
        let stats: Value = serde_json::from_slice(&stats.stdout).unwrap();
        let sum = |of: fn(&(u64, u64)) -> u64| counted.iter().map(of).sum::<u64>();
        assert_eq!(
            (&stats["sent_bytes"], &stats["sent_tokens"]),
            (&json!(sum(|c| c.0)), &json!(sum(|c| c.1)))
        );
        assert_eq!((&stats["refused"], &stats["calls"]), (&json!(1), &json!(3)));
        assert!(stats["budget_used_percent_p50"].as_u64().unwrap() <= 100, "{stats}");
    }
}

#[test]
fn an_answer_above_its_limit_is_reported_and_fails_ci() {
    let place = Place::new();
    // A client that takes more than 10 KB.
    let mut session =
        Session::start(&place.home(), &["--line", "9000", "--budget", "9000"]).greeted("opencode");
    for _ in 0..2 {
        session.text("echo", json!({"value": "words and words ".repeat(1000)}));
    }
    let (_, stderr) = session.end();
    let alerts: Vec<&str> = stderr.lines().filter(|line| line.starts_with("tidegate: alert: ")).collect();
    assert_eq!(alerts.len(), 3, "{stderr}");
    assert!(alerts[0].contains("an answer of echo (upstream) has 16"), "{stderr}");
    assert!(alerts.iter().any(|alert| alert.contains("above its goal of 25600")), "{stderr}");
    let stats = |arguments: &[&str]| tidegate_in(Some(&place.home()), &[&["stats"], arguments].concat(), b"");
    assert_eq!((stats(&[]).code, stats(&["--fail-above=20000"]).code), (0, 0));
    let failed = stats(&["--fail-above"]);
    assert_eq!(failed.code, 1);
    assert!(failed.stderr.contains("bytes, above 10240"), "{}", failed.stderr);
    assert!(failed.text().contains("over 10 KB"), "the figures are shown all the same");
}

/// A client of a server with the gate inside that counts what it is sent.
struct RecordingClient {
    session: Session,
    bytes: u64,
    tokens: u64,
}

impl RecordingClient {
    fn start(place: &Place, era: &str, name: &str, arguments: &[&str]) -> Self {
        let mut session = Session::example(&place.home(), name, arguments);
        if era == "2026-07-28" {
            session.meta = Some(json!({
                "io.modelcontextprotocol/protocolVersion": era,
                "io.modelcontextprotocol/clientInfo": {"name": "recorder", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            }));
        } else {
            session = session.greeted("recorder");
            session.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        }
        Self { session, bytes: 0, tokens: 0 }
    }

    /// Calls a tool, counts the result, and returns its text as JSON, where it is JSON.
    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.session.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        let line = self.session.line().unwrap();
        let (bytes, tokens) = measured(&line);
        self.bytes += bytes;
        self.tokens += tokens;
        let message: Value = serde_json::from_slice(&line).unwrap();
        let text = message["result"]["content"][0]["text"].as_str().unwrap_or_default();
        serde_json::from_str(text).unwrap_or_default()
    }

    /// Reads a resource, and counts its text.
    fn read(&mut self, uri: &Value) {
        self.session.ask("resources/read", json!({"uri": uri}));
        let line = self.session.line().unwrap();
        let message: Value = serde_json::from_slice(&line).unwrap();
        let text = message["result"]["contents"][0]["text"].as_str().unwrap_or_else(|| panic!("{message}"));
        self.tokens += Meter::default().count(text).0;
        let line = String::from_utf8(line).unwrap();
        let result = line.split_once("\"result\":").unwrap().1.strip_suffix('}').unwrap();
        self.bytes += result.len() as u64;
    }
}

/// A scripted run with the servers of the examples: what `tidegate stats` tells is what the client counted.
#[test]
fn figures_of_servers_with_the_gate_inside_are_those_of_their_client() {
    for era in ["2025-11-25", "2026-07-28"] {
        let place = Place::new();
        let tree = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut bugtrace =
            RecordingClient::start(&place, era, "bugtrace", &["--root", tree.to_str().unwrap()]);
        let scan = bugtrace.call("bugfix_scan", json!({}));
        bugtrace.read(&scan["artifactRef"]);
        bugtrace.call("result_query", json!({"id": scan["artifactRef"], "page": 1}));
        bugtrace.call("result_query", json!({"id": "bugfix-000000000000"}));
        let mut page = bugtrace.call("refactor_list", json!({"limit": 3}));
        while let Some(cursor) = page["nextCursor"].as_str().map(str::to_owned) {
            page = bugtrace.call("refactor_list", json!({"limit": 10, "cursor": cursor}));
        }
        for (tool, arguments) in [
            ("trace_get", json!({})),
            ("trace_analyze", json!({})),
            ("agent_run", json!({"agent": "reviewer"})),
            ("workflow_run", json!({"workflow": "nightly"})),
            ("memory_store", json!({"key": "k", "value": "words ".repeat(400)})),
            ("memory_retrieve", json!({"key": "k"})),
            ("session_status", json!({})),
            ("bugfix_list", json!({"severity": "none"})),
            ("trace_get", json!({"trace": 7})),
        ] {
            bugtrace.call(tool, arguments);
        }
        let mut articles = RecordingClient::start(&place, era, "articles", &[]);
        let page = articles.call("list_articles", json!({}));
        articles.call("list_articles", json!({"cursor": page["nextCursor"], "limit": 5}));
        let slug = page["items"][0]["slug"].clone();
        for (tool, arguments) in [
            ("get_article", json!({"slug": slug})),
            ("summarize_article", json!({"slug": slug})),
            ("get_article", json!({"slugg": slug})),
            ("list_articles", json!({"fields": ["excerpt", "tags"], "limit": 20})),
        ] {
            articles.call(tool, arguments);
        }
        let counted = (bugtrace.bytes + articles.bytes, bugtrace.tokens + articles.tokens);
        let (_, said) = bugtrace.session.end();
        articles.session.end();
        let stats = tidegate_in(Some(&place.home()), &["stats", "--format", "json"], b"");
        let stats: Value = serde_json::from_slice(&stats.stdout).unwrap();
        let told = (stats["sent_bytes"].as_u64().unwrap(), stats["sent_tokens"].as_u64().unwrap());
        assert_eq!(told, counted, "{era}: {stats}\n{said}");
        assert!(stats["artifacts_of_tools"].as_u64().unwrap() >= 6, "{stats}");
        assert_eq!(stats["follow_ups"], 3, "{stats}");
        // The totals on stderr are the same as those of the ledger.
        let totals = said.lines().find(|line| line.contains("session: ")).unwrap();
        let kept = format!(
            "{} results kept",
            stats["artifacts_of_tools"].as_u64().unwrap() + stats["shaped"].as_u64().unwrap()
        );
        assert!(totals.contains(&kept) || stats["shaped"] != 0, "{totals} {kept}");
    }
}
