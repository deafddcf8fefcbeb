//! Pages of a list pass the gate unchanged, and answers depend on the client's name.

use rmcp::handler::server::wrapper::{Json, Parameters};
use rmcp::{ServerHandler, tool, tool_handler, tool_router};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tidegate_sdk::visit::{Seen, Visitor};
use tidegate_sdk::{
    Keyset, OutputSchema, Page, PageArguments, PageRules, Paged, ProfileRules, Rules, Scope, StoreLocation,
    Tidegate, Tokens, ToolError,
};

const ROWS: u64 = 400;

#[derive(Clone)]
struct Library {
    keyset: Keyset<u64>,
}

#[derive(Deserialize, JsonSchema)]
struct Listing {
    #[serde(flatten)]
    page: PageArguments<Self>,
}

impl Paged for Listing {
    fn rules() -> PageRules {
        PageRules { default_limit: 100, max_limit: 300, max_tokens: Tokens(20_000), ..PageRules::default() }
    }
}

#[derive(Serialize, JsonSchema)]
struct Row {
    id: u64,
    title: String,
    note: String,
}

#[derive(Serialize, JsonSchema)]
struct Everything {
    rows: Vec<Row>,
}

fn row(id: u64) -> Row {
    let note = match id % 3 {
        0 => "\"quoted\" and \\escaped\\ ".repeat(3),
        1 => "words of all kinds ".repeat(2),
        _ => "日本語の文字 ".repeat(2),
    };
    Row { id, title: format!("Title of row {id}"), note }
}

#[tool_router]
impl Library {
    #[tool(description = "List the rows by pages")]
    async fn list(&self, Parameters(asked): Parameters<Listing>) -> Result<Json<Page<Row>>, ToolError> {
        let (request, scope) = (asked.page.request()?, Scope::of_tool("list"));
        let after = request.cursor.as_deref().map(|cursor| self.keyset.decode(&scope, cursor)).transpose()?;
        let first = after.map_or(0, |last| last + 1);
        let rows = (first..ROWS).take(request.limit + 1).map(|id| (id, row(id)));
        Ok(Json(self.keyset.page_within(&scope, rows, &request, ROWS)?))
    }

    #[tool(description = "List all rows at once")]
    async fn everything(&self) -> Json<Everything> {
        Json(Everything { rows: (0..ROWS).map(row).collect() })
    }
}

#[tool_handler]
impl ServerHandler for Library {}

fn wrapped() -> Tidegate<Library> {
    let library = Library { keyset: Keyset::with_secret([7; 32]) };
    Tidegate::wrap(library).store_in(StoreLocation::Memory).quiet()
}

/// Returns the page in a result, which must be unchanged and equal in text and `structuredContent`.
fn page_of(seen: &Seen) -> Value {
    let page = seen.result.structured_content.clone().unwrap();
    assert!(page["items"].is_array(), "{page}");
    assert_eq!(seen.json(), page);
    page
}

/// Regression: the gate replaced a page of about 2,000 tokens with an overview, because text and `structuredContent` both
/// counted.
#[tokio::test]
async fn a_page_within_its_tokens_passes_unchanged() {
    for client in ["somebody", "claude-code", "codex-mcp-client", "small-model"] {
        let client = Visitor::named(client).to(wrapped()).await.unwrap();
        for max_tokens in [300, 1000, 2000, 2500, 9000] {
            let (mut seen, mut cursor) = (Vec::new(), Value::Null);
            loop {
                let asked = json!({"limit": 300, "max_tokens": max_tokens, "cursor": cursor});
                let answer = client.call("list", &asked).await.unwrap();
                assert!(answer.tokens() <= max_tokens, "{} of {max_tokens}", answer.tokens());
                let page = page_of(&answer);
                seen.extend(page["items"].as_array().unwrap().iter().map(|row| row["id"].as_u64().unwrap()));
                cursor = page["nextCursor"].clone();
                if cursor.is_null() {
                    break;
                }
                assert!(
                    answer.tokens() > max_tokens.min(2000) * 8 / 10,
                    "{} of {max_tokens}",
                    answer.tokens()
                );
            }
            assert!(seen.into_iter().eq(0..ROWS), "every row once");
        }
    }
}

