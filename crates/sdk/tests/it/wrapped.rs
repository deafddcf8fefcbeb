//! What the gate adds to a tool: overview and follow-ups, the contract, totals and the byte limit of a session.

use std::sync::atomic::Ordering;

use serde_json::json;
use tidegate_sdk::{StoreLocation, Tidegate};

use crate::shop::Shop;
use crate::{Client, ERAS};

#[tokio::test]
async fn a_large_result_is_stored_and_read_in_pages() {
    for era in ERAS {
        let shop = Shop::new();
        let client =
            Client::connect(Tidegate::wrap(shop.clone()).store_in(StoreLocation::Memory).quiet(), era).await;
        let overview = client.text("plain", json!({})).await;
        assert!(overview.starts_with("plain returned 430 rows"), "{overview}");
        let id = overview.split('"').nth(1).unwrap().to_owned();
        let page = client.text("result_query", json!({"id": id, "page": 2, "fields": ["id"]})).await;
        let lines: Vec<&str> = page.lines().collect();
        assert!(lines[0].starts_with(&format!("{id}: rows 201-400 of 430.")), "{page}");
        let ids: Vec<String> = (201..=400).map(|id: u32| id.to_string()).collect();
        assert_eq!(lines[2], "id");
        assert_eq!(lines[3..203], ids, "every row, once and in order");
        let sql = client.text("result_query", json!({"id": id, "sql": "select count(*) from t"})).await;
        assert!(sql.lines().any(|line| line == "430"), "{sql}");
        assert_eq!(shop.runs.load(Ordering::SeqCst), 1);
    }
}

#[tokio::test]
async fn a_contract_uses_the_domain_of_the_tool() {
    for era in ERAS {
        let client =
            Client::connect(Tidegate::wrap(Shop::new()).store_in(StoreLocation::Memory).quiet(), era).await;
        let contract = client.json("stock_list", json!({})).await;
        assert_eq!(contract["summary"], "stock_list: 430 items");
        assert_eq!((&contract["success"], &contract["count"]), (&json!(true), &json!(430)));
        assert_eq!(contract["items"].as_array().unwrap().len(), 10);
        assert!(contract["artifactRef"].as_str().unwrap().starts_with("ax://stock/"));
        let id = contract["artifactRef"].clone();
        let next = client.text("result_query", json!({"id": id, "cursor": contract["nextCursor"]})).await;
        assert!(next.contains("Widget 11"), "{next}");
    }
}

#[tokio::test]
async fn totals_are_counted_and_the_session_limit_applies() {
    for era in ERAS {
        let server =
            Tidegate::wrap(Shop::new()).store_in(StoreLocation::Memory).session_max_bytes(2500).quiet();
        let totals = server.totals();
        let client = Client::connect(server, era).await;
        let _ = client.text("plain", json!({})).await;
        assert!(totals.sent_bytes() > 800 && totals.bytes() > 50_000, "{totals}");
        assert_eq!((totals.calls(), totals.artifacts()), (1, 1));
        let later = client.call("plain", json!({"items": 200})).await;
        let text = serde_json::to_value(&later).unwrap();
        let small = text["content"][0]["text"].as_str().unwrap();
        assert!(text.to_string().len() <= 400 && small.contains("used its 2500 bytes"), "{text}");
    }
}

#[tokio::test]
async fn a_stored_result_needs_the_tier_of_its_tool() {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;
    use tidegate_sdk::Tier;
    for era in ERAS {
        let trusted = Arc::new(AtomicBool::new(true));
        let now = Arc::clone(&trusted);
        let tiers = move |_: &str| if now.load(Ordering::SeqCst) { Tier::Admin } else { Tier::Read };
        let rules = tidegate_sdk::Rules { style: Some(tidegate_sdk::Style::Overview), ..Default::default() };
        let server = Tidegate::wrap(Shop::new())
            .store_in(StoreLocation::Memory)
            .permission(tiers)
            .tools("*", rules)
            .quiet();
        let client = Client::connect(server, era).await;
        let text = client.text("inventory.audit", json!({})).await;
        let id = text.split('"').nth(1).unwrap().to_owned();
        assert!(client.text("result_query", json!({"id": id, "page": 1})).await.contains("Widget"));
        trusted.store(false, Ordering::SeqCst);
        let refused = client.tool_error("result_query", json!({"id": id, "page": 1})).await;
        let unknown = client.tool_error("result_query", json!({"id": "inventory-audit-000000000000"})).await;
        assert_eq!(
            refused,
            unknown.replace("inventory-audit-000000000000", &id),
            "same error as for an unknown id"
        );
        assert!(refused.contains("or call the tool for a new one. Nothing was run."), "{refused}");
    }
}

#[tokio::test]
async fn a_caller_can_read_the_artifacts_that_tools_made_for_it() {
    use tidegate_sdk::{Artifacts, CallerId};
    for era in ERAS {
        let artifacts = Artifacts::store_in(StoreLocation::Memory);
        let server = Tidegate::wrap(crate::bugs::Bugs::new(&artifacts)).artifacts(&artifacts);
        let client = Client::connect(server.callers(|_| CallerId::new("ada")).quiet(), era).await;
        let trace = client.json("trace_get", json!({"count": 50})).await;
        let events = client.text("result_query", json!({"id": trace["artifactRef"], "path": "/49"})).await;
        assert!(events.contains("step 49"), "{events}");
    }
}
