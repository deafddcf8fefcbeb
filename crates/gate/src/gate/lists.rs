//! The few changes to lists and capabilities that tell a client what it can ask for.

use std::sync::atomic::Ordering;

use serde_json::json;
use tidegate_core::envelope::Handle;
use tidegate_store::Artifact;

use super::Gate;
use crate::caller::Caller;
use crate::capabilities::{self, Capabilities};
use crate::raw::{self, Edits};
use crate::tier::Tier;
use crate::tools::{OwnTools, save};
use crate::{reply, resources, tools};

impl Gate {
    /// Rewrites a page of `tools/list`; `None` if nothing changes. Sets the names of our tools in `caller`.
    pub fn tools(&self, caller: &mut Caller, result: &[u8], first_page: bool) -> Option<Vec<u8>> {
        let visible = match caller.profile.tier {
            Tier::Admin => None,
            _ => tools::without(result, |tool| !self.allows(caller, tool)),
        };
        let result = visible.as_deref().unwrap_or(result);
        let profile = caller.profile.clone();
        let offer = |tool: &str, members: &[raw::Member<'_>], edits: &mut Edits| {
            self.remember_schema(tool, result, members);
            let policy = self.policy(tool);
            if policy.negotiates() || policy.offers_output {
                self.offered.offer(result, tool, (&policy, &profile), members, edits);
            }
        };
        let listed = tools::rewrite(caller, self.own_tools(), result, first_page, &offer);
        (caller.query_tool, caller.save_tool) = (listed.query_tool, listed.save_tool);
        if listed.query_tool == Self::ALTERNATIVE_QUERY_TOOL {
            self.has_name_taken.store(true, Ordering::Relaxed);
        }
        if listed.save_tool == Self::ALTERNATIVE_SAVE_TOOL {
            self.has_save_name_taken.store(true, Ordering::Relaxed);
        }
        listed.result.or(visible)
    }

    /// Returns which tools we add, and what they can do.
    fn own_tools(&self) -> OwnTools {
        let (languages, references) = (self.languages(), self.uses_references());
        OwnTools { languages, save: self.offers_saving(), references }
    }

    /// Returns the name under which our tool was last listed. A client without a session may list the tools in one
    /// conversation and call them in another.
    pub fn query_tool(&self) -> &'static str {
        match self.has_name_taken.load(Ordering::Relaxed) {
            true => Self::ALTERNATIVE_QUERY_TOOL,
            false => Handle::DEFAULT_QUERY_TOOL,
        }
    }

    /// Returns the name under which our second tool was last listed.
    pub fn save_tool(&self) -> &'static str {
        match self.has_save_name_taken.load(Ordering::Relaxed) {
            true => Self::ALTERNATIVE_SAVE_TOOL,
            false => save::NAME,
        }
    }

    /// Reads the capabilities of the upstream, and returns them with ours added; `None` in the second place if nothing
    /// changes.
    pub fn announce(&self, result: &[u8]) -> Option<(Capabilities, Option<Vec<u8>>)> {
        capabilities::announce(result)
    }

    /// Adds the newest kept results to a list of resources, or returns a new list if the upstream has none.
    pub fn resources(&self, caller: &Caller, result: Option<&[u8]>) -> Option<Vec<u8>> {
        let mut artifacts = self.keep_of(caller).list(resources::MAX_LISTED);
        artifacts.retain(|artifact| self.may_read(caller, artifact));
        self.resources_of(caller, result, &artifacts)
    }

    /// Returns the newest kept results of a caller, each with the tool that stored it, if a tool did.
    pub fn kept_with_makers(&self, caller: &Caller) -> Vec<(Artifact, Option<String>)> {
        let keep = self.keep_of(caller);
        let maker = |artifact: &Artifact| {
            keep.open_for(&artifact.id).ok().and_then(|opened| keep.maker(&opened, &artifact.id))
        };
        let kept = keep.list(resources::MAX_LISTED).into_iter();
        kept.map(|artifact| (artifact.clone(), maker(&artifact))).collect()
    }

    /// Adds some kept results to a list of resources, or returns a new list if the upstream has none.
    pub fn resources_of(
        &self,
        caller: &Caller,
        result: Option<&[u8]>,
        artifacts: &[Artifact],
    ) -> Option<Vec<u8>> {
        let keep = self.keep_of(caller);
        let uri_of = |artifact: &Artifact| self.uri_of(&keep, artifact);
        let entries = resources::entries(artifacts, uri_of, &caller.profile.meter);
        match result {
            Some(result) => resources::extend(result, "resources", &entries),
            None => Some(reply::own_list(caller, json!({ "resources": entries }))),
        }
    }

    /// Adds our template to a list of resource templates, or returns a new list if the upstream has none.
    pub fn templates(&self, caller: &Caller, result: Option<&[u8]>) -> Option<Vec<u8>> {
        let template = resources::template(self.languages());
        match result {
            Some(result) => resources::extend(result, "resourceTemplates", &[template]),
            None => Some(reply::own_list(caller, json!({ "resourceTemplates": [template] }))),
        }
    }
}
