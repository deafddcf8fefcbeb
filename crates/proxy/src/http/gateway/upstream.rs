//! One server behind the gateway: its connections, each for whom it serves, and why it cannot be used at the moment.

use std::collections::HashMap;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tidegate_gateway::calls::ServerState;
use tidegate_gateway::catalog::ListKind;
use tidegate_gateway::credentials::Credential;
use tidegate_gateway::log::{Level, Line};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc};

use super::connection::{Connection, Era, Introduction};
use super::problem::Problem;
use super::settings::{Sharing, UpstreamSettings, UpstreamTarget};
use crate::http::remote::Remote;
use crate::http::shared_server::Log;
use crate::link::{Link, ServerMessage};

/// How long a failure to connect is remembered; until then nobody tries again.
const FAILURE_MEMORY: Duration = Duration::from_secs(1);

/// How long a server that did not answer `server/discover` counts as one with sessions only, the first time; each further time it
/// takes twice as long. Perhaps it only took long to start.
const FIRST_DOUBT: Duration = Duration::from_secs(300);
/// The longest such time.
const MAX_DOUBT: Duration = Duration::from_secs(24 * 3600);
/// How long a process that is ended for somebody else may take to leave its place.
const HANDOVER_TIME: Duration = Duration::from_secs(1);

/// How a request waits for a process while `max_processes` are running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Patience {
    /// Not at all.
    None,
    /// For up to `queue_seconds`.
    Queue,
    /// For up to `queue_seconds`; then the process that has been idle for longest is ended.
    EndIdle,
}

/// When a request asked for a connection, and how it waits for one.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlaceWait {
    pub(super) asked: Instant,
    pub(super) patience: Patience,
}

/// Whom a connection serves.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Whose {
    /// All callers.
    Everybody(Era),
    /// The gateway itself, which reads lists.
    Gateway,
    /// One session, in the era with sessions.
    Session(String),
    /// One caller without a session.
    Caller(String),
}

/// Holds a connection, or the reason why there is none.
#[derive(Default)]
struct Slot {
    connection: tokio::sync::Mutex<Option<Arc<Connection>>>,
    /// Why the last attempt failed, in which era, and when.
    failure: Mutex<Option<(Problem, Era, Instant)>>,
}

/// The log of a server, whose lines name it.
pub(super) struct UpstreamLog {
    name: String,
    all: tidegate_gateway::log::Log,
    /// Receives connection errors.
    pub(super) warnings: Log,
    /// Receives what its processes write to stderr, if that is logged.
    pub(super) stderr: Option<Log>,
}

impl UpstreamLog {
    pub(super) fn new(name: &str, all: &tidegate_gateway::log::Log, has_stderr: bool) -> Self {
        let lines = |level| -> Log {
            let (all, name) = (Arc::clone(all), name.to_owned());
            Arc::new(move |message: &str| all(Line { level, upstream: Some(&name), message }))
        };
        Self {
            name: name.to_owned(),
            all: Arc::clone(all),
            warnings: lines(Level::Warn),
            stderr: has_stderr.then(|| lines(Level::Info)),
        }
    }

    /// Writes a line.
    pub(super) fn write(&self, level: Level, message: &str) {
        (self.all)(Line { level, upstream: Some(&self.name), message });
    }
}

/// What a server was found to support.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Supported {
    pub(super) legacy: Option<bool>,
    pub(super) modern: Option<bool>,
    /// Whether the server keeps sessions over HTTP.
    pub(super) sessions: Option<bool>,
    /// Until when it counts as one with sessions only, and for how long that was.
    doubt: Option<(Instant, Duration)>,
}

impl Supported {
    /// Returns what counts at a time.
    fn at(mut self, now: Instant) -> Self {
        if self.doubt.is_some_and(|(until, _)| now < until) {
            self.modern = self.modern.or(Some(false));
        }
        self
    }

    /// Records that the server did not say whether it supports 2026-07-28.
    fn doubt_modern(&mut self, now: Instant) {
        let time = self.doubt.map_or(FIRST_DOUBT, |(_, time)| (2 * time).min(MAX_DOUBT));
        self.doubt = Some((now + time, time));
    }
}

