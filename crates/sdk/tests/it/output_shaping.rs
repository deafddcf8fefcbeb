//! The `output` convention: a summary by default, the full data on request, computed once from the same numbers.

use std::collections::HashSet;
use std::sync::atomic::Ordering;

use serde_json::{Value, json};
use tidegate_sdk::{Rules, StoreLocation, Tidegate};

use crate::orbit::Orbit;
use crate::{Client, ERAS};

const RAISED_CAP_TOKENS: u64 = 1_000_000;

fn gated(orbit: &Orbit) -> Tidegate<Orbit> {
    Tidegate::wrap(orbit.clone()).store_in(StoreLocation::Memory).quiet()
}

fn inline(orbit: &Orbit) -> Tidegate<Orbit> {
    gated(orbit).tools("*", Rules { full_cap_tokens: Some(RAISED_CAP_TOKENS), ..Rules::default() })
}

fn fields(value: &Value) -> HashSet<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[tokio::test]
async fn the_argument_is_in_the_schema_and_the_shapes_are_a_union() {
    for era in ERAS {
        let client = Client::connect(gated(&Orbit::default()), era).await;
        for tool in client.tools().await.iter().filter(|tool| tool.name != "result_query") {
            let output = &tool.input_schema["properties"]["output"];
            assert_eq!(
                (&output["enum"], &output["default"]),
                (&json!(["summary", "full"]), &json!("summary"))
            );
            let schema = tool.output_schema.as_ref().unwrap();
            assert_eq!(
                schema["anyOf"].as_array().unwrap().len(),
                2,
                "the tool's own union, and the envelope"
            );
        }
    }
}

#[tokio::test]
async fn a_porkchop_has_two_shapes() {
    for era in ERAS {
        let orbit = Orbit::default();
        let client = Client::connect(inline(&orbit), era).await;
        let summary = client.json("porkchop", json!({"samples_per_axis": 30})).await;
        assert_eq!(fields(&summary), HashSet::from(["best", "top_cells", "ascii_summary"]));
        let top = summary["top_cells"].as_array().unwrap();
        assert_eq!((top.len(), &top[0]), (5, &summary["best"]));
        assert!(top.is_sorted_by_key(|cell| cell["total_dv"].as_f64().unwrap().to_bits()), "ascending");
        assert_eq!(orbit.runs.load(Ordering::SeqCst), 1);
        let full: Value = serde_json::from_str(
            &client.text("porkchop", json!({"samples_per_axis": 30, "output": "full"})).await,
        )
        .unwrap();
        assert_eq!(fields(&full), HashSet::from(["grid", "best", "ascii_summary"]));
        let grid = full["grid"].as_array().unwrap();
        assert!(grid.is_sorted_by_key(
            |cell| cell["departure"].as_u64().unwrap() * 30 + cell["arrival"].as_u64().unwrap()
        ));
        assert!(top.iter().all(|cell| grid.contains(cell)), "bit for bit");
        assert_eq!((&full["best"], &full["ascii_summary"]), (&summary["best"], &summary["ascii_summary"]));
    }
}

#[tokio::test]
async fn a_series_keeps_twelve_of_its_states() {
    for era in ERAS {
        let client = Client::connect(inline(&Orbit::default()), era).await;
        let summary = client.json("propagate", json!({"minutes": 1440, "output": "summary"})).await;
        let full: Value =
            serde_json::from_str(&client.text("propagate", json!({"minutes": 1440, "output": "full"})).await)
                .unwrap();
        let (some, all) = (summary["states"].as_array().unwrap(), full["states"].as_array().unwrap());
        assert_eq!((some.len(), all.len()), (12, 1441));
        assert_eq!((&some[0], &some[11]), (&all[0], &all[1440]));
        assert!(some.iter().all(|state| all.contains(state)), "bit for bit");
        let few = client.json("propagate", json!({"minutes": 3})).await;
        assert_eq!(few["states"].as_array().unwrap().len(), 4);
    }
}

#[tokio::test]
async fn a_full_output_above_its_cap_is_attached() {
    for era in ERAS {
        let orbit = Orbit::default();
        let client = Client::connect(gated(&orbit), era).await;
        let result = client.call("porkchop", json!({"samples_per_axis": 30, "output": "full"})).await;
        let result = serde_json::to_value(&result).unwrap();
        assert_ne!(result["isError"], true, "{result}");
        let link = &result["content"][1];
        assert_eq!(link["type"], "resource_link", "{result}");
        let uri = link["uri"].as_str().unwrap();
        assert!(uri.starts_with("ax://porkchop/"));
        let text = client.text("result_query", json!({"id": uri, "path": "/best"})).await;
        assert!(text.contains("total_dv"), "{text}");
        assert_eq!(orbit.runs.load(Ordering::SeqCst), 1);
    }
}

#[tokio::test]
async fn an_unknown_mode_is_an_error_with_the_choices() {
    for era in ERAS {
        let orbit = Orbit::default();
        let client = Client::connect(gated(&orbit), era).await;
        let error = client.any_error("porkchop", json!({"samples_per_axis": 9, "output": "brief"})).await;
        assert!(error.contains("output must be \"summary\" or \"full\", not \"brief\""), "{error}");
        assert_eq!(orbit.runs.load(Ordering::SeqCst), 0);
    }
}
