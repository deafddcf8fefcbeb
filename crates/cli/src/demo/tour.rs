//! What is asked of each server: the call that floods, the same call with tidegate, and two that read on.

use serde_json::{Value, json};

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Call {
    pub(super) tool: &'static str,
    pub(super) arguments: Value,
}

/// A walk through one server.
pub(super) struct Tour {
    /// What the server is called.
    pub(super) name: &'static str,
    /// What the walk shows.
    pub(super) shows: &'static str,
    /// Whether the server is the one of before, and tidegate stands in front of it.
    pub(super) behind: bool,
    /// What floods the context, of the server of before.
    pub(super) raw: fn() -> Call,
    /// The same question where tidegate is.
    pub(super) first: fn() -> Call,
    /// What is asked then; each may look at what was answered before it.
    pub(super) next: [fn(&Seen<'_>) -> Call; 2],
}

/// The answers so far, as text.
pub(super) struct Seen<'s>(pub(super) &'s [String]);

impl Seen<'_> {
    /// A string of an answer that is JSON.
    fn value(&self, answer: usize, key: &str) -> String {
        let told: Value =
            self.0.get(answer).and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        told[key].as_str().unwrap_or_default().to_owned()
    }

    /// The name of the result that the first line of an overview has in quotes.
    fn handle(&self, answer: usize) -> String {
        let text = self.0.get(answer).map_or("", String::as_str);
        let named = text.split_once("Complete result: \"").map_or("", |(_, rest)| rest);
        named.split('"').next().unwrap_or_default().to_owned()
    }
}

fn call(tool: &'static str, arguments: Value) -> Call {
    Call { tool, arguments }
}

/// A server that knows nothing of tidegate, behind it.
pub(super) const PROXY: Tour = Tour {
    name: "articles",
    shows: "a server as it is, behind `tidegate run`",
    behind: true,
    raw: || call("list_articles", json!({})),
    first: || call("list_articles", json!({})),
    next: [
        |seen| {
            let sql = "select site, author, count(*) as articles, sum(words) as words from t \
                       where status = 'draft' group by 1, 2 order by articles desc limit 5";
            call("result_query", json!({ "id": seen.handle(0), "sql": sql }))
        },
        |seen| {
            let jq = "[.[] | select(.words > 450)] | sort_by(-.words) | .[:5] | map({slug, title, words})";
            call("result_query", json!({ "id": seen.handle(0), "jq": jq }))
        },
    ],
};

/// The four servers with tidegate inside.
pub(super) const TOURS: [Tour; 4] = [
    Tour {
        name: "orbit",
        shows: "a summary unless everything is asked for, and everything attached",
        behind: false,
        raw: || call("porkchop", json!({ "samples_per_axis": 30 })),
        first: || call("porkchop", json!({ "samples_per_axis": 30 })),
        next: [
            |_| call("porkchop", json!({ "samples_per_axis": 30, "output": "full" })),
            |seen| {
                let sql = "select departure, arrival, tof_days, total_dv from t where tof_days < 220 order by total_dv limit 3";
                call("result_query", json!({ "id": seen.handle(1), "sql": sql }))
            },
        ],
    },
    Tour {
        name: "inventory",
        shows: "a probe first, then as much as is needed",
        behind: false,
        raw: || call("inventory.list_all", json!({})),
        first: || call("inventory.list_all", json!({})),
        next: [
            |seen| {
                let token = seen.value(0, "continuation_token");
                let asked =
                    json!({ "continuation_token": token, "mode": "paginated", "page": 3, "page_size": 10 });
                call("inventory.list_all", asked)
            },
            |seen| {
                let token = seen.value(0, "continuation_token");
                let keys = ["sku", "warehouse.city", "quantity"];
                let asked = json!({ "continuation_token": token, "mode": "filtered", "filter_keys": keys });
                call("inventory.list_all", asked)
            },
        ],
    },
    Tour {
        name: "articles",
        shows: "chosen fields, pages that survive changes, links instead of contents",
        behind: false,
        raw: || call("list_articles", json!({})),
        first: || call("list_articles", json!({})),
        next: [
            |seen| call("list_articles", json!({ "cursor": seen.value(0, "nextCursor") })),
            |_| call("search_articles", json!({ "query": "tide", "fields": ["slug", "author"], "limit": 5 })),
        ],
    },
    Tour {
        name: "bugtrace",
        shows: "answers by contract: a summary, a few items, a reference to the rest",
        behind: false,
        raw: || call("bugfix_scan", json!({})),
        first: || call("bugfix_scan", json!({})),
        next: [
            |seen| {
                let sql = "select rule, count(*) as n, count(distinct path) as files from t group by 1 order by n desc";
                call("result_query", json!({ "id": seen.value(0, "artifactRef"), "sql": sql }))
            },
            |_| call("trace_analyze", json!({})),
        ],
    },
];
