//! The ids of tasks. Clients get tokens instead of the ids that servers give their tasks.
//!
//! A token holds the server, the tool whose call became the task, and the server's own id, sealed for the caller; without
//! authentication, for its session. So every replica can route a request about a task, in both eras and without remembering
//! anything, tasks of several servers may have the same id, and nobody can use the task of another caller.

use serde::{Deserialize, Serialize};
use tidegate_gate::raw::{ByteRange, Edits};
use tidegate_gateway::catalog::ListKind;
use tidegate_gateway::seal::Purpose;

use super::Gateway;
use super::client::ClientSession;
use super::dispatch::Asker;
use super::route::ServerRoute;
use super::upstream::Upstream;
use crate::content::Content;
use crate::link::Link;
use crate::message::{MessageHead, ParsedLine, parse_heads};
use crate::spool::Message;

/// The member of `_meta` that says to which task a message belongs.
const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";
/// The notifications that are about one task.
const NOTIFICATIONS: [&str; 2] = ["notifications/tasks", "notifications/tasks/status"];
/// The requests whose responses have an outcome that the tool of the task gave.
const OUTCOMES: [&str; 2] = ["tasks/get", "tasks/result"];

/// A task of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Task {
    /// The name of the server.
    pub(super) server: String,
    /// The tool whose call became the task, by the name that its server gave it.
    pub(super) tool: String,
    /// The id that the server gave it.
    pub(super) id: String,
}

/// Returns the text at a path in an object.
fn text_at(content: Content<'_>, object: &ByteRange, path: &[&str]) -> Option<(ByteRange, String)> {
    let (last, before) = path.split_last()?;
    let mut object = object.clone();
    for key in before {
        object = content.member(&object, key)?.range;
    }
    let found = content.member(&object, last)?;
    let text = found.text()?;
    Some((found.range, text))
}

/// Returns the ids of tasks in a result or in params, with their ranges.
fn ids(content: Content<'_>, object: &ByteRange, is_of_task: bool) -> Vec<(ByteRange, String)> {
    let related = text_at(content, object, &["_meta", RELATED_TASK, "taskId"]);
    let direct = || text_at(content, object, &["taskId"]);
    let inner = || text_at(content, object, &["task", "taskId"]);
    // What a tool returns may have members of any name.
    let own = is_of_task.then(|| direct().or_else(inner)).flatten();
    own.into_iter().chain(related).collect()
}

impl Gateway {
    /// Returns for whom the tokens of a caller's tasks are sealed.
    fn task_owner(principal: &str, session: Option<&ClientSession>) -> String {
        match (principal, session) {
            ("", Some(session)) => format!("session {}", session.server.id),
            (name, _) => format!("caller {name}"),
        }
    }

    /// Returns the task that a token stands for; `None` if it is not a token of this caller.
    pub(super) fn task_of(
        &self,
        principal: &str,
        session: Option<&ClientSession>,
        token: &str,
    ) -> Option<Task> {
        let opened = self.sealer.open(Purpose::Task, &Self::task_owner(principal, session), token)?;
        serde_json::from_slice(&opened).ok()
    }

    fn task_token(&self, principal: &str, session: Option<&ClientSession>, task: &Task) -> Option<String> {
        let written = serde_json::to_vec(task).unwrap_or_default();
        let sealed = self.sealer.seal(Purpose::Task, &Self::task_owner(principal, session), &written);
        sealed.inspect_err(|_| (self.log)("the key that seals the ids of tasks cannot be read")).ok()
    }

    /// Tells the link of a client which tools the tasks in a message belong to: their results are shaped by the rules of the
    /// tool.
    pub(super) fn note_tasks(
        &self,
        link: &Link,
        principal: &str,
        session: Option<&ClientSession>,
        message: &ParsedLine,
    ) {
        for head in message.heads().iter().filter(|head| OUTCOMES.contains(&head.method())) {
            let Some(params) = &head.params else { continue };
            let Some((_, token)) = text_at(Content::Memory(&message.bytes), params, &["taskId"]) else {
                continue;
            };
            let Some(task) = self.task_of(principal, session, &token) else { continue };
            if let Some(tool) = self.listed_tool_of(&task) {
                link.note_task_token(&token, &task.id, &tool);
            }
        }
    }

    /// Returns the listed name of the tool of a task.
    fn listed_tool_of(&self, task: &Task) -> Option<String> {
        let server = self.registry.servers.iter().find(|server| *server.name == *task.server)?;
        Some(server.listed_name(&task.tool))
    }

