//! The server seen by a client, in both protocol eras: probe and fetch, expiry, the backstop, and tiers.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by failing")]

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use inventory::{Access, BACKSTOP_BYTES, Inventory, PRODUCTS, Stock, WAREHOUSES, server, table};
use serde_json::{Value, json};
use tidegate_sdk::visit::{Seen, Visitor};
use tidegate_sdk::{Rules, StoreLocation, Tidegate, Tier};

const EXPIRED: &str = "Continuation token expired or not found. Re-invoke without continuation_token to start a new negotiation.";
const LIST: &str = "inventory.list_all";
/// One record per product and warehouse.
const RECORDS: u32 = PRODUCTS * WAREHOUSES.len() as u32;

/// A client in one protocol era, with the server behind it.
struct TestShop {
    inventory: Inventory,
    access: Access,
    visitor: Visitor,
}

impl TestShop {
    async fn open(
        era: usize,
        tier: Tier,
        change: impl Fn(Tidegate<Inventory>) -> Tidegate<Inventory>,
    ) -> Self {
        let (inventory, access) = (Inventory::new(Stock::open(None).unwrap()), Access::new(tier));
        let server =
            change(server(inventory.clone(), access.clone()).store_in(StoreLocation::Memory).quiet());
        let visitor = match era {
            0 => Visitor::to(server).await.unwrap(),
            _ => Visitor::modern(server).await.unwrap(),
        };
        Self { inventory, access, visitor }
    }

    /// Returns one shop in each protocol era.
    async fn both(tier: Tier) -> [Self; 2] {
        [Self::open(0, tier, |server| server).await, Self::open(1, tier, |server| server).await]
    }

    async fn call(&self, tool: &str, arguments: Value) -> Seen {
        let seen = self.visitor.call(tool, &arguments).await.unwrap();
        assert!(seen.bytes() <= 10_240, "{} bytes", seen.bytes());
        seen
    }

    async fn json(&self, tool: &str, arguments: Value) -> Value {
        let seen = self.call(tool, arguments).await;
        assert!(!seen.failed(), "{}", seen.text());
        seen.json()
    }

    async fn tool_error(&self, tool: &str, arguments: Value) -> String {
        let seen = self.call(tool, arguments.clone()).await;
        assert!(seen.failed(), "{arguments}: {}", seen.text());
        seen.json()["error"].as_str().unwrap_or(seen.text()).to_owned()
    }

    async fn tools(&self) -> Vec<String> {
        let tools = self.visitor.tools().await.unwrap();
        let mut names: Vec<String> = tools.into_iter().map(|tool| tool.name.into_owned()).collect();
        names.sort_unstable();
        names
    }
}

#[tokio::test]
async fn ten_thousand_records_are_there() {
    let plain = Visitor::to(Inventory::new(Stock::open(None).unwrap())).await.unwrap();
    let all = plain.call(LIST, &json!({})).await.unwrap().json();
    assert_eq!(all.as_array().unwrap().len() as u32, RECORDS);
    assert_eq!(RECORDS, 10_000);
    let one = plain.call(LIST, &json!({"warehouse": "WH-03"})).await.unwrap().json();
    let one = one.as_array().unwrap();
    assert_eq!(one.len() as u32, PRODUCTS);
    assert!(one.iter().all(|record| record["warehouse"] == json!({"id": "WH-03", "city": "Turku"})));
}

#[tokio::test]
async fn the_first_call_is_a_probe_and_the_second_fetches() {
    for shop in TestShop::both(Tier::Read).await {
        let probe = shop.json(LIST, json!({"warehouse": "WH-01"})).await;
        let mut fields: Vec<&String> = probe.as_object().unwrap().keys().collect();
        fields.sort_unstable();
        assert_eq!(fields, ["available_modes", "continuation_token", "preview", "total_size"]);
        assert_eq!(probe["available_modes"], json!(["summary", "paginated", "filtered", "full"]));
        let whole = Stock::open(None).unwrap().records(Some("WH-01")).unwrap();
        assert_eq!(probe["preview"], whole[..200]);
        assert_eq!(probe["total_size"], whole.len());
        let records: Value = serde_json::from_str(&whole).unwrap();
        let token = &probe["continuation_token"];

        let summary = shop.json(LIST, json!({"continuation_token": token, "mode": "summary"})).await;
        assert_eq!([&summary["total"], &summary["has_more"]], [&json!(PRODUCTS), &json!(true)]);
        assert_eq!(summary["summary"].as_array().unwrap().len(), 5);
        assert_eq!(
            shop.json(LIST, json!({"continuation_token": token})).await,
            summary,
            "the default mode is summary"
        );

        let page = json!({"continuation_token": token, "mode": "paginated", "page": 3, "page_size": 10});
        let page = shop.json(LIST, page).await;
        assert_eq!(page["items"].as_array().unwrap()[..], records.as_array().unwrap()[20..30]);
        assert_eq!(
            [&page["page"], &page["page_size"], &page["total"], &page["has_more"]],
            [&json!(3), &json!(10), &json!(PRODUCTS), &json!(true)]
        );

        let keys =
            json!({"continuation_token": token, "mode": "filtered", "filter_keys": ["id", "product.name"]});
        let filtered = shop.json(LIST, keys).await;
        assert_eq!(filtered["items"][1], json!({"id": 2, "product.name": "Steel junction box 10 mm"}));

        let full = shop.json(LIST, json!({"continuation_token": token, "mode": "full"})).await;
        assert_eq!(full["total"], PRODUCTS);
        assert!(full["note"].as_str().unwrap().starts_with("the complete result is above the cap of"));
        assert_eq!(shop.inventory.runs(), 1, "six answers, one run");
    }
}

