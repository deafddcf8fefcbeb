//! The result of a scan, as text, JSON and CSV.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tidegate_core::budget::Budget;
use tidegate_core::measure::Meter;

use crate::ledger::percentile;
use crate::ui::{self, grouped};

/// The sizes of results, by server and tool.
#[derive(Debug, Default)]
pub(super) struct ToolResults(BTreeMap<(String, String), Sizes>);

#[derive(Debug, Default)]
struct Sizes {
    /// The tokens of each result.
    tokens: Vec<u64>,
    /// How many results were only observed.
    observed: usize,
}

impl ToolResults {
    /// Adds a result.
    pub(super) fn add(&mut self, server: &str, tool: &str, tokens: u64, observed: bool) {
        let sizes = self.0.entry((server.to_owned(), tool.to_owned())).or_default();
        sizes.tokens.push(tokens);
        sizes.observed += usize::from(observed);
    }
}

/// A tool in the list of a probed server.
#[derive(Debug)]
pub(super) struct ListedTool {
    pub(super) tool: String,
    /// The tokens of its entry in the list.
    pub(super) tokens: u64,
    /// Why it was not measured, if it was not.
    pub(super) why: Option<String>,
}

/// Figures of one tool's results.
#[derive(Debug)]
struct Row {
    server: String,
    tool: String,
    calls: usize,
    observed: usize,
    median: u64,
    p95: u64,
    max: u64,
    sum: u64,
}

impl Row {
    fn is_heavy(&self) -> bool {
        self.p95 > Budget::LINE_TOKENS.0
    }
}

/// The result of a scan.
#[derive(Debug)]
pub(super) struct Scan {
    rows: Vec<Row>,
    /// The probed server and its tools, if this was a probe.
    probed: Option<(String, Vec<ListedTool>)>,
    /// The tokens of tool lists in the ledger, by server.
    lists: BTreeMap<String, u64>,
    /// The vocabularies that tokens were counted with.
    counted_with: Vec<String>,
}

impl Scan {
    /// Returns the scan of a ledger.
    pub(super) fn of_ledger(
        tools: ToolResults,
        lists: BTreeMap<String, u64>,
        counted_with: Vec<String>,
    ) -> Self {
        Self { rows: rows(tools), probed: None, lists, counted_with }
    }

    /// Returns the scan of a probed server.
    pub(super) fn of_probe(server: String, tools: ToolResults, listed: Vec<ListedTool>) -> Self {
        let counted_with = vec![Meter::default().vocabulary().to_owned()];
        Self { rows: rows(tools), probed: Some((server, listed)), lists: BTreeMap::new(), counted_with }
    }