/// One server behind the gateway.
pub(super) struct Upstream {
    pub(super) index: usize,
    pub(super) settings: UpstreamSettings,
    pub(super) remote: Option<Arc<Remote>>,
    pub(super) program: PathBuf,
    /// Makes links that change nothing in messages.
    pub(super) link: Link,
    pub(super) log: UpstreamLog,
    /// Notified when its lists may have changed.
    pub(super) lists_changed: Notify,
    /// The lists that it said have changed, on a connection that is not that of a single client.
    said_changed: Mutex<Vec<ListKind>>,
    /// Why its lists could not be read the last time.
    pub(super) problem: Mutex<Option<Problem>>,
    /// Whether reading its lists was tried at least once.
    pub(super) was_tried: AtomicBool,
    /// When its lists were read for a caller, with the credential of that caller.
    pub(super) listed_for_caller: tokio::sync::Mutex<Option<Instant>>,
    supported: Mutex<Supported>,
    slots: Mutex<HashMap<Whose, Arc<Slot>>>,
    places: Arc<Semaphore>,
}

impl Upstream {
    pub(super) fn new(
        index: usize,
        settings: UpstreamSettings,
        program: PathBuf,
        link: Link,
        log: UpstreamLog,
    ) -> Self {
        let places = Arc::new(Semaphore::new(settings.max_processes.max(1)));
        let remote = match &settings.target {
            UpstreamTarget::Url(remote) => Some(Arc::clone(remote)),
            UpstreamTarget::Command { .. } => None,
        };
        Self {
            index,
            settings,
            remote,
            program,
            link,
            log,
            lists_changed: Notify::new(),
            said_changed: Mutex::default(),
            problem: Mutex::default(),
            was_tried: AtomicBool::new(false),
            listed_for_caller: tokio::sync::Mutex::default(),
            supported: Mutex::default(),
            slots: Mutex::default(),
            places,
        }
    }

    /// Returns what the server was found to support.
    pub(super) fn supported(&self) -> Supported {
        self.supported.lock().unwrap_or_else(PoisonError::into_inner).at(Instant::now())
    }

