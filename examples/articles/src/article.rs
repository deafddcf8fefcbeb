//! One article, and the key by which all are sorted.

use serde::Serialize;

/// What articles are sorted by. Several may be changed at one time, so the time alone would lose rows between pages.
pub type Key = (String, String);

/// One article, whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the fields of the list, under the same names")]
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
    /// The fields of an article, in their order.
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

    /// Returns what it is sorted by.
    pub fn key(&self) -> Key {
        (self.updated_at.clone(), self.slug.clone())
    }

    /// Returns it as a document.
    pub fn markdown(&self) -> String {
        let Self { title, author, updated_at, site, body, .. } = self;
        let tags = self.tags.join(", ");
        format!("# {title}\n\n{author}, {updated_at}, {site}. Tags: {tags}.\n\n{body}\n")
    }
}
