//! Measures what the tools of both servers cost, for the table in the README.

use std::error::Error;
use std::fmt::Write;

use serde_json::{Value, json};
use tidegate_sdk::StoreLocation;
use tidegate_sdk::visit::{Visitor, thousands};

use crate::library::Library;
use crate::plain::Plain;
use crate::server::Articles;

/// A word in about one article in eight.
const QUERY: &str = "storm";
/// The number of a long article.
const LONG_ARTICLE: u64 = 7;

/// Returns the table in the README.
///
/// # Errors
///
/// Fails if a server does not answer.
pub async fn table(library: &Library, articles: &Articles) -> Result<String, Box<dyn Error + Send + Sync>> {
    let plain = Visitor::to(Plain::new(library.clone())).await?;
    let gated = Visitor::to(crate::server(articles.clone()).store_in(StoreLocation::Memory).quiet()).await?;
    let slug = crate::generate::article(LONG_ARTICLE).slug;
    let mut table = String::from("| call | before, tokens | after, tokens |\n|---|---:|---:|\n");
    for (tool, arguments) in [
        ("list_articles", json!({})),
        ("search_articles", json!({"query": QUERY})),
        ("get_article", json!({"slug": slug})),
    ] {
        let before = plain.call(tool, &arguments).await?.tokens();
        let after = gated.call(tool, &arguments).await?.tokens();
        writeln!(table, "| `{tool}` `{arguments}` | {} | {} |", thousands(before), thousands(after))?;
    }
    let (pages, largest) = walk(&gated).await?;
    let opened = open_one(&gated).await?;
    writeln!(table, "\nAll {pages} pages of `list_articles`: at most {largest} tokens each.")?;
    writeln!(table, "To list and then open one article: 2 calls, {} tokens.", thousands(opened))?;
    Ok(table)
}

/// Walks all pages of the list; returns their number and the tokens of the largest.
async fn walk(visitor: &Visitor) -> Result<(u64, String), Box<dyn Error + Send + Sync>> {
    let (mut pages, mut largest, mut cursor) = (0, 0, Value::Null);
    loop {
        let seen = visitor.call("list_articles", &json!({ "cursor": cursor })).await?;
        (pages, largest) = (pages + 1, largest.max(seen.tokens()));
        cursor = seen.json()["nextCursor"].clone();
        if cursor.is_null() {
            return Ok((pages, thousands(largest)));
        }
    }
}

/// Returns the tokens of the first page and the first article on it.
async fn open_one(visitor: &Visitor) -> Result<u64, Box<dyn Error + Send + Sync>> {
    let page = visitor.call("list_articles", &json!({})).await?;
    let slug = page.json()["items"][0]["slug"].clone();
    Ok(page.tokens() + visitor.call("get_article", &json!({ "slug": slug })).await?.tokens())
}
