//! `measure -> fits?`: whether a result passes unchanged. This file is the only place that decides it.
//!
//! The cheapest look that suffices decides: the length alone, or else reading the result and counting up to the
//! line. The quick look, made where messages are read, never reads more than [`MAX_QUICK_BYTES`]; it applies the
//! same rule and leaves the rest undecided.

use tidegate_core::Bytes;
use tidegate_core::budget::Budget;
use tidegate_core::measure::{self, Cost, Fit, Meter};
use tidegate_core::payload::{Form, Payload, PayloadError};
use tidegate_core::source::Source;

use crate::negotiation;
use crate::policy::{Compact, Policy};
use crate::profile::Profile;
use crate::raw::skim;
use crate::session::Ceiling;
use crate::style::{Style, contract};

/// The maximum number of bytes of an error: one client cuts the middle out of longer errors, even if it allows larger results.
const MAX_ERROR_BYTES: Bytes = Budget::DEFAULT_BYTES;

/// The maximum number of bytes that the quick look reads.
const MAX_QUICK_BYTES: u64 = Budget::DEFAULT_BYTES.0;

/// The maximum number of bytes of a `resultType`.
const MAX_RESULT_TYPE_BYTES: u64 = 1024;

/// What a call was answered with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// A result, which may itself say `isError`.
    Result,
    /// A JSON-RPC error.
    RpcError,
}

/// How far a result may be read to reach a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    /// Only as far as takes no time: its length, or all of a small result.
    Quick,
    /// As far as necessary.
    Full,
}

/// What becomes of a result.
pub(super) enum Verdict<'v> {
    /// It passes unchanged; its cost, if it was counted.
    Pass(Option<Cost>),
    /// It passes, but the policy asks for a compact form; its cost, if it was counted.
    Compact(Payload<'v>, Option<Cost>),
    /// It is stored, and answered in a style within a budget.
    Shape { payload: Payload<'v>, style: Style, budget: Budget },
    /// It cannot be read.
    Unreadable(PayloadError),
    /// The quick look was not enough.
    Undecided,
}

/// The smallest result worth compacting: the frame around a compact form alone has about this many bytes.
const MIN_COMPACT_BYTES: u64 = 300;

/// What the answer to one call may cost, and why.
pub(super) struct Terms<'t> {
    pub(super) policy: &'t Policy,
    profile: &'t Profile,
    /// What an answer of ours may cost.
    pub(super) budget: Budget,
    /// What a result that passes unchanged may cost.
    pub(super) line: Budget,
    /// The meter that counts up to the line.
    pub(super) line_meter: Meter,
    /// The ceiling of the session, if it has one.
    ceiling: Option<Ceiling>,
    /// Whether the call asks for all of the result.
    pub(super) full: bool,
}

impl<'t> Terms<'t> {
    /// Returns the terms of a call; `full` is whether the call asks for all of its result.
    pub(super) fn new(
        policy: &'t Policy,
        profile: &'t Profile,
        ceiling: Option<Ceiling>,
        full: bool,
    ) -> Self {
        let usual = policy.budget(profile);
        let (meter, exact) = (profile.meter, profile.meter.without_margin());
        let (line, line_meter) = match (full, policy.style) {
            // A full output above its cap is attached, beside an answer of the usual size.
            (true, _) => (policy.full(profile), meter),
            (false, Style::Overview) => (policy.line(profile), exact),
            (false, _) => (usual, meter),
        };
        let limited = |budget: Budget| ceiling.map_or(budget, |ceiling| ceiling.limit(budget));
        let line = match ceiling {
            Some(ceiling) => line.with_bytes(line.bytes.min(Bytes(ceiling.max_passing()))),
            None => line,
        };
        let full = full && !ceiling.is_some_and(Ceiling::is_reached);
        Self { policy, profile, budget: limited(usual), line, line_meter, ceiling, full }
    }

    /// Returns the ceiling of the session if it has been reached.
    pub(super) fn reached(&self) -> Option<Ceiling> {
        self.ceiling.filter(|ceiling| ceiling.is_reached())
    }

