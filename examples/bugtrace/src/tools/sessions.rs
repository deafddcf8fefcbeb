//! `session_*`, `agent_*` and `workflow_*`.

use serde_json::json;
use tidegate_sdk::Scope;
use tidegate_sdk::contract::Item;

use super::{AgentArguments, ListArguments, SessionArguments, WorkflowArguments};
use crate::agents::{AGENTS, Agent, WORKFLOWS, Workflow};
use crate::answer::{Answer, Refusal, shown};
use crate::journal::Session;
use crate::workshop::{Listing, Workshop, data, ordered};

impl Workshop {
    /// How a session stands: what it called, and how the latest call went.
    pub(crate) fn session_status(&self, arguments: &SessionArguments, own: &str) -> Result<Answer, Refusal> {
        let journal = self.journal();
        let id = arguments.session.as_deref().unwrap_or(own);
        let Some(session) = journal.session(id) else {
            let some = journal.sessions().rev().take(5).map(item).collect::<Vec<_>>();
            return Err(Refusal::new(format!("no session {}; the latest are:", shown(id))).accepting(some));
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
        Ok(Answer::figures(summary, figures).whole("session", data(session)?))
    }

    pub(crate) fn list_sessions(&self, arguments: &ListArguments) -> Result<Answer, Refusal> {
        let sessions: Vec<Session> = self.journal().sessions().cloned().collect();
        let summary = format!("{} session(s)", sessions.len());
        let listing = self.own("session_list", arguments, summary)?;
        let answer = self.list(listing, &sessions, |_, session| ordered(session.number), item)?;
        Ok(answer.whole("session", data(&sessions)?))
    }

    pub(crate) fn list_agents(&self, arguments: &ListArguments) -> Result<Answer, Refusal> {
        let listing = self.own("agent_list", arguments, format!("{} agent(s)", AGENTS.len()))?;
        let item = |agent: &Agent| Item::new(agent.id, agent.does);
        Ok(self.list(listing, &AGENTS, |_, agent| agent.id.to_owned(), item)?.whole("agent", data(&AGENTS)?))
    }

    pub(crate) fn list_workflows(&self, arguments: &ListArguments) -> Result<Answer, Refusal> {
        let listing = self.own("workflow_list", arguments, format!("{} workflow(s)", WORKFLOWS.len()))?;
        let item = |workflow: &Workflow| Item::new(workflow.id, &workflow.told());
        let answer = self.list(listing, &WORKFLOWS, |_, workflow| workflow.id.to_owned(), item)?;
        Ok(answer.whole("workflow", data(&WORKFLOWS)?))
    }

    pub(crate) fn agent_run(&self, arguments: &AgentArguments) -> Result<Answer, Refusal> {
        let agent = Agent::named(&arguments.agent)?;
        self.run_agent(agent, arguments.path.as_deref(), arguments.finding.as_deref())
    }

    pub(crate) fn workflow_run(&self, arguments: &WorkflowArguments) -> Result<Answer, Refusal> {
        self.run_workflow(Workflow::named(&arguments.workflow)?, arguments.path.as_deref())
    }

    /// A list of what lives here and needs no other name.
    fn own(&self, tool: &str, arguments: &ListArguments, summary: String) -> Result<Listing, Refusal> {
        let scope = Scope::of_tool(tool);
        let position = self.position(&scope, arguments.cursor.as_deref())?;
        Ok(Listing { scope, limit: arguments.limit, position, of: String::new(), summary })
    }
}

fn item(session: &Session) -> Item {
    Item::new(session.id.clone(), &format!("{} calls by {}", session.calls, session.client))
}
