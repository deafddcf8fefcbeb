//! Keeps the lists of one server up to date: reads them at the start, when the server says that they changed, and every five
//! minutes.
//!
//! While a server is unreachable, its last lists stay, and it is tried again with growing pauses.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, Weak};
use std::time::{Duration, Instant};

use tidegate_gateway::catalog::{Announcement, Catalog, ListKind};
use tidegate_gateway::log::Level;

use super::Gateway;
use super::connection::{Era, Introduction};
use super::dispatch::Asker;
use super::own::LIST_PATIENCE;
use super::problem::Problem;
use super::upstream::{Patience, PlaceWait, Upstream, Whose};

/// The pause after the first failure; each further one takes twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The maximum pause.
const MAX_PAUSE: Duration = Duration::from_secs(60);
/// The lists are read again after this time, because not every server says when they change.
const REFRESH_INTERVAL: Duration = Duration::from_secs(300);
/// How long to wait after a change, so that several changes in a row are read and announced once.
const SETTLE_TIME: Duration = Duration::from_millis(50);

/// Reads the lists of a server again and again, until the gateway is gone.
pub(super) async fn keep_listed(gateway: Weak<Gateway>, upstream: Arc<Upstream>) {
    let mut pause = FIRST_PAUSE;
    loop {
        let Some(running) = gateway.upgrade() else { return };
        let outcome = running.read_lists(&upstream).await;
        let problem = outcome.err();
        log_problem(&upstream, problem.as_ref());
        let wait = if problem.is_some() { pause } else { REFRESH_INTERVAL };
        pause = if problem.is_some() { (pause * 2).min(MAX_PAUSE) } else { FIRST_PAUSE };
        running.note_listed(&upstream, problem);
        drop(running);
        tokio::select! {
            () = upstream.lists_changed.notified() => {
                tokio::time::sleep(SETTLE_TIME).await;
                if upstream.is_listed_by_callers() {
                    // The next caller that asks reads them.
                    *upstream.listed_for_caller.lock().await = None;
                    if let Some(running) = gateway.upgrade() {
                        running.announce_changes(&ListKind::ALL);
                    }
                }
            }
            () = tokio::time::sleep(wait) => {}
        }
    }
}

impl Gateway {
    async fn read_lists(self: &Arc<Self>, upstream: &Arc<Upstream>) -> Result<(), Problem> {
        // What is said from here on may be about lists that were read already.
        let said = upstream.take_said_changed();
        let asked = self.ask_lists(upstream).await;
        upstream.yield_lister();
        let (announcement, catalog) = asked?;
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
        let user = upstream.settings.user_credential.as_ref();
        let credential = user.and_then(|user| user.of_gateway.clone());
        let connect = |era| {
            let client =
                if upstream.is_shared(era) { Introduction::of_gateway() } else { Introduction::of_lister() };
            let (credential, routed) = (credential.clone(), self.taking_shared(upstream));
            // Nobody's process is ended for this: the lists that are known stay.
            let wait = PlaceWait { asked: Instant::now(), patience: Patience::Queue };
            async move { upstream.connection(whose(era), era, &client, credential, wait, routed).await }
        };
        let mut connected = connect(era).await;
        // A server without sessions does not know `initialize`.
        let is_unknown = era == Era::Legacy && upstream.supported().legacy.is_none();
        if is_unknown && matches!(connected, Err(Problem::Refused { .. } | Problem::Down { .. })) {
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

    /// Reads lists with this caller's credential; a credential is used only while its caller asks. What one caller was shown is
    /// in the lists of all who may use the server.
    pub(super) async fn read_lists_for(self: &Arc<Self>, asker: &Asker) {
        let reading =
            self.upstreams.iter().filter(|upstream| upstream.is_listed_by_callers()).map(|upstream| {
                let (gateway, upstream, asker) = (Arc::clone(self), Arc::clone(upstream), asker.clone());
                tokio::spawn(async move {
                    let mut listed = upstream.listed_for_caller.lock().await;
                    if listed.is_some_and(|at| at.elapsed() < REFRESH_INTERVAL) {
                        return;
                    }
                    // Those who have no credential, or one that is not accepted, see what others have read.
                    let Ok(connection) = gateway.connect(&upstream, &asker).await else { return };
                    let Ok(catalog) = connection.catalog(&upstream).await else { return };
                    let changed =
                        gateway.registry.set(upstream.index, connection.announcement.clone(), catalog);
                    gateway.announce_changes(&changed);
                    *listed = Some(Instant::now());
                })
            });
        let reading: Vec<_> = reading.collect();
        let all = async {
            for reading in reading {
                drop(reading.await);
            }
        };
        // What is not there by then is there for the next list.
        let _ = tokio::time::timeout(LIST_PATIENCE, all).await;
    }

    /// Records whether the lists of a server could be read. Once every server was tried, no request waits for lists any more.
    fn note_listed(&self, upstream: &Upstream, problem: Option<Problem>) {
        *upstream.problem.lock().unwrap_or_else(PoisonError::into_inner) = problem;
        upstream.was_tried.store(true, Ordering::Release);
        let is_tried = |upstream: &Arc<Upstream>| upstream.was_tried.load(Ordering::Acquire);
        if self.upstreams.iter().all(is_tried) {
            self.is_listed.send_replace(true);
        }
    }

    /// Waits until reading the lists of every server was tried once, but not longer than `patience`.
    pub(super) async fn wait_until_listed(&self, patience: Duration) {
        let mut is_listed = self.is_listed.subscribe();
        if !*is_listed.borrow() {
            let _ = tokio::time::timeout(patience, is_listed.wait_for(|listed| *listed)).await;
        }
    }
}

/// Logs that the lists of a server cannot be read, or can be again; once for each problem.
fn log_problem(upstream: &Upstream, problem: Option<&Problem>) {
    let before = upstream.problem.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let name = &upstream.settings.name;
    match problem {
        Some(problem) if before.as_ref() != Some(problem) => {
            let user = upstream.settings.user_credential.as_ref();
            let advice = match user.is_some_and(|user| user.of_gateway.is_none()) {
                true => {
                    "; they are read when a caller with a credential asks for them, or always with list_credential_env"
                }
                false => "",
            };
            let message = format!("the lists of the server {name:?} cannot be read: {problem}{advice}");
            upstream.log.write(Level::Warn, &message);
        }
        None if before.is_some() => {
            upstream.log.write(Level::Info, &format!("the lists of the server {name:?} were read"));
        }
        _ => {}
    }
}
