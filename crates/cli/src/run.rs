//! `tidegate run`: the proxy in front of one server, with stdio or HTTP on each side.

mod http;
mod monitor;

use std::ffi::OsString;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use clap::builder::{FalseyValueParser, PossibleValuesParser};
use clap::{ArgAction, Args};
use tidegate_config::Config;
use tidegate_gate::policy::Policies;
use tidegate_gate::profile::ProfileRules;
use tidegate_gate::tier::Tier;
use tidegate_gate::{Caller, Gate, MAX_MEMORY_BYTES, Setup, StoreLocation, StoreSettings, UserStore, causes};
use tidegate_proxy::stdio::{self, Options};
use tidegate_proxy::{Limits, Link, Mode};
use tidegate_query::{Queries, Worker};
use tidegate_store::check_folder;

use crate::error::CommandError;
use crate::keep::store_settings;
use crate::overrides::{Overrides, duration};
use crate::system::programs_on_path;
use crate::ui;
pub(crate) use http::{host_name, required_variable};
use monitor::LogFormat;

/// Run an MCP server and keep its results within a budget
///
/// Starts the server and speaks to the client on stdin and stdout. A result that fits passes unchanged. A larger one is
/// stored whole and replaced by an overview, and the client gets one more tool, result_query, to read any part of it. In
/// a client's configuration, put `tidegate run --` in front of the server's command.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tidegate run -- npx -y @modelcontextprotocol/server-filesystem .\n  \
    tidegate run --server github --budget 4000 -- github-mcp-server stdio\n  tidegate run --observe -- my-server\n  \
    tidegate run --url https://example.com/mcp --header-env Authorization=EXAMPLE_AUTH\n  \
    tidegate run --http 127.0.0.1:8080 -- npx -y @modelcontextprotocol/server-memory")]
pub(crate) struct Arguments {
    /// Only measure; every byte passes unchanged
    #[arg(long, env = "TIDEGATE_OBSERVE", value_parser = FalseyValueParser::new(), action = ArgAction::SetTrue)]
    observe: bool,

    /// Name of the server, for its section in tidegate.toml and for statistics [default: the command's name]
    #[arg(long, value_name = "NAME", env = "TIDEGATE_SERVER")]
    server: Option<String>,

    #[command(flatten)]
    overrides: Overrides,

    /// Tier of every client: what it may call and read; overrides the tiers that tidegate.toml sets for clients
    /// [default: admin]
    #[arg(long, value_name = "TIER", env = "TIDEGATE_TIER", conflicts_with = "observe",
        value_parser = PossibleValuesParser::new(Tier::NAMES))]
    tier: Option<String>,

    /// Keep results only in memory, and drop them when the server exits
    #[arg(long, env = "TIDEGATE_EPHEMERAL", value_parser = FalseyValueParser::new(), action = ArgAction::SetTrue)]
    ephemeral: bool,

    /// Answer a request with an error if the server is silent for longer than this, such as 30s [default: 10m with --url or
    /// --http, otherwise none]
    #[arg(long, value_name = "TIME", env = "TIDEGATE_TIMEOUT", value_parser = duration)]
    timeout: Option<Duration>,

    /// Log a line for every call, fetch and view to stderr, with its bytes and tokens before and after
    #[arg(long, value_name = "FORMAT", env = "TIDEGATE_LOG_CALLS", num_args = 0..=1, default_missing_value = "logfmt")]
    #[arg(require_equals = true)]
    log_calls: Option<LogFormat>,

    #[command(flatten)]
    http: http::Arguments,

    /// Command that starts the server, with its arguments
    #[arg(
        trailing_var_arg = true,
        required_unless_present = "address",
        conflicts_with = "address",
        value_name = "COMMAND"
    )]
    command: Vec<OsString>,
}

