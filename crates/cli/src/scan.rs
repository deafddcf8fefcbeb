//! `tidegate scan`: which tools are heavy, from the ledger or by calling the tools that are safe to call.

mod arguments;
mod probe;
mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::time::Duration;

use clap::Args;
use tidegate_config::Config;

use crate::cli::TableFormat;
use crate::error::CommandError;
use crate::ledger::{EntryFilter, EntryKind};
use crate::overrides::duration;
use crate::ui;
use table::{Scan, ToolResults};

/// Show which tools return large results
///
/// Reads the calls that `tidegate run` recorded; `tidegate run --observe` measures a server without changing anything.
/// With --probe, starts a server instead, measures its tool list, and calls each tool that is marked read-only and
/// whose schema has a value (const, default, example or enum) for every required argument. With --probe, --server sets
/// the server's name in the table.
///
/// With --fail-above, exits with code 1 if a result, or the whole tool list, has more tokens than that, so that CI can
/// catch results that grow. To measure what clients get through tidegate, pass --probe -- tidegate run -- COMMAND.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tidegate scan\n  tidegate scan --server github --since 7d\n  \
    tidegate scan --probe -- npx -y @modelcontextprotocol/server-memory\n  \
    tidegate scan --fail-above 20000 --probe -- npx -y @modelcontextprotocol/server-memory")]
pub(crate) struct Arguments {
    #[command(flatten)]
    filter: EntryFilter,

    /// Start a server, or connect to one with --url, and call the tools that are safe to call
    #[arg(long, conflicts_with = "since")]
    probe: bool,

    /// How long the tool list and each call may take; starting the server may take 2 minutes
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = duration, requires = "probe")]
    timeout: Duration,

    /// URL of a server reached over HTTP, instead of a command
    #[arg(long, value_name = "URL", requires = "probe", conflicts_with = "command")]
    url: Option<String>,

    /// Environment variable with the URL of the server
    #[arg(long, value_name = "VARIABLE", requires = "probe", conflicts_with_all = ["command", "url"])]
    url_env: Option<String>,

    /// Header to send, with its value in an environment variable, such as Authorization=API_AUTH; may be repeated
    #[arg(long, value_name = "NAME=VARIABLE", requires = "probe", conflicts_with = "command")]
    header_env: Vec<String>,

    /// Exit with code 1 if a result or the tool list has more tokens than this
    #[arg(long, value_name = "TOKENS")]
    fail_above: Option<u64>,

    /// Output format
    #[arg(long, value_enum, default_value_t = TableFormat::Text)]
    format: TableFormat,

    /// Command that starts the server, with its arguments
    #[arg(trailing_var_arg = true, requires = "probe", value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<(), CommandError> {
    let scan = if arguments.probe { probe::run(arguments)? } else { recorded(&arguments.filter)? };
    match arguments.format {
        TableFormat::Json => ui::json(&scan.json()),
        TableFormat::Csv => ui::data(scan.csv().as_bytes()),
        TableFormat::Text if scan.is_empty() => {
            ui::note(nothing_found(arguments));
            Ok(())
        }
        TableFormat::Text => ui::data(scan.text().as_bytes()),
    }?;
    arguments.fail_above.map_or(Ok(()), |most| check(&scan, most))
}

/// Fails if something has more tokens than allowed, or if nothing was measured.
fn check(scan: &Scan, most: u64) -> Result<(), CommandError> {
    let limit = ui::grouped(most);
    if !scan.has_results() {
        let message = format!("no result was measured, so --fail-above {most} has nothing to check");
        return Err(CommandError::failed(message)
            .hint("with --probe, mark tools as read-only and give their required arguments an example"));
    }
    match scan.above(most).as_slice() {
        [] => Ok(()),
        above => Err(CommandError::failed(format!("above {limit} tokens: {}", above.join(", ")))),
    }
}

fn nothing_found(arguments: &Arguments) -> &'static str {
    match (arguments.probe, arguments.filter.is_narrow()) {
        (true, _) => "the server has no tools",
        (false, true) => "no recorded calls match; tidegate scan without --since and --server shows all",
        (false, false) => {
            "no calls are recorded yet; put `tidegate run --observe --` in front of a server's command in your client's \
             configuration and use the client, or measure a server now: tidegate scan --probe -- COMMAND"
        }
    }
}

/// Sums up the ledger.
fn recorded(filter: &EntryFilter) -> Result<Scan, CommandError> {
    let config = Config::load(None)?;
    let (mut tools, mut lists, mut vocabularies) = (ToolResults::default(), BTreeMap::new(), BTreeSet::new());
    filter.read(&config, |call| {
        // Some clients count with a margin; removing it makes the results of all comparable.
        let (vocabulary, margin) = match &call.counted {
            Some(counted) => (Some(counted.vocabulary.clone()), counted.margin_percent),
            None => (None, 0),
        };
        let tokens = call.raw_tokens * 100 / (100 + u64::from(margin));
        match EntryKind::of(&call) {
            // The size of a lost result is unknown, and a follow-up's does not depend on the tool.
            EntryKind::Lost | EntryKind::FollowUp | EntryKind::Refused | EntryKind::Artifact => return,
            // The latest list counts; its further pages have the same session.
            EntryKind::List => drop(lists.insert(call.server.clone(), (call.session.clone(), tokens))),
            EntryKind::MoreOfList => {
                if let Some((session, sum)) = lists.get_mut(&call.server)
                    && *session == call.session
                {
                    *sum += tokens;
                }
            }
            kind => tools.add(&call.server, &call.tool, tokens, kind == EntryKind::Observed),
        }
        vocabularies.insert(vocabulary);
    })?;
    let known = vocabularies.into_iter().map(|name| name.unwrap_or_else(|| "an unknown vocabulary".into()));
    let lists = lists.into_iter().map(|(server, (_, tokens))| (server, tokens)).collect();
    Ok(Scan::of_ledger(tools, lists, known.collect()))
}
