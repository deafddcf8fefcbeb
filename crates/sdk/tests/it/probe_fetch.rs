//! The probe convention: two calls, four modes, expiry, the backstop for unmarked tools, and tiers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;
use tidegate_sdk::{CallerId, Dispatcher, Rules, StoreLocation, Tidegate, Tier};
use tidegate_testkit::clock::ManualClock;

use crate::shop::Shop;
use crate::{Client, ERAS};

const EXPIRED: &str = "Continuation token expired or not found. Re-invoke without continuation_token to start a new negotiation.";

fn gated(shop: &Shop) -> Tidegate<Shop> {
    Tidegate::wrap(shop.clone()).store_in(StoreLocation::Memory).quiet()
}

/// A predicate decides for each caller and tool, and a pattern sets the tier of tools that declare none.
#[tokio::test]
async fn permission_is_per_tool() {
    for era in ERAS {
        let shop = Shop::new();
        let server = gated(&shop).allow_if(|_, tool| tool != "products.search").tier("pl*", Tier::Admin);
        let client = Client::connect(server.permission(|_: &str| Tier::ReadWrite), era).await;
        let names: Vec<String> = client.tools().await.iter().map(|tool| tool.name.to_string()).collect();
        assert_eq!(names, ["inventory.list_all", "stock_list", "result_query"]);
        let refused = client.tool_error("products.search", json!({"query": "a"})).await;
        assert!(
            refused.starts_with("this caller may not call products.search. Nothing was run."),
            "{refused}"
        );
        let refused = client.tool_error("plain", json!({})).await;
        assert!(
            refused.starts_with("plain needs the tier admin, and this caller has read_write."),
            "{refused}"
        );
        assert_eq!(shop.runs.load(Ordering::SeqCst), 0);
    }
}

/// A dispatcher that hides the tools it fronts is listed alone, and describes them on request.
#[tokio::test]
async fn a_dispatcher_hides_what_it_fronts() {
    for era in ERAS {
        let shop = Shop::new();
        let dispatcher = Dispatcher::new("dispatch", "Calls any tool of the shop").hiding();
        let server = gated(&shop).dispatcher(dispatcher).permission(|_: &str| Tier::Read);
        let client = Client::connect(server, era).await;
        let tools = client.tools().await;
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_ref()).collect();
        assert_eq!(names, ["dispatch", "result_query"]);
        let fronted = &tools[0].input_schema["properties"]["tool"];
        assert_eq!(fronted["enum"], json!(["inventory.list_all", "plain", "products.search", "stock_list"]));
        assert!(fronted["description"].as_str().unwrap().contains("inventory.list_all: "), "{fronted}");
        let described =
            client.json("dispatch", json!({"tool": "inventory.list_all", "describe": true})).await;
        let properties = &described["inputSchema"]["properties"];
        assert!(
            properties["warehouse"].is_object() && properties["continuation_token"].is_object(),
            "{described}"
        );
        let hidden =
            client.tool_error("dispatch", json!({"tool": "inventory.audit", "describe": true})).await;
        assert!(hidden.contains("there is no tool \"inventory.audit\" for this caller"), "{hidden}");
        assert_eq!(shop.runs.load(Ordering::SeqCst), 0, "describing runs nothing");
        let call = json!({"tool": "inventory.list_all", "arguments": {"warehouse": "WH-01"}});
        assert!(client.json("dispatch", call).await["continuation_token"].is_string());
    }
}

#[tokio::test]
async fn the_exchange_in_every_mode() {
    for era in ERAS {
        let shop = Shop::new();
        let client = Client::connect(gated(&shop), era).await;
        let probe = client.json("inventory.list_all", json!({"warehouse": "WH-01"})).await;
        assert_eq!(probe.as_object().unwrap().len(), 4, "{probe}");
        assert_eq!(probe["preview"].as_str().unwrap().chars().count(), 200);
        assert!(probe["total_size"].as_u64().unwrap() > 50_000);
        assert_eq!(probe["available_modes"], json!(["summary", "paginated", "filtered", "full"]));
        let token = &probe["continuation_token"];
        let tool = "inventory.list_all";

        let summary = client.json(tool, json!({"continuation_token": token})).await;
        assert_eq!(summary["summary"].as_array().unwrap().len(), 5, "first 5 items, mode absent");
        assert_eq!(summary, client.json(tool, json!({"continuation_token": token, "mode": "summary"})).await);

        let page = client
            .json(tool, json!({"continuation_token": token, "mode": "paginated", "page": 2, "page_size": 25}))
            .await;
        assert_eq!(page["items"][0]["id"], 26);
        assert_eq!([&page["page"], &page["page_size"], &page["total"]], [&json!(2), &json!(25), &json!(430)]);
        assert_eq!(page["has_more"], true);
        let usual = client.json(tool, json!({"continuation_token": token, "mode": "paginated"})).await;
        assert_eq!([&usual["page"], &usual["page_size"]], [&json!(1), &json!(20)]);

        let keys =
            json!({"continuation_token": token, "mode": "filtered", "filter_keys": ["id", "product.name"]});
        let filtered = client.json(tool, keys).await;
        assert_eq!(filtered["items"][0], json!({"id": 1, "product.name": "Widget 1"}));

        let full = client.json(tool, json!({"continuation_token": token, "mode": "full"})).await;
        assert!(full["note"].as_str().unwrap().contains("above the cap"), "{full}");
        let mut seen = full["items"].as_array().unwrap().len();
        let mut call = full["next_call"].clone();
        for page in 2.. {
            call["page"] = json!(page);
            let next = client.json(tool, call.clone()).await;
            seen += next["items"].as_array().unwrap().len();
            if next["has_more"] == false {
                break;
            }
        }
        assert_eq!(seen, 430, "the calls that it names give the rest");
        assert_eq!(shop.runs.load(Ordering::SeqCst), 1, "nothing is run twice");

        let small = client.json(tool, json!({"items": 2})).await;
        assert_eq!(small.as_array().unwrap().len(), 2, "a result that fits is returned unchanged");
    }
}

