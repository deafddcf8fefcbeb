//! Limits, counts and records the requests that go to servers.
//!
//! ```text
//! request ─▶ rate? ─▶ totals of today? ─▶ circuit of the server? ─▶ place in its queue ─▶ server
//!               └──────────┴─ 429 ─────────────────┴──────┴─ 503, with Retry-After
//! ```
//!
//! A refused request was not sent, so nothing has run. An admitted request has a place until it ends, however it ends. Tokens
//! and stored bytes count when the result arrives, so a caller that reaches its limit can finish the calls in flight.

mod audit;
mod breaker;
mod metrics;
mod queue;
mod rate;
mod totals;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use hyper::StatusCode;
use tidegate_gate::CallerId;
use tidegate_gateway::caller::{Challenge, Principal};
use tidegate_gateway::calls::{Admitted, Admitting, End, Govern, Request, ServerState};
use tidegate_store::{Call, Clock, Consumed, DailyTotals, Owner, Usage};

pub use audit::Audit;
pub use breaker::Breaker;
pub use metrics::{MAX_TOOLS, Metrics, SpanCounts};
pub use queue::{FairQueue, NoPlace, Place};
pub use totals::{Totals, UsedUp};

use audit::RequestLine;
use rate::Rates;

/// How often the counts of this replica are added to the totals of all replicas.
const FLUSH_INTERVAL: Duration = Duration::from_secs(1);
/// How often the size of the store is measured.
const STORE_INTERVAL: Duration = Duration::from_secs(30);
/// The maximum number of callers whose owner in the store is remembered.
const MAX_OWNERS: usize = 100_000;
/// The caller in the audit log for a session without authentication, which has no name.
const UNNAMED: &str = "";

/// How requests are limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueSettings {
    /// The maximum number of requests that one server works on at once. One caller gets at most half of them.
    pub max_in_flight: usize,
    /// The maximum number of waiting requests of one caller for one server.
    pub max_waiting: usize,
    /// How long a request may wait for its turn.
    pub queue_time: Duration,
}

impl Default for QueueSettings {
    fn default() -> Self {
        Self { max_in_flight: 512, max_waiting: 256, queue_time: Duration::from_secs(30) }
    }
}

/// Returns the owner in the store of a caller's results.
pub type OwnerOf = Box<dyn Fn(&CallerId) -> Owner + Send + Sync>;

/// Limits, counts and records requests.
pub struct Governance {
    shared: Arc<Shared>,
    settings: QueueSettings,
    /// The queue of each server: a slow one delays no request to another.
    queues: Mutex<HashMap<String, Arc<FairQueue>>>,
    rates: Rates,
    owner_of: OwnerOf,
    /// The names of callers by their owner in the store, because entries of the ledger have only the owner.
    names: RwLock<HashMap<String, Arc<str>>>,
}

/// What admitted requests share.
struct Shared {
    totals: Totals,
    breakers: Mutex<HashMap<String, Arc<Breaker>>>,
    metrics: Metrics,
    audit: Option<Audit>,
    clock: Arc<dyn Clock>,
}

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refused {
    Rate(Duration),
    UsedUp(UsedUp),
    Circuit(Duration),
    NoPlace(NoPlace),
}

impl Refused {
    fn reason(self) -> &'static str {
        match self {
            Self::Rate(_) => "rate",
            Self::UsedUp(_) => "daily_limit",
            Self::Circuit(_) => "circuit_open",
            Self::NoPlace(NoPlace::Full) => "queue_full",
            Self::NoPlace(NoPlace::Timeout) => "queue_timeout",
        }
    }

    fn challenge(self, server: &str) -> Challenge {
        let (status, wait, message) = match self {
            Self::Rate(wait) => (
                StatusCode::TOO_MANY_REQUESTS,
                wait,
                "this caller has reached its limit of requests per minute".into(),
            ),
            Self::UsedUp(UsedUp { what, limit, wait }) => {
                let message = format!(
                    "this caller has reached its limit of {limit} {what} per day (UTC); stored results can still be \
                     read"
                );
                (StatusCode::TOO_MANY_REQUESTS, wait, message)
            }
            Self::Circuit(wait) => {
                let message = format!("the server {server} has failed several times in a row");
                (StatusCode::SERVICE_UNAVAILABLE, wait, message)
            }
            Self::NoPlace(NoPlace::Full) => (
                StatusCode::TOO_MANY_REQUESTS,
                Duration::from_secs(1),
                "too many requests of this caller are waiting".into(),
            ),
            Self::NoPlace(NoPlace::Timeout) => (
                StatusCode::SERVICE_UNAVAILABLE,
                Duration::from_secs(1),
                "the gateway is busy, and the request waited too long".into(),
            ),
        };
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        let message = format!("{message}; nothing was run, try again in {seconds} s");
        Challenge { status, www_authenticate: None, retry_after: Some(seconds), message }
    }
}

