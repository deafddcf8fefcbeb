//! `bugfix_*`, `refactor_*` and `guard_check`.

use serde_json::{Value, json};
use tidegate_sdk::Scope;
use tidegate_sdk::contract::{Item, Severity};

use super::{FindingArguments, GuardArguments, ScanArguments};
use crate::answer::{Answer, Refusal, shown};
use crate::finding::{Counts, Finding, Kind};
use crate::guard::{self, Guard};
use crate::rules::Rule;
use crate::scan::scan;
use crate::trace::Recorder;
use crate::workshop::{Listing, Workshop, data, ordered};

/// Findings that a scan shows.
const TOP: usize = 5;

impl Workshop {
    /// Scans a place: how many of each severity, and the gravest.
    pub(crate) fn scan_tool(&self, kind: Kind, arguments: &ScanArguments) -> Result<Answer, Refusal> {
        let place = self.tree.place(arguments.path.as_deref())?;
        let (scan, note) = self.scan(kind, &place)?;
        let items = scan.findings.iter().take(TOP).map(Finding::item).collect();
        let summary = format!("{}, trace {}", note.counts.summary(kind.found()), note.trace);
        Ok(Answer::items(summary, note.counts.total(), items).kept(&note.reference, Some(data(&scan)?)))
    }

    /// Lists what the latest scan found, page by page; where there is none, everything is scanned now.
    pub(crate) fn list_findings(&self, kind: Kind, arguments: &FindingArguments) -> Result<Answer, Refusal> {
        let severity: Option<Severity> = match arguments.severity.as_deref().map(str::parse) {
            None => None,
            Some(Ok(severity)) => Some(severity),
            // Not the text of the error: what is accepted stands first, and what was given may be long.
            Some(Err(_)) => {
                let given = shown(arguments.severity.as_deref().unwrap_or_default());
                return Err(Refusal::new(format!(
                    "severity must be critical, high, medium or low, not {given}"
                )));
            }
        };
        let rule = arguments.rule.as_deref().map(|name| rule(kind, name)).transpose()?;
        let scope = Scope::of_tool(&format!("{}_list", kind.name()))
            .with("severity", &json!(severity))
            .with("rule", &json!(rule));
        let position = self.position(&scope, arguments.cursor.as_deref())?;
        let latest = self.journal().scan(kind).cloned();
        let (reference, path) = match (&position, latest) {
            (Some(position), _) => (position.of.clone(), None),
            (None, Some(note)) => (note.reference, Some(note.path)),
            (None, None) => {
                let (_, note) = self.scan(kind, self.tree.root())?;
                (note.reference, Some(note.path))
            }
        };
        let scan = self.scanned(&reference)?;
        let wanted = |finding: &&Finding| {
            severity.is_none_or(|severity| finding.severity == severity)
                && rule.is_none_or(|rule| finding.rule == rule)
        };
        let findings: Vec<&Finding> = scan.findings.iter().filter(wanted).collect();
        let counts = Counts::of(findings.iter().copied());
        let place = path.unwrap_or(scan.path);
        let summary = counts.summary(&format!("{} findings in {}", kind.name(), shown(&place)));
        let listing = Listing { scope, limit: arguments.limit, position, of: reference.clone(), summary };
        let answer =
            self.list(listing, &findings, |index, _| ordered(index as u64), |finding| finding.item())?;
        Ok(answer.kept(&reference, Some(data(&findings)?)))
    }

    /// Holds a place against a set of rules.
    pub(crate) fn check_guard(&self, arguments: &GuardArguments) -> Result<Answer, Refusal> {
        let guard = Guard::named(arguments.guard.as_deref().unwrap_or("release"))?;
        let place = self.tree.place(arguments.path.as_deref())?;
        let told = self.tree.told(&place);
        let mut recorder = Recorder::start("guard_check", format!("{} for {told}", guard.id));
        let findings = scan(&self.tree, &place, &[Kind::Bugfix, Kind::Refactor], &mut recorder);
        self.keep_trace(recorder)?;
        let verdicts = guard.check(&findings);
        let items = verdicts.iter().map(guard::Verdict::item).collect();
        let whole: Value = json!({"guard": guard.id, "path": told, "verdicts": verdicts});
        let summary = guard::summary(guard, &told, &verdicts);
        Ok(Answer::items(summary, verdicts.len() as u64, items).whole("guard", whole))
    }
}

fn rule(kind: Kind, name: &str) -> Result<Rule, Refusal> {
    let rules = || Rule::ALL.into_iter().filter(|rule| rule.kind() == kind);
    rules().find(|rule| rule.name() == name).ok_or_else(|| {
        let accepted = rules().map(|rule| Item::new(rule.name(), &rule.looks_for()));
        Refusal::new(format!("{} has no rule {}; one of:", kind.name(), shown(name))).accepting(accepted)
    })
}