#[tokio::test]
async fn full_is_the_unchanged_result_up_to_the_cap() {
    for shop in TestShop::both(Tier::Read).await {
        let probe = shop.json("products.search", json!({"query": "", "category": "plumbing"})).await;
        let token = &probe["continuation_token"];
        let full = shop.call("products.search", json!({"continuation_token": token, "mode": "full"})).await;
        let whole = Stock::open(None).unwrap().products("", Some("plumbing")).unwrap();
        assert_eq!(full.text(), whole);
        assert_eq!(full.json().as_array().unwrap().len(), 70);
        let page =
            shop.json("products.search", json!({"continuation_token": token, "mode": "paginated"})).await;
        assert_eq!([&page["page_size"], &page["total"]], [&json!(25), &json!(70)], "as set by #[heavy]");
        assert_eq!(shop.inventory.runs(), 1);
    }
}

#[tokio::test]
async fn all_pages_together_are_the_result() {
    for shop in TestShop::both(Tier::Read).await {
        let probe = shop.json(LIST, json!({"warehouse": "WH-08"})).await;
        let (mut seen, mut number) = (Vec::new(), 1);
        loop {
            let fetch = json!({"continuation_token": probe["continuation_token"], "mode": "paginated", "page": number});
            let page = shop.json(LIST, fetch).await;
            seen.extend(page["items"].as_array().unwrap().iter().cloned());
            number += 1;
            if page["has_more"] == false {
                break;
            }
        }
        let whole = Stock::open(None).unwrap().records(Some("WH-08")).unwrap();
        assert_eq!(Value::Array(seen), serde_json::from_str::<Value>(&whole).unwrap());
        assert_eq!(shop.inventory.runs(), 1);
    }
}

#[tokio::test]
async fn a_small_result_is_returned_unchanged() {
    for shop in TestShop::both(Tier::Read).await {
        let found =
            shop.json("products.search", json!({"query": "brass ball", "category": "plumbing"})).await;
        assert!(
            found
                .as_array()
                .unwrap()
                .iter()
                .all(|product| product["name"].as_str().unwrap().starts_with("Brass ball"))
        );
        let first = &found[0];
        assert_eq!([&first["sku"], &first["category"]], [&json!("SKU-0271"), &json!("plumbing")]);
        assert_eq!(shop.json("products.search", json!({"query": "zeppelin"})).await, json!([]));
    }
}

#[tokio::test]
async fn a_token_expires() {
    for era in 0..2 {
        let short = Rules { token_seconds: Some(1), ..Rules::default() };
        let shop = TestShop::open(era, Tier::Read, |server| server.tools(LIST, short.clone())).await;
        let probe = shop.json(LIST, json!({})).await;
        let fetch = json!({"continuation_token": probe["continuation_token"]});
        assert_eq!(shop.json(LIST, fetch.clone()).await["total"], RECORDS);
        assert_eq!(
            shop.tool_error("products.search", fetch.clone()).await,
            EXPIRED,
            "the token of another tool"
        );
        tokio::time::sleep(Duration::from_millis(1100)).await;
        assert_eq!(shop.tool_error(LIST, fetch).await, EXPIRED);
        assert_eq!(shop.inventory.runs(), 1);
    }
}

