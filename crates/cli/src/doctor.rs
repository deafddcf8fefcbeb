//! `tidegate doctor`: checks that everything works, and says how to fix what does not.
//!
//! One file for each group of checks. Nothing is changed: each failure comes with its fix.

mod check;
mod clients;
mod configuration;
mod limits;
mod program;
mod servers;
mod stderr_tail;
mod store;

use std::time::Duration;

use clap::Args;
use serde_json::json;
use tidegate_clients::install::{self, FoundServer, Plan, Selection};
use tidegate_clients::{CLIENTS, Client, Options, Records, Scope, Verdict};

use crate::cli::Format;
use crate::error::CommandError;
use crate::overrides::duration;
use crate::server_filter::ServerFilter;
use crate::system::{SystemPaths, data_folder};
use crate::ui;
use check::{Check, Status};
use configuration::Configuration;
use servers::{Server, Start};

/// Check that everything works, and show how to fix what does not
///
/// Checks the program, the configuration, the store and the files of every known client, and starts each wrapped server
/// as its client would, to see whether it answers and what its tools cost. A server in a project's file is started only
/// if `tidegate install` wrote its entry, or --server names it. Changes nothing and stores nothing. Lines begin with
/// ✓ (fine), · (note), ! (warning) or ✗ (failure). Exits with 1 if there is a failure.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tidegate doctor\n  tidegate doctor --client claude-code --server github\n  \
    tidegate doctor --no-start --verbose\n  tidegate doctor --timeout 2m --format json"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    filter: ServerFilter,

    /// Do not start servers
    #[arg(long)]
    no_start: bool,

    /// How long a server may take per answer, such as 10s or 2m
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = duration, conflicts_with = "no_start")]
    timeout: Duration,

    /// Also list clients without a configuration file, and where tidegate looked for it
    #[arg(short, long)]
    verbose: bool,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<(), CommandError> {
    let paths = SystemPaths::detect()?;
    let selection = arguments.filter.selection();
    let all = plan(&paths, &Selection::default());
    arguments.filter.check_names(all.found.iter().map(FoundServer::server))?;
    let mut configuration = Configuration::load(&paths);
    let mut checks = program::checks(&paths);
    checks.extend(configuration.checks(&server_names(&all)));
    checks.extend(store::checks(&configuration.config, &paths));
    // The counts of a client are those of its files, whichever servers are selected.
    let plans = plans(&paths, &Selection { servers: Vec::new(), ..selection });
    checks.extend(client_checks(arguments, &plans, &configuration, &paths));
    checks.extend(clients::missing(&plans, arguments.verbose, &paths));
    let count = |status: Status| checks.iter().filter(|check| check.status == status).count();
    let (fine, warnings, failures) = (count(Status::Fine), count(Status::Warning), count(Status::Failure));
    match arguments.format {
        Format::Json => ui::json(&json!({
            "checks": checks.iter().map(Check::json).collect::<Vec<_>>(),
            "fine": fine,
            "notes": count(Status::Note),
            "warnings": warnings,
            "failures": failures,
        }))?,
        Format::Text => ui::data(text(&checks, (fine, warnings, failures)).as_bytes())?,
    }
    match failures {
        0 => Ok(()),
        failures => Err(CommandError::failed(format!(
            "{}; see the fixes above",
            ui::count(failures as u64, "failure")
        ))),
    }
}

/// Returns the checks of each client, each followed by those of its servers.
fn client_checks(
    arguments: &Arguments,
    plans: &[(&'static Client, Plan)],
    configuration: &Configuration,
    paths: &SystemPaths,
) -> Vec<Check> {
    let start = match () {
        () if arguments.no_start => Start::No("--no-start"),
        () if configuration.is_broken => Start::No("the configuration has mistakes"),
        () => Start::WithTimeout(arguments.timeout),
    };
    let is_started = |found: &FoundServer| found.verdict == Verdict::AlreadyWrapped && !found.off;
    let is_selected = |found: &&FoundServer| arguments.filter.has(found.server());
    let found = || plans.iter().flat_map(|(_, plan)| &plan.found).filter(is_selected);
    // A project's file may come from somebody else, so its servers run only if the user agreed to that.
    let records = data_folder().ok().map(|folder| Records::look(&folder));
    let is_trusted = |found: &FoundServer| {
        let wrote = |records: &Records| records.wrote(&found.file, &found.path);
        found.scope != Scope::Project
            || arguments.filter.names(found.server())
            || records.as_ref().is_some_and(wrote)
    };
    let wrapped: Vec<Server<'_>> = found()
        .filter(|found| is_started(found))
        .map(|found| Server::new(found, paths, is_trusted(found)))
        .collect();
    let mut visited = servers::checks(&wrapped, configuration, &start, paths).into_iter();
    let mut checks = Vec::new();
    for (client, plan) in plans {
        checks.extend(clients::checks(client, plan, configuration, paths));
        for found in plan.found.iter().filter(is_selected) {
            match is_started(found) {
                true => checks.extend(visited.next().unwrap_or_default()),
                false => checks.extend(clients::unwrapped(found, paths)),
            }
            checks.extend(clients::remarks(found, paths));
        }
    }
    checks
}

fn plans(paths: &SystemPaths, selection: &Selection) -> Vec<(&'static Client, Plan)> {
    let is_selected = |client: &&Client| {
        selection.clients.is_empty() || selection.clients.iter().any(|name| name == client.name)
    };
    let plan_for = |client: &'static Client| {
        let selection = Selection { clients: vec![client.name.into()], ..selection.clone() };
        (client, plan(paths, &selection))
    };
    CLIENTS.iter().filter(is_selected).map(plan_for).collect()
}

/// Returns what `install` finds, without wrapping anything.
fn plan(paths: &SystemPaths, selection: &Selection) -> Plan {
    install::plan(
        &paths.folders,
        selection,
        &Options { program: "tidegate".into(), without_login: false, shared_files: false, observe: false },
    )
}

fn server_names(plan: &Plan) -> Vec<String> {
    let mut names: Vec<String> = plan.found.iter().map(|found| found.server().to_owned()).collect();
    names.sort();
    names.dedup();
    names
}

fn text(checks: &[Check], (fine, warnings, failures): (usize, usize, usize)) -> String {
    /// Longer subjects do not widen the column.
    const MAX_SUBJECT_WIDTH: usize = 28;
    let column = checks
        .iter()
        .map(Check::subject_width)
        .filter(|width| *width <= MAX_SUBJECT_WIDTH)
        .max()
        .unwrap_or(0);
    let coloured = ui::is_coloured();
    let lines = checks.iter().map(|check| check.lines(column, coloured));
    let summary = format!(
        "\n{fine} fine, {}, {}\n",
        ui::count(warnings as u64, "warning"),
        ui::count(failures as u64, "failure")
    );
    lines.chain([summary]).collect()
}
