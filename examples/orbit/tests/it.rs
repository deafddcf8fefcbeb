//! The server seen by a client, in both protocol eras: token counts, summaries against full data, and errors.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by failing")]

use std::collections::BTreeSet;
use std::process::Command;

use orbit::{ISS, Orbit, VANGUARD, plain, server};
use rmcp::ServerHandler;
use serde_json::{Value, json};
use tidegate_sdk::visit::{Seen, Visitor};
use tidegate_sdk::{ProfileRules, Rules, StoreLocation, Tidegate};
use tidegate_testkit::schema::accepts;

fn gated() -> Tidegate<Orbit> {
    server().store_in(StoreLocation::Memory).quiet()
}

/// The server with a cap above every full output.
fn raised() -> Tidegate<Orbit> {
    gated().tools("*", Rules { full_cap_tokens: Some(1_000_000), ..Rules::default() })
}

/// Returns one client in each protocol era.
async fn visitors<S: ServerHandler>(server: impl Fn() -> S) -> [Visitor; 2] {
    [Visitor::to(server()).await.unwrap(), Visitor::modern(server()).await.unwrap()]
}

async fn call(visitor: &Visitor, tool: &str, arguments: Value) -> Seen {
    let seen = visitor.call(tool, &arguments).await.unwrap();
    assert!(!seen.failed(), "{}", seen.text());
    seen
}

fn fields(value: &Value) -> BTreeSet<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

fn array<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().unwrap()
}

/// Returns entries as JSON text, so that equal ones are equal to the last digit.
fn as_text(entries: &[Value]) -> Vec<String> {
    entries.iter().map(Value::to_string).collect()
}

#[tokio::test]
async fn tools_offer_output_and_declare_both_shapes() {
    for visitor in visitors(gated).await {
        let tools = visitor.tools().await.unwrap();
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_ref()).collect();
        assert_eq!(names, ["porkchop", "sgp4_propagate", "result_query"]);
        for tool in &tools[..2] {
            let output = &tool.input_schema["properties"]["output"];
            assert_eq!(
                (&output["enum"], &output["default"]),
                (&json!(["summary", "full"]), &json!("summary"))
            );
            assert!(tool.output_schema.is_some(), "{}", tool.name);
        }
        let required = tools[..2].iter().map(|tool| tool.input_schema.get("required"));
        // A porkchop has a default window.
        assert_eq!(required.collect::<Vec<_>>(), [None, Some(&json!(["tle"]))]);
    }
}

#[tokio::test]
async fn a_porkchop_costs_63_000_tokens_and_its_summary_less_than_2_000() {
    for visitor in visitors(raised).await {
        let summary = call(&visitor, "porkchop", json!({})).await;
        let full = call(&visitor, "porkchop", json!({"samples_per_axis": 30, "output": "full"})).await;
        assert!(summary.tokens() < 2_000, "{} tokens", summary.tokens());
        assert!((57_000..=69_000).contains(&full.tokens()), "{} tokens", full.tokens());

        let (summary, full) = (summary.json(), full.json());
        assert_eq!(fields(&summary), BTreeSet::from(["best", "top_cells", "ascii_summary"]));
        assert_eq!(fields(&full), BTreeSet::from(["grid", "best", "ascii_summary"]));
        assert_eq!((&full["best"], &full["ascii_summary"]), (&summary["best"], &summary["ascii_summary"]));

        let (grid, top) = (array(&full, "grid"), array(&summary, "top_cells"));
        assert_eq!((grid.len(), top.len()), (900, 5));
        assert_eq!(
            fields(&grid[0]),
            BTreeSet::from([
                "departure",
                "arrival",
                "tof_days",
                "transfer_type",
                "c3",
                "v_inf_arrival",
                "total_dv"
            ])
        );
        let date = |cell: &Value, name: &str| cell[name].as_str().unwrap().to_owned();
        assert!(grid.is_sorted_by_key(|cell| (date(cell, "departure"), date(cell, "arrival"))), "row by row");
        let total_dv = |cell: &Value| cell["total_dv"].as_f64().unwrap();
        let mut ranked = grid.to_vec();
        ranked.sort_by(|one, other| total_dv(one).total_cmp(&total_dv(other)));
        assert_eq!(as_text(top), as_text(&ranked[..5]), "the best five, best first, to the last digit");
        assert_eq!(summary["best"], top[0]);
    }
}

/// The heat map has a character for every cell, and the best cell is where the legend says.
#[tokio::test]
async fn the_heat_map_shows_the_grid() {
    let visitor = Visitor::to(gated()).await.unwrap();
    let summary = call(&visitor, "porkchop", json!({})).await.json();
    let best = summary["best"]["total_dv"].as_f64().unwrap();
    let lines: Vec<&str> = summary["ascii_summary"].as_str().unwrap().lines().collect();
    assert_eq!(
        lines[0],
        format!("total_dv in km/s, cut at {:.3}; down: departure, right: arrival", 2.0 * best)
    );
    assert_eq!(lines.len(), 32);
    assert!(lines[1..31].iter().all(|line| line.len() == 30));
    let (row, column) = (0..30).find_map(|row| Some((row, lines[row + 1].find('@')?))).unwrap();
    let legend = format!("@ min {best:.3} at row {row}, column {column}; ");
    assert!(lines[31].starts_with(&legend), "{}", lines[31]);
}

