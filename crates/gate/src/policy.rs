//! The rules for one tool, resolved from those for the run, the tool, the server and everything.
//!
//! [`Rules`] (`policy/rules.rs`) are the keys as written, each of which may be absent. [`Policies`] holds all rules of one
//! server; a [`Policy`] is the outcome for one tool, with a default for every key that is not set.

mod check;
mod rules;

use std::time::Duration;

use tidegate_core::budget::Budget;
use tidegate_core::hints::Hints;
use tidegate_core::{Bytes, Tokens};

pub use check::RuleError;
pub use rules::{Compact, Keep, OnStoreFailure, Rules};

use crate::profile::Profile;
use crate::style::category::Category;
use crate::style::contract::ItemFields;
use crate::style::limits::HardLimits;
use crate::style::{AnswerWhen, Style};
use crate::tier::Tier;

/// All rules for the tools of one server.
#[derive(Debug, Clone, Default)]
pub struct Policies {
    /// Rules for this run; they win over everything.
    pub run: Rules,
    /// Rules by pattern of the tool's name, narrowest first.
    tools: Vec<(String, Rules)>,
    /// Rules for all tools of the server.
    pub server: Rules,
    /// Rules for everything.
    pub defaults: Rules,
}

impl Policies {
    /// Returns policies in which one set of rules applies to all tools.
    pub fn of_defaults(defaults: Rules) -> Self {
        Self { defaults, ..Self::default() }
    }

    /// Adds rules for the tools whose name matches a pattern, in which `*` stands for any characters. Where several
    /// patterns match, the one with more literal characters wins; of equal ones, the one that was added first.
    pub fn add_tools(&mut self, pattern: &str, rules: Rules) {
        self.tools.push((pattern.to_owned(), rules));
        self.tools.sort_by_key(|(pattern, _)| std::cmp::Reverse(specificity(pattern)));
    }

    /// Returns these policies, with the wider ones where these set nothing. Of patterns that are equally narrow, those of
    /// these policies win.
    #[must_use]
    pub fn over(mut self, wider: Self) -> Self {
        for (pattern, rules) in wider.tools {
            self.add_tools(&pattern, rules);
        }
        self.run = self.run.over(&wider.run);
        self.server = self.server.over(&wider.server);
        self.defaults = self.defaults.over(&wider.defaults);
        self
    }

    /// Returns whether any tool may have arguments of ours.
    pub(crate) fn offer_arguments(&self) -> bool {
        self.all_rules().any(Rules::offer_arguments)
    }

    /// Returns whether any tool may take references in its arguments.
    pub(crate) fn take_references(&self) -> bool {
        self.all_rules().any(|rules| rules.references == Some(true))
    }

    fn all_rules(&self) -> impl Iterator<Item = &Rules> {
        let wide = [&self.run, &self.server, &self.defaults];
        wide.into_iter().chain(self.tools.iter().map(|(_, rules)| rules))
    }

    /// Returns whether the results of any tool may be written to files.
    pub(crate) fn offer_saving(&self) -> bool {
        self.all_rules().any(|rules| rules.save == Some(true))
    }

    /// Returns the policy for a tool.
    pub fn of_tool(&self, tool: &str) -> Policy {
        self.of_marked_tool(tool, &Rules::default())
    }

    /// Returns the policy for a tool that declares rules itself: they win over the rules for the server and for everything,
    /// and lose to rules for its name.
    pub fn of_marked_tool(&self, tool: &str, marked: &Rules) -> Policy {
        let matching = self.tools.iter().filter(|(pattern, _)| matches(pattern, tool));
        let narrow = matching.fold(self.run.clone(), |rules, (_, wider)| rules.over(wider));
        Policy::new(narrow.over(marked).over(&self.server).over(&self.defaults), tool)
    }
}

/// Returns how narrow a pattern is: whether it is a plain name, and how many literal characters it has.
pub fn specificity(pattern: &str) -> (bool, usize) {
    (!pattern.contains('*'), pattern.bytes().filter(|byte| *byte != b'*').count())
}

