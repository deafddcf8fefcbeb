//! `keep = "all"`: stores results that passed, too, after they were sent.
//!
//! Nothing that a client reads changes. Like a result that did not pass, the result is then in the list of its session and
//! can be a table in SQL. If it cannot be stored, that is not reported, and no answer waits for it.

use tidegate_core::payload::Payload;
use tidegate_core::shape::Prepared;
use tidegate_core::source::Source;
use tidegate_store::{Artifact, NewArtifact};

use super::{Gate, ToolCall};
use crate::caller::Caller;
use crate::policy::Keep;
use crate::user_store::UserStore;

impl Gate {
    /// Returns whether results of a tool are stored even if they pass.
    pub fn keeps_passed(&self, tool: &str) -> bool {
        self.policy(tool).keep == Keep::All
    }

    /// Stores a result that passed. Reads and writes the whole result, so call it outside the path of the answer.
    pub fn keep_passed(&self, caller: &Caller, called: &ToolCall, result: &dyn Source) -> Option<Artifact> {
        let (keep, policy) = (self.keep_of(caller), self.policy(&called.tool));
        // The result of an unlisted caller could never be read: no answer tells its id.
        if policy.keep != Keep::All || keep.is_unlisted() {
            return None;
        }
        let payload = Payload::read_result(&result).ok()?;
        let text = payload.joined_text();
        let prepared = Prepared::with_hints(&payload, text.as_ref(), &policy.hints).ok()?;
        let outline = prepared.outline().ok()?;
        let tokens = prepared.cost(&caller.profile.meter).ok()?.tokens.0;
        let new = NewArtifact {
            server: &self.server_of(&called.tool),
            arguments: called.arguments.as_deref(),
            tier: policy.tier.level(),
            ..keep.new_artifact(&called.tool, policy.ttl)
        };
        let artifact = keep.put(&new, result, &|| Ok(UserStore::description(&outline, tokens))).ok()?;
        self.session(caller).note_kept(artifact.id.clone());
        Some(artifact)
    }
}
