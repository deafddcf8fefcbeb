//! The strategy for trees drawn in lines: folders as `tree` draws them, dependencies as package managers do.
//!
//! ```text
//! app v1.0                 app@1.0               [INFO] +- a.b:c:jar:1.0:compile
//! ├── serde v1.0           ├─┬ express@4         [INFO] |  \- d.e:f:jar:2.0:compile
//! │   └── serde_derive     │ └── ms@2 deduped    +--- a.b:c:1.0 -> 1.1 (*)
//! ```
//!
//! An overview shows how many entries there are at each depth, the entries of the first levels with the number of
//! entries below them, names that occur several times, endings of names, and entries with a mark that says that
//! something is wrong.

use std::collections::BTreeMap;
use std::io;

use super::draft::Draft;
use super::key_lines::KeyLines;
use super::line_facts::LineFacts;
use super::section_writer::SectionWriter;
use super::strategy::{Content, STRATEGY_SECTION, Strategy, TextKind};
use super::word_counts::WordCounts;
use crate::profile::value_counts::ValueCounts;
use crate::text::Text;
use crate::{visible, write};

/// A tree drawn in lines.
pub(crate) const KIND: TextKind = TextKind {
    name: "drawn tree",
    recognise: |sample| sample.lines.len() >= 3 && sample.share(|line| branch(line).is_some()) > 0.6,
    read: |text, _| Ok(Content::text(DrawnTree::read(text)?)),
};

/// A tree that has been read.
#[derive(Debug, Default)]
pub(crate) struct DrawnTree {
    facts: LineFacts,
    /// The columns at which branches begin, ascending: as many as the tree has levels below its roots.
    columns: Vec<usize>,
    entries: Vec<Entry>,
    /// A line that is a root if a branch follows.
    root: Option<(u64, String)>,
    /// How many entries there are, including those that are not held.
    total: u64,
    leaves: u64,
    names: ValueCounts,
    endings: ValueCounts,
    /// The marks that tools add to names: `(*)`, `deduped`.
    marks: ValueCounts,
    /// The versions of each name that has a version.
    versions: BTreeMap<String, Vec<String>>,
    /// How many entries have a version.
    versioned: u64,
    flagged: KeyLines,
}

/// One entry of the tree.
#[derive(Debug)]
struct Entry {
    line: u64,
    /// The column of its branch; `None` for a root.
    column: Option<usize>,
    name: String,
    /// How many entries are below it.
    below: u64,
}

/// The maximum number of entries held; more are only counted.
const MAX_ENTRIES: usize = 50_000;
const MAX_COUNTED_VALUES: usize = 50_000;
const MAX_COLUMNS: usize = 256;
/// The maximum number of names whose versions are kept, and of versions of each.
const MAX_VERSIONED_NAMES: usize = 20_000;
const MAX_VERSIONS: usize = 8;

/// Marks of an entry that something is wrong with.
const FLAGS: &[&str] =
    &["UNMET", "invalid", "missing", "extraneous", "FAILED", "conflict", "error", "deprecated"];

/// Returns whether a word beside the name says that something is wrong: a name may contain such a word.
fn is_flagged(entry: &str) -> bool {
    let mut words = entry.split_whitespace().map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
    let is_flag = |word: &str| FLAGS.contains(&word);
    let first = words.next().unwrap_or_default();
    is_flag(first) && first.bytes().all(|byte| byte.is_ascii_uppercase())
        || words.any(is_flag)
        || entry.contains(" not found")
}

/// Splits a line into the column of its branch and its text; `None` if no branch is drawn.
fn branch(line: &str) -> Option<(usize, &str)> {
    // Some tools begin each line with a level.
    let line = match line.strip_prefix('[').and_then(|rest| rest.split_once("] ")) {
        Some((word, rest)) if word.bytes().all(|byte| byte.is_ascii_uppercase()) => rest,
        _ => line,
    };
    let is_drawn = |c: char| {
        matches!(c, ' ' | '\u{a0}' | '│' | '├' | '└' | '─' | '┬' | '┼' | '|' | '+' | '`' | '\\' | '-')
    };
    let end = line.find(|c: char| !is_drawn(c)).unwrap_or(line.len());
    let (drawn, text) = line.split_at(end);
    let joint = drawn.char_indices().rfind(|(_, c)| matches!(c, '├' | '└' | '+' | '`' | '\\' | '|'))?;
    let after = &drawn[joint.0 + joint.1.len_utf8()..];
    let is_joined = after.starts_with('─') || after.starts_with('-');
    let column = drawn[..joint.0].chars().count();
    (is_joined && !text.trim().is_empty()).then(|| (column, text.trim_end()))
}

