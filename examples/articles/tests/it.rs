//! The server seen by a client, in both protocol eras: token counts, the content of pages, and stable pages while another
//! connection changes the rows.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by failing")]

use std::collections::BTreeSet;
use std::path::Path;

use articles::{ARTICLE_COUNT, Article, ArticleFilter, Articles, Library, Plain, SITES, server, table};
use proptest::prelude::*;
use proptest::test_runner::{TestCaseResult, TestRunner};
use rmcp::model::ContentBlock;
use serde_json::{Value, json};
use tidegate_sdk::StoreLocation;
use tidegate_sdk::visit::{Seen, Visitor};

const MAX_PAGE_TOKENS: u64 = 1_400;

fn library() -> Library {
    Library::open(None).unwrap()
}

/// Returns one client in each protocol era.
async fn visitors(library: &Library) -> [Visitor; 2] {
    let server = || server(Articles::new(library.clone()).unwrap()).store_in(StoreLocation::Memory).quiet();
    [Visitor::to(server()).await.unwrap(), Visitor::modern(server()).await.unwrap()]
}

fn all(library: &Library) -> Vec<Article> {
    library.page(&ArticleFilter::default(), None, usize::MAX).unwrap().0
}

fn slugs(seen: &Seen) -> Vec<String> {
    let page = seen.json();
    page["items"].as_array().unwrap().iter().map(|row| row["slug"].as_str().unwrap().to_owned()).collect()
}

fn links(seen: &Seen) -> Vec<String> {
    let blocks = seen.result.content.iter();
    blocks.filter_map(ContentBlock::as_resource_link).map(|link| link.uri.clone()).collect()
}

async fn page(visitor: &Visitor, tool: &str, arguments: &Value, cursor: &Value) -> Seen {
    let mut arguments = arguments.clone();
    arguments["cursor"] = cursor.clone();
    let seen = visitor.call(tool, &arguments).await.unwrap();
    assert!(!seen.failed(), "{}", seen.text());
    seen
}

/// Returns every page of a list; calls `between` before each page but the first.
async fn walk(visitor: &Visitor, tool: &str, arguments: &Value, mut between: impl FnMut(usize)) -> Vec<Seen> {
    let mut pages = vec![page(visitor, tool, arguments, &Value::Null).await];
    loop {
        let cursor = pages[pages.len() - 1].json()["nextCursor"].clone();
        if cursor.is_null() {
            return pages;
        }
        between(pages.len());
        pages.push(page(visitor, tool, arguments, &cursor).await);
    }
}

async fn tool_error(visitor: &Visitor, tool: &str, arguments: &Value) -> String {
    let seen = visitor.call(tool, arguments).await.unwrap();
    assert!(seen.failed(), "{arguments}: {}", seen.text());
    seen.text().to_owned()
}

#[tokio::test]
async fn the_plain_list_costs_480_000_tokens() {
    let library = library();
    let plain = Visitor::to(Plain::new(library.clone())).await.unwrap();
    let whole = plain.call("list_articles", &json!({})).await.unwrap();
    assert!((456_000..=504_000).contains(&whole.tokens()), "{}", whole.tokens());
    assert_eq!(whole.json(), json!(all(&library)));
    let found = plain.call("search_articles", &json!({"query": "mooring"})).await.unwrap();
    assert!(found.tokens() > 10_000, "{}", found.tokens());
    let slugs: BTreeSet<String> = all(&library).into_iter().map(|row| row.slug).collect();
    assert_eq!(slugs.len(), ARTICLE_COUNT);
}

#[tokio::test]
async fn every_page_costs_at_most_1_400_tokens() {
    let library = library();
    let matching = all(&library).iter().filter(|row| row.body.to_lowercase().contains("linseed")).count();
    assert!(matching > 200, "{matching}");
    for visitor in visitors(&library).await {
        for (tool, arguments, expected) in [
            ("list_articles", json!({}), ARTICLE_COUNT),
            ("list_articles", json!({"site": "garden"}), ARTICLE_COUNT / SITES.len()),
            (
                "list_articles",
                json!({"fields": ["slug", "title", "excerpt", "tags", "updated_at"]}),
                ARTICLE_COUNT,
            ),
            ("search_articles", json!({"query": " Linseed\toil"}), matching),
        ] {
            let pages = walk(&visitor, tool, &arguments, |_| {}).await;
            for seen in &pages {
                assert!(seen.tokens() <= MAX_PAGE_TOKENS, "{arguments}: {}", seen.tokens());
                assert_eq!(seen.json()["total"], expected, "{arguments}");
                let rows: Vec<String> = slugs(seen).iter().map(|slug| format!("article://{slug}")).collect();
                assert_eq!(links(seen), rows, "one link per row, in the same order");
            }
            let walked: Vec<String> = pages.iter().flat_map(slugs).collect();
            assert_eq!((walked.len(), walked.iter().collect::<BTreeSet<_>>().len()), (expected, expected));
        }
    }
}

