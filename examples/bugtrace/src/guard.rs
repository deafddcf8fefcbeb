//! Guards: named sets of rules that limit the number of findings in a tree.

use serde::Serialize;
use tidegate_sdk::contract::{Item, Severity};

use crate::answer::{Failure, quote};
use crate::finding::Finding;
use crate::rules::Rule;

/// A named set of rules.
pub(crate) struct Guard {
    pub(crate) id: &'static str,
    rules: &'static [GuardRule],
}

/// Limits the number of matching findings.
struct GuardRule {
    id: &'static str,
    matches: FindingFilter,
    max: u64,
}

/// Selects the findings that count.
enum FindingFilter {
    Severity(Severity),
    Rule(Rule),
}

/// The outcome of one rule of a guard.
#[derive(Debug, Serialize)]
pub(crate) struct Verdict<'f> {
    pub(crate) rule: &'static str,
    pub(crate) passed: bool,
    found: usize,
    max: u64,
    findings: Vec<&'f Finding>,
}

const NO_CRITICAL: GuardRule = at_most(0, "no-critical", FindingFilter::Severity(Severity::Critical));
const NO_HIGH: GuardRule = at_most(0, "no-high", FindingFilter::Severity(Severity::High));
const FEW_HIGH: GuardRule = at_most(10, "few-high", FindingFilter::Severity(Severity::High));
const FEW_MEDIUM: GuardRule = at_most(20, "few-medium", FindingFilter::Severity(Severity::Medium));
const NO_UNFINISHED: GuardRule = at_most(0, "no-unfinished", FindingFilter::Rule(Rule::Unfinished));
const NO_LARGE_FILE: GuardRule = at_most(0, "no-large-file", FindingFilter::Rule(Rule::LargeFile));
const NO_LONG_FUNCTION: GuardRule = at_most(0, "no-long-function", FindingFilter::Rule(Rule::LongFunction));
const NO_DEEP_NESTING: GuardRule = at_most(0, "no-deep-nesting", FindingFilter::Rule(Rule::DeepNesting));

/// All guards.
pub(crate) const GUARDS: [Guard; 3] = [
    Guard { id: "release", rules: &[NO_CRITICAL, NO_UNFINISHED, FEW_HIGH] },
    Guard { id: "size", rules: &[NO_LARGE_FILE, NO_LONG_FUNCTION, NO_DEEP_NESTING] },
    Guard { id: "strict", rules: &[NO_CRITICAL, NO_HIGH, FEW_MEDIUM] },
];

const fn at_most(max: u64, id: &'static str, matches: FindingFilter) -> GuardRule {
    GuardRule { id, matches, max }
}

impl Guard {
    pub(crate) fn named(name: &str) -> Result<&'static Self, Failure> {
        GUARDS.iter().find(|guard| guard.id == name).ok_or_else(|| {
            let accepted = GUARDS.iter().map(|guard| Item::new(guard.id, &guard.rule_names()));
            Failure::new(format!("no guard {}; one of:", quote(name))).with_accepted(accepted)
        })
    }

    /// Returns the names of the rules in one line.
    pub(crate) fn rule_names(&self) -> String {
        self.rules.iter().map(|rule| rule.id).collect::<Vec<_>>().join(", ")
    }

    /// Checks findings against every rule.
    pub(crate) fn check<'f>(&self, findings: &'f [Finding]) -> Vec<Verdict<'f>> {
        let verdict = |rule: &'static GuardRule| {
            let findings: Vec<&Finding> =
                findings.iter().filter(|finding| rule.matches.includes(finding)).collect();
            let passed = findings.len() as u64 <= rule.max;
            Verdict { rule: rule.id, passed, found: findings.len(), max: rule.max, findings }
        };
        self.rules.iter().map(verdict).collect()
    }
}

impl FindingFilter {
    fn includes(&self, finding: &Finding) -> bool {
        match self {
            Self::Severity(severity) => finding.severity == *severity,
            Self::Rule(rule) => finding.rule == *rule,
        }
    }
}

impl Verdict<'_> {
    pub(crate) fn item(&self) -> Item {
        let outcome = if self.passed { "passed" } else { "failed" };
        Item::new(self.rule, &format!("{outcome}: {} found, at most {}", self.found, self.max))
    }
}

/// Returns the summary line of a check.
pub(crate) fn summary(guard: &Guard, path: &str, verdicts: &[Verdict<'_>]) -> String {
    let failed: Vec<&str> =
        verdicts.iter().filter(|verdict| !verdict.passed).map(|verdict| verdict.rule).collect();
    let (path, rules) = (quote(path), verdicts.len());
    match failed.len() {
        0 => format!("Guard {} passed for {path}: {rules} rules", guard.id),
        count => {
            format!("Guard {} failed for {path}: {count} of {rules} rules ({})", guard.id, failed.join(", "))
        }
    }
}
