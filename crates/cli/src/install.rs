//! `tidegate install`: puts tidegate in front of the servers in clients' configuration files.

pub(crate) mod changes;

use std::path::Path;

use clap::Args;
use serde_json::{Value, json};
use tidegate_clients::install::{self, Change, FoundServer, Plan};
use tidegate_clients::{Disk, Options, Records, Scope, Verdict};
use tidegate_store::Home;

use crate::cli::Format;
use crate::error::CommandError;
use crate::installed_copy::{CopyAction, InstalledCopy};
use crate::server_filter::ServerFilter;
use crate::system::{Program, SystemPaths, data_folder};
use crate::ui;
use crate::version::VERSION;
use changes::{
    ChangeOptions, coloured, diff, fail_if_skipped, problem_json, report_failure, report_problem,
    server_table,
};

/// Put tidegate in front of your MCP servers
///
/// Finds servers in the configuration files of Claude Code, Claude Desktop, Cursor, VS Code, Codex, Gemini CLI, Windsurf,
/// Antigravity, Zed and opencode, shows what would change, and asks before it writes anything. Servers keep their names,
/// tools and environment. Secrets are never written as arguments, and are shown as "…". Files that everybody in a project shares
/// are changed only with `--scope project`. `tidegate uninstall` restores the files from copies that this command keeps.
///
/// If tidegate runs from a cache, as with npx and uvx, it is copied to `bin` in its data folder, and clients start that copy;
/// running this again from a newer version updates the copy.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tidegate install --dry-run\n  \
    tidegate install --client claude-code --client codex --server github\n  tidegate install --observe --yes\n  tidegate install --scope project")]
pub(crate) struct Arguments {
    #[command(flatten)]
    filter: ServerFilter,

    /// Also wrap remote servers that have no headers configured; use it if they need no login
    #[arg(long)]
    without_login: bool,

    /// Only measure the wrapped servers: every byte passes unchanged, as with tidegate run --observe
    #[arg(long)]
    observe: bool,

    #[command(flatten)]
    change: ChangeOptions,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<(), CommandError> {
    let paths = SystemPaths::detect()?;
    let copy = InstalledCopy::find()?;
    let program = Program::detect(&copy)?;
    let options = Options {
        program: program.path.clone(),
        without_login: arguments.without_login,
        shared_files: arguments.filter.is_project(),
        observe: arguments.observe,
    };
    let plan = install::plan(&paths.folders, &arguments.filter.selection(), &options);
    arguments.filter.check_names(plan.found.iter().map(FoundServer::server))?;
    let format = arguments.change.format;
    let remarks = remarks(&plan, &program);
    if format == Format::Text {
        ui::data(plan_text(&plan, &paths).as_bytes())?;
        plan.problems.iter().for_each(report_problem);
        remarks.iter().for_each(|remark| ui::note(remark));
        // Nothing is copied only because somebody looks for servers.
        copy.plan_text(&paths).filter(|_| is_copied(&copy, &plan)).iter().for_each(|text| ui::note(text));
        if plan.found.is_empty() && plan.problems.is_empty() {
            report_nothing_found(&plan, &paths);
        }
    }
    let (mut written, mut has_copied) = (Vec::new(), false);
    let outcome = confirm_plan(&arguments.change, &plan, &copy, &paths).and_then(|confirmed| {
        if !confirmed {
            return Ok(());
        }
        has_copied = write_copy(&copy, &plan, format, &paths)?;
        write(&plan.changes, format, &mut written)
    });
    // Print the JSON plan even if the user declined or a file could not be written.
    if format == Format::Json {
        let mut shown = plan_json(&plan, &written, &remarks, &paths);
        shown["copy"] = copy.json(has_copied);
        ui::json(&shown)?;
    }
    outcome?;
    fail_if_skipped(&plan.problems)
}

/// Returns notes on what else the user has to know or do.
fn remarks(plan: &Plan, program: &Program) -> Vec<String> {
    let with_server = |found: &FoundServer, remark: &String| {
        format!("{} {}: {remark}", found.client.name, ui::printable(found.server()))
    };
    let found = plan.found.iter().flat_map(|found| found.remarks.iter().map(move |remark| (found, remark)));
    let mut remarks: Vec<String> = found.map(|(found, remark)| with_server(found, remark)).collect();
    let mut servers = plan.changes.iter().flat_map(|change| &change.servers);
    if !program.is_on_path && servers.any(|server| server.scope == Scope::Project) {
        let folder = Path::new(&program.path).parent().unwrap_or(Path::new(&program.path)).display();
        remarks.push(format!(
            "tidegate is not on the PATH, but entries in project files start it by name: add {folder} to \
             the PATH"
        ));
    }
    remarks
}

/// Returns whether the copy that clients start is part of this plan: an existing one always, a new one if an entry needs it.
fn is_copied(copy: &InstalledCopy, plan: &Plan) -> bool {
    copy.action != CopyAction::Create || !plan.changes.is_empty()
}

/// Writes the copy that clients start, if there is something to write; returns whether it did.
fn write_copy(
    copy: &InstalledCopy,
    plan: &Plan,
    format: Format,
    paths: &SystemPaths,
) -> Result<bool, CommandError> {
    if !copy.is_written() || !is_copied(copy, plan) {
        return Ok(false);
    }
    // Creates the data folder so that only its user can read it.
    Home::open(Some(data_folder()?)).map_err(CommandError::out_of_reach)?;
    copy.write()?;
    if format == Format::Text {
        ui::note(&format!("copied tidegate {VERSION} to {}", paths.short(&copy.path)));
    }
    Ok(true)
}

/// Asks the user to confirm, if there is something to write; returns the answer.
fn confirm_plan(
    options: &ChangeOptions,
    plan: &Plan,
    copy: &InstalledCopy,
    paths: &SystemPaths,
) -> Result<bool, CommandError> {
    let servers: usize = plan.changes.iter().map(|change| change.servers.len()).sum();
    if servers == 0 && copy.action == CopyAction::Update {
        return options.confirm(&format!("Update {}?", paths.short(&copy.path)));
    }
    if servers == 0 {
        if !plan.found.is_empty() && options.format == Format::Text {
            ui::note("nothing to wrap; nothing was changed");
        }
        return Ok(false);
    }
    options.confirm(&format!("Put tidegate in front of {}?", ui::count(servers as u64, "server")))
}

/// Writes every change. A file that cannot be written is reported and does not stop the others.
fn write<'c>(
    changes: &'c [Change],
    format: Format,
    written: &mut Vec<&'c Change>,
) -> Result<(), CommandError> {
    if changes.is_empty() {
        return Ok(());
    }
    let home = Home::open(Some(data_folder()?)).map_err(CommandError::out_of_reach)?;
    let records = Records::open(home.path()).map_err(CommandError::out_of_reach)?;
    let disk = Disk::default();
    for change in changes {
        match install::apply(change, &records, &disk) {
            Ok(()) => written.push(change),
            Err(error) => report_failure(&error),
        }
    }
    if format == Format::Text && !written.is_empty() {
        report_next_steps(written);
    }
    match written.len() == changes.len() {
        true => Ok(()),
        false => Err(CommandError::failed("some files could not be written")
            .hint("tidegate uninstall restores the others")),
    }
}

