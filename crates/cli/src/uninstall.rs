//! `tidegate uninstall`: clients' files as they were.

use clap::Args;
use serde_json::{Value, json};
use tidegate_clients::uninstall::{self, Outcome, Reversal, UndoPlan};
use tidegate_clients::{Disk, Records};

use crate::cli::Format;
use crate::error::CommandError;
use crate::install::{Chosen, Names, consent, count, data_folder, diff, finish, problem, row, tell};
use crate::ui;

/// Take tidegate away from in front of servers again
///
/// A file that was not changed since `tidegate install` becomes what it was before, byte for byte. In any other, tidegate
/// is taken out of each server, and everything else stays as it is now. Servers that it stands in front of without a record,
/// since they were renamed or the data folder is lost, are undone by what their entries say. What is recorded of a file that
/// is not there stays recorded.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tidegate uninstall --dry-run\n  tidegate uninstall --server github\n  \
    tidegate uninstall --yes")]
pub(crate) struct Arguments {
    #[command(flatten)]
    chosen: Chosen,

    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,

    /// Do not ask
    #[arg(short, long, conflicts_with = "dry_run")]
    yes: bool,

    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<(), CommandError> {
    let names = Names::of_system()?;
    let records = records()?;
    let plan = uninstall::plan(&records, &names.folders, &arguments.chosen.selection())
        .map_err(CommandError::failed)?;
    if plan.is_empty && arguments.format == Format::Text {
        ui::note("nothing is installed; nothing was changed");
        return Ok(());
    }
    let servers = || plan.reversals.iter().flat_map(|reversal| &reversal.servers);
    if plan.problems.is_empty() {
        arguments.chosen.check_servers(servers().map(|(wrapped, _)| wrapped.server()))?;
    }
    if arguments.format == Format::Text {
        ui::data(report(&plan, &names).as_bytes())?;
        plan.problems.iter().for_each(tell);
        if plan.reversals.is_empty() && plan.problems.is_empty() {
            ui::note("nothing of these is installed; nothing was changed");
        }
    }
    let mut written = Vec::new();
    let done = match plan.reversals.is_empty() {
        true => Ok(()),
        false => wanted(arguments, &plan).and_then(|wanted| match wanted {
            true => write(&plan, &records, arguments.format, &mut written),
            false => Ok(()),
        }),
    };
    if arguments.format == Format::Json {
        ui::json(&as_json(&plan, &written, &names))?;
    }
    done?;
    let left = servers().filter(|(_, outcome)| matches!(outcome, Outcome::Left(_))).count();
    match left {
        0 => finish(&plan.problems),
        left => Err(CommandError::failed(format!("{} could not be undone", count(left, "server")))
            .hint("undo it by hand, and run this again")),
    }
}

/// The records, for nobody else to change meanwhile; where there are none, nothing is made.
fn records() -> Result<Records, CommandError> {
    let folder = data_folder()?;
    let look = Records::look(&folder);
    match look.path().exists() {
        true => Records::open(&folder).map_err(CommandError::out_of_reach),
        false => Ok(look),
    }
}

fn wanted(arguments: &Arguments, plan: &UndoPlan) -> Result<bool, CommandError> {
    let files = plan.reversals.iter().filter(|reversal| reversal.new.is_some()).count();
    // Where only the record is out of date, there is nothing to ask.
    if files == 0 && !arguments.dry_run {
        return Ok(true);
    }
    consent(&format!("Change {}?", count(files, "file")), arguments.dry_run, arguments.yes)
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
            Err(error) => ui::note(&format!("tidegate: {}", ui::shown(&error.to_string()))),
        }
    }
    if format == Format::Text {
        let servers = written.iter().flat_map(|reversal| &reversal.servers);
        match servers.filter(|(_, outcome)| is_undone(outcome)).count() {
            0 => ui::note("no file was changed"),
            undone => {
                ui::note(&format!(
                    "{} undone; clients take note when they start again",
                    count(undone, "server")
                ));
            }
        }
    }
    match plan.reversals.len() - written.len() {
        0 => Ok(()),
        failed => Err(CommandError::failed(format!("{} could not be written", count(failed, "file")))
            .hint("run this again")),
    }
}

fn is_undone(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Restored | Outcome::TakenOut)
}

fn report(plan: &UndoPlan, names: &Names) -> String {
    if plan.reversals.is_empty() {
        return String::new();
    }
    let mut rows = vec![["CLIENT", "SCOPE", "SERVER", "FILE", "WHAT HAPPENS"].map(str::to_owned)];
    for reversal in &plan.reversals {
        rows.extend(reversal.servers.iter().map(|(wrapped, outcome)| {
            let (scope, file) = (wrapped.scope.to_string(), names.short(&reversal.file));
            row([&wrapped.client, &scope, wrapped.server(), &file, &happens(outcome)])
        }));
    }
    let diffs = plan.reversals.iter().filter_map(|reversal| Some(format!("\n{}", change(reversal, names)?)));
    [ui::table(&rows, &[])].into_iter().chain(diffs).collect()
}

fn change(reversal: &Reversal, names: &Names) -> Option<String> {
    Some(diff(&names.short(&reversal.file), reversal.shown()?))
}

fn happens(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Restored => "as it was, byte for byte".into(),
        Outcome::TakenOut => "taken out; other changes of the file stay".into(),
        Outcome::Absent => "nothing to undo: it is gone, or undone by hand".into(),
        Outcome::Away => "its file is not there; it stays recorded".into(),
        Outcome::Left(why) => format!("left as it is: {why}"),
    }
}

fn as_json(plan: &UndoPlan, written: &[&Reversal], names: &Names) -> Value {
    let servers = plan.reversals.iter().flat_map(|reversal| {
        reversal.servers.iter().map(|(wrapped, outcome)| {
            let (action, reason) = match outcome {
                Outcome::Restored => ("restore", None),
                Outcome::TakenOut => ("take_out", None),
                Outcome::Absent => ("nothing", None),
                Outcome::Away => ("keep", None),
                Outcome::Left(why) => ("leave", Some(why)),
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
        Some(json!({"file": reversal.file, "diff": change(reversal, names)?, "written": is_written}))
    });
    json!({
        "servers": servers.collect::<Vec<_>>(),
        "changes": changes.collect::<Vec<_>>(),
        "problems": plan.problems.iter().map(problem).collect::<Vec<_>>(),
    })
}
