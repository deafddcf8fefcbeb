//! `article://` links, and the resources they resolve to.

use rmcp::model::{ContentBlock, ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use tidegate_sdk::ToolError;

use crate::article::Article;

const SCHEME: &str = "article://";
const MIME_TYPE: &str = "text/markdown";

/// Returns the link to an article. It repeats nothing of the row but the slug.
pub(crate) fn link(article: &Article) -> ContentBlock {
    ContentBlock::resource_link(Resource::new(format!("{SCHEME}{}", article.slug), article.slug.clone()))
}

/// Returns the resource template of the links.
pub(crate) fn template() -> ResourceTemplate {
    ResourceTemplate::new(format!("{SCHEME}{{slug}}"), "article")
        .with_description("A full article; list_articles and search_articles return slugs")
        .with_mime_type(MIME_TYPE)
}

/// Returns the slug in a link.
pub(crate) fn slug(uri: &str) -> Result<&str, ToolError> {
    let invalid =
        || ToolError::new(format!("{uri:?} is not an article; use {SCHEME} and a slug from list_articles"));
    uri.strip_prefix(SCHEME).filter(|slug| !slug.is_empty()).ok_or_else(invalid)
}

/// Returns an article as the contents of its resource.
pub(crate) fn contents(article: &Article) -> ReadResourceResult {
    let uri = format!("{SCHEME}{}", article.slug);
    ReadResourceResult::new(vec![ResourceContents::text(article.markdown(), uri).with_mime_type(MIME_TYPE)])
}

/// Returns the error message for an unknown slug.
pub(crate) fn unknown_slug(slug: &str) -> String {
    let excerpt: String = slug.chars().take(60).collect();
    format!("unknown article {excerpt:?}; use a slug from list_articles or search_articles")
}
