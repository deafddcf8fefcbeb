//! Agents and workflows: small steps that really run, each with its result and its time.
//!
//! An agent's steps build on one another; a workflow's steps are scans, guards and agents. All results of the steps are
//! kept as one artifact, and the run is a trace of its own.

mod steps;

use std::time::Instant;

use serde::Serialize;
use serde_json::{Value, json};
use tidegate_sdk::contract::Item;

use crate::answer::{Answer, Refusal, shown};
use crate::finding::Kind;
use crate::guard::{self, Guard};
use crate::scan::scan;
use crate::trace::Recorder;
use crate::workshop::{Workshop, data};

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
}
