//! A page of the list: the rows as text, then one link per row, in the same order.
//!
//! Rows and links share a budget of 1,400 tokens. Some clients do not show links to their model, so a row is usable
//! without its link (it has the slug, unless the caller selected other fields), and a link repeats nothing but the slug.
//!
//! Invariant: no page exceeds the budget, whatever the fields. A page that is too large gets fewer rows, and its cursor
//! then points after the last row kept; `limit` is only an upper bound. A single row that is too large is an error with
//! a hint.

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::json;
use tidegate_sdk::{
    Keyset, Meter, OutputBudgetExceeded, PageArguments, PageRequest, PageRules, Paged, Scope, Tokens,
    ToolError,
};

use crate::SITES;
use crate::article::{Article, Key};
use crate::library::ArticleFilter;
use crate::links;

/// The token budget of a page, with room below the line of 2,500 tokens up to which the gate lets results pass.
const MAX_PAGE_TOKENS: Tokens = Tokens(1400);

impl Paged for Article {
    fn rules() -> PageRules {
        PageRules {
            default_fields: ["slug", "title", "updated_at"].map(str::to_owned).into(),
            default_tokens: MAX_PAGE_TOKENS,
            max_tokens: MAX_PAGE_TOKENS,
            ..PageRules::with_fields(&Article::FIELDS)
        }
    }
}

/// A valid request for one page of a list.
pub(crate) struct ListRequest {
    tool: &'static str,
    scope: Scope,
    pub(crate) page: PageRequest,
    /// The key of the last row of the previous page.
    pub(crate) after: Option<Key>,
}

impl ListRequest {
    pub(crate) fn new(
        tool: &'static str,
        filter: &ArticleFilter,
        arguments: &PageArguments<Article>,
        cursors: &Keyset<Key>,
    ) -> Result<Self, ToolError> {
        if let Some(site) = filter.site.as_deref().filter(|site| !SITES.contains(site)) {
            let site: String = site.chars().take(60).collect();
            return Err(ToolError::new(format!("unknown site {site:?}; the sites are {}", SITES.join(", "))));
        }
        let page = arguments.request()?;
        let scope =
            Scope::of_tool(tool).with("site", &json!(filter.site)).with("words", &json!(filter.words));
        let after = page.cursor.as_deref().map(|cursor| cursors.decode(&scope, cursor)).transpose()?;
        Ok(Self { tool, scope, page, after })
    }

    /// Returns the page with as many rows as fit the budget.
    pub(crate) fn answer(
        &self,
        rows: Vec<Article>,
        total: u64,
        cursors: &Keyset<Key>,
    ) -> Result<CallToolResult, ToolError> {
        let budget = self.page.max_tokens;
        let mut limit = self.page.limit.min(rows.len().max(1));
        loop {
            let blocks = self.blocks(&rows, limit, total, cursors)?;
            let tokens = cost(&blocks);
            if tokens <= budget {
                return Ok(CallToolResult::success(blocks));
            }
            if limit == 1 {
                let tool = self.tool.to_owned();
                return Err(ToolError::json(&OutputBudgetExceeded { tool, tokens, budget, handle: None }));
            }
            // Estimate how many rows fit; always at least one fewer.
            limit = (limit as u64 * budget.0 / tokens.0).clamp(1, limit as u64 - 1) as usize;
        }
    }

    fn blocks(
        &self,
        rows: &[Article],
        limit: usize,
        total: u64,
        cursors: &Keyset<Key>,
    ) -> Result<Vec<ContentBlock>, ToolError> {
        let page = cursors.page(&self.scope, rows.iter().collect(), limit, total, |row| row.key())?;
        let links: Vec<ContentBlock> = page.items.iter().map(|row| links::link(row)).collect();
        let page = page.map(|row| {
            let row = json!(row);
            self.page.fields.as_ref().map_or(row.clone(), |fields| fields.apply(&row))
        });
        let text = ContentBlock::text(serde_json::to_string(&page)?);
        Ok(std::iter::once(text).chain(links).collect())
    }
}

/// Returns the tokens of blocks: text as it is, links as JSON, which is what some models read.
fn cost(blocks: &[ContentBlock]) -> Tokens {
    let meter = Meter::default();
    let tokens = blocks.iter().map(|block| match block.as_text() {
        Some(text) => meter.count(&text.text).0,
        None => meter.count(&json!(block).to_string()).0,
    });
    Tokens(tokens.sum())
}
