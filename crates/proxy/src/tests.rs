//! Tests of whole exchanges through the proxy, in this process.

mod clocks;

use std::sync::Arc;
use std::time::Duration;

use tidegate_gate::policy::Policies;
use tidegate_gate::{Caller, Gate, Setup, StoreLocation, UserStore};
use tidegate_query::{Queries, Worker};

use crate::link::{Link, Mode};

/// Returns a conversation that keeps its results in memory.
pub(crate) fn link(timeout: Option<Duration>) -> Link {
    let engines = Queries::new(tidegate_query::Limits::default(), Worker::new("/nonexistent".into()));
    let keep = Arc::new(UserStore::of_user(StoreLocation::Memory));
    let gate = Gate::new(Setup { keep, policies: Policies::default(), engines, server: "test".into() });
    Link::new(Arc::new(gate), Caller::unknown(Vec::new()), Mode::Shape, timeout)
}

/// A client without a session calls in another conversation than the one in which it listed the tools.
#[test]
fn a_tool_of_the_server_named_like_ours_is_the_servers() {
    let link = link(None);
    let call = br#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"result_query","arguments":{"id":"x-1"}}}"#;
    assert_eq!(
        link.fresh().from_client(call.to_vec()).local.len(),
        1,
        "unless the server has one, it is ours"
    );
    let listing = link.fresh();
    let _ = listing.from_client(br#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#.to_vec());
    let tools = br#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"result_query","inputSchema":{"type":"object"}}]}}"#;
    let listed = listing.from_server(tools.to_vec()).forward.unwrap().into_bytes().unwrap();
    assert!(String::from_utf8_lossy(&listed).contains(Gate::ALTERNATIVE_QUERY_TOOL));
    let later = link.fresh().from_client(call.to_vec());
    assert!(later.forward.is_some() && later.local.is_empty());
}
