//! A page: the rows as text, then one link for each row, in the same order.
//!
//! Both share one budget of 1,400 tokens. Not every client shows links to its model, so a row can be used without its link
//! (it has the slug, unless other fields were chosen), and a link repeats nothing but the slug. What a page costs is
//! measured as it is sent; while it is too much, the last rows go to the next page, whose cursor is then that of the last
//! row that stayed. So `limit` is the most rows of a page, never a promise, and no page is above the budget whatever the
//! fields. Only a row that alone is too large is an error, which says what to do.

use rmcp::model::{CallToolResult, ContentBlock};
use schemars::Schema;
use serde_json::{Value, json};
use tidegate_sdk::{
    Keyset, Meter, OverBudget, PageArguments, PageRequest, PageRules, Scope, Tokens, ToolError,
};

use crate::SITES;
use crate::article::{Article, Key};
use crate::library::Wanted;
use crate::reading;

/// Most tokens of a page. Clients whose tokenizer is not public are counted with a margin of 30 %: this is still below
/// the gate's budget of 2,000 there.
const PAGE_TOKENS: Tokens = Tokens(1400);

/// What a page may be asked for.
fn rules() -> PageRules {
    PageRules {
        default_fields: ["slug", "title", "updated_at"].map(str::to_owned).into(),
        default_tokens: PAGE_TOKENS,
        max_tokens: PAGE_TOKENS,
        ..PageRules::with_fields(&Article::FIELDS)
    }
}

/// Puts what a page may be asked for into the schema of a tool.
pub(crate) fn in_schema(schema: &mut Schema) {
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.extend(rules().properties());
    }
}

/// A page that is asked for, checked.
pub(crate) struct Asked {
    tool: &'static str,
    scope: Scope,
    pub(crate) request: PageRequest,
    /// Behind which row it begins.
    pub(crate) after: Option<Key>,
}

impl Asked {
    pub(crate) fn new(
        tool: &'static str,
        wanted: &Wanted,
        page: &PageArguments,
        cursors: &Keyset<Key>,
    ) -> Result<Self, ToolError> {
        if let Some(site) = wanted.site.as_deref().filter(|site| !SITES.contains(site)) {
            let site: String = site.chars().take(60).collect();
            return Err(ToolError::new(format!("there is no site {site:?}; there are {}", SITES.join(", "))));
        }
        let request = rules().resolve(page)?;
        let scope =
            Scope::of_tool(tool).with("site", &json!(wanted.site)).with("words", &json!(wanted.words));
        let after = request.cursor.as_deref().map(|cursor| cursors.decode(&scope, cursor)).transpose()?;
        Ok(Self { tool, scope, request, after })
    }

    /// The page, with as many rows as fit.
    pub(crate) fn answer(
        &self,
        rows: Vec<Article>,
        total: u64,
        cursors: &Keyset<Key>,
    ) -> Result<CallToolResult, ToolError> {
        let budget = self.request.max_tokens;
        let mut limit = self.request.limit.min(rows.len().max(1));
        loop {
            let blocks = self.blocks(&rows, limit, total, cursors)?;
            let tokens = cost(&blocks);
            if tokens <= budget {
                return Ok(CallToolResult::success(blocks));
            }
            if limit == 1 {
                let tool = self.tool.to_owned();
                return Err(ToolError::json(&OverBudget { tool, tokens, budget, handle: None }));
            }
            // About as many as will fit, and always fewer.
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
        let links: Vec<ContentBlock> = page.items.iter().map(|row| reading::link(row)).collect();
        let page = page.map(|row| {
            let row = json!(row);
            self.request.fields.as_ref().map_or(row.clone(), |fields| fields.apply(&row))
        });
        let text = ContentBlock::text(serde_json::to_string(&page)?);
        Ok(std::iter::once(text).chain(links).collect())
    }
}

/// What blocks cost: a text as it is, a link as its JSON, which is what some models read.
fn cost(blocks: &[ContentBlock]) -> Tokens {
    let meter = Meter::default();
    let tokens = blocks.iter().map(|block| match block.as_text() {
        Some(text) => meter.count(&text.text).0,
        None => meter.count(&json!(block).to_string()).0,
    });
    Tokens(tokens.sum())
}
