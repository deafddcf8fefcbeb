//! `tidegate demo`: the bundled server before and after, through the real proxy.

use std::process::Command;

use serde_json::Value;

#[test]
fn three_answers_cost_a_fraction_of_the_result() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
    let output = command.args(["demo", "--format", "json"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let demo: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!((100_000..300_000).contains(&demo["raw_tokens"].as_u64().unwrap()), "{}", demo["raw_tokens"]);
    assert!(demo["saved_percent"].as_f64().unwrap() >= 95.0, "{}", demo["saved_percent"]);
    let exchanges = demo["exchanges"].as_array().unwrap();
    assert_eq!(exchanges.len(), 3);
    for (exchange, most) in exchanges.iter().zip([1000, 2000, 2000]) {
        assert!((1..=most).contains(&exchange["tokens"].as_u64().unwrap()), "{exchange}");
    }
    let answers: Vec<&str> = exchanges.iter().map(|one| one["text"].as_str().unwrap()).collect();
    assert!(answers[0].starts_with("list_tickets returned 420 rows"), "{}", answers[0]);
    assert!(answers[1].contains("\nproduct,open,urgent,unassigned\n"), "{}", answers[1]);
    assert!(answers[2].contains(r#"[{"id":"T-"#), "{}", answers[2]);
}

#[test]
fn the_text_ends_with_a_table() {
    let output = Command::new(env!("CARGO_BIN_EXE_tidegate")).arg("demo").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("Without tidegate, list_tickets puts "), "{text}");
    let table: Vec<&str> = text.lines().rev().take(2).collect();
    assert!(table[0].starts_with("list_tickets ") && table[0].ends_with(" %"), "{text}");
    assert!(table[1].starts_with("tool "), "{text}");
}
