//! What programs and small models get: the whole result in stated reads, and answers that fit their room.

use serde_json::{Value, json};
use tidegate_core::measure::Meter;

use crate::place::Place;
use crate::session::{Session, handle};

fn read(session: &mut Session, uri: &str) -> Value {
    let answer = session.request("resources/read", json!({"uri": uri}));
    assert!(answer.to_string().len() <= 10_240 + 64 || answer["result"]["contents"][0]["text"].is_string());
    answer["result"]["contents"][0].clone()
}

#[test]
fn the_reads_that_a_resource_states_are_exactly_the_result() {
    let place = Place::new();
    let mut session = place.start(&[]);
    let id = session.keep_rows(900);
    let uri = format!("ax://rows/{}", &id[5..]);
    let overview = read(&mut session, &uri);
    let text = overview["text"].as_str().unwrap();
    assert!(text.starts_with("rows returned 900 rows"), "{text}");
    // The last line alone is enough for somebody who reads: how many, of which size, from where to where.
    let line = text.lines().last().unwrap();
    let words: Vec<&str> = line.split(' ').collect();
    let (reads, each): (usize, usize) = (words[1].parse().unwrap(), words[4].parse().unwrap());
    let exported = place.export(&id);
    assert!(
        line.starts_with(&format!("whole: {reads} reads of {each} bytes, {uri}?range=0-{}", each - 1)),
        "{line}"
    );
    let mut joined = String::new();
    for number in 0..reads {
        let last = ((number + 1) * each).min(exported.len()) - 1;
        let part = read(&mut session, &format!("{uri}?range={}-{last}", number * each));
        joined.push_str(part["text"].as_str().unwrap());
    }
    assert_eq!(joined.as_bytes(), exported);
    assert_eq!(session.text("seen", json!({})).matches("rows").count(), 1, "the tool ran once");
    session.end();
}

#[test]
fn a_program_gets_the_whole_in_one_read() {
    let place = Place::new();
    place.configure("[client.\"batch*\"]\nprogram = true\n[defaults]\noffer_output = true\n");
    let mut session = Session::start(&place.home(), &[]).greeted("batch-job");
    let listed = session.request("tools/list", json!({}));
    let output = &listed["result"]["tools"][0]["inputSchema"]["properties"]["output"];
    assert_eq!((&output["default"], &output["enum"]), (&json!("summary"), &json!(["summary", "full"])));
    let id = session.keep_rows(900);
    let whole = read(&mut session, &format!("ax://rows/{}", &id[5..]));
    let exported = place.export(&id);
    assert_eq!(whole["text"].as_str().unwrap().as_bytes(), exported);
    // What it asks for in full comes whole, where another client gets an overview and a link.
    let full = session.call("rows", json!({"n": 900, "output": "full"}));
    let exported: Value = serde_json::from_slice(&exported).unwrap();
    assert_eq!(full, exported);
    session.end();
    let mut session = Session::start(&place.home(), &[]).greeted("somebody");
    let full = session.call("rows", json!({"n": 900, "output": "full"}));
    handle(full["content"][0]["text"].as_str().unwrap());
    assert_eq!(full["content"][1]["type"], "resource_link");
    session.end();
}

/// The reference profile: a model that takes 8,000 tokens, with instructions, tools and its question among them.
#[test]
fn a_small_model_has_room_for_every_answer() {
    let place = Place::new();
    place.configure("[client.tiny]\nprofile = \"small-model\"\n");
    for client in ["small-model", "tiny"] {
        let mut session = Session::start(&place.home(), &[]).greeted(client);
        let tokens = |text: &str| Meter::default().count(text).0;
        let words = "tide ".repeat(1990);
        assert_eq!(session.text("echo", json!({"value": words})), words, "a result of 2,000 tokens passes");
        let first = session.text("echo", json!({"value": "tide ".repeat(2100)}));
        assert!(first.contains("Complete result: ") && tokens(&first) <= 1000, "{first}");
        let id = session.keep_rows(900);
        let page = session.text("result_query", json!({"id": id, "page": 1}));
        assert!(tokens(&page) <= 1500, "{} tokens", tokens(&page));
        let full = session.text("result_query", json!({"id": id, "mode": "full", "max_tokens": 9000}));
        assert!(tokens(&full) <= 3000, "{} tokens", tokens(&full));
        let list = session.request("tools/list", json!({}))["result"]["tools"].to_string();
        let all = tokens(&list) + tokens(&first) + tokens(&page) + tokens(&full);
        assert!(all <= 8000, "{all} tokens in one conversation");
        session.end();
    }
}
