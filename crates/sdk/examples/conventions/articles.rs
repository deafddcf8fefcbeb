//! A long list within a token budget: projection, pages that survive changes, and links instead of contents.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{CallToolResult, ContentBlock, Resource};
use rmcp::{ErrorData, ServerHandler, tool, tool_handler, tool_router};
use serde::Deserialize;
use serde_json::{Value, json};
use tidegate_sdk::{Keyset, Page, PageArguments, PageRules, Paged, Scope, heavy};

/// The sort key. The time alone is not unique: several articles may have changed at the same time.
type Key = (u64, String);

#[derive(Clone)]
pub(crate) struct Articles {
    rows: Arc<Mutex<BTreeMap<Key, Value>>>,
    cursors: Keyset<Key>,
}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
pub(crate) struct Listing {
    site: String,
    #[serde(flatten)]
    page: PageArguments<Self>,
}

impl Paged for Listing {
    fn rules() -> PageRules {
        let default_fields = vec!["slug".into(), "title".into()];
        PageRules { default_fields, ..PageRules::with_fields(&FIELDS) }
    }
}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
pub(crate) struct Slug {
    slug: String,
}

const FIELDS: [&str; 5] = ["slug", "title", "updatedAt", "excerpt", "tags"];

fn invalid(error: impl std::fmt::Display) -> ErrorData {
    ErrorData::invalid_params(error.to_string(), None)
}

#[tool_router]
impl Articles {
    pub(crate) fn new() -> Result<Self, Box<dyn std::error::Error>> {
        let articles = Self { rows: Arc::default(), cursors: Keyset::ephemeral()? };
        (0..820).for_each(|number| articles.add(number / 4, &format!("article-{number:04}")));
        Ok(articles)
    }

    fn add(&self, updated: u64, slug: &str) {
        let article = json!({
            "slug": slug,
            "title": format!("About {slug}"),
            "updatedAt": updated,
            "excerpt": "A few words that say what it is about. ".repeat(40),
            "tags": ["one", "two", "three"],
        });
        self.rows().insert((updated, slug.to_owned()), article);
    }

    fn rows(&self) -> std::sync::MutexGuard<'_, BTreeMap<Key, Value>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[heavy(style = "error")]
    #[tool(description = "All articles with all fields: what not to do")]
    async fn all_articles(&self) -> String {
        Value::Array(self.rows().values().cloned().collect()).to_string()
    }

    #[heavy(style = "error")]
    #[tool(description = "Articles of a site, oldest change first, by pages")]
    async fn list_articles(&self, Parameters(listing): Parameters<Listing>) -> Result<String, ErrorData> {
        let request = listing.page.request().map_err(invalid)?;
        let scope = Scope::of_tool("list_articles").with("site", &json!(listing.site));
        let after =
            request.cursor.map(|cursor| self.cursors.decode(&scope, &cursor)).transpose().map_err(invalid)?;
        let rows = self.rows();
        let total = rows.len() as u64;
        let later = rows.iter().filter(|(key, _)| after.as_ref().is_none_or(|after| *key > after));
        // One extra row shows whether there is a next page.
        let fetched: Vec<(Key, Value)> =
            later.take(request.limit + 1).map(|(key, row)| (key.clone(), row.clone())).collect();
        let page = self
            .cursors
            .page(&scope, fetched, request.limit, total, |(key, _)| key.clone())
            .map_err(invalid)?;
        let page: Page<Value> = page.map(|(_, row)| match &request.fields {
            Some(fields) => fields.apply(&row),
            None => row,
        });
        serde_json::to_string(&page).map_err(invalid)
    }

    #[tool(description = "Links to the first articles")]
    async fn link_articles(&self) -> CallToolResult {
        let rows = self.rows();
        CallToolResult::success(rows.values().take(20).map(link).collect())
    }

    #[tool(description = "A short description of an article, with a link to it")]
    async fn summarize_article(
        &self,
        Parameters(Slug { slug }): Parameters<Slug>,
    ) -> Result<CallToolResult, ErrorData> {
        let rows = self.rows();
        let article = rows
            .values()
            .find(|row| row["slug"] == slug)
            .ok_or_else(|| invalid("there is no such article"))?;
        let words =
            format!("{}: {} characters of text.", article["title"], article["excerpt"].to_string().len());
        Ok(CallToolResult::success(vec![ContentBlock::text(words), link(article)]))
    }

    #[tool(description = "Adds an article")]
    async fn insert_article(&self, Parameters(Slug { slug }): Parameters<Slug>) -> String {
        self.add(3, &slug);
        "added".into()
    }

    #[tool(description = "Removes an article")]
    async fn delete_article(&self, Parameters(Slug { slug }): Parameters<Slug>) -> String {
        self.rows().retain(|_, row| row["slug"] != slug);
        "removed".into()
    }
}

fn link(article: &Value) -> ContentBlock {
    let slug = article["slug"].as_str().unwrap_or_default();
    ContentBlock::resource_link(Resource::new(format!("article://{slug}"), slug))
}

#[tool_handler]
impl ServerHandler for Articles {}
