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
