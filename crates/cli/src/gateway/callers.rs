//! Builds the authentication, the limits and the audit log of the gateway from its configuration.

use std::fs::OpenOptions;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use tidegate_access::auth::issuer::{Issuer, IssuerSettings, Log, Timing};
use tidegate_access::auth::jwk::Algorithm;
use tidegate_access::auth::key::KeyHash;
use tidegate_access::auth::role::{Role, Roles};
use tidegate_access::auth::{Authentication, KeyCaller};
use tidegate_access::govern::{Audit, Governance, Metrics, QueueSettings};
use tidegate_config::{Access, AccessIssuer, AccessRole, Config};
use tidegate_gate::{Principal, UserStore};
use tidegate_gateway::caller::{Authenticate, Unauthenticated};
use tidegate_gateway::calls::Govern;
use tidegate_gateway::limits::Limits;
use tidegate_gateway::trace::Trace;
use tidegate_store::{Clock, DailyTotals, MemoryTotals, PostgresStore, SystemClock};

use crate::error::CommandError;
use crate::ui;

/// Who may call, how much, and where the traces of calls go.
pub(super) struct Callers {
    pub(super) authenticate: Arc<dyn Authenticate>,
    pub(super) govern: Arc<dyn Govern>,
    pub(super) trace: Option<Arc<dyn Trace>>,
}

/// Returns what authenticates and limits the callers of the gateway; `name` is the server under which results are stored.
pub(super) fn read(
    config: &Config,
    keep: &Arc<UserStore>,
    database: Option<Arc<PostgresStore>>,
    name: &'static str,
) -> Result<Callers, CommandError> {
    let access = config.access();
    let audit = access.audit_file.as_deref().map(audit_log).transpose()?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let queue = QueueSettings {
        max_in_flight: usize::try_from(access.queue.max_in_flight).unwrap_or(usize::MAX),
        max_waiting: usize::try_from(access.queue.max_waiting).unwrap_or(usize::MAX),
        queue_time: access.queue.queue_time,
    };
    let (store, keep) = (Arc::clone(keep), Arc::clone(keep));
    let owner_of = Box::new(move |id: &_| keep.of_principal(&Principal::Named(Clone::clone(id)), name).owner);
    let totals = totals(&access, database);
    let metrics = Metrics::default();
    let trace = super::traces::read(&access, metrics.spans())?;
    let govern = Governance::new(queue, totals, metrics, audit, Arc::clone(&clock), owner_of);
    govern.flush_forever(|line| ui::warn(&format!("tidegate: {line}")));
    govern.measure_store(move || store.open().ok()?.store.usage().ok());
    Ok(Callers { authenticate: authentication(access, clock)?, govern: Arc::new(govern), trace })
}

fn authentication(access: Access, clock: Arc<dyn Clock>) -> Result<Arc<dyn Authenticate>, CommandError> {
    let Access { resource, keys, issuers, roles, .. } = access;
    if keys.is_empty() && issuers.is_empty() {
        // A configuration with roles has callers.
        return Ok(Arc::new(Unauthenticated::default()));
    }
    let log: Log = Arc::new(|line: &str| ui::warn(&format!("tidegate: {line}")));
    let keys = keys.into_iter().map(|key| {
        let hash: KeyHash = key.hash.parse().map_err(CommandError::bad_input)?;
        Ok(KeyCaller { name: key.name, hash, groups: key.groups })
    });
    let keys = keys.collect::<Result<Vec<_>, CommandError>>()?;
    let issuers = issuers.into_iter().map(|configured| {
        let issuer = Issuer::new(issuer(configured), Timing::default(), Arc::clone(&log));
        issuer.map(Arc::new).map_err(CommandError::bad_input)
    });
    let issuers = issuers.collect::<Result<Vec<_>, CommandError>>()?;
    let roles = Roles::new(roles.into_iter().map(role).collect());
    Ok(Arc::new(Authentication::new(keys, issuers, roles, resource, clock)))
}

fn issuer(configured: AccessIssuer) -> IssuerSettings {
    let AccessIssuer { issuer, jwks_url, algorithms, audience, groups_claim, leeway_seconds } = configured;
    let usual = IssuerSettings::new(issuer);
    IssuerSettings {
        jwks_url,
        algorithms: algorithms.map_or(usual.algorithms, |names| {
            names.iter().filter_map(|name| Algorithm::named(name)).collect()
        }),
        audience,
        groups_claim: groups_claim.unwrap_or(usual.groups_claim),
        leeway_seconds,
        issuer: usual.issuer,
    }
}

fn role(configured: AccessRole) -> Role {
    let AccessRole { name, groups, scopes, callers, tier, servers, tools, limits } = configured;
    let [per_minute, requests_per_day, tokens_per_day, stored_bytes_per_day] = limits;
    let requests_per_minute = per_minute.map(|limit| u32::try_from(limit).unwrap_or(u32::MAX));
    let limits = Limits { requests_per_minute, requests_per_day, tokens_per_day, stored_bytes_per_day };
    Role { name, groups, scopes, callers, tier, servers, tools, limits }
}

/// Returns the daily totals: those in the database if there is one, otherwise those of this process, which survive a reload.
fn totals(access: &Access, database: Option<Arc<PostgresStore>>) -> Arc<dyn DailyTotals> {
    static OF_PROCESS: OnceLock<Arc<MemoryTotals>> = OnceLock::new();
    let is_limited = access.roles.iter().any(|role| role.limits[1..].iter().any(Option::is_some));
    match database.filter(|_| is_limited) {
        Some(database) => database,
        None => Arc::clone(OF_PROCESS.get_or_init(Arc::default)) as Arc<dyn DailyTotals>,
    }
}

/// Opens the audit log; only the user who runs the gateway can read a new file.
fn audit_log(path: &Path) -> Result<Audit, CommandError> {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.append(true).create(true).open(path).map_err(|error| {
        CommandError::bad_input(format!("the audit log {} cannot be written: {error}", path.display()))
    })?;
    Ok(Audit::to(file))
}