#[tokio::test]
async fn the_five_fields_are_in_the_schema_and_the_marks_are_not() {
    for era in ERAS {
        let shop = Shop::new();
        let client = Client::connect(gated(&shop), era).await;
        let tools = client.tools().await;
        let tool = |name: &str| tools.iter().find(|tool| tool.name == name).unwrap();
        for name in ["continuation_token", "mode", "page", "page_size", "filter_keys"] {
            assert!(tool("inventory.list_all").input_schema["properties"].get(name).is_some(), "{name}");
            assert!(tool("plain").input_schema["properties"].get(name).is_none(), "{name}");
        }
        assert!(tool("inventory.list_all").input_schema["properties"].get("warehouse").is_some());
        assert!(
            tools
                .iter()
                .all(|tool| tool.meta.as_ref().is_none_or(|meta| !meta.0.contains_key("tidegate/heavy")))
        );
        assert!(tools.iter().any(|tool| tool.name == "result_query"));
        // The tool rejects unknown arguments, so ours must not reach it.
        let first =
            client.json("inventory.list_all", json!({"items": 1, "mode": "summary", "page": 3})).await;
        assert_eq!(first[0]["id"], 1);
    }
}

#[tokio::test]
async fn tokens_expire_and_belong_to_their_tool() {
    for era in ERAS {
        let (shop, clock) = (Shop::new(), Arc::new(ManualClock::default()));
        let server = gated(&shop).clock(Arc::<ManualClock>::clone(&clock));
        let client = Client::connect(server, era).await;
        let probe = client.json("products.search", json!({"items": 30})).await;
        let token = probe["continuation_token"].as_str().unwrap().to_owned();
        let page =
            client.json("products.search", json!({"continuation_token": token, "mode": "paginated"})).await;
        assert_eq!(page["page_size"], 7, "as set by #[heavy]");
        let mut changed = token.clone();
        changed.replace_range(14..15, if &token[14..15] == "A" { "B" } else { "A" });
        for (tool, token) in [
            ("inventory.list_all", &token),
            ("products.search", &changed),
            ("products.search", &"x".to_owned()),
        ] {
            assert_eq!(client.tool_error(tool, json!({"continuation_token": token})).await, EXPIRED);
        }
        clock.advance(Duration::from_secs(2));
        assert_eq!(client.tool_error("products.search", json!({"continuation_token": token})).await, EXPIRED);
        assert_eq!(shop.runs.load(Ordering::SeqCst), 1);
    }
}

#[tokio::test]
async fn tiers_are_checked_on_calls_and_on_tokens() {
    for era in ERAS {
        let shop = Shop::new();
        let trusted = Arc::new(AtomicBool::new(true));
        let now = Arc::clone(&trusted);
        let tiers = move |_: &str| if now.load(Ordering::SeqCst) { Tier::Admin } else { Tier::Read };
        let client = Client::connect(gated(&shop).permission(tiers), era).await;
        let probe = client.json("inventory.audit", json!({})).await;
        let token = &probe["continuation_token"];
        assert!(
            client.json("inventory.audit", json!({"continuation_token": token})).await["summary"].is_array()
        );
        trusted.store(false, Ordering::SeqCst);
        assert_eq!(client.tool_error("inventory.audit", json!({"continuation_token": token})).await, EXPIRED);
        let refused = client.tool_error("inventory.audit", json!({})).await;
        assert_eq!(
            refused,
            "inventory.audit needs the tier admin, and this caller has read. Nothing was run. Use a tool from tools/list, \
             or ask the administrator of the server for the tier."
        );
        assert!(client.json("inventory.list_all", json!({})).await["continuation_token"].is_string());
        assert_eq!(shop.runs.load(Ordering::SeqCst), 2);
    }
}

