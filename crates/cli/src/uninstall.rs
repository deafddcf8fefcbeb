//! `tidegate uninstall`: removes tidegate from the servers in clients' configuration files.

use clap::Args;
use serde_json::{Value, json};
use tidegate_clients::uninstall::{self, Outcome, Reversal, UndoPlan};
use tidegate_clients::{Disk, Records};

use crate::cli::Format;
use crate::error::CommandError;
use crate::install::changes::{
    ChangeOptions, coloured, diff, fail_if_skipped, problem_json, report_failure, report_problem,
    server_table,
};
use crate::server_filter::ServerFilter;
use crate::system::{SystemPaths, data_folder};
use crate::ui;

/// Remove tidegate from your MCP servers
///
/// Restores byte for byte each file that has not changed since `tidegate install`. In any other file, removes tidegate
/// from each server and keeps everything else. A server that was wrapped by hand, or whose record was lost with the data
/// folder, stays as it is unless --server names it. If a file is missing, keeps its record for a later uninstall.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tidegate uninstall --dry-run\n  tidegate uninstall --server github\n  \
    tidegate uninstall --yes")]
pub(crate) struct Arguments {
    #[command(flatten)]
    filter: ServerFilter,

    #[command(flatten)]
    change: ChangeOptions,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<(), CommandError> {
    let paths = SystemPaths::detect()?;
    let records = records()?;
    let plan = uninstall::plan(&records, &paths.folders, &arguments.filter.selection())
        .map_err(CommandError::failed)?;
    let format = arguments.change.format;
    if plan.is_empty && format == Format::Text {
        ui::note("no server is wrapped; nothing was changed");
        return Ok(());
    }
    let servers = || plan.reversals.iter().flat_map(|reversal| &reversal.servers);
    if plan.problems.is_empty() {
        arguments.filter.check_names(servers().map(|(wrapped, _)| wrapped.server()))?;
    }
    if format == Format::Text {
        ui::data(plan_text(&plan, &paths).as_bytes())?;
        plan.problems.iter().for_each(report_problem);
        if plan.reversals.is_empty() && plan.problems.is_empty() {
            ui::note("none of these servers is wrapped; nothing was changed");
        }
    }
    let mut written = Vec::new();
    let outcome = match plan.reversals.is_empty() {
        true => Ok(()),
        false => is_confirmed(&arguments.change, &plan).and_then(|confirmed| match confirmed {
            true => write(&plan, &records, format, &mut written),
            false => Ok(()),
        }),
    };
    if format == Format::Json {
        ui::json(&plan_json(&plan, &written, &paths))?;
    }
    outcome?;
    let left = servers().filter(|(_, outcome)| matches!(outcome, Outcome::Skipped(_))).count();
    match left {
        0 => fail_if_skipped(&plan.problems),
        left => Err(CommandError::failed(format!("could not unwrap {}", ui::count(left as u64, "server")))
            .hint("unwrap by hand, then run this again")),
    }
}

/// Opens and locks the records; creates nothing if there are none.
fn records() -> Result<Records, CommandError> {
    let folder = data_folder()?;
    let look = Records::look(&folder);
    match look.path().exists() {
        true => Records::open(&folder).map_err(CommandError::out_of_reach),
        false => Ok(look),
    }
}

fn is_confirmed(options: &ChangeOptions, plan: &UndoPlan) -> Result<bool, CommandError> {
    let files = plan.reversals.iter().filter(|reversal| reversal.new.is_some()).count();
    // If only records are out of date, no file changes and there is nothing to ask.
    if files == 0 && !options.is_dry_run() {
        return Ok(true);
    }
    options.confirm(&format!("Change {}?", ui::count(files as u64, "file")))
}

fn write<'p>(
    plan: &'p UndoPlan,
    records: &Records,
    format: Format,
    written: &mut Vec<&'p Reversal>,
) -> Result<(), CommandError> {
    let disk = Disk::default();
    for reversal in &plan.reversals {
        match uninstall::apply(reversal, records, &disk) {
            Ok(()) => written.push(reversal),
            Err(error) => report_failure(&error),
        }
    }
    if format == Format::Text {
        let servers = written.iter().flat_map(|reversal| &reversal.servers);
        match servers.filter(|(_, outcome)| is_unwrapped(outcome)).count() {
            0 => ui::note("no file was changed"),
            unwrapped => {
                let servers = ui::count(unwrapped as u64, "server");
                ui::note(&format!("unwrapped {servers}; restart your clients to apply this"));
            }
        }
    }
    match plan.reversals.len() - written.len() {
        0 => Ok(()),
        failed => {
            Err(CommandError::failed(format!("{} could not be written", ui::count(failed as u64, "file")))
                .hint("run this again"))
        }
    }
}

fn is_unwrapped(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Restored | Outcome::Unwrapped)
}

/// Returns the servers as a table, and the changes as diffs.
fn plan_text(plan: &UndoPlan, paths: &SystemPaths) -> String {
    if plan.reversals.is_empty() {
        return String::new();
    }
    let rows = plan.reversals.iter().flat_map(|reversal| {
        reversal.servers.iter().map(|(wrapped, outcome)| {
            let (client, server) = (wrapped.client.clone(), wrapped.server().to_owned());
            let file = paths.short(&reversal.file);
            [client, wrapped.scope.to_string(), server, file, action_text(outcome)]
        })
    });
    let diffs = plan
        .reversals
        .iter()
        .filter_map(|reversal| Some(format!("\n{}", coloured(&diff_of(reversal, paths)?))));
    [server_table(rows)].into_iter().chain(diffs).collect()
}

fn diff_of(reversal: &Reversal, paths: &SystemPaths) -> Option<String> {
    Some(diff(&paths.short(&reversal.file), reversal.shown()?))
}

fn action_text(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Restored => "restore, byte for byte".into(),
        Outcome::Unwrapped => "remove tidegate, keep other changes".into(),
        Outcome::NothingToUndo => "nothing to do: gone, or unwrapped by hand".into(),
        Outcome::FileMissing => "file is missing; keep its record".into(),
        Outcome::NotRecorded => "keep: not wrapped by tidegate install; --server NAME unwraps it".into(),
        Outcome::Skipped(why) => format!("skip: {why}"),
    }
}

fn plan_json(plan: &UndoPlan, written: &[&Reversal], paths: &SystemPaths) -> Value {
    let servers = plan.reversals.iter().flat_map(|reversal| {
        reversal.servers.iter().map(|(wrapped, outcome)| {
            let (action, reason) = match outcome {
                Outcome::Restored => ("restore", None),
                Outcome::Unwrapped => ("take_out", None),
                Outcome::NothingToUndo => ("nothing", None),
                Outcome::FileMissing | Outcome::NotRecorded => ("keep", None),
                Outcome::Skipped(why) => ("leave", Some(why)),
            };
            json!({
                "client": wrapped.client,
                "scope": wrapped.scope.to_string(),
                "file": reversal.file,
                "server": wrapped.server(),
                "action": action,
                "reason": reason,
            })
        })
    });
    let changes = plan.reversals.iter().filter_map(|reversal| {
        let is_written = written.iter().any(|other| other.file == reversal.file);
        Some(json!({"file": reversal.file, "diff": diff_of(reversal, paths)?, "written": is_written}))
    });
    json!({
        "servers": servers.collect::<Vec<_>>(),
        "changes": changes.collect::<Vec<_>>(),
        "problems": plan.problems.iter().map(problem_json).collect::<Vec<_>>(),
    })
}
