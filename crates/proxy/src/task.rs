//! Calls that became tasks: the tool that a later result belongs to.

use std::collections::VecDeque;
use std::sync::LazyLock;

use memchr::memmem::Finder;
use tidegate_gate::ToolCall;
use tidegate_gate::raw::ByteRange;

use crate::content::Content;

/// Searched for in every result, so built once.
static TASK_ID: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"taskId\""));
/// How many tasks are remembered; the results of older ones are attributed to a tool named `task`.
const MAX_TASKS: usize = 1000;

/// The tasks of a conversation, newest first.
#[derive(Debug, Default)]
pub(crate) struct Tasks {
    tasks: VecDeque<(String, ToolCall)>,
}

impl Tasks {
    /// Remembers the call that became a task.
    pub(crate) fn remember(&mut self, id: String, called: &ToolCall) {
        self.tasks.truncate(MAX_TASKS - 1);
        self.tasks.push_front((id, called.clone()));
    }

    /// Returns the call that became the task which the params of a message name.
    pub(crate) fn call_of(&self, content: Content<'_>, params: Option<&ByteRange>) -> ToolCall {
        let id = params.and_then(|params| content.member(params, "taskId")).and_then(|id| id.text());
        let known = id.and_then(|id| self.tasks.iter().find(|(task, _)| *task == id));
        known.map_or_else(
            || ToolCall { tool: "task".into(), ..ToolCall::default() },
            |(_, called)| called.clone(),
        )
    }
}

/// Returns the id of the task if a call was answered with one.
pub(crate) fn task_id(content: Content<'_>, result: &ByteRange) -> Option<String> {
    if !content.contains(result, &TASK_ID) {
        return None;
    }
    let direct = content.member(result, "taskId");
    direct.or_else(|| content.member(&content.member(result, "task")?.range, "taskId"))?.text()
}

/// Returns the result that the state of a task carries once the task is done.
pub(crate) fn result_of_task(content: Content<'_>, task: &ByteRange) -> Option<ByteRange> {
    content.member(task, "result").map(|result| result.range)
}
