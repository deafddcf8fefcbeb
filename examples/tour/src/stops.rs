//! The stops of the tour: each server, without tidegate and with it, and what is asked of it.

use example_shared::Failure;
use serde_json::{Value, json};
use tidegate_sdk::visit::Visitor;
use tidegate_sdk::{Artifacts, StoreLocation, Tier};

use crate::{Call, Exchange, Visit, call};

/// One server, and what is asked of it.
struct Stop {
    server: &'static str,
    shows: &'static str,
    /// The server without tidegate.
    plain: Visitor,
    /// The server with tidegate inside.
    gated: Visitor,
    /// The call that floods the context without tidegate.
    first: Call,
    /// The follow-ups; each sees the answers before it.
    follow_ups: [fn(&Answers<'_>) -> Call; 2],
}

/// The answers so far.
struct Answers<'e>(&'e [Exchange]);

impl Answers<'_> {
    fn text(&self, index: usize) -> &str {
        self.0.get(index).map_or("", |exchange| exchange.text.as_str())
    }

    /// Returns a string from an answer that is a JSON object.
    fn string(&self, index: usize, key: &str) -> String {
        let answer: Value = serde_json::from_str(self.text(index)).unwrap_or_default();
        answer[key].as_str().unwrap_or_default().to_owned()
    }

    /// Returns the handle that the first line of an overview has in quotes.
    fn handle(&self, index: usize) -> &str {
        let quoted = self.text(index).split_once("Complete result: \"").map_or("", |(_, rest)| rest);
        quoted.split('"').next().unwrap_or_default()
    }
}

fn tool_call(tool: &'static str, arguments: Value) -> Call {
    Call { tool, arguments }
}

impl Stop {
    async fn visit(self) -> Result<Visit, Failure> {
        let raw = call(&self.plain, &self.first).await?;
        let mut exchanges = vec![exchange(&self.gated, self.first).await?];
        for follow_up in self.follow_ups {
            let next = follow_up(&Answers(&exchanges));
            exchanges.push(exchange(&self.gated, next).await?);
        }
        Ok(Visit {
            server: self.server,
            shows: self.shows,
            raw_bytes: raw.bytes(),
            raw_tokens: raw.tokens(),
            exchanges,
        })
    }
}

async fn exchange(visitor: &Visitor, asked: Call) -> Result<Exchange, Failure> {
    let seen = call(visitor, &asked).await?;
    Ok(Exchange { call: asked, text: seen.text().to_owned(), tokens: seen.tokens() })
}

/// Visits the server of satellites and transfers.
pub(crate) async fn orbit() -> Result<Visit, Failure> {
    let stop = Stop {
        server: "orbit",
        shows: "a summary by default, the full result attached on request",
        plain: Visitor::to(orbit::plain()).await?,
        gated: Visitor::to(orbit::server().store_in(StoreLocation::Memory).quiet()).await?,
        first: tool_call("porkchop", json!({ "samples_per_axis": 30 })),
        follow_ups: [
            |_| tool_call("porkchop", json!({ "samples_per_axis": 30, "output": "full" })),
            |answers| {
                let sql = "select departure, arrival, tof_days, total_dv from t where tof_days < 220 \
                           order by total_dv limit 3";
                tool_call("result_query", json!({ "id": answers.handle(1), "sql": sql }))
            },
        ],
    };
    stop.visit().await
}

/// Visits the server of stock records.
pub(crate) async fn inventory() -> Result<Visit, Failure> {
    let inventory = inventory::Inventory::new(inventory::Stock::open(None)?);
    let gated = inventory::server(inventory.clone(), inventory::Access::new(Tier::Read));
    let stop = Stop {
        server: "inventory",
        shows: "a probe first, then as much as is needed",
        plain: Visitor::to(inventory).await?,
        gated: Visitor::to(gated.store_in(StoreLocation::Memory).quiet()).await?,
        first: tool_call("inventory.list_all", json!({})),
        follow_ups: [
            |answers| {
                let token = answers.string(0, "continuation_token");
                let fetch =
                    json!({ "continuation_token": token, "mode": "paginated", "page": 3, "page_size": 10 });
                tool_call("inventory.list_all", fetch)
            },
            |answers| {
                let token = answers.string(0, "continuation_token");
                let keys = ["sku", "warehouse.city", "quantity"];
                let fetch = json!({ "continuation_token": token, "mode": "filtered", "filter_keys": keys });
                tool_call("inventory.list_all", fetch)
            },
        ],
    };
    stop.visit().await
}

/// Visits the server of articles.
pub(crate) async fn articles() -> Result<Visit, Failure> {
    let library = articles::Library::open(None)?;
    let gated = articles::server(articles::Articles::new(library.clone())?);
    let stop = Stop {
        server: "articles",
        shows: "chosen fields, pages that survive changes, links instead of content",
        plain: Visitor::to(articles::Plain::new(library)).await?,
        gated: Visitor::to(gated.store_in(StoreLocation::Memory).quiet()).await?,
        first: tool_call("list_articles", json!({})),
        follow_ups: [
            |answers| tool_call("list_articles", json!({ "cursor": answers.string(0, "nextCursor") })),
            |_| {
                let search = json!({ "query": "tide", "fields": ["slug", "author"], "limit": 5 });
                tool_call("search_articles", search)
            },
        ],
    };
    stop.visit().await
}

/// Visits the server that scans a source tree.
pub(crate) async fn bugtrace() -> Result<Visit, Failure> {
    let folder = tempfile::tempdir()?;
    bugtrace::sample(folder.path())?;
    let tree = || bugtrace::Tree::open(folder.path());
    let gated = bugtrace::server(tree()?, &Artifacts::store_in(StoreLocation::Memory))?;
    let stop = Stop {
        server: "bugtrace",
        shows: "answers by contract: a summary, a few items, a reference to the rest",
        plain: Visitor::to(bugtrace::plain(tree()?)?).await?,
        gated: Visitor::to(gated.quiet()).await?,
        first: tool_call("bugfix_scan", json!({})),
        follow_ups: [
            |answers| {
                let sql = "select rule, count(*) as n, count(distinct path) as files from t group by 1 order by n desc";
                tool_call("result_query", json!({ "id": answers.string(0, "artifactRef"), "sql": sql }))
            },
            |_| tool_call("trace_analyze", json!({})),
        ],
    };
    stop.visit().await
}
