//! Tests of whole paths through the proxy, without processes where that is possible.

mod decisions;
mod parse_counts;

use std::sync::Arc;

use tidegate_gate::policy::Policies;
use tidegate_gate::{Caller, Gate, Setup, StoreLocation, UserStore};
use tidegate_query::{Queries, Worker};

use crate::link::{Link, Mode};

/// Returns a conversation that keeps its results in memory.
fn link() -> Link {
    let engines = Queries::new(tidegate_query::Limits::default(), Worker::new("/nonexistent".into()));
    let keep = Arc::new(UserStore::of_user(StoreLocation::Memory));
    let gate = Gate::new(Setup { keep, policies: Policies::default(), engines, server: "test".into() });
    Link::new(Arc::new(gate), Caller::unknown(Vec::new()), Mode::Shape, None)
}
