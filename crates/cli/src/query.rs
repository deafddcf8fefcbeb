//! `tidegate query`: any part of a kept result, with the arguments of `result_query`.

use std::time::Duration;

use clap::Args;
use serde_json::json;
use tidegate_core::Tokens;
use tidegate_core::budget::Budget;
use tidegate_core::envelope::{Handle, handle_name};
use tidegate_core::measure::Meter;
use tidegate_core::outline::Outline;
use tidegate_core::view::{Answer, Asked, Query, ViewError, answer, arguments, cursor};
use tidegate_gate::kept_words;
use tidegate_query::{Limits, Queries, Worker};
use tidegate_store::{Clock, SystemClock};

use crate::cli::Format;
use crate::error::CommandError;
use crate::keep::Keep;
use crate::ui;

/// Read a part of a kept result
///
/// Takes the arguments that a model gives to result_query: at most one view, and its answer fits the budget. Without
/// any it prints the summary.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tidegate query list_issues-3f9c2kq7m0xw --page 2\n  \
    tidegate query list_issues-3f9c2kq7m0xw --jq '.[] | select(.state == \"open\") | .title'\n  \
    tidegate query list_issues-3f9c2kq7m0xw --sql 'select author, count(*) from t group by 1'\n  \
    tidegate query list_issues-3f9c2kq7m0xw --grep timeout --context 2")]
pub(crate) struct Arguments {
    /// Name of the result, such as list_issues-3f9c2kq7m0xw
    id: String,

    /// Go on where the last answer ended
    #[arg(long, value_name = "CURSOR", conflicts_with_all = ["page", "page_size", "fields", "path", "jq", "sql", "grep", "lines", "range", "mode"])]
    cursor: Option<String>,

    /// Page of records, from 1
    #[arg(long, value_name = "N")]
    page: Option<u64>,

    /// Records of one page [default: as many as typically fit]
    #[arg(long, value_name = "N")]
    page_size: Option<u64>,

    /// Only these fields of the records, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    fields: Option<Vec<String>>,

    #[arg(long, help = "Value at a JSON Pointer (/items/0/name) or a simple JSONPath ($.items[0].name)")]
    path: Option<String>,

    /// Results of a jq program
    #[arg(long, value_name = "PROGRAM")]
    jq: Option<String>,

    /// Rows of an SQL query over the table t of the records
    #[arg(long, value_name = "QUERY")]
    sql: Option<String>,

    /// Lines or records that a regular expression matches
    #[arg(long, value_name = "REGEX")]
    grep: Option<String>,

    /// Lines to show around a match
    #[arg(long, value_name = "N")]
    context: Option<u64>,

    /// Lines of the text, such as 10-20
    #[arg(long, value_name = "FROM-TO")]
    lines: Option<String>,

    /// Bytes of the original, such as 0-999
    #[arg(long, value_name = "FROM-TO")]
    range: Option<String>,

    /// summary or full
    #[arg(long)]
    mode: Option<String>,

    /// Most tokens of the answer
    #[arg(long, value_name = "TOKENS", default_value_t = Budget::DEFAULT_TOKENS.0)]
    max_tokens: u64,

    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<(), CommandError> {
    let budget = budget(arguments.max_tokens)?;
    let keep = Keep::open()?;
    let source = keep.source(&arguments.id)?;
    let id = source.artifact().id.clone();
    let seal = |bytes: &[u8]| keep.seal(&id, bytes);
    let query = match &arguments.cursor {
        Some(text) => cursor::decode(text, seal).map_err(CommandError::bad_input)?,
        None => arguments.query()?,
    };
    let outline = Outline::from_bytes(source.outline());
    let outline = outline.ok_or_else(|| {
        CommandError::failed("the outline of this result is of another version")
            .hint("tidegate export still gives its bytes")
    })?;
    let name = handle_name(&source.artifact().tool, id.as_str());
    let engines = Queries::new(Limits::default(), Worker::current().map_err(CommandError::failed)?);
    let left = source.artifact().expires.0.saturating_sub(SystemClock.now().0);
    let kept = kept_words(Duration::from_millis(u64::try_from(left).unwrap_or(0)));
    let asked = Asked {
        source: &source,
        outline: &outline,
        tool: &source.artifact().tool,
        handle: Handle::kept(&name, &kept),
        query: &query,
        budget,
        meter: Meter::default(),
        engines: &engines,
        seal: &seal,
    };
    let answer = answer(&asked).map_err(refused)?;
    match arguments.format {
        Format::Text => {
            ui::data(format!("{}\n", answer.text).as_bytes())?;
            if let Some(next) = &answer.next {
                ui::note(&format!(
                    "read on with: tidegate query {name} --cursor {}",
                    cursor::encode(next, seal)
                ));
            }
            Ok(())
        }
        Format::Json => ui::json(&report(&answer, |next| cursor::encode(next, seal))),
    }
}

/// The most tokens a caller may ask for.
const MOST_TOKENS: u64 = 10_000;

fn budget(tokens: u64) -> Result<Budget, CommandError> {
    let least = Budget::LEAST_TOKENS.0;
    if !(least..=MOST_TOKENS).contains(&tokens) {
        let message = format!("--max-tokens {tokens} is not possible");
        return Err(CommandError::bad_input(message).hint(format!("it is {least} to {MOST_TOKENS}")));
    }
    Ok(Budget::of_tokens(Tokens(tokens)))
}

fn refused(error: ViewError) -> CommandError {
    match error {
        ViewError::Bad(message) => CommandError::bad_input(message),
        other => CommandError::failed(crate::keep::causes(&other)),
    }
}

fn report(answer: &Answer, cursor: impl FnOnce(&Query) -> String) -> serde_json::Value {
    json!({
        "shown": answer.shown,
        "of": answer.of,
        "next": answer.next.as_ref().map(cursor),
        "tokens": answer.cost.tokens.0,
        "bytes": answer.cost.bytes.0,
        "body": answer.body,
    })
}

impl Arguments {
    fn query(&self) -> Result<Query, CommandError> {
        let arguments = arguments::Arguments {
            page: self.page,
            page_size: self.page_size,
            fields: self.fields.clone(),
            path: self.path.clone(),
            jq: self.jq.clone(),
            sql: self.sql.clone(),
            grep: self.grep.clone(),
            context: self.context,
            lines: self.lines.clone(),
            range: self.range.clone(),
            mode: self.mode.clone(),
        };
        arguments.into_query().map_err(CommandError::bad_input)
    }
}
