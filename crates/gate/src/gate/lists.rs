//! The few changes to lists and capabilities that tell a client what it can ask for.

use serde_json::json;

use super::Gate;
use crate::caller::Caller;
use crate::capabilities::{self, Capabilities};
use crate::raw::{self, Edits};
use crate::tier::Tier;
use crate::{reply, resources, tools};

impl Gate {
    /// Rewrites a page of `tools/list`; `None` where nothing changes. Sets the name of our tool in `caller`.
    pub fn tools(&self, caller: &mut Caller, result: &[u8], first_page: bool) -> Option<Vec<u8>> {
        let visible = match caller.profile.tier {
            Tier::Admin => None,
            _ => tools::without(result, |tool| !self.allows(caller, tool)),
        };
        let result = visible.as_deref().unwrap_or(result);
        let offer = |tool: &str, members: &[raw::Member<'_>], edits: &mut Edits| {
            let policy = self.policy(tool);
            if policy.negotiates() || policy.offers_output {
                self.offered.offer(result, tool, &policy, members, edits);
            }
        };
        let listed = tools::rewrite(caller, result, first_page, &offer);
        caller.query_tool = listed.query_tool;
        listed.result.or(visible)
    }

    /// Reads the capabilities of the upstream, and returns them with ours added; `None` in the second place where nothing
    /// changes.
    pub fn announce(&self, result: &[u8]) -> Option<(Capabilities, Option<Vec<u8>>)> {
        capabilities::announce(result)
    }

    /// Adds the newest kept results to a list of resources, or returns a new list where the upstream has none.
    pub fn resources(&self, caller: &Caller, result: Option<&[u8]>) -> Option<Vec<u8>> {
        let mut artifacts = self.setup.keep.list(resources::MAX_LISTED);
        artifacts.retain(|artifact| self.may_read(caller, artifact));
        let entries = resources::entries(&artifacts, &caller.profile.meter);
        match result {
            Some(result) => resources::extend(result, "resources", &entries),
            None => Some(reply::own_list(caller, json!({ "resources": entries }))),
        }
    }

    /// Adds our template to a list of resource templates, or returns a new list where the upstream has none.
    pub fn templates(&self, caller: &Caller, result: Option<&[u8]>) -> Option<Vec<u8>> {
        let template = resources::template();
        match result {
            Some(result) => resources::extend(result, "resourceTemplates", &[template]),
            None => Some(reply::own_list(caller, json!({ "resourceTemplates": [template] }))),
        }
    }
}