#[tokio::test]
async fn the_backstop_applies_to_unmarked_tools() {
    for shop in TestShop::both(Tier::Read).await {
        let whole: Value = serde_json::from_str(&Stock::open(None).unwrap().below(3).unwrap()).unwrap();
        let few = shop.call("inventory.low_stock", json!({"quantity": 3})).await;
        let words = format!("inventory.low_stock returned {} rows", whole.as_array().unwrap().len());
        assert!(few.text().starts_with(&words), "above the line, but not over the threshold: {}", few.text());
        let probe = shop.json("inventory.low_stock", json!({"quantity": 200})).await;
        assert!(probe["total_size"].as_u64().unwrap() > BACKSTOP_BYTES);
        let fetch = json!({"continuation_token": probe["continuation_token"], "mode": "paginated"});
        let page = shop.json("inventory.low_stock", fetch).await;
        assert_eq!(page["items"][0]["quantity"], 0);
        assert_eq!(shop.inventory.runs(), 2);
    }
}

const READ_TOOLS: [&str; 4] =
    ["inventory.list_all", "inventory.low_stock", "products.search", "result_query"];

fn read_tools_and(more: &[&str]) -> Vec<String> {
    let mut names: Vec<String> = READ_TOOLS.iter().chain(more).map(|name| (*name).to_owned()).collect();
    names.sort_unstable();
    names
}

#[tokio::test]
async fn a_caller_sees_and_calls_only_tools_of_its_tier() {
    let change = json!({"sku": "SKU-0001", "warehouse": "WH-01", "change": 5, "reason": "delivery"});
    for shop in TestShop::both(Tier::Read).await {
        assert_eq!(shop.tools().await, read_tools_and(&[]));
        for (tool, needed) in [("inventory.adjust", "read_write"), ("inventory.audit", "admin")] {
            assert_eq!(
                shop.tool_error(tool, change.clone()).await,
                format!(
                    "{tool} needs the tier {needed}, and this caller has read. Nothing was run. Use a tool from tools/list, \
                     or ask the administrator of the server for the tier."
                )
            );
        }
        assert_eq!(shop.inventory.runs(), 0);
        shop.access.set(Tier::ReadWrite);
        assert_eq!(shop.tools().await, read_tools_and(&["inventory.adjust"]));
        assert_eq!(shop.json("inventory.adjust", change.clone()).await["quantity"], 5);
        assert!(shop.tool_error("inventory.audit", json!({})).await.contains("needs the tier admin"));
        shop.access.set(Tier::Admin);
        assert_eq!(shop.tools().await, read_tools_and(&["inventory.adjust", "inventory.audit"]));
        let audit = shop.json("inventory.audit", json!({})).await;
        let fetch = json!({"continuation_token": audit["continuation_token"], "mode": "paginated"});
        let newest = &shop.json("inventory.audit", fetch).await["items"][0];
        let expected = json!({"movement": 10_001, "warehouse": "WH-01", "sku": "SKU-0001", "change": 5, "reason": "delivery"});
        assert_eq!(*newest, expected);
        assert_eq!(shop.inventory.runs(), 2);
    }
}

#[tokio::test]
async fn a_token_is_rejected_after_the_tier_drops() {
    for shop in TestShop::both(Tier::Admin).await {
        let audit = shop.json("inventory.audit", json!({})).await;
        let fetch = json!({"continuation_token": audit["continuation_token"], "mode": "summary"});
        assert_eq!(shop.json("inventory.audit", fetch.clone()).await["total"], RECORDS);
        for tier in [Tier::ReadWrite, Tier::Read] {
            shop.access.set(tier);
            assert_eq!(shop.tool_error("inventory.audit", fetch.clone()).await, EXPIRED, "{tier}");
        }
        shop.access.set(Tier::Admin);
        assert_eq!(
            shop.json("inventory.audit", fetch).await["total"],
            RECORDS,
            "the token itself is still valid"
        );
        assert_eq!(shop.inventory.runs(), 1);
    }
}

