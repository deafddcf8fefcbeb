//! Who may call a tool and read its results: callers whose tier is that of the tool, or a higher one.

use tidegate_store::Artifact;

use super::Gate;
use crate::caller::Caller;
use crate::reply;
use crate::tier::{self, Tier};

impl Gate {
    /// Returns whether a caller may call a tool.
    pub fn allows(&self, caller: &Caller, tool: &str) -> bool {
        let has = caller.profile.tier;
        has == Tier::Admin || has.allows(self.policy(tool).tier)
    }

    /// Returns the answer to a call that the caller may not make; `None` if it may.
    pub fn forbidden(&self, caller: &Caller, tool: &str) -> Option<Vec<u8>> {
        let message = || tier::refusal(tool, self.policy(tool).tier, caller.profile.tier);
        (!self.allows(caller, tool)).then(|| reply::text_result(caller, &message(), true))
    }

    /// Returns whether a caller may read a kept result: one of a tool that it may call, of a server behind this gate. The
    /// rules for other servers are not known here, so that only who may do everything reads their results.
    pub(super) fn may_read(&self, caller: &Caller, artifact: &Artifact) -> bool {
        if caller.profile.tier == Tier::Admin {
            return true;
        }
        let keep = self.keep_of(caller);
        let Ok(opened) = keep.open_for(&artifact.id) else { return false };
        let origin = opened.store.origin(&keep.owner, &artifact.id);
        !self.is_of_no_server(&artifact.tool)
            && origin.is_ok_and(|origin| origin.server == self.server_of(&artifact.tool))
            && self.allows(caller, &artifact.tool)
            && keep.maker(&opened, &artifact.id).is_none_or(|maker| self.allows(caller, &maker))
    }
}