    fn learn(&self, learn: impl FnOnce(&mut Supported)) {
        learn(&mut self.supported.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Returns whether all callers share the connections of an era.
    pub(super) fn is_shared(&self, era: Era) -> bool {
        if self.settings.user_credential.is_some() {
            return false;
        }
        match self.settings.sharing {
            Sharing::Shared => true,
            Sharing::Caller => false,
            Sharing::Auto => match (era, &self.remote) {
                // Every request stands alone.
                (Era::Modern, _) => true,
                (Era::Legacy, Some(_)) => self.supported().sessions == Some(false),
                (Era::Legacy, None) => false,
            },
        }
    }

    fn slots(&self) -> MutexGuard<'_, HashMap<Whose, Arc<Slot>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether its lists are read with the credentials of callers, because the gateway has none of its own for it and it
    /// lists nothing without one.
    pub(super) fn is_listed_by_callers(&self) -> bool {
        let has_none = self.settings.user_credential.as_ref().is_some_and(|user| user.of_gateway.is_none());
        has_none && self.problem.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Returns a connection of an era, with a credential, and opens it if necessary. `routed` handles the messages that belong to no request.
    pub(super) async fn connection(
        &self,
        whose: Whose,
        era: Era,
        client: &Introduction,
        credential: Option<Credential>,
        wait: PlaceWait,
        routed: impl FnOnce(mpsc::UnboundedReceiver<ServerMessage>, &Arc<Connection>),
    ) -> Result<Arc<Connection>, Problem> {
        let slot = Arc::clone(self.slots().entry(whose).or_default());
        let mut place = slot.connection.lock().await;
        let is_usable = |open: &&Arc<Connection>| !open.has_ended() && open.credential == credential;
        if let Some(open) = place.as_ref().filter(is_usable) {
            open.touch();
            return Ok(Arc::clone(open));
        }
        *place = None;
        if let Some((problem, in_era, at)) = &*slot.failure.lock().unwrap_or_else(PoisonError::into_inner)
            && *in_era == era
        {
            let is_known = match problem {
                // Whoever waited meanwhile has waited long enough; a place may be free for others.
                Problem::Full { .. } => *at > wait.asked,
                _ => at.elapsed() < FAILURE_MEMORY,
            };
            if is_known {
                return Err(problem.clone());
            }
        }
        let (unrouted, messages) = mpsc::unbounded_channel();
        let permit = match self.place(wait.patience).await {
            Ok(permit) => permit,
            Err(full) => {
                if wait.patience != Patience::None {
                    let failure = Some((full.clone(), era, Instant::now()));
                    *slot.failure.lock().unwrap_or_else(PoisonError::into_inner) = failure;
                }
                return Err(full);
            }
        };
        let opened = Connection::open(self, era, client, credential, permit, unrouted).await;
        let failure = opened.as_ref().err().map(|problem| (problem.clone(), era, Instant::now()));
        *slot.failure.lock().unwrap_or_else(PoisonError::into_inner) = failure;
        let opened = Arc::new(opened?);
        self.learn(|supported| match era {
            Era::Legacy => {
                supported.legacy = Some(true);
                supported.sessions = Some(opened.has_session);
            }
            Era::Modern => supported.modern = Some(true),
        });
        routed(messages, &opened);
        *place = Some(Arc::clone(&opened));
        Ok(opened)
    }

    /// Returns a connection that is already open.
    pub(super) fn begun(&self, whose: &Whose) -> Option<Arc<Connection>> {
        let slot = self.slots().get(whose).cloned()?;
        let place = slot.connection.try_lock().ok()?;
        place.as_ref().filter(|open| !open.has_ended()).cloned()
    }

    /// Returns its state, for the metrics.
    pub(super) fn state(&self) -> ServerState<'_> {
        let is_listed = match &*self.problem.lock().unwrap_or_else(PoisonError::into_inner) {
            // It is used so much that no process was left for reading its lists.
            None | Some(Problem::Full { .. }) => true,
            Some(_) => self.listed_for_caller.try_lock().is_ok_and(|listed| listed.is_some()),
        };
        let is_open = |slot: &&Arc<Slot>| {
            let Ok(place) = slot.connection.try_lock() else { return false };
            place.as_ref().is_some_and(|open| !open.has_ended())
        };
        let running = || self.settings.max_processes.max(1).saturating_sub(self.places.available_permits());
        ServerState {
            name: &self.settings.name,
            is_up: is_listed && self.was_tried.load(Ordering::Acquire),
            connections: self.slots().values().filter(is_open).count(),
            processes: self.remote.is_none().then(running),
        }
    }

    /// Notes that the server said that lists have changed.
    pub(super) fn say_changed(&self, kinds: &[ListKind]) {
        self.said_changed.lock().unwrap_or_else(PoisonError::into_inner).extend(kinds);
        self.lists_changed.notify_one();
    }

    /// Takes the lists that the server said have changed.
    pub(super) fn take_said_changed(&self) -> Vec<ListKind> {
        std::mem::take(&mut *self.said_changed.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Records that the server does not support an era.
    pub(super) fn lacks(&self, era: Era) {
        self.learn(|supported| match era {
            Era::Legacy => supported.legacy = Some(false),
            Era::Modern => supported.modern = Some(false),
        });
    }

    /// Records that `server/discover` failed, though the server answers `initialize`.
    pub(super) fn failed_probe(&self, problem: &Problem) {
        if matches!(problem, Problem::Refused { .. }) {
            return self.lacks(Era::Modern);
        }
        self.learn(|supported| supported.doubt_modern(Instant::now()));
    }

    /// Waits for a permit to run one more process; `None` if the server is reached over HTTP.
    async fn place(&self, patience: Patience) -> Result<Option<OwnedSemaphorePermit>, Problem> {
        if self.remote.is_some() {
            return Ok(None);
        }
        let queue_time = self.settings.queue_time;
        let mut waiting = pin!(Arc::clone(&self.places).acquire_owned());
        let permit = tokio::time::timeout(Duration::ZERO, &mut waiting).await;
        if let Ok(Ok(permit)) = permit {
            return Ok(Some(permit));
        }
        match patience {
            // The process that reads lists is not needed between two readings.
            Patience::None => self.end_idle(Duration::MAX),
            Patience::Queue => false,
            Patience::EndIdle => self.end_idle(queue_time),
        };
        let time = if patience == Patience::None { Duration::ZERO } else { queue_time };
        if let Ok(Ok(permit)) = tokio::time::timeout(time, &mut waiting).await {
            return Ok(Some(permit));
        }
        if patience == Patience::EndIdle
            && self.end_idle(Duration::ZERO)
            && let Ok(Ok(permit)) = tokio::time::timeout(HANDOVER_TIME, waiting).await
        {
            return Ok(Some(permit));
        }
        Err(Problem::Full {
            name: self.settings.name.clone(),
            places: self.settings.max_processes,
            seconds: queue_time.as_secs(),
        })
    }

    /// Ends the process that has been idle for longest, at least for `min_idle`, or the one that reads lists; returns whether
    /// there was one.
    fn end_idle(&self, min_idle: Duration) -> bool {
        let slots = self.slots();
        let idle = slots.iter().filter_map(|(whose, slot)| {
            let place = slot.connection.try_lock().ok()?;
            let idle = place.as_ref().and_then(Connection::idle_time)?;
            let idle = if *whose == Whose::Gateway { Duration::MAX } else { idle };
            (idle >= min_idle).then_some((idle, slot))
        });
        let Some((_, slot)) = idle.max_by_key(|(idle, _)| *idle) else { return false };
        let Ok(mut place) = slot.connection.try_lock() else { return false };
        // Somebody may have begun to use it meanwhile.
        if place.as_ref().and_then(Connection::idle_time).is_none() {
            return false;
        }
        *place = None;
        true
    }

    /// Returns whether a connection is open, or about to be.
    pub(super) fn is_open(&self, whose: &Whose) -> bool {
        let slot = self.slots().get(whose).cloned();
        slot.is_some_and(|slot| match slot.connection.try_lock() {
            Ok(place) => place.as_ref().is_some_and(|open| !open.has_ended()),
            Err(_) => true,
        })
    }

    /// Ends the process that reads lists if no further process may run.
    pub(super) fn yield_lister(&self) {
        if self.remote.is_none() && self.places.available_permits() == 0 {
            self.forget(&Whose::Gateway);
        }
    }

    /// Ends the connections of single callers that have been idle for too long.
    pub(super) fn reap(&self) {
        let idle_time = self.settings.idle_time;
        self.slots().retain(|whose, slot| {
            let Ok(mut place) = slot.connection.try_lock() else { return true };
            let is_over = place.as_ref().is_none_or(|open| {
                open.has_ended() || (!matches!(whose, Whose::Everybody(_)) && open.is_idle(idle_time))
            });
            if is_over {
                *place = None;
            }
            // A slot that another task holds, and is about to fill, must stay.
            !is_over || Arc::strong_count(slot) > 1
        });
    }

    /// Removes a connection, for example that of an ended session.
    pub(super) fn forget(&self, whose: &Whose) {
        self.slots().remove(whose);
    }

    /// Ends all connections.
    pub(super) fn end(&self) {
        self.slots().clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_did_not_say_what_it_supports_is_asked_again() {
        let (mut supported, now) = (Supported::default(), Instant::now());
        supported.doubt_modern(now);
        assert_eq!(supported.at(now).modern, Some(false));
        assert_eq!(supported.at(now + FIRST_DOUBT).modern, None, "it may have taken long to start");
        supported.doubt_modern(now);
        assert_eq!(supported.at(now + FIRST_DOUBT).modern, Some(false), "the second time it takes longer");
        (0..20).for_each(|_| supported.doubt_modern(now));
        assert_eq!(supported.at(now + MAX_DOUBT).modern, None);
        supported.modern = Some(true);
        assert_eq!(supported.at(now).modern, Some(true), "it has answered meanwhile");
    }
}
