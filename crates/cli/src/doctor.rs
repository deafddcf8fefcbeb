//! `tidegate doctor`: does everything work here, and what is to be done where it does not?
//!
//! One file for each group of checks; each thing that was looked at is one [`Check`]. Nothing is changed: what is wrong
//! comes with its fix.

mod check;
mod clients;
mod configuration;
mod limits;
mod program;
mod said;
mod servers;
mod store;

use std::time::Duration;

use clap::Args;
use serde_json::json;
use tidegate_clients::install::{self, Found, Plan, Selection};
use tidegate_clients::{CLIENTS, Client, Options, Records, Scope, Verdict};

use crate::cli::Format;
use crate::error::CommandError;
use crate::install::{Chosen, Names, data_folder};
use crate::overrides::duration;
use crate::ui;
use check::{Check, Status};
use configuration::Configuration;
use servers::{Server, Start};

/// Check that everything works, and say how to fix what does not
///
/// Looks at the program, the configuration, the store, and the files of every client it knows, and starts each wrapped
/// server as its client would, to see that it answers and what its tools cost. What a project's file says is run only if
/// tidegate install wrote it there, or the server is named with --server. Nothing is changed and nothing is kept. Lines
/// begin with ✓ (fine), · (worth knowing), ! (could be better) or ✗ (does not work); the exit code is 1 if anything does
/// not work.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tidegate doctor\n  tidegate doctor --client claude-code --server github\n  \
    tidegate doctor --no-start --verbose\n  tidegate doctor --timeout 2m --format json"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    chosen: Chosen,

    /// Do not start servers
    #[arg(long)]
    no_start: bool,

    /// How long a server may take for each answer, such as 10s or 2m
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = duration, conflicts_with = "no_start")]
    timeout: Duration,

    /// Tell of clients that have no file here, too, and where they were looked for
    #[arg(short, long)]
    verbose: bool,

    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<(), CommandError> {
    let names = Names::of_system()?;
    let selection = arguments.chosen.selection();
    let all = look(&names, &Selection::default());
    arguments.chosen.check_servers(all.found.iter().map(Found::server))?;
    let mut configuration = Configuration::load(&names);
    let mut checks = program::checks(&names);
    checks.extend(configuration.checks(&server_names(&all)));
    checks.extend(store::checks(&configuration.config.place(), &names));
    let plans = plans(&names, &selection);
    checks.extend(of_clients(arguments, &plans, &configuration, &names));
    checks.extend(clients::missing(&plans, arguments.verbose, &names));
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
        failures => {
            Err(CommandError::failed(format!("{} wrong; each has its fix above", things(failures, "thing"))))
        }
    }
}

/// The checks of each client and, below it, of its servers.
fn of_clients(
    arguments: &Arguments,
    plans: &[(&'static Client, Plan)],
    configuration: &Configuration,
    names: &Names,
) -> Vec<Check> {
    let start = match () {
        () if arguments.no_start => Start::No("--no-start"),
        () if configuration.is_broken => Start::No("the configuration is to be put right first"),
        () => Start::Within(arguments.timeout),
    };
    let is_started = |found: &Found| found.verdict == Verdict::AlreadyWrapped && !found.off;
    let found = || plans.iter().flat_map(|(_, plan)| &plan.found);
    // What a project's file says comes from whoever wrote the project, so it is run only once somebody here said so.
    let records = data_folder().ok().map(|folder| Records::look(&folder));
    let is_known = |found: &Found| {
        let wrote = |records: &Records| records.wrote(&found.file, &found.path);
        found.scope != Scope::Project
            || arguments.chosen.names(found.server())
            || records.as_ref().is_some_and(wrote)
    };
    let wrapped: Vec<Server<'_>> = found()
        .filter(|found| is_started(found))
        .map(|found| Server::new(found, names, is_known(found)))
        .collect();
    let mut visited = servers::checks(&wrapped, configuration, &start, names).into_iter();
    let mut checks = Vec::new();
    for (client, plan) in plans {
        checks.extend(clients::checks(client, plan, configuration, names));
        for found in &plan.found {
            match is_started(found) {
                true => checks.extend(visited.next().unwrap_or_default()),
                false => checks.extend(clients::unwrapped(found, names)),
            }
            checks.extend(clients::remarks(found, names));
        }
    }
    checks
}

fn plans(names: &Names, selection: &Selection) -> Vec<(&'static Client, Plan)> {
    let wanted = |client: &&Client| {
        selection.clients.is_empty() || selection.clients.iter().any(|name| name == client.name)
    };
    let plan = |client: &'static Client| {
        let selection = Selection { clients: vec![client.name.into()], ..selection.clone() };
        (client, look(names, &selection))
    };
    CLIENTS.iter().filter(wanted).map(plan).collect()
}

fn look(names: &Names, selection: &Selection) -> Plan {
    // Nothing is wrapped by this one, so its program matters to nobody.
    install::plan(&names.folders, selection, &Options { program: "tidegate".into(), without_login: false })
}

fn server_names(plan: &Plan) -> Vec<String> {
    let mut names: Vec<String> = plan.found.iter().map(|found| found.server().to_owned()).collect();
    names.sort();
    names.dedup();
    names
}

fn text(checks: &[Check], (fine, warnings, failures): (usize, usize, usize)) -> String {
    /// Longer subjects do not push all texts to the right.
    const WIDEST: usize = 28;
    let column = checks.iter().map(Check::width).filter(|width| *width <= WIDEST).max().unwrap_or(0);
    let coloured = ui::is_coloured();
    let lines = checks.iter().map(|check| check.lines(column, coloured));
    let summary = format!("\n{fine} fine, {}, {failures} wrong\n", things(warnings, "warning"));
    lines.chain([summary]).collect()
}

fn things(number: usize, thing: &str) -> String {
    ui::count(number as u64, thing)
}
