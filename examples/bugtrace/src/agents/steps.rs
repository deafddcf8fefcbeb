//! The steps of the agents: each has a one-line label and a full result.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};
use tidegate_sdk::contract::Severity;

use super::Run;
use crate::answer::Failure;
use crate::backend::{Backend, data};
use crate::finding::{Counts, Finding, Kind};
use crate::scan::scan;
use crate::tree::read;

/// Lines shown before and after a finding.
const CONTEXT_LINES: usize = 5;
/// Entries in the lists of largest files and of suggestions.
const MAX_LISTED: usize = 20;

impl Backend {
    pub(super) fn review(&self, run: &mut Run, target: &Path) -> Result<(), Failure> {
        let started = Instant::now();
        let findings = scan(&self.tree, target, &[Kind::Bugfix, Kind::Refactor], &mut run.recorder);
        let counts = Counts::of(&findings);
        run.step("scan", started, counts.summary("Found"), json!({"counts": counts, "findings": findings}));

        let started = Instant::now();
        let ranked = rank(&findings);
        let label = match ranked.first() {
            Some((path, weight)) => format!("{} files; weight {weight}: {path}", ranked.len()),
            None => "no file has findings".to_owned(),
        };
        let rows: Vec<Value> =
            ranked.iter().map(|(path, weight)| json!({"path": path, "weight": weight})).collect();
        run.step("rank", started, label, Value::Array(rows));

        let started = Instant::now();
        let suggestions: Vec<Value> = findings.iter().take(MAX_LISTED).map(suggestion).collect();
        let label = format!("{} suggestions for the most severe", suggestions.len());
        run.step("suggest", started, label, Value::Array(suggestions));
        Ok(())
    }

    pub(super) fn explain(&self, run: &mut Run, id: &str) -> Result<(), Failure> {
        let started = Instant::now();
        let finding = self.finding(id)?;
        run.step(
            "find",
            started,
            format!("{} {}:{}", finding.rule.name(), finding.path, finding.line),
            data(&finding)?,
        );

        let started = Instant::now();
        let walk = self.tree.files(&self.tree.resolve(Some(&finding.path))?);
        let text =
            walk.files.first().and_then(|file| read(file).ok()).map(|(text, _)| text).unwrap_or_default();
        let first = finding.line.saturating_sub(CONTEXT_LINES + 1);
        let context: Vec<String> = text
            .lines()
            .enumerate()
            .skip(first)
            .take(2 * CONTEXT_LINES + 1)
            .map(|(index, line)| format!("{:>5} {line}", index + 1))
            .collect();
        run.step("read", started, format!("{} lines around it", context.len()), json!(context));

        let started = Instant::now();
        run.step("explain", started, finding.rule.advice().to_owned(), suggestion(&finding));
        Ok(())
    }

    pub(super) fn survey(&self, run: &mut Run, target: &Path) -> Result<(), Failure> {
        let started = Instant::now();
        let walk = self.tree.files(target);
        for (path, reason) in &walk.errors {
            run.recorder.error(path, reason);
        }
        let paths: Vec<&str> = walk.files.iter().map(|file| file.path.as_str()).collect();
        run.step("walk", started, format!("{} source files", paths.len()), json!(paths));

        let started = Instant::now();
        let mut measured: Vec<(usize, usize, &str)> = Vec::new();
        for file in &walk.files {
            let file_started = Instant::now();
            match read(file) {
                Ok((text, _)) => {
                    run.recorder.file(&file.path, text.len(), file_started);
                    measured.push((text.lines().count(), text.len(), &file.path));
                }
                Err(reason) => run.recorder.error(&file.path, &reason),
            }
        }
        measured.sort_by(|one, other| other.cmp(one));
        let lines: usize = measured.iter().map(|(lines, ..)| lines).sum();
        let row = |(lines, bytes, path): &(usize, usize, &str)| json!({"path": path, "lines": lines, "bytes": bytes});
        let largest: Vec<Value> = measured.iter().take(MAX_LISTED).map(row).collect();
        let label = format!("{lines} lines in {} files", measured.len());
        run.step("measure", started, label, json!({"lines": lines, "largest": largest}));
        Ok(())
    }
}

/// Returns the files ranked by the weight of their findings, heaviest first.
fn rank(findings: &[Finding]) -> Vec<(&str, u64)> {
    let mut weights: BTreeMap<&str, u64> = BTreeMap::new();
    for finding in findings {
        *weights.entry(&finding.path).or_default() += match finding.severity {
            Severity::Critical => 20,
            Severity::High => 8,
            Severity::Medium => 3,
            Severity::Low => 1,
        };
    }
    let mut ranked: Vec<(&str, u64)> = weights.into_iter().collect();
    ranked.sort_by_key(|(path, weight)| (std::cmp::Reverse(*weight), *path));
    ranked
}

fn suggestion(finding: &Finding) -> Value {
    let place = format!("{}:{}", finding.path, finding.line);
    json!({"finding": finding.id, "place": place, "text": finding.text, "do": finding.rule.advice()})
}
