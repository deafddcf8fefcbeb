//! Changes to clients' files, for `install` and `uninstall`: shown as a table and as diffs, confirmed, then written.

use clap::Args;
use serde_json::{Value, json};
use similar::TextDiff;
use tidegate_clients::FileError;
use tidegate_core::visible;

use crate::cli::Format;
use crate::error::CommandError;
use crate::ui;

/// How to make changes.
#[derive(Debug, Args)]
pub(crate) struct ChangeOptions {
    /// Show what would change, without changing anything
    #[arg(long)]
    dry_run: bool,

    /// Do not ask for confirmation
    #[arg(short, long, conflicts_with = "dry_run")]
    yes: bool,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

impl ChangeOptions {
    /// Returns whether this is a dry run.
    pub(crate) fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    /// Returns whether the user agrees: by `--yes`, or by answering the question.
    pub(crate) fn confirm(&self, question: &str) -> Result<bool, CommandError> {
        if self.dry_run {
            ui::note("dry run: nothing was changed");
            return Ok(false);
        }
        if self.yes {
            return Ok(true);
        }
        if !ui::can_ask() {
            return Err(CommandError::failed("nothing was changed: there is no terminal to confirm on")
                .hint("pass --yes to continue without asking"));
        }
        let agreed = ui::ask(question);
        if !agreed {
            ui::note("nothing was changed");
        }
        Ok(agreed)
    }
}

/// Returns a table of servers and what happens to them; each row is client, scope, server, file, action.
pub(crate) fn server_table(rows: impl Iterator<Item = [String; 5]>) -> String {
    let head = ["CLIENT", "SCOPE", "SERVER", "FILE", "ACTION"].map(str::to_owned);
    let rows: Vec<[String; 5]> =
        std::iter::once(head).chain(rows.map(|row| row.map(|cell| ui::printable(&cell)))).collect();
    ui::table(&rows, &[])
}

/// Returns a diff with its added and removed lines in colour, if stdout supports colour.
pub(crate) fn coloured(diff: &str) -> String {
    if !ui::is_coloured() {
        return diff.to_owned();
    }
    diff.split_inclusive('\n').map(coloured_line).collect()
}

fn coloured_line(line: &str) -> String {
    let colour = match line.as_bytes() {
        [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => "1",
        [b'+', ..] => "32",
        [b'-', ..] => "31",
        [b'@', ..] => "36",
        _ => return line.to_owned(),
    };
    let text = line.trim_end_matches(['\r', '\n']);
    format!("\x1b[{colour}m{text}\x1b[0m{}", &line[text.len()..])
}

/// Returns the diff of a file. The caller has removed secrets from the texts.
pub(crate) fn diff(name: &str, (old, new): (String, String)) -> String {
    let diff =
        TextDiff::from_lines(&old, &new).unified_diff().context_radius(2).header(name, name).to_string();
    diff.split_inclusive('\n').map(printable_line).collect()
}

/// Escapes control and invisible characters in a line of a diff, except the line break at its end.
fn printable_line(line: &str) -> String {
    let end = if line.ends_with("\r\n") { "\r\n" } else { "" };
    visible::text(line.strip_suffix(end).unwrap_or(line)) + end
}

/// Returns an error if files were skipped.
pub(crate) fn fail_if_skipped(problems: &[FileError]) -> Result<(), CommandError> {
    match problems.len() {
        0 => Ok(()),
        skipped => Err(CommandError::failed(format!("skipped {}", ui::count(skipped as u64, "file")))),
    }
}

/// Reports a file that is skipped. The message may quote the file.
pub(crate) fn report_problem(problem: &FileError) {
    ui::note(&format!("tidegate: {}; skipped", ui::printable(&problem.to_string())));
}

/// Reports a file that could not be written.
pub(crate) fn report_failure(error: &impl std::fmt::Display) {
    ui::note(&format!("tidegate: {}", ui::printable(&error.to_string())));
}

/// Returns a problem as JSON.
pub(crate) fn problem_json(problem: &FileError) -> Value {
    let (line, column) = match problem {
        FileError::Broken { broken, .. } => (Some(broken.line), Some(broken.column)),
        _ => (None, None),
    };
    json!({"file": problem.path(), "line": line, "column": column, "message": problem.to_string()})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_surround_the_text_of_a_line() {
        let lines = ["--- a\n", "+++ a\n", "@@ -1 +1 @@\n", "-old\r\n", "+new\r\n", " same\n"];
        let coloured: String = lines.into_iter().map(coloured_line).collect();
        assert_eq!(
            coloured,
            "\x1b[1m--- a\x1b[0m\n\x1b[1m+++ a\x1b[0m\n\x1b[36m@@ -1 +1 @@\x1b[0m\n\x1b[31m-old\x1b[0m\r\n\
             \x1b[32m+new\x1b[0m\r\n same\n"
        );
    }
}
