//! What whoever runs `tidegate gateway` can see of it: logs and traces.

use serde_json::{Value, json};

use crate::gateway::{Gateway, repeat, section};
use crate::gateway_access::{Caller, key};

#[test]
fn each_line_of_a_log_is_a_json_object() {
    let home = tempfile::tempdir().unwrap();
    let (ada, caller) = key(home.path(), "ada");
    let config = format!(
        "[gateway]\nlog_format = \"json\"\naudit_file = \"audit.jsonl\"\n{caller}{}[upstream.gone]\nurl = \"http://127.0.0.1:9/mcp\"\n",
        section("one", "")
    );
    let gateway = Gateway::start(home.path(), &config);
    let mut ada = Caller::new(&gateway, &ada);
    let dead = ada.text("one__die", json!({"code": 3}));
    assert!(dead.contains("ended"), "{dead}");
    let lines = || -> Vec<Value> {
        let said = gateway.said.lock().unwrap().clone();
        said.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))).collect()
    };
    let has = |upstream: Value, level: &str, message: &str| {
        lines().iter().any(|line| {
            line["upstream"] == upstream
                && line["level"] == level
                && line["message"].as_str().unwrap().contains(message)
        })
    };
    assert!(has(Value::Null, "info", "listening on http://127.0.0.1:"), "{:?}", lines());
    repeat("the server that is gone has a line", || has(json!("gone"), "warn", "cannot be read"));
    repeat("so has what a server writes to stderr", || has(json!("one"), "info", "dying as told"));
    let started = std::process::Command::new("kill").args(["-HUP", &gateway.child.id().to_string()]).status();
    assert!(started.unwrap().success());
    repeat("the configuration is read again", || {
        has(Value::Null, "info", "the configuration was read again")
    });
    for line in lines() {
        assert!(line["time"].as_str().unwrap().ends_with('Z'), "{line}");
        assert!(!line["message"].as_str().unwrap().starts_with("tidegate: "), "{line}");
    }
    let audit = std::fs::read_to_string(home.path().join("audit.jsonl")).unwrap();
    let line: Value = serde_json::from_str(audit.lines().next().unwrap()).unwrap();
    assert_eq!((&line["event"], &line["caller"]), (&json!("request"), &json!("key:ada")), "{line}");
}
