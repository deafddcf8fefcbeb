//! Calls that became tasks: the tool that a later result belongs to.

use std::collections::VecDeque;
use std::sync::LazyLock;

use memchr::memmem::Finder;
use tidegate_gate::ToolCall;
use tidegate_gate::raw::ByteRange;

use crate::content::Content;

/// The name of the member with the id of a task. It is searched for in every result, so the search is built once.
const TASK_ID: &[u8] = b"\"taskId\"";
static TASK_ID_FINDER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(TASK_ID));
/// How many tasks are remembered; the results of older ones are attributed to a tool named `task`.
const MAX_TASKS: usize = 1000;

/// Searches bytes that pass in pieces for a member that names a task.
#[derive(Debug, Default)]
pub(crate) struct TaskIdSearch {
    /// The last bytes that passed: too few to have the name, enough for one that goes on in the next piece.
    last: Vec<u8>,
    is_found: bool,
}

impl TaskIdSearch {
    /// Returns whether bytes have such a member.
    pub(crate) fn is_in(bytes: &[u8]) -> bool {
        TASK_ID_FINDER.find(bytes).is_some()
    }

    /// Takes the next bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        const OVERLAP: usize = TASK_ID.len() - 1;
        self.last.extend_from_slice(&bytes[..bytes.len().min(OVERLAP)]);
        self.is_found = self.is_found || Self::is_in(&self.last) || Self::is_in(bytes);
        if bytes.len() > OVERLAP {
            self.last.clear();
            self.last.extend_from_slice(&bytes[bytes.len() - OVERLAP..]);
        }
        self.last.drain(..self.last.len().saturating_sub(OVERLAP));
    }

    /// Returns whether such a member has passed.
    pub(crate) fn is_found(&self) -> bool {
        self.is_found
    }
}

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

    /// Returns the newest tool that `is_it` accepts among those whose calls became a task of this id. Behind a gateway, tasks of
    /// several servers may have the same id.
    #[cfg(feature = "gateway")]
    pub(crate) fn tool_of(&self, id: &str, is_it: impl Fn(&str) -> bool) -> Option<String> {
        let found = self.tasks.iter().find(|(task, called)| task == id && is_it(&called.tool));
        found.map(|(_, called)| called.tool.clone())
    }

    /// Remembers that the client knows a task of a tool under another id than the server.
    #[cfg(feature = "gateway")]
    pub(crate) fn note_token(&mut self, token: &str, id: &str, tool: &str) {
        if self.tasks.iter().any(|(task, _)| task == token) {
            return;
        }
        let is_it = |(task, called): &&(String, ToolCall)| task == id && called.tool == tool;
        let known = self.tasks.iter().find(is_it).map(|(_, called)| called.clone());
        let called = known.unwrap_or_else(|| {
            // Another replica has sent the call, or this one before its configuration was read again.
            let called = ToolCall { tool: tool.to_owned(), ..ToolCall::default() };
            self.remember(id.to_owned(), &called);
            called
        });
        self.remember(token.to_owned(), &called);
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
    if !content.may_name_task(result) {
        return None;
    }
    let direct = content.member(result, "taskId");
    direct.or_else(|| content.member(&content.member(result, "task")?.range, "taskId"))?.text()
}

/// Returns the result that the state of a task carries once the task is done.
pub(crate) fn result_of_task(content: Content<'_>, task: &ByteRange) -> Option<ByteRange> {
    content.member(task, "result").map(|result| result.range)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_task_is_found_whatever_the_pieces() {
        let message = br#"{"id":1,"result":{"task":{"status":"working","taskId":"a"}}}"#;
        let found = |bytes: &[u8], step: usize| {
            let mut search = TaskIdSearch::default();
            bytes.chunks(step).for_each(|piece| search.push(piece));
            search.is_found()
        };
        for step in 1..=message.len() {
            assert!(found(message, step), "{step}");
            assert!(!found(&message[..49], step), "{step}");
            assert!(!found(br#"{"result":"taskI","d":"taskId " taskId"}"#, step), "{step}");
        }
    }

    #[cfg(feature = "gateway")]
    #[test]
    fn a_task_is_known_by_its_token() {
        let mut tasks = Tasks::default();
        let call = |tool: &str| ToolCall {
            tool: tool.into(),
            arguments: Some(format!("{{\"of\":\"{tool}\"}}")),
            ..ToolCall::default()
        };
        tasks.remember("1".into(), &call("a__x"));
        tasks.remember("1".into(), &call("b__x"));
        tasks.note_token("of a", "1", "a__x");
        tasks.note_token("of another replica", "2", "a__x");
        let called = |token: &str| {
            let params = format!("{{\"taskId\":\"{token}\"}}").into_bytes();
            tasks.call_of(Content::Memory(&params), Some(&(0..params.len())))
        };
        assert_eq!(called("of a"), call("a__x"), "with its arguments");
        assert_eq!((called("1").tool, called("of another replica").tool), ("b__x".into(), "a__x".into()));
        assert_eq!(tasks.tool_of("1", |tool| tool.starts_with("a__")).as_deref(), Some("a__x"));
        assert_eq!(tasks.tool_of("2", |tool| tool.starts_with("b__")), None);
    }
}
