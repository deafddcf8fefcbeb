//! The clients: their configuration files, and the servers in them that are not wrapped.

use std::path::{Path, PathBuf};

use tidegate_clients::install::{FoundServer, Plan};
use tidegate_clients::{Client, FileError, Scope, Verdict};

use super::check::Check;
use super::configuration::Configuration;
use super::limits;
use crate::system::SystemPaths;
use crate::ui;

/// Returns the checks of one client; none if it has no configuration file.
pub(super) fn checks(
    client: &'static Client,
    plan: &Plan,
    configuration: &Configuration,
    paths: &SystemPaths,
) -> Vec<Check> {
    let mut checks: Vec<Check> = plan.problems.iter().map(|problem| broken(client, problem, paths)).collect();
    let is_readable = |file: &&PathBuf| {
        let is_unreadable =
            |problem: &FileError| problem.path() == *file && !matches!(problem, FileError::ReadOnly(_));
        !plan.problems.iter().any(is_unreadable)
    };
    let files: Vec<PathBuf> = plan.there.iter().filter(is_readable).cloned().collect();
    if files.is_empty() {
        return checks;
    }
    let (limits, limit_checks) = limits::checks(client, &files, configuration, paths);
    let names: Vec<String> = files.iter().map(|file| paths.short(file)).collect();
    let wrapped = plan.found.iter().filter(|found| found.verdict == Verdict::AlreadyWrapped).count();
    let servers = match (plan.found.len(), wrapped) {
        (0, _) => "no servers".into(),
        (all, wrapped) => format!("{}, {wrapped} wrapped", ui::count(all as u64, "server")),
    };
    let check = Check::fine(client.name, format!("{}: {servers}; {limits}", names.join(", ")));
    checks.push(
        check
            .with("client", client.name)
            .with("files", names)
            .with("servers", plan.found.len())
            .with("wrapped", wrapped),
    );
    checks.extend(limit_checks);
    checks
}

/// Returns the check of a server that is not started.
pub(super) fn unwrapped(found: &FoundServer, paths: &SystemPaths) -> Option<Check> {
    let subject = subject(found, paths);
    let check = match &found.verdict {
        Verdict::WrapCommand | Verdict::WrapRemote => {
            Check::warning(subject, "not wrapped").fix(format!("tidegate install {}", filter_flags(found)))
        }
        Verdict::Skipped(why) => Check::note(subject, format!("not wrapped: {why}")),
        Verdict::AlreadyWrapped if found.off => Check::note(subject, "wrapped; disabled, so not started"),
        _ => return None,
    };
    Some(with_server(check, found))
}

/// Returns the checks of a wrapped server that needs one more step.
pub(super) fn remarks(found: &FoundServer, paths: &SystemPaths) -> Vec<Check> {
    let remarks = found.remarks.iter().filter(|_| found.verdict == Verdict::AlreadyWrapped && !found.off);
    let check = |remark: &String| {
        let check = Check::warning(subject(found, paths), "wrapped, but needs another step");
        with_server(check.fix(format!("{remark} ({})", paths.short(&found.file))), found)
    };
    remarks.map(check).collect()
}

/// Returns the flags that select one server.
pub(super) fn filter_flags(found: &FoundServer) -> String {
    let scope = if found.scope == Scope::Project { " --scope project" } else { "" };
    format!("--client {} --server {}{scope}", found.client.name, ui::quoted(ui::printable(found.server())))
}

/// Returns the subject of a server's checks.
pub(super) fn subject(found: &FoundServer, paths: &SystemPaths) -> String {
    let name = format!("{} {}", found.client.name, found.server());
    match found.project() {
        Some(project) => match paths.short(Path::new(project)).as_str() {
            // The path of the current folder.
            "" => format!("{name} (.)"),
            project => format!("{name} ({project})"),
        },
        None => name,
    }
}

/// Adds the server to the JSON output.
pub(super) fn with_server(check: Check, found: &FoundServer) -> Check {
    let check = check.with("client", found.client.name).with("server", found.server());
    check.with("scope", found.scope.to_string()).with("file", found.file.to_string_lossy())
}

/// Returns notes on clients without a configuration file.
pub(super) fn missing(plans: &[(&'static Client, Plan)], verbose: bool, paths: &SystemPaths) -> Vec<Check> {
    let missing: Vec<_> =
        plans.iter().filter(|(_, plan)| plan.there.is_empty() && plan.problems.is_empty()).collect();
    if missing.is_empty() {
        return Vec::new();
    }
    if !verbose {
        let titles: Vec<&str> = missing.iter().map(|(client, _)| client.title).collect();
        return vec![Check::note("clients", format!("no configuration file: {}", titles.join(", ")))];
    }
    let line = |(client, plan): &&(&'static Client, Plan)| {
        let looked: Vec<String> = plan.looked.iter().map(|path| paths.short(path)).collect();
        Check::note(client.name, format!("no configuration file; looked for {}", looked.join(", ")))
    };
    missing.iter().map(line).collect()
}

fn broken(client: &Client, problem: &FileError, paths: &SystemPaths) -> Check {
    let name = paths.short(problem.path());
    let check = match problem {
        FileError::Broken { broken, .. } => {
            let text = format!("{name}:{}:{}: {}", broken.line, broken.column, broken.message);
            Check::failure(client.name, text)
                .fix(format!("correct it there; {} cannot read it either", client.title))
        }
        FileError::Unusable { source, .. } => Check::failure(client.name, format!("{name}: {source}"))
            .fix("check that it is a file that you own and can read"),
        FileError::ReadOnly(path) => {
            // A shell expands ~, but not in quotes.
            let rest = name.trim_start_matches('~');
            let word = if ui::quoted(rest) == rest { name.clone() } else { ui::quoted(path) };
            Check::warning(client.name, format!("{name} is read-only, so nothing in it is wrapped"))
                .fix(format!("chmod u+w {word}, then tidegate install --client {}", client.name))
        }
        other => Check::failure(client.name, other.to_string()).fix(format!("see {name}")),
    };
    check.with("client", client.name).with("file", problem.path().to_string_lossy())
}