#[tokio::test]
async fn errors_say_what_is_accepted() {
    let adjust = |sku: &str, warehouse: &str, change: i64| json!({"sku": sku, "warehouse": warehouse, "change": change, "reason": "count"});
    for shop in TestShop::both(Tier::ReadWrite).await {
        for (tool, arguments, words) in [
            (
                "inventory.adjust",
                adjust("SKU-9999", "WH-01", 1),
                "unknown product \"SKU-9999\"; find the sku with products.search",
            ),
            (
                "inventory.adjust",
                adjust("SKU-0001", "WH-99", 1),
                "unknown warehouse \"WH-99\"; the warehouses are WH-01, WH-02,",
            ),
            (
                "inventory.adjust",
                adjust("SKU-0002", "WH-01", -38),
                "WH-01 has 37 of SKU-0002, so change must be at least -37, not -38",
            ),
            (
                "inventory.adjust",
                adjust("SKU-0001", "WH-01", 0),
                "change must be a whole number from -1000000 to 1000000",
            ),
            (
                "inventory.adjust",
                adjust("SKU-0001", "WH-01", i64::MIN),
                "change must be a whole number from -1000000",
            ),
            (
                "inventory.adjust",
                json!({"sku": "SKU-0001"}),
                "missing field `warehouse`; accepted arguments: change (integer, required)",
            ),
            (LIST, json!({"warehouse": "x".repeat(5000)}), "the warehouses are WH-01, WH-02, WH-03"),
            (LIST, json!({"warehouse": 3}), "expected a string; accepted arguments: warehouse (string)"),
            (
                LIST,
                json!({"ware": "WH-01"}),
                "unknown argument \"ware\"; accepted arguments: warehouse (string)",
            ),
            (LIST, json!({"mode": "brief"}), "one of summary, paginated, filtered, full"),
            (
                "products.search",
                json!({}),
                "missing field `query`; accepted arguments: category (string), query (string, required)",
            ),
            (
                "products.search",
                json!({"query": "", "category": "hats"}),
                "unknown category \"hats\"; the categories are plumbing,",
            ),
            ("inventory.low_stock", json!({"quantity": -1}), "accepted arguments: quantity (integer"),
        ] {
            let error = shop.tool_error(tool, arguments.clone()).await;
            assert!(error.contains(words) && error.len() < 700, "{arguments}: {error}");
        }
        let all_of_it = shop.json("inventory.adjust", adjust("SKU-0002", "WH-01", -37)).await;
        assert_eq!(all_of_it["quantity"], 0);
    }
}

#[tokio::test]
async fn changes_persist_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("stock.db");
    Stock::open(Some(&file)).unwrap().adjust("SKU-0007", "WH-02", 11, "found").unwrap();
    let again: Value =
        serde_json::from_str(&Stock::open(Some(&file)).unwrap().movements(Some("WH-02")).unwrap()).unwrap();
    assert_eq!(again.as_array().unwrap().len() as u32, PRODUCTS + 1);
    assert_eq!([&again[0]["change"], &again[0]["reason"]], [&json!(11), &json!("found")]);
}

/// Runs the program over stdio.
#[test]
fn over_stdio_results_are_stored_in_tidegate_home() {
    let home = tempfile::tempdir().unwrap();
    let mut program = Command::new(env!("CARGO_BIN_EXE_inventory"))
        .args(["--tier", "read"])
        .env("TIDEGATE_HOME", home.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = program.stdin.take().unwrap();
    let client = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}});
    for message in [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": LIST, "arguments": {}}}),
    ] {
        writeln!(input, "{message}").unwrap();
    }
    let answers = BufReader::new(program.stdout.take().unwrap()).lines();
    let answer = answers.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap()).nth(1).unwrap();
    assert_eq!(answer["id"], 2);
    let probe = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(probe.starts_with("{\"preview\":\"[{"), "{probe}");
    drop(input);
    let ended = program.wait_with_output().unwrap();
    assert!(ended.status.success());
    let log = String::from_utf8(ended.stderr).unwrap();
    assert!(log.starts_with("tidegate: inventory.list_all: "), "{log}");
    assert!(home.path().read_dir().unwrap().next().is_some());
}

/// Splits a text into its numbers and the text between them.
fn parts(text: &str) -> (Vec<u64>, Vec<&str>) {
    let digits = |letter: char| letter.is_ascii_digit() || letter == ',';
    let numbers =
        text.split(|letter| !digits(letter)).filter_map(|number| number.replace(',', "").parse().ok());
    (numbers.collect(), text.split(digits).filter(|words| !words.is_empty()).collect())
}

#[tokio::test]
async fn the_readme_has_the_table() {
    let table = table(&Stock::open(None).unwrap()).await.unwrap();
    let readme = include_str!("../README.md");
    let start = readme
        .find(table.lines().next().unwrap())
        .unwrap_or_else(|| panic!("README.md should have\n{table}"));
    for (measured, written) in table.lines().zip(readme[start..].lines()) {
        let (measured, written) = (parts(measured), parts(written));
        assert_eq!(measured.1, written.1, "README.md should have\n{table}");
        // Names of results and cursors are random, which changes an answer by a few tokens.
        let close = measured.0.iter().zip(&written.0).all(|(one, other)| one.abs_diff(*other) <= 20);
        assert!(close, "README.md should have\n{table}");
    }
}