#[tokio::test]
async fn the_schema_has_the_page_arguments() {
    let library = library();
    for visitor in visitors(&library).await {
        let tools = visitor.tools().await.unwrap();
        for tool in
            tools.iter().filter(|tool| ["list_articles", "search_articles"].contains(&tool.name.as_ref()))
        {
            let properties = &tool.input_schema["properties"];
            assert_eq!(properties["limit"]["maximum"], 20);
            assert_eq!(properties["max_tokens"]["maximum"], MAX_PAGE_TOKENS);
            assert_eq!(properties["fields"]["items"]["enum"], json!(Article::FIELDS));
            assert_eq!(properties["fields"]["default"], json!(["slug", "title", "updated_at"]));
            assert!(properties["site"].is_object() && properties["cursor"].is_object());
        }
    }
}

#[tokio::test]
async fn a_page_has_twenty_rows_with_the_requested_fields() {
    let library = library();
    let all = all(&library);
    for visitor in visitors(&library).await {
        let first = page(&visitor, "list_articles", &json!({}), &Value::Null).await;
        let expected: Vec<&String> = all[..20].iter().map(|article| &article.slug).collect();
        assert_eq!(slugs(&first).iter().collect::<Vec<_>>(), expected, "oldest change first");
        let row = first.json()["items"][0].clone();
        assert_eq!(row, json!({"slug": all[0].slug, "title": all[0].title, "updated_at": all[0].updated_at}));
        for field in Article::FIELDS {
            let arguments = json!({"fields": [field], "limit": 1});
            let one = page(&visitor, "list_articles", &arguments, &Value::Null).await;
            assert_eq!(one.json()["items"], json!([{field: json!(all[0])[field]}]));
        }
    }
}

#[tokio::test]
async fn a_smaller_budget_gives_fewer_rows_or_an_error() {
    let library = library();
    for visitor in visitors(&library).await {
        let pages = walk(&visitor, "list_articles", &json!({"max_tokens": 500}), |_| {}).await;
        assert!(pages.iter().all(|seen| seen.tokens() <= 500 && slugs(seen).len() < 20));
        assert_eq!(pages.iter().map(|seen| slugs(seen).len()).sum::<usize>(), ARTICLE_COUNT);
        let error =
            tool_error(&visitor, "list_articles", &json!({"fields": ["body"], "max_tokens": 100})).await;
        let error: Value = serde_json::from_str(&error).unwrap();
        assert_eq!((&error["error"], &error["budget"]), (&json!("OUTPUT_BUDGET_EXCEEDED"), &json!(100)));
        assert_eq!(error["hint"], "Lower limit or narrow fields and call again");
    }
}

fn open(file: &Path) -> Library {
    Library::open(Some(file)).unwrap()
}

#[tokio::test]
async fn pages_stay_correct_while_another_connection_changes_rows() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("articles.db");
    let read = open(&file);
    for visitor in visitors(&read).await {
        let before = all(&read);
        let writer = open(&file);
        let insert = |slug: String, updated_at: &str| {
            let article = Article { slug, updated_at: updated_at.to_owned(), ..before[0].clone() };
            writer.put(&article).unwrap();
        };
        let mut deleted = BTreeSet::new();
        let pages = walk(&visitor, "list_articles", &json!({}), |number| {
            // Insert and delete rows before and after the cursor.
            insert(format!("early-{number}"), "2020-01-01T00:00:00Z");
            insert(format!("late-{number}"), "2030-01-01T00:00:00Z");
            for index in [number, before.len() - number] {
                assert!(writer.delete(&before[index].slug).unwrap());
                deleted.insert(before[index].slug.clone());
            }
        })
        .await;
        let seen: Vec<String> = pages.iter().flat_map(slugs).collect();
        let unique: BTreeSet<&String> = seen.iter().collect();
        assert_eq!(unique.len(), seen.len(), "no row twice");
        for row in before.iter().filter(|row| !deleted.contains(&row.slug)) {
            assert!(unique.contains(&row.slug), "{} was never deleted", row.slug);
        }
        assert!(unique.contains(&"late-1".to_owned()), "a row inserted after the cursor is seen");
        assert!(!unique.contains(&"early-1".to_owned()), "a row inserted before it is not");
        for slug in (0..200).flat_map(|number| [format!("early-{number}"), format!("late-{number}")]) {
            writer.delete(&slug).unwrap();
        }
    }
}

