//! The articles, visited in both protocol eras: what they cost, what a page holds, and that pages stay right while another
//! connection changes the rows.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by failing")]

use std::collections::BTreeSet;
use std::path::Path;

use articles::{Article, Articles, COUNT, Library, Plain, SITES, Wanted, server, table};
use proptest::prelude::*;
use proptest::test_runner::{TestCaseResult, TestRunner};
use rmcp::model::ContentBlock;
use serde_json::{Value, json};
use tidegate_sdk::Place;
use tidegate_sdk::visit::{Seen, Visitor};

/// Most tokens of a page.
const PAGE: u64 = 1_400;

fn library() -> Library {
    Library::open(None).unwrap()
}

/// One visitor in each era.
async fn visitors(library: &Library) -> [Visitor; 2] {
    let server = || server(Articles::new(library.clone()).unwrap()).kept_in(Place::Memory).quiet();
    [Visitor::to(server()).await.unwrap(), Visitor::modern(server()).await.unwrap()]
}

fn all(library: &Library) -> Vec<Article> {
    library.page(&Wanted::default(), None, usize::MAX).unwrap().0
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
    let mut asked = arguments.clone();
    asked["cursor"] = cursor.clone();
    let seen = visitor.call(tool, &asked).await.unwrap();
    assert!(!seen.failed(), "{}", seen.text());
    seen
}

/// Every page of a list; `between` is called before each but the first.
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

async fn refused(visitor: &Visitor, tool: &str, arguments: &Value) -> String {
    let seen = visitor.call(tool, arguments).await.unwrap();
    assert!(seen.failed(), "{arguments}: {}", seen.text());
    seen.text().to_owned()
}

#[tokio::test]
async fn everything_costs_480_000_tokens() {
    let library = library();
    let plain = Visitor::to(Plain::new(library.clone())).await.unwrap();
    let whole = plain.call("list_articles", &json!({})).await.unwrap();
    assert!((456_000..=504_000).contains(&whole.tokens()), "{}", whole.tokens());
    assert_eq!(whole.json(), json!(all(&library)));
    let found = plain.call("search_articles", &json!({"query": "mooring"})).await.unwrap();
    assert!(found.tokens() > 10_000, "{}", found.tokens());
    let slugs: BTreeSet<String> = all(&library).into_iter().map(|row| row.slug).collect();
    assert_eq!(slugs.len(), COUNT);
}

#[tokio::test]
async fn every_page_costs_at_most_1_400_tokens() {
    let library = library();
    let matching = all(&library).iter().filter(|row| row.body.to_lowercase().contains("linseed")).count();
    assert!(matching > 200, "{matching}");
    for visitor in visitors(&library).await {
        for (tool, arguments, expected) in [
            ("list_articles", json!({}), COUNT),
            ("list_articles", json!({"site": "garden"}), COUNT / SITES.len()),
            ("list_articles", json!({"fields": ["slug", "title", "excerpt", "tags", "updated_at"]}), COUNT),
            ("search_articles", json!({"query": " Linseed\toil"}), matching),
        ] {
            let pages = walk(&visitor, tool, &arguments, |_| {}).await;
            for seen in &pages {
                assert!(seen.tokens() <= PAGE, "{arguments}: {}", seen.tokens());
                assert_eq!(seen.json()["total"], expected, "{arguments}");
                let rows: Vec<String> = slugs(seen).iter().map(|slug| format!("article://{slug}")).collect();
                assert_eq!(links(seen), rows, "one link for each row, in their order");
            }
            let walked: Vec<String> = pages.iter().flat_map(slugs).collect();
            assert_eq!((walked.len(), walked.iter().collect::<BTreeSet<_>>().len()), (expected, expected));
        }
    }
}

#[tokio::test]
async fn the_schema_says_what_a_page_may_be_asked_for() {
    let library = library();
    for visitor in visitors(&library).await {
        let tools = visitor.tools().await.unwrap();
        for tool in
            tools.iter().filter(|tool| ["list_articles", "search_articles"].contains(&tool.name.as_ref()))
        {
            let properties = &tool.input_schema["properties"];
            assert_eq!(properties["limit"]["maximum"], 20);
            assert_eq!(properties["max_tokens"]["maximum"], PAGE);
            assert_eq!(properties["fields"]["items"]["enum"], json!(Article::FIELDS));
            assert_eq!(properties["fields"]["default"], json!(["slug", "title", "updated_at"]));
            assert!(properties["site"].is_object() && properties["cursor"].is_object());
        }
    }
}

