//! Defects that were mended and must not return; those that concern one module are in the tests of that module.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use rmcp::model::{CallToolRequestParams, CallToolResult, ContentBlock};
use rmcp::{ErrorData, ServerHandler, ServiceError, tool, tool_handler, tool_router};
use serde_json::{Value, json};
use tidegate_sdk::{Artifacts, OnStoreFailure, Rules, StoreLocation, Tidegate, heavy};
use tidegate_testkit::clock::ManualClock;

use crate::{Client, ERAS};

const PAGE_SIZE: u64 = 25;
/// How long a token is valid; a result is kept ten times as long.
const TOKEN_SECONDS: u64 = 60;
const STYLE: &str = "probe";

struct Depot;

fn words(count: usize) -> String {
    (0..count).map(|number| format!("Sentence {number} of the report says something new.\n")).collect()
}

#[tool_router]
impl Depot {
    #[heavy(style = STYLE, page_size = PAGE_SIZE, token_seconds = TOKEN_SECONDS, keep_seconds = 10 * TOKEN_SECONDS)]
    #[tool(description = "Every item")]
    async fn items(&self) -> String {
        let item = |id: usize| json!({"id": id, "name": format!("item {id}")});
        Value::from((0..5000).map(item).collect::<Vec<_>>()).to_string()
    }

    #[tool(description = "Fails at length")]
    async fn failing(&self) -> Result<String, ErrorData> {
        Err(ErrorData::internal_error(
            "no ".repeat(50_000),
            Some(json!({"reason": "quota", "retry_seconds": 30})),
        ))
    }

    #[tool(description = "A report and a picture")]
    async fn pictured(&self) -> CallToolResult {
        let line = words(4000).replace('\n', " ");
        let data = base64::engine::general_purpose::STANDARD.encode(vec![7; 200_000]);
        CallToolResult::success(vec![ContentBlock::text(line), ContentBlock::image(data, "image/png")])
    }

    #[tool(description = "One long line")]
    async fn long_line(&self) -> String {
        words(4000).replace('\n', " ")
    }
}

#[tool_handler]
impl ServerHandler for Depot {}

fn wrapped() -> Tidegate<Depot> {
    Tidegate::wrap(Depot).artifacts(&Artifacts::store_in(StoreLocation::Memory)).quiet()
}

/// Regression: the schema said "20 if absent" where the page size is 25.
#[tokio::test]
async fn the_schema_has_the_page_size_that_is_set() {
    for era in ERAS {
        let tools = serde_json::to_value(Client::connect(wrapped(), era).await.tools().await).unwrap();
        let items = tools.as_array().unwrap().iter().find(|tool| tool["name"] == "items").unwrap();
        let page_size = &items["inputSchema"]["properties"]["page_size"]["description"];
        assert_eq!(page_size, "Items of a page; 25 if absent");
    }
}

/// Regression: `ttl_seconds` was the life of the token in `#[heavy]` and retention in `Rules`.
#[tokio::test]
async fn a_token_and_a_result_expire_separately() {
    let clock = Arc::new(ManualClock::default());
    let server = wrapped().clock(Arc::<ManualClock>::clone(&clock));
    let client = Client::connect(server, ERAS[0]).await;
    let probe = client.json("items", json!({})).await;
    let fetch = json!({"continuation_token": probe["continuation_token"], "mode": "paginated", "page": 1});
    assert_eq!(client.json("items", fetch.clone()).await["items"].as_array().unwrap().len(), 25);
    let kept = client.resources().await;
    clock.advance(Duration::from_secs(TOKEN_SECONDS + 1));
    client.any_error("items", fetch).await;
    assert!(client.read(&kept[0]).await.is_ok(), "the result outlives the token");
    clock.advance(Duration::from_secs(9 * TOKEN_SECONDS));
    assert!(client.read(&kept[0]).await.is_err());
}

/// Regression: `OnStoreFailure`, which `Rules` needs, was not exported.
#[test]
fn every_type_of_a_rule_is_exported() {
    let rules = Rules {
        on_store_failure: Some(OnStoreFailure::Error),
        compact: Some(tidegate_sdk::Compact::Lossless),
        style: Some(tidegate_sdk::Style::Contract),
        probe_when: Some(tidegate_sdk::AnswerWhen::Always),
        tier: Some(tidegate_sdk::Tier::Admin),
        ..Rules::default()
    };
    assert_eq!(rules.validate(), Ok(()));
}

#[test]
#[should_panic(expected = "invalid rules: page_size is 0, but must be a whole number from 1 to 1000")]
fn rules_that_make_no_sense_are_refused() {
    let _ = wrapped().defaults(Rules { page_size: Some(0), ..Rules::default() });
}

/// Regression: a large error lost its small `data`.
#[tokio::test]
async fn a_large_error_keeps_its_small_data() {
    for era in ERAS {
        let client = Client::connect(wrapped(), era).await;
        let error = client.client.call_tool(CallToolRequestParams::new("failing")).await.unwrap_err();
        let ServiceError::McpError(error) = error else { panic!("{error}") };
        assert_eq!(error.data, Some(json!({"reason": "quota", "retry_seconds": 30})));
        assert!(error.message.len() < 10_000, "{} bytes", error.message.len());
    }
}

/// Regression: with a text and a picture only the picture was said to be left out.
#[tokio::test]
async fn what_is_left_out_of_a_text_with_a_picture_is_counted() {
    let client = Client::connect(wrapped(), ERAS[0]).await;
    let overview = client.text("pictured", json!({})).await;
    let frame = overview.lines().nth(1).unwrap();
    assert!(
        frame.contains("left out: 1 of 1 pictures, ") && frame.contains(" of 190,890 characters"),
        "{frame}"
    );
    assert!(overview.lines().last().unwrap().contains("\"lines\":\"1-1\""), "{overview}");
}

/// Regression: of one long line all bytes were said to be left out, while some were shown.
#[tokio::test]
async fn what_is_left_out_of_a_long_line_is_counted() {
    let client = Client::connect(wrapped(), ERAS[0]).await;
    let overview = client.text("long_line", json!({})).await;
    assert!(overview.contains("left out: 190,170 of 190,890 characters."), "{overview}");
}