#[tokio::test]
async fn a_day_of_states_keeps_twelve_to_the_last_digit() {
    for visitor in visitors(raised).await {
        let summary = call(&visitor, "sgp4_propagate", json!({"tle": ISS})).await;
        let asked = json!({"tle": ISS, "duration_minutes": 1440, "step_minutes": 1, "output": "full"});
        let full = call(&visitor, "sgp4_propagate", asked).await;
        assert!(summary.tokens() < 2_000, "{} tokens", summary.tokens());
        assert!(full.tokens() >= 16_000, "{} tokens", full.tokens());

        let (summary, full) = (summary.json(), full.json());
        assert_eq!(fields(&summary), BTreeSet::from(["states", "of_epochs"]));
        assert_eq!(fields(&full), BTreeSet::from(["states"]));
        let (some, all) = (as_text(array(&summary, "states")), as_text(array(&full, "states")));
        assert_eq!((some.len(), all.len(), &summary["of_epochs"]), (12, 1441, &json!(1441)));
        let position = |state: &String| all.iter().position(|one| one == state).unwrap();
        let positions: Vec<usize> = some.iter().map(position).collect();
        assert_eq!(
            positions,
            [0, 131, 262, 393, 524, 655, 785, 916, 1047, 1178, 1309, 1440],
            "evenly spaced"
        );
    }
}

/// The listed schema tells the shapes apart: neither is valid as the other.
#[tokio::test]
async fn the_output_schema_is_a_discriminated_union() {
    for visitor in visitors(raised).await {
        for tool in &visitor.tools().await.unwrap()[..2] {
            let arguments = if tool.name == "porkchop" { json!({}) } else { json!({"tle": ISS}) };
            let summary = call(&visitor, &tool.name, arguments.clone()).await.json();
            let mut arguments = arguments;
            arguments["output"] = "full".into();
            let full = call(&visitor, &tool.name, arguments).await.json();
            let schema = Value::Object(tool.output_schema.as_deref().unwrap().clone());
            // The gate's own answer is the second choice of the whole schema.
            let shapes = schema["anyOf"][0]["anyOf"].as_array().unwrap();
            let valid = |value: &Value| -> Vec<bool> {
                shapes.iter().map(|shape| accepts(shape, &schema, value)).collect()
            };
            assert_eq!(valid(&summary), [true, false], "{}", tool.name);
            assert_eq!(valid(&full), [false, true], "{}", tool.name);
            assert!(accepts(&schema, &schema, &summary) && accepts(&schema, &schema, &full));
        }
    }
}

#[tokio::test]
async fn a_short_series_is_whole_in_the_summary() {
    let visitor = Visitor::to(gated()).await.unwrap();
    let asked = json!({
        "tle": VANGUARD, "start": "2000-06-28T00:50:19.733568Z", "duration_minutes": 10, "step_minutes": 5
    });
    let summary = call(&visitor, "sgp4_propagate", asked).await.json();
    let epochs: Vec<&Value> = array(&summary, "states").iter().map(|state| &state["epoch"]).collect();
    assert_eq!(epochs, ["2000-06-28T00:50:19.733Z", "2000-06-28T00:55:19.733Z", "2000-06-28T01:00:19.733Z"]);
    assert_eq!(summary["of_epochs"], 3);
}

#[tokio::test]
async fn a_full_output_that_does_not_fit_is_attached_and_every_part_can_be_read() {
    let whole = Visitor::to(raised()).await.unwrap();
    for (tool, asked, last) in [
        ("porkchop", json!({"output": "full"}), "/grid/899"),
        ("sgp4_propagate", json!({"tle": ISS, "output": "full"}), "/states/1440"),
    ] {
        let expected = call(&whole, tool, asked.clone()).await.json().pointer(last).unwrap().clone();
        for visitor in visitors(gated).await {
            let seen = call(&visitor, tool, asked.clone()).await;
            assert!(seen.tokens() <= 1_000 && seen.bytes() <= 10_240, "{} tokens", seen.tokens());
            let link = seen.result.content.iter().find_map(|block| block.as_resource_link()).unwrap();
            assert!(link.uri.starts_with(&format!("ax://{tool}/")), "{}", link.uri);
            let part = call(&visitor, "result_query", json!({"id": link.uri, "path": last})).await;
            assert!(part.text().contains(&expected.to_string()), "{}", part.text());
            let result: Value = serde_json::from_slice(&read_all(&visitor, &link.uri).await).unwrap();
            assert_eq!(result["structuredContent"].pointer(last), Some(&expected));
        }
        let program = ProfileRules { program: Some(true), ..ProfileRules::default() };
        let visitor = Visitor::to(gated().clients("*", program)).await.unwrap();
        let seen = call(&visitor, tool, asked).await;
        assert_eq!(seen.json().pointer(last), Some(&expected), "a program gets all of it");
    }
}

