//! The strategy for unified diffs: an overview shows every file with its added and removed lines, then changed lines as
//! far as they fit.
//!
//! Added and removed lines are counted over the whole diff, whatever is shown of it.

use std::io;

use super::draft::{Draft, LeftOut, share_of_rest};
use super::key_lines::KeyLines;
use super::line_facts::LineFacts;
use super::strategy::{Content, STRATEGY_SECTION, Strategy, TextKind};
use super::symbols;
use crate::sample::Sample;
use crate::text::Text;
use crate::visible;

/// A unified diff.
pub(crate) const KIND: TextKind =
    TextKind { name: "diff", recognise: is_diff, read: |text, _| Ok(Content::text(DiffText::read(text)?)) };

fn is_diff(sample: &Sample<'_>) -> bool {
    let starts = |prefix: &str| sample.lines.iter().any(|line| line.starts_with(prefix));
    starts("diff --git ") || (starts("--- ") && starts("+++ ") && starts("@@ "))
}

/// One file of a diff.
#[derive(Debug, Default)]
struct ChangedFile {
    path: String,
    change: Option<&'static str>,
    added: u64,
    removed: u64,
    line: u64,
    hunks: u64,
    /// Whether a line `diff` began the file, whose paths are still to come.
    is_announced: bool,
}

/// A diff that has been read.
#[derive(Debug, Default)]
pub(crate) struct DiffText {
    facts: LineFacts,
    /// The files in their order, at most [`MAX_FILES`] of them.
    files: Vec<ChangedFile>,
    file_count: u64,
    added: u64,
    removed: u64,
    /// Functions, classes and the like that begin in changed lines.
    definitions: KeyLines,
}

/// The maximum number of files described.
const MAX_FILES: usize = 5000;

impl Strategy for DiffText {
    fn name(&self) -> &'static str {
        "diff"
    }

    fn compose(&self, text: &Text<'_>, _arguments: &[String], draft: &mut Draft<'_>) -> io::Result<()> {
        let below = self.write(text, draft)?;
        self.facts.describe(draft, "diff", &below);
        draft.frame.what = self.what();
        Ok(())
    }
}

/// Reads a diff line by line.
#[derive(Default)]
struct DiffReader {
    diff: DiffText,
    /// The file that the lines belong to.
    file: Option<ChangedFile>,
    /// The rest of the open hunk.
    hunk: Option<HunkRest>,
    /// The path and number of a line `--- path`, until the next line shows whether it begins a file.
    old_path: Option<(String, u64)>,
}

impl DiffReader {
    fn add(&mut self, number: u64, line: &str) {
        if let Some(hunk) = &mut self.hunk {
            match hunk.change(line) {
                Some(change) => return self.count(number, line, change),
                None => self.hunk = None,
            }
        }
        let old_path = self.old_path.take();
        if let Some(hunk) = HunkRest::begin(line) {
            if let Some(file) = &mut self.file {
                file.hunks += 1;
            }
            self.hunk = Some(hunk);
        } else if let Some(names) = line.strip_prefix("diff --git ") {
            self.begin(new_path(names), number);
        } else if let Some(path) = line.strip_prefix("diff --cc ").or(line.strip_prefix("diff --combined ")) {
            self.begin(path, number);
        } else if let Some(path) = line.strip_prefix("--- ") {
            self.old_path = Some((path_of(path).to_owned(), number));
        } else if let Some(path) = line.strip_prefix("+++ ") {
            self.add_new_path(path_of(path), old_path);
        } else {
            self.add_change(line);
        }
    }

    /// Adds a line `+++ path`: it belongs to the file that a line `diff` began, or begins one itself.
    fn add_new_path(&mut self, path: &str, old_path: Option<(String, u64)>) {
        let known = self.file.as_ref().is_some_and(|file| file.hunks == 0 && file.is_announced);
        let deleted = path == "/dev/null";
        if !known {
            let Some((old, number)) = old_path else { return };
            self.begin(if deleted { &old } else { path }, number);
        }
        if let Some(file) = &mut self.file {
            file.is_announced = false;
            if deleted {
                file.change = Some("deleted");
            }
        }
    }

    fn add_change(&mut self, line: &str) {
        let changes = [
            ("new file", "new"),
            ("deleted file", "deleted"),
            ("rename ", "renamed"),
            ("Binary files", "binary"),
            ("GIT binary patch", "binary"),
        ];
        let change = changes.iter().find(|(prefix, _)| line.starts_with(prefix));
        if let (Some((_, change)), Some(file)) = (change, self.file.as_mut().filter(|file| file.hunks == 0)) {
            file.change = Some(change);
        }
    }

