//! A server of 840 articles in two versions: a straightforward one, and one that fits an agent's context.
//!
//! [`Plain`] returns every row in full; listing all articles costs an agent 480,000 tokens. [`Articles`] has the same
//! tools and data, but no page above 1,400 tokens:
//!
//! - `list_articles` and `search_articles` return pages with the requested fields and a link per row (`listing.rs`)
//! - the cursor is the key of the last row, so pages stay correct across inserts and deletes ([`Library::page`])
//! - a resource handler resolves `article://` links, and `get_article` reads an article (`links.rs`)
//! - `summarize_article` is a separate tool, and its answer links to the article

mod article;
mod generate;
mod library;
mod links;
mod listing;
mod measure;
mod plain;
mod server;
mod summary;

pub use article::{Article, Key};
pub use library::{ArticleFilter, Library, LibraryError};
pub use measure::table;
pub use plain::Plain;
pub use server::Articles;

use tidegate_sdk::Tidegate;

/// The number of articles in a new library.
pub const ARTICLE_COUNT: usize = 840;

/// The sites of the articles.
pub const SITES: [&str; 4] = ["harbour", "garden", "kitchen", "workshop"];

/// Returns the server wrapped with tidegate.
pub fn server(articles: Articles) -> Tidegate<Articles> {
    Tidegate::wrap(articles)
}
