//! The styles in front of a server that knows nothing of them.

use serde_json::{Value, json};

use crate::place::Place;
use crate::session::Session;

const GONE: &str = "Continuation token expired or not found. Re-invoke without continuation_token to start a new negotiation.";

/// Calls a tool and returns its text as JSON.
fn told(session: &mut Session, tool: &str, arguments: Value) -> Value {
    let text = session.text(tool, arguments);
    assert!(text.len() <= 10_240, "{} bytes", text.len());
    serde_json::from_str(&text).unwrap_or_else(|_| panic!("no JSON: {text}"))
}

/// Calls a tool that refuses, and returns what it says.
fn refused(session: &mut Session, tool: &str, arguments: Value) -> String {
    let answer = session.call(tool, arguments);
    assert_eq!(answer["isError"], true, "{answer}");
    let text: Value = serde_json::from_str(answer["content"][0]["text"].as_str().unwrap()).unwrap();
    text["error"].as_str().unwrap().to_owned()
}

fn runs(session: &mut Session, tool: &str) -> usize {
    let seen: Vec<(Option<String>, Value)> = serde_json::from_str(&session.text("seen", json!({}))).unwrap();
    seen.iter().filter(|(_, name)| name == tool).count()
}

#[test]
fn a_probe_is_fetched_in_every_mode_and_run_once() {
    let place = Place::new();
    place.configure("[server.upstream.tool.rows]\nstyle = \"probe\"\n");
    let mut session = place.start(&[]);
    session.request("tools/list", json!({}));
    let probe = told(&mut session, "rows", json!({"n": 430}));
    let keys: Vec<&String> = probe.as_object().unwrap().keys().collect();
    assert_eq!(keys.len(), 4, "{probe}");
    assert_eq!(probe["preview"].as_str().unwrap().chars().count(), 200);
    assert!(probe["total_size"].as_u64().unwrap() > 50_000);
    assert_eq!(probe["available_modes"], json!(["summary", "paginated", "filtered", "full"]));
    let token = probe["continuation_token"].clone();

    let summary = told(&mut session, "rows", json!({"continuation_token": token}));
    assert_eq!(summary["summary"].as_array().unwrap().len(), 5);
    assert_eq!((&summary["total"], &summary["has_more"]), (&json!(430), &json!(true)));
    assert_eq!(summary["summary"][0]["note"].as_str().unwrap().chars().count(), 103, "cut at 100");

    let page = told(
        &mut session,
        "rows",
        json!({"continuation_token": token, "mode": "paginated", "page": 2, "page_size": 25}),
    );
    assert_eq!(page["items"].as_array().unwrap().len(), 25);
    assert_eq!(page["items"][0]["number"], 25);
    assert_eq!(
        [&page["page"], &page["page_size"], &page["total"], &page["has_more"]],
        [&json!(2), &json!(25), &json!(430), &json!(true)]
    );
    let usual = told(&mut session, "rows", json!({"continuation_token": token, "mode": "paginated"}));
    assert_eq!((&usual["page"], &usual["page_size"]), (&json!(1), &json!(20)));
    let last =
        told(&mut session, "rows", json!({"continuation_token": token, "mode": "paginated", "page": 22}));
    assert_eq!((last["items"].as_array().unwrap().len(), &last["has_more"]), (10, &json!(false)));

    let filtered =
        json!({"continuation_token": token, "mode": "filtered", "filter_keys": ["number", "state"]});
    let filtered = told(&mut session, "rows", filtered);
    assert_eq!(filtered["items"][3], json!({"number": 3, "state": "open"}));

    let full = told(&mut session, "rows", json!({"continuation_token": token, "mode": "full"}));
    assert!(full["note"].as_str().unwrap().contains("above the cap of 10000 tokens"), "{full}");
    assert_eq!(full["total"], 430);
    let rows = followed(&mut session, "rows", full);
    assert!(rows.iter().enumerate().all(|(at, row)| row["number"] == at), "every row, once and in order");
    assert_eq!((rows.len(), runs(&mut session, "rows")), (430, 1));
}

