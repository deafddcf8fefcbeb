//! The steps of the agents: each says in a line what it came to, and keeps all of it as its result.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};
use tidegate_sdk::contract::Severity;

use super::Run;
use crate::answer::Refusal;
use crate::finding::{Counts, Finding, Kind};
use crate::scan::scan;
use crate::tree::read;
use crate::workshop::{Workshop, data};

/// Lines around a finding that are read.
const AROUND: usize = 5;
/// Files that are told as the largest, and findings for which something is suggested.
const MOST: usize = 20;

impl Workshop {
    pub(super) fn review(&self, run: &mut Run, place: &Path) -> Result<(), Refusal> {
        let began = Instant::now();
        let findings = scan(&self.tree, place, &[Kind::Bugfix, Kind::Refactor], &mut run.recorder);
        let counts = Counts::of(&findings);
        run.step("scan", began, counts.summary("Found"), json!({"counts": counts, "findings": findings}));

        let began = Instant::now();
        let ranked = rank(&findings);
        let label = match ranked.first() {
            Some((path, weight)) => format!("{} files; weight {weight}: {path}", ranked.len()),
            None => "no file has findings".to_owned(),
        };
        let rows: Vec<Value> =
            ranked.iter().map(|(path, weight)| json!({"path": path, "weight": weight})).collect();
        run.step("rank", began, label, Value::Array(rows));

        let began = Instant::now();
        let suggested: Vec<Value> = findings.iter().take(MOST).map(suggestion).collect();
        let label = format!("{} suggestions for the gravest", suggested.len());
        run.step("suggest", began, label, Value::Array(suggested));
        Ok(())
    }

    pub(super) fn explain(&self, run: &mut Run, id: &str) -> Result<(), Refusal> {
        let began = Instant::now();
        let finding = self.finding(id)?;
        run.step(
            "find",
            began,
            format!("{} {}:{}", finding.rule.name(), finding.path, finding.line),
            data(&finding)?,
        );

        let began = Instant::now();
        let walk = self.tree.files(&self.tree.place(Some(&finding.path))?);
        let text =
            walk.files.first().and_then(|file| read(file).ok()).map(|(text, _)| text).unwrap_or_default();
        let first = finding.line.saturating_sub(AROUND + 1);
        let around: Vec<String> = text
            .lines()
            .enumerate()
            .skip(first)
            .take(2 * AROUND + 1)
            .map(|(index, line)| format!("{:>5} {line}", index + 1))
            .collect();
        run.step("read", began, format!("{} lines around it", around.len()), json!(around));

        let began = Instant::now();
        run.step("explain", began, finding.rule.advice().to_owned(), suggestion(&finding));
        Ok(())
    }

    pub(super) fn survey(&self, run: &mut Run, place: &Path) -> Result<(), Refusal> {
        let began = Instant::now();
        let walk = self.tree.files(place);
        for (path, why) in &walk.errors {
            run.recorder.error(path, why);
        }
        let paths: Vec<&str> = walk.files.iter().map(|file| file.path.as_str()).collect();
        run.step("walk", began, format!("{} source files", paths.len()), json!(paths));

        let began = Instant::now();
        let mut measured: Vec<(usize, usize, &str)> = Vec::new();
        for file in &walk.files {
            let reading = Instant::now();
            match read(file) {
                Ok((text, _)) => {
                    run.recorder.file(&file.path, text.len(), reading);
                    measured.push((text.lines().count(), text.len(), &file.path));
                }
                Err(why) => run.recorder.error(&file.path, &why),
            }
        }
        measured.sort_by(|one, other| other.cmp(one));
        let lines: usize = measured.iter().map(|(lines, ..)| lines).sum();
        let row = |(lines, bytes, path): &(usize, usize, &str)| json!({"path": path, "lines": lines, "bytes": bytes});
        let largest: Vec<Value> = measured.iter().take(MOST).map(row).collect();
        let label = format!("{lines} lines in {} files", measured.len());
        run.step("measure", began, label, json!({"lines": lines, "largest": largest}));
        Ok(())
    }
}

/// Files by what their findings weigh, the heaviest first.
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
