//! Builds the gateway from the configuration, and serves it.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use tidegate_access::credentials::StoredCredentials;
use tidegate_config::{Config, FILE_NAME, LogFormat};
use tidegate_gate::policy::Rules;
use tidegate_gate::{Gate, Setup, StoreLocation, StoreSettings, UserStore};
use tidegate_gateway::credentials::{FindCredential, NoCredentials};
use tidegate_gateway::log::Line;
use tidegate_gateway::seal::Sealer;
use tidegate_proxy::Limits;
use tidegate_proxy::http::gateway::{Gateway, GatewayServers, GatewaySettings, RunningGateway};
use tidegate_proxy::http::{Backend, Options, Safety, ServeError, Tls, serve};
use tidegate_query::{Queries, Worker};
use tidegate_store::{PostgresStore, ReplicaMessages, SystemClock};

use super::callers::Callers;
use super::{Arguments, callers, credential, upstreams};
use crate::error::CommandError;
use crate::keep::{causes, store_settings};
use crate::run::{StoreWarning, check_shared};
use crate::ui;

/// The name under which results of the gateway are kept; each tool belongs to its own server.
const NAME: &str = "gateway";

/// Runs the command until a signal ends the process.
pub(super) fn run(arguments: &Arguments) -> Result<(), CommandError> {
    let config = Config::load(arguments.config.as_deref())?;
    ui::log_json(logs_json(&config));
    let gateway = gateway(&config)?;
    let tls = match (&arguments.tls_cert, &arguments.tls_key) {
        (Some(certificate), Some(key)) => {
            Some(Tls::from_files(certificate, key).map_err(|error| CommandError::bad_input(causes(&error)))?)
        }
        _ => None,
    };
    let threads = std::thread::available_parallelism().map_or(2, usize::from).clamp(2, 8);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .enable_all()
        .build()
        .map_err(CommandError::failed)?;
    let gateway = Arc::new(RunningGateway::new(gateway));
    let safety = Safety {
        hosts: arguments.allow_host.clone(),
        origins: arguments.allow_origin.clone(),
        https: tls.is_some(),
        ..Safety::default()
    };
    let scheme = if tls.is_some() { "https" } else { "http" };
    let ready = Box::new(move |bound: SocketAddr| {
        ui::note(&format!("tidegate: listening on {scheme}://{bound}/mcp"));
    });
    let options = Options { address: arguments.http, safety, ready };
    let (file, running) = (arguments.config.clone(), Arc::clone(&gateway));
    let hangups = {
        let _context = runtime.enter();
        hangups()
    };
    runtime.spawn(reload_on_sighup(hangups, file, running));
    let served = runtime.block_on(serve(Backend::Gateway(Arc::clone(&gateway), tls), options));
    runtime.shutdown_timeout(std::time::Duration::from_secs(5));
    gateway.finish();
    served.map_err(|error| match error {
        ServeError::Open(_) => CommandError::bad_input(error)
            .hint("listen on 127.0.0.1, or configure who may call the gateway (docs/guides/gateway.md)"),
        other => CommandError::out_of_reach(causes(&other)),
    })
}

#[cfg(unix)]
type Hangups = Option<tokio::signal::unix::Signal>;
#[cfg(not(unix))]
type Hangups = ();

/// Receives SIGHUP from here on, which would otherwise end the process: the gateway must not listen before.
#[cfg(unix)]
fn hangups() -> Hangups {
    use tokio::signal::unix::{SignalKind, signal};

    signal(SignalKind::hangup()).ok()
}

/// Other systems have no such signal.
#[cfg(not(unix))]
fn hangups() -> Hangups {}