/// A change by another connection between two pages.
#[derive(Debug, Clone)]
enum Change {
    Put { slug: u8, updated: u8 },
    Delete { slug: u8 },
}

fn changes() -> impl Strategy<Value = Vec<Vec<Change>>> {
    let put = (0..60u8, 0..9u8).prop_map(|(slug, updated)| Change::Put { slug, updated });
    let delete = (0..60u8).prop_map(|slug| Change::Delete { slug });
    prop::collection::vec(prop::collection::vec(prop_oneof![put, delete], 0..6), 1..30)
}

/// Whatever changes meanwhile, keys rise strictly, so a row is seen twice only if it was changed to a later time; and every
/// unchanged row is seen exactly once.
#[test]
fn a_walk_never_repeats_and_never_skips() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("articles.db");
    let (read, write) = (open(&file), open(&file));
    let mut runner = TestRunner::new(ProptestConfig::with_cases(64));
    runner
        .run(&(changes(), 1..7usize), |(changes, limit)| check_walk(&read, &write, changes, limit))
        .unwrap();
}

fn check_walk(read: &Library, write: &Library, changes: Vec<Vec<Change>>, limit: usize) -> TestCaseResult {
    let template = read.page(&ArticleFilter::default(), None, 1).unwrap().0.remove(0);
    // A separate site in which many rows share a time.
    let filter = ArticleFilter { site: Some("pier".into()), words: Vec::new() };
    let row = |slug: u8, updated: u8| Article {
        site: "pier".into(),
        slug: format!("pier-{slug:02}"),
        updated_at: format!("2026-01-0{updated}T00:00:00Z"),
        ..template.clone()
    };
    for slug in 0..60 {
        write.delete(&row(slug, 0).slug).unwrap();
    }
    (0..60).step_by(2).for_each(|slug| write.put(&row(slug, slug % 9)).unwrap());
    let (start, total) = read.page(&filter, None, usize::MAX).unwrap();
    prop_assert_eq!((start.len(), total), (30, 30));
    let mut untouched: BTreeSet<String> = start.into_iter().map(|article| article.slug).collect();
    let mut seen: Vec<Article> = Vec::new();
    let mut changes = changes.into_iter().cycle();
    loop {
        let after = seen.last().map(Article::key);
        let (rows, _) = read.page(&filter, after.as_ref(), limit).unwrap();
        if rows.is_empty() {
            break;
        }
        seen.extend(rows);
        for change in changes.next().unwrap_or_default() {
            let changed = match change {
                Change::Put { slug, updated } => row(slug, updated),
                Change::Delete { slug } => row(slug, 0),
            };
            untouched.remove(&changed.slug);
            match change {
                Change::Put { .. } => write.put(&changed).unwrap(),
                Change::Delete { .. } => drop(write.delete(&changed.slug).unwrap()),
            }
        }
    }
    let keys: Vec<_> = seen.iter().map(Article::key).collect();
    prop_assert!(keys.is_sorted_by(|one, other| one < other), "{keys:?}");
    for slug in untouched {
        prop_assert_eq!(seen.iter().filter(|row| row.slug == slug).count(), 1, "{}", slug);
    }
    Ok(())
}

