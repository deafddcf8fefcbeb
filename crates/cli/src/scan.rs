//! `tidegate scan`: which tools are heavy, from the ledger or by calling those that are safe to call.

mod arguments;
mod probe;
mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::time::Duration;

use clap::Args;

use crate::cli::TableFormat;
use crate::config::Config;
use crate::error::CommandError;
use crate::notes::{Kind, Selection, ledger};
use crate::overrides::duration;
use crate::ui;
use table::{Scanned, Tools};

/// Show which tools are heavy
///
/// Reads what tidegate run has noted of every call; with --observe it only looks, so a server can be measured before
/// anything is changed. With --probe it starts a server instead, counts what its list of tools costs, and calls those
/// that are marked as read-only and need no arguments, or whose schema says which; --server names it in the table.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tidegate scan\n  tidegate scan --server github --since 7d\n  \
    tidegate scan --probe -- npx -y @modelcontextprotocol/server-memory")]
pub(crate) struct Arguments {
    #[command(flatten)]
    selection: Selection,

    /// Start a server, or reach one by --url, and call its tools where that is safe
    #[arg(long, conflicts_with = "since")]
    probe: bool,

    /// How long a call may take
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = duration, requires = "probe")]
    timeout: Duration,

    /// Address of a server that is reached over HTTP, instead of a command
    #[arg(long, value_name = "URL", requires = "probe", conflicts_with = "command")]
    url: Option<String>,

    /// Variable of the environment that holds the address
    #[arg(long, value_name = "VARIABLE", requires = "probe", conflicts_with_all = ["command", "url"])]
    url_env: Option<String>,

    /// Header for the server, whose value is in a variable of the environment: Authorization=API_AUTH
    #[arg(long, value_name = "NAME=VARIABLE", requires = "probe", conflicts_with = "command")]
    header_env: Vec<String>,

    /// What to print
    #[arg(long, value_enum, default_value_t = TableFormat::Text)]
    format: TableFormat,

    /// Command that starts the server, and its arguments
    #[arg(trailing_var_arg = true, requires = "probe", value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<(), CommandError> {
    let scanned = if arguments.probe { probe::run(arguments)? } else { noted(&arguments.selection)? };
    match arguments.format {
        TableFormat::Json => ui::json(&scanned.json()),
        TableFormat::Csv => ui::data(scanned.csv().as_bytes()),
        TableFormat::Text if scanned.is_empty() => {
            ui::note(nothing(arguments));
            Ok(())
        }
        TableFormat::Text => ui::data(scanned.text().as_bytes()),
    }
}

fn nothing(arguments: &Arguments) -> &'static str {
    match (arguments.probe, arguments.selection.is_narrow()) {
        (true, _) => "the server has no tools",
        (false, true) => {
            "nothing was noted of that; tidegate scan without --since and --server shows all there is"
        }
        (false, false) => {
            "nothing was noted yet; put `tidegate run --observe --` in front of a server's command in your client's \
             configuration and use the client, or measure a server now: tidegate scan --probe -- COMMAND"
        }
    }
}

/// What the ledger says.
fn noted(selection: &Selection) -> Result<Scanned, CommandError> {
    let place = Config::load(None)?.place();
    let (mut tools, mut lists, mut vocabularies) = (Tools::default(), BTreeMap::new(), BTreeSet::new());
    selection.read(ledger(&place), |call| {
        // Some clients count with a margin; without it the results of all are comparable.
        let (vocabulary, margin) = match &call.counted {
            Some(counted) => (Some(counted.vocabulary.clone()), counted.margin_percent),
            None => (None, 0),
        };
        let tokens = call.raw_tokens * 100 / (100 + u64::from(margin));
        match Kind::of(&call) {
            // Of these the size of the result is not known, or is no matter of the tool's.
            Kind::Lost | Kind::FollowUp => return,
            // The latest list is what the server has now; its further pages are of the same session.
            Kind::List => drop(lists.insert(call.server.clone(), (call.session.clone(), tokens))),
            Kind::MoreOfList => {
                if let Some((session, sum)) = lists.get_mut(&call.server)
                    && *session == call.session
                {
                    *sum += tokens;
                }
            }
            kind => tools.add(&call.server, &call.tool, tokens, kind == Kind::Observed),
        }
        vocabularies.insert(vocabulary);
    })?;
    let known = vocabularies.into_iter().map(|name| name.unwrap_or_else(|| "an unknown vocabulary".into()));
    let lists = lists.into_iter().map(|(server, (_, tokens))| (server, tokens)).collect();
    Ok(Scanned::of_ledger(tools, lists, known.collect()))
}
