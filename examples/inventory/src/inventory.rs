//! The tools. `#[heavy]` marks large results and required tiers; the functions always return the full result.

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

/// The largest change of one call, in either direction.
const MAX_CHANGE: i64 = 1_000_000;
const MAX_REASON_CHARS: usize = 200;

/// The server. Clones share the stock.
#[derive(Debug, Clone)]
pub struct Inventory {
    stock: Stock,
    runs: Arc<AtomicU64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct WarehouseArguments {
    /// Only this warehouse, WH-01 to WH-08
    warehouse: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct SearchArguments {
    /// Part of the name of a product
    query: String,
    /// Only this category, such as plumbing
    category: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct LowStockArguments {
    /// Only records with a quantity below this
    quantity: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct AdjustArguments {
    /// The product, such as SKU-0001
    sku: String,
    /// The warehouse, WH-01 to WH-08
    warehouse: String,
    /// How many to add; negative to remove
    change: i64,
    /// The reason, for the audit
    reason: String,
}

#[tool_router]
impl Inventory {
    /// Returns a server for a stock.
    pub fn new(stock: Stock) -> Self {
        Self { stock, runs: Arc::default() }
    }

    /// Returns how often a tool ran.
    pub fn runs(&self) -> u64 {
        self.runs.load(Ordering::SeqCst)
    }

    /// Runs a query on a blocking thread, so that disk access does not hold up the async runtime.
    async fn query(
        &self,
        query: impl FnOnce(&Stock) -> Result<String, StockError> + Send + 'static,
    ) -> Result<String, ToolError> {
        self.runs.fetch_add(1, Ordering::SeqCst);
        let stock = self.stock.clone();
        Ok(tokio::task::spawn_blocking(move || query(&stock)).await??)
    }

    #[heavy(style = "probe")]
    #[tool(
        name = "inventory.list_all",
        description = "List all inventory records. Returns a probe on first call: use continuation_token and mode to fetch data",
        annotations(read_only_hint = true)
    )]
    async fn list_all(
        &self,
        Parameters(arguments): Parameters<Checked<WarehouseArguments>>,
    ) -> Result<String, ToolError> {
        let warehouse = arguments.arguments()?.warehouse;
        self.query(move |stock| stock.records(warehouse.as_deref())).await
    }

    #[heavy(style = "probe", page_size = 25)]
    #[tool(
        name = "products.search",
        description = "Search products. Returns a probe on first call: use continuation_token and mode to fetch data",
        annotations(read_only_hint = true)
    )]
    async fn search(
        &self,
        Parameters(arguments): Parameters<Checked<SearchArguments>>,
    ) -> Result<String, ToolError> {
        let SearchArguments { query, category } = arguments.arguments()?;
        if let Some(unknown) = category.as_deref().filter(|category| !CATEGORIES.contains(category)) {
            let unknown: String = unknown.chars().take(60).collect();
            let message =
                format!("unknown category {unknown:?}; the categories are {}", CATEGORIES.join(", "));
            return Err(ToolError::new(message));
        }
        self.query(move |stock| stock.products(&query, category.as_deref())).await
    }

    // Not marked as heavy: its results were small when it was written.
    #[tool(
        name = "inventory.low_stock",
        description = "List records with low stock, lowest first",
        annotations(read_only_hint = true)
    )]
    async fn low_stock(
        &self,
        Parameters(arguments): Parameters<Checked<LowStockArguments>>,
    ) -> Result<String, ToolError> {
        let LowStockArguments { quantity } = arguments.arguments()?;
        self.query(move |stock| stock.below(quantity)).await
    }

    #[heavy(tier = "read_write")]
    #[tool(name = "inventory.adjust", description = "Change the stock of a product in a warehouse")]
    async fn adjust(
        &self,
        Parameters(arguments): Parameters<Checked<AdjustArguments>>,
    ) -> Result<String, ToolError> {
        let AdjustArguments { sku, warehouse, change, reason } = arguments.arguments()?;
        if change == 0 || !(-MAX_CHANGE..=MAX_CHANGE).contains(&change) {
            return Err(ToolError::new(format!(
                "change must be a whole number from -{MAX_CHANGE} to {MAX_CHANGE} and not 0; it is {change}"
            )));
        }
        let length = reason.chars().count();
        if reason.trim().is_empty() || length > MAX_REASON_CHARS {
            return Err(ToolError::new(format!(
                "reason must have 1 to {MAX_REASON_CHARS} characters, not {length}"
            )));
        }
        self.query(move |stock| stock.adjust(&sku, &warehouse, change, &reason)).await
    }

    #[heavy(style = "probe", tier = "admin")]
    #[tool(
        name = "inventory.audit",
        description = "List all stock changes, newest first. Returns a probe on first call",
        annotations(read_only_hint = true)
    )]
    async fn audit(
        &self,
        Parameters(arguments): Parameters<Checked<WarehouseArguments>>,
    ) -> Result<String, ToolError> {
        let warehouse = arguments.arguments()?.warehouse;
        self.query(move |stock| stock.movements(warehouse.as_deref())).await
    }
}

#[tool_handler]
impl ServerHandler for Inventory {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("inventory", env!("CARGO_PKG_VERSION")))
    }
}
