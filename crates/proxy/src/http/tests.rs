//! Tests of whole paths through the proxy, without processes where that is possible.

mod decisions;
mod hostile;
mod listener;
mod parse_counts;

use crate::link::Link;

/// Returns a conversation that keeps its results in memory.
fn link() -> Link {
    crate::tests::link(None)
}