    /// Returns whether the session has enough bytes left for an unchanged result of this size, pictures included.
    fn affords(&self, bytes: u64) -> bool {
        self.ceiling.is_none_or(|ceiling| bytes <= ceiling.max_passing())
    }

    /// Returns whether a result that passes may be sent in a compact form instead.
    fn compacts(&self, bytes: u64, outcome: Outcome) -> bool {
        self.policy.compact == Compact::Lossless
            && self.policy.style == Style::Overview
            && !self.full
            && self.reached().is_none()
            && outcome == Outcome::Result
            && bytes >= MIN_COMPACT_BYTES
    }

    /// Decides what becomes of a result.
    pub(super) fn verdict<'v>(&self, result: &'v dyn Source, outcome: Outcome, look: Look) -> Verdict<'v> {
        let (line, meter) = (&self.line, &self.line_meter);
        let probe = |bytes: u64| self.policy.probes(bytes) && !self.full && outcome == Outcome::Result;
        let may_probe = probe(result.len());
        let may_contract = self.policy.contracts() && !self.full && outcome == Outcome::Result;
        let may_compact = self.compacts(result.len(), outcome);
        if !may_probe
            && !may_contract
            && !may_compact
            && self.affords(result.len())
            && let Some(bytes) = result.as_slice()
            && measure::fits_by_length(bytes, line, meter).is_some()
        {
            return Verdict::Pass(None);
        }
        if look == Look::Quick && (may_compact || result.len() > line.bytes.0.min(MAX_QUICK_BYTES)) {
            return Verdict::Undecided;
        }
        let payload = match Payload::read_result(result) {
            Ok(payload) => payload,
            Err(error) => return Verdict::Unreadable(error),
        };
        let is_error = payload.is_error == Some(true);
        let bounded = |budget: Budget| match is_error {
            true => budget.with_bytes(budget.bytes.min(MAX_ERROR_BYTES)),
            false => budget,
        };
        // Pictures cost by their size, not by their bytes.
        let probes = may_probe && !is_error && probe(measure::bytes(&payload).0);
        let contracts = may_contract && !contract::is_contract(&payload, &self.policy.limits);
        if (!probes || negotiation::is_envelope(&payload))
            && !contracts
            && self.affords(result.len())
            && let Some(cost) = fitting_cost(&payload, &bounded(*line), meter)
        {
            // The ledger records counts with the client's margin, and this one has none.
            let cost = cost.filter(|_| *meter == self.profile.meter);
            return match may_compact && !is_error && is_final(&payload) {
                true => Verdict::Compact(payload, cost),
                false => Verdict::Pass(cost),
            };
        }
        if !is_final(&payload) {
            return Verdict::Pass(None);
        }
        let style = match self.policy.style {
            _ if probes => Style::Probe,
            _ if self.full => Style::Overview,
            // An error is shown as it is, except by the contract, which has a field for it.
            _ if outcome == Outcome::RpcError => Style::Overview,
            Style::Probe | Style::Error if is_error => Style::Overview,
            style => style,
        };
        Verdict::Shape { payload, style, budget: bounded(self.budget) }
    }
}

/// Returns the cost of a result that fits, as far as it was counted; `None` if the result does not fit.
fn fitting_cost(payload: &Payload<'_>, budget: &Budget, meter: &Meter) -> Option<Option<Cost>> {
    match measure::fits(payload, budget, meter) {
        Ok(Fit::Fits(tokens)) => Some(tokens.map(|tokens| Cost {
            tokens,
            estimated: meter.is_estimate(),
            bytes: measure::bytes(payload),
        })),
        _ => None,
    }
}

