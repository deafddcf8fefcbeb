//! `tidegate shape`: the answer that the proxy would give for a result on stdin.

mod serve;
mod stdin;

use std::hash::Hasher;
use std::io;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde_json::json;
use tidegate_config::Config;
use tidegate_core::budget::Budget;
use tidegate_core::envelope::{Handle, handle_name};
use tidegate_core::measure::{self, Cost, Fit, Meter};
use tidegate_core::payload::{Form, Payload, PayloadError};
use tidegate_core::shape::{Fill, Prepared, Request, Shaped, Step};
use tidegate_core::source::{Source, Span};
use tidegate_gate::policy::{Compact, Policy, Rules};
use tidegate_gate::profile::Profile;
use tidegate_gate::retention_note;
use tidegate_gate::style::Style;

use crate::error::CommandError;
use crate::keep::KeptResults;
use crate::ui;
use stdin::Stdin;

/// Show what a model would read instead of a tool result
///
/// Reads a CallToolResult, a JSON-RPC response, or any plain JSON or text from stdin, and prints an answer that fits the
/// budget. Uses the settings in tidegate.toml for the server and the tool. A result within line_tokens, or within --budget
/// if that is given, is printed unchanged. Nothing is stored without --keep.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tidegate shape --tool list_issues --budget 1000 < result.json\n  \
    tidegate shape --server github --tool list_issues < result.json\n  tidegate shape --keep --stats < result.json")]
pub(crate) struct Arguments {
    /// Name of the tool the result came from
    #[arg(long, value_name = "NAME", default_value = "tool")]
    tool: String,

    /// Name of the server, for its section in tidegate.toml [default: only the settings for all servers apply]
    #[arg(long, value_name = "NAME", env = "TIDEGATE_SERVER")]
    server: Option<String>,

    /// Arguments the tool was called with, as JSON; records that match them are shown first
    #[arg(long, value_name = "JSON")]
    arguments: Option<String>,

    /// Maximum tokens of the answer; shapes any larger result, even one within line_tokens [default: budget_tokens in
    /// tidegate.toml, or 1000]
    #[arg(long, value_name = "TOKENS")]
    budget: Option<u64>,

    /// Maximum bytes of the answer [default: 5 per token, at least 10240]
    #[arg(long, value_name = "BYTES")]
    max_bytes: Option<u64>,

    /// Use the whole budget, even for lines that say little
    #[arg(long)]
    fill: bool,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// Also print a one-line report to stderr
    #[arg(long)]
    stats: bool,

    /// Configuration file [default: tidegate.toml of the project and of the user]
    #[arg(long, value_name = "FILE", env = "TIDEGATE_CONFIG")]
    config: Option<PathBuf>,

    /// Store the result, so that `tidegate query` can read any part of it
    #[arg(long)]
    keep: bool,

    /// Shape results for the server that started this process, over JSON lines on stdin and stdout; the Python and
    /// TypeScript packages use it
    #[arg(long, conflicts_with_all = ["tool", "arguments", "budget", "max_bytes", "fill", "format", "stats", "keep"])]
    serve: bool,
}

/// The output format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// What the model would read
    Text,
    /// The CallToolResult that would be sent
    Result,
    /// A report: sizes before and after, kind, strategy, omissions, the text
    Json,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<(), CommandError> {
    let config = Config::load(arguments.config.as_deref())?;
    if arguments.serve {
        return serve::run(&config);
    }
    let policy = arguments.policy(&config)?;
    let input = Stdin::open()?;
    let payload = read_payload(&input)?;
    let unreadable = |error: io::Error| CommandError::failed(format!("cannot read the result: {error}"));
    let text = payload.joined_text();
    let prepared = Prepared::with_hints(&payload, text.as_ref(), &policy.hints).map_err(unreadable)?;
    let (id, retention) = match arguments.keep {
        true => (keep_result(config, &payload, &prepared, arguments, &policy)?, retention_note(policy.ttl)),
        false => (sample_id(&input).map_err(unreadable)?, NOT_KEPT.to_owned()),
    };
    let name = handle_name(&arguments.tool, &id);
    let request = Request {
        tool: &arguments.tool,
        arguments: arguments.arguments.as_deref(),
        handle: Handle::kept(&name, &retention),
        budget: policy.budget(&any_client()),
        meter: Meter::default(),
        fill: arguments.fill(),
    };
    let shaped = arguments.shaped(&prepared, &policy, &request).map_err(unreadable)?;
    if policy.style != Style::Overview && shaped.step != Step::Pass {
        ui::note(&format!(
            "tidegate.toml sets style = \"{}\" for this tool; this shows the overview instead",
            policy.style.name()
        ));
    }
    if arguments.stats {
        ui::note(&stats_line(&shaped));
    }
    let name = arguments.keep.then_some(name);
    ui::data(&arguments.output(&payload, &shaped, name.as_deref()).map_err(unreadable)?)
}