impl Strategy for DrawnTree {
    fn name(&self) -> &'static str {
        "drawn tree"
    }

    fn compose(&self, text: &Text<'_>, _arguments: &[String], draft: &mut Draft<'_>) -> io::Result<()> {
        let below = self.write(text, draft)?;
        self.facts.describe(draft, "a drawn tree", &below);
        Ok(())
    }
}

impl DrawnTree {
    fn read(text: &Text<'_>) -> io::Result<Self> {
        let mut tree = Self::default();
        // The entries above the one that is read, by their index.
        let mut above: Vec<usize> = Vec::new();
        let mut capacity = MAX_COUNTED_VALUES;
        let facts = LineFacts::gather(text, |number, line| {
            let text = line.text();
            tree.add(number, &visible::strip_colours(&text), &mut above, &mut capacity);
        })?;
        tree.facts = facts;
        tree.count_leaves(&mut capacity);
        Ok(tree)
    }

    fn add(&mut self, line: u64, text: &str, above: &mut Vec<usize>, capacity: &mut usize) {
        let Some((column, name)) = branch(text) else {
            // A root, if a branch follows: a line of totals stands alone.
            above.clear();
            self.root = (!text.trim().is_empty()).then(|| (line, text.trim().to_owned()));
            return;
        };
        if let Some((line, root)) = self.root.take() {
            self.add_entry(line, None, &root, above, capacity);
        }
        if let Err(at) = self.columns.binary_search(&column)
            && self.columns.len() < MAX_COLUMNS
        {
            self.columns.insert(at, column);
        }
        self.add_entry(line, Some(column), name, above, capacity);
    }

    fn add_entry(
        &mut self,
        line: u64,
        column: Option<usize>,
        name: &str,
        above: &mut Vec<usize>,
        capacity: &mut usize,
    ) {
        self.total += 1;
        let (plain, marks) = split_marks(name);
        self.names.add(plain.as_bytes(), line, capacity);
        marks.iter().for_each(|mark| self.marks.add(mark.as_bytes(), line, capacity));
        self.add_version(plain);
        if is_flagged(name) {
            self.flagged.push(line, 1, name);
        }
        above.retain(|&at| self.entries[at].column < column);
        above.iter().for_each(|&at| self.entries[at].below += 1);
        if self.entries.len() < MAX_ENTRIES {
            above.push(self.entries.len());
            self.entries.push(Entry { line, column, name: visible::cut(name, 120), below: 0 });
        }
    }

    fn add_version(&mut self, name: &str) {
        let Some((name, version)) = split_version(name) else { return };
        self.versioned += 1;
        let is_new = !self.versions.contains_key(name);
        if is_new && self.versions.len() >= MAX_VERSIONED_NAMES {
            return;
        }
        let versions = self.versions.entry(name.to_owned()).or_default();
        if versions.len() < MAX_VERSIONS && !versions.iter().any(|known| known == version) {
            versions.push(version.to_owned());
        }
    }

    /// Writes how many different names there are, and which occur in several versions.
    fn write_versions(&self, writer: &mut SectionWriter<'_>, section: usize) {
        if self.versioned * 2 < self.total || self.versions.len() >= MAX_VERSIONED_NAMES {
            return;
        }
        let several: Vec<String> = self
            .versions
            .iter()
            .filter(|(_, versions)| versions.len() > 1)
            .map(|(name, versions)| format!("{name} ({})", versions.join(", ")))
            .collect();
        writer.push(section, format!("{} different names without their versions", self.versions.len()));
        writer.push_list(section, &format!("{} in several versions", several.len()), &several);
    }