/// Returns whether this is the result of the tool, and not a request for input or the promise of a task.
fn is_final(payload: &Payload<'_>) -> bool {
    let asks = |kind: &[u8]| kind == br#""input_required""#;
    if payload.form != Form::Plain {
        let kind = payload.others.iter().find(|member| member.key == "resultType");
        return !kind
            .filter(|kind| kind.value.len() <= MAX_RESULT_TYPE_BYTES)
            .and_then(|kind| kind.value.read(payload.source()).ok())
            .is_some_and(|kind| asks(&kind));
    }
    let whole = 0..usize::try_from(payload.source().len()).unwrap_or(usize::MAX);
    let members = skim::members(payload.source(), &whole).unwrap_or_default();
    let find = |key: &str| members.iter().find(|member| member.key == key);
    let names_task = |task: &skim::Skimmed| {
        skim::members(payload.source(), &task.value)
            .is_ok_and(|members| members.iter().any(|member| member.key == "taskId"))
    };
    let promise = find("taskId").is_some() || find("task").is_some_and(names_task);
    !promise && !find("resultType").is_some_and(|kind| asks(&kind.head))
}

#[cfg(test)]
mod tests {
    use tidegate_testkit::make;

    use super::*;
    use crate::policy::{Policies, Rules};

    /// A verdict in one word, for comparison.
    fn verdict(rules: Rules, full: bool, result: &[u8], outcome: Outcome, look: Look) -> String {
        let policy = Policies::of_defaults(rules).of_tool("list");
        let profile = Profile::strictest();
        let ceiling = policy.session_max_bytes.map(|max_bytes| Ceiling { max_bytes, left: max_bytes });
        let terms = Terms::new(&policy, &profile, ceiling, full);
        match terms.verdict(&result, outcome, look) {
            Verdict::Pass(_) => "pass".into(),
            Verdict::Compact(..) => "compact".into(),
            Verdict::Shape { style, budget, .. } => format!("{} {}", style.name(), budget.bytes.0),
            Verdict::Unreadable(error) => error.to_string(),
            Verdict::Undecided => "undecided".into(),
        }
    }

    fn full_look(rules: Rules, result: &[u8]) -> String {
        verdict(rules, false, result, Outcome::Result, Look::Full)
    }

    fn of_style(style: Style) -> Rules {
        Rules { style: Some(style), ..Rules::default() }
    }

    fn large() -> Vec<u8> {
        make::text_result(&"many words ".repeat(9000))
    }

