//! The articles in SQLite: in memory, or in a file that other programs may change at any time.
//!
//! Everything that a page needs is in one statement of one shape: filters, then the keyset, then the order that the keyset
//! belongs to. `(updated_at, slug) > (?, ?)` is what makes pages stable; nothing counts rows.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use example_shared::open_database;
use rusqlite::{Connection, OptionalExtension, Row, Transaction, named_params, params};
use serde_json::json;

use crate::article::{Article, Key};
use crate::{COUNT, text};

const SCHEMA: &str = "
    create table if not exists articles (
        slug text primary key, site text not null, title text not null, author text not null, status text not null,
        created_at text not null, updated_at text not null, tags text not null, words integer not null,
        url text not null, excerpt text not null, body text not null
    ) strict;
    create index if not exists by_key on articles (updated_at, slug);
    pragma user_version = 1;
";
/// Every word of a search must occur; no words, no search.
const WANTED: &str = "
    from articles where site = coalesce(:site, site) and not exists (
        select 1 from json_each(:words)
        where instr(lower(concat_ws(' ', title, tags, body)), lower(value)) = 0
    )
";

/// What cannot be read or written.
pub type LibraryError = rusqlite::Error;

/// Articles in a database. A clone is the same library.
#[derive(Debug, Clone)]
pub struct Library {
    connection: Arc<Mutex<Connection>>,
}

/// Which articles are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Those of one site.
    pub site: Option<String>,
    /// Those in which every one of these words occurs.
    pub words: Vec<String>,
}

impl Library {
    /// Opens a file, or a library in memory. A new one is filled.
    ///
    /// # Errors
    ///
    /// A file that cannot be opened, or that is no database.
    pub fn open(file: Option<&Path>) -> Result<Self, LibraryError> {
        let connection = open_database(file, SCHEMA, |filling| {
            (0..COUNT as u64).try_for_each(|number| insert(filling, &text::article(number)))
        })?;
        Ok(Self { connection: Arc::new(Mutex::new(connection)) })
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns up to `limit` articles behind a key, and how many are wanted in all.
    ///
    /// # Errors
    ///
    /// A database that cannot be read.
    pub fn page(
        &self,
        wanted: &Wanted,
        after: Option<&Key>,
        limit: usize,
    ) -> Result<(Vec<Article>, u64), LibraryError> {
        let mut connection = self.connection();
        // Rows and total are of one moment.
        let moment = connection.transaction()?;
        let words = json!(wanted.words).to_string();
        let total = moment
            .prepare_cached(&format!("select count(*) {WANTED}"))?
            .query_row(named_params! {":site": wanted.site, ":words": words}, |row| row.get::<_, u32>(0))?;
        // The empty key is before all others.
        let (time, slug) = after.map_or(("", ""), |(time, slug)| (time, slug));
        let page = format!(
            "select * {WANTED} and (updated_at, slug) > (:time, :slug) order by updated_at, slug limit :limit"
        );
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let bound = named_params! {":site": wanted.site, ":words": words, ":time": time, ":slug": slug, ":limit": limit};
        let rows = moment.prepare_cached(&page)?.query_map(bound, read)?.collect::<Result<_, _>>()?;
        Ok((rows, total.into()))
    }

    /// Returns an article.
    ///
    /// # Errors
    ///
    /// A database that cannot be read.
    pub fn get(&self, slug: &str) -> Result<Option<Article>, LibraryError> {
        let connection = self.connection();
        connection.prepare_cached("select * from articles where slug = ?")?.query_row([slug], read).optional()
    }

    /// Adds an article, or changes the one of its slug.
    ///
    /// # Errors
    ///
    /// A database that cannot be written.
    pub fn put(&self, article: &Article) -> Result<(), LibraryError> {
        let mut connection = self.connection();
        let change = connection.transaction()?;
        insert(&change, article)?;
        change.commit()
    }

    /// Removes an article; returns whether there was one.
    ///
    /// # Errors
    ///
    /// A database that cannot be written.
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

fn read(row: &Row<'_>) -> Result<Article, LibraryError> {
    let tags: String = row.get("tags")?;
    Ok(Article {
        slug: row.get("slug")?,
        site: row.get("site")?,
        title: row.get("title")?,
        author: row.get("author")?,
        status: row.get("status")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
        // Another program may have written something else there.
        tags: serde_json::from_str(&tags).unwrap_or_default(),
        words: row.get("words")?,
        url: row.get("url")?,
        excerpt: row.get("excerpt")?,
        body: row.get("body")?,
    })
}
