//! Clients below the tier `admin`: a message that a server might read in another way than tidegate does not reach it.
//!
//! What such a client may call is decided by the name that tidegate reads. A line that tidegate cannot read, a member that
//! is there twice, or a call without an id could name another tool to the server.

use std::sync::Arc;

use tidegate_gate::raw::{self, ByteRange};
use tidegate_gate::tier::Tier;
use tidegate_gate::{Caller, RpcError};

use super::LocalRequest;
use super::client::ClientDecision;
use super::local::LocalKind;
use crate::message::{MessageHead, MessageKind};

/// The code of the error for a request that is not valid.
const INVALID_REQUEST: i64 = -32600;

/// Returns whether a client may not do everything.
pub(super) fn is_limited(caller: &Caller) -> bool {
    caller.profile.tier != Tier::Admin
}

/// Returns whether a server may read a message of the client in another way.
pub(super) fn is_ambiguous(line: &[u8], head: &MessageHead) -> bool {
    match head.kind() {
        MessageKind::Request => {}
        MessageKind::Notification => return head.method() == "tools/call" || repeats(line, &head.whole),
        MessageKind::Response => return false,
        _ => return true,
    }
    repeats(line, &head.whole) || head.params.as_ref().is_some_and(|params| repeats(line, params))
}

/// Returns whether an object has two members of one name.
fn repeats(line: &[u8], place: &ByteRange) -> bool {
    let members = raw::members(line, place).unwrap_or_default();
    members
        .iter()
        .enumerate()
        .any(|(at, member)| members[..at].iter().any(|earlier| earlier.key == member.key))
}

/// Returns what happens to an ambiguous message.
pub(super) fn refused(head: &MessageHead, caller: &Arc<Caller>) -> ClientDecision {
    if head.kind() != MessageKind::Request {
        return ClientDecision::Drop;
    }
    let message = "this request has a member twice, so it is not forwarded; send each member once".to_owned();
    let kind = LocalKind::Invalid(RpcError { code: INVALID_REQUEST, message });
    ClientDecision::Local(Box::new(LocalRequest::new(head.id_bytes().to_vec(), kind, Arc::clone(caller))))
}
