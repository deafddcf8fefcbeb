//! The output budget convention: projection, pages, links, and an error with a hint.

use std::collections::HashSet;

use serde_json::{Value, json};
use tidegate_core::measure::Meter;
use tidegate_sdk::{StoreLocation, Tidegate};

use crate::articles::Articles;
use crate::{Client, ERAS};

async fn connect(era: &str) -> Client {
    let server = Tidegate::wrap(Articles::new().unwrap()).store_in(StoreLocation::Memory).quiet();
    Client::connect(server, era).await
}

fn tokens(text: &str) -> u64 {
    Meter::default().count(text).0
}

#[tokio::test]
async fn the_arguments_are_in_the_schema() {
    for era in ERAS {
        let tools = connect(era).await.tools().await;
        let tool = tools.iter().find(|tool| tool.name == "list_articles").unwrap();
        let properties = &tool.input_schema["properties"];
        for name in ["site", "limit", "cursor", "fields", "max_tokens"] {
            assert!(properties.get(name).is_some(), "{name}: {properties}");
        }
        assert_eq!(properties["limit"]["maximum"], 20);
    }
}

#[tokio::test]
async fn a_page_is_small_and_states_the_total() {
    for era in ERAS {
        let client = connect(era).await;
        let text = client.text("list_articles", json!({"site": "harbour"})).await;
        assert!(tokens(&text) <= 1400, "{}", tokens(&text));
        let page: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((page["items"].as_array().unwrap().len(), &page["total"]), (20, &json!(820)));
        assert_eq!(page["items"][0], json!({"slug": "article-0000", "title": "About article-0000"}));
        let tags =
            client.json("list_articles", json!({"site": "harbour", "limit": 2, "fields": ["tags"]})).await;
        assert_eq!(
            tags["items"],
            json!([{"tags": ["one", "two", "three"]}, {"tags": ["one", "two", "three"]}])
        );
    }
}

#[tokio::test]
async fn pages_survive_inserts_and_deletes() {
    for era in ERAS {
        let client = connect(era).await;
        let (mut seen, mut cursor, mut round) = (Vec::new(), Value::Null, 0);
        loop {
            let page = client.json("list_articles", json!({"site": "harbour", "cursor": cursor})).await;
            seen.extend(
                page["items"].as_array().unwrap().iter().map(|row| row["slug"].as_str().unwrap().to_owned()),
            );
            client.text("insert_article", json!({"slug": format!("new-{round}")})).await;
            client.text("delete_article", json!({"slug": format!("article-{:04}", 5 + round * 20)})).await;
            round += 1;
            cursor = page["nextCursor"].clone();
            if cursor.is_null() {
                break;
            }
        }
        let unique: HashSet<&String> = seen.iter().collect();
        assert_eq!(unique.len(), seen.len(), "nothing twice");
        let not_deleted =
            (0..820).filter(|number| number % 20 != 5).map(|number| format!("article-{number:04}"));
        not_deleted.for_each(|slug| assert!(unique.contains(&slug), "{slug}"));
    }
}

#[tokio::test]
async fn links_replace_contents() {
    for era in ERAS {
        let client = connect(era).await;
        let links = serde_json::to_value(client.call("link_articles", json!({})).await).unwrap();
        let blocks = links["content"].as_array().unwrap();
        assert!(blocks.len() == 20 && blocks.iter().all(|block| block["type"] == "resource_link"));
        assert!(tokens(&links["content"].to_string()) < 1000);
        let summary = client.call("summarize_article", json!({"slug": "article-0007"})).await;
        let summary = serde_json::to_value(&summary).unwrap();
        assert_eq!(summary["content"][1]["uri"], "article://article-0007", "the source is always linked");
    }
}

#[tokio::test]
async fn an_answer_over_budget_is_an_error_and_is_stored() {
    for era in ERAS {
        let client = connect(era).await;
        for (tool, arguments) in [
            ("all_articles", json!({})),
            ("list_articles", json!({"site": "harbour", "fields": ["slug", "excerpt"]})),
        ] {
            let error = client.json(tool, arguments).await;
            assert_eq!((&error["error"], &error["tool"]), (&json!("OUTPUT_BUDGET_EXCEEDED"), &json!(tool)));
            assert_eq!(error["budget"], 1000);
            assert!(error["tokens"].as_u64().unwrap() > 1000);
            let hint = error["hint"].as_str().unwrap();
            assert!(hint.starts_with("Lower limit or narrow fields and call again"), "{hint}");
            let id = hint.split('"').nth(1).unwrap();
            assert!(
                client
                    .text("result_query", json!({"id": id, "grep": "article-0003"}))
                    .await
                    .contains("article-0003")
            );
        }
    }
}

#[tokio::test]
async fn errors_name_the_valid_choices() {
    for era in ERAS {
        let client = connect(era).await;
        for (arguments, words) in [
            (json!({"limit": 0}), "limit must be a whole number from 1 to 20, not 0"),
            (json!({"limit": 500}), "limit must be a whole number from 1 to 20, not 500"),
            (json!({"limit": "x"}), "limit must be a whole number"),
            (json!({"fields": ["slugg"]}), "slug"),
            (json!({"fields": 3}), "fields must be a list of names"),
            (json!({"cursor": "abc"}), "this is not a cursor for this list"),
            (json!({"max_tokens": 0}), "max_tokens must be a whole number from 1 to 10000"),
        ] {
            let mut asked = arguments.clone();
            asked["site"] = json!("harbour");
            let error = client.any_error("list_articles", asked).await;
            assert!(error.contains(words), "{arguments}: {error}");
        }
    }
}
