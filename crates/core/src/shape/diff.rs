//! The strategy for unified diffs: an overview shows every file with its added and removed lines, then changed lines as
//! far as they fit.
//!
//! Added and removed lines are counted over the whole diff, whatever is shown of it.

use std::io;

use super::draft::{Draft, LeftOut};
use super::line_facts::LineFacts;
use super::strategy::{STRATEGY_SECTION, Strategy};
use crate::text::Text;
use crate::visible;

/// One file of a diff.
#[derive(Debug, Default)]
struct ChangedFile {
    path: String,
    change: Option<&'static str>,
    added: u64,
    removed: u64,
    line: u64,
    hunks: u64,
}

/// A diff that has been read.
#[derive(Debug, Default)]
pub(crate) struct DiffText {
    facts: LineFacts,
    files: Vec<ChangedFile>,
    file_count: u64,
    added: u64,
    removed: u64,
}

/// The maximum number of files described.
const MAX_FILES: usize = 5000;

impl Strategy for DiffText {
    fn name(&self) -> &'static str {
        "diff"
    }

    fn compose(&self, text: &Text<'_>, _arguments: &[String], draft: &mut Draft<'_>) -> io::Result<()> {
        self.write(text, draft)?;
        self.facts.describe(draft, "diff", "files, changed lines");
        draft.frame.what = self.what();
        Ok(())
    }
}

impl DiffText {
    pub(crate) fn read(text: &Text<'_>) -> io::Result<Self> {
        let mut diff = Self::default();
        let mut in_hunk = false;
        let facts = LineFacts::gather(text, |number, line| {
            let text = String::from_utf8_lossy(&line.bytes[..line.bytes.len().min(1000)]);
            diff.add(number, &text, &mut in_hunk);
        })?;
        diff.facts = facts;
        Ok(diff)
    }

    fn add(&mut self, number: u64, line: &str, in_hunk: &mut bool) {
        if let Some(rest) = line.strip_prefix("diff --git ") {
            let path = rest.split(" b/").last().unwrap_or(rest);
            self.begin(path, number);
            *in_hunk = false;
            return;
        }
        if line.starts_with("@@ ") {
            *in_hunk = true;
            if let Some(file) = self.files.last_mut() {
                file.hunks += 1;
            }
            return;
        }
        if *in_hunk {
            let Some(file) = self.files.last_mut() else { return };
            match line.as_bytes().first() {
                Some(b'+') => {
                    file.added += 1;
                    self.added += 1;
                }
                Some(b'-') if !line.starts_with("--- ") => {
                    file.removed += 1;
                    self.removed += 1;
                }
                Some(b' ' | b'\\') | None => {}
                _ => *in_hunk = false,
            }
        }
        if *in_hunk && !line.starts_with("--- ") {
            return;
        }
        self.add_header(number, line, in_hunk);
    }

    fn add_header(&mut self, number: u64, line: &str, in_hunk: &mut bool) {
        let set = |files: &mut Vec<ChangedFile>, change| {
            if let Some(file) = files.last_mut() {
                file.change = Some(change);
            }
        };
        if line.starts_with("new file") {
            set(&mut self.files, "new");
        } else if line.starts_with("deleted file") {
            set(&mut self.files, "deleted");
        } else if line.starts_with("rename ") {
            set(&mut self.files, "renamed");
        } else if line.starts_with("Binary files") {
            set(&mut self.files, "binary");
        } else if let Some(path) = line.strip_prefix("--- ") {
            *in_hunk = false;
            // A diff without `diff --git` lines begins a file here.
            let known = self.files.last().is_some_and(|file| file.hunks == 0);
            if !known {
                self.begin(path.trim_start_matches("a/"), number);
            }
        } else if line.starts_with("+++ /dev/null") {
            set(&mut self.files, "deleted");
        }
    }

    fn begin(&mut self, path: &str, line: u64) {
        self.file_count += 1;
        if self.files.len() < MAX_FILES {
            self.files.push(ChangedFile { path: visible::cut(path, 160), line, ..ChangedFile::default() });
        }
    }

    /// Describes the diff: `a diff of 14 files, +547 -1743 lines`.
    fn what(&self) -> String {
        format!(
            "a diff of {}, +{} -{} lines",
            crate::write::plural(self.file_count, "file"),
            self.added,
            self.removed
        )
    }

    fn write(&self, text: &Text<'_>, draft: &mut Draft<'_>) -> io::Result<()> {
        let section = STRATEGY_SECTION;
        let writer = &mut draft.writer;
        writer.push(
            section,
            format!(
                "{} files changed, {} lines added, {} lines removed:",
                self.file_count, self.added, self.removed
            ),
        );
        let mut listed = 0;
        let share = writer.left() * 3 / 5;
        writer.within(share, |writer| {
            for file in &self.files {
                let change = file.change.map(|change| format!(" {change}")).unwrap_or_default();
                let line = format!("{}{change} +{} -{} L{}", file.path, file.added, file.removed, file.line);
                if !writer.push(section, line) {
                    break;
                }
                listed += 1;
            }
        });
        if listed < self.file_count {
            writer.push(section, format!("+{} more files", self.file_count - listed));
        }
        draft.leave_out(LeftOut::new("", "files", listed, self.file_count));
        self.write_changes(text, draft, section + 1)
    }

    /// Writes changed lines file by file, files with the fewest first, so that as many files as possible are covered.
    fn write_changes(&self, text: &Text<'_>, draft: &mut Draft<'_>, section: usize) -> io::Result<()> {
        let mut order: Vec<&ChangedFile> =
            self.files.iter().filter(|file| file.hunks > 0 && file.change != Some("deleted")).collect();
        order.sort_by_key(|file| (file.added + file.removed, file.line));
        for file in order {
            let lines = self.facts.read(text, file.line, file.added + file.removed + 12 * file.hunks + 8)?;
            let next = self
                .files
                .iter()
                .map(|other| other.line)
                .filter(|line| *line > file.line)
                .min()
                .unwrap_or(u64::MAX);
            let changed = lines
                .iter()
                .skip_while(|(_, line)| !line.starts_with("@@"))
                .take_while(|(number, _)| *number < next);
            let mut begun = false;
            for (number, line) in changed
                .filter(|(_, line)| line.starts_with(['+', '-']))
                .filter(|(_, line)| line.trim().len() > 1)
            {
                if !begun {
                    if !draft.writer.push(section, format!("{}:", file.path)) {
                        return Ok(());
                    }
                    begun = true;
                }
                if !draft.writer.push(section, line.clone()) {
                    return Ok(());
                }
                draft.lines.insert(*number);
            }
        }
        Ok(())
    }
}
