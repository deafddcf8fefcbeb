//! `tidegate demo`: a tool result before and after tidegate. Needs nothing but this program.
//!
//! Nothing is simulated: the server of `demo/server.rs` runs in its own process, the proxy runs in front of it as any
//! client would start it, and a client speaks MCP to both over pipes.

mod report;
pub(crate) mod server;
mod tickets;

use std::process::{Command, Stdio};
use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};
use tidegate_core::Tokens;
use tidegate_core::measure::{Cost, Meter, cost};
use tidegate_core::payload::Payload;

use crate::cli::Format;
use crate::error::CommandError;
use crate::mcp_client::McpClient;
use crate::system::EMPTY_FILE;
use crate::ui;

/// Show a tool result before and after tidegate, with a built-in server
///
/// Starts a small server whose list_tickets returns 420 support tickets, calls it once directly and once through
/// tidegate, and sends two follow-ups. Stores nothing and does not use the network.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tidegate demo\n  tidegate demo --format json")]
pub(crate) struct Arguments {
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// The name of the server in the output.
const SERVER: &str = "tickets";
/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The first follow-up: where the open work is.
const OPEN_BY_PRODUCT: &str = "select product, count(*) as open, sum(priority = 'urgent') as urgent, \
    sum(assignee is null) as unassigned from t where status = 'open' group by 1 order by 2 desc";
/// The second follow-up: what to do first.
const OLDEST_URGENT: &str = "[.[] | select(.status == \"open\" and .priority == \"urgent\")] | sort_by(.opened_at) | .[:5] \
    | map({id, subject, customer, opened_at})";

/// A tool call and the answer the model reads.
struct Exchange {
    tool: &'static str,
    arguments: Value,
    text: String,
    cost: Cost,
}

/// The same call before and after, and the follow-ups.
struct Comparison {
    /// The result without tidegate.
    raw: Cost,
    /// The answers with tidegate.
    exchanges: Vec<Exchange>,
}

impl Comparison {
    /// Returns the tokens of all answers together.
    fn sent(&self) -> Tokens {
        self.exchanges.iter().map(|exchange| exchange.cost.tokens).sum()
    }

    fn saved_percent(&self) -> f64 {
        (1000.0 * (1.0 - self.sent().0 as f64 / self.raw.tokens.0.max(1) as f64)).round() / 10.0
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<(), CommandError> {
    let comparison = compare()?;
    match arguments.format {
        Format::Json => ui::json(&report::json(&comparison)),
        Format::Text => ui::data(report::text(&comparison).as_bytes()),
    }
}

fn compare() -> Result<Comparison, CommandError> {
    let server = [server::SUBCOMMAND];
    let raw = call(&mut start(&server)?, server::LIST_TICKETS, json!({}))?.cost;
    // Without a configuration, the demo is the same for everybody.
    let proxy = ["run", "--server", SERVER, "--ephemeral", "--config", EMPTY_FILE, "--"];
    let program = program()?;
    let mut client = start(&[&proxy[..], &[&program], &server].concat())?;
    let first = call(&mut client, server::LIST_TICKETS, json!({}))?;
    let id = handle(&first.text).to_owned();
    let by_product = call(&mut client, "result_query", json!({ "id": id, "sql": OPEN_BY_PRODUCT }))?;
    let oldest = call(&mut client, "result_query", json!({ "id": id, "jq": OLDEST_URGENT }))?;
    Ok(Comparison { raw, exchanges: vec![first, by_product, oldest] })
}

/// Returns the handle in an overview: the text in quotes in its first line.
fn handle(overview: &str) -> &str {
    let quoted = overview.split_once("Complete result: \"").map_or("", |(_, rest)| rest);
    quoted.split('"').next().unwrap_or_default()
}

/// Starts this program again and connects to it.
fn start(arguments: &[&str]) -> Result<McpClient, CommandError> {
    let mut command = Command::new(program()?);
    command.args(arguments).stderr(Stdio::null());
    // Settings for real servers must not change the demo.
    let variables = std::env::vars_os().map(|(name, _)| name);
    variables.filter(|name| name.to_string_lossy().starts_with("TIDEGATE_")).for_each(|name| {
        command.env_remove(name);
    });
    let mut client = McpClient::start(command, "tidegate-demo", TIMEOUT)?;
    client.tools(TIMEOUT)?;
    Ok(client)
}

/// Calls a tool and measures what a model reads of the answer.
fn call(client: &mut McpClient, tool: &'static str, arguments: Value) -> Result<Exchange, CommandError> {
    let bytes = client.call(tool, &arguments, TIMEOUT).map_err(|error| error.during(tool))?;
    let result: Value = serde_json::from_slice(&bytes).map_err(CommandError::failed)?;
    let text = result["content"][0]["text"].as_str().unwrap_or_default().to_owned();
    if result["isError"] == true {
        return Err(CommandError::failed(format!("{tool} failed: {text}")));
    }
    let source = bytes.as_slice();
    let payload = Payload::read_result(&source).map_err(CommandError::failed)?;
    let cost = cost(&payload, &Meter::default()).map_err(CommandError::failed)?;
    Ok(Exchange { tool, arguments, text, cost })
}

fn program() -> Result<String, CommandError> {
    let program = std::env::current_exe().map_err(CommandError::failed)?;
    program
        .into_os_string()
        .into_string()
        .map_err(|_| CommandError::failed("the path of this program is not UTF-8"))
}