    /// Returns whether there is nothing to show.
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.listed().is_empty() && self.lists.is_empty()
    }

    /// Returns whether any result was measured.
    pub(super) fn has_results(&self) -> bool {
        !self.rows.is_empty()
    }

    /// Names the tools and lists of tools that have more tokens than this, each with its largest number.
    pub(super) fn above(&self, most: u64) -> Vec<String> {
        let results = self.rows.iter().map(|row| (ui::printable(&row.tool), row.max));
        let probed = self.probed.iter().map(|(server, _)| (server, self.list_tokens()));
        let lists = self.lists.iter().map(|(server, tokens)| (server, *tokens)).chain(probed);
        let lists = lists.map(|(server, tokens)| (format!("tool list of {}", ui::printable(server)), tokens));
        let over = results.chain(lists);
        over.filter(|(_, tokens)| *tokens > most)
            .map(|(name, tokens)| format!("{name} ({})", grouped(tokens)))
            .collect()
    }

    fn listed(&self) -> &[ListedTool] {
        self.probed.as_ref().map_or(&[], |(_, listed)| listed)
    }

    fn list_tokens(&self) -> u64 {
        self.listed().iter().map(|listed| listed.tokens).sum()
    }

    fn listed_as(&self, row: &Row) -> Option<u64> {
        self.listed().iter().find(|listed| listed.tool == row.tool).map(|listed| listed.tokens)
    }

    fn share(&self, row: &Row) -> f64 {
        let all: u64 = self.rows.iter().map(|row| row.sum).sum();
        (1000.0 * row.sum as f64 / all.max(1) as f64).round() / 10.0
    }

    /// Formats the scan as JSON.
    pub(super) fn json(&self) -> Value {
        let tool = |row: &Row| {
            json!({
                "server": row.server,
                "tool": row.tool,
                "calls": row.calls,
                "observed_calls": row.observed,
                "median_tokens": row.median,
                "p95_tokens": row.p95,
                "max_tokens": row.max,
                "total_tokens": row.sum,
                "share_percent": self.share(row),
                "heavy": row.is_heavy(),
            })
        };
        let mut out = json!({
            "heavy_above_tokens": Budget::LINE_TOKENS.0,
            "counted_with": self.counted_with,
            "tools": self.rows.iter().map(tool).collect::<Vec<_>>(),
        });
        if self.probed.is_none() {
            out["tools_list_tokens"] = json!(self.lists);
        }
        if let Some((server, listed)) = &self.probed {
            let listed = listed.iter().map(
                |listed| json!({ "tool": listed.tool, "tokens": listed.tokens, "not_measured": listed.why }),
            );
            out["server"] = server.as_str().into();
            out["tools_list_tokens"] = self.list_tokens().into();
            out["tools_list"] = listed.collect();
        }
        out
    }

    /// Formats the scan as CSV.
    pub(super) fn csv(&self) -> String {
        let names = [
            "server",
            "tool",
            "listed_tokens",
            "calls",
            "median_tokens",
            "p95_tokens",
            "max_tokens",
            "share_percent",
        ];
        let mut out = vec![names.map(str::to_owned).to_vec()];
        out.extend(self.rows.iter().map(|row| {
            let listed = self.listed_as(row).map_or_else(String::new, |tokens| tokens.to_string());
            let numbers = [row.median, row.p95, row.max].map(|number| number.to_string());
            let mut cells = vec![row.server.clone(), row.tool.clone(), listed, row.calls.to_string()];
            cells.extend(numbers);
            cells.push(self.share(row).to_string());
            cells
        }));
        if let Some((server, listed)) = &self.probed {
            for listed in listed.iter().filter(|listed| listed.why.is_some()) {
                let mut cells =
                    vec![server.clone(), listed.tool.clone(), listed.tokens.to_string(), "0".into()];
                cells.resize(names.len(), String::new());
                out.push(cells);
            }
        }
        ui::csv(&out)
    }

    /// Formats the scan as text.
    pub(super) fn text(&self) -> String {
        let mut out = self.probe_summary();
        if !self.rows.is_empty() {
            out.push_str(&self.table());
            out.push('\n');
        }
        out.push_str(&self.not_measured());
        out.push_str(&self.list_tokens_text());
        out.push_str(&self.next_steps());
        out
    }

    /// Describes what tool lists cost, and how tokens were counted.
    fn list_tokens_text(&self) -> String {
        if self.probed.is_some() {
            return String::new();
        }
        let list =
            |(server, tokens): (&String, &u64)| format!("{} {}", ui::printable(server), grouped(*tokens));
        let lists: Vec<String> = self.lists.iter().map(list).collect();
        let lists = match lists.as_slice() {
            [] => String::new(),
            lists => format!("Tokens of tool lists, in every conversation: {}. ", lists.join(", ")),
        };
        format!("{lists}Counted with {}.\n", self.counted_with.join(" and "))
    }

    fn probe_summary(&self) -> String {
        let Some((server, listed)) = &self.probed else { return String::new() };
        format!(
            "{} lists {}, {} tokens in every conversation ({}); {} of them measured.\n\n",
            ui::printable(server),
            ui::count(listed.len() as u64, "tool"),
            grouped(self.list_tokens()),
            self.counted_with.join(" and "),
            self.rows.len()
        )
    }

    fn table(&self) -> String {
        let probed = self.probed.is_some();
        let mut head = vec!["SERVER", "TOOL", "CALLS", "MEDIAN", "P95", "MAX", "SHARE"];
        if probed {
            head.push("LISTED");
        }
        let mut out = vec![head.into_iter().map(str::to_owned).collect::<Vec<_>>()];
        for row in &self.rows {
            let mut cells = vec![ui::printable(&row.server), ui::printable(&row.tool)];
            cells.extend([row.calls as u64, row.median, row.p95, row.max].map(grouped));
            cells.push(format!("{:.1} %", self.share(row)));
            if probed {
                cells.push(self.listed_as(row).map(grouped).unwrap_or_default());
            }
            out.push(cells);
        }
        ui::table(&out, &[2, 3, 4, 5, 6, 7])
    }

    /// Lists tools that were not measured, grouped by reason.
    fn not_measured(&self) -> String {
        let mut reasons: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for listed in self.listed() {
            if let Some(why) = &listed.why {
                let words = format!("{} ({})", ui::printable(&listed.tool), grouped(listed.tokens));
                reasons.entry(why).or_default().push(words);
            }
        }
        if reasons.is_empty() {
            return String::new();
        }
        let mut out = String::from("Not measured (in parentheses, the tokens of their list entries):\n");
        for (why, tools) in reasons {
            out.push_str(&format!("  {}: {why}\n", tools.join(", ")));
        }
        out.push('\n');
        out
    }

    /// Describes what to do next.
    fn next_steps(&self) -> String {
        let heavy: Vec<&Row> = self.rows.iter().filter(|row| row.is_heavy()).collect();
        let line = grouped(Budget::LINE_TOKENS.0);
        if self.rows.is_empty() {
            return "No tool could be measured. Use the server with `tidegate run --observe --` in front of its command \
                    for a while; then tidegate scan shows the sizes of its results.\n"
                .into();
        }
        if heavy.is_empty() {
            let missing = self.listed().iter().filter(|listed| listed.why.is_some()).count();
            let words = match (missing, self.rows.len()) {
                (0, _) => "No tool is heavy: each".to_owned(),
                (_, 1) => "The tool that was measured is not heavy: it".to_owned(),
                (_, measured) => format!("None of the {measured} tools that were measured is heavy: each"),
            };
            let mut out = format!("{words} has a p95 of at most {line} tokens, which passes unchanged.\n");
            if missing > 0 {
                out.push_str(&format!(
                    "Nothing is known about the other {missing}. Use the server with `tidegate run --observe --` in front of \
                     its command for a while; then tidegate scan shows the sizes of its results.\n"
                ));
            }
            return out;
        }
        let verb = if heavy.len() == 1 { "is" } else { "are" };
        let tools = ui::count(self.rows.len() as u64, "tool");
        let mut out = format!("{} of {tools} {verb} heavy, with a p95 above {line} tokens.\n", heavy.len());
        let (observed, shaped): (Vec<&Row>, Vec<&Row>) =
            heavy.into_iter().partition(|row| row.observed == row.calls);
        if self.probed.is_some() {
            out.push_str(
                "Next: put tidegate in front of the server with tidegate install, or write `tidegate run --` in front \
                 of its command.\n",
            );
        } else if !observed.is_empty() {
            out.push_str(&format!(
                "Only observed so far: {}.\n  Next: remove --observe from the server's command, or TIDEGATE_OBSERVE \
                 from its env.\n",
                tool_names(&observed)
            ));
        }
        if let Some(row) = shaped.first() {
            out.push_str(&format!(
                "Shaped if they do not fit: {}.\n  tidegate stats --by tool shows what that saves; to change the budget, \
                 set in tidegate.toml:\n  {}\n  budget_tokens = 500\n",
                tool_names(&shaped),
                ui::tool_section(&row.server, &row.tool)
            ));
        }
        out
    }
}

/// Lists tools with their servers.
fn tool_names(rows: &[&Row]) -> String {
    let name = |row: &&Row| format!("{} of {}", ui::printable(&row.tool), ui::printable(&row.server));
    rows.iter().map(name).collect::<Vec<_>>().join(", ")
}

/// Returns the rows of the table, the most expensive first.
fn rows(tools: ToolResults) -> Vec<Row> {
    let row = |((server, tool), mut sizes): ((String, String), Sizes)| {
        sizes.tokens.sort_unstable();
        let at = |percent| percentile(&sizes.tokens, percent).unwrap_or_default();
        Row {
            server,
            tool,
            calls: sizes.tokens.len(),
            observed: sizes.observed,
            median: at(50),
            p95: at(95),
            max: at(100),
            sum: sizes.tokens.iter().sum(),
        }
    };
    let mut rows: Vec<Row> = tools.0.into_iter().map(row).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.sum));
    rows
}
