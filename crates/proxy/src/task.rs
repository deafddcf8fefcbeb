//! Calls that became tasks: which tool a later result belongs to.

use std::collections::VecDeque;
use std::sync::LazyLock;

use memchr::memmem::Finder;
use tidegate_gate::Called;
use tidegate_gate::raw::{self, Place};

/// Looked for in every result, so made once.
static TASK_ID: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"taskId\""));
/// How many tasks are remembered; of an older one the tool's name is not known any more.
const MOST: usize = 1000;

/// The tasks of a conversation.
#[derive(Debug, Default)]
pub(crate) struct Tasks {
    tasks: VecDeque<(String, Called)>,
}

impl Tasks {
    /// Notes the task that a call was answered with, if it was.
    pub(crate) fn note(&mut self, called: &Called, json: &[u8], result: &Place) {
        let bytes = &json[result.clone()];
        if TASK_ID.find(bytes).is_none() {
            return;
        }
        let direct = raw::member(json, result, "taskId");
        let id = direct.or_else(|| raw::at(json, result, &["task", "taskId"]));
        if let Some(id) = id.and_then(|id| raw::text(json, &id)) {
            self.tasks.truncate(MOST - 1);
            self.tasks.push_front((id.into_owned(), called.clone()));
        }
    }

    /// Returns the call that a request or notification about a task belongs to.
    pub(crate) fn called(&self, json: &[u8], params: Option<&Place>) -> Called {
        let id = params.and_then(|params| raw::member(json, params, "taskId"));
        self.named(id.map_or(b"", |id| &json[id]))
    }

    /// Returns the call that became the task of an id, as it is written.
    pub(crate) fn named(&self, id: &[u8]) -> Called {
        let id = raw::text(id, &(0..id.len())).unwrap_or_default();
        let known = self.tasks.iter().find(|(task, _)| *task == id);
        known
            .map_or_else(|| Called { tool: "task".into(), ..Called::default() }, |(_, called)| called.clone())
    }
}
