//! A small shop with heavy tools, which counts how often each was run.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rmcp::handler::server::wrapper::Parameters;
use rmcp::{ServerHandler, tool, tool_handler, tool_router};
use serde_json::json;
use tidegate_sdk::heavy;

#[derive(Clone)]
pub(crate) struct Shop {
    /// How often a tool was run.
    pub(crate) runs: Arc<AtomicU64>,
}

#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    /// Filter by warehouse.
    warehouse: Option<String>,
    /// How many items there are.
    items: Option<u64>,
}

#[tool_router]
impl Shop {
    pub(crate) fn new() -> Self {
        Self { runs: Arc::default() }
    }

    fn inventory(&self, wanted: &Wanted) -> String {
        self.runs.fetch_add(1, Ordering::SeqCst);
        let warehouse = wanted.warehouse.as_deref().unwrap_or("WH-02");
        let items = (1..=wanted.items.unwrap_or(430)).map(|id| {
            json!({"id": id, "product": {"name": format!("Widget {id}"), "note": "n".repeat(120)}, "quantity": id * 7 % 50, "warehouse": warehouse})
        });
        serde_json::Value::Array(items.collect()).to_string()
    }

    #[heavy(style = "probe")]
    #[tool(name = "inventory.list_all", description = "List all inventory records")]
    async fn list_all(&self, Parameters(wanted): Parameters<Wanted>) -> String {
        self.inventory(&wanted)
    }

    #[heavy(style = "probe", probe_when = "always", page_size = 7, ttl_seconds = 1)]
    #[tool(name = "products.search", description = "Search products")]
    async fn search(&self, Parameters(wanted): Parameters<Wanted>) -> String {
        self.inventory(&wanted)
    }

    #[heavy(style = "probe", tier = "admin")]
    #[tool(name = "inventory.audit", description = "Every record, for administrators")]
    async fn audit(&self, Parameters(wanted): Parameters<Wanted>) -> String {
        self.inventory(&wanted)
    }

    #[heavy(style = "contract", domain = "stock")]
    #[tool(description = "Every record, by contract")]
    async fn stock_list(&self, Parameters(wanted): Parameters<Wanted>) -> String {
        self.inventory(&wanted)
    }

    #[tool(description = "A tool nobody marked")]
    async fn plain(&self, Parameters(wanted): Parameters<Wanted>) -> String {
        self.inventory(&wanted)
    }
}

#[tool_handler]
impl ServerHandler for Shop {}
