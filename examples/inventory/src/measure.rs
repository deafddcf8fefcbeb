//! Measures what a probe and its fetches cost, with and without tidegate, for the table in the README.

use std::error::Error;
use std::fmt::Write;

use serde_json::{Value, json};
use tidegate_sdk::visit::{Visitor, thousands};
use tidegate_sdk::{StoreLocation, Tier};

use crate::access::Access;
use crate::inventory::Inventory;
use crate::stock::Stock;

/// The calls to compare, one per column: results of 10,000, 1,250 and 70 records.
const CALLS: [(&str, &str); 3] = [
    ("inventory.list_all", "{}"),
    ("inventory.list_all", r#"{"warehouse":"WH-01"}"#),
    ("products.search", r#"{"query":"","category":"plumbing"}"#),
];

/// Returns the table in the README.
///
/// # Errors
///
/// Fails if a server does not answer.
pub async fn table(stock: &Stock) -> Result<String, Box<dyn Error + Send + Sync>> {
    let inventory = Inventory::new(stock.clone());
    let plain = Visitor::to(inventory.clone()).await?;
    let server = crate::server(inventory, Access::new(Tier::Read)).store_in(StoreLocation::Memory).quiet();
    let gated = Visitor::to(server).await?;
    let mut columns = Vec::new();
    for (tool, arguments) in CALLS {
        columns.push(exchange(&plain, &gated, tool, &serde_json::from_str(arguments)?).await?);
    }
    let mut table = String::from("| tokens of |");
    CALLS.iter().try_for_each(|(tool, arguments)| write!(table, " `{tool}` `{arguments}` |"))?;
    table.push_str("\n|---|---:|---:|---:|\n");
    let rows = ["the whole result", "probe", "summary", "paginated, 25 a page", "filtered, two keys", "full"];
    for (index, row) in rows.into_iter().enumerate() {
        write!(table, "| {row} |")?;
        columns.iter().try_for_each(|column| write!(table, " {} |", thousands(column[index])))?;
        table.push('\n');
    }
    Ok(table)
}

/// Returns the tokens of the full result, of the probe, and of a fetch in each mode.
async fn exchange(
    plain: &Visitor,
    gated: &Visitor,
    tool: &str,
    arguments: &Value,
) -> Result<Vec<u64>, Box<dyn Error + Send + Sync>> {
    let whole = plain.call(tool, arguments).await?;
    let probe = gated.call(tool, arguments).await?;
    let mut costs = vec![whole.tokens(), probe.tokens()];
    let name = if tool == "products.search" { "name" } else { "product.name" };
    for mut fetch in [
        json!({"mode": "summary"}),
        json!({"mode": "paginated", "page_size": 25}),
        json!({"mode": "filtered", "filter_keys": ["sku", name]}),
        json!({"mode": "full"}),
    ] {
        fetch["continuation_token"] = probe.json()["continuation_token"].clone();
        costs.push(gated.call(tool, &fetch).await?.tokens());
    }
    Ok(costs)
}
