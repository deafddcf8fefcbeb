//! `tidegate demo`: before and after, on a machine with nothing but this program.
//!
//! Everything is real: a server in a process of its own whose list tool returns some 800 fat rows, the proxy in front
//! of it as any client would start it, and a client that speaks the protocol over pipes.

pub(crate) mod server;

use std::process::Command;
use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};
use tidegate_core::Tokens;
use tidegate_core::measure::{Cost, Meter, cost};
use tidegate_core::payload::Payload;

use crate::cli::Format;
use crate::client::Client;
use crate::error::CommandError;
use crate::ui;

/// Show what tidegate does, with a real server and a real client
///
/// Starts a bundled server whose list_issues returns some 800 rows, calls it once without tidegate and once through it,
/// and asks two follow-ups. Nothing is kept and nothing is sent anywhere.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// One thing the model asked and read.
struct Exchange {
    tool: &'static str,
    arguments: Value,
    text: String,
    cost: Cost,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<(), CommandError> {
    let raw = direct()?;
    let (exchanges, calls) = through()?;
    let sent: Tokens = exchanges.iter().map(|exchange| exchange.cost.tokens).sum();
    match arguments.format {
        Format::Json => ui::json(&json!({
            "raw_bytes": raw.bytes.0,
            "raw_tokens": raw.tokens.0,
            "exchanges": exchanges.iter().map(report).collect::<Vec<_>>(),
            "sent_tokens": sent.0,
            "saved_percent": saved(raw.tokens, sent),
            "tool_calls": calls,
        })),
        Format::Text => ui::data(text(&raw, &exchanges, sent, calls).as_bytes()),
    }
}

/// A configuration that sets nothing, so that the demo is the same for everybody.
const NOTHING: &str = "/dev/null";

const LIST: &str = "list_issues";

/// What the call costs without tidegate.
fn direct() -> Result<Cost, CommandError> {
    let program = program()?;
    let mut client = start(&[&program, server::SUBCOMMAND])?;
    let result = call(&mut client, LIST, &json!({}))?.to_string();
    let source = result.as_bytes();
    let payload = Payload::read(&source).map_err(CommandError::failed)?;
    cost(&payload, &Meter::default()).map_err(CommandError::failed)
}

/// What a model asks and reads with tidegate in between, and how often the tool ran.
fn through() -> Result<(Vec<Exchange>, u64), CommandError> {
    let program = program()?;
    let command = [
        &program,
        "run",
        "--server",
        "demo",
        "--ephemeral",
        "--config",
        NOTHING,
        "--",
        &program,
        server::SUBCOMMAND,
    ];
    let mut client = start(&command)?;
    let first = exchange(&mut client, LIST, json!({}))?;
    let handle = first.text.split('"').nth(1).unwrap_or_default().to_owned();
    let groups = "select author, count(*) as open, sum(comments) as comments from t where state = 'open' \
                  group by author order by open desc limit 5";
    let critical = ".[] | select(.severity == \"critical\") | {number, title, author}";
    let asked = [json!({ "id": handle, "sql": groups }), json!({ "id": handle, "jq": critical })];
    let mut exchanges = vec![first];
    for arguments in asked {
        exchanges.push(exchange(&mut client, "result_query", arguments)?);
    }
    let calls = call(&mut client, "calls", &json!({}))?["content"][0]["text"]
        .as_str()
        .and_then(|text| text.parse().ok());
    Ok((exchanges, calls.unwrap_or(0)))
}

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(60);

fn start(command: &[&str]) -> Result<Client, CommandError> {
    let mut program = Command::new(command[0]);
    program.args(&command[1..]);
    // What is set for real servers is not meant for the demo.
    let set = std::env::vars_os().map(|(name, _)| name);
    set.filter(|name| name.to_string_lossy().starts_with("TIDEGATE_")).for_each(|name| {
        program.env_remove(name);
    });
    let mut client = Client::start(program, "tidegate-demo", PATIENCE)?;
    client.tools(PATIENCE)?;
    Ok(client)
}

fn call(client: &mut Client, tool: &str, arguments: &Value) -> Result<Value, CommandError> {
    let result = client.call(tool, arguments, PATIENCE).map_err(|why| why.of(tool))?;
    serde_json::from_slice(&result).map_err(CommandError::failed)
}

fn exchange(client: &mut Client, tool: &'static str, arguments: Value) -> Result<Exchange, CommandError> {
    let result = call(client, tool, &arguments)?;
    let text = result["content"][0]["text"].as_str().unwrap_or_default().to_owned();
    let bytes = result.to_string().into_bytes();
    let source = bytes.as_slice();
    let payload = Payload::read(&source).map_err(CommandError::failed)?;
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

fn saved(raw: Tokens, sent: Tokens) -> f64 {
    (1000.0 * (1.0 - sent.0 as f64 / raw.0.max(1) as f64)).round() / 10.0
}

fn report(exchange: &Exchange) -> Value {
    json!({
        "tool": exchange.tool,
        "arguments": exchange.arguments,
        "tokens": exchange.cost.tokens.0,
        "text": exchange.text,
    })
}

fn text(raw: &Cost, exchanges: &[Exchange], sent: Tokens, calls: u64) -> String {
    let mut out = format!(
        "A server with one heavy tool. Without tidegate, {LIST} puts {} bytes, {} tokens, into the agent's context.\n\
         With `tidegate run -- SERVER` in the client's configuration instead of `SERVER`, the model reads this:\n",
        raw.bytes, raw.tokens
    );
    for exchange in exchanges {
        out.push_str(&format!(
            "\n── {} {}  ({} tokens)\n",
            exchange.tool, exchange.arguments, exchange.cost.tokens
        ));
        for line in exchange.text.lines() {
            out.push_str(&format!("   {line}\n"));
        }
    }
    let asks = exchanges.len();
    out.push_str(&format!(
        "\n── What was saved\n   without tidegate  {:>9} tokens\n   with tidegate     {:>9} tokens, {asks} answers\n   \
         saved             {:>8} %\n   {LIST} ran {calls} time{}: the follow-ups were answered from the store.\n",
        raw.tokens.to_string(),
        sent.to_string(),
        saved(raw.tokens, sent),
        if calls == 1 { "" } else { "s" },
    ));
    out
}