fn report_next_steps(written: &[&Change]) {
    let servers: Vec<_> = written.iter().flat_map(|change| &change.servers).collect();
    ui::note(&format!("wrapped {}; to apply this:", ui::count(servers.len() as u64, "server")));
    for client in &tidegate_clients::CLIENTS {
        if servers.iter().any(|server| server.client == client.name) {
            ui::note(&format!("  {}: {}", client.title, client.reload));
        }
    }
    if servers.iter().any(|server| server.scope == Scope::Project) {
        ui::note("  everybody who shares the project's files needs tidegate as well");
    }
    ui::note("tidegate stats shows what it saves; tidegate uninstall removes it");
}

fn report_nothing_found(plan: &Plan, paths: &SystemPaths) {
    match plan.there.is_empty() {
        true => ui::note("no client configuration found; looked at:"),
        false => ui::note("no MCP server is configured; looked at:"),
    }
    for path in &plan.looked {
        let exists = if plan.there.contains(path) { " (exists, has no servers)" } else { "" };
        ui::note(&format!("  {}{exists}", paths.short(path)));
    }
    ui::note("nothing was changed; to wrap a server by hand: tidegate run -- COMMAND");
}

/// Returns the servers as a table, and the changes as diffs.
fn plan_text(plan: &Plan, paths: &SystemPaths) -> String {
    let chosen: Vec<&FoundServer> =
        plan.found.iter().filter(|found| found.verdict != Verdict::NotSelected).collect();
    if chosen.is_empty() {
        return String::new();
    }
    let rows = chosen.iter().map(|found| {
        let (client, server) = (found.client.name.to_owned(), found.server().to_owned());
        [client, found.scope.to_string(), server, file_text(found, paths), action_text(found)]
    });
    let diffs = plan
        .changes
        .iter()
        .map(|change| format!("\n{}", coloured(&diff(&paths.short(&change.file), change.shown()))));
    [server_table(rows)].into_iter().chain(diffs).collect()
}

fn file_text(found: &FoundServer, paths: &SystemPaths) -> String {
    let file = paths.short(&found.file);
    match found.project() {
        Some(project) => format!("{file} for {}", paths.short(Path::new(project))),
        None => file,
    }
}

fn action_text(found: &FoundServer) -> String {
    let disabled = if found.off { ", disabled" } else { "" };
    match &found.verdict {
        Verdict::WrapCommand => format!("wrap (command{disabled})"),
        Verdict::WrapRemote => format!("wrap (URL{disabled})"),
        Verdict::AlreadyWrapped => "already wrapped".into(),
        Verdict::Skipped(why) => format!("skip: {why}"),
        _ => String::new(),
    }
}

fn plan_json(plan: &Plan, written: &[&Change], remarks: &[String], paths: &SystemPaths) -> Value {
    let server = |found: &FoundServer| {
        let (action, reason) = match &found.verdict {
            Verdict::WrapCommand | Verdict::WrapRemote => ("wrap", None),
            Verdict::AlreadyWrapped => ("wrapped", None),
            Verdict::Skipped(why) => ("leave", Some(why)),
            _ => ("not_chosen", None),
        };
        json!({
            "client": found.client.name,
            "scope": found.scope.to_string(),
            "project": found.project(),
            "file": found.file,
            "server": found.server(),
            "off": found.off,
            "action": action,
            "reason": reason,
            "remarks": found.remarks,
        })
    };
    let change = |change: &Change| {
        let diff = diff(&paths.short(&change.file), change.shown());
        let is_written = written.iter().any(|other| other.file == change.file);
        json!({"file": change.file, "diff": diff, "written": is_written})
    };
    json!({
        "looked_at": plan.looked,
        "servers": plan.found.iter().map(server).collect::<Vec<_>>(),
        "changes": plan.changes.iter().map(change).collect::<Vec<_>>(),
        "notes": remarks,
        "problems": plan.problems.iter().map(problem_json).collect::<Vec<Value>>(),
    })
}
