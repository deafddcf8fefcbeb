//! The tools `session_*`, `agent_*` and `workflow_*`.

use serde_json::json;
use tidegate_sdk::Scope;
use tidegate_sdk::contract::Item;

use super::{AgentArguments, ListArguments, SessionArguments, WorkflowArguments};
use crate::agents::{AGENTS, Agent, WORKFLOWS, Workflow};
use crate::answer::{Answer, Failure, quote};
use crate::backend::{Backend, ListRequest, data, sortable};
use crate::journal::Session;

impl Backend {
    /// Returns the status of a session: its calls, and the outcome of the latest.
    pub(crate) fn session_status(&self, arguments: &SessionArguments, own: &str) -> Result<Answer, Failure> {
        let journal = self.journal();
        let id = arguments.session.as_deref().unwrap_or(own);
        let Some(session) = journal.session(id) else {
            let latest = journal.sessions().rev().take(5).map(item).collect::<Vec<_>>();
            return Err(
                Failure::new(format!("no session {}; the latest are:", quote(id))).with_accepted(latest)
            );
        };
        let Session { calls, failed, bytes, client, started_at_ms, .. } = session;
        let latest = session.latest.back().map(|call| {
            json!({"tool": call.tool, "success": call.success, "durationMs": call.duration_ms, "bytes": call.bytes})
        });
        let figures = json!({
            "session": session.id, "client": client, "startedAtMs": started_at_ms, "calls": calls, "failed": failed,
            "bytesSent": bytes, "lastCall": latest,
        });
        let summary = format!("Session {}: {calls} calls, {failed} failed, {bytes} bytes sent", session.id);
        Ok(Answer::figures(summary, figures).full_data("session", data(session)?))
    }

    pub(crate) fn list_sessions(&self, arguments: &ListArguments) -> Result<Answer, Failure> {
        let sessions: Vec<Session> = self.journal().sessions().cloned().collect();
        let summary = format!("{} session(s)", sessions.len());
        let listing = self.list_request("session_list", arguments, summary)?;
        let answer = self.list(listing, &sessions, |_, session| sortable(session.number), item)?;
        Ok(answer.full_data("session", data(&sessions)?))
    }

    pub(crate) fn list_agents(&self, arguments: &ListArguments) -> Result<Answer, Failure> {
        let listing = self.list_request("agent_list", arguments, format!("{} agent(s)", AGENTS.len()))?;
        let item = |agent: &Agent| Item::new(agent.id, agent.does);
        Ok(self
            .list(listing, &AGENTS, |_, agent| agent.id.to_owned(), item)?
            .full_data("agent", data(&AGENTS)?))
    }

    pub(crate) fn list_workflows(&self, arguments: &ListArguments) -> Result<Answer, Failure> {
        let listing =
            self.list_request("workflow_list", arguments, format!("{} workflow(s)", WORKFLOWS.len()))?;
        let item = |workflow: &Workflow| Item::new(workflow.id, &workflow.step_names());
        let answer = self.list(listing, &WORKFLOWS, |_, workflow| workflow.id.to_owned(), item)?;
        Ok(answer.full_data("workflow", data(&WORKFLOWS)?))
    }

    pub(crate) fn agent_run(&self, arguments: &AgentArguments) -> Result<Answer, Failure> {
        let agent = Agent::named(&arguments.agent)?;
        self.run_agent(agent, arguments.path.as_deref(), arguments.finding.as_deref())
    }

    pub(crate) fn workflow_run(&self, arguments: &WorkflowArguments) -> Result<Answer, Failure> {
        self.run_workflow(Workflow::named(&arguments.workflow)?, arguments.path.as_deref())
    }

    /// Returns the request for a list whose rows are in memory.
    fn list_request(
        &self,
        tool: &str,
        arguments: &ListArguments,
        summary: String,
    ) -> Result<ListRequest, Failure> {
        let scope = Scope::of_tool(tool);
        let position = self.position(&scope, arguments.cursor.as_deref())?;
        Ok(ListRequest { scope, limit: arguments.limit, position, artifact: String::new(), summary })
    }
}

fn item(session: &Session) -> Item {
    Item::new(session.id.clone(), &format!("{} calls by {}", session.calls, session.client))
}
