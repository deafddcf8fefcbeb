//! An article and its sort key.

use serde::Serialize;

/// The sort key: time of the last change, and slug. The time alone is not unique and would lose rows between pages.
pub type Key = (String, String);

/// An article.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the field names say it; they are those of the list")]
pub struct Article {
    pub slug: String,
    pub site: String,
    pub title: String,
    pub author: String,
    pub status: String,
    pub created_at: String,
    pub updated_at: String,
    pub tags: Vec<String>,
    pub words: u32,
    pub url: String,
    pub excerpt: String,
    pub body: String,
}

impl Article {
    /// The names of the fields, in order.
    pub const FIELDS: [&str; 12] = [
        "slug",
        "site",
        "title",
        "author",
        "status",
        "created_at",
        "updated_at",
        "tags",
        "words",
        "url",
        "excerpt",
        "body",
    ];

    /// Returns the sort key.
    pub fn key(&self) -> Key {
        (self.updated_at.clone(), self.slug.clone())
    }

    /// Returns the article as a Markdown document.
    pub fn markdown(&self) -> String {
        let Self { title, author, updated_at, site, body, .. } = self;
        let tags = self.tags.join(", ");
        format!("# {title}\n\n{author}, {updated_at}, {site}. Tags: {tags}.\n\n{body}\n")
    }
}
