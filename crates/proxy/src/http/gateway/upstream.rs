//! One server behind the gateway: its connections, each for whom it serves, and why it cannot be used at the moment.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tidegate_gateway::catalog::ListKind;
use tidegate_gateway::credentials::Credential;
use tidegate_gateway::log::{Level, Line};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc};

use super::connection::{Connection, Era, Introduction};
use super::settings::{Sharing, UpstreamSettings, UpstreamTarget};
use crate::http::remote::Remote;
use crate::http::shared_server::Log;
use crate::link::{Link, ServerMessage};

/// How long a failure to connect is remembered; until then nobody tries again.
const FAILURE_MEMORY: Duration = Duration::from_secs(1);

/// Why a server cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Problem {
    #[error("it cannot be started: {0}")]
    NotStarted(String),
    #[error("it did not answer {method} within {seconds} s")]
    Silent { method: String, seconds: u64 },
    #[error("{message}")]
    Refused { code: i64, message: String },
    #[error("{0}")]
    Invalid(String),
    #[error(
        "all {places} of its processes are in use, and none became free within {seconds} s (max_processes and \
         queue_seconds of [upstream.{name}])"
    )]
    Full { name: String, places: usize, seconds: u64 },
    #[error("it needs a credential of this caller, {owner:?}, and there is none")]
    NoCredential { owner: String, server: String },
    #[error("the credential of this caller for it cannot be read")]
    CredentialUnreadable,
}

impl Problem {
    /// Says what is wrong with a server, and what to do. `owner` is the caller whose credential the server gets, if it does.
    pub(super) fn explain(&self, server: &str, owner: Option<&str>) -> String {
        let advice = match (self, owner) {
            (Self::NoCredential { owner, server }, _) => {
                format!("the administrator of the gateway sets it with: {}", set_command(owner, server))
            }
            (Self::Full { .. } | Self::CredentialUnreadable, _) => "try again in a moment".to_owned(),
            (Self::Refused { message, .. }, Some(owner)) if says_unauthorized(message) => format!(
                "the credential of this caller for it is no longer valid; the administrator of the gateway sets another with: {}",
                set_command(owner, server)
            ),
            (Self::Refused { message, .. }, None) if says_unauthorized(message) => {
                "the gateway's own credential for it is missing or no longer valid; the administrator of the gateway must renew it"
                    .to_owned()
            }
            _ => "try again later, or tell the administrator of the gateway".to_owned(),
        };
        format!("the server {server:?} cannot be used now: {self}; nothing was run; {advice}")
    }
}

/// Returns the command that sets a credential.
fn set_command(owner: &str, server: &str) -> String {
    let quoted = |word: &str| format!("'{}'", word.replace('\'', r"'\''"));
    format!("tidegate gateway credential set --owner {} --upstream {}", quoted(owner), quoted(server))
}

fn says_unauthorized(message: &str) -> bool {
    ["status 401", "status 403"].iter().any(|status| message.contains(status))
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
        *self.supported.lock().unwrap_or_else(PoisonError::into_inner)
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
            && at.elapsed() < FAILURE_MEMORY
        {
            return Err(problem.clone());
        }
        let (unrouted, messages) = mpsc::unbounded_channel();
        let permit = self.place().await?;
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

    /// Waits for a permit to run one more process; `None` if the server is reached over HTTP.
    async fn place(&self) -> Result<Option<OwnedSemaphorePermit>, Problem> {
        if self.remote.is_some() {
            return Ok(None);
        }
        let waiting = Arc::clone(&self.places).acquire_owned();
        match tokio::time::timeout(self.settings.queue_time, waiting).await {
            Ok(permit) => Ok(permit.ok()),
            Err(_) => Err(Problem::Full {
                name: self.settings.name.clone(),
                places: self.settings.max_processes,
                seconds: self.settings.queue_time.as_secs(),
            }),
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
