//! `tidegate install`: tidegate in front of the servers that clients are configured with.

mod shared;

use std::path::Path;

use clap::Args;
use clap::builder::PossibleValuesParser;
use serde_json::{Value, json};
use tidegate_clients::install::{self, Change, Found, Plan};
use tidegate_clients::{Disk, FileError, Options, Records, Scope, Verdict};
use tidegate_store::Home;

use crate::cli::Format;
use crate::error::CommandError;
use crate::ui;
use shared::Program;
pub(crate) use shared::{Chosen, Names, consent, count, data_folder, diff, finish, problem, row, tell};

/// Put tidegate in front of the MCP servers of your clients
///
/// Looks for servers in the configuration files of Claude Code, Claude Desktop, Cursor, VS Code, Codex, Gemini CLI,
/// Windsurf, Zed and opencode, shows what would change, and asks before it writes anything. Servers keep their names,
/// tools and environment; secrets never become arguments, and are shown as "…". A copy of every file is kept until
/// `tidegate uninstall`, which puts it back.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tidegate install --dry-run\n  \
    tidegate install --client claude-code --client codex --server github\n  tidegate install --scope user --yes")]
pub(crate) struct Arguments {
    #[command(flatten)]
    chosen: Chosen,

    /// Wrap remote servers without headers as well: those that need no login
    #[arg(long)]
    without_login: bool,

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
    let program = Program::of_system()?;
    let options = Options { program: program.path.clone(), without_login: arguments.without_login };
    let plan = install::plan(&names.folders, &arguments.chosen.selection(), &options);
    arguments.chosen.check_servers(plan.found.iter().map(Found::server))?;
    let notes = notes(&plan, &program);
    if arguments.format == Format::Text {
        ui::data(report(&plan, &names).as_bytes())?;
        plan.problems.iter().for_each(tell);
        notes.iter().for_each(|note| ui::note(note));
        if plan.found.is_empty() && plan.problems.is_empty() {
            nothing_found(&plan, &names);
        }
    }
    let mut written = Vec::new();
    let done = wanted(arguments, &plan).and_then(|wanted| match wanted {
        true => write(&plan.changes, arguments.format, &mut written),
        false => Ok(()),
    });
    // A program learns of the plan also where nobody said yes, or a file could not be written.
    if arguments.format == Format::Json {
        ui::json(&as_json(&plan, &written, &notes, &names))?;
    }
    done?;
    finish(&plan.problems)
}

/// What a person has to know or do besides.
fn notes(plan: &Plan, program: &Program) -> Vec<String> {
    let of_server = |found: &Found, remark: &String| {
        format!("{} {}: {remark}", found.client.name, ui::shown(found.server()))
    };
    let remarks = plan.found.iter().flat_map(|found| found.remarks.iter().map(move |remark| (found, remark)));
    let mut notes: Vec<String> = remarks.map(|(found, remark)| of_server(found, remark)).collect();
    let mut servers = plan.changes.iter().flat_map(|change| &change.servers);
    if !program.is_on_path && servers.any(|server| server.scope == Scope::Project) {
        let folder = Path::new(&program.path).parent().unwrap_or(Path::new(&program.path)).display();
        notes.push(format!(
            "tidegate is not on the PATH, but entries in files of the project start it by its name, for everybody: \
             put {folder} on the PATH"
        ));
    }
    notes
}

/// Tells whether to write: there is something to write, and a person wants it.
fn wanted(arguments: &Arguments, plan: &Plan) -> Result<bool, CommandError> {
    let servers: usize = plan.changes.iter().map(|change| change.servers.len()).sum();
    if servers == 0 {
        if !plan.found.is_empty() && arguments.format == Format::Text {
            ui::note("there is nothing to wrap; nothing was changed");
        }
        return Ok(false);
    }
    let question = format!("Put tidegate in front of {}?", count(servers, "server"));
    consent(&question, arguments.dry_run, arguments.yes)
}

/// Writes every change; what cannot be written is told, and the rest is written all the same.
fn write<'c>(
    changes: &'c [Change],
    format: Format,
    written: &mut Vec<&'c Change>,
) -> Result<(), CommandError> {
    let home = Home::open(Some(data_folder()?)).map_err(CommandError::out_of_reach)?;
    let records = Records::open(home.path()).map_err(CommandError::out_of_reach)?;
    let disk = Disk::default();
    for change in changes {
        match install::apply(change, &records, &disk) {
            Ok(()) => written.push(change),
            Err(error) => ui::note(&format!("tidegate: {}", ui::shown(&error.to_string()))),
        }
    }
    if format == Format::Text && !written.is_empty() {
        after(written);
    }
    match written.len() == changes.len() {
        true => Ok(()),
        false => Err(CommandError::failed("not every file could be written")
            .hint("what was written is recorded: tidegate uninstall undoes it")),
    }
}