    fn count_leaves(&mut self, capacity: &mut usize) {
        for entry in self.entries.iter().filter(|entry| entry.below == 0) {
            self.leaves += 1;
            let name = split_marks(&entry.name).0;
            if let Some((stem, ending)) = name.rsplit_once('.')
                && !stem.is_empty()
                && (1..=8).contains(&ending.len())
                && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
                && ending.starts_with(|c: char| c.is_ascii_alphabetic())
            {
                self.endings.add(format!(".{ending}").as_bytes(), entry.line, capacity);
            }
        }
    }

    /// Writes what the tree tells; returns what that is.
    fn write(&self, text: &Text<'_>, draft: &mut Draft<'_>) -> io::Result<Vec<&'static str>> {
        let section = STRATEGY_SECTION;
        let all = draft.writer.left();
        let mut below = Vec::new();
        let writer = &mut draft.writer;
        let depth = self.columns.len() as u64;
        let entries = if self.total == 1 {
            "1 entry".into()
        } else {
            format!("{} entries", write::grouped(self.total))
        };
        // Leaves are counted among the entries held.
        let leaves = match self.total == self.entries.len() as u64 {
            true => format!(", {} without any below them", write::grouped(self.leaves)),
            false => String::new(),
        };
        writer.push(section, format!("{entries}, {} deep{leaves}", write::plural(depth, "level")));
        self.write_depths(draft, section);
        let writer = &mut draft.writer;
        if self.endings.total() * 2 > self.leaves {
            writer.within(all / 8, |writer| {
                WordCounts::write(&self.endings, 1, 12, "endings", writer, section)
            });
        }
        writer.within(all / 6, |writer| {
            WordCounts::write(&self.names, 2, 12, "names that repeat", writer, section)
        });
        writer.within(all / 8, |writer| {
            WordCounts::write(&self.marks, 1, 8, "marks", writer, section);
            self.write_versions(writer, section);
        });
        let flagged = draft.within(all / 4, |draft| self.flagged.write(draft, section + 1, "marked entries"));
        draft.within(all / 10, |draft| self.facts.writer(text).write_tail(draft, section + 3, 2))?;
        below.extend(flagged.then_some("marked entries"));
        below.extend(self.outline().write(draft, section + 2, "entries").then_some("entries"));
        Ok(below)
    }

    /// Writes how many entries there are at each depth.
    fn write_depths(&self, draft: &mut Draft<'_>, section: usize) {
        let mut counts = vec![0_u64; self.columns.len() + 1];
        self.entries.iter().for_each(|entry| counts[self.depth(entry)] += 1);
        if self.total == self.entries.len() as u64 {
            let depths: Vec<String> =
                counts.iter().enumerate().map(|(depth, count)| format!("{depth}={count}")).collect();
            draft.writer.push_list(section, "entries by depth", &depths);
        }
    }

    fn depth(&self, entry: &Entry) -> usize {
        entry
            .column
            .map_or(0, |column| self.columns.binary_search(&column).map_or(self.columns.len(), |at| at + 1))
    }

    /// Returns the entries as key lines whose level is their depth.
    fn outline(&self) -> KeyLines {
        let mut outline = KeyLines::default();
        for entry in &self.entries {
            let depth = self.depth(entry);
            let count = if entry.below > 0 { format!(" ({} below)", entry.below) } else { String::new() };
            let indentation = "  ".repeat(depth.min(12));
            outline.push(entry.line, depth.min(250) as u8, &format!("{indentation}{}{count}", entry.name));
        }
        outline.total = self.total;
        outline
    }
}

/// Splits a name from the marks that tools add when an entry is shown elsewhere or is of a kind: `serde v1.0 (*)`,
/// `ms@2 deduped`.
fn split_marks(name: &str) -> (&str, Vec<&str>) {
    let (mut name, mut marks) = (name.trim(), Vec::new());
    while let Some((before, mark)) = name.rsplit_once(' ')
        && (["deduped", "overridden", "invalid", "extraneous"].contains(&mark) || is_note(mark))
    {
        name = before.trim_end();
        marks.push(mark);
    }
    (name, marks)
}

