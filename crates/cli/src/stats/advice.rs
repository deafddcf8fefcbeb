//! Tools whose results are read whole anyway, and what to set so that they come whole at once.
//!
//! An overview that is always followed by a fetch of everything costs more than it saves. Whether a larger budget helps
//! is up to the client: what it cuts off cannot be sent to it.

use std::collections::{BTreeMap, HashMap};

use tidegate_core::Tokens;
use tidegate_core::budget::Budget;
use tidegate_gate::Caller;
use tidegate_gate::profile::{Profile, ProfileRules};
use tidegate_store::Call;

use crate::notes::Kind;
use crate::percentile::percentile;
use crate::ui;

/// Shaped results of a tool below which nothing is concluded.
const FEW: usize = 3;
/// In percent, how many of them must have been read whole.
const NEARLY_ALL: usize = 80;
/// In percent, how much of a result must have been read in parts to be as good as whole.
const WHOLE: u64 = 90;
/// The most tokens that are advised for an answer: what a caller can ask for by default.
const MOST_TOKENS: u64 = 10_000;

/// Which fields are needed nobody but the user knows, so the line is one that does nothing until they are named.
const FIELDS: &str = "# fields = [\"...\"]";

/// A kept result, and what was read of it.
#[derive(Debug)]
struct Kept {
    server: String,
    tool: String,
    client: String,
    tokens: u64,
    bytes: u64,
    read_tokens: u64,
    full: bool,
}

impl Kept {
    fn is_read_whole(&self) -> bool {
        self.full || self.read_tokens * 100 >= self.tokens * WHOLE
    }
}

/// How kept results are read.
#[derive(Debug, Default)]
pub(super) struct Habits {
    kept: HashMap<String, Kept>,
}

/// A tool whose results are read whole.
#[derive(Debug)]
pub(super) struct Advice {
    pub(super) server: String,
    pub(super) tool: String,
    /// Its results that were shaped.
    pub(super) shaped: usize,
    /// Those that were then read or asked for whole.
    pub(super) read_whole: usize,
    /// What to set in `tidegate.toml`.
    pub(super) policy: String,
    /// Why that helps.
    pub(super) why: String,
}

impl Habits {
    /// Takes note of a call.
    pub(super) fn add(&mut self, call: &Call) {
        let Some(artifact) = &call.artifact else { return };
        match (Kind::of(call), self.kept.get_mut(artifact)) {
            (Kind::Shaped, _) => {
                let kept = Kept {
                    server: call.server.clone(),
                    tool: call.tool.clone(),
                    client: call.client.clone(),
                    tokens: call.raw_tokens,
                    bytes: call.raw_bytes,
                    read_tokens: 0,
                    full: false,
                };
                self.kept.insert(artifact.clone(), kept);
            }
            (Kind::FollowUp, Some(kept)) => match call.view.as_deref() {
                Some("summary") => {}
                view => {
                    kept.full |= view == Some("full");
                    kept.read_tokens += call.sent_tokens;
                }
            },
            _ => {}
        }
    }

    /// Returns what to set; `clients` is what the user has set for clients.
    pub(super) fn advice(&self, clients: &[(String, ProfileRules)]) -> Vec<Advice> {
        let mut tools: BTreeMap<(&str, &str), Vec<&Kept>> = BTreeMap::new();
        for kept in self.kept.values() {
            tools.entry((&kept.server, &kept.tool)).or_default().push(kept);
        }
        let of_tool = |((server, tool), kept): ((&str, &str), Vec<&Kept>)| {
            let whole: Vec<&Kept> = kept.iter().copied().filter(|kept| kept.is_read_whole()).collect();
            if kept.len() < FEW || whole.len() * 100 < kept.len() * NEARLY_ALL {
                return None;
            }
            let (policy, why) = policy(server, tool, &whole, clients);
            let (server, tool) = (server.to_owned(), tool.to_owned());
            Some(Advice { server, tool, shaped: kept.len(), read_whole: whole.len(), policy, why })
        };
        tools.into_iter().filter_map(of_tool).collect()
    }
}

fn policy(server: &str, tool: &str, kept: &[&Kept], clients: &[(String, ProfileRules)]) -> (String, String) {
    let typical = |value: fn(&Kept) -> u64| {
        let mut values: Vec<u64> = kept.iter().map(|kept| value(kept)).collect();
        values.sort_unstable();
        percentile(&values, 90).unwrap_or_default()
    };
    let (tokens, bytes) = (typical(|kept| kept.tokens), typical(|kept| kept.bytes));
    let section = ui::policy_section(server, tool);
    let profile = |client: &str| {
        let mut caller = Caller::unknown(clients.to_vec());
        caller.name(client);
        caller.profile
    };
    let strictest = kept.iter().min_by_key(|kept| profile(&kept.client).max_bytes);
    let client = strictest.map_or("", |kept| kept.client.as_str());
    let most = profile(client).max_bytes;
    if tokens > MOST_TOKENS {
        let why = format!(
            "results of {tokens} tokens are too large to be sent whole; name the fields that are needed"
        );
        return (format!("{section}\n{FIELDS}"), why);
    }
    let budget = Budget::of_tokens(Tokens(tokens.div_ceil(100) * 100));
    let mut lines = format!("{section}\nbudget_tokens = {}", budget.tokens.0);
    let wanted = bytes.div_ceil(1024) * 1024;
    if bytes > budget.bytes.0 {
        lines.push_str(&format!("\nmax_bytes = {wanted}"));
    }
    if bytes <= most {
        return (lines, "its results then come whole at once".into());
    }
    if profile(client).max_bytes != Profile::strictest().max_bytes {
        let why =
            format!("{client} cuts off what is longer than {most} bytes; name the fields that are needed");
        return (format!("{section}\n{FIELDS}"), why);
    }
    lines.push_str(&format!("\n\n[client.{}]\nmax_bytes = {wanted}", ui::toml_key(client)));
    (lines, "its results then come whole at once, if the client shows so much".into())
}
