//! `article://` addresses: the links that stand for articles, and what they lead to.

use rmcp::model::{ContentBlock, ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use tidegate_sdk::ToolError;

use crate::article::Article;

const SCHEME: &str = "article://";
const KIND: &str = "text/markdown";

/// Returns the link to an article: what a model needs to open it, and nothing that its row says already.
pub(crate) fn link(article: &Article) -> ContentBlock {
    ContentBlock::resource_link(Resource::new(format!("{SCHEME}{}", article.slug), article.slug.clone()))
}

/// Returns what links look like.
pub(crate) fn template() -> ResourceTemplate {
    ResourceTemplate::new(format!("{SCHEME}{{slug}}"), "article")
        .with_description("One article, whole; list_articles and search_articles have the slugs")
        .with_mime_type(KIND)
}

/// Returns the slug in an address.
pub(crate) fn slug(uri: &str) -> Result<&str, ToolError> {
    let wrong = || {
        ToolError::new(format!("{uri:?} should be {SCHEME} and the slug of an article, from list_articles"))
    };
    uri.strip_prefix(SCHEME).filter(|slug| !slug.is_empty()).ok_or_else(wrong)
}

/// Returns an article as the contents of its address.
pub(crate) fn contents(article: &Article) -> ReadResourceResult {
    let uri = format!("{SCHEME}{}", article.slug);
    ReadResourceResult::new(vec![ResourceContents::text(article.markdown(), uri).with_mime_type(KIND)])
}

/// Says that there is no such article.
pub(crate) fn unknown(slug: &str) -> String {
    let begins: String = slug.chars().take(60).collect();
    format!("there is no article {begins:?}; slugs are in the rows of list_articles and search_articles")
}
