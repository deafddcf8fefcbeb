//! The bundled server: an issue tracker whose list tool returns everything, as many do.

use std::io::{self, BufRead, Write};

use serde_json::{Value, json};

/// The hidden subcommand under which the server is started.
pub(crate) const SUBCOMMAND: &str = "__demo-server";

const ISSUES: u64 = 812;
const AUTHORS: [&str; 9] =
    ["ada", "grace", "linus", "margaret", "dennis", "barbara", "ken", "frances", "edsger"];
const AREAS: [&str; 7] = ["parser", "scheduler", "network", "storage", "cli", "docs", "auth"];
const PROBLEMS: [&str; 8] = [
    "crashes on empty input",
    "leaks a file handle",
    "is slow with many entries",
    "ignores the timeout",
    "reports the wrong line",
    "needs an example",
    "fails on Windows paths",
    "loses the last record",
];

/// Serves on stdin and stdout until the input ends; returns the exit code.
pub(crate) fn main() -> u8 {
    let mut calls = 0_u64;
    let mut stdout = io::stdout().lock();
    for line in io::stdin().lock().lines().map_while(Result::ok) {
        let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
        let Some(id) = message.get("id") else { continue };
        let answer = match answer(&message, &mut calls) {
            Some(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            None => {
                json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32601, "message": "not found" } })
            }
        };
        if writeln!(stdout, "{answer}").and_then(|()| stdout.flush()).is_err() {
            return 1;
        }
    }
    0
}

fn answer(message: &Value, calls: &mut u64) -> Option<Value> {
    let text = |text: String| Some(json!({ "content": [{ "type": "text", "text": text }] }));
    let tool = |name: &str, description: &str| json!({ "name": name, "description": description, "inputSchema": { "type": "object" } });
    match (message["method"].as_str()?, message["params"]["name"].as_str()) {
        ("initialize", _) => Some(json!({
            "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "tidegate-demo-server", "version": env!("CARGO_PKG_VERSION") },
        })),
        ("ping", _) => Some(json!({})),
        ("tools/list", _) => Some(json!({ "tools": [
            tool("list_issues", "Lists all issues"),
            tool("calls", "Says how often list_issues was called"),
        ] })),
        ("tools/call", Some("list_issues")) => {
            *calls += 1;
            let issues: Vec<Value> = (0..ISSUES).map(issue).collect();
            text(Value::Array(issues).to_string())
        }
        ("tools/call", Some("calls")) => text(calls.to_string()),
        _ => None,
    }
}

/// One fat row; the same each time.
fn issue(number: u64) -> Value {
    // A fixed sequence that looks like chance.
    let pick = |salt: u64, count: u64| {
        (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(salt).rotate_left(23) % count
    };
    let of =
        |words: &[&'static str], salt| words[usize::try_from(pick(salt, words.len() as u64)).unwrap_or(0)];
    let (author, area, problem) = (of(&AUTHORS, 1), of(&AREAS, 2), of(&PROBLEMS, 3));
    let severe = number % 97 == 13;
    let title =
        if severe { format!("{area}: data loss when it {problem}") } else { format!("{area} {problem}") };
    let day = 1 + pick(4, 28);
    let month = 1 + pick(5, 12);
    let body = format!(
        "Steps to reproduce: run the {area} with the configuration attached below and wait. Expected: it works. \
         Seen: it {problem}. This happens in about {} of 100 runs, on version 2.{}.{}. A log is attached. ",
        1 + pick(6, 99),
        pick(7, 9),
        pick(8, 30)
    );
    json!({
        "number": 4000 + number,
        "title": title,
        "state": if pick(9, 5) == 0 { "closed" } else { "open" },
        "severity": if severe { "critical" } else { of(&["low", "medium", "high"], 10) },
        "author": author,
        "assignee": if pick(11, 3) == 0 { Value::Null } else { of(&AUTHORS, 12).into() },
        "labels": [area, of(&["bug", "feature", "question"], 13)],
        "comments": pick(14, 40),
        "created_at": format!("2026-{month:02}-{day:02}T{:02}:15:00Z", pick(15, 24)),
        "url": format!("https://issues.example/{}", 4000 + number),
        "body": body.repeat(2),
    })
}
