//! A small shop with heavy tools. It counts how often its tools run.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rmcp::handler::server::wrapper::Parameters;
use rmcp::{ServerHandler, tool, tool_handler, tool_router};
use serde_json::json;
use tidegate_sdk::heavy;

#[derive(Clone)]
pub(crate) struct Shop {
    /// How often a tool ran.
    pub(crate) runs: Arc<AtomicU64>,
}

#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Filter {
    /// Filter by warehouse.
    warehouse: Option<String>,
    /// Number of items in stock.
    items: Option<u64>,
}

#[tool_router]
impl Shop {
    pub(crate) fn new() -> Self {
        Self { runs: Arc::default() }
    }

    fn inventory(&self, filter: &Filter) -> String {
        self.runs.fetch_add(1, Ordering::SeqCst);
        let warehouse = filter.warehouse.as_deref().unwrap_or("WH-02");
        let items = (1..=filter.items.unwrap_or(430)).map(|id| {
            json!({"id": id, "product": {"name": format!("Widget {id}"), "note": "n".repeat(120)}, "quantity": id * 7 % 50, "warehouse": warehouse})
        });
        serde_json::Value::Array(items.collect()).to_string()
    }

    #[heavy(style = "probe")]
    #[tool(name = "inventory.list_all", description = "List all inventory records")]
    async fn list_all(&self, Parameters(filter): Parameters<Filter>) -> String {
        self.inventory(&filter)
    }

    #[heavy(style = "probe", probe_when = "always", page_size = 7, token_seconds = 1)]
    #[tool(name = "products.search", description = "Search products")]
    async fn search(&self, Parameters(filter): Parameters<Filter>) -> String {
        self.inventory(&filter)
    }

    #[heavy(style = "probe", tier = "admin")]
    #[tool(name = "inventory.audit", description = "Every record, for administrators")]
    async fn audit(&self, Parameters(filter): Parameters<Filter>) -> String {
        self.inventory(&filter)
    }

    #[heavy(style = "contract", domain = "stock")]
    #[tool(description = "Every record, by contract")]
    async fn stock_list(&self, Parameters(filter): Parameters<Filter>) -> String {
        self.inventory(&filter)
    }

    #[tool(description = "A tool without #[heavy]")]
    async fn plain(&self, Parameters(filter): Parameters<Filter>) -> String {
        self.inventory(&filter)
    }
}

#[tool_handler]
impl ServerHandler for Shop {}
