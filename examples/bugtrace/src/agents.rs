//! Agents and workflows: small steps that really run, each with its result and its time.
//!
//! An agent's steps build on one another; a workflow's steps are scans, guards and agents. All results of the steps are
//! kept as one artifact, and the run is a trace of its own.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use serde::Serialize;
use serde_json::{Value, json};
use tidegate_sdk::contract::{Item, Severity};

use crate::answer::{Answer, Refusal, shown};
use crate::finding::{Counts, Finding, Kind};
use crate::guard::{self, Guard};
use crate::scan::scan;
use crate::trace::Recorder;
use crate::tree::read;
use crate::workshop::{Workshop, data};

/// Lines around a finding that are read.
const AROUND: usize = 5;
/// Files that are told as the largest, and findings for which something is suggested.
const MOST: usize = 20;

/// Somebody who can be asked to do something.
#[derive(Debug, Serialize)]
pub(crate) struct Agent {
    pub(crate) id: &'static str,
    pub(crate) does: &'static str,
    steps: &'static [&'static str],
}

/// All agents, by name.
pub(crate) const AGENTS: [Agent; 3] = [
    Agent { id: "explainer", does: "explains one finding", steps: &["find", "read", "explain"] },
    Agent { id: "reviewer", does: "reviews the files of a place", steps: &["scan", "rank", "suggest"] },
    Agent { id: "surveyor", does: "measures the files of a place", steps: &["walk", "measure"] },
];

/// Steps in a row.
#[derive(Debug, Serialize)]
pub(crate) struct Workflow {
    pub(crate) id: &'static str,
    pub(crate) steps: &'static [Task],
}

/// A step of a workflow.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Task {
    Scan(Kind),
    Guard(&'static str),
    Agent(&'static str),
}

/// All workflows, by name.
pub(crate) const WORKFLOWS: [Workflow; 3] = [
    Workflow {
        id: "nightly",
        steps: &[Task::Scan(Kind::Bugfix), Task::Scan(Kind::Refactor), Task::Guard("release")],
    },
    Workflow { id: "review", steps: &[Task::Agent("reviewer"), Task::Guard("strict")] },
    Workflow {
        id: "size",
        steps: &[Task::Agent("surveyor"), Task::Scan(Kind::Refactor), Task::Guard("size")],
    },
];

impl Agent {
    pub(crate) fn named(name: &str) -> Result<&'static Self, Refusal> {
        AGENTS.iter().find(|agent| agent.id == name).ok_or_else(|| {
            let accepted = AGENTS.iter().map(|agent| Item::new(agent.id, agent.does));
            Refusal::new(format!("no agent {}; one of:", shown(name))).accepting(accepted)
        })
    }
}

impl Workflow {
    pub(crate) fn named(name: &str) -> Result<&'static Self, Refusal> {
        WORKFLOWS.iter().find(|workflow| workflow.id == name).ok_or_else(|| {
            let accepted = WORKFLOWS.iter().map(|workflow| Item::new(workflow.id, &workflow.told()));
            Refusal::new(format!("no workflow {}; one of:", shown(name))).accepting(accepted)
        })
    }

    /// Its steps in one line.
    pub(crate) fn told(&self) -> String {
        self.steps.iter().map(|task| task.name()).collect::<Vec<_>>().join(", ")
    }
}

impl Task {
    fn name(self) -> String {
        match self {
            Self::Scan(kind) => format!("{}_scan", kind.name()),
            Self::Guard(_) => "guard_check".to_owned(),
            Self::Agent(name) => format!("agent {name}"),
        }
    }
}

/// What a step did.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct StepResult {
    step: String,
    label: String,
    duration_ms: u64,
    result: Value,
}

/// A run in the making.
struct Run {
    of: String,
    place: String,
    recorder: Recorder,
    steps: Vec<StepResult>,
}

impl Run {
    fn start(of: String, place: String) -> Self {
        let recorder = Recorder::start(&of, place.clone());
        Self { of, place, recorder, steps: Vec::new() }
    }

