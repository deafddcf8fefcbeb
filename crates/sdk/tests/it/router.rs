//! A `Router` of rmcp inside the gate.

use rmcp::handler::server::router::Router;
use rmcp::{ServerHandler, tool, tool_router};
use serde_json::json;
use tidegate_sdk::{StoreLocation, Tidegate, heavy};

use crate::{Client, ERAS};

#[derive(Debug, Clone)]
struct Shop;

#[tool_router]
impl Shop {
    #[heavy(style = "probe", page_size = 25)]
    #[tool(description = "List every item in stock")]
    async fn list_all(&self) -> String {
        (0..5000).map(|id| format!("{{\"id\":{id},\"name\":\"item {id}\"}}\n")).collect()
    }

    #[tool(description = "Say hello")]
    async fn hello(&self) -> String {
        "hello".into()
    }
}

impl ServerHandler for Shop {}

/// Regression: a router could not be wrapped.
#[tokio::test]
async fn a_router_is_wrapped() {
    for era in ERAS {
        let router = Router::new(Shop).with_tools(Shop::tool_router());
        let server = Tidegate::wrap(router).store_in(StoreLocation::Memory).quiet();
        let client = Client::connect(server.clone(), era).await;
        let names: Vec<String> = client.tools().await.iter().map(|tool| tool.name.to_string()).collect();
        assert_eq!(names, ["hello", "list_all", "result_query"]);
        assert_eq!(client.text("hello", json!({})).await, "hello");
        let probe = client.json("list_all", json!({})).await;
        let arguments =
            json!({"continuation_token": probe["continuation_token"], "mode": "paginated", "page": 2});
        let page = client.json("list_all", arguments).await;
        assert_eq!(page["items"].as_array().unwrap().len(), 25);
        let _: tidegate_sdk::RouterServer<Shop> = server.into_inner();
    }
}
