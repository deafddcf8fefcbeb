//! The articles in SQLite: in memory, or in a file that other programs may change at any time.
//!
//! One statement fetches a page: the filters, the keyset condition, and the order of the keyset. The condition
//! `(updated_at, slug) > (?, ?)` keeps pages stable across inserts and deletes, which an offset would not.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use example_shared::open_database;
use rusqlite::{Connection, OptionalExtension, Row, Transaction, named_params, params};
use serde_json::json;

use crate::article::{Article, Key};
use crate::{ARTICLE_COUNT, generate};

const SCHEMA: &str = "
    create table if not exists articles (
        slug text primary key, site text not null, title text not null, author text not null, status text not null,
        created_at text not null, updated_at text not null, tags text not null, words integer not null,
        url text not null, excerpt text not null, body text not null
    ) strict;
    create index if not exists by_key on articles (updated_at, slug);
    pragma user_version = 1;
";
/// Selects the articles of a filter: every word must occur.
const FROM_FILTERED: &str = "
    from articles where site = coalesce(:site, site) and not exists (
        select 1 from json_each(:words)
        where instr(lower(concat_ws(' ', title, tags, body)), lower(value)) = 0
    )
";

/// The error of a database that cannot be read or written.
pub type LibraryError = rusqlite::Error;

/// A database of articles. Clones share the connection.
#[derive(Debug, Clone)]
pub struct Library {
    connection: Arc<Mutex<Connection>>,
}

/// Selects articles.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ArticleFilter {
    /// Only articles of this site.
    pub site: Option<String>,
    /// Only articles in which all of these words occur.
    pub words: Vec<String>,
}

impl Library {
    /// Opens a library in a file or in memory, and fills a new one with articles.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be opened or is not a database.
    pub fn open(file: Option<&Path>) -> Result<Self, LibraryError> {
        let connection = open_database(file, SCHEMA, |filling| {
            (0..ARTICLE_COUNT as u64).try_for_each(|number| insert(filling, &generate::article(number)))
        })?;
        Ok(Self { connection: Arc::new(Mutex::new(connection)) })
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns up to `limit` articles after a key, and the total number that match the filter.
    ///
    /// # Errors
    ///
    /// Fails if the database cannot be read.
    pub fn page(
        &self,
        filter: &ArticleFilter,
        after: Option<&Key>,
        limit: usize,
    ) -> Result<(Vec<Article>, u64), LibraryError> {
        let mut connection = self.connection();
        // Rows and total come from the same snapshot.
        let snapshot = connection.transaction()?;
        let words = json!(filter.words).to_string();
        let total = snapshot
            .prepare_cached(&format!("select count(*) {FROM_FILTERED}"))?
            .query_row(named_params! {":site": filter.site, ":words": words}, |row| row.get::<_, u32>(0))?;
        // The empty key sorts before all others.
        let (time, slug) = after.map_or(("", ""), |(time, slug)| (time, slug));
        let page = format!(
            "select * {FROM_FILTERED} and (updated_at, slug) > (:time, :slug) order by updated_at, slug limit :limit"
        );
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let parameters = named_params! {":site": filter.site, ":words": words, ":time": time, ":slug": slug, ":limit": limit};
        let rows =
            snapshot.prepare_cached(&page)?.query_map(parameters, from_row)?.collect::<Result<_, _>>()?;
        Ok((rows, total.into()))
    }

    /// Returns the article with a slug, if it exists.
    ///
    /// # Errors
    ///
    /// Fails if the database cannot be read.
    pub fn get(&self, slug: &str) -> Result<Option<Article>, LibraryError> {
        let connection = self.connection();
        connection
            .prepare_cached("select * from articles where slug = ?")?
            .query_row([slug], from_row)
            .optional()
    }

    /// Adds an article, or replaces the one with the same slug.
    ///
    /// # Errors
    ///
    /// Fails if the database cannot be written.
    pub fn put(&self, article: &Article) -> Result<(), LibraryError> {
        let mut connection = self.connection();
        let change = connection.transaction()?;
        insert(&change, article)?;
        change.commit()
    }

    /// Deletes an article; returns whether it existed.
    ///
    /// # Errors
    ///
    /// Fails if the database cannot be written.
    pub fn delete(&self, slug: &str) -> Result<bool, LibraryError> {
        Ok(self.connection().execute("delete from articles where slug = ?", [slug])? > 0)
    }
}

fn insert(change: &Transaction<'_>, article: &Article) -> Result<(), LibraryError> {
    let Article {
        slug, site, title, author, status, created_at, updated_at, words, url, excerpt, body, ..
    } = article;
    let tags = json!(article.tags).to_string();
    change
        .prepare_cached("insert or replace into articles values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")?
        .execute(params![
            slug, site, title, author, status, created_at, updated_at, tags, words, url, excerpt, body
        ])?;
    Ok(())
}

fn from_row(row: &Row<'_>) -> Result<Article, LibraryError> {
    let tags: String = row.get("tags")?;
    Ok(Article {
        slug: row.get("slug")?,
        site: row.get("site")?,
        title: row.get("title")?,
        author: row.get("author")?,
        status: row.get("status")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
        // Another program may have written something that is not JSON.
        tags: serde_json::from_str(&tags).unwrap_or_default(),
        words: row.get("words")?,
        url: row.get("url")?,
        excerpt: row.get("excerpt")?,
        body: row.get("body")?,
    })
}
