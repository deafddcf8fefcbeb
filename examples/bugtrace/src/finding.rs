//! Findings: what a scan reports, with stable ids, and their counts by severity.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tidegate_sdk::contract::{Item, LABEL_CHARS, Severity, create_summary};

use crate::rules::Rule;

/// Characters of the line that a finding keeps.
const MAX_TEXT_CHARS: usize = 500;

/// The kind of a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    /// Possible bugs and unfinished code.
    Bugfix,
    /// Code that is hard to read.
    Refactor,
}

impl Kind {
    /// Returns the name, which is the artifact domain and the prefix of the tools.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bugfix => "bugfix",
            Self::Refactor => "refactor",
        }
    }

    /// Returns the beginning of a summary.
    pub(crate) fn found(self) -> &'static str {
        match self {
            Self::Bugfix => "Found bugs",
            Self::Refactor => "Found refactorings",
        }
    }
}

/// A hit of a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Finding {
    /// A stable id: the same for the same line in the same file, wherever the line moves.
    pub(crate) id: String,
    /// The rule.
    pub(crate) rule: Rule,
    /// The severity.
    pub(crate) severity: Severity,
    /// The path relative to the root.
    pub(crate) path: String,
    /// The line number, from 1.
    pub(crate) line: usize,
    /// The description.
    pub(crate) message: String,
    /// The text of the line, up to 500 characters.
    pub(crate) text: String,
}

impl Finding {
    pub(crate) fn new(
        rule: Rule,
        severity: Severity,
        path: &str,
        line: usize,
        message: String,
        text: &str,
    ) -> Self {
        let text = text.trim();
        let id = String::new();
        let text = text.char_indices().nth(MAX_TEXT_CHARS).map_or(text, |(end, _)| &text[..end]).to_owned();
        Self { id, rule, severity, path: path.to_owned(), line, message, text }
    }

    /// Returns the finding as an item of an answer. A long path keeps its end, which identifies the file.
    pub(crate) fn item(&self) -> Item {
        let (rule, line) = (self.rule.name(), self.line.to_string());
        let path_chars = LABEL_CHARS.saturating_sub(rule.len() + line.len() + 2);
        let label = format!("{rule} {}:{line}", last_chars(&self.path, path_chars));
        Item::new(self.id.clone(), &label).severity(self.severity)
    }
}

/// Returns the last characters of a text, after `…` if some are missing.
fn last_chars(text: &str, max: usize) -> String {
    let count = text.chars().count();
    if count <= max {
        return text.to_owned();
    }
    format!("…{}", text.chars().skip(count + 1 - max).collect::<String>())
}

/// Sets the id of every finding of a scan, and sorts them by severity.
pub(crate) fn assign_ids_and_sort(findings: &mut [Finding]) {
    // Equal lines of a file are numbered, so that an id stays the same when lines above are added or removed.
    let mut seen: BTreeMap<u64, u64> = BTreeMap::new();
    for finding in findings.iter_mut() {
        let line = fingerprint(&[finding.rule.name(), &finding.path, &finding.text]);
        let nth = seen.entry(line).or_default();
        *nth += 1;
        let id = fingerprint(&[&line.to_string(), &nth.to_string()]);
        finding.id =
            format!("{}-{:010x}", finding.rule.kind().name().chars().next().unwrap_or('f'), id >> 24);
    }
    findings.sort_by(|one, other| {
        (one.severity, &one.path, one.line, one.rule).cmp(&(
            other.severity,
            &other.path,
            other.line,
            other.rule,
        ))
    });
}

/// FNV-1a: an id must be the same in every run and on every machine.
fn fingerprint(parts: &[&str]) -> u64 {
    let bytes = parts.iter().flat_map(|part| part.bytes().chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The number of findings of each severity.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Counts {
    /// Findings of [`Severity::Critical`].
    pub(crate) critical: u64,
    /// Findings of [`Severity::High`].
    pub(crate) high: u64,
    /// Findings of [`Severity::Medium`].
    pub(crate) medium: u64,
    /// Findings of [`Severity::Low`].
    pub(crate) low: u64,
}

impl Counts {
    pub(crate) fn of<'f>(findings: impl IntoIterator<Item = &'f Finding>) -> Self {
        let mut counts = Self::default();
        for finding in findings {
            match finding.severity {
                Severity::Critical => counts.critical += 1,
                Severity::High => counts.high += 1,
                Severity::Medium => counts.medium += 1,
                Severity::Low => counts.low += 1,
            }
        }
        counts
    }

    pub(crate) fn total(&self) -> u64 {
        self.critical + self.high + self.medium + self.low
    }

    /// Returns a summary line with the counts.
    pub(crate) fn summary(&self, action: &str) -> String {
        let counts =
            [("critical", self.critical), ("high", self.high), ("medium", self.medium), ("low", self.low)];
        create_summary(action, self.total(), Some(&counts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(path: &str, line: usize, text: &str) -> Finding {
        Finding::new(Rule::Unwrap, Severity::Medium, path, line, "m".into(), text)
    }

    #[test]
    fn ids_are_stable_when_lines_move() {
        let mut before = [finding("a.rs", 1, "x.unwrap()"), finding("a.rs", 2, "x.unwrap()")];
        let mut after = [finding("a.rs", 11, "x.unwrap()"), finding("a.rs", 12, "x.unwrap()")];
        assign_ids_and_sort(&mut before);
        assign_ids_and_sort(&mut after);
        assert_eq!(before.clone().map(|found| found.id), after.map(|found| found.id));
        assert_ne!(before[0].id, before[1].id);
        assert!(before[0].id.starts_with("b-") && before[0].id.len() == 12, "{}", before[0].id);
    }

    #[test]
    fn a_label_keeps_rule_and_line() {
        let item = serde_json::to_value(finding(&"deep/".repeat(40), 1234, "x").item()).unwrap();
        let label = item["label"].as_str().unwrap();
        assert!(label.starts_with("unwrap …") && label.ends_with("deep/:1234"), "{label}");
        assert_eq!(label.chars().count(), 50);
    }
}
