//! The servers behind a gate that stands for several: what a tool's name, as callers know it, means.
//!
//! Most gates stand in front of one server. In front of several, a tool has a listed name, by which callers, answers and
//! stored results know it, and a name that its server gave it, to which the rules in the configuration apply.

use std::borrow::Cow;
use std::sync::Arc;

use crate::policy::{Policies, Policy};

/// A tool as its server knows it.
#[derive(Debug, Clone)]
pub struct ToolOrigin {
    /// The name of the server.
    pub server: Arc<str>,
    /// The name that the server gave the tool.
    pub tool: String,
    /// The rules for the tools of the server.
    pub policies: Arc<Policies>,
}

impl ToolOrigin {
    /// Returns the policy of the tool.
    pub(crate) fn policy(&self) -> Policy {
        self.policies.of_tool(&self.tool)
    }
}

/// The servers behind a gate.
pub trait Servers: Send + Sync {
    /// Returns where a tool comes from, by its listed name; `None` if no server has it.
    fn origin(&self, listed: &str) -> Option<ToolOrigin>;

    /// Returns the rules of every server.
    fn policies(&self) -> Vec<Arc<Policies>>;
}

impl super::Gate {
    /// Returns the gate for several servers; what was set up for one applies to tools that none of them has.
    #[must_use]
    pub fn in_front_of(mut self, servers: Arc<dyn Servers>) -> Self {
        let all = servers.policies();
        *self.offers_arguments.get_mut() |= all.iter().any(|policies| policies.offer_arguments());
        *self.uses_references.get_mut() |= all.iter().any(|policies| policies.take_references());
        self.servers = Some(servers);
        self
    }

    /// Returns where a tool comes from, if there are several servers.
    pub(crate) fn origin(&self, tool: &str) -> Option<ToolOrigin> {
        self.servers.as_ref()?.origin(tool)
    }

    /// Returns whether there are several servers, of which none has this tool.
    pub(crate) fn is_of_no_server(&self, tool: &str) -> bool {
        self.servers.as_ref().is_some_and(|servers| servers.origin(tool).is_none())
    }

    /// Returns the name of the server that a tool belongs to.
    pub(crate) fn server_of(&self, tool: &str) -> Cow<'_, str> {
        match self.origin(tool) {
            Some(origin) => Cow::Owned(origin.server.to_string()),
            None => Cow::Borrowed(self.server()),
        }
    }
}
