//! Clients below the tier `admin`: tidegate does not forward a message that the server might read differently.
//!
//! What such a client may call is decided by the name that tidegate reads. In a line that tidegate cannot parse, a message
//! with a duplicate key, or a call without an id, the server could read the name of another tool.

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

/// Returns whether a client's tier is below `admin`.
pub(super) fn is_limited(caller: &Caller) -> bool {
    caller.profile.tier != Tier::Admin
}

/// Returns whether a server may read a message of the client differently.
pub(super) fn is_ambiguous(line: &[u8], head: &MessageHead) -> bool {
    match head.kind() {
        MessageKind::Request => {}
        MessageKind::Notification => return head.method() == "tools/call" || repeats(line, &head.whole),
        MessageKind::Response => return false,
        _ => return true,
    }
    repeats(line, &head.whole) || head.params.as_ref().is_some_and(|params| repeats(line, params))
}

/// Returns whether an object has a duplicate key, or two that differ in case alone, which some parsers take for one.
pub(crate) fn repeats(line: &[u8], place: &ByteRange) -> bool {
    let members = raw::members(line, place).unwrap_or_default();
    members
        .iter()
        .enumerate()
        .any(|(at, member)| members[..at].iter().any(|earlier| earlier.key.eq_ignore_ascii_case(&member.key)))
}

/// Returns what happens to an ambiguous message.
pub(super) fn refused(head: &MessageHead, caller: &Arc<Caller>) -> ClientDecision {
    if head.kind() != MessageKind::Request {
        return ClientDecision::Drop;
    }
    let message =
        "this request has a duplicate member, so it is not forwarded; send each member once".to_owned();
    let kind = LocalKind::Invalid(RpcError { code: INVALID_REQUEST, message });
    ClientDecision::Local(Box::new(LocalRequest::new(head.id_bytes().to_vec(), kind, Arc::clone(caller))))
}