/// Reads the configuration again whenever SIGHUP says so; one with a mistake changes nothing.
#[cfg(unix)]
async fn reload_on_sighup(hangups: Hangups, file: Option<PathBuf>, gateway: Arc<RunningGateway>) {
    let Some(mut hangups) = hangups else { return };
    while hangups.recv().await.is_some() {
        let file = file.clone();
        let built = tokio::task::spawn_blocking(move || -> Result<Gateway, CommandError> {
            let config = Config::load(file.as_deref())?;
            let gateway = self::gateway(&config)?;
            ui::log_json(logs_json(&config));
            Ok(gateway)
        });
        match built.await {
            Ok(Ok(new)) => match gateway.replace(new) {
                Ok(()) => ui::note("tidegate: the configuration was read again"),
                Err(error) => ui::warn(&format!("tidegate: {error}; restart it to allow everybody")),
            },
            Ok(Err(error)) => {
                ui::warn("tidegate: the configuration was not read again; the one before it stays");
                ui::fail(&error);
            }
            Err(_) => ui::warn("tidegate: reading the configuration again failed; the one before it stays"),
        }
    }
}

#[cfg(not(unix))]
async fn reload_on_sighup(_: Hangups, _: Option<PathBuf>, _: Arc<RunningGateway>) {}

/// Returns whether lines of the log are JSON.
fn logs_json(config: &Config) -> bool {
    config.access().log_format == LogFormat::Json
}

/// Connects to the database that the replicas share, if there is one.
fn database(
    place: &StoreLocation,
    settings: &StoreSettings,
) -> Result<Option<Arc<PostgresStore>>, CommandError> {
    let Some(remote) = place.remote() else { return Ok(None) };
    let connected = remote.connect(settings, Arc::new(SystemClock)).map_err(CommandError::out_of_reach)?;
    Ok(Some(Arc::new(connected)))
}

/// Returns the gateway that a configuration describes.
fn gateway(config: &Config) -> Result<Gateway, CommandError> {
    let (place, settings) = (config.place(), store_settings(config)?);
    check_shared(&place, &settings)?;
    let upstreams = upstreams::read(config)?;
    if upstreams.is_empty() {
        return Err(CommandError::bad_input("the configuration names no server")
            .hint(format!("add a section [upstream.NAME] with a command or a url to {FILE_NAME}")));
    }
    let servers = GatewayServers::new(&upstreams);
    let warning = Arc::new(StoreWarning::new(&place));
    warning.check();
    let limits = Limits {
        max_message_bytes: config.max_result_bytes().unwrap_or(Limits::DEFAULT_MAX_MESSAGE_BYTES),
        folder: place.folder(),
        ..Limits::default()
    };
    let report = Box::new(move |why: &str| warning.report(why));
    let keep =
        UserStore::of_user(place.clone()).with_settings(settings.clone()).of_gateway().with_report(report);
    let keep = Arc::new(keep);
    let database = database(&place, &settings)?;
    let Callers { authenticate, govern, trace } = callers::read(config, &keep, database.clone(), NAME)?;
    let worker = Worker::current().map_err(CommandError::failed)?;
    let engines = Queries::new(tidegate_query::Limits::default(), worker);
    let policies = config.policies(NAME, Rules::default());
    let recording = Arc::clone(&govern);
    let gate = Gate::new(Setup { keep: Arc::clone(&keep), policies, engines, server: NAME.to_owned() })
        .observed_by(Arc::new(move |call| recording.record(call)))
        .resolving_references()
        .saving_in(place)
        .in_front_of(servers.for_gate());
    let credentials: Arc<dyn FindCredential> = match upstreams.iter().any(|one| one.user_credential.is_some())
    {
        true => Arc::new(StoredCredentials::new(credential::stored(keep.place(), &settings)?)),
        false => Arc::new(NoCredentials),
    };
    let settings = GatewaySettings {
        upstreams,
        clients: config.clients(),
        authenticate,
        govern,
        credentials,
        replicas: database.map(|database| database as Arc<dyn ReplicaMessages>),
        program: std::env::current_exe().map_err(CommandError::failed)?,
        log: Arc::new(|line: Line<'_>| {
            ui::log(line.level.name(), &format!("tidegate: {}", line.message), line.upstream);
        }),
        trace,
        logs_stderr: logs_json(config),
    };
    Ok(Gateway::new(Arc::new(gate), servers, limits, Sealer::new(keep), settings))
}
