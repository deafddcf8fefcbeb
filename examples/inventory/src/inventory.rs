//! The tools. What is heavy says so, and what needs a tier says which; the functions return everything there is.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{Implementation, ServerCapabilities, ServerConfig};
use rmcp::{ServerHandler, tool, tool_handler, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;
use tidegate_sdk::{Checked, ToolError, heavy};

use crate::catalogue::CATEGORIES;
use crate::stock::{Stock, StockError};

/// The most that is added or taken at once.
const LARGEST_CHANGE: i64 = 1_000_000;
/// The longest reason that is written down.
const LONGEST_REASON: usize = 200;

/// The server. A clone has the same stock.
#[derive(Debug, Clone)]
pub struct Inventory {
    stock: Stock,
    runs: Arc<AtomicU64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct InWarehouse {
    /// Only this warehouse, WH-01 to WH-08
    warehouse: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Search {
    /// What is in the name of a product
    query: String,
    /// Only this category, such as plumbing
    category: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Below {
    /// Records of which fewer than this are there
    quantity: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Adjustment {
    /// The product, such as SKU-0001
    sku: String,
    /// Where, WH-01 to WH-08
    warehouse: String,
    /// How many come; fewer than 0 if they go
    change: i64,
    /// Why, for the audit
    reason: String,
}

#[tool_router]
impl Inventory {
    /// Returns a server of a stock.
    pub fn new(stock: Stock) -> Self {
        Self { stock, runs: Arc::default() }
    }

    /// Returns how often a tool was run.
    pub fn runs(&self) -> u64 {
        self.runs.load(Ordering::SeqCst)
    }

    /// Asks the stock on a thread where waiting for the disk holds up nobody.
    async fn ask(
        &self,
        question: impl FnOnce(&Stock) -> Result<String, StockError> + Send + 'static,
    ) -> Result<String, ToolError> {
        self.runs.fetch_add(1, Ordering::SeqCst);
        let stock = self.stock.clone();
        Ok(tokio::task::spawn_blocking(move || question(&stock)).await??)
    }

    #[heavy(style = "probe")]
    #[tool(
        name = "inventory.list_all",
        description = "List all inventory records. Returns a probe on first call: use continuation_token and mode to fetch data",
        annotations(read_only_hint = true)
    )]
    async fn list_all(
        &self,
        Parameters(asked): Parameters<Checked<InWarehouse>>,
    ) -> Result<String, ToolError> {
        let warehouse = asked.arguments()?.warehouse;
        self.ask(move |stock| stock.records(warehouse.as_deref())).await
    }

    #[heavy(style = "probe", page_size = 25)]
    #[tool(
        name = "products.search",
        description = "Search products. Returns a probe on first call: use continuation_token and mode to fetch data",
        annotations(read_only_hint = true)
    )]
    async fn search(&self, Parameters(asked): Parameters<Checked<Search>>) -> Result<String, ToolError> {
        let Search { query, category } = asked.arguments()?;
        if let Some(unknown) = category.as_deref().filter(|category| !CATEGORIES.contains(category)) {
            let unknown: String = unknown.chars().take(60).collect();
            let message = format!("there is no category {unknown:?}; there are {}", CATEGORIES.join(", "));
            return Err(ToolError::new(message));
        }
        self.ask(move |stock| stock.products(&query, category.as_deref())).await
    }

    // Nobody marked it: what it returns was small when it was written.
    #[tool(
        name = "inventory.low_stock",
        description = "List records of which few are left, fewest first",
        annotations(read_only_hint = true)
    )]
    async fn low_stock(&self, Parameters(asked): Parameters<Checked<Below>>) -> Result<String, ToolError> {
        let Below { quantity } = asked.arguments()?;
        self.ask(move |stock| stock.below(quantity)).await
    }

    #[heavy(tier = "read_write")]
    #[tool(
        name = "inventory.adjust",
        description = "Add to the stock of a product in a warehouse, or take from it"
    )]
    async fn adjust(&self, Parameters(asked): Parameters<Checked<Adjustment>>) -> Result<String, ToolError> {
        let Adjustment { sku, warehouse, change, reason } = asked.arguments()?;
        if change == 0 || !(-LARGEST_CHANGE..=LARGEST_CHANGE).contains(&change) {
            return Err(ToolError::new(format!(
                "change should be a whole number from -{LARGEST_CHANGE} to {LARGEST_CHANGE} other than 0, not {change}"
            )));
        }
        let length = reason.chars().count();
        if reason.trim().is_empty() || length > LONGEST_REASON {
            return Err(ToolError::new(format!(
                "reason should have from 1 to {LONGEST_REASON} characters, not {length}"
            )));
        }
        self.ask(move |stock| stock.adjust(&sku, &warehouse, change, &reason)).await
    }

    #[heavy(style = "probe", tier = "admin")]
    #[tool(
        name = "inventory.audit",
        description = "List every change of the stock, newest first. Returns a probe on first call",
        annotations(read_only_hint = true)
    )]
    async fn audit(&self, Parameters(asked): Parameters<Checked<InWarehouse>>) -> Result<String, ToolError> {
        let warehouse = asked.arguments()?.warehouse;
        self.ask(move |stock| stock.movements(warehouse.as_deref())).await
    }
}

#[tool_handler]
impl ServerHandler for Inventory {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("inventory", env!("CARGO_PKG_VERSION")))
    }
}
