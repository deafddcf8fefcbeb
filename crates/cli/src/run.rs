//! `tidegate run`: the proxy in front of one server.

mod http;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::builder::{FalseyValueParser, PossibleValuesParser};
use clap::{ArgAction, Args};
use tidegate_core::budget::Budget;
use tidegate_gate::policy::{Policies, Rules};
use tidegate_gate::profile::ProfileRules;
use tidegate_gate::style::Style;
use tidegate_gate::{Caller, Gate, Keep, Place, Setup};
use tidegate_proxy::stdio::{self, Options};
use tidegate_proxy::{Limits, Link, Mode};
use tidegate_query::{Queries, Worker};

use crate::config::{Config, LEAST_RESULT};
use crate::error::CommandError;
pub(crate) use http::host_name;

/// Run an MCP server with its results kept inside a budget
///
/// Starts the server and stands between it and the client, on stdin and stdout. A result that fits the budget passes
/// untouched; a larger one is kept whole and answered with an overview, and the client gets one more tool, result_query,
/// to read any part of it. In a client's configuration, put `tidegate run --` in front of the server's command.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tidegate run -- npx -y @modelcontextprotocol/server-filesystem .\n  \
    tidegate run --server github --budget 4000 -- github-mcp-server stdio\n  tidegate run --observe -- my-server")]
pub(crate) struct Arguments {
    /// Only measure and note; every byte crosses unchanged
    #[arg(long, env = "TIDEGATE_OBSERVE", value_parser = FalseyValueParser::new(), action = ArgAction::SetTrue)]
    observe: bool,

    /// Name of the server, for its section in tidegate.toml and for the statistics [default: the command's name]
    #[arg(long, value_name = "NAME", env = "TIDEGATE_SERVER")]
    server: Option<String>,

    /// Most tokens of an answer [default: 2000]
    #[arg(long, value_name = "TOKENS", env = "TIDEGATE_BUDGET", value_parser = at_least(Budget::LEAST_TOKENS.0))]
    budget: Option<u64>,

    /// Most bytes of an answer [default: 5 per token, at least 10240, below where the client cuts]
    #[arg(long, value_name = "BYTES", env = "TIDEGATE_MAX_BYTES", value_parser = at_least(Budget::LEAST_BYTES.0))]
    max_bytes: Option<u64>,

    /// What is answered in place of a result that does not fit [default: overview]
    #[arg(long, value_name = "STYLE", env = "TIDEGATE_STYLE", value_parser = PossibleValuesParser::new(Style::NAMES))]
    style: Option<String>,

    /// How long results are kept, such as 90s, 15m, 24h or 7d [default: 24h]
    #[arg(long, value_name = "TIME", env = "TIDEGATE_TTL", value_parser = duration)]
    ttl: Option<Duration>,

    /// Keep results in memory, until the server ends
    #[arg(long, env = "TIDEGATE_EPHEMERAL", value_parser = FalseyValueParser::new(), action = ArgAction::SetTrue)]
    ephemeral: bool,

    /// Largest result that is taken from the server; a larger one becomes an error [default: 268435456]
    #[arg(long, value_name = "BYTES", env = "TIDEGATE_MAX_RESULT_BYTES", value_parser = at_least(LEAST_RESULT))]
    max_result_bytes: Option<u64>,

    /// Answer a request with an error when the server has not answered it for so long, such as 30s [default: never]
    #[arg(long, value_name = "TIME", env = "TIDEGATE_TIMEOUT", value_parser = duration)]
    timeout: Option<Duration>,

    /// Configuration file [default: tidegate.toml of the project and of the user]
    #[arg(long, value_name = "FILE", env = "TIDEGATE_CONFIG")]
    config: Option<PathBuf>,

    #[command(flatten)]
    http: http::Arguments,

