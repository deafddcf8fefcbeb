//! `tidegate demo`: what it says about the example servers is what comes of them.

use std::process::Command;

use serde_json::Value;

fn demo(arguments: &[&str]) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
    let output = command.args(["demo", "--format", "json"]).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Three answers within the budget, which together are a small part of the flood.
fn assert_saved(server: &Value, flood: std::ops::Range<u64>, least_percent: f64) {
    assert!(flood.contains(&server["raw_tokens"].as_u64().unwrap()), "{}", server["raw_tokens"]);
    let exchanges = server["exchanges"].as_array().unwrap();
    assert_eq!(exchanges.len(), 3);
    for exchange in exchanges {
        let tokens = exchange["tokens"].as_u64().unwrap();
        assert!((1..=2000).contains(&tokens), "{exchange}");
    }
    assert!(server["saved_percent"].as_f64().unwrap() >= least_percent, "{}", server["saved_percent"]);
}

#[test]
fn a_server_behind_tidegate() {
    let shown = demo(&[]);
    assert_eq!(shown["server"], "articles");
    assert_saved(&shown, 458_000..506_000, 99.0);
    let answers: Vec<&str> =
        shown["exchanges"].as_array().unwrap().iter().map(|one| one["text"].as_str().unwrap()).collect();
    assert!(answers[0].starts_with("list_articles returned 840 rows"), "{}", answers[0]);
    assert!(
        answers[1].contains("\nsite,author,articles,words\ngarden,Hugo Almeida,8,2016\n"),
        "{}",
        answers[1]
    );
    // The longest article comes first.
    assert!(answers[2].contains(r#"[{"slug":"chisel-set-727","#), "{}", answers[2]);
}

#[test]
fn the_four_with_tidegate_inside() {
    let shown = demo(&["--all"]);
    let servers = shown["servers"].as_array().unwrap();
    let names: Vec<&str> = servers.iter().map(|server| server["server"].as_str().unwrap()).collect();
    assert_eq!(names, ["orbit", "inventory", "articles", "bugtrace"]);
    assert_saved(&servers[0], 57_000..69_000, 90.0);
    assert_saved(&servers[1], 400_000..550_000, 99.0);
    assert_saved(&servers[2], 458_000..506_000, 99.0);
    assert_saved(&servers[3], 5_000..100_000, 90.0);
}