#[tokio::test]
async fn a_page_has_twenty_rows_of_the_fields_that_were_chosen() {
    let library = library();
    let all = all(&library);
    for visitor in visitors(&library).await {
        let first = page(&visitor, "list_articles", &json!({}), &Value::Null).await;
        let expected: Vec<&String> = all[..20].iter().map(|article| &article.slug).collect();
        assert_eq!(slugs(&first).iter().collect::<Vec<_>>(), expected, "oldest change first");
        let row = first.json()["items"][0].clone();
        assert_eq!(row, json!({"slug": all[0].slug, "title": all[0].title, "updated_at": all[0].updated_at}));
        for field in Article::FIELDS {
            let asked = json!({"fields": [field], "limit": 1});
            let one = page(&visitor, "list_articles", &asked, &Value::Null).await;
            assert_eq!(one.json()["items"], json!([{field: json!(all[0])[field]}]));
        }
    }
}

#[tokio::test]
async fn a_smaller_budget_gives_fewer_rows_and_too_small_a_one_an_error() {
    let library = library();
    for visitor in visitors(&library).await {
        let pages = walk(&visitor, "list_articles", &json!({"max_tokens": 500}), |_| {}).await;
        assert!(pages.iter().all(|seen| seen.tokens() <= 500 && slugs(seen).len() < 20));
        assert_eq!(pages.iter().map(|seen| slugs(seen).len()).sum::<usize>(), COUNT);
        let error = refused(&visitor, "list_articles", &json!({"fields": ["body"], "max_tokens": 100})).await;
        let error: Value = serde_json::from_str(&error).unwrap();
        assert_eq!((&error["error"], &error["budget"]), (&json!("OUTPUT_BUDGET_EXCEEDED"), &json!(100)));
        assert_eq!(error["hint"], "Lower limit or narrow fields and call again");
    }
}

fn in_file(file: &Path) -> Library {
    Library::open(Some(file)).unwrap()
}

#[tokio::test]
async fn pages_stay_right_while_another_connection_changes_rows() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("articles.db");
    let read = in_file(&file);
    for visitor in visitors(&read).await {
        let before = all(&read);
        let others = in_file(&file);
        let new = |slug: String, updated_at: &str| {
            let article = Article { slug, updated_at: updated_at.to_owned(), ..before[0].clone() };
            others.put(&article).unwrap();
        };
        let mut gone = BTreeSet::new();
        let pages = walk(&visitor, "list_articles", &json!({}), |number| {
            // Rows come and go, before the cursor and behind it.
            new(format!("early-{number}"), "2020-01-01T00:00:00Z");
            new(format!("late-{number}"), "2030-01-01T00:00:00Z");
            for at in [number, before.len() - number] {
                assert!(others.delete(&before[at].slug).unwrap());
                gone.insert(before[at].slug.clone());
            }
        })
        .await;
        let seen: Vec<String> = pages.iter().flat_map(slugs).collect();
        let unique: BTreeSet<&String> = seen.iter().collect();
        assert_eq!(unique.len(), seen.len(), "nothing twice");
        for row in before.iter().filter(|row| !gone.contains(&row.slug)) {
            assert!(unique.contains(&row.slug), "{} was there all the time", row.slug);
        }
        assert!(unique.contains(&"late-1".to_owned()), "what comes behind the cursor is seen");
        assert!(!unique.contains(&"early-1".to_owned()), "what comes before it is not");
        for slug in (0..200).flat_map(|number| [format!("early-{number}"), format!("late-{number}")]) {
            others.delete(&slug).unwrap();
        }
    }
}

/// What another connection does between two pages.
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

/// Whatever comes and goes, a walk never goes back: keys rise strictly, so a row is seen twice only if it was changed to a
/// later time meanwhile; and every row that was left alone is seen once.
#[test]
fn a_walk_never_repeats_and_never_skips() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("articles.db");
    let (read, write) = (in_file(&file), in_file(&file));
    let mut runner = TestRunner::new(ProptestConfig::with_cases(64));
    runner.run(&(changes(), 1..7usize), |(changes, limit)| walked(&read, &write, changes, limit)).unwrap();
}