    fn count(&mut self, number: u64, line: &str, (added, removed): (bool, bool)) {
        let mark = if added { '+' } else { '-' };
        if added != removed
            && let Some((keyword, definition)) = symbols::definition(line.trim_start_matches(['+', '-']))
        {
            let level = if symbols::is_type(keyword) { 1 } else { 2 };
            self.diff.definitions.push(number, level, &format!("{mark} {definition}"));
        }
        let (added, removed) = (u64::from(added), u64::from(removed));
        self.diff.added += added;
        self.diff.removed += removed;
        if let Some(file) = &mut self.file {
            file.added += added;
            file.removed += removed;
        }
    }

    fn begin(&mut self, path: &str, line: u64) {
        self.end_file();
        self.diff.file_count += 1;
        let path = visible::cut(path, 160);
        self.file = Some(ChangedFile { path, line, is_announced: true, ..ChangedFile::default() });
    }

    fn end_file(&mut self) {
        let files = &mut self.diff.files;
        files.extend(self.file.take().filter(|_| files.len() < MAX_FILES));
    }
}

/// Returns the new path of a line `diff --git a/old b/new`.
fn new_path(names: &str) -> &str {
    // Both paths are the same unless the file was renamed, and a path may contain ` b/`.
    let half = names.len() / 2;
    let same = names.is_char_boundary(half)
        && names[half..].starts_with(" b/")
        && names.strip_prefix("a/").is_some_and(|old| old[..half - 2] == names[half + 3..]);
    if same { &names[half + 3..] } else { names.split(" b/").last().unwrap_or(names) }
}

/// Returns the path of a line `--- a/path` or `+++ b/path`; a tab begins what some programs write after it.
fn path_of(line: &str) -> &str {
    let path = line.split('\t').next().unwrap_or(line).trim_end();
    path.strip_prefix("a/").or(path.strip_prefix("b/")).unwrap_or(path)
}

/// The lines of a hunk that are still to come, as its header counts them: `@@ -1,4 +1,3 @@`.
///
/// Only the counts tell where a hunk ends: a removed line that begins with `-- ` looks like the header of a file. The
/// diff of a merge has a hunk with several old versions: `@@@ -1,4 -1,4 +1,3 @@@`.
#[derive(Debug)]
struct HunkRest {
    old: Vec<u64>,
    new: u64,
    /// Whether the header has counts; without them a line that begins like the header of a file is one.
    is_counted: bool,
}

impl HunkRest {
    /// Reads the header of a hunk.
    fn begin(line: &str) -> Option<Self> {
        let uncounted = || Self { old: vec![u64::MAX], new: u64::MAX, is_counted: false };
        Self::counted(line).or_else(|| line.starts_with("@@").then(uncounted))
    }

    fn counted(line: &str) -> Option<Self> {
        let parents = line.bytes().take_while(|&byte| byte == b'@').count().checked_sub(1)?;
        let mut words = line.get(parents + 1..)?.strip_prefix(' ')?.split(' ');
        let mut old = Vec::new();
        for _ in 0..parents {
            old.push(line_count(words.next()?.strip_prefix('-')?)?);
        }
        let new = line_count(words.next()?.strip_prefix('+')?)?;
        (parents > 0).then_some(Self { old, new, is_counted: true })
    }

    /// Reads the next line of the hunk; returns whether it adds and whether it removes a line, `None` if the hunk has
    /// ended.
    fn change(&mut self, line: &str) -> Option<(bool, bool)> {
        if line.starts_with('\\') {
            return Some((false, false));
        }
        let ended = self.new == 0 && self.old.iter().all(|&left| left == 0);
        // Lines beyond the counts belong to the hunk, too, unless they can begin something else.
        let is_header =
            ["--- ", "+++ "].iter().any(|header| line.starts_with(header)) || line.trim_end() == "--";
        if (ended || !self.is_counted) && (is_header || line.is_empty()) {
            return None;
        }
        // Some programs drop the space of an empty line.
        let mut marks = line.bytes().chain(std::iter::repeat(b' '));
        let marks: Vec<u8> = marks.by_ref().take(self.old.len()).collect();
        if marks.iter().any(|mark| !matches!(mark, b' ' | b'+' | b'-')) {
            return None;
        }
        let removed = marks.contains(&b'-');
        let added = !removed && marks.contains(&b'+');
        if !removed {
            self.new = self.new.saturating_sub(1);
        }
        let kept = if removed { b'-' } else { b' ' };
        for (left, mark) in self.old.iter_mut().zip(&marks) {
            *left = left.saturating_sub(u64::from(*mark == kept));
        }
        Some((added, removed))
    }
}

/// Returns the number of lines of a range of a hunk: 4 for `12,4`, 1 for `12`.
fn line_count(range: &str) -> Option<u64> {
    let (start, count) = range.split_once(',').unwrap_or((range, "1"));
    start.parse::<u64>().ok()?;
    count.parse().ok()
}