    fn step(&mut self, name: &str, began: Instant, label: String, result: Value) {
        self.recorder.step(format!("{name}: {label}"), began);
        let step = format!("{}-{}", self.steps.len() + 1, name.replace(' ', "-"));
        let duration_ms = began.elapsed().as_millis() as u64;
        self.steps.push(StepResult { step, label, duration_ms, result });
    }

    /// Keeps the results of all steps, and tells what each came to.
    fn finish(self, workshop: &Workshop, domain: &str) -> Result<Answer, Refusal> {
        let Self { of, place, recorder, steps } = self;
        let trace = workshop.keep_trace(recorder)?;
        let items = steps.iter().map(|step| Item::new(step.step.clone(), &step.label)).collect();
        let (count, ms, id) = (steps.len() as u64, trace.duration_ms, &trace.id);
        let summary = format!("{of}: {count} steps in {ms} ms for {}, trace {id}", shown(&place));
        let whole = json!({
            "run": of, "path": place, "status": trace.status, "traceId": trace.id, "durationMs": trace.duration_ms,
            "stepResults": steps,
        });
        let kept = workshop.artifacts.store(domain, &whole).map_err(Refusal::internal)?;
        Ok(Answer::items(summary, count, items).kept(kept.reference(), Some(whole)))
    }
}

impl Workshop {
    /// Runs an agent at a place, or for one finding.
    pub(crate) fn run_agent(
        &self,
        agent: &Agent,
        path: Option<&str>,
        finding: Option<&str>,
    ) -> Result<Answer, Refusal> {
        let place = self.tree.place(path)?;
        let mut run = Run::start(format!("agent {}", agent.id), self.tree.told(&place));
        match agent.id {
            "explainer" => {
                let Some(id) = finding else {
                    let words = "agent explainer needs `finding`, an id from bugfix_list or refactor_list";
                    return Err(Refusal::new(words));
                };
                self.explain(&mut run, id)?;
            }
            "surveyor" => self.survey(&mut run, &place)?,
            _ => self.review(&mut run, &place)?,
        }
        run.finish(self, "agent")
    }

    /// Runs the steps of a workflow at a place.
    pub(crate) fn run_workflow(&self, workflow: &Workflow, path: Option<&str>) -> Result<Answer, Refusal> {
        let place = self.tree.place(path)?;
        let told = self.tree.told(&place);
        let mut run = Run::start(format!("workflow {}", workflow.id), told.clone());
        for task in workflow.steps {
            let began = Instant::now();
            let (label, result) = match task {
                Task::Scan(kind) => {
                    let (scan, note) = self.scan(*kind, &place)?;
                    let label = note.counts.summary(kind.found());
                    (label, json!({"artifactRef": note.reference, "traceId": note.trace, "scan": scan}))
                }
                Task::Guard(name) => {
                    let guard = Guard::named(name)?;
                    let findings =
                        scan(&self.tree, &place, &[Kind::Bugfix, Kind::Refactor], &mut run.recorder);
                    let verdicts = guard.check(&findings);
                    (guard::summary(guard, &told, &verdicts), data(&verdicts)?)
                }
                Task::Agent(name) => {
                    let mut inner = Run::start(format!("agent {name}"), told.clone());
                    match *name {
                        "surveyor" => self.survey(&mut inner, &place)?,
                        _ => self.review(&mut inner, &place)?,
                    }
                    let label = inner.steps.last().map(|step| step.label.clone()).unwrap_or_default();
                    self.keep_trace(inner.recorder)?;
                    (label, data(&inner.steps)?)
                }
            };
            run.step(&task.name(), began, label, result);
        }
        run.finish(self, "workflow")
    }

    fn review(&self, run: &mut Run, place: &Path) -> Result<(), Refusal> {
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

    fn explain(&self, run: &mut Run, id: &str) -> Result<(), Refusal> {
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

    fn survey(&self, run: &mut Run, place: &Path) -> Result<(), Refusal> {
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