impl Governance {
    /// Returns an instance with these limits. Call [`Governance::flush_forever`] once, so that the totals are shared.
    pub fn new(
        settings: QueueSettings,
        totals: Arc<dyn DailyTotals>,
        metrics: Metrics,
        audit: Option<Audit>,
        clock: Arc<dyn Clock>,
        owner_of: OwnerOf,
    ) -> Self {
        let totals = Totals::new(totals, Arc::clone(&clock));
        Self {
            shared: Arc::new(Shared { totals, breakers: Mutex::default(), metrics, audit, clock }),
            queues: Mutex::default(),
            settings,
            rates: Rates::default(),
            owner_of,
            names: RwLock::default(),
        }
    }

    /// Starts a thread that adds the counts of this replica to the totals of all replicas each second, until this is dropped.
    pub fn flush_forever(&self, log: impl Fn(&str) + Send + 'static) {
        let shared = Arc::downgrade(&self.shared);
        std::thread::spawn(move || {
            let mut is_down = false;
            loop {
                std::thread::sleep(FLUSH_INTERVAL);
                let Some(shared) = shared.upgrade() else { return };
                let flushed = shared.totals.flush();
                if flushed.is_err() != is_down {
                    is_down = flushed.is_err();
                    log(match is_down {
                        true => {
                            "the store of today's totals is unreachable; each replica counts for itself until it is back"
                        }
                        false => "the store of today's totals is reachable again",
                    });
                }
            }
        });
    }

    /// Starts a thread that measures how much the store holds, until this is dropped.
    pub fn measure_store(&self, usage: impl Fn() -> Option<Usage> + Send + 'static) {
        let shared = Arc::downgrade(&self.shared);
        std::thread::spawn(move || {
            let mut waited = STORE_INTERVAL;
            // It looks more often than it measures, so that it ends soon.
            while let Some(shared) = shared.upgrade() {
                if waited >= STORE_INTERVAL {
                    waited = Duration::ZERO;
                    usage().into_iter().for_each(|usage| shared.metrics.set_store(usage));
                }
                drop(shared);
                std::thread::sleep(FLUSH_INTERVAL);
                waited += FLUSH_INTERVAL;
            }
        });
    }

    /// Adds the counts of this replica to the totals of all replicas now, for example before the process ends.
    pub fn flush(&self) {
        drop(self.shared.totals.flush());
    }

    /// Returns what a caller consumed today.
    pub fn consumed(&self, caller: &str) -> Consumed {
        self.shared.totals.of(caller)
    }

    /// Returns the metrics.
    pub fn metrics(&self) -> &Metrics {
        &self.shared.metrics
    }

    /// Remembers the name of a caller by its owner in the store.
    fn remember(&self, principal: &Principal) {
        let Some(id) = &principal.owner else { return };
        let owner = (self.owner_of)(id);
        let known = self.names.read().unwrap_or_else(PoisonError::into_inner).contains_key(owner.as_str());
        if !known {
            let mut names = self.names.write().unwrap_or_else(PoisonError::into_inner);
            if names.len() >= MAX_OWNERS {
                names.clear();
            }
            names.insert(owner.as_str().to_owned(), id.as_str().into());
        }
    }

    async fn check(&self, request: &Request<'_>, caller: &str) -> Result<Place, Refused> {
        let limits = &request.principal.limits;
        if let Some(limit) = limits.requests_per_minute {
            self.rates.take(caller, limit).map_err(Refused::Rate)?;
        }
        self.shared.totals.check(caller, limits).map_err(Refused::UsedUp)?;
        let breaker = self.shared.breaker(request.server);
        if let Some(wait) = breaker.refusal(Instant::now()) {
            return Err(Refused::Circuit(wait));
        }
        let queue = self.queue(request.server);
        let place = queue.place(caller, self.settings.queue_time).await.map_err(Refused::NoPlace)?;
        // Only now, because this may be the one trial of an open circuit, and its client may be gone while it waits.
        breaker.admit(Instant::now()).map_err(Refused::Circuit)?;
        Ok(place)
    }

    fn queue(&self, server: &str) -> Arc<FairQueue> {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        let QueueSettings { max_in_flight, max_waiting, .. } = self.settings;
        match queues.get(server) {
            Some(queue) => Arc::clone(queue),
            None => {
                let queue = queues.entry(server.to_owned());
                Arc::clone(queue.or_insert_with(|| FairQueue::new(max_in_flight, max_waiting)))
            }
        }
    }
}

impl Shared {
    fn breaker(&self, server: &str) -> Arc<Breaker> {
        let mut breakers = self.breakers.lock().unwrap_or_else(PoisonError::into_inner);
        match breakers.get(server) {
            Some(breaker) => Arc::clone(breaker),
            None => Arc::clone(breakers.entry(server.to_owned()).or_default()),
        }
    }