impl DiffText {
    pub(crate) fn read(text: &Text<'_>) -> io::Result<Self> {
        let mut reader = DiffReader::default();
        let facts = LineFacts::gather(text, |number, line| {
            reader.add(number, &String::from_utf8_lossy(&line.bytes[..line.bytes.len().min(1000)]));
        })?;
        reader.end_file();
        Ok(Self { facts, ..reader.diff })
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

    /// Writes the files and what changed; returns what was written.
    fn write(&self, text: &Text<'_>, draft: &mut Draft<'_>) -> io::Result<Vec<&'static str>> {
        let section = STRATEGY_SECTION;
        let writer = &mut draft.writer;
        let mut below = Vec::new();
        let announced = writer.push(
            section,
            format!(
                "{} files changed, {} lines added, {} lines removed:",
                self.file_count, self.added, self.removed
            ),
        );
        below.extend(announced.then_some("files"));
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
        let share = draft.writer.left() / 3;
        let defined =
            draft.within(share, |draft| self.definitions.write(draft, section + 1, "definitions changed"));
        below.extend(defined.then_some("definitions changed"));
        let shown = draft.lines.len();
        let share = share_of_rest(draft);
        draft.within(share, |draft| self.write_changes(text, draft, section + 2))?;
        below.extend((draft.lines.len() > shown).then_some("changed lines"));
        Ok(below)
    }

    /// Writes changed lines file by file, files with the fewest first, so that as many files as possible are covered.
    fn write_changes(&self, text: &Text<'_>, draft: &mut Draft<'_>, section: usize) -> io::Result<()> {
        let next_lines = self.files.iter().skip(1).map(|file| file.line).chain([u64::MAX]);
        let mut order: Vec<(&ChangedFile, u64)> = self.files.iter().zip(next_lines).collect();
        order.retain(|(file, _)| file.hunks > 0 && file.change != Some("deleted"));
        order.sort_by_key(|(file, _)| (file.added + file.removed, file.line));
        for (file, next) in order {
            let lines = self.facts.read(text, file.line, file.added + file.removed + 12 * file.hunks + 8)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Span;

    fn read(diff: &str) -> DiffText {
        let source = diff.as_bytes();
        DiffText::read(&Text::plain(&source, Span::whole(&source))).unwrap()
    }

    fn counts(diff: &str) -> (u64, u64, u64) {
        let diff = read(diff);
        (diff.file_count, diff.added, diff.removed)
    }

    #[test]
    fn a_hunk_ends_where_its_header_says() {
        let comments =
            "--- a/s.sql\n+++ b/s.sql\n@@ -1,4 +1,3 @@\n x\n--- a comment\n--- another\n y\n+++ plus\n";
        assert_eq!(counts(comments), (1, 1, 2));
        let twice = format!("{comments}@@ -9 +9 @@ fn f()\n-a\n+b\n\\ No newline at end of file\n{comments}");
        assert_eq!(counts(&twice), (2, 3, 5));
        let merge =
            "diff --cc x\nindex 1,2..3\n--- a/x\n+++ b/x\n@@@ -1,3 -1,2 +1,3 @@@\n  a\n- b\n -c\n++d\n +e\n";
        assert_eq!(counts(merge), (1, 2, 2));
        let message = "From: x\n\n--- not a file\n\n---\n a | 2 +-\n\ndiff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-a\n+b\n-- \n2.1\n";
        assert_eq!(counts(message), (1, 1, 1));
        assert_eq!(
            counts("--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n+z\n c\n-d\n-- \n-e\n"),
            (1, 2, 2),
            "wrong counts"
        );
        assert_eq!(counts("--- a\n+++ b\n@@ fn f() @@\n-x\n+y\n--- c\n+++ d\n@@\n+z\n"), (2, 2, 1));
    }

    #[test]
    fn files_beyond_the_limit_are_counted_once() {
        let file =
            |n: usize| format!("diff --git a/f{n} b/f{n}\n--- a/f{n}\n+++ b/f{n}\n@@ -1 +1 @@\n-a\n+b\n");
        let plain = |n: usize| format!("--- f{n}\n+++ f{n}\n@@ -1 +1,2 @@\n-a\n+b\n+c\n");
        assert_eq!(counts(&(0..6000).map(file).collect::<String>()), (6000, 6000, 6000));
        assert_eq!(counts(&(0..6000).map(plain).collect::<String>()), (6000, 12_000, 6000));
    }

    #[test]
    fn paths_and_changes() {
        let files = read(
            "diff --git a/a b/c b/a b/c\nnew file mode 1\n--- /dev/null\n+++ b/a b/c\n@@ -0,0 +1 @@\n+x\n\
             diff --git a/old b/new\nrename from old\nrename to new\n\
             diff --git a/gone b/gone\ndeleted file mode 1\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n\
             --- left\t2024\n+++ right\t2025\n@@ -1 +1 @@\n-x\n+y\n",
        );
        let seen: Vec<(&str, Option<&str>)> =
            files.files.iter().map(|file| (file.path.as_str(), file.change)).collect();
        assert_eq!(
            seen,
            [("a b/c", Some("new")), ("new", Some("renamed")), ("gone", Some("deleted")), ("right", None)]
        );
    }
}