    /// Command that starts the server, and its arguments
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
    let config = Config::load(arguments.config.as_deref())?;
    let server = arguments.server();
    let place = if arguments.ephemeral { Place::Memory } else { config.place() };
    let policies = config.policies(&server, arguments.rules());
    let limits = Limits {
        most: arguments.max_result_bytes.or(config.max_result_bytes()).unwrap_or(Limits::MOST),
        folder: place.folder(),
        ..Limits::default()
    };
    let link = arguments.link(server, place, policies, config.clients())?.with_limits(limits);
    let program = std::env::current_exe().map_err(CommandError::failed)?;
    if arguments.http.is_used() && arguments.timeout.is_some() {
        return Err(CommandError::bad_input("--timeout is not possible with --http or --url yet")
            .hint("leave it out, and TIDEGATE_TIMEOUT too; a client's own timeout still holds"));
    }
    if arguments.http.is_used() {
        return arguments.http.run(link, program, &arguments.command).map(|()| 0);
    }
    let options = Options { command: arguments.command.clone(), program };
    stdio::run(link, &options).map_err(|error| {
        CommandError::out_of_reach(error).hint("check the command; it must run in this folder as it stands")
    })
}

impl Arguments {
    fn rules(&self) -> Rules {
        Rules {
            budget_tokens: self.budget,
            max_bytes: self.max_bytes,
            ttl_seconds: self.ttl.map(|ttl| ttl.as_secs().max(1)),
            style: self.style.as_deref().and_then(Style::named),
            ..Rules::default()
        }
    }

    fn server(&self) -> String {
        let named = self.server.clone();
        named.or_else(|| self.http.server_name()).unwrap_or_else(|| server_name(&self.command))
    }

    fn link(
        &self,
        server: String,
        place: Place,
        policies: Policies,
        clients: Vec<(String, ProfileRules)>,
    ) -> Result<Link, CommandError> {
        let worker = Worker::current().map_err(CommandError::failed)?;
        let engines = Queries::new(tidegate_query::Limits::default(), worker);
        let gate = Gate::new(Setup { keep: Arc::new(Keep::of_user(place)), policies, engines, server });
        let mode = if self.observe { Mode::Observe } else { Mode::Shape };
        Ok(Link::new(Arc::new(gate), Caller::unknown(clients), mode, self.timeout))
    }
}

fn at_least(least: u64) -> impl Fn(&str) -> Result<u64, String> + Clone + Send + Sync + 'static {
    move |text| match text.replace('_', "").parse::<u64>() {
        Ok(number) if number >= least => Ok(number),
        Ok(_) => Err(format!("it must be at least {least}")),
        Err(_) => Err("it must be a whole number".into()),
    }
}

/// Programs that only start the server that their arguments name.
const LAUNCHERS: [&str; 12] =
    ["npx", "bunx", "pnpx", "uvx", "node", "bun", "deno", "python", "python3", "uv", "docker", "sh"];

/// What a server is called by its command: the program, or what a launcher is told to start.
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
    let run = ["run", "exec", "-m", "-c"];
    let started = words.find(|word| !word.starts_with('-') && !run.contains(&word.as_ref()));
    started.map(|word| stem(&word)).filter(|name| !name.is_empty()).unwrap_or(program)
}

/// Reads a time such as `90s`, `15m`, `24h`, `7d`, or a number of seconds.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        _ => 0.0,
    };
    let number = digits.parse::<f64>().ok().filter(|number| number.is_finite() && *number > 0.0);
    match number {
        Some(number) if unit > 0.0 && number * unit < 1e10 => Ok(Duration::from_secs_f64(number * unit)),
        _ => Err("write it like 90s, 15m, 24h or 7d".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_servers() {
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

    #[test]
    fn times() {
        for (text, seconds) in [("90s", 90), ("15m", 900), ("24h", 86_400), ("7d", 604_800), ("5", 5)] {
            assert_eq!(duration(text), Ok(Duration::from_secs(seconds)));
        }
        assert_eq!(duration("0.5s"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        for wrong in ["", "h", "-1s", "1y", "1e99d", "0"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }
}
