//! Measures a server without a client: its tool list, and the results of tools that are safe to call.
//!
//! The server runs behind `tidegate run --observe`, which changes no message, ends every process of the server when the
//! scan ends, refuses results that are too large, and can connect over HTTP. Nothing is stored or recorded.

use std::ffi::OsString;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use tidegate_core::measure::{Meter, cost};
use tidegate_core::payload::Payload;
use tidegate_gate::listed_tokens;

use super::Arguments;
use super::arguments::safe_arguments;
use super::table::{ListedTool, Scan, ToolResults};
use crate::error::CommandError;
use crate::mcp_client::{McpClient, RequestError};
use crate::run::{host_name, required_variable, server_name};
use crate::system::EMPTY_FILE;
use crate::ui::{self, Progress};

/// The largest result that is measured.
const MAX_RESULT_BYTES: u64 = 64 << 20;
/// How long a server may take to start; a launcher may download it first.
const START_TIMEOUT: Duration = Duration::from_secs(120);

/// Starts the server and measures it.
pub(super) fn run(arguments: &Arguments) -> Result<Scan, CommandError> {
    let url = match &arguments.url_env {
        Some(name) => Some(required_variable(name)?),
        None => arguments.url.clone(),
    };
    let server = match (&arguments.filter.server, &url, arguments.command.as_slice()) {
        (_, None, []) => {
            return Err(CommandError::bad_input("--probe needs a server")
                .hint("give its command: tidegate scan --probe -- COMMAND, or its URL: --url URL"));
        }
        (Some(name), _, _) => name.clone(),
        (None, Some(url), _) => host_name(url).unwrap_or_else(|| "the server".into()),
        (None, None, command) => server_name(command),
    };
    let progress = Progress::new();
    progress.step(0, 0, &format!("starting {server}"));
    let mut client =
        McpClient::start(command(arguments)?, "tidegate-scan", arguments.timeout.max(START_TIMEOUT))?;
    let listed = client.tools(arguments.timeout)?;
    let meter = Meter::default();
    let (mut tools, mut lists) = (ToolResults::default(), Vec::new());
    let mut has_exited = false;
    for (done, tool) in listed.iter().enumerate() {
        let name = tool["name"].as_str().unwrap_or_default();
        let called_with = match has_exited {
            false => safe_arguments(tool).map_err(Unmeasured::Tool),
            true => Err(Unmeasured::Tool("the server had exited".into())),
        };
        let result = called_with.and_then(|called_with| {
            progress.step(done, listed.len(), &format!("calling {}", ui::printable(name)));
            measure(&mut client, name, &called_with, arguments.timeout, &meter)
        });
        let why = match result {
            Ok(tokens) => {
                tools.add(&server, name, tokens, true);
                None
            }
            Err(Unmeasured::Tool(why)) => Some(why),
            Err(Unmeasured::Server(why)) => {
                has_exited = true;
                Some(why)
            }
        };
        lists.push(ListedTool { tool: name.to_owned(), tokens: listed_tokens(tool, &meter), why });
    }
    Ok(Scan::of_probe(server, tools, lists))
}

/// Why a tool was not measured.
enum Unmeasured {
    /// Only this tool cannot be measured.
    Tool(String),
    /// This tool and all later ones cannot be measured, because the server has exited.
    Server(String),
}

/// Calls a tool and returns the tokens of its result.
fn measure(
    client: &mut McpClient,
    name: &str,
    arguments: &Value,
    timeout: Duration,
    meter: &Meter,
) -> Result<u64, Unmeasured> {
    let result = client.call(name, arguments, timeout).map_err(|error| match error {
        RequestError::Refused(message) => {
            Unmeasured::Tool(format!("answered with an error: {}", ui::printable(&message)))
        }
        RequestError::TimedOut => {
            Unmeasured::Tool(format!("did not answer within {} s", timeout.as_secs_f64()))
        }
        RequestError::Exited(stderr) => {
            Unmeasured::Server(format!("the server exited: {}", ui::printable(&stderr)))
        }
    })?;
    let source = result.as_slice();
    let unreadable = |error: String| Unmeasured::Tool(format!("its result could not be read: {error}"));
    let payload = Payload::read_result(&source).map_err(|error| unreadable(error.to_string()))?;
    if payload.is_error == Some(true) {
        let result: Value = serde_json::from_slice(&result).unwrap_or_default();
        let text: String =
            result["content"][0]["text"].as_str().unwrap_or_default().chars().take(200).collect();
        return Err(Unmeasured::Tool(format!("answered with an error: {}", ui::printable(&text))));
    }
    cost(&payload, meter).map(|cost| cost.tokens.0).map_err(|error| unreadable(error.to_string()))
}

fn command(arguments: &Arguments) -> Result<Command, CommandError> {
    let mut command = Command::new(std::env::current_exe().map_err(CommandError::failed)?);
    command.args(["run", "--observe", "--ephemeral", "--config", EMPTY_FILE]);
    command.args(["--max-result-bytes", &MAX_RESULT_BYTES.to_string()]);
    if arguments.url.is_some() || arguments.url_env.is_some() {
        command.args(arguments.url.iter().flat_map(|url| ["--url", url]));
        command.args(arguments.url_env.iter().flat_map(|name| ["--url-env", name]));
        arguments.header_env.iter().for_each(|pair| {
            command.args(["--header-env", pair]);
        });
    } else {
        command.arg("--").args(arguments.command.iter().map(OsString::as_os_str));
    }
    // The scan has its own timeout for each call.
    command.env_remove("TIDEGATE_TIMEOUT").stderr(Stdio::piped());
    Ok(command)
}
