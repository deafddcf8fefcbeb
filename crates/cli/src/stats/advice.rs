//! Advice for tools whose results are read whole anyway: what to set so that they arrive whole.
//!
//! An overview that is always followed by reading everything costs more than it saves. A higher line, or a larger budget in
//! the styles that have no line, helps only if the client does not truncate the answer.

use std::collections::{BTreeMap, HashMap};

use tidegate_config::quoted_key;
use tidegate_core::Tokens;
use tidegate_core::budget::Budget;
use tidegate_gate::Caller;
use tidegate_gate::profile::{Profile, ProfileRules};
use tidegate_store::Call;

use crate::ledger::{EntryKind, percentile};
use crate::ui;

/// Shaped results of a tool needed for advice.
const MIN_SHAPED_RESULTS: usize = 3;
/// Percentage of them that must have been read whole.
const MIN_READ_WHOLE_PERCENT: usize = 80;
/// Percentage of a result's tokens that count as all of it when it is read in parts.
const WHOLE_PERCENT: u64 = 90;
/// The largest budget to advise: what a caller can ask for by default.
const MAX_ADVISED_TOKENS: u64 = 10_000;

/// Only the user knows which fields are needed, so the line stays commented out.
const FIELDS_PLACEHOLDER: &str = "# fields = [\"...\"]";

/// A kept result, and how much of it was read.
#[derive(Debug)]
struct KeptResult {
    server: String,
    tool: String,
    client: String,
    /// Whether its style has a line, up to which results pass.
    has_line: bool,
    tokens: u64,
    bytes: u64,
    read_tokens: u64,
    read_in_full: bool,
}

impl KeptResult {
    fn is_read_whole(&self) -> bool {
        self.read_in_full || self.read_tokens * 100 >= self.tokens * WHOLE_PERCENT
    }
}

/// How kept results are read, by artifact.
#[derive(Debug, Default)]
pub(super) struct ReadingPattern {
    kept: HashMap<String, KeptResult>,
}

/// A tool whose results are read whole.
#[derive(Debug)]
pub(super) struct Advice {
    pub(super) server: String,
    pub(super) tool: String,
    /// How many of its results were shaped.
    pub(super) shaped: usize,
    /// How many of those were then read whole.
    pub(super) read_whole: usize,
    /// The lines to add to `tidegate.toml`.
    pub(super) policy: String,
    /// Why they help.
    pub(super) why: String,
}

impl ReadingPattern {
    /// Adds a call.
    pub(super) fn add(&mut self, call: &Call) {
        let Some(artifact) = &call.artifact else { return };
        match (EntryKind::of(call), self.kept.get_mut(artifact)) {
            (EntryKind::Shaped, _) => {
                let kept = KeptResult {
                    server: call.server.clone(),
                    tool: call.tool.clone(),
                    client: call.client.clone(),
                    has_line: matches!(call.step.as_str(), "overview" | "lossless"),
                    tokens: call.raw_tokens,
                    bytes: call.raw_bytes,
                    read_tokens: 0,
                    read_in_full: false,
                };
                self.kept.insert(artifact.clone(), kept);
            }
            (EntryKind::FollowUp, Some(kept)) => match call.view.as_deref() {
                Some("summary") => {}
                view => {
                    kept.read_in_full |= view == Some("full");
                    kept.read_tokens += call.sent_tokens;
                }
            },
            _ => {}
        }
    }

    /// Returns the advice; `clients` are the user's client rules.
    pub(super) fn advice(&self, clients: &[(String, ProfileRules)]) -> Vec<Advice> {
        let mut tools: BTreeMap<(&str, &str), Vec<&KeptResult>> = BTreeMap::new();
        for kept in self.kept.values() {
            tools.entry((&kept.server, &kept.tool)).or_default().push(kept);
        }
        let of_tool = |((server, tool), kept): ((&str, &str), Vec<&KeptResult>)| {
            let whole: Vec<&KeptResult> = kept.iter().copied().filter(|kept| kept.is_read_whole()).collect();
            if kept.len() < MIN_SHAPED_RESULTS || whole.len() * 100 < kept.len() * MIN_READ_WHOLE_PERCENT {
                return None;
            }
            let (policy, why) = policy(server, tool, &whole, clients);
            let (server, tool) = (server.to_owned(), tool.to_owned());
            Some(Advice { server, tool, shaped: kept.len(), read_whole: whole.len(), policy, why })
        };
        tools.into_iter().filter_map(of_tool).collect()
    }
}

fn policy(
    server: &str,
    tool: &str,
    kept: &[&KeptResult],
    clients: &[(String, ProfileRules)],
) -> (String, String) {
    let typical = |value: fn(&KeptResult) -> u64| {
        let mut values: Vec<u64> = kept.iter().map(|kept| value(kept)).collect();
        values.sort_unstable();
        percentile(&values, 90).unwrap_or_default()
    };
    let (tokens, bytes) = (typical(|kept| kept.tokens), typical(|kept| kept.bytes));
    let section = ui::tool_section(server, tool);
    let profile = |client: &str| {
        let mut caller = Caller::unknown(clients.to_vec());
        caller.name(client);
        caller.profile
    };
    let strictest = kept.iter().min_by_key(|kept| profile(&kept.client).max_bytes);
    let client = strictest.map_or("", |kept| kept.client.as_str());
    let max_bytes = profile(client).max_bytes;
    if tokens > MAX_ADVISED_TOKENS {
        let why = format!("results of {tokens} tokens are too large to send whole; list the fields you need");
        return (format!("{section}\n{FIELDS_PLACEHOLDER}"), why);
    }
    let budget = Budget::of_tokens(Tokens(tokens.div_ceil(100) * 100));
    let key = if kept.iter().all(|kept| kept.has_line) { "line_tokens" } else { "budget_tokens" };
    let mut lines = format!("{section}\n{key} = {}", budget.tokens.0);
    let wanted = bytes.div_ceil(1024) * 1024;
    if bytes > budget.bytes.0 {
        lines.push_str(&format!("\nmax_bytes = {wanted}"));
    }
    if bytes <= max_bytes {
        return (lines, "its results then arrive whole".into());
    }
    if profile(client).max_bytes != Profile::strictest().max_bytes {
        let why = format!("{client} truncates at {max_bytes} bytes; list the fields you need");
        return (format!("{section}\n{FIELDS_PLACEHOLDER}"), why);
    }
    lines.push_str(&format!("\n\n[client.{}]\nmax_bytes = {wanted}", quoted_key(client)));
    (lines, "its results then arrive whole, if the client shows that much".into())
}