/// Runs the command; returns the exit code of the server.
pub(crate) fn run(arguments: &Arguments) -> Result<u8, CommandError> {
    let config = Config::load(arguments.overrides.config.as_deref())?;
    let server = arguments.server();
    let save_place = config.place();
    let place = if arguments.ephemeral { StoreLocation::Memory } else { save_place.clone() };
    let settings = store_settings(&config)?;
    check_shared(&place, &settings)?;
    let policies = config.policies(&server, arguments.overrides.rules(&config, &server)?);
    let limits = Limits {
        max_message_bytes: arguments
            .overrides
            .max_result_bytes
            .or(config.max_result_bytes())
            .unwrap_or(Limits::DEFAULT_MAX_MESSAGE_BYTES),
        folder: place.folder(),
        ..Limits::default()
    };
    let warning = Arc::new(StoreWarning::new(&place));
    if !arguments.observe {
        warning.check();
    }
    let mut clients = config.clients();
    if let Some(tier) = arguments.tier.as_deref().and_then(Tier::named) {
        clients.insert(0, ("*".to_owned(), ProfileRules { tier: Some(tier), ..ProfileRules::default() }));
    }
    let is_in_shell = arguments.is_in_shell(&place);
    let keep = UserStore::of_user(place).with_settings(settings);
    let gate = arguments.gate(server, (keep, warning), policies)?;
    let gate = gate.readable_in_shell(is_in_shell).saving_in(save_place);
    let mode = if arguments.observe { Mode::Observe } else { Mode::Shape };
    let link = Link::new(Arc::new(gate), Caller::unknown(clients), mode, arguments.timeout());
    let link = link.with_limits(limits);
    let program = std::env::current_exe().map_err(CommandError::failed)?;
    if arguments.http.is_used() {
        return arguments.http.run(link, program, &arguments.command).map(|()| 0);
    }
    let options = Options { command: arguments.command.clone(), program };
    stdio::run(link, &options)
        .map_err(|error| CommandError::out_of_reach(error).hint("check that the command runs in this folder"))
}

/// Reports on stderr that nothing can be stored: at startup if a check finds that, and when storing a result fails.
pub(crate) struct StoreWarning {
    place: StoreLocation,
    /// What was reported at startup, until a result fails for the same reason.
    at_start: Mutex<Option<String>>,
}

impl StoreWarning {
    pub(crate) fn new(place: &StoreLocation) -> Self {
        Self { place: place.clone(), at_start: Mutex::default() }
    }

    /// Checks the folder on another thread, because that takes a moment on a slow disk.
    pub(crate) fn check(self: &Arc<Self>) {
        let warning = Arc::clone(self);
        std::thread::spawn(move || {
            let folder = warning.place.folder().filter(|_| warning.place.remote().is_none());
            let Some(Err(error)) = folder.as_deref().map(check_folder) else { return };
            let why = causes(&error);
            // Under the lock, so that a result that fails at the same time does not report it again.
            let mut at_start = warning.at_start.lock().unwrap_or_else(PoisonError::into_inner);
            warning.print(&why);
            *at_start = Some(why);
        });
    }

    /// Reports why a result could not be stored.
    pub(crate) fn report(&self, why: &str) {
        let known = self.at_start.lock().unwrap_or_else(PoisonError::into_inner).take();
        if known.as_deref() != Some(why) {
            self.print(why);
        }
    }

    fn print(&self, why: &str) {
        if self.place != StoreLocation::Memory {
            ui::warn(&store_warning(&self.place, why));
        }
    }
}

/// Fails if the store is shared and this build, or its missing sealing key, does not allow that.
pub(crate) fn check_shared(place: &StoreLocation, settings: &StoreSettings) -> Result<(), CommandError> {
    match place.remote() {
        Some(_) if !cfg!(feature = "gateway") => Err(CommandError::bad_input(
            "[store] url names a PostgreSQL store, but this build of tidegate has no PostgreSQL",
        )
        .hint("install a build that has it: cargo install tidegate --features gateway")),
        Some(_) if settings.seal.is_none() => Err(CommandError::bad_input(
            "[store] url names a store that several machines share, but there is no sealing key that they share",
        )
        .hint("make one with tidegate store key -o FILE, and set sealing_key_file of [store] to FILE on every machine")),
        _ => Ok(()),
    }
}