/// Follows the reads that a resource states, and joins what they return.
async fn read_all(visitor: &Visitor, uri: &str) -> Vec<u8> {
    let first = serde_json::to_value(visitor.read(uri).await.unwrap()).unwrap();
    let plan = &first["contents"][0]["_meta"]["tidegate/whole"];
    let (mut joined, mut reads, mut next) = (Vec::new(), 0, plan["next"].as_str().map(str::to_owned));
    while let Some(uri) = next {
        let read = serde_json::to_value(visitor.read(&uri).await.unwrap()).unwrap();
        let contents = &read["contents"][0];
        joined.extend(contents["text"].as_str().expect("plain text").bytes());
        next = contents["_meta"]["tidegate/whole"]["next"].as_str().map(str::to_owned);
        reads += 1;
    }
    assert_eq!((Some(reads), Some(joined.len() as u64)), (plan["reads"].as_u64(), plan["bytes"].as_u64()));
    joined
}

#[tokio::test]
async fn the_plain_server_returns_every_result_in_full() {
    let (plain, wrapped) = (Visitor::to(plain()).await.unwrap(), Visitor::to(raised()).await.unwrap());
    for tool in plain.tools().await.unwrap() {
        assert_eq!(tool.input_schema["properties"].get("output"), None, "{}", tool.name);
    }
    for (tool, arguments) in [("porkchop", json!({})), ("sgp4_propagate", json!({"tle": ISS}))] {
        let mut full = arguments.clone();
        full["output"] = "full".into();
        let (plain, wrapped) = (call(&plain, tool, arguments).await, call(&wrapped, tool, full).await);
        assert_eq!(plain.text(), wrapped.text());
    }
}

/// Invalid arguments are tool errors that name the argument and what is accepted.
#[tokio::test]
async fn invalid_arguments_are_tool_errors() {
    let satellite = |change: Value| {
        let mut arguments = json!({"tle": ISS});
        arguments.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        ("sgp4_propagate", arguments)
    };
    let transfers = |arguments: Value| ("porkchop", arguments);
    let cases = [
        (("sgp4_propagate", json!({})), "missing field `tle`; accepted arguments: duration_minutes ("),
        (satellite(json!({"tle": "ISS"})), "tle: 1 lines are not enough; expected the two lines of a TLE"),
        (
            satellite(json!({"tle": ISS.replace("51.6416", "51.6417")})),
            "tle: line 2 ends with the checksum \"7\", but the checksum of its characters is 8; expected",
        ),
        (satellite(json!({"start": "yesterday"})), "start is \"yesterday\", which is not a valid date"),
        (satellite(json!({"start": [1]})), "start: expected minutes since the epoch of the TLE as a number"),
        (satellite(json!({"step_minutes": 0})), "step_minutes is 0; it must be more than 0"),
        (
            satellite(json!({"step_minutes": 0.001})),
            "duration_minutes 1440 with step_minutes 0.001 makes 1440001 epochs, but at most 20161",
        ),
        (satellite(json!({"output": "brief"})), "output: output must be \"summary\" or \"full\""),
        (transfers(json!({"samples_per_axis": 1})), "samples_per_axis is 1; it must be from 2 to 100"),
        (transfers(json!({"samples_per_axis": -3})), "samples_per_axis: invalid value: integer `-3`"),
        (transfers(json!({"samples_per_axis": 101})), "samples_per_axis is 101; it must be from 2 to 100"),
        (
            transfers(json!({"departure_start": "2026-02-30"})),
            "departure_start is \"2026-02-30\", which is not a valid date",
        ),
        (
            transfers(json!({"arrival_end": "2026-01-01"})),
            "arrival_start is 2027-05-03; it must be before arrival_end",
        ),
        (
            transfers(json!({"departure_start": "2029-01-01", "departure_end": "2029-02-01"})),
            "arrival_end is 2028-01-19; it must be after departure_start",
        ),
        (
            transfers(json!({"samples": 20})),
            "unknown argument \"samples\"; accepted arguments: arrival_end (",
        ),
    ];
    for visitor in visitors(gated).await {
        for ((tool, arguments), expected) in &cases {
            let seen = visitor.call(tool, arguments).await.unwrap();
            assert!(seen.failed(), "{arguments}");
            assert!(seen.text().starts_with(expected), "{arguments} gave {}", seen.text());
            assert!(seen.tokens() < 200, "{} tokens", seen.tokens());
        }
    }
}

#[test]
fn the_readme_has_the_measured_table() {
    let measured = Command::new(env!("CARGO_BIN_EXE_orbit")).arg("--measure").output().unwrap();
    let table = String::from_utf8(measured.stdout).unwrap();
    assert_eq!(table.lines().count(), 16, "{}", String::from_utf8_lossy(&measured.stderr));
    assert!(include_str!("../README.md").contains(&table), "{table}");
}
