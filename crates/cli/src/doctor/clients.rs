//! The clients: their files, and the servers in them that tidegate is not in front of.

use std::path::{Path, PathBuf};

use tidegate_clients::install::{Found, Plan};
use tidegate_clients::{Client, FileError, Verdict};

use super::check::Check;
use super::configuration::Configuration;
use super::limits;
use crate::install::{Names, count};
use crate::ui;

/// Returns the checks of one client that was looked for; none if it has no file here.
pub(super) fn checks(
    client: &'static Client,
    plan: &Plan,
    configuration: &Configuration,
    names: &Names,
) -> Vec<Check> {
    let mut checks: Vec<Check> = plan.problems.iter().map(|problem| broken(client, problem, names)).collect();
    let is_read = |file: &&PathBuf| {
        let unread =
            |problem: &FileError| problem.path() == *file && !matches!(problem, FileError::ReadOnly(_));
        !plan.problems.iter().any(unread)
    };
    let read: Vec<PathBuf> = plan.there.iter().filter(is_read).cloned().collect();
    if read.is_empty() {
        return checks;
    }
    let (limits, wrong) = limits::checks(client, &read, configuration, names);
    let files: Vec<String> = read.iter().map(|file| names.short(file)).collect();
    let wrapped = plan.found.iter().filter(|found| found.verdict == Verdict::AlreadyWrapped).count();
    let servers = match (plan.found.len(), wrapped) {
        (0, _) => "no servers".into(),
        (all, wrapped) => format!("{}, {wrapped} wrapped", count(all, "server")),
    };
    let check = Check::fine(client.name, format!("{}: {servers}; {limits}", files.join(", ")));
    checks.push(
        check
            .with("client", client.name)
            .with("files", files)
            .with("servers", plan.found.len())
            .with("wrapped", wrapped),
    );
    checks.extend(wrong);
    checks
}

/// Returns what there is to say of a server that is not to be started.
pub(super) fn unwrapped(found: &Found, names: &Names) -> Option<Check> {
    let subject = subject(found, names);
    let check = match &found.verdict {
        Verdict::WrapCommand | Verdict::WrapAddress => {
            Check::warning(subject, "is not wrapped").fix(format!("tidegate install {}", chosen(found)))
        }
        Verdict::Left(why) => Check::note(subject, format!("is not wrapped: {why}")),
        Verdict::AlreadyWrapped if found.off => {
            Check::note(subject, "is wrapped; it is switched off, so it was not started")
        }
        _ => return None,
    };
    Some(named(check, found))
}

/// Returns what is to be done for a wrapped server beside wrapping it.
pub(super) fn remarks(found: &Found, names: &Names) -> Vec<Check> {
    let remarks = found.remarks.iter().filter(|_| found.verdict == Verdict::AlreadyWrapped && !found.off);
    let check = |remark: &String| {
        let check = Check::warning(subject(found, names), "is wrapped, but something is left to do");
        named(check.fix(format!("{remark} ({})", names.short(&found.file))), found)
    };
    remarks.map(check).collect()
}

/// The words of a command that mean one server.
pub(super) fn chosen(found: &Found) -> String {
    format!("--client {} --server {}", found.client.name, ui::quoted(ui::shown(found.server())))
}

/// What a server is called in a line.
pub(super) fn subject(found: &Found, names: &Names) -> String {
    let name = format!("{} {}", found.client.name, found.server());
    match found.project() {
        Some(project) => match names.short(Path::new(project)).as_str() {
            // The current folder.
            "" => format!("{name} (.)"),
            project => format!("{name} ({project})"),
        },
        None => name,
    }
}

/// Adds what a server is called, for programs.
pub(super) fn named(check: Check, found: &Found) -> Check {
    let check = check.with("client", found.client.name).with("server", found.server());
    check.with("scope", found.scope.to_string()).with("file", found.file.to_string_lossy())
}

/// Says which clients have no file here.
pub(super) fn missing(plans: &[(&'static Client, Plan)], verbose: bool, names: &Names) -> Vec<Check> {
    let missing: Vec<_> =
        plans.iter().filter(|(_, plan)| plan.there.is_empty() && plan.problems.is_empty()).collect();
    if missing.is_empty() {
        return Vec::new();
    }
    if !verbose {
        let titles: Vec<&str> = missing.iter().map(|(client, _)| client.title).collect();
        return vec![Check::note("clients", format!("without a file here: {}", titles.join(", ")))];
    }
    let line = |(client, plan): &&(&'static Client, Plan)| {
        let looked: Vec<String> = plan.looked.iter().map(|path| names.short(path)).collect();
        Check::note(client.name, format!("no file; looked for {}", looked.join(", ")))
    };
    missing.iter().map(line).collect()
}

fn broken(client: &Client, problem: &FileError, names: &Names) -> Check {
    let name = names.short(problem.path());
    let check = match problem {
        FileError::Broken { broken, .. } => {
            let text = format!("{name}:{}:{}: {}", broken.line, broken.column, broken.message);
            Check::failure(client.name, text)
                .fix(format!("put it right there; {} cannot read it either", client.title))
        }
        FileError::Unusable { source, .. } => Check::failure(client.name, format!("{name}: {source}"))
            .fix("see that it is a file that you own and may read"),
        FileError::ReadOnly(path) => {
            // A shell puts the home folder in place of ~, but not between quotes.
            let rest = name.trim_start_matches('~');
            let word = if ui::quoted(rest) == rest { name.clone() } else { ui::quoted(path) };
            Check::warning(client.name, format!("{name} is read-only, so nothing in it is wrapped"))
                .fix(format!("chmod u+w {word}, then tidegate install --client {}", client.name))
        }
        other => Check::failure(client.name, other.to_string()).fix(format!("see {name}")),
    };
    check.with("client", client.name).with("file", problem.path().to_string_lossy())
}