/// What the frame says of a result that is not kept.
const NOT_KEPT: &str = "a preview: not kept";

/// Returns the profile of a client without limits of its own.
fn any_client() -> Profile {
    Profile { max_bytes: u64::MAX, ..Profile::strictest() }
}

/// Stores the result and returns its id.
fn keep_result(
    config: Config,
    payload: &Payload<'_>,
    prepared: &Prepared<'_>,
    arguments: &Arguments,
    policy: &Policy,
) -> Result<String, CommandError> {
    let unreadable = |error: io::Error| CommandError::failed(format!("cannot read the result: {error}"));
    let outline = prepared.outline().map_err(unreadable)?;
    let tokens = measure::cost(payload, &Meter::default()).map_err(unreadable)?.tokens;
    let keep = KeptResults::open_with(config)?;
    let mut new = keep.new_artifact(&arguments.tool, policy.ttl);
    new.server = arguments.server.as_deref().unwrap_or_default();
    new.arguments = arguments.arguments.as_deref();
    Ok(keep.put(&new, payload, &outline, tokens.0)?.id.to_string())
}

fn read_payload(input: &Stdin) -> Result<Payload<'_>, CommandError> {
    if input.is_empty() {
        return Err(CommandError::bad_input("stdin is empty").hint("pipe a tool result in, as JSON or text"));
    }
    let payload = Payload::read(input).map_err(|error| match error {
        PayloadError::Source(error) => CommandError::failed(format!("cannot read stdin: {error}")),
        other => CommandError::bad_input(other),
    })?;
    if payload.form == Form::Plain {
        require_utf8(input)?;
    }
    Ok(payload)
}

/// Checks that plain input is text; the reader of results checks JSON.
fn require_utf8(input: &Stdin) -> Result<(), CommandError> {
    let head = Span { start: 0, end: input.len().min(64 * 1024) };
    let bytes =
        head.read(input).map_err(|error| CommandError::failed(format!("cannot read stdin: {error}")))?;
    match std::str::from_utf8(&bytes) {
        Err(error) if error.error_len().is_some() => Err(CommandError::bad_input(format!(
            "stdin is neither JSON nor UTF-8 text (byte {})",
            error.valid_up_to()
        ))),
        _ => Ok(()),
    }
}

/// Returns an id like that of a kept result, derived from the input: nothing is kept.
fn sample_id(input: &Stdin) -> io::Result<String> {
    const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
    let mut hasher = std::hash::DefaultHasher::new();
    let mut buffer = vec![0; 64 * 1024];
    let mut offset = 0;
    loop {
        let count = input.read_at(offset, &mut buffer)?;
        if count == 0 {
            break;
        }
        hasher.write(&buffer[..count]);
        offset += count as u64;
    }
    let hash = hasher.finish();
    Ok((0..12).map(|digit| char::from(ALPHABET[(hash >> (digit * 5)) as usize & 31])).collect())
}

impl Arguments {
    /// Returns the rules for the tool, with the budget of the flags.
    fn policy(&self, config: &Config) -> Result<Policy, CommandError> {
        let at_least = |given: u64, min: u64, flag: &str| {
            if given >= min {
                return Ok(());
            }
            let message = format!("{flag} {given} is too small for a frame, a handle and a next step");
            Err(CommandError::bad_input(message).hint(format!("use at least {min}")))
        };
        at_least(self.budget.unwrap_or(u64::MAX), Budget::MIN_TOKENS.0, "--budget")?;
        at_least(self.max_bytes.unwrap_or(u64::MAX), Budget::MIN_BYTES.0, "--max-bytes")?;
        let run = Rules { budget_tokens: self.budget, max_bytes: self.max_bytes, ..Rules::default() };
        Ok(config.policies(self.server.as_deref().unwrap_or_default(), run).of_tool(&self.tool))
    }