/// Returns whether a name matches a pattern, in which `*` stands for any characters.
pub fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// The rules for one tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    budget_tokens: Option<u64>,
    follow_up_tokens: Option<u64>,
    line_tokens: Option<u64>,
    max_bytes: Option<u64>,
    cap_tokens: Option<u64>,
    /// Whether results that pass are written in less space.
    pub compact: Compact,
    /// Whether a result is compared with the last one of the same call.
    pub compare: bool,
    /// How long a result is kept.
    pub ttl: Duration,
    /// Which results are kept.
    pub keep: Keep,
    /// Whether a result may be written to a file.
    pub save: bool,
    /// The most bytes of a file that is written.
    pub save_max_bytes: u64,
    /// Records on one page; chosen for each result if not set.
    pub page_size: Option<u64>,
    /// Hints about the results of the tool.
    pub hints: Hints,
    /// The answer where a result could not be kept.
    pub on_store_failure: OnStoreFailure,
    /// The answer where a result does not fit.
    pub style: Style,
    /// When a tool of the style `probe` answers with one.
    pub probe_when: AnswerWhen,
    /// When a tool of the style `contract` answers in its shape.
    pub contract_when: AnswerWhen,
    /// The fields that an item of a contract gets its label and its id from; chosen for each item if not set.
    pub item_fields: ItemFields,
    /// How long the token of a probe is valid.
    pub token_life: Duration,
    /// A result of more bytes is answered with a probe, whatever the style.
    pub auto_negotiate_bytes: Option<u64>,
    /// The domain in the addresses of kept results; the tool's name if not set.
    pub domain: Option<String>,
    /// What single values are cut down to.
    pub limits: HardLimits,
    /// Whether a caller can ask for `output: "full"`.
    pub offers_output: bool,
    full_cap_tokens: Option<u64>,
    /// Once a session was sent this many bytes, answers are as small as possible.
    pub session_max_bytes: Option<u64>,
    /// The tier that a caller needs to call the tool and to read its results.
    pub tier: Tier,
    /// Whether arguments may be references to kept results.
    pub references: bool,
    /// The servers whose results may be passed to the tool, besides its own.
    pub references_from: Vec<String>,
    /// The most bytes that the references of a call may stand for.
    pub reference_max_bytes: u64,
}

/// The largest result that a program gets whole.
pub(crate) const MAX_WHOLE_BYTES: u64 = 256 << 20;

/// What a program can ask for: all of a result.
const WHOLE: Budget = Budget { tokens: Tokens(MAX_WHOLE_BYTES), bytes: Bytes(MAX_WHOLE_BYTES) };

/// How long a result is kept by default.
pub const TTL: Duration = Duration::from_secs(24 * 3600);

/// The maximum number of bytes of a saved file, by default.
pub const SAVE_MAX_BYTES: u64 = 256 << 20;
/// The maximum number of bytes that the references of a call may stand for, by default.
pub const REFERENCE_MAX_BYTES: u64 = 1 << 20;

/// How long the token of a probe is valid by default.
pub const TOKEN_LIFE: Duration = Duration::from_secs(300);

fn limits(rules: &Rules) -> HardLimits {
    let usual = HardLimits::default();
    let set = |set: Option<u64>, usual: usize| set.and_then(|set| usize::try_from(set).ok()).unwrap_or(usual);
    HardLimits {
        array_items: set(rules.max_items, usual.array_items),
        string_chars: set(rules.max_string, usual.string_chars),
        log_lines: set(rules.max_lines, usual.log_lines),
        depth: set(rules.max_depth, usual.depth),
        ..usual
    }
}

impl Policy {
    fn new(rules: Rules, tool: &str) -> Self {
        let limits = limits(&rules);
        let category = Category::of_tool(tool).filter(|_| rules.category_budgets == Some(true));
        Self {
            budget_tokens: rules.budget_tokens,
            follow_up_tokens: rules.follow_up_tokens,
            line_tokens: rules.line_tokens,
            compact: rules.compact.unwrap_or_default(),
            compare: rules.compare.unwrap_or(true),
            max_bytes: rules.max_bytes.or(category.map(|category| category.bytes() as u64)),
            cap_tokens: rules.cap_tokens,
            ttl: rules.ttl_seconds.map_or(TTL, Duration::from_secs),
            page_size: rules.page_size,
            hints: Hints { kind: rules.kind, rows: rules.rows, fields: rules.fields.unwrap_or_default() },
            keep: rules.keep.unwrap_or_default(),
            save: rules.save.unwrap_or_default(),
            save_max_bytes: rules.save_max_bytes.unwrap_or(SAVE_MAX_BYTES),
            on_store_failure: rules.on_store_failure.unwrap_or_default(),
            style: rules.style.unwrap_or_default(),
            probe_when: rules.probe_when.unwrap_or_default(),
            contract_when: rules.contract_when.unwrap_or_default(),
            item_fields: ItemFields { label: rules.label_field, id: rules.id_field },
            token_life: rules.token_seconds.map_or(TOKEN_LIFE, Duration::from_secs),
            auto_negotiate_bytes: rules.auto_negotiate_bytes,
            domain: rules.domain,
            limits,
            offers_output: rules.offer_output.unwrap_or_default(),
            full_cap_tokens: rules.full_cap_tokens,
            session_max_bytes: rules.session_max_bytes,
            tier: rules.tier.unwrap_or(Tier::Read),
            references: rules.references.unwrap_or_default(),
            references_from: rules.references_from.unwrap_or_default(),
            reference_max_bytes: rules.reference_max_bytes.unwrap_or(REFERENCE_MAX_BYTES),
        }
    }