    /// Replaces the ids of tasks in what a server sent for a request by tokens.
    pub(super) fn put_task_tokens(
        &self,
        asker: &Asker,
        way: &ServerRoute,
        method: &str,
        message: Message,
    ) -> Message {
        let Some(tool) = way.name.as_deref().filter(|_| names_task(method)) else { return message };
        let server = self.registry.servers[way.upstream].name.to_string();
        let token = |id: String| {
            let task = Task { server: server.clone(), tool: tool.to_owned(), id };
            self.task_token(asker.principal.name(), asker.session.as_deref(), &task)
        };
        match message {
            Message::Memory(bytes) => {
                let content = Content::Memory(&bytes);
                if !content.may_name_task(&(0..bytes.len())) {
                    return Message::Memory(bytes);
                }
                let mut edits = Edits::new();
                for head in parse_heads(&bytes).iter().flatten() {
                    let Some(object) = head.result.as_ref().or(head.params.as_ref()) else { continue };
                    let is_of_task = is_of_task(method, content, head);
                    for (range, id) in ids(content, object, is_of_task) {
                        if let Some(token) = token(id) {
                            edits.replace(range, quoted(&token));
                        }
                    }
                }
                Message::Memory(edits.applied(bytes.into()).into_owned())
            }
            // The state of a task that is done, whose result is large. Of other messages, the result may be replaced as a whole.
            Message::Disk(mut spooled) => {
                let mut edits = Edits::new();
                if method == "tasks/get"
                    && let Some(result) = spooled.heads.first().and_then(|head| head.result.clone())
                    && let Some((range, id)) = text_at(Content::Disk(&spooled), &result, &["taskId"])
                    && let Some(token) = token(id)
                {
                    edits.replace(range, quoted(&token));
                }
                spooled.edit(edits);
                Message::Disk(spooled)
            }
        }
    }

    /// Replaces the ids of tasks in a notification or a request of a server for a session by tokens.
    pub(super) fn put_tokens_of_session(
        &self,
        upstream: &Upstream,
        session: &ClientSession,
        message: ParsedLine,
    ) -> ParsedLine {
        let Some(head) = message.first() else { return message };
        let Some(params) = &head.params else { return message };
        let content = Content::Memory(&message.bytes);
        if !content.may_name_task(params) {
            return message;
        }
        let snapshot = self.registry.snapshot();
        let key_of = |tool: &str| {
            let place = snapshot.place(ListKind::Tools, tool)?;
            (place.upstream == upstream.index).then_some(place.key)
        };
        let mut edits = Edits::new();
        for (range, id) in ids(content, params, NOTIFICATIONS.contains(&head.method())) {
            let tool = session.link.tool_of_task(&id, |tool| key_of(tool).is_some());
            let Some(tool) = tool else { continue };
            let Some(key) = key_of(&tool) else { continue };
            let task = Task { server: upstream.settings.name.clone(), tool: key, id };
            if let Some(token) = self.task_token(session.server.principal.name(), Some(session), &task) {
                session.link.note_task_token(&token, &task.id, &tool);
                edits.replace(range, quoted(&token));
            }
        }
        message.edit(edits)
    }

    /// Replaces the tokens of tasks in the answer of a client by the ids that the server knows.
    pub(super) fn put_ids_of_tasks(&self, session: &ClientSession, message: ParsedLine) -> ParsedLine {
        let result = message.first().and_then(|head| head.result.clone());
        let content = Content::Memory(&message.bytes);
        let Some(result) = result.filter(|result| content.may_name_task(result)) else { return message };
        let mut edits = Edits::new();
        for (range, token) in ids(content, &result, false) {
            if let Some(task) = self.task_of(session.server.principal.name(), Some(session), &token) {
                edits.replace(range, quoted(&task.id));
            }
        }
        message.edit(edits)
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Returns whether the response to a request may name a task of its tool.
fn names_task(method: &str) -> bool {
    method == "tools/call" || method.starts_with("tasks/")
}

/// Returns whether a message is a task or its state, and no result of a tool.
fn is_of_task(method: &str, content: Content<'_>, head: &MessageHead) -> bool {
    let Some(result) = &head.result else { return NOTIFICATIONS.contains(&head.method()) };
    method != "tasks/result" && content.member(result, "content").is_none()
}
