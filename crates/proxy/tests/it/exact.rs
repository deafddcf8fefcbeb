//! Every byte of a kept result can be read exactly, in the bounded reads that its resource states.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use serde_json::{Value, json};
use tidegate_gate::policy::Rules;
use tidegate_gate::profile::ProfileRules;
use tidegate_gate::{Caller, Gate};
use tidegate_proxy::{Link, Mode};
use tidegate_testkit::make;

use crate::{call, gate, gate_of, link, result_of};

/// Reads a resource; returns its only contents, or the error.
fn read(link: &Link, uri: &str) -> Result<Value, Value> {
    let request = json!({"jsonrpc": "2.0", "id": 7, "method": "resources/read", "params": {"uri": uri}});
    let asked = link.from_client(request.to_string().into_bytes());
    let line = link.answer_locally(&asked.local[0]);
    let mut answer: Value = serde_json::from_slice(&line).unwrap();
    if answer["error"].is_object() {
        return Err(answer["error"].take());
    }
    let contents = answer["result"]["contents"].as_array_mut().unwrap();
    assert_eq!((contents.len(), contents[0]["uri"].as_str()), (1, Some(uri)));
    Ok(contents.remove(0))
}

/// The bytes of contents.
fn bytes(contents: &Value) -> Vec<u8> {
    match (contents["text"].as_str(), contents["blob"].as_str()) {
        (Some(text), None) => text.as_bytes().to_vec(),
        (None, Some(blob)) => STANDARD.decode(blob).unwrap(),
        other => panic!("{other:?}"),
    }
}

/// The address of the only result that a gate keeps.
fn address(gate: &Gate) -> String {
    let listed = gate.resources(&Caller::unknown(Vec::new()), None).unwrap();
    let listed: Value = serde_json::from_slice(&listed).unwrap();
    assert_eq!(listed["resources"].as_array().unwrap().len(), 1);
    listed["resources"][0]["uri"].as_str().unwrap().to_owned()
}

/// Follows the reads that a resource states, and joins them.
fn follow(link: &Link, address: &str, most: usize) -> Vec<u8> {
    let first = read(link, address).unwrap();
    let plan = &first["_meta"]["tidegate/whole"];
    let (reads, total) = (plan["reads"].as_u64().unwrap(), plan["bytes"].as_u64().unwrap());
    let words = first["text"].as_str().unwrap().lines().last().unwrap();
    let stated =
        if reads == 1 { "whole: one read, ".to_owned() } else { format!("whole: {reads} reads of ") };
    assert!(words.starts_with(&stated), "{words}");
    assert!(words.contains(&format!("exactly the {total} bytes")), "{words}");
    let mut joined = Vec::new();
    let mut next = plan["next"].as_str().map(str::to_owned);
    let mut done = 0;
    while let Some(uri) = next {
        let part = read(link, &uri).unwrap();
        assert!(part.to_string().len() + 64 <= most, "{} bytes", part.to_string().len());
        joined.extend(bytes(&part));
        next = part["_meta"]["tidegate/whole"]["next"].as_str().map(str::to_owned);
        done += 1;
    }
    assert_eq!(done, reads, "as many reads as were stated");
    joined
}

proptest! {
    #![proptest_config(tidegate_testkit::cases(400))]

    #[test]
    fn the_stated_reads_are_exactly_the_result(result in make::result(), small in any::<bool>()) {
        let rules = Rules { cap_tokens: small.then_some(600), ..Rules::default() };
        let gate = gate_of(Rules { line_tokens: Some(250), budget_tokens: Some(250), follow_up_tokens: Some(400), ..rules });
        let unknown = link(&gate, None, Mode::Shape);
        let answer = call(&unknown, &result, false);
        prop_assume!(result_of(&answer) != result);
        let address = address(&gate);
        prop_assert_eq!(&follow(&unknown, &address, 10_240), &result);
        let program = ProfileRules { program: Some(true), ..ProfileRules::default() };
        let whole = read(&link(&gate, Some(program), Mode::Shape), &address).unwrap();
        prop_assert_eq!(bytes(&whole), result, "a program gets it in one read");
    }
}

#[test]
fn bytes_that_are_not_text_are_a_blob() {
    let gate = gate();
    let link = link(&gate, None, Mode::Shape);
    let hidden = make::text_result(&"a \u{202e}word\u{7f} of 日本語, \"quoted\" ".repeat(2000));
    call(&link, &hidden, false);
    assert_eq!(follow(&link, &address(&gate), 10_240), hidden);
}

#[test]
fn a_range_is_exactly_its_bytes_or_refused() {
    let gate = gate();
    let link = link(&gate, None, Mode::Shape);
    let result = make::text_result(&"a line of text\n".repeat(9000));
    call(&link, &result, false);
    let address = address(&gate);
    let part = read(&link, &format!("{address}?range=10-19")).unwrap();
    assert_eq!(part["text"].as_str().unwrap().as_bytes(), &result[10..20]);
    let last = result.len() - 1;
    let part = read(&link, &format!("{address}?range={last}-{}", last + 500)).unwrap();
    assert_eq!(bytes(&part), &result[last..]);
    assert_eq!(part["_meta"]["tidegate/whole"]["next"], Value::Null);
    for (range, words) in [
        ("0-", format!("one read returns at most 7296: read {address}?range=0-7295")),
        ("100-90000", format!("one read returns at most 7296: read {address}?range=100-7395")),
        ("999999999-", format!("the result has {} bytes", result.len())),
    ] {
        let error = read(&link, &format!("{address}?range={range}")).unwrap_err();
        assert!(error["message"].as_str().unwrap().contains(&words), "{error}");
    }
    // `full` above the cap is its beginning, and names the reads as well.
    let full = read(&link, &format!("{address}?mode=full")).unwrap();
    assert!(full["text"].as_str().unwrap().lines().last().unwrap().starts_with("whole: "), "{full}");
}