    /// Returns what a full output may cost: its own cap, for every client but a program, or the most that the client can
    /// ask for.
    pub(crate) fn full(&self, profile: &Profile) -> Budget {
        match self.full_cap_tokens {
            Some(tokens) if !profile.program => Budget::of_tokens(Tokens(tokens)),
            _ => self.cap(profile),
        }
    }

    /// Returns whether parts of a result may be fetched through the tool itself.
    pub(crate) fn negotiates(&self) -> bool {
        self.style == Style::Probe || self.auto_negotiate_bytes.is_some()
    }

    /// Returns whether a result of this many bytes is answered with a probe even if it fits.
    pub(crate) fn probes(&self, bytes: u64) -> bool {
        let always = self.style == Style::Probe && self.probe_when == AnswerWhen::Always;
        always || self.auto_negotiate_bytes.is_some_and(|most| bytes > most)
    }

    /// Returns whether every result is answered in the shape of the contract, even if it fits.
    pub(crate) fn contracts(&self) -> bool {
        self.style == Style::Contract && self.contract_when == AnswerWhen::Always
    }

    /// Returns what a first answer to a client may cost.
    pub fn budget(&self, profile: &Profile) -> Budget {
        let default = profile.budget_tokens.unwrap_or(Budget::DEFAULT_TOKENS.0);
        self.of_tokens(self.budget_tokens.unwrap_or(default), profile)
    }

    /// Returns what an answer that a client asked for may cost: a follow-up, a page, a query. A budget above the default
    /// raises it.
    pub fn follow_up(&self, profile: &Profile) -> Budget {
        let default = || Budget::FOLLOW_UP_TOKENS.max(self.budget(profile).tokens).0;
        let set = self.follow_up_tokens.or(profile.follow_up_tokens);
        self.of_tokens(set.unwrap_or_else(default), profile)
    }

    /// Returns the line: what a result may cost to pass unchanged. A larger budget raises it. Tokens are counted without
    /// the margin of the client. Only the style `overview` has a line; results of another overflow at the budget.
    pub fn line(&self, profile: &Profile) -> Budget {
        let tokens = self.line_tokens.or(profile.line_tokens).unwrap_or(Budget::LINE_TOKENS.0);
        self.of_tokens(tokens.max(self.budget(profile).tokens.0), profile)
    }

    /// Returns the most that a client can ask for.
    pub fn cap(&self, profile: &Profile) -> Budget {
        if profile.program {
            return WHOLE;
        }
        let cap = self.of_tokens(self.cap_tokens.unwrap_or(profile.cap_tokens), profile);
        [self.budget(profile), self.follow_up(profile)].iter().fold(cap, |cap, usual| Budget {
            tokens: cap.tokens.max(usual.tokens),
            bytes: cap.bytes.max(usual.bytes),
        })
    }

