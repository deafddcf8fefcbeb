//! Agents and workflows: sequences of steps, each with a result and a duration.
//!
//! The steps of an agent build on one another; the steps of a workflow are scans, guards and agents. A run stores the
//! results of all steps as one artifact and records a trace.

mod steps;

use std::time::Instant;

use serde::Serialize;
use serde_json::{Value, json};
use tidegate_sdk::contract::Item;

use crate::answer::{Answer, Failure, quote};
use crate::backend::{Backend, data};
use crate::finding::Kind;
use crate::guard::{self, Guard};
use crate::scan::scan;
use crate::trace::Recorder;

/// A named sequence of steps.
#[derive(Debug, Serialize)]
pub(crate) struct Agent {
    pub(crate) id: &'static str,
    pub(crate) does: &'static str,
    steps: &'static [&'static str],
}

/// All agents, by name.
pub(crate) const AGENTS: [Agent; 3] = [
    Agent { id: "explainer", does: "explains one finding", steps: &["find", "read", "explain"] },
    Agent { id: "reviewer", does: "reviews the files below a path", steps: &["scan", "rank", "suggest"] },
    Agent { id: "surveyor", does: "measures the files below a path", steps: &["walk", "measure"] },
];

/// A named sequence of scans, guards and agents.
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
    pub(crate) fn named(name: &str) -> Result<&'static Self, Failure> {
        AGENTS.iter().find(|agent| agent.id == name).ok_or_else(|| {
            let accepted = AGENTS.iter().map(|agent| Item::new(agent.id, agent.does));
            Failure::new(format!("no agent {}; one of:", quote(name))).with_accepted(accepted)
        })
    }
}

impl Workflow {
    pub(crate) fn named(name: &str) -> Result<&'static Self, Failure> {
        WORKFLOWS.iter().find(|workflow| workflow.id == name).ok_or_else(|| {
            let accepted = WORKFLOWS.iter().map(|workflow| Item::new(workflow.id, &workflow.step_names()));
            Failure::new(format!("no workflow {}; one of:", quote(name))).with_accepted(accepted)
        })
    }

    /// Returns the names of the steps in one line.
    pub(crate) fn step_names(&self) -> String {
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

/// The result of a step.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct StepResult {
    step: String,
    label: String,
    duration_ms: u64,
    result: Value,
}

/// A run in progress.
struct Run {
    operation: String,
    path: String,
    recorder: Recorder,
    steps: Vec<StepResult>,
}

impl Run {
    fn start(operation: String, path: String) -> Self {
        let recorder = Recorder::start(&operation, path.clone());
        Self { operation, path, recorder, steps: Vec::new() }
    }

    fn step(&mut self, name: &str, started: Instant, label: String, result: Value) {
        self.recorder.step(format!("{name}: {label}"), started);
        let step = format!("{}-{}", self.steps.len() + 1, name.replace(' ', "-"));
        let duration_ms = started.elapsed().as_millis() as u64;
        self.steps.push(StepResult { step, label, duration_ms, result });
    }

    /// Stores the results of all steps, and returns the answer with one item per step.
    fn finish(self, backend: &Backend, domain: &str) -> Result<Answer, Failure> {
        let Self { operation, path, recorder, steps } = self;
        let trace = backend.store_trace(recorder)?;
        let items = steps.iter().map(|step| Item::new(step.step.clone(), &step.label)).collect();
        let (count, ms, id) = (steps.len() as u64, trace.duration_ms, &trace.id);
        let summary = format!("{operation}: {count} steps in {ms} ms for {}, trace {id}", quote(&path));
        let full = json!({
            "run": operation, "path": path, "status": trace.status, "traceId": trace.id, "durationMs": trace.duration_ms,
            "stepResults": steps,
        });
        let stored = backend.artifacts.store(domain, &full).map_err(Failure::internal)?;
        Ok(Answer::items(summary, count, items).stored(stored.reference(), Some(full)))
    }
}

impl Backend {
    /// Runs an agent on a path, or on one finding.
    pub(crate) fn run_agent(
        &self,
        agent: &Agent,
        path: Option<&str>,
        finding: Option<&str>,
    ) -> Result<Answer, Failure> {
        let target = self.tree.resolve(path)?;
        let mut run = Run::start(format!("agent {}", agent.id), self.tree.relative(&target));
        match agent.id {
            "explainer" => {
                let Some(id) = finding else {
                    let summary = "agent explainer needs `finding`, an id from bugfix_list or refactor_list";
                    return Err(Failure::new(summary));
                };
                self.explain(&mut run, id)?;
            }
            "surveyor" => self.survey(&mut run, &target)?,
            _ => self.review(&mut run, &target)?,
        }
        run.finish(self, "agent")
    }

    /// Runs the steps of a workflow on a path.
    pub(crate) fn run_workflow(&self, workflow: &Workflow, path: Option<&str>) -> Result<Answer, Failure> {
        let target = self.tree.resolve(path)?;
        let path = self.tree.relative(&target);
        let mut run = Run::start(format!("workflow {}", workflow.id), path.clone());
        for task in workflow.steps {
            let started = Instant::now();
            let (label, result) = match task {
                Task::Scan(kind) => {
                    let (scan, stored) = self.scan(*kind, &target)?;
                    let label = stored.counts.summary(kind.found());
                    (label, json!({"artifactRef": stored.reference, "traceId": stored.trace, "scan": scan}))
                }
                Task::Guard(name) => {
                    let guard = Guard::named(name)?;
                    let findings =
                        scan(&self.tree, &target, &[Kind::Bugfix, Kind::Refactor], &mut run.recorder);
                    let verdicts = guard.check(&findings);
                    (guard::summary(guard, &path, &verdicts), data(&verdicts)?)
                }
                Task::Agent(name) => {
                    let mut inner = Run::start(format!("agent {name}"), path.clone());
                    match *name {
                        "surveyor" => self.survey(&mut inner, &target)?,
                        _ => self.review(&mut inner, &target)?,
                    }
                    let label = inner.steps.last().map(|step| step.label.clone()).unwrap_or_default();
                    self.store_trace(inner.recorder)?;
                    (label, data(&inner.steps)?)
                }
            };
            run.step(&task.name(), started, label, result);
        }
        run.finish(self, "workflow")
    }
}
