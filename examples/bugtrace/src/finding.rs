//! What a scan finds: a rule, a place, and how bad it is.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tidegate_sdk::contract::{Item, Severity, create_summary};

use crate::rules::Rule;

/// Most characters of a line that are kept with a finding; the file has the rest.
const TEXT_CHARS: usize = 500;
/// Characters of the label of an item.
const LABEL: usize = tidegate_sdk::contract::LABEL_CHARS;

/// What a scan looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    /// What may fail, or was left undone.
    Bugfix,
    /// What is hard to read.
    Refactor,
}

impl Kind {
    /// Returns its name: the domain of its artifacts, and the beginning of its tools.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bugfix => "bugfix",
            Self::Refactor => "refactor",
        }
    }

    /// What it finds, in a summary.
    pub(crate) fn found(self) -> &'static str {
        match self {
            Self::Bugfix => "Found bugs",
            Self::Refactor => "Found refactorings",
        }
    }
}

/// One thing that a rule found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Finding {
    /// The same for the same line in the same file, whatever stands around it.
    pub(crate) id: String,
    /// Which rule.
    pub(crate) rule: Rule,
    /// How bad it is.
    pub(crate) severity: Severity,
    /// Where, below the root.
    pub(crate) path: String,
    /// From one.
    pub(crate) line: usize,
    /// What was found, in words.
    pub(crate) message: String,
    /// The line itself, up to 500 characters.
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
        let text = text.char_indices().nth(TEXT_CHARS).map_or(text, |(end, _)| &text[..end]).to_owned();
        Self { id, rule, severity, path: path.to_owned(), line, message, text }
    }

    /// As an item of an answer: what, and where. Of a long path the end tells more than the beginning.
    pub(crate) fn item(&self) -> Item {
        let (rule, line) = (self.rule.name(), self.line.to_string());
        let room = LABEL.saturating_sub(rule.len() + line.len() + 2);
        let label = format!("{rule} {}:{line}", last_chars(&self.path, room));
        Item::new(self.id.clone(), &label).severity(self.severity)
    }
}

/// The last characters of a text, with `…` where some are missing.
fn last_chars(text: &str, most: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text.to_owned();
    }
    format!("…{}", text.chars().skip(count + 1 - most).collect::<String>())
}

/// Gives every finding of a scan its id and puts the gravest first.
pub(crate) fn arrange(findings: &mut [Finding]) {
    // Equal lines of one file are told apart by which of them it is, so an id survives lines that come and go above.
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

/// How many findings there are of each severity.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Counts {
    /// Of [`Severity::Critical`].
    pub(crate) critical: u64,
    /// Of [`Severity::High`].
    pub(crate) high: u64,
    /// Of [`Severity::Medium`].
    pub(crate) medium: u64,
    /// Of [`Severity::Low`].
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

    /// One line: what was found, how many, and how bad.
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
    fn ids_hold_when_lines_move() {
        let mut before = [finding("a.rs", 1, "x.unwrap()"), finding("a.rs", 2, "x.unwrap()")];
        let mut after = [finding("a.rs", 11, "x.unwrap()"), finding("a.rs", 12, "x.unwrap()")];
        arrange(&mut before);
        arrange(&mut after);
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
