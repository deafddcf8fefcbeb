//! Guards: sets of rules that a tree must keep.

use serde::Serialize;
use tidegate_sdk::contract::{Item, Severity};

use crate::answer::{Refusal, shown};
use crate::finding::Finding;
use crate::rules::Rule;

/// A set of rules.
pub(crate) struct Guard {
    pub(crate) id: &'static str,
    pub(crate) rules: &'static [Limit],
}

/// So many findings at the most.
pub(crate) struct Limit {
    id: &'static str,
    of: Of,
    most: u64,
}

/// Which findings count.
enum Of {
    Severity(Severity),
    Rule(Rule),
}

/// What a rule of a guard comes to.
#[derive(Debug, Serialize)]
pub(crate) struct Verdict<'f> {
    pub(crate) rule: &'static str,
    pub(crate) passed: bool,
    found: usize,
    most: u64,
    findings: Vec<&'f Finding>,
}

/// All guards.
pub(crate) const GUARDS: [Guard; 3] = [
    Guard {
        id: "release",
        rules: &[
            Limit { id: "no-critical", of: Of::Severity(Severity::Critical), most: 0 },
            Limit { id: "no-unfinished", of: Of::Rule(Rule::Unfinished), most: 0 },
            Limit { id: "few-high", of: Of::Severity(Severity::High), most: 10 },
        ],
    },
    Guard {
        id: "size",
        rules: &[
            Limit { id: "no-large-file", of: Of::Rule(Rule::LargeFile), most: 0 },
            Limit { id: "no-long-function", of: Of::Rule(Rule::LongFunction), most: 0 },
            Limit { id: "no-deep-nesting", of: Of::Rule(Rule::DeepNesting), most: 0 },
        ],
    },
    Guard {
        id: "strict",
        rules: &[
            Limit { id: "no-critical", of: Of::Severity(Severity::Critical), most: 0 },
            Limit { id: "no-high", of: Of::Severity(Severity::High), most: 0 },
            Limit { id: "few-medium", of: Of::Severity(Severity::Medium), most: 20 },
        ],
    },
];

impl Guard {
    pub(crate) fn named(name: &str) -> Result<&'static Self, Refusal> {
        GUARDS.iter().find(|guard| guard.id == name).ok_or_else(|| {
            let words = format!("no guard {}; one of:", shown(name));
            Refusal::new(words).accepting(GUARDS.iter().map(|guard| Item::new(guard.id, &guard.told())))
        })
    }

    /// Its rules in one line.
    pub(crate) fn told(&self) -> String {
        self.rules.iter().map(|rule| rule.id).collect::<Vec<_>>().join(", ")
    }

    /// Holds findings against the rules.
    pub(crate) fn check<'f>(&self, findings: &'f [Finding]) -> Vec<Verdict<'f>> {
        let verdict = |limit: &'static Limit| {
            let findings: Vec<&Finding> = findings.iter().filter(|finding| limit.counts(finding)).collect();
            let passed = findings.len() as u64 <= limit.most;
            Verdict { rule: limit.id, passed, found: findings.len(), most: limit.most, findings }
        };
        self.rules.iter().map(verdict).collect()
    }
}

impl Limit {
    fn counts(&self, finding: &Finding) -> bool {
        match self.of {
            Of::Severity(severity) => finding.severity == severity,
            Of::Rule(rule) => finding.rule == rule,
        }
    }
}

impl Verdict<'_> {
    pub(crate) fn item(&self) -> Item {
        let word = if self.passed { "passed" } else { "failed" };
        Item::new(self.rule, &format!("{word}: {} found, at most {}", self.found, self.most))
    }
}

/// One line on verdicts.
pub(crate) fn summary(guard: &Guard, path: &str, verdicts: &[Verdict<'_>]) -> String {
    let failed: Vec<&str> =
        verdicts.iter().filter(|verdict| !verdict.passed).map(|verdict| verdict.rule).collect();
    let path = shown(path);
    match failed.len() {
        0 => format!("Guard {} passed for {path}: {} rules", guard.id, verdicts.len()),
        count => format!(
            "Guard {} failed for {path}: {count} of {} rules ({})",
            guard.id,
            verdicts.len(),
            failed.join(", ")
        ),
    }
}
