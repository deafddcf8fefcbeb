//! The call that is being answered: its caller and its tool, for what the tool does on the way.
//!
//! The gate sets it around every call of a tool. Work that a tool moves to another thread or task takes it along with
//! [`within_call`].

use std::sync::Arc;

use tidegate_gate::{Caller, Gate};

tokio::task_local! {
    static CURRENT: CallScope;
}

/// The caller and the tool of a call, and the gate that records what it stores.
#[derive(Clone)]
pub(crate) struct CallScope {
    pub(crate) caller: Caller,
    pub(crate) gate: Arc<Gate>,
    pub(crate) tool: String,
    /// A random text that stands for this call.
    pub(crate) key: String,
}

impl CallScope {
    /// Returns the call that is being answered here; `None` outside of one.
    pub(crate) fn current() -> Option<Self> {
        CURRENT.try_with(Clone::clone).ok()
    }

    /// Runs a future as part of the call.
    pub(crate) async fn run<F: Future>(self, work: F) -> F::Output {
        CURRENT.scope(self, work).await
    }
}

/// Returns work that belongs to the call that is being answered, whatever thread it runs on.
///
/// Artifacts belong to the caller of the tool that stores them. A tool that stores from another thread wraps the work:
///
/// ```
/// # async fn tool(artifacts: tidegate_sdk::Artifacts) {
/// let stored = tokio::task::spawn_blocking(tidegate_sdk::within_call(move || artifacts.store("trace", &[1, 2, 3]))).await;
/// # drop(stored);
/// # }
/// ```
pub fn within_call<T>(work: impl FnOnce() -> T) -> impl FnOnce() -> T {
    let scope = CallScope::current();
    move || match scope {
        Some(scope) => CURRENT.sync_scope(scope, work),
        None => work(),
    }
}