    fn failed(text: &str) -> Vec<u8> {
        let text = serde_json::Value::String(text.to_owned());
        format!(r#"{{"content":[{{"type":"text","text":{text}}}],"isError":true}}"#).into_bytes()
    }

    #[test]
    fn the_quick_look_never_contradicts_the_full_one() {
        let samples = [
            make::text_result("small"),
            make::text_result(&"words of all kinds, ".repeat(300)),
            make::text_result(&"{}[]()".repeat(1600)),
            large(),
            failed(&"it failed ".repeat(900)),
            br#"{"resultType":"input_required","inputRequests":{}}"#.to_vec(),
            br#"{"task":{"taskId":"1"}}"#.to_vec(),
            b"no json".to_vec(),
        ];
        let rules = [
            Rules::default(),
            of_style(Style::Probe),
            Rules { probe_when: Some(crate::style::AnswerWhen::Always), ..of_style(Style::Probe) },
            Rules { auto_negotiate_bytes: Some(100), ..Rules::default() },
            Rules { session_max_bytes: Some(10), ..Rules::default() },
            Rules { budget_tokens: Some(300), ..Rules::default() },
            Rules { line_tokens: Some(1000), ..Rules::default() },
            Rules { compact: Some(Compact::Lossless), ..Rules::default() },
        ];
        for (number, result) in samples.iter().enumerate() {
            for rules in &rules {
                for full in [true, false] {
                    for outcome in [Outcome::Result, Outcome::RpcError] {
                        let look = |look| verdict(rules.clone(), full, result, outcome, look);
                        let (quick, thorough) = (look(Look::Quick), look(Look::Full));
                        assert!(
                            quick == thorough || quick == "undecided",
                            "sample {number}: {quick}, {thorough} under {rules:?}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_shaped_in_the_style_of_the_tool() {
        for style in [Style::Overview, Style::Probe, Style::Contract, Style::Error] {
            let said = full_look(of_style(style), &large());
            assert_eq!(said, format!("{} 10240", style.name()));
            assert_eq!(full_look(of_style(style), &make::text_result("small")), "pass");
        }
    }

    /// A result of this many tokens: one a word, and one for the last space.
    fn of_tokens(tokens: usize) -> Vec<u8> {
        make::text_result(&" tide".repeat(tokens))
    }

    #[test]
    fn a_result_within_the_line_passes_in_the_style_overview_alone() {
        assert_eq!(full_look(Rules::default(), &of_tokens(2000)), "pass");
        assert_eq!(full_look(of_style(Style::Contract), &of_tokens(1000)), "pass");
        assert_eq!(full_look(of_style(Style::Contract), &of_tokens(1001)), "contract 10240");
        let line = |tokens| Rules { line_tokens: Some(tokens), ..Rules::default() };
        assert_eq!(full_look(line(1500), &of_tokens(1500)), "pass");
        assert_eq!(full_look(line(1500), &of_tokens(1501)), "overview 10240");
        let budget = Rules { budget_tokens: Some(2000), ..line(1500) };
        assert_eq!(full_look(budget, &of_tokens(2000)), "pass", "a larger budget raises the line");
        let bytes = Rules { max_bytes: Some(5000), ..Rules::default() };
        assert_eq!(full_look(bytes, &of_tokens(1000)), "overview 5000", "5,000 bytes of text");
    }

    /// Regression: a page of 2,000 tokens, sent as `structuredContent` and as text, was over the byte limit.
    #[test]
    fn data_that_is_sent_in_both_channels_counts_once() {
        let rows: Vec<_> =
            (0..100).map(|id| serde_json::json!({"id": id, "text": "some words ".repeat(6)})).collect();
        let page = serde_json::json!({ "items": rows, "total": 900 });
        let result = |text: &str, structured: &serde_json::Value| {
            let content = [serde_json::json!({"type": "text", "text": text})];
            serde_json::json!({ "content": content, "structuredContent": structured }).to_string()
        };
        let both = result(&page.to_string(), &page);
        assert!(
            both.len() > 10_240 && page.to_string().len() < 9_500,
            "{} {}",
            both.len(),
            page.to_string().len()
        );
        assert_eq!(full_look(Rules::default(), both.as_bytes()), "pass");
        let other = result(&page.to_string().replace("some", "many"), &page);
        assert_eq!(full_look(Rules::default(), other.as_bytes()), "overview 10240", "two different texts");
        let long = result("see the data", &serde_json::json!({"text": "word ".repeat(2100)}));
        assert_eq!(full_look(Rules::default(), long.as_bytes()), "overview 10240");
    }

    #[test]
    fn the_line_is_counted_without_the_margin_of_the_client() {
        let policy = Policies::default().of_tool("list");
        let profile = Profile::of_client("claude-code");
        let terms = Terms::new(&policy, &profile, None, false);
        let passes = |tokens| {
            let result = of_tokens(tokens);
            matches!(terms.verdict(&result.as_slice(), Outcome::Result, Look::Full), Verdict::Pass(None))
        };
        assert!(passes(2450), "12,292 bytes, within 5 a token");
        assert!(!passes(2501));
    }

    #[test]
    fn a_result_that_passes_is_compacted_if_the_policy_says_so() {
        let rules = Rules { compact: Some(Compact::Lossless), ..Rules::default() };
        assert_eq!(full_look(rules.clone(), &of_tokens(900)), "compact");
        assert_eq!(full_look(rules.clone(), &make::text_result("small")), "pass");
        assert_eq!(full_look(rules.clone(), &failed(&"it failed ".repeat(90))), "pass");
        assert_eq!(full_look(rules.clone(), &large()), "overview 10240");
        let rpc = verdict(rules.clone(), false, &of_tokens(900), Outcome::RpcError, Look::Full);
        assert_eq!(rpc, "pass");
        let probe = Rules { style: Some(Style::Probe), ..rules };
        assert_eq!(full_look(probe, &of_tokens(900)), "pass");
    }

    #[test]
    fn an_error_of_the_tool_is_shown_as_it_is() {
        let large = failed(&"it failed ".repeat(9000));
        for (style, shown) in
            [(Style::Probe, "overview"), (Style::Error, "overview"), (Style::Contract, "contract")]
        {
            assert_eq!(full_look(of_style(style), &large), format!("{shown} 10240"));
            let rpc = verdict(of_style(style), false, &large, Outcome::RpcError, Look::Full);
            assert_eq!(rpc, "overview 10240");
        }
        // Whatever the budget, an error is small enough that no client truncates it.
        let wide = Rules { max_bytes: Some(40_000), budget_tokens: Some(9000), ..Rules::default() };
        assert_eq!(full_look(wide, &large), "overview 10240");
    }

    #[test]
    fn a_probe_is_answered_whatever_the_size_where_that_is_set() {
        let always = Rules { probe_when: Some(crate::style::AnswerWhen::Always), ..of_style(Style::Probe) };
        let small = make::text_result("small");
        assert_eq!(full_look(always.clone(), &small), "probe 10240");
        assert_eq!(verdict(always.clone(), true, &small, Outcome::Result, Look::Full), "pass");
        assert_eq!(full_look(always.clone(), &failed("it failed")), "pass");
        let envelope = make::text_result(
            r#"{"preview":"x","total_size":1,"available_modes":[],"continuation_token":"t"}"#,
        );
        assert_eq!(full_look(always, &envelope), "pass", "a server that negotiates by itself");
        let over = Rules { auto_negotiate_bytes: Some(30), ..Rules::default() };
        assert_eq!(full_look(over.clone(), &small), "probe 10240");
        let under = Rules { auto_negotiate_bytes: Some(3000), ..Rules::default() };
        assert_eq!(full_look(under, &small), "pass");
    }

    #[test]
    fn answers_shrink_towards_what_is_left_of_a_session() {
        let left = |bytes| Rules { session_max_bytes: Some(bytes), ..Rules::default() };
        assert_eq!(full_look(left(20_000), &large()), "overview 10240");
        assert_eq!(full_look(left(5000), &large()), "overview 5000");
        // A call for all of the result cannot pass the ceiling.
        assert_eq!(verdict(left(5000), true, &large(), Outcome::Result, Look::Full), "overview 5000");
        let some = make::text_result(&"many words ".repeat(50));
        assert_eq!(full_look(left(1000), &some), "pass");
        assert_eq!(full_look(left(500), &some), "overview 500");
        let tiny = make::text_result(&"word ".repeat(50));
        assert_eq!(full_look(left(1), &tiny), "pass", "no answer is smaller");
        let picture = format!(
            r#"{{"content":[{{"type":"image","mimeType":"image/png","data":"{}"}}]}}"#,
            "A".repeat(9000)
        );
        assert_eq!(full_look(left(5000), picture.as_bytes()), "overview 5000");
    }

    #[test]
    fn what_is_not_final_passes_whatever_its_size() {
        let long = "x".repeat(50_000);
        for result in [
            format!(r#"{{"resultType":"input_required","inputRequests":{{"a":"{long}"}}}}"#),
            format!(r#"{{"task":{{"taskId":"1","note":"{long}"}}}}"#),
        ] {
            assert_eq!(full_look(Rules::default(), result.as_bytes()), "pass");
        }
    }

    #[test]
    fn a_token_count_is_returned_with_the_verdict() {
        let policy = Policies::default().of_tool("list");
        let profile = Profile::strictest();
        let terms = Terms::new(&policy, &profile, None, false);
        let counted = make::text_result(&"words of all kinds, ".repeat(300));
        let source = counted.as_slice();
        let Verdict::Pass(Some(cost)) = terms.verdict(&source, Outcome::Result, Look::Full) else {
            panic!("it fits, and must be counted to know");
        };
        let payload = Payload::read_result(&source).unwrap();
        assert_eq!(cost, measure::cost(&payload, &profile.meter).unwrap());
    }
}