#[tokio::test]
async fn a_caller_sees_only_the_tools_of_its_tier() {
    for era in ERAS {
        let shop = Shop::new();
        let trusted = Arc::new(AtomicBool::new(true));
        let now = Arc::clone(&trusted);
        let tiers = move |_: &str| if now.load(Ordering::SeqCst) { Tier::Admin } else { Tier::Read };
        let dispatcher = Dispatcher::new("dispatch", "Calls any tool of the shop");
        let client = Client::connect(gated(&shop).permission(tiers).dispatcher(dispatcher), era).await;
        let all = ["dispatch", "inventory.audit", "inventory.list_all", "plain", "products.search"];
        for (admin, expected) in [(true, all.to_vec()), (false, vec![all[0], all[2], all[3], all[4]])] {
            trusted.store(admin, Ordering::SeqCst);
            let tools = client.tools().await;
            let mut names: Vec<&str> = tools.iter().map(|tool| tool.name.as_ref()).collect();
            names.retain(|name| !["result_query", "stock_list"].contains(name));
            names.sort_unstable();
            assert_eq!(names, expected, "admin: {admin}");
            let dispatch = tools.iter().find(|tool| tool.name == "dispatch").unwrap();
            let fronted = dispatch.input_schema["properties"]["tool"]["enum"].as_array().unwrap();
            assert_eq!(fronted.contains(&json!("inventory.audit")), admin);
        }
        let through =
            client.tool_error("dispatch", json!({"tool": "inventory.audit", "arguments": {}})).await;
        assert!(through.starts_with("inventory.audit needs the tier admin"), "{through}");
        assert_eq!(shop.runs.load(Ordering::SeqCst), 0);
    }
}

#[tokio::test]
async fn another_caller_cannot_use_a_token() {
    for era in ERAS {
        let folder = tempfile::tempdir().unwrap();
        let shop = Shop::new();
        let of = |who: &'static str| {
            let place = StoreLocation::Folder(Some(folder.path().to_owned()));
            Tidegate::wrap(shop.clone()).store_in(place).callers(move |_| CallerId::new(who)).quiet()
        };
        let ada = Client::connect(of("ada"), era).await;
        let bob = Client::connect(of("bob"), era).await;
        let probe = ada.json("inventory.list_all", json!({})).await;
        let token = json!({"continuation_token": probe["continuation_token"]});
        assert_eq!(bob.tool_error("inventory.list_all", token.clone()).await, EXPIRED);
        assert!(ada.json("inventory.list_all", token).await["summary"].is_array());
        assert_eq!(shop.runs.load(Ordering::SeqCst), 1);
    }
}

#[tokio::test]
async fn the_backstop_applies_to_unmarked_tools() {
    for era in ERAS {
        let shop = Shop::new();
        let rules = Rules { auto_negotiate_bytes: Some(1000), ..Rules::default() };
        let client = Client::connect(gated(&shop).defaults(rules), era).await;
        assert!(client.json("plain", json!({"items": 1})).await.is_array());
        let probe = client.json("plain", json!({"items": 9})).await;
        let page = json!({"continuation_token": probe["continuation_token"], "mode": "paginated", "page": 1});
        assert_eq!(client.json("plain", page).await["total"], 9);
    }
}

#[tokio::test]
async fn a_dispatcher_supports_the_negotiation() {
    for era in ERAS {
        let shop = Shop::new();
        let dispatcher = Dispatcher::new("dispatch", "Calls any tool of the shop");
        let client = Client::connect(gated(&shop).dispatcher(dispatcher), era).await;
        assert!(client.tools().await.iter().any(|tool| tool.name == "dispatch"));
        let call = json!({"tool": "inventory.list_all", "arguments": {"warehouse": "WH-09"}});
        let probe = client.json("dispatch", call).await;
        let fetch = json!({"continuation_token": probe["continuation_token"], "mode": "paginated"});
        let page = client.json("dispatch", json!({"tool": "inventory.list_all", "arguments": fetch})).await;
        assert_eq!(page["items"][0]["warehouse"], "WH-09");
        assert!(client.tool_error("dispatch", json!({})).await.contains("tool is a name from tools/list"));
        assert!(
            client.tool_error("dispatch", json!({"tool": "dispatch"})).await.contains("cannot call itself")
        );
        assert_eq!(shop.runs.load(Ordering::SeqCst), 1);
    }
}

#[tokio::test]
async fn result_query_follows_what_a_tool_declares() {
    for era in ERAS {
        let shop = Shop::new();
        let folder = tempfile::tempdir().unwrap();
        let place = StoreLocation::Folder(Some(folder.path().to_owned()));
        // The second client talks to a new process, which has not seen the tool yet.
        let server = || Tidegate::wrap(shop.clone()).store_in(place.clone()).quiet();
        let client = Client::connect(server(), era).await;
        client.json("products.search", json!({"items": 300})).await;
        let resources = client.client.list_all_resources().await.unwrap();
        let name = resources[0].name.clone();
        for client in [client, Client::connect(server(), era).await] {
            let page = client.text("result_query", json!({"id": name, "page": 2})).await;
            assert!(page.contains("8-14 of 300"), "{page}");
        }
    }
}