/// Returns whether a word is a short note in parentheses: `(*)`, `(proc-macro)`.
fn is_note(word: &str) -> bool {
    let inside = word.strip_prefix('(').and_then(|word| word.strip_suffix(')'));
    inside.is_some_and(|inside| {
        !inside.is_empty()
            && inside.len() <= 12
            && inside.bytes().all(|byte| byte.is_ascii_lowercase() || matches!(byte, b'*' | b'-'))
    })
}

/// Splits a name from its version: `serde v1.0.2`, `ms@2.1.3`, `org.a:b:jar:1.0:compile`, `requests==2.31`.
fn split_version(name: &str) -> Option<(&str, &str)> {
    let is_version =
        |text: &str| text.trim_start_matches(['v', '^', '~', '=']).starts_with(|c: char| c.is_ascii_digit());
    let word = |text: &'_ str| text.split_whitespace().next().map_or(0, str::len);
    // The name is one word; other words may follow it.
    let (name, rest) = name.split_at(word(name));
    for separator in ["==", "@", ":"] {
        if let Some((name, version)) = name.rsplit_once(separator)
            && !name.is_empty()
            && is_version(version)
        {
            return Some((name, version));
        }
    }
    if let Some((before, _)) = name.rsplit_once(':')
        && let Some((name, version)) = before.rsplit_once(':')
        && is_version(version)
    {
        return Some((name, version));
    }
    let version = rest.trim_start();
    let version = &version[..word(version)];
    is_version(version).then_some((name, version))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Span;

    fn read(text: &str) -> DrawnTree {
        let source = text.as_bytes();
        DrawnTree::read(&Text::plain(&source, Span::whole(&source))).unwrap()
    }

    #[test]
    fn branches_of_many_tools() {
        for (line, column, name) in [
            ("├── src", 0, "src"),
            ("│   └── main.rs", 4, "main.rs"),
            ("├─┬ express@4", 0, "express@4"),
            ("│ └── ms@2 deduped", 2, "ms@2 deduped"),
            ("|   `-- main.c", 4, "main.c"),
            ("[INFO] |  \\- d.e:f:jar:2.0", 3, "d.e:f:jar:2.0"),
            ("+--- a.b:c:1.0 -> 1.1 (*)", 0, "a.b:c:1.0 -> 1.1 (*)"),
            ("|    +--- x", 5, "x"),
        ] {
            assert_eq!(branch(line), Some((column, name)), "{line}");
        }
        for line in ["- a list", "| a | table |", "+-----+", "a - b", "", "|---|---|"] {
            assert_eq!(branch(line), None, "{line}");
        }
    }

    #[test]
    fn names_have_versions_and_marks() {
        for (line, name, version, mark) in [
            ("serde v1.0.2 (proc-macro) (*)", "serde", "v1.0.2", "(*)"),
            ("@scope/ms@2.1.3 deduped", "@scope/ms", "2.1.3", "deduped"),
            ("org.a:b:jar:1.0:compile", "org.a:b:jar", "1.0", ""),
            ("org.a:b:1.0 -> 1.1 (*)", "org.a:b", "1.0", "(*)"),
            ("requests==2.31", "requests", "2.31", ""),
        ] {
            let (plain, marks) = split_marks(line);
            assert_eq!(split_version(plain), Some((name, version)), "{line}");
            assert_eq!(marks.first().copied().unwrap_or(""), mark, "{line}");
        }
        for name in ["main.rs", "src", "a@b", "chapter one"] {
            assert_eq!(split_version(name), None, "{name}");
        }
    }

    #[test]
    fn entries_are_counted_by_depth() {
        let tree = read(
            "app\n├── a v1\n│   ├── b v1\n│   └── c v2 (*)\n└── c v2\n    └── d.rs\n\n3 directories, 2 files\n",
        );
        assert_eq!((tree.total, tree.leaves, tree.columns.len()), (6, 3, 2));
        let below: Vec<u64> = tree.entries.iter().map(|entry| entry.below).collect();
        assert_eq!(below, [5, 2, 0, 0, 1, 0]);
        assert_eq!(tree.versions["c"], ["v2"]);
        assert_eq!(tree.marks.ranked()[0].text(), "(*)");
        let repeated: Vec<_> = tree.names.ranked().iter().filter(|e| e.count > 1).map(|e| e.text()).collect();
        assert_eq!(repeated, ["c v2"]);
    }
}
