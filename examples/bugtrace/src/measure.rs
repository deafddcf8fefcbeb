//! Calls all tools with and without tidegate, and compares what the answers cost.

use std::fmt;
use std::io;
use std::path::Path;

use serde_json::{Value, json};
use tidegate_sdk::contract::Category;
use tidegate_sdk::visit::{Visitor, thousands};
use tidegate_sdk::{Artifacts, StoreLocation};

use crate::{Tree, plain, server};

/// The cost of one call.
#[derive(Debug, Clone)]
pub struct Row {
    /// The category of the tool.
    pub category: Category,
    /// The tool.
    pub tool: &'static str,
    /// Bytes of the result without tidegate.
    pub before: u64,
    /// Bytes of the result with tidegate.
    pub after: u64,
}

/// The cost of all calls of [`tour`]; displays as a Markdown table.
#[derive(Debug, Clone)]
pub struct Measured {
    /// One row per tool.
    pub rows: Vec<Row>,
}

/// Returns one call of every tool, ordered so that each has data to work with.
pub fn tour() -> Vec<(&'static str, Value)> {
    let note = json!({"why": "the nightly run", "seen": [1, 2, 3]});
    vec![
        ("config_get", json!({})),
        ("agent_list", json!({})),
        ("workflow_list", json!({})),
        ("refactor_scan", json!({})),
        ("refactor_list", json!({})),
        ("bugfix_scan", json!({})),
        ("bugfix_list", json!({})),
        ("trace_get", json!({})),
        ("trace_analyze", json!({})),
        ("agent_run", json!({"agent": "reviewer"})),
        ("workflow_run", json!({"workflow": "nightly"})),
        ("guard_check", json!({"guard": "release"})),
        ("memory_store", json!({"key": "review/notes", "value": note})),
        ("memory_retrieve", json!({"key": "review/notes"})),
        ("memory_search", json!({"query": "nightly"})),
        ("session_status", json!({})),
        ("session_list", json!({})),
    ]
}

/// Calls every tool on a source tree, with and without tidegate.
///
/// # Errors
///
/// Fails if the folder does not exist, or if a call fails.
pub async fn measure(root: &Path) -> io::Result<Measured> {
    let before = Visitor::to(plain(Tree::open(root)?)?).await.map_err(io::Error::other)?;
    let gated = server(Tree::open(root)?, &Artifacts::store_in(StoreLocation::Memory))?.quiet();
    let after = Visitor::to(gated).await.map_err(io::Error::other)?;
    let mut rows = Vec::new();
    for (tool, arguments) in tour() {
        let category =
            Category::of_tool(tool).ok_or_else(|| io::Error::other(format!("{tool} has no category")))?;
        let mut bytes = [0; 2];
        for (visitor, bytes) in [&before, &after].into_iter().zip(&mut bytes) {
            let seen = visitor.call(tool, &arguments).await.map_err(io::Error::other)?;
            if seen.failed() {
                return Err(io::Error::other(format!("{tool} failed: {}", seen.text())));
            }
            *bytes = seen.bytes();
        }
        let [before, after] = bytes;
        rows.push(Row { category, tool, before, after });
    }
    // The table is grouped by category, since budgets are per category.
    rows.sort_by_key(|row| (row.category.to_string(), row.tool));
    Ok(Measured { rows })
}

impl Measured {
    /// Returns the bytes of all results without and with tidegate.
    pub fn totals(&self) -> (u64, u64) {
        let sum = |of: fn(&Row) -> u64| self.rows.iter().map(of).sum();
        (sum(|row| row.before), sum(|row| row.after))
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "| category | tool | before, bytes | after, bytes | budget, bytes |")?;
        writeln!(formatter, "|---|---|---:|---:|---:|")?;
        for Row { category, tool, before, after } in &self.rows {
            let (before, after) = (thousands(*before), thousands(*after));
            let budget = thousands(category.bytes() as u64);
            writeln!(formatter, "| {category} | `{tool}` | {before} | {after} | {budget} |")?;
        }
        let (before, after) = self.totals();
        writeln!(
            formatter,
            "| all | {} calls | {} | {} | 25,600 |",
            self.rows.len(),
            thousands(before),
            thousands(after)
        )
    }
}
