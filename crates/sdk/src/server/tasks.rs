//! Results of tasks, on their way through the gate.
//!
//! A server may answer a call with a task, whose result the client fetches later: with `tasks/get`, or, in the protocol version
//! before, with `tasks/result`. That result is shaped like any other, by the rules of the tool that was called. Clients ask
//! for a task again and again, so what was answered once is answered again: nothing is stored or counted twice.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use rmcp::model::{
    CallToolResult, CreateTaskResult, CustomResult, DetailedTask, GetTaskResult, JsonObject, TaskPayload,
};
use rmcp::{ErrorData, ServerHandler};
use serde_json::Value;
use tidegate_gate::{Principal, ToolCall};

use super::Tidegate;
use super::requests::{Asker, parsed};

/// How many tasks are remembered; the results of older ones are attributed to a tool named `task`.
const MAX_TASKS: usize = 1000;
/// The method that fetches the result of a task in the protocol version before.
pub(super) const RESULT_METHOD: &str = "tasks/result";

/// The calls that became tasks, newest first.
#[derive(Default)]
pub(super) struct Tasks {
    tasks: Mutex<VecDeque<Task>>,
}

/// One call that became a task.
struct Task {
    id: String,
    principal: Principal,
    called: ToolCall,
    /// What its result or error was answered with; `None` before that.
    answer: Option<JsonObject>,
}

impl Tasks {
    fn remember(&self, id: String, principal: Principal, called: ToolCall) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.truncate(MAX_TASKS - 1);
        tasks.push_front(Task { id, principal, called, answer: None });
    }

    /// Returns the call that became a task, and what its result was answered with.
    fn find(&self, id: &str, principal: &Principal) -> (ToolCall, Option<JsonObject>) {
        let tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        let task = tasks.iter().find(|task| task.id == id && task.principal == *principal);
        task.map_or_else(
            || (ToolCall { tool: "task".into(), ..ToolCall::default() }, None),
            |task| (task.called.clone(), task.answer.clone()),
        )
    }

    fn answered(&self, id: &str, principal: &Principal, answer: &JsonObject) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        let task = tasks.iter_mut().find(|task| task.id == id && task.principal == *principal);
        if let Some(task) = task {
            task.answer = Some(answer.clone());
        }
    }
}

impl<S: ServerHandler> Tidegate<S> {
    /// Remembers the call that a server answered with a task.
    pub(super) fn created(&self, asker: &Asker, called: ToolCall, task: &CreateTaskResult) {
        self.tasks.remember(task.task.task_id.clone(), asker.caller.principal.clone(), called);
    }

    /// Shapes the result or the error that the state of a task carries once the task has ended.
    pub(super) async fn task_state(
        &self,
        asker: Asker,
        id: &str,
        mut state: GetTaskResult,
    ) -> Result<GetTaskResult, ErrorData> {
        let payload = match state.task.payload {
            TaskPayload::Completed { result } => {
                TaskPayload::Completed { result: self.task_result(&asker, id, result).await? }
            }
            TaskPayload::Failed { error } => {
                TaskPayload::Failed { error: self.task_error(&asker, id, error).await? }
            }
            other => other,
        };
        state.task = DetailedTask::new(state.task.task, payload);
        Ok(state)
    }

    /// Shapes the answer to [`RESULT_METHOD`].
    pub(super) async fn custom_result(
        &self,
        asker: Asker,
        id: &str,
        result: CustomResult,
    ) -> Result<CustomResult, ErrorData> {
        match result.0 {
            Value::Object(result) => {
                Ok(CustomResult(Value::Object(self.task_result(&asker, id, result).await?)))
            }
            other => Ok(CustomResult(other)),
        }
    }

    async fn task_result(
        &self,
        asker: &Asker,
        id: &str,
        result: JsonObject,
    ) -> Result<JsonObject, ErrorData> {
        let (called, known) = self.tasks.find(id, &asker.caller.principal);
        // What is not the result of a tool has no blocks to shape.
        let Ok(complete) = serde_json::from_value::<CallToolResult>(Value::Object(result.clone())) else {
            return Ok(result);
        };
        if let Some(known) = known {
            return Ok(known);
        }
        let Some(answer) = asker.decided(called, &complete).await? else { return Ok(result) };
        let answer: JsonObject = parsed(&answer)?;
        self.tasks.answered(id, &asker.caller.principal, &answer);
        Ok(answer)
    }

    async fn task_error(&self, asker: &Asker, id: &str, error: JsonObject) -> Result<JsonObject, ErrorData> {
        let (called, known) = self.tasks.find(id, &asker.caller.principal);
        if let Some(known) = known {
            return Ok(known);
        }
        let json = Value::Object(error.clone()).to_string().into_bytes();
        let shaped = asker.apart(move |gate, caller| gate.error(caller, &called, &json.as_slice())).await?;
        let Some(shaped) = shaped else { return Ok(error) };
        let shaped: JsonObject = parsed(&shaped)?;
        self.tasks.answered(id, &asker.caller.principal, &shaped);
        Ok(shaped)
    }
}
