//! Keeps the lists of one server up to date: read at the start, when the server says that they changed, and now and then.
//!
//! While a server cannot be reached its last lists stay, and it is tried again, with longer and longer pauses.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, Weak};
use std::time::Duration;

use tidegate_gateway::catalog::{Announcement, Catalog};

use super::Gateway;
use super::connection::{Era, Introduction};
use super::upstream::{Problem, Upstream, Whose};

/// The pause after the first failure; each further one takes twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause.
const MAX_PAUSE: Duration = Duration::from_secs(60);
/// After this time the lists are read again without being asked to: not every server says when they change.
const REFRESH_INTERVAL: Duration = Duration::from_secs(300);
/// How long further changes are waited for, so that many at once are passed on as one.
const SETTLE_TIME: Duration = Duration::from_millis(50);

/// Reads the lists of a server again and again, until the gateway is gone.
pub(super) async fn keep_listed(gateway: Weak<Gateway>, upstream: Arc<Upstream>) {
    let mut pause = FIRST_PAUSE;
    loop {
        let Some(running) = gateway.upgrade() else { return };
        let outcome = running.read_lists(&upstream).await;
        let problem = outcome.err();
        running.log_problem(&upstream, problem.as_ref());
        let wait = if problem.is_some() { pause } else { REFRESH_INTERVAL };
        pause = if problem.is_some() { (pause * 2).min(MAX_PAUSE) } else { FIRST_PAUSE };
        running.note_listed(&upstream, problem);
        drop(running);
        tokio::select! {
            () = upstream.lists_changed.notified() => tokio::time::sleep(SETTLE_TIME).await,
            () = tokio::time::sleep(wait) => {}
        }
    }
}

impl Gateway {
    async fn read_lists(self: &Arc<Self>, upstream: &Arc<Upstream>) -> Result<(), Problem> {
        // What is said from here on may be about lists that were read already.
        let said = upstream.take_said_changed();
        let (announcement, catalog) = self.ask_lists(upstream).await?;
        let mut changed = self.registry.set(upstream.index, announcement, catalog);
        changed.extend(said);
        self.announce_changes(&changed);
        Ok(())
    }

    async fn ask_lists(
        self: &Arc<Self>,
        upstream: &Arc<Upstream>,
    ) -> Result<(Announcement, Catalog), Problem> {
        let era = if upstream.supported().legacy == Some(false) { Era::Modern } else { Era::Legacy };
        let whose = |era| if upstream.is_shared(era) { Whose::Everybody(era) } else { Whose::Gateway };
        let connect = |era| {
            let client =
                if upstream.is_shared(era) { Introduction::of_gateway() } else { Introduction::of_lister() };
            async move { upstream.connection(whose(era), era, &client, self.taking_shared(upstream)).await }
        };
        let mut connected = connect(era).await;
        // A server without sessions does not know `initialize`.
        let is_unknown = era == Era::Legacy && upstream.supported().legacy.is_none();
        if is_unknown && matches!(connected, Err(Problem::Refused { .. })) {
            let modern = connect(Era::Modern).await;
            if modern.is_ok() {
                upstream.lacks(Era::Legacy);
                connected = modern;
            }
        }
        let connected = connected?;
        let catalog = connected.catalog(upstream).await?;
        Ok((connected.announcement.clone(), catalog))
    }

    /// Logs that the lists of a server cannot be read, or can be again; once for each problem.
    fn log_problem(&self, upstream: &Upstream, problem: Option<&Problem>) {
        let before = upstream.problem.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let name = &upstream.settings.name;
        match problem {
            Some(problem) if before.as_ref() != Some(problem) => {
                (self.log)(&format!("the lists of the server {name:?} cannot be read: {problem}"));
            }
            None if before.is_some() => (self.log)(&format!("the lists of the server {name:?} were read")),
            _ => {}
        }
    }

    /// Notes whether the lists of a server could be read. Once that is known of all, nobody waits for them.
    fn note_listed(&self, upstream: &Upstream, problem: Option<Problem>) {
        *upstream.problem.lock().unwrap_or_else(PoisonError::into_inner) = problem;
        upstream.was_tried.store(true, Ordering::Release);
        let is_tried = |upstream: &Arc<Upstream>| upstream.was_tried.load(Ordering::Acquire);
        if self.upstreams.iter().all(is_tried) {
            self.is_listed.send_replace(true);
        }
    }

    /// Waits until the lists of every server were read once, or could not be, or take too long.
    pub(super) async fn wait_until_listed(&self, patience: Duration) {
        let mut is_listed = self.is_listed.subscribe();
        if !*is_listed.borrow() {
            let _ = tokio::time::timeout(patience, is_listed.wait_for(|listed| *listed)).await;
        }
    }
}