    fn note_request(
        &self,
        who: &AuditedRequest,
        decision: &'static str,
        ended: Option<(&'static str, Duration)>,
    ) {
        let Some(audit) = &self.audit else { return };
        self.metrics.audited();
        audit.request(&RequestLine {
            at: audit::time(self.clock.now()),
            event: "request",
            caller: audit::name(&who.caller),
            groups: who.groups.iter().map(|group| audit::name(group)).collect(),
            method: &who.method,
            server: &who.server,
            tool: audit::name(&who.tool),
            decision,
            outcome: ended.map(|(outcome, _)| outcome),
            milliseconds: ended.map(|(_, took)| audit::milliseconds(took)),
        });
    }
}

/// Keeps the counts since the last flush when the configuration is reloaded or the process ends.
impl Drop for Shared {
    fn drop(&mut self) {
        drop(self.totals.flush());
    }
}

/// What the audit log says about a request, apart from how it ended.
struct AuditedRequest {
    caller: String,
    groups: Vec<String>,
    method: String,
    server: String,
    tool: String,
}

impl AuditedRequest {
    fn of(request: &Request<'_>) -> Self {
        Self {
            caller: request.principal.name().to_owned(),
            groups: request.principal.groups.iter().cloned().collect(),
            method: request.method.to_owned(),
            server: request.server.to_owned(),
            tool: request.tool.to_owned(),
        }
    }
}

/// A request that was admitted and has not ended.
struct AdmittedRequest {
    shared: Arc<Shared>,
    who: AuditedRequest,
    began: Instant,
    end: Mutex<Option<End>>,
    _place: Place,
}

impl Admitted for AdmittedRequest {
    fn end(&self, end: End) {
        self.end.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(end);
    }
}

impl Drop for AdmittedRequest {
    fn drop(&mut self) {
        let end = self.end.lock().unwrap_or_else(PoisonError::into_inner).unwrap_or(End::Abandoned);
        let breaker = self.shared.breaker(&self.who.server);
        let outcome = match end {
            End::Answered => "answered",
            End::Failed(_) => "failed",
            End::Unreachable => "unreachable",
            End::Abandoned => "abandoned",
        };
        match end {
            End::Answered | End::Failed(_) => breaker.succeeded(),
            End::Unreachable => breaker.failed(Instant::now()),
            End::Abandoned => breaker.abandoned(),
        }
        let took = self.began.elapsed();
        self.shared.metrics.set_open(&self.who.server, breaker.is_open());
        self.shared.metrics.ended(&self.who.server, &self.who.tool, outcome, took);
        self.shared.note_request(&self.who, "allowed", Some((outcome, took)));
    }
}

impl Govern for Governance {
    fn admit<'a>(&'a self, request: Request<'a>) -> Admitting<'a> {
        Box::pin(async move {
            let who = AuditedRequest::of(&request);
            // A caller without a name counts by its session.
            let caller = if who.caller.is_empty() { request.session } else { &who.caller };
            self.remember(request.principal);
            match self.check(&request, caller).await {
                Ok(place) => {
                    // Only callers with a name have daily limits, and every session without one would stay until tomorrow.
                    if !who.caller.is_empty() {
                        self.shared.totals.count(caller, Consumed { requests: 1, ..Consumed::default() });
                    }
                    self.shared.metrics.began(request.server);
                    let (shared, began) = (Arc::clone(&self.shared), Instant::now());
                    let admitted =
                        AdmittedRequest { shared, who, began, end: Mutex::default(), _place: place };
                    Ok(Box::new(admitted) as Box<dyn Admitted>)
                }
                Err(refused) => {
                    self.shared.metrics.refused(refused.reason());
                    self.shared.note_request(&who, refused.reason(), None);
                    Err(refused.challenge(request.server))
                }
            }
        })
    }

    fn refuse(&self, request: Request<'_>, reason: &'static str) {
        self.shared.metrics.refused(reason);
        self.shared.note_request(&AuditedRequest::of(&request), reason, None);
    }

    fn record(&self, call: &Call) {
        let names = self.names.read().unwrap_or_else(PoisonError::into_inner);
        let name = call.owner.as_deref().and_then(|owner| names.get(owner)).map(Arc::clone);
        drop(names);
        if let Some(name) = &name {
            let consumed =
                Consumed { requests: 0, tokens: call.sent_tokens, stored_bytes: call.stored_bytes };
            self.shared.totals.count(name, consumed);
        }
        self.shared.metrics.result(call);
        if let Some(audit) = &self.shared.audit {
            self.shared.metrics.audited();
            audit.result(name.as_deref().unwrap_or(UNNAMED), call);
        }
    }

    fn metrics(&self, servers: &[ServerState<'_>]) -> Option<(&'static str, Vec<u8>)> {
        for server in servers {
            self.shared.metrics.set_server(server, self.queue(server.name).waiting());
            self.shared.metrics.set_open(server.name, self.shared.breaker(server.name).is_open());
        }
        Some((metrics::CONTENT_TYPE, self.shared.metrics.text().into_bytes()))
    }
}