    /// Returns a budget of this many tokens, with the byte limit that goes with it.
    pub fn of_tokens(&self, tokens: u64, profile: &Profile) -> Budget {
        let budget = Budget::of_tokens(Tokens(tokens));
        let bytes = self.max_bytes.unwrap_or(budget.bytes.0).min(profile.max_bytes);
        budget.with_bytes(Bytes(bytes.max(Budget::MIN_BYTES.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn categories_follow_tool_names_and_yield_to_settings() {
        let rules = Rules { category_budgets: Some(true), ..Rules::default() };
        let mut policies = Policies { defaults: rules, ..Policies::default() };
        let set = Rules { max_bytes: Some(9000), ..Rules::default() };
        policies.add_tools("agent_list", set);
        let bytes = |tool| policies.of_tool(tool).budget(&Profile::strictest()).bytes.0;
        for (tool, expected) in [
            ("agent_run", 3072),
            ("workflow_run", 3072),
            ("bugfix_list", 2048),
            ("bugfix_scan", 2048),
            ("session_status", 1536),
            ("trace_get", 1536),
            ("config_get", 1536),
            ("memory_list", 1536),
            ("trace_analyze", 1536),
            ("guard_check", 1536),
            ("agent_list", 9000),
            ("echo", 10_240),
        ] {
            assert_eq!(bytes(tool), expected, "{tool}");
        }
    }

    #[test]
    fn patterns() {
        for (pattern, name) in
            [("list_*", "list_issues"), ("*", ""), ("a*b*c", "a_b_c"), ("x", "x"), ("*b", "ab")]
        {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [("list_*", "get_list_"), ("x", "xy"), ("a*b", "ba"), ("ab*ba", "aba")] {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn the_narrowest_rule_wins() {
        let rules = |tokens| Rules { budget_tokens: Some(tokens), ..Rules::default() };
        let mut policies = Policies { defaults: rules(1000), ..Policies::default() };
        policies.add_tools("*", Rules { page_size: Some(7), ..rules(2000) });
        policies.add_tools("list_*", rules(3000));
        policies.add_tools("list_all", Rules { kind: Some("log".into()), ..Rules::default() });
        let profile = Profile::strictest();
        let tokens = |policies: &Policies, tool| policies.of_tool(tool).budget(&profile).tokens.0;
        assert_eq!(tokens(&policies, "list_all"), 3000);
        assert_eq!(policies.of_tool("list_all").page_size, Some(7));
        assert_eq!(policies.of_tool("list_all").hints.kind.as_deref(), Some("log"));
        assert_eq!(tokens(&policies, "get"), 2000);
        policies.run = rules(500);
        assert_eq!(tokens(&policies, "list_all"), 500);
    }

    #[test]
    fn a_larger_budget_raises_follow_ups_and_the_line() {
        let budgets = |rules: Rules, client: &str| {
            let (policy, profile) = (Policies::of_defaults(rules).of_tool("x"), Profile::of_client(client));
            [policy.budget(&profile), policy.follow_up(&profile), policy.line(&profile)]
                .map(|budget| (budget.tokens.0, budget.bytes.0))
        };
        let set = |budget_tokens, follow_up_tokens, line_tokens| Rules {
            budget_tokens,
            follow_up_tokens,
            line_tokens,
            ..Rules::default()
        };
        let unset = set(None, None, None);
        assert_eq!(budgets(unset.clone(), ""), [(1000, 10_240), (2000, 10_240), (2500, 10_240)]);
        assert_eq!(budgets(unset.clone(), "claude-code"), [(1000, 10_240), (2000, 10_240), (2500, 12_500)]);
        assert_eq!(budgets(unset, "codex"), [(1000, 10_240), (2000, 10_240), (2500, 11_500)]);
        let large = set(Some(4000), None, None);
        assert_eq!(budgets(large, "claude-code"), [(4000, 20_000), (4000, 20_000), (4000, 20_000)]);
        let each = set(Some(500), Some(400), Some(6000));
        assert_eq!(budgets(each, "claude-code"), [(500, 10_240), (400, 10_240), (6000, 30_000)]);
        let bytes = Rules { max_bytes: Some(5000), ..set(None, None, None) };
        assert_eq!(budgets(bytes, "claude-code"), [(1000, 5000), (2000, 5000), (2500, 5000)]);
        let client = crate::profile::ProfileRules { follow_up_tokens: Some(700), ..Default::default() };
        let profile = client.over(Profile::strictest());
        assert_eq!(Policies::default().of_tool("x").follow_up(&profile).tokens, Tokens(700));
    }

    #[test]
    fn bytes_stay_below_the_cut_of_the_client() {
        let mut policies = Policies::default();
        policies.run.budget_tokens = Some(9000);
        let strict = policies.of_tool("x").budget(&Profile::strictest());
        assert_eq!((strict.tokens, strict.bytes), (Tokens(9000), Bytes(10_240)));
        let claude = policies.of_tool("x").budget(&Profile::of_client("claude-code"));
        assert_eq!(claude.bytes, Bytes(45_000));
    }
}