/// Says what to do next.
fn after(written: &[&Change]) {
    let servers: Vec<_> = written.iter().flat_map(|change| &change.servers).collect();
    ui::note(&format!("{} wrapped; now:", count(servers.len(), "server")));
    for client in &tidegate_clients::CLIENTS {
        if servers.iter().any(|server| server.client == client.name) {
            ui::note(&format!("  {}: {}", client.title, client.reload));
        }
    }
    if servers.iter().any(|server| server.scope == Scope::Project) {
        ui::note("  whoever shares the project's files needs tidegate, too");
    }
    ui::note("tidegate stats shows what it saves; tidegate uninstall undoes it");
}

fn nothing_found(plan: &Plan, names: &Names) {
    match plan.there.is_empty() {
        true => ui::note("no client's configuration was found; these places were looked at:"),
        false => ui::note("no MCP server is configured; these places were looked at:"),
    }
    for path in &plan.looked {
        let there = if plan.there.contains(path) { " (there, without servers)" } else { "" };
        ui::note(&format!("  {}{there}", names.short(path)));
    }
    ui::note("nothing was changed; a server of your own: tidegate run -- COMMAND");
}

/// The servers as a table, and the changes as a diff.
fn report(plan: &Plan, names: &Names) -> String {
    let chosen: Vec<&Found> = plan.found.iter().filter(|found| found.verdict != Verdict::NotChosen).collect();
    if chosen.is_empty() {
        return String::new();
    }
    let mut rows = vec![["CLIENT", "SCOPE", "SERVER", "FILE", "WHAT HAPPENS"].map(str::to_owned)];
    rows.extend(chosen.iter().map(|found| {
        let (scope, place, happens) = (found.scope.to_string(), place(found, names), happens(found));
        row([found.client.name, &scope, found.server(), &place, &happens])
    }));
    let diffs =
        plan.changes.iter().map(|change| format!("\n{}", diff(&names.short(&change.file), change.shown())));
    [ui::table(&rows, &[])].into_iter().chain(diffs).collect()
}

fn place(found: &Found, names: &Names) -> String {
    let file = names.short(&found.file);
    found
        .project()
        .map_or_else(|| file.clone(), |project| format!("{file} for {}", names.short(Path::new(project))))
}

fn happens(found: &Found) -> String {
    let off = if found.off { ", switched off" } else { "" };
    match &found.verdict {
        Verdict::WrapCommand => format!("wrap (command{off})"),
        Verdict::WrapAddress => format!("wrap (address{off})"),
        Verdict::AlreadyWrapped => "is wrapped already".into(),
        Verdict::Left(why) => format!("left alone: {why}"),
        _ => String::new(),
    }
}

fn as_json(plan: &Plan, written: &[&Change], notes: &[String], names: &Names) -> Value {
    let server = |found: &Found| {
        let (action, reason) = match &found.verdict {
            Verdict::WrapCommand | Verdict::WrapAddress => ("wrap", None),
            Verdict::AlreadyWrapped => ("wrapped", None),
            Verdict::Left(why) => ("leave", Some(why)),
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
        let diff = diff(&names.short(&change.file), change.shown());
        let is_written = written.iter().any(|other| other.file == change.file);
        json!({"file": change.file, "diff": diff, "written": is_written})
    };
    json!({
        "looked_at": plan.looked,
        "servers": plan.found.iter().map(server).collect::<Vec<_>>(),
        "changes": plan.changes.iter().map(change).collect::<Vec<_>>(),
        "notes": notes,
        "problems": plan.problems.iter().map(problem).collect::<Vec<Value>>(),
    })
}

/// The clients that can be named.
pub(crate) fn client_names() -> PossibleValuesParser {
    PossibleValuesParser::new(tidegate_clients::CLIENTS.iter().map(|client| client.name))
}

/// Where a file is broken, if it is.
fn line(problem: &FileError) -> Option<(usize, usize)> {
    match problem {
        FileError::Broken { broken, .. } => Some((broken.line, broken.column)),
        _ => None,
    }
}
