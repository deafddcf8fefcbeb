//! Unified diffs: every file with what was added and removed, then changed lines as far as they fit.

use std::io;

use super::draft::{Draft, LeftOut};
use super::lined::LineFacts;
use crate::text::Text;
use crate::visible;

/// One file of a diff.
#[derive(Debug, Default)]
struct File {
    path: String,
    change: Option<&'static str>,
    added: u64,
    removed: u64,
    line: u64,
    hunks: u64,
}

/// What is known of a diff.
#[derive(Debug, Default)]
pub(crate) struct Diff {
    pub(crate) facts: LineFacts,
    files: Vec<File>,
    file_count: u64,
    added: u64,
    removed: u64,
}

/// The most files described.
const FILES: usize = 5000;

impl Diff {
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
        let set = |files: &mut Vec<File>, change| {
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
        if self.files.len() < FILES {
            self.files.push(File { path: visible::cut(path, 160), line, ..File::default() });
        }
    }

    /// Returns `14 files, +547 -1743 lines`.
    pub(crate) fn what(&self) -> String {
        format!(
            "a diff of {}, +{} -{} lines",
            crate::write::plural(self.file_count, "file"),
            self.added,
            self.removed
        )
    }

    pub(crate) fn compose(&self, text: &Text<'_>, draft: &mut Draft<'_>, section: usize) -> io::Result<()> {
        let room = &mut draft.room;
        room.push(
            section,
            format!(
                "{} files changed, {} lines added, {} lines removed:",
                self.file_count, self.added, self.removed
            ),
        );
        let mut listed = 0;
        let share = room.left() * 3 / 5;
        room.within(share, |room| {
            for file in &self.files {
                let change = file.change.map(|change| format!(" {change}")).unwrap_or_default();
                let line = format!("{}{change} +{} -{} L{}", file.path, file.added, file.removed, file.line);
                if !room.push(section, line) {
                    break;
                }
                listed += 1;
            }
        });
        if listed < self.file_count {
            room.push(section, format!("+{} more files", self.file_count - listed));
        }
        draft.leave_out(LeftOut::new("", "files", listed, self.file_count));
        self.write_changes(text, draft, section + 1)
    }

    /// Changed lines, file by file, those with the fewest first, so that as many files as possible are covered.
    fn write_changes(&self, text: &Text<'_>, draft: &mut Draft<'_>, section: usize) -> io::Result<()> {
        let mut order: Vec<&File> =
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
                    if !draft.room.push(section, format!("{}:", file.path)) {
                        return Ok(());
                    }
                    begun = true;
                }
                if !draft.room.push(section, line.clone()) {
                    return Ok(());
                }
                draft.lines.insert(*number);
            }
        }
        Ok(())
    }
}
