//! The tour: three answers within the budget, which together are a small part of the result without tidegate.

use tour::{Visit, text, walk_all};

fn assert_saved(visit: &Visit, raw_tokens: std::ops::Range<u64>, min_percent: f64) {
    assert!(raw_tokens.contains(&visit.raw_tokens), "{} {}", visit.server, visit.raw_tokens);
    assert_eq!(visit.exchanges.len(), 3);
    for exchange in &visit.exchanges {
        assert!((1..=2000).contains(&exchange.tokens), "{exchange:?}");
    }
    assert!(visit.saved_percent() >= min_percent, "{} {}", visit.server, visit.saved_percent());
}

#[tokio::test]
async fn every_server_saves() {
    let visits = walk_all().await.unwrap();
    let names: Vec<&str> = visits.iter().map(|visit| visit.server).collect();
    assert_eq!(names, ["orbit", "inventory", "articles", "bugtrace"]);
    assert_saved(&visits[0], 57_000..69_000, 90.0);
    assert_saved(&visits[1], 400_000..550_000, 99.0);
    assert_saved(&visits[2], 458_000..506_000, 99.0);
    assert_saved(&visits[3], 5_000..100_000, 90.0);
    let text = text(&visits);
    assert!(text.starts_with("══ orbit: ") && text.contains("\n| articles, `list_articles` | "), "{text}");
}