/// Makes the calls that an answer to `full` names, and joins the items of all pages.
fn followed(session: &mut Session, tool: &str, first: Value) -> Vec<Value> {
    let note = first["note"].as_str().unwrap().to_owned();
    let mut items = first["items"].as_array().unwrap().clone();
    let (mut call, pages) = (first["next_call"].clone(), note.rsplit(' ').next().unwrap().parse().unwrap());
    assert!(note.contains(&format!("; {} calls give the rest: ", pages - 1)), "{note}");
    for page in 2..=pages {
        call["page"] = json!(page);
        let next = told(session, tool, call.clone());
        assert!(next["left_out"].is_null() && next["cut"].is_null(), "every page fits: {next}");
        items.extend(next["items"].as_array().unwrap().iter().cloned());
        assert_eq!(next["has_more"], page < pages, "{next}");
    }
    items
}

#[test]
fn full_above_the_cap_names_the_calls_that_give_the_rest() {
    let place = Place::new();
    place.configure(
        "[server.upstream.tool.exact]\nstyle = \"probe\"\npage_size = 50\n\
         [server.upstream.tool.bugs]\nstyle = \"probe\"\nfull_cap_tokens = 100000\n",
    );
    let mut session = place.start(&[]);
    let listed = session.request("tools/list", json!({}))["result"]["tools"].take();
    let size = |tool: &str| {
        let listed = listed.as_array().unwrap().iter().find(|listed| listed["name"] == tool).unwrap();
        listed["inputSchema"]["properties"]["page_size"]["description"].as_str().unwrap().to_owned()
    };
    assert_eq!(
        (size("exact"), size("bugs")),
        ("Items of a page; 50 if absent".into(), "Items of a page; 20 if absent".into())
    );
    // Later items are much larger than the first ones, so that a page of 50 fits at the beginning only.
    let items: Vec<Value> =
        (0..200).map(|n| json!({"n": n, "words": "w ".repeat(if n < 60 { 1 } else { 200 })})).collect();
    let text = serde_json::to_string(&items).unwrap();
    let result = json!({"content": [{"type": "text", "text": text}]}).to_string();
    let probe = told(&mut session, "exact", json!({"result": result}));
    let full = json!({"continuation_token": probe["continuation_token"], "mode": "full"});
    let full = told(&mut session, "exact", full);
    assert_eq!(followed(&mut session, "exact", full), items);
    // One value that is not a list is read by its bytes.
    let value =
        json!({"content": [{"type": "text", "text": json!("x".repeat(90_000)).to_string()}]}).to_string();
    let probe = told(&mut session, "exact", json!({"result": value}));
    let full = told(
        &mut session,
        "exact",
        json!({"continuation_token": probe["continuation_token"], "mode": "full"}),
    );
    assert!(
        full["note"].as_str().unwrap().contains("; whole: 13 reads of 7296 bytes, ax://exact/"),
        "{full}"
    );
    // A cap of its own raises what comes at once, for every client.
    let probe = told(&mut session, "bugs", json!({"n": 300}));
    let whole =
        session.text("bugs", json!({"continuation_token": probe["continuation_token"], "mode": "full"}));
    assert_eq!(serde_json::from_str::<Vec<Value>>(&whole).unwrap().len(), 300);
}

