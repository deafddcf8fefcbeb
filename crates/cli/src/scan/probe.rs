//! Measuring a server without a client: its list of tools, and those that are safe to call.
//!
//! The server runs behind `tidegate run --observe`, which changes nothing, ends everything that was started, refuses
//! results that are too large, and reaches servers over HTTP too. Nothing is kept and nothing is noted.

use std::ffi::OsString;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use tidegate_core::measure::{Meter, cost};
use tidegate_core::payload::Payload;
use tidegate_gate::listed_tokens;

use super::Arguments;
use super::arguments::safe;
use super::table::{Listed, Scanned, Tools};
use crate::client::{Client, Failure};
use crate::error::CommandError;
use crate::run::{host_name, server_name, variable};
use crate::ui::{self, Progress};

/// The largest result that is measured.
const MOST_BYTES: u64 = 64 << 20;
/// How long a server may take to start; launchers fetch it first.
const START: Duration = Duration::from_secs(120);
/// A configuration that sets nothing.
const NOTHING: &str = "/dev/null";

/// Starts the server and measures it.
pub(super) fn run(arguments: &Arguments) -> Result<Scanned, CommandError> {
    let address = match &arguments.url_env {
        Some(name) => Some(variable(name)?),
        None => arguments.url.clone(),
    };
    let server = match (&arguments.selection.server, &address, arguments.command.as_slice()) {
        (_, None, []) => {
            return Err(CommandError::bad_input("--probe needs a server")
                .hint("give its command: tidegate scan --probe -- COMMAND, or its address: --url URL"));
        }
        (Some(name), _, _) => name.clone(),
        (None, Some(url), _) => host_name(url).unwrap_or_else(|| "the server".into()),
        (None, None, command) => server_name(command),
    };
    let progress = Progress::new();
    progress.step(0, 0, &format!("starting {server}"));
    let mut client = Client::start(command(arguments)?, "tidegate-scan", arguments.timeout.max(START))?;
    let listed = client.tools(arguments.timeout)?;
    let meter = Meter::default();
    let (mut tools, mut lists) = (Tools::default(), Vec::new());
    let mut ended = false;
    for (done, tool) in listed.iter().enumerate() {
        let name = tool["name"].as_str().unwrap_or_default();
        progress.step(done, listed.len(), &format!("calling {}", ui::shown(name)));
        let measured = match ended {
            false => measured(&mut client, tool, name, arguments.timeout, &meter),
            true => Err(Gone::Tool("the server had ended".into())),
        };
        let why = match measured {
            Ok(tokens) => {
                tools.add(&server, name, tokens, true);
                None
            }
            Err(Gone::Tool(why)) => Some(why),
            Err(Gone::Server(why)) => {
                ended = true;
                Some(why)
            }
        };
        lists.push(Listed { tool: name.to_owned(), tokens: listed_tokens(tool, &meter), why });
    }
    Ok(Scanned::of_probe(server, tools, lists))
}

/// Why there is no measure.
enum Gone {
    /// Of this tool.
    Tool(String),
    /// Of this tool, nor of any after it.
    Server(String),
}

/// The tokens of a tool's result.
fn measured(
    client: &mut Client,
    tool: &Value,
    name: &str,
    patience: Duration,
    meter: &Meter,
) -> Result<u64, Gone> {
    let arguments = safe(tool).map_err(Gone::Tool)?;
    let result = client.call(name, &arguments, patience).map_err(|failure| match failure {
        Failure::Refused(message) => Gone::Tool(format!("answered with an error: {}", ui::shown(&message))),
        Failure::Late => Gone::Tool(format!("did not answer within {} s", patience.as_secs_f64())),
        Failure::Ended(said) => Gone::Server(format!("the server ended: {}", ui::shown(&said))),
    })?;
    let source = result.as_slice();
    let unreadable = |error: String| Gone::Tool(format!("its result could not be read: {error}"));
    let payload = Payload::read_result(&source).map_err(|error| unreadable(error.to_string()))?;
    if payload.is_error == Some(true) {
        let result: Value = serde_json::from_slice(&result).unwrap_or_default();
        let text: String =
            result["content"][0]["text"].as_str().unwrap_or_default().chars().take(200).collect();
        return Err(Gone::Tool(format!("answered with an error: {}", ui::shown(&text))));
    }
    cost(&payload, meter).map(|cost| cost.tokens.0).map_err(|error| unreadable(error.to_string()))
}

fn command(arguments: &Arguments) -> Result<Command, CommandError> {
    let mut command = Command::new(std::env::current_exe().map_err(CommandError::failed)?);
    command.args(["run", "--observe", "--ephemeral", "--config", NOTHING]);
    command.args(["--max-result-bytes", &MOST_BYTES.to_string()]);
    if arguments.url.is_some() || arguments.url_env.is_some() {
        command.args(arguments.url.iter().flat_map(|url| ["--url", url]));
        command.args(arguments.url_env.iter().flat_map(|name| ["--url-env", name]));
        arguments.header_env.iter().for_each(|pair| {
            command.args(["--header-env", pair]);
        });
    } else {
        command.arg("--").args(arguments.command.iter().map(OsString::as_os_str));
    }
    // The calls have a limit of their own.
    command.env_remove("TIDEGATE_TIMEOUT").stderr(Stdio::piped());
    Ok(command)
}
