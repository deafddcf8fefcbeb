//! `tidegate demo`: before and after, on a machine with nothing but this program.
//!
//! Everything is real: the servers of `examples` in processes of their own, the proxy in front of one of them as any client
//! would start it, and a client that speaks the protocol over pipes.

pub(crate) mod server;
mod told;
mod tour;

use std::process::{Command, Stdio};
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
use tour::{Call, PROXY, Seen, TOURS, Tour};

/// Show what tidegate does, with real servers and a real client
///
/// Starts a bundled server whose list_articles returns 840 rows, calls it once without tidegate and once through it, and
/// asks two follow-ups. With --all, four servers that have tidegate inside are toured, each in its own style. Nothing is
/// kept and nothing is sent anywhere.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tidegate demo\n  tidegate demo --all")]
pub(crate) struct Arguments {
    /// Tour the four servers that are built with the SDK
    #[arg(long)]
    all: bool,

    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// One thing the model asked and read.
struct Exchange {
    call: Call,
    text: String,
    cost: Cost,
}

/// What was seen of one server.
struct Walked {
    tour: &'static Tour,
    raw: Cost,
    exchanges: Vec<Exchange>,
}

impl Walked {
    /// What all answers cost together.
    fn sent(&self) -> Tokens {
        self.exchanges.iter().map(|exchange| exchange.cost.tokens).sum()
    }

    fn saved_percent(&self) -> f64 {
        (1000.0 * (1.0 - self.sent().0 as f64 / self.raw.tokens.0.max(1) as f64)).round() / 10.0
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<(), CommandError> {
    let tours: &[Tour] = if arguments.all { &TOURS } else { std::slice::from_ref(&PROXY) };
    let walked = tours.iter().map(walk).collect::<Result<Vec<_>, _>>()?;
    match arguments.format {
        Format::Json => ui::json(&match walked.as_slice() {
            [one] => report(one),
            all => json!({ "servers": all.iter().map(report).collect::<Vec<_>>() }),
        }),
        Format::Text => ui::data(told::text(&walked).as_bytes()),
    }
}

/// A configuration that sets nothing, so that the demo is the same for everybody.
const NOTHING: &str = "/dev/null";
/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(60);

fn walk(tour: &'static Tour) -> Result<Walked, CommandError> {
    let program = program()?;
    let plain = [&program, server::SUBCOMMAND, tour.name, server::PLAIN];
    let raw = exchange(&mut start(&plain)?, (tour.raw)())?.cost;
    let mut command: Vec<&str> = vec![&program, server::SUBCOMMAND, tour.name];
    if tour.behind {
        command = vec![&program, "run", "--server", tour.name, "--ephemeral", "--config", NOTHING, "--"];
        command.extend(plain);
    }
    let mut client = start(&command)?;
    let mut exchanges = vec![exchange(&mut client, (tour.first)())?];
    for next in tour.next {
        let seen: Vec<String> = exchanges.iter().map(|exchange| exchange.text.clone()).collect();
        exchanges.push(exchange(&mut client, next(&Seen(&seen)))?);
    }
    Ok(Walked { tour, raw, exchanges })
}

fn start(command: &[&str]) -> Result<Client, CommandError> {
    let mut program = Command::new(command[0]);
    program.args(&command[1..]).stderr(Stdio::null());
    // What is set for real servers is not meant for the demo.
    let set = std::env::vars_os().map(|(name, _)| name);
    set.filter(|name| name.to_string_lossy().starts_with("TIDEGATE_")).for_each(|name| {
        program.env_remove(name);
    });
    let mut client = Client::start(program, "tidegate-demo", PATIENCE)?;
    client.tools(PATIENCE)?;
    Ok(client)
}

/// Makes a call and measures what a model reads of its answer.
fn exchange(client: &mut Client, call: Call) -> Result<Exchange, CommandError> {
    let bytes = client.call(call.tool, &call.arguments, PATIENCE).map_err(|why| why.of(call.tool))?;
    let result: Value = serde_json::from_slice(&bytes).map_err(CommandError::failed)?;
    let text = result["content"][0]["text"].as_str().unwrap_or_default().to_owned();
    if result["isError"] == true {
        return Err(CommandError::failed(format!("{} failed: {text}", call.tool)));
    }
    let source = bytes.as_slice();
    let payload = Payload::read_result(&source).map_err(CommandError::failed)?;
    let cost = cost(&payload, &Meter::default()).map_err(CommandError::failed)?;
    Ok(Exchange { call, text, cost })
}

fn program() -> Result<String, CommandError> {
    let program = std::env::current_exe().map_err(CommandError::failed)?;
    program
        .into_os_string()
        .into_string()
        .map_err(|_| CommandError::failed("the path of this program is not UTF-8"))
}

fn report(walked: &Walked) -> Value {
    let exchange = |exchange: &Exchange| {
        json!({
            "tool": exchange.call.tool,
            "arguments": exchange.call.arguments,
            "tokens": exchange.cost.tokens.0,
            "text": exchange.text,
        })
    };
    json!({
        "server": walked.tour.name,
        "raw_bytes": walked.raw.bytes.0,
        "raw_tokens": walked.raw.tokens.0,
        "exchanges": walked.exchanges.iter().map(exchange).collect::<Vec<_>>(),
        "sent_tokens": walked.sent().0,
        "saved_percent": walked.saved_percent(),
    })
}
