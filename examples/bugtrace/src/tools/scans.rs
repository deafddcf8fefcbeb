//! The tools `bugfix_*`, `refactor_*` and `guard_check`.

use serde_json::{Value, json};
use tidegate_sdk::Scope;
use tidegate_sdk::contract::{Item, Severity};

use super::{FindingArguments, GuardArguments, ScanArguments};
use crate::answer::{Answer, Failure, quote};
use crate::backend::{Backend, ListRequest, data, sortable};
use crate::finding::{Counts, Finding, Kind};
use crate::guard::{self, Guard};
use crate::rules::Rule;
use crate::scan::scan;
use crate::trace::Recorder;

/// Findings in the answer of a scan.
const MAX_SHOWN_FINDINGS: usize = 5;

impl Backend {
    /// Scans a path; the answer has the count of each severity and the most severe findings.
    pub(crate) fn scan_tool(&self, kind: Kind, arguments: &ScanArguments) -> Result<Answer, Failure> {
        let target = self.tree.resolve(arguments.path.as_deref())?;
        let (scan, stored) = self.scan(kind, &target)?;
        let items = scan.findings.iter().take(MAX_SHOWN_FINDINGS).map(Finding::item).collect();
        let summary = format!("{}, trace {}", stored.counts.summary(kind.found()), stored.trace);
        Ok(Answer::items(summary, stored.counts.total(), items).stored(&stored.reference, Some(data(&scan)?)))
    }

    /// Lists the findings of the latest scan, page by page; scans the whole tree if there was no scan yet.
    pub(crate) fn list_findings(&self, kind: Kind, arguments: &FindingArguments) -> Result<Answer, Failure> {
        let severity: Option<Severity> = match arguments.severity.as_deref().map(str::parse) {
            None => None,
            Some(Ok(severity)) => Some(severity),
            // The text of the error may be too long for a summary.
            Some(Err(_)) => {
                let given = quote(arguments.severity.as_deref().unwrap_or_default());
                return Err(Failure::new(format!(
                    "severity must be critical, high, medium or low, not {given}"
                )));
            }
        };
        let rule = arguments.rule.as_deref().map(|name| rule(kind, name)).transpose()?;
        let scope = Scope::of_tool(&format!("{}_list", kind.name()))
            .with("severity", &json!(severity))
            .with("rule", &json!(rule));
        let position = self.position(&scope, arguments.cursor.as_deref())?;
        let latest = self.journal().scan(&self.artifacts.caller_key(), kind).cloned();
        let (reference, path) = match (&position, latest) {
            (Some(position), _) => (position.artifact.clone(), None),
            (None, Some(stored)) => (stored.reference, Some(stored.path)),
            (None, None) => {
                let (_, stored) = self.scan(kind, self.tree.root())?;
                (stored.reference, Some(stored.path))
            }
        };
        let scan = self.stored_scan(&reference)?;
        let matches = |finding: &&Finding| {
            severity.is_none_or(|severity| finding.severity == severity)
                && rule.is_none_or(|rule| finding.rule == rule)
        };
        let findings: Vec<&Finding> = scan.findings.iter().filter(matches).collect();
        let counts = Counts::of(findings.iter().copied());
        let path = path.unwrap_or(scan.path);
        let summary = counts.summary(&format!("{} findings in {}", kind.name(), quote(&path)));
        let artifact = reference.clone();
        let request = ListRequest { scope, limit: arguments.limit, position, artifact, summary };
        let answer =
            self.list(request, &findings, |index, _| sortable(index as u64), |finding| finding.item())?;
        Ok(answer.stored(&reference, Some(data(&findings)?)))
    }

    /// Checks a path against a guard.
    pub(crate) fn check_guard(&self, arguments: &GuardArguments) -> Result<Answer, Failure> {
        let guard = Guard::named(arguments.guard.as_deref().unwrap_or("release"))?;
        let target = self.tree.resolve(arguments.path.as_deref())?;
        let path = self.tree.relative(&target);
        let mut recorder = Recorder::start("guard_check", format!("{} for {path}", guard.id));
        let findings = scan(&self.tree, &target, &[Kind::Bugfix, Kind::Refactor], &mut recorder);
        self.store_trace(recorder)?;
        let verdicts = guard.check(&findings);
        let items = verdicts.iter().map(guard::Verdict::item).collect();
        let full: Value = json!({"guard": guard.id, "path": path, "verdicts": verdicts});
        let summary = guard::summary(guard, &path, &verdicts);
        Ok(Answer::items(summary, verdicts.len() as u64, items).full_data("guard", full))
    }
}

fn rule(kind: Kind, name: &str) -> Result<Rule, Failure> {
    let rules = || Rule::ALL.into_iter().filter(|rule| rule.kind() == kind);
    rules().find(|rule| rule.name() == name).ok_or_else(|| {
        let accepted = rules().map(|rule| Item::new(rule.name(), &rule.description()));
        Failure::new(format!("{} has no rule {}; one of:", kind.name(), quote(name))).with_accepted(accepted)
    })
}