fn walked(read: &Library, write: &Library, changes: Vec<Vec<Change>>, limit: usize) -> TestCaseResult {
    let like = read.page(&Wanted::default(), None, 1).unwrap().0.remove(0);
    // A site of its own, in which many rows share a time.
    let wanted = Wanted { site: Some("pier".into()), words: Vec::new() };
    let row = |slug: u8, updated: u8| Article {
        site: "pier".into(),
        slug: format!("pier-{slug:02}"),
        updated_at: format!("2026-01-0{updated}T00:00:00Z"),
        ..like.clone()
    };
    for slug in 0..60 {
        write.delete(&row(slug, 0).slug).unwrap();
    }
    (0..60).step_by(2).for_each(|slug| write.put(&row(slug, slug % 9)).unwrap());
    let (start, total) = read.page(&wanted, None, usize::MAX).unwrap();
    prop_assert_eq!((start.len(), total), (30, 30));
    let mut untouched: BTreeSet<String> = start.into_iter().map(|article| article.slug).collect();
    let mut seen: Vec<Article> = Vec::new();
    let mut changes = changes.into_iter().cycle();
    loop {
        let after = seen.last().map(Article::key);
        let (rows, _) = read.page(&wanted, after.as_ref(), limit).unwrap();
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
async fn a_link_leads_to_the_article() {
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
            ("article://nowhere", "there is no article \"nowhere\"; slugs are in the rows of list_articles"),
            ("article://", "should be article:// and the slug of an article, from list_articles"),
        ] {
            let error = visitor.read(uri).await.unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}

#[tokio::test]
async fn a_long_article_is_shaped_and_a_summary_names_its_source() {
    let library = library();
    let article = all(&library).into_iter().max_by_key(|article| article.words).unwrap();
    let asked = json!({"slug": article.slug});
    for visitor in visitors(&library).await {
        let long = visitor.call("get_article", &asked).await.unwrap();
        assert!(article.markdown().len() > 10_240 && long.tokens() <= 2_000);
        assert!(long.text().contains("headings: all 7\n"), "{}", long.text());
        let id = long.text().split('"').nth(1).unwrap();
        let found = visitor.call("result_query", &json!({"id": id, "grep": "^## Afterwards"})).await.unwrap();
        assert!(found.text().contains("## Afterwards"), "{}", found.text());
        let summary = visitor.call("summarize_article", &asked).await.unwrap();
        assert_eq!(links(&summary), [format!("article://{}", article.slug)]);
        let told = summary.text().strip_prefix(&format!("{}: ", article.title)).unwrap();
        let sentences: Vec<&str> = told.split_inclusive(". ").map(str::trim).collect();
        assert_eq!(sentences.len(), 3, "{told}");
        assert!(
            sentences.iter().all(|sentence| article.body.contains(sentence)),
            "nothing is made up: {told}"
        );
        assert!(summary.tokens() < 250, "{}", summary.tokens());
    }
}

#[tokio::test]
async fn mistakes_say_what_is_accepted() {
    let library = library();
    for visitor in visitors(&library).await {
        let first = page(&visitor, "list_articles", &json!({}), &Value::Null).await;
        let cursor = first.json()["nextCursor"].clone();
        let not_this = "this is not a cursor of this list; pass nextCursor of the last page as it is and with the same filters";
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
            ("list_articles", json!({"cursor": "abc"}), not_this),
            ("list_articles", json!({"cursor": cursor, "site": "garden"}), not_this),
            ("search_articles", json!({"query": "oil", "cursor": cursor}), not_this),
            (
                "list_articles",
                json!({"site": "attic"}),
                "there is no site \"attic\"; there are harbour, garden,",
            ),
            (
                "list_articles",
                json!({"site": 5}),
                "expected a string; accepted are cursor (string), fields (array)",
            ),
            (
                "list_articles",
                json!({"lmit": 5}),
                "there is no argument \"lmit\"; accepted are cursor (string),",
            ),
            ("search_articles", json!({}), "missing field `query`; accepted are"),
            ("search_articles", json!({"query": " "}), "query should be one or more words"),
            (
                "get_article",
                json!({"slug": "nowhere"}),
                "there is no article \"nowhere\"; slugs are in the rows",
            ),
            ("get_article", json!({}), "missing field `slug`; accepted are slug (string, required)"),
            (
                "summarize_article",
                json!({"slug": "x".repeat(9000)}),
                "slugs are in the rows of list_articles",
            ),
        ] {
            let error = refused(&visitor, tool, &arguments).await;
            assert!(error.contains(words) && error.len() < 700, "{arguments}: {error}");
        }
        let none = page(&visitor, "search_articles", &json!({"query": "zeppelin"}), &Value::Null).await;
        assert_eq!(none.json(), json!({"items": [], "total": 0}));
    }
}

/// The numbers of a text, and what is between them.
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
    let begins = readme
        .find(table.lines().next().unwrap())
        .unwrap_or_else(|| panic!("README.md should have\n{table}"));
    for (now, then) in table.lines().zip(readme[begins..].lines()) {
        let (now, then) = (parts(now), parts(then));
        assert_eq!(now.1, then.1, "README.md should have\n{table}");
        // Names of results and cursors are random, and with them a few tokens of an answer.
        let alike = now.0.iter().zip(&then.0).all(|(now, then)| now.abs_diff(*then) <= 20);
        assert!(alike, "README.md should have\n{table}");
    }
}