/// Returns the warning that a store cannot be used.
pub(crate) fn store_warning(place: &StoreLocation, why: &str) -> String {
    format!(
        "tidegate: nothing can be stored in {}: {why}; meanwhile each server keeps its results in memory until it exits, \
         {} at most; tidegate doctor says what to do",
        place.shown(),
        ui::bytes(MAX_MEMORY_BYTES)
    )
}

impl Arguments {
    fn server(&self) -> String {
        let named = self.server.clone();
        named.or_else(|| self.http.server_name()).unwrap_or_else(|| server_name(&self.command))
    }

    fn gate(
        &self,
        server: String,
        (keep, warning): (UserStore, Arc<StoreWarning>),
        policies: Policies,
    ) -> Result<Gate, CommandError> {
        let worker = Worker::current().map_err(CommandError::failed)?;
        let engines = Queries::new(tidegate_query::Limits::default(), worker);
        let report = Box::new(move |why: &str| warning.report(why));
        let keep = Arc::new(keep.with_report(report));
        let observer = monitor::observer(self.log_calls, policies.defaults.session_max_bytes, &keep);
        let gate = Gate::new(Setup { keep, policies, engines, server });
        Ok(gate.observed_by(observer).resolving_references())
    }

    /// Returns whether a client on this machine can read results with `tidegate query`: the program is on the PATH, and
    /// finds this store without options. A client that connects over HTTP may be on another machine.
    fn is_in_shell(&self, place: &StoreLocation) -> bool {
        let default_place = || Config::load(None).ok().and_then(|config| config.place().folder());
        let is_found = self.overrides.config.is_none() || place.folder() == default_place();
        place.folder().is_some() && is_found && !self.http.listens() && !programs_on_path().is_empty()
    }

    /// Returns how long a server may be silent; `None` for no limit.
    fn timeout(&self) -> Option<Duration> {
        let default = self.http.is_used().then_some(DEFAULT_HTTP_TIMEOUT);
        self.timeout.or(default)
    }
}

/// How long a server may be silent if HTTP is used, because a lost connection can go unnoticed.
const DEFAULT_HTTP_TIMEOUT: Duration = Duration::from_secs(600);

/// Programs that start the server named in their arguments.
const LAUNCHERS: [&str; 12] =
    ["npx", "bunx", "pnpx", "uvx", "node", "bun", "deno", "python", "python3", "uv", "docker", "sh"];

/// Returns a name for a server from its command: the program or, if that is a launcher, the argument that names the server.
pub(crate) fn server_name(command: &[OsString]) -> String {
    let mut words = command.iter().map(|word| word.to_string_lossy());
    let stem = |word: &str| {
        let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
        let name = name.split('@').find(|part| !part.is_empty()).unwrap_or(name);
        name.split('.').find(|part| !part.is_empty()).unwrap_or(name).to_owned()
    };
    let program = words.next().map(|word| stem(&word)).unwrap_or_default();
    if !LAUNCHERS.contains(&program.as_str()) {
        return program;
    }
    let launch_words = ["run", "exec", "-m", "-c"];
    let started = words.find(|word| !word.starts_with('-') && !launch_words.contains(&word.as_ref()));
    started.map(|word| stem(&word)).filter(|name| !name.is_empty()).unwrap_or(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_named_after_its_program_or_package() {
        for (command, name) in [
            (
                &["npx", "-y", "@modelcontextprotocol/server-filesystem@2026.8.31", "."][..],
                "server-filesystem",
            ),
            (&["python3", "-S", "tools/issues.py"], "issues"),
            (&["python3", "-m", "mcp_server_git"], "mcp_server_git"),
            (&["uvx", "mcp-server-git"], "mcp-server-git"),
            (&["/usr/bin/github-mcp-server", "stdio"], "github-mcp-server"),
            (&["npx"], "npx"),
        ] {
            let command: Vec<OsString> = command.iter().map(OsString::from).collect();
            assert_eq!(server_name(&command), name, "{command:?}");
        }
    }
}