#[tokio::test]
async fn pages_grow_with_the_line_of_the_tool_and_the_limit_of_the_client() {
    let rules = Rules { line_tokens: Some(8000), ..Rules::default() };
    let server = wrapped()
        .tools("list", rules)
        .clients("large", ProfileRules { max_bytes: Some(60_000), ..ProfileRules::default() });
    let asked = json!({"limit": 300, "max_tokens": 20_000});
    let large = Visitor::named("large").to(server.clone()).await.unwrap().call("list", &asked).await.unwrap();
    assert!((6000..=8000).contains(&large.tokens()), "{}", large.tokens());
    page_of(&large);
    let usual = Visitor::to(server).await.unwrap().call("list", &asked).await.unwrap();
    assert!(usual.tokens() < 4000 && usual.text().len() < 10_240, "{}", usual.tokens());
    page_of(&usual);
}

/// Regression: the schema had the default limits.
#[tokio::test]
async fn the_listed_schema_has_the_rules_of_the_list() {
    let tools = Visitor::modern(wrapped()).await.unwrap().tools().await.unwrap();
    let list = tools.iter().find(|tool| tool.name == "list").unwrap();
    let limit = json!({"type": "integer", "minimum": 1, "maximum": 300, "default": 100});
    assert_eq!(list.input_schema["properties"]["limit"], limit);
    assert_eq!(list.input_schema["properties"]["max_tokens"]["maximum"], 20_000);
    assert!(!list.input_schema["properties"].as_object().unwrap().contains_key("fields"));
}

/// Regression: a setting for `output_schema` had no effect in servers built with the SDK.
#[tokio::test]
async fn a_setting_decides_what_happens_to_output_schemas() {
    let of_client = |output_schema| ProfileRules { output_schema, ..ProfileRules::default() };
    for (rule, properties, has_structured) in [
        (None, vec!["anyOf"], true),
        (Some(OutputSchema::Union), vec!["anyOf"], true),
        (Some(OutputSchema::Strip), vec![], false),
        (Some(OutputSchema::Keep), vec!["properties"], false),
    ] {
        let server = wrapped().clients("*", of_client(rule));
        let client = Visitor::named("codex-mcp-client").to(server).await.unwrap();
        let tools = client.tools().await.unwrap();
        let schema = &tools.iter().find(|tool| tool.name == "everything").unwrap().output_schema;
        let keys = |key: &&str| schema.as_ref().is_some_and(|schema| schema.contains_key(*key));
        assert_eq!(
            ["anyOf", "properties"].iter().copied().filter(keys).collect::<Vec<_>>(),
            properties,
            "{rule:?}"
        );
        let answer = client.call("everything", &json!({})).await.unwrap();
        assert!(answer.text().contains("result_query"), "{}", answer.text());
        assert_eq!(answer.result.structured_content.is_some(), has_structured, "{rule:?}");
    }
}

#[tokio::test]
async fn a_visitor_connects_under_its_name() {
    let few = ProfileRules { max_bytes: Some(2000), ..ProfileRules::default() };
    let server = wrapped().clients("few*", few);
    for modern in [false, true] {
        let visit = async |name: &str| {
            let named = Visitor::named(name);
            let client =
                if modern { named.modern(server.clone()).await } else { named.to(server.clone()).await };
            let page = client.unwrap().call("list", &json!({"max_tokens": 2000})).await.unwrap();
            page_of(&page);
            page.text().len()
        };
        assert!(visit("few bytes").await <= 2000);
        assert!(visit("other").await > 4000);
    }
}