#[test]
fn full_gives_back_what_came_where_the_cap_allows() {
    let place = Place::new();
    place.configure("[server.upstream.tool.rows]\nstyle = \"probe\"\n");
    // This client takes more bytes than one that is not known.
    let mut session = Session::start(&place.home(), &[]).greeted("opencode");
    let probe = told(&mut session, "rows", json!({"n": 60}));
    let full =
        session.call("rows", json!({"continuation_token": probe["continuation_token"], "mode": "full"}));
    let rows: Vec<Value> = serde_json::from_str(full["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(rows.len(), 60);
}

#[test]
fn objects_are_probed_by_their_keys() {
    let place = Place::new();
    let mut session = place.start(&["--style", "probe"]);
    let probe = told(&mut session, "report", json!({"n": 100}));
    let token = &probe["continuation_token"];
    let summary = told(&mut session, "report", json!({"continuation_token": token}));
    assert_eq!(summary["summary"].as_object().unwrap().len(), 10);
    assert_eq!(summary["total"], 100);
    let keys = json!({"continuation_token": token, "mode": "filtered", "filter_keys": ["key7", "key70"]});
    let filtered = told(&mut session, "report", keys);
    assert_eq!(filtered["key70"]["count"], 70);
    assert_eq!(filtered.as_object().unwrap().len(), 2);
}

#[test]
fn our_arguments_are_offered_and_never_reach_the_server() {
    let place = Place::new();
    let mut session = place.start(&["--style", "probe"]);
    let tools = session.request("tools/list", json!({}));
    let tool = |name: &str| {
        let tools = tools["result"]["tools"].as_array().unwrap();
        tools.iter().find(|tool| tool["name"] == name).unwrap()["inputSchema"]["properties"].clone()
    };
    for name in ["continuation_token", "mode", "page", "page_size", "filter_keys"] {
        assert!(tool("rows").get(name).is_some(), "{name}");
        assert!(tool("paged").get(format!("tg_{name}")).is_some(), "{name}");
    }
    assert!(tool("paged").get("mode").is_none());
    let given =
        told(&mut session, "given", json!({"a": 1, "mode": "summary", "page": 2, "filter_keys": ["x"]}));
    assert_eq!(given["arguments"], json!({"a": 1}));
    let paged = told(&mut session, "paged", json!({"page": 7, "tg_mode": "full"}));
    assert_eq!(paged["arguments"], json!({"page": 7}));
    let probe = told(&mut session, "paged", json!({"page": 7, "size": 20_000}));
    let part = told(&mut session, "paged", json!({"tg_continuation_token": probe["continuation_token"]}));
    assert_eq!(part["summary"]["arguments"], json!({"page": 7, "size": 20_000}));
    assert_eq!(runs(&mut session, "paged"), 2);
}

#[test]
fn every_token_that_does_not_hold_gets_the_same_answer() {
    let place = Place::new();
    let mut session = place.start(&["--style", "probe"]);
    let probe = told(&mut session, "rows", json!({"n": 100}));
    let token = probe["continuation_token"].as_str().unwrap().to_owned();
    let mut changed = token.clone().into_bytes();
    changed[20] = if changed[20] == b'A' { b'B' } else { b'A' };
    let changed = String::from_utf8(changed).unwrap();
    let answers = [
        refused(&mut session, "bugs", json!({"continuation_token": token})),
        refused(&mut session, "rows", json!({"continuation_token": changed})),
        refused(&mut session, "rows", json!({"continuation_token": "abc123xyz"})),
        refused(&mut session, "rows", json!({"continuation_token": "", "mode": "full"})),
    ];
    assert!(told(&mut session, "rows", json!({"continuation_token": token}))["summary"].is_array());
    assert!(answers.iter().all(|answer| answer == GONE), "{answers:?}");
    assert_eq!((runs(&mut session, "rows"), runs(&mut session, "bugs")), (1, 0));
}

#[test]
fn mistakes_name_the_valid_choices() {
    let place = Place::new();
    let mut session = place.start(&["--style", "probe"]);
    let probe = told(&mut session, "rows", json!({"n": 100}));
    let token = &probe["continuation_token"];
    for (arguments, words) in [
        (
            json!({"mode": "brief"}),
            "mode is \"brief\", but should be one of summary, paginated, filtered, full",
        ),
        (json!({"mode": 7}), "mode is 7, but should be one of summary"),
        (json!({"mode": "paginated", "page": 0}), "page is 0, but should be a whole number from 1"),
        (json!({"mode": "paginated", "page": "x"}), "page is \"x\", but should be a whole number from 1"),
        (json!({"mode": "paginated", "page": 6}), "page 6 is beyond the end: 100 items make 5 pages of 20"),
        (
            json!({"mode": "paginated", "page_size": 100_000}),
            "page_size is 100000, but should be a whole number from 1 to 1000",
        ),
        (json!({"mode": "filtered"}), "mode filtered needs filter_keys"),
        (json!({"mode": "filtered", "filter_keys": 3}), "filter_keys is 3, but should be a list of keys"),
        (json!({"mode": "filtered", "filter_keys": ["numbr"]}), "did you mean \"number\"?); valid keys: "),
    ] {
        let mut asked = arguments.clone();
        asked["continuation_token"] = token.clone();
        let message = refused(&mut session, "rows", asked);
        assert!(message.contains(words) && message.contains("Nothing was run"), "{arguments}: {message}");
    }
    assert_eq!(runs(&mut session, "rows"), 1);
}

#[test]
fn small_results_are_probed_only_where_that_is_set() {
    let place = Place::new();
    place.configure("[server.upstream.tool.rows]\nstyle = \"probe\"\nprobe_when = \"always\"\n[server.upstream.tool.bugs]\nauto_negotiate_bytes = 500\n[server.upstream.tool.exact]\nstyle = \"probe\"\nprobe_when = \"always\"\n");
    let mut session = place.start(&[]);
    assert!(told(&mut session, "rows", json!({"n": 1}))["continuation_token"].is_string());
    assert!(told(&mut session, "bugs", json!({"n": 1}))[0]["id"].is_string(), "below the threshold");
    assert!(told(&mut session, "bugs", json!({"n": 9}))["continuation_token"].is_string());
    assert!(told(&mut session, "report", json!({"n": 2}))["key1"].is_object(), "nothing is set for it");
    // What is a first answer already, from a server that negotiates by itself, stays.
    let theirs = r#"{"preview":"x","total_size":9,"available_modes":["full"],"continuation_token":"t"}"#;
    let result = json!({"content": [{"type": "text", "text": theirs}]}).to_string();
    assert_eq!(session.text("exact", json!({"result": result})), theirs);
}

#[test]
fn a_contract_has_its_fields_and_limits() {
    let place = Place::new();
    place.configure(
        "[server.upstream]\nstyle = \"contract\"\n[server.upstream.tool.bugs]\ndomain = \"bugfix\"\n",
    );
    let mut session = place.start(&[]);
    let bugs = told(&mut session, "bugs", json!({"n": 300}));
    assert_eq!(bugs["summary"], "bugs: 300 total (60 critical, 60 high, 120 medium, 60 low)");
    assert_eq!(
        (&bugs["success"], &bugs["count"], &bugs["hasMore"]),
        (&json!(true), &json!(300), &json!(true))
    );
    let items = bugs["items"].as_array().unwrap();
    assert_eq!(items.len(), 10);
    for item in items {
        assert_eq!(item["severity"], "critical", "the gravest first");
        assert_eq!(item["label"].as_str().unwrap().chars().count(), 50);
    }
    let reference = bugs["artifactRef"].as_str().unwrap();
    assert!(reference.starts_with("ax://bugfix/"), "{reference}");
    let read = session.request("resources/read", json!({"uri": reference}));
    assert!(read["result"]["contents"][0]["text"].as_str().unwrap().contains("300 rows"));

    let rows = told(&mut session, "rows", json!({"n": 100}));
    assert_eq!(rows["items"][0], json!({"id": "0", "label": "issue 0"}));
    let id = rows["artifactRef"].as_str().unwrap();
    let next = session.text("result_query", json!({"id": id, "cursor": rows["nextCursor"]}));
    assert!(next.contains("issue 10") && !next.contains("issue 9,"), "{next}");
    assert_eq!(runs(&mut session, "rows"), 1);
}

#[test]
fn the_error_names_the_handle() {
    let place = Place::new();
    let mut session = place.start(&["--style", "error"]);
    let error = told(&mut session, "rows", json!({"n": 400}));
    assert_eq!(
        (&error["error"], &error["tool"], &error["budget"]),
        (&json!("OUTPUT_BUDGET_EXCEEDED"), &json!("rows"), &json!(1000))
    );
    assert!(error["tokens"].as_u64().unwrap() > 1000);
    let hint = error["hint"].as_str().unwrap();
    assert!(hint.starts_with("Lower limit or narrow fields and call again"), "{hint}");
    let id = hint.split('"').nth(1).unwrap();
    assert!(session.text("result_query", json!({"id": id, "page": 2})).contains("issue"));
    assert!(told(&mut session, "rows", json!({"n": 2})).is_array(), "what fits crosses");
}

#[test]
fn a_full_output_comes_whole_or_is_attached() {
    let place = Place::new();
    place.configure("[server.upstream.tool.rows]\noffer_output = true\n[server.upstream.tool.bugs]\noffer_output = true\nfull_cap_tokens = 100000\n");
    let mut session = place.start(&[]);
    let tools = session.request("tools/list", json!({}));
    let rows =
        tools["result"]["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == "rows").unwrap();
    assert_eq!(rows["inputSchema"]["properties"]["output"]["enum"], json!(["summary", "full"]));
    assert!(
        session.text("rows", json!({"n": 400})).starts_with("rows returned 400 rows"),
        "a summary if not asked"
    );
    let full = session.call("rows", json!({"n": 400, "output": "full"}));
    assert_eq!(full["content"][1]["type"], "resource_link", "{full}");
    let uri = &full["content"][1]["uri"];
    assert!(session.text("result_query", json!({"id": uri, "path": "/399/title"})).contains("issue 399"));
    let raised: Vec<Value> =
        serde_json::from_str(&session.text("bugs", json!({"n": 300, "output": "full"}))).unwrap();
    assert_eq!(raised.len(), 300, "the cap was raised, so it comes whole");
    let refused = session.call("rows", json!({"n": 1, "output": "brief"}));
    let words = refused["content"][0]["text"].as_str().unwrap();
    assert!(
        words.contains("output is \"brief\", but should be one of summary, full. Nothing was run"),
        "{words}"
    );
    assert_eq!(runs(&mut session, "rows"), 2);
}

#[test]
fn limits_can_be_set() {
    let place = Place::new();
    place.configure("[server.upstream]\nstyle = \"contract\"\nmax_items = 3\n");
    let mut session = place.start(&[]);
    let contract = told(&mut session, "rows", json!({"n": 100}));
    assert_eq!(contract["items"].as_array().unwrap().len(), 3);
    let next = json!({"id": contract["artifactRef"], "cursor": contract["nextCursor"]});
    assert!(session.text("result_query", next).contains("issue 3"));
}

/// Calls `exact` with a result of one text.
fn exact(session: &mut Session, text: &str, arguments: Value) -> Value {
    let result = json!({"content": [{"type": "text", "text": text}]}).to_string();
    let mut asked = arguments;
    asked["result"] = json!(result);
    let answer = session.call("exact", asked);
    serde_json::from_str(answer["content"][0]["text"].as_str().unwrap()).unwrap()
}

#[test]
fn members_beside_the_items_are_named() {
    let place = Place::new();
    let mut session = place.start(&["--style", "probe"]);
    let rows: Vec<Value> = (0..400).map(|n| json!({"id": n, "words": "w".repeat(40)})).collect();
    let wrapped = json!({"items": rows, "error": "quota exceeded", "next": "c"}).to_string();
    let token = exact(&mut session, &wrapped, json!({}))["continuation_token"].clone();
    let page = told(&mut session, "exact", json!({"continuation_token": token, "mode": "paginated"}));
    assert_eq!((&page["outside"], &page["total"]), (&json!(["error", "next"]), &json!(400)));
    assert!(page["rest"].as_str().unwrap().starts_with("result_query {\"id\":\"exact-"), "{page}");
    let summary = told(&mut session, "exact", json!({"continuation_token": token}));
    assert_eq!(summary["summary"]["error"], "quota exceeded");
    assert_eq!(summary["total"], 3, "the keys of the object");
    let keys = json!({"continuation_token": token, "mode": "filtered", "filter_keys": ["next"]});
    assert_eq!(told(&mut session, "exact", keys)["next"], "c");

    let around = format!("{}\nWARNING: this is only a part", json!(rows));
    let token = exact(&mut session, &around, json!({}))["continuation_token"].clone();
    let page = told(&mut session, "exact", json!({"continuation_token": token, "mode": "paginated"}));
    assert!(page["outside"][0].as_str().unwrap().contains("text around"), "{page}");
}

#[test]
fn what_does_not_fit_is_cut_and_says_so() {
    let place = Place::new();
    place.configure("[server.upstream]\nstyle = \"probe\"\nbudget_tokens = 250\nfollow_up_tokens = 250\n");
    let mut session = place.start(&[]);
    let heavy = json!([{"id": 1, "body": "漢字😀".repeat(3000), "more": "\u{600}".repeat(5000)}, {"id": 2}])
        .to_string();
    let line = "abc".repeat(30_000);
    for text in [heavy.as_str(), line.as_str()] {
        let token = exact(&mut session, text, json!({}))["continuation_token"].clone();
        for mode in ["summary", "paginated", "full"] {
            let answer = session.text("exact", json!({"continuation_token": token, "mode": mode}));
            let meter = tidegate_core::measure::Meter::default();
            assert!(meter.count(&answer).0 <= 250, "{mode}: {} tokens", meter.count(&answer).0);
            let told: Value = serde_json::from_str(&answer).unwrap();
            assert!(mode == "summary" || told["cut"] == true && told["rest"].is_string(), "{told}");
        }
    }
}

#[test]
fn odd_data_is_still_json() {
    let place = Place::new();
    place.configure("[server.upstream]\nstyle = \"probe\"\nprobe_when = \"always\"\n");
    let mut session = place.start(&[]);
    for (text, total, first) in [
        ("[]", 0, Value::Null),
        ("{}", 0, Value::Null),
        ("5", 1, json!("5")),
        ("[{\"i\":0,\"v\":NaN},{\"i\":1,\"v\":2}]", 2, json!("{\"i\":0,\"v\":NaN}")),
        ("one\ntwo \u{202e}three", 2, json!("one")),
    ] {
        let token = exact(&mut session, text, json!({}))["continuation_token"].clone();
        let answer = session.text("exact", json!({"continuation_token": token, "mode": "paginated"}));
        let page: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!((&page["total"], &page["items"][0]), (&json!(total), &first), "{text}: {answer}");
        assert!(!answer.contains('\u{202e}'), "{answer}");
    }
    // An error of the protocol is told as it is.
    let error = session.request("tools/call", json!({"name": "nobody", "arguments": {}}));
    assert_eq!(error["error"]["message"], "no such tool");
}

#[test]
fn keys_of_an_object_may_be_paths() {
    let place = Place::new();
    let mut session = place.start(&["--style", "probe"]);
    let token = told(&mut session, "report", json!({"n": 1500}))["continuation_token"].clone();
    let ask = |keys: Value| json!({"continuation_token": token, "mode": "filtered", "filter_keys": keys});
    let found = told(&mut session, "report", ask(json!(["key1.count", "key1400"])));
    assert_eq!((&found["key1.count"], &found["key1400"]["count"]), (&json!(1), &json!(1400)));
    let many: Vec<String> = (0..900).map(|n| format!("key{n}")).collect();
    let found = told(&mut session, "report", ask(json!(many)));
    assert!(found["left_out"].as_u64().unwrap() > 0 && found["rest"].is_string());
    let refused = refused(&mut session, "report", ask(json!(["nothing"])));
    assert!(refused.contains("which no item has"), "{refused}");
}

#[test]
fn a_page_that_does_not_fit_names_the_next_one() {
    let place = Place::new();
    let mut session = place.start(&["--style", "probe"]);
    let token = told(&mut session, "rows", json!({"n": 430}))["continuation_token"].clone();
    let (mut seen, mut page, mut size) = (Vec::new(), 1, 200);
    loop {
        let asked =
            json!({"continuation_token": token, "mode": "paginated", "page": page, "page_size": size});
        let told = told(&mut session, "rows", asked);
        seen.extend(told["items"].as_array().unwrap().iter().map(|row| row["number"].as_u64().unwrap()));
        if told["has_more"] == false {
            break;
        }
        match told["hint"].as_str() {
            Some(hint) => {
                let numbers: Vec<u64> = hint.split(' ').filter_map(|word| word.parse().ok()).collect();
                (page, size) = (numbers[0], numbers[1]);
            }
            None => page += 1,
        }
    }
    assert_eq!(seen, (0..430).collect::<Vec<u64>>());
}

#[test]
fn a_tool_that_was_not_listed_is_still_fetched_from() {
    let place = Place::new();
    let mut session = place.start(&["--style", "probe"]);
    session.request("tools/list", json!({}));
    let token = told(&mut session, "paged", json!({"page": 1, "size": 30_000}))["continuation_token"].clone();
    drop(session);
    let mut session = place.start(&["--style", "probe"]);
    let part = told(&mut session, "paged", json!({"tg_continuation_token": token}));
    assert!(part["summary"].is_object(), "{part}");
    assert_eq!(runs(&mut session, "paged"), 0);
    // One that is not listed may have arguments of such names itself.
    let given = told(&mut session, "given", json!({"page": 7}));
    assert_eq!(given["arguments"], json!({"page": 7}));
    session.request("tools/list", json!({}));
    let refused = session.call("given", json!({"mode": "xyz"}));
    assert!(refused["content"][0]["text"].as_str().unwrap().contains("one of summary"), "{refused}");
}

#[test]
fn a_probe_of_a_very_large_object_counts_all_members() {
    let place = Place::new();
    let mut session = place.start(&["--style", "probe"]);
    let token = told(&mut session, "report", json!({"n": 30_000}))["continuation_token"].clone();
    let summary = told(&mut session, "report", json!({"continuation_token": token}));
    assert_eq!((&summary["total"], &summary["showing"]), (&json!(30_000), &json!(10)));
    let last = json!({"continuation_token": token, "mode": "filtered", "filter_keys": ["key29999.count"]});
    assert_eq!(told(&mut session, "report", last)["key29999.count"], 29_999);
}