#[tokio::test]
async fn a_link_resolves_to_the_article() {
    let library = library();
    for visitor in visitors(&library).await {
        let first = page(&visitor, "list_articles", &json!({}), &Value::Null).await;
        let (uri, slug) = (&links(&first)[0], &slugs(&first)[0]);
        let read = serde_json::to_value(visitor.read(uri).await.unwrap()).unwrap();
        let article = library.get(slug).unwrap().unwrap();
        assert_eq!(read["contents"][0]["text"], article.markdown());
        assert_eq!(read["contents"][0]["mimeType"], "text/markdown");
        let got = visitor.call("get_article", &json!({"slug": slug})).await.unwrap();
        assert_eq!(got.text(), article.markdown());
        for (uri, words) in [
            ("article://nowhere", "unknown article \"nowhere\"; use a slug from list_articles"),
            ("article://", "is not an article; use article:// and a slug from list_articles"),
        ] {
            let error = visitor.read(uri).await.unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}

#[tokio::test]
async fn a_long_article_is_shaped_and_a_summary_links_to_it() {
    let library = library();
    let article = all(&library).into_iter().max_by_key(|article| article.words).unwrap();
    let arguments = json!({"slug": article.slug});
    for visitor in visitors(&library).await {
        let long = visitor.call("get_article", &arguments).await.unwrap();
        assert!(article.markdown().len() > 10_240 && long.tokens() <= 1_000);
        assert!(long.text().contains("headings: all 7\n"), "{}", long.text());
        let id = long.text().split('"').nth(1).unwrap();
        let found = visitor.call("result_query", &json!({"id": id, "grep": "^## Afterwards"})).await.unwrap();
        assert!(found.text().contains("## Afterwards"), "{}", found.text());
        let summary = visitor.call("summarize_article", &arguments).await.unwrap();
        assert_eq!(links(&summary), [format!("article://{}", article.slug)]);
        let text = summary.text().strip_prefix(&format!("{}: ", article.title)).unwrap();
        let sentences: Vec<&str> = text.split_inclusive(". ").map(str::trim).collect();
        assert_eq!(sentences.len(), 3, "{text}");
        assert!(sentences.iter().all(|sentence| article.body.contains(sentence)), "verbatim: {text}");
        assert!(summary.tokens() < 250, "{}", summary.tokens());
    }
}

#[tokio::test]
async fn errors_say_what_is_accepted() {
    let library = library();
    for visitor in visitors(&library).await {
        let first = page(&visitor, "list_articles", &json!({}), &Value::Null).await;
        let cursor = first.json()["nextCursor"].clone();
        let invalid_cursor = "this is not a cursor for this list; pass nextCursor of the previous page unchanged and with the same filters";
        for (tool, arguments, words) in [
            ("list_articles", json!({"limit": 21}), "limit must be a whole number from 1 to 20, not 21"),
            ("list_articles", json!({"limit": "x"}), "limit must be a whole number from 1 to 20, not \"x\""),
            (
                "list_articles",
                json!({"max_tokens": 9000}),
                "max_tokens must be a whole number from 1 to 1400",
            ),
            (
                "list_articles",
                json!({"fields": ["name"]}),
                "unknown field \"name\"; valid names are slug, site,",
            ),
            (
                "list_articles",
                json!({"fields": "slug"}),
                "fields must be a list of names, not \"slug\"; valid",
            ),
            ("list_articles", json!({"cursor": "abc"}), invalid_cursor),
            ("list_articles", json!({"cursor": cursor, "site": "garden"}), invalid_cursor),
            ("search_articles", json!({"query": "oil", "cursor": cursor}), invalid_cursor),
            (
                "list_articles",
                json!({"site": "attic"}),
                "unknown site \"attic\"; the sites are harbour, garden,",
            ),
            (
                "list_articles",
                json!({"site": 5}),
                "expected a string; accepted arguments: cursor (string), fields (array)",
            ),
            (
                "list_articles",
                json!({"lmit": 5}),
                "unknown argument \"lmit\"; accepted arguments: cursor (string),",
            ),
            ("search_articles", json!({}), "missing field `query`; accepted arguments:"),
            ("search_articles", json!({"query": " "}), "query must have at least one word"),
            ("get_article", json!({"slug": "nowhere"}), "unknown article \"nowhere\"; use a slug from"),
            ("get_article", json!({}), "missing field `slug`; accepted arguments: slug (string, required)"),
            ("summarize_article", json!({"slug": "x".repeat(9000)}), "use a slug from list_articles"),
        ] {
            let error = tool_error(&visitor, tool, &arguments).await;
            assert!(error.contains(words) && error.len() < 700, "{arguments}: {error}");
        }
        let none = page(&visitor, "search_articles", &json!({"query": "zeppelin"}), &Value::Null).await;
        assert_eq!(none.json(), json!({"items": [], "total": 0}));
    }
}

/// Splits a text into its numbers and the text between them.
fn parts(text: &str) -> (Vec<u64>, Vec<&str>) {
    let digits = |letter: char| letter.is_ascii_digit() || letter == ',';
    let numbers =
        text.split(|letter| !digits(letter)).filter_map(|number| number.replace(',', "").parse().ok());
    (numbers.collect(), text.split(digits).filter(|words| !words.is_empty()).collect())
}

#[tokio::test]
async fn the_readme_has_the_table() {
    let library = library();
    let table = table(&library, &Articles::new(library.clone()).unwrap()).await.unwrap();
    let readme = include_str!("../README.md");
    let start = readme
        .find(table.lines().next().unwrap())
        .unwrap_or_else(|| panic!("README.md should have\n{table}"));
    for (measured, written) in table.lines().zip(readme[start..].lines()) {
        let (measured, written) = (parts(measured), parts(written));
        assert_eq!(measured.1, written.1, "README.md should have\n{table}");
        // Names of results and cursors are random, which changes an answer by a few tokens.
        let close = measured.0.iter().zip(&written.0).all(|(one, other)| one.abs_diff(*other) <= 20);
        assert!(close, "README.md should have\n{table}");
    }
}