    /// Returns the answer. Within the line a result comes out as in the proxy; within a budget that was asked for, unchanged.
    fn shaped(&self, prepared: &Prepared<'_>, policy: &Policy, request: &Request<'_>) -> io::Result<Shaped> {
        let as_the_proxy = self.budget.is_none() && policy.style == Style::Overview;
        let most = if as_the_proxy { policy.line(&any_client()) } else { request.budget };
        let payload = prepared.payload();
        if measure::fits(payload, &most, &request.meter)? == Fit::Over {
            return prepared.shape(request);
        }
        let within = Request { budget: most, ..*request };
        let compacts = as_the_proxy && policy.compact == Compact::Lossless && payload.is_error != Some(true);
        let compact = compacts.then(|| prepared.compact(&within)).transpose()?.flatten();
        compact.map_or_else(|| prepared.fit(&within), Ok)
    }

    /// Returns how much of the budget the overview uses.
    fn fill(&self) -> Fill {
        if self.fill { Fill::Whole } else { Fill::Useful }
    }

    fn output(&self, payload: &Payload<'_>, shaped: &Shaped, kept: Option<&str>) -> io::Result<Vec<u8>> {
        let text = match shaped.step {
            Step::Pass => passed_text(payload)?,
            _ => shaped.text.clone(),
        };
        Ok(match self.format {
            Format::Text => with_newline(text.into_bytes()),
            Format::Json => {
                with_newline(serde_json::to_vec_pretty(&report(shaped, &text, kept)).unwrap_or_default())
            }
            Format::Result => match &shaped.result {
                Some(result) => with_newline(result.clone()),
                None if payload.form == Form::Plain => with_newline(
                    json!({"content": [{"type": "text", "text": text}]}).to_string().into_bytes(),
                ),
                // A result that passes is printed byte for byte.
                None => payload.span.read(payload.source())?,
            },
        })
    }
}

/// Ends the output with a line feed.
fn with_newline(mut bytes: Vec<u8>) -> Vec<u8> {
    if bytes.last() != Some(&b'\n') {
        bytes.push(b'\n');
    }
    bytes
}

/// Returns what the model reads of a result that passes: its texts, or the result itself if it has none.
fn passed_text(payload: &Payload<'_>) -> io::Result<String> {
    let bytes = match payload.joined_text() {
        Some(text) => text.to_bytes()?,
        None => payload.span.read(payload.source())?,
    };
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn report(shaped: &Shaped, text: &str, kept: Option<&str>) -> serde_json::Value {
    let cost =
        |cost: &Cost| json!({"tokens": cost.tokens.0, "estimated": cost.estimated, "bytes": cost.bytes.0});
    let left_out = shaped.left_out.iter().map(|left_out| {
        json!({"path": left_out.path, "what": left_out.what, "shown": left_out.shown, "of": left_out.of})
    });
    json!({
        "id": kept,
        "step": step_name(shaped.step),
        "kind": shaped.kind,
        "strategy": shaped.strategy,
        "raw": cost(&shaped.raw),
        "shaped": cost(&shaped.shaped),
        "left_out": left_out.collect::<Vec<_>>(),
        "text": text,
    })
}

fn step_name(step: Step) -> &'static str {
    match step {
        Step::Pass => "pass",
        Step::Lossless => "lossless",
        Step::Overview => "overview",
    }
}

fn stats_line(shaped: &Shaped) -> String {
    let about = if shaped.raw.estimated { "~" } else { "" };
    let kind = if shaped.kind.is_empty() {
        String::new()
    } else {
        format!(" ({} as {})", shaped.kind, shaped.strategy)
    };
    format!(
        "{}{kind}: {} bytes, {about}{} tokens -> {} bytes, {} tokens",
        step_name(shaped.step),
        shaped.raw.bytes,
        shaped.raw.tokens,
        shaped.shaped.bytes,
        shaped.shaped.tokens
    )
}
