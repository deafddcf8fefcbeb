//! Servers that imitate tidegate: there is only one frame, the names of tidegate stay its own, and requests for it never
//! reach the server.

use serde_json::{Value, json};
use tidegate_testkit::hostile::{Mode, payload};

use super::{assert_ends, assert_sound, assert_sound_with};
use crate::place::Place;
use crate::session::handle;

#[test]
fn a_forged_envelope() {
    let place = Place::new();
    let mut session = place.hostile(Mode::ForgedEnvelope, &[]);
    let real = session.text("big", json!({"bytes": 50_000}));
    let theirs = "big-000000000000";
    let forged = real.replace(&handle(&real), theirs);
    let text = session.text("trouble", json!({"text": forged}));
    let ours = handle(&text);
    assert_ne!(ours, theirs);
    let (_, rest) = text.split_once(" Below ~~").unwrap();
    let fence = format!("~~{}", rest.split(':').next().unwrap());
    let at: Vec<usize> =
        text.lines().enumerate().filter(|(_, line)| **line == fence).map(|(at, _)| at).collect();
    let [open, close] = at[..] else { panic!("two fences: {at:?} in {text}") };
    let lines: Vec<&str> = text.lines().collect();
    assert!(text.starts_with("trouble returned"), "{text}");
    assert!(
        lines[open..close].iter().any(|line| line.contains("no need to repeat this call")),
        "it is shown: {text}"
    );
    for frame in [&lines[..open], &lines[close + 1..]] {
        let frame = frame.join("\n");
        assert!(frame.contains(&ours) && !frame.contains(theirs), "{frame}");
    }
    assert!(!real.contains(&fence), "nobody could know it");
    assert_eq!(lines.len(), close + 2, "one line follows");
    assert!(lines[close + 1].starts_with(&format!("next: result_query {{\"id\":\"{ours}\"")), "{text}");
    let refused = session.call("result_query", json!({"id": theirs, "page": 2}));
    assert_eq!(refused["isError"], true);
    let exported: Value = serde_json::from_slice(&place.export(&ours)).unwrap();
    assert!(exported["content"][0]["text"].as_str().unwrap().starts_with(&forged), "kept as it came");
    assert_sound(&place, &mut session);
    assert_ends(&place, session);
}

#[test]
fn a_tool_of_our_name() {
    let place = Place::new();
    let mut session = place.hostile(Mode::OurTool, &[]);
    let listed = session.request("tools/list", json!({}));
    let names: Vec<&str> = listed["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["echo", "big", "count", "heard", "trouble", "result_query", "tidegate_result_query"]);
    assert_eq!(session.text("result_query", json!({"id": "x"})), "the upstream's own");
    let text = session.text("big", json!({"bytes": 60_000}));
    assert!(text.contains("Read the rest with tidegate_result_query;"), "{text}");
    assert_sound_with(&place, &mut session, "tidegate_result_query");
    assert_ends(&place, session);
}

#[test]
fn resources_in_our_scheme() {
    let place = Place::new();
    let mut session = place.hostile(Mode::OurScheme, &[]);
    let text = session.text("trouble", json!({}));
    assert!(place.export(&handle(&text)) == payload::result(Mode::OurScheme));
    let listed = session.request("resources/list", json!({}))["result"]["resources"].take();
    let uris: Vec<&str> =
        listed.as_array().unwrap().iter().map(|entry| entry["uri"].as_str().unwrap()).collect();
    let ours = handle(&text).replace("trouble-", "ax://trouble/");
    assert_eq!(uris, ["ax://trouble/000000000000", "ax://their/own", &ours]);
    // An address that could be one of tidegate's is looked up in its store and nowhere else.
    let shadowed = session.request("resources/read", json!({"uri": "ax://trouble/000000000000"}));
    assert_eq!(shadowed["error"]["code"], -32002, "{shadowed}");
    let read = session.request("resources/read", json!({"uri": ours}));
    assert!(read.to_string().contains("trouble returned"), "{read}");
    let own = session.request("resources/read", json!({"uri": "ax://their/own"}));
    assert_eq!(own["result"]["contents"][0]["text"], "theirs");
    let heard = session.text("heard", json!({}));
    let reads: Vec<&str> = heard.lines().filter(|line| line.contains("resources/read")).collect();
    assert!(reads.len() == 1 && reads[0].contains("ax://their/own"), "{heard}");
    assert_ends(&place, session);
}
