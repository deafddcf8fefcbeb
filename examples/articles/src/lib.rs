//! A server of 840 articles, in two versions: as one writes it first, and as an agent can use it.
//!
//! [`Plain`] returns every row whole; listing all articles costs an agent 480,000 tokens. [`Articles`] has the same tools
//! and the same data, and no page above 1,400 tokens:
//!
//! - `list_articles` and `search_articles`: chosen fields, pages, and a link for each row ([`server`], `listing.rs`)
//! - the cursor is the key of the last row, so pages stay right while rows come and go ([`Library::page`])
//! - `article://` links are resolved by a resource handler, `get_article` reads one
//! - `summarize_article` is a tool of its own, and always carries the link to its source

mod article;
mod library;
mod listing;
mod measure;
mod plain;
mod reading;
mod server;
mod summary;
mod text;

pub use article::{Article, Key};
pub use library::{Library, LibraryError, Wanted};
pub use measure::table;
pub use plain::Plain;
pub use server::Articles;

use tidegate_sdk::Tidegate;

/// How many articles there are in a new library.
pub const COUNT: usize = 840;

/// The sites that the articles are on.
pub const SITES: [&str; 4] = ["harbour", "garden", "kitchen", "workshop"];

/// Returns the server with the gate inside.
pub fn server(articles: Articles) -> Tidegate<Articles> {
    Tidegate::wrap(articles)
}
