//! Entries with a title and `Key: value` lines below it, as search tools, trackers and hardware listings print them:
//!
//! ```text
//! 1. Fix the crash                 ## Fix the crash            Fix the crash
//!    Status: open                  - **Status:** open             Status: open
//!    URL: https://…                - **Labels:** bug | UI         URL: https://…
//! ```
//!
//! The title is a heading, a bold line, an item of a list, a line that is not indented, or the first line after a blank
//! one. Each entry is a record: its title, its fields, and whatever else it says as `text`. A line that belongs to no entry,
//! such as a heading of a higher level, is one of the lines around the data.

mod field;
mod title;

use std::io;

use serde::{Deserialize, Serialize};

use super::{LineNotation, Member, PatternReader, RecordContent, RecordLines};
use crate::sample::Sample;
use crate::trim::trim;
use field::fields;
use title::{Title, bullet};

/// The entries of one text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Entries {
    title: Title,
    /// Whether the lines of an entry are indented deeper than its title, so that no other line is one of them.
    indented: bool,
    /// The member that holds the title.
    title_key: String,
    /// The member that holds what is neither the title nor a field.
    text_key: String,
}

/// The minimum number of entries in the sample.
const MIN_ENTRIES: usize = 3;

impl LineNotation for Entries {
    fn recognise(sample: &Sample<'_>) -> Option<Self> {
        Title::ALL.into_iter().find_map(|title| SampledEntries::read(sample, title).recognise(title))
    }

    fn name(&self) -> &'static str {
        "entries"
    }

    fn noun(&self) -> &'static str {
        "record"
    }

    fn next(&self, reader: &mut PatternReader<'_>) -> io::Result<Option<(u64, RecordLines)>> {
        let begins = |line: &str| self.title.of(line).is_some();
        let continues = |line: &str| self.title.continues(line);
        if self.title == Title::AfterBlank {
            return reader.next_entry_after(is_separator, begins, continues);
        }
        reader.next_entry(begins, continues, |line| {
            self.title.ends_before(line) || self.indented && !is_indented(line) && !is_separator(line)
        })
    }

    fn content<'r>(&'r self, record: &'r RecordLines) -> Option<RecordContent<'r>> {
        Some(RecordContent::Members(self.members(record)))
    }

    fn has_other_lines(&self) -> bool {
        false
    }
}

impl Entries {
    /// Returns the title, the fields and the text of an entry.
    fn members<'r>(&'r self, record: &'r RecordLines) -> Vec<Member<'r>> {
        let mut members: Vec<Member<'r>> = Vec::new();
        let mut lines = record.lines.iter().skip_while(|line| is_separator(line));
        let title = lines.next().map_or("", String::as_str);
        let title = self.title.of(title).unwrap_or(title.trim());
        match fields(title).as_slice() {
            [(key, value)] if *key == self.title_key => members.push(((*key).into(), (*value).into())),
            _ => members.push((self.title_key.as_str().into(), title.into())),
        }
        // The field that lines of a greater depth continue, and its depth.
        let mut open: Option<(usize, usize)> = None;
        let mut text = String::new();
        for line in lines.filter(|line| !is_separator(line)) {
            let depth = indentation(line);
            let pairs = fields(line);
            if !pairs.is_empty() {
                open = pairs.into_iter().map(|(key, value)| (add(&mut members, key, value), depth)).last();
                continue;
            }
            open = open.filter(|(_, of_field)| depth > *of_field);
            match open {
                Some((field, _)) => append(members[field].1.to_mut(), trim(line)),
                None => append(&mut text, trim(line)),
            }
        }
        if !text.is_empty() {
            members.push((self.text_key.as_str().into(), text.into()));
        }
        members
    }
}

/// Adds a field, or a further value of one that is there; returns its position.
fn add<'r>(members: &mut Vec<Member<'r>>, key: &'r str, value: &'r str) -> usize {
    match members.iter().position(|(known, _)| known == key) {
        Some(at) => {
            append(members[at].1.to_mut(), value);
            at
        }
        None => {
            members.push((key.into(), value.into()));
            members.len() - 1
        }
    }
}

fn append(value: &mut String, text: &str) {
    if !value.is_empty() {
        value.push('\n');
    }
    value.push_str(text);
}

/// Returns whether a line is blank or drawn.
fn is_separator(line: &str) -> bool {
    let line = trim(line);
    let drawn = |character: char| matches!(character, '-' | '*' | '=' | '_' | '─' | '━' | '═');
    line.chars().all(drawn) && (line.is_empty() || line.chars().count() >= 3)
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '\t']).len()
}

fn is_indented(line: &str) -> bool {
    indentation(line) > 0
}

/// What the sample says about entries with one kind of title.
struct SampledEntries<'h> {
    entries: Vec<SampledEntry<'h>>,
    /// How many lines are before the first entry, and how many are in entries.
    before: usize,
    inside: usize,
}

/// An entry in the sample.
struct SampledEntry<'h> {
    title: &'h str,
    keys: Vec<&'h str>,
    /// How many lines have fields, and how many of them are indented.
    field_lines: usize,
    indented: usize,
    other_lines: usize,
}

impl<'h> SampledEntries<'h> {
    fn read(sample: &Sample<'h>, title: Title) -> Self {
        let mut read = Self { entries: Vec::new(), before: 0, inside: 0 };
        let end = if sample.whole { sample.head.len() } else { sample.head.rfind('\n').unwrap_or(0) };
        let lines: Vec<&str> = sample.head[..end].lines().collect();
        for (at, line) in lines.iter().enumerate().filter(|(_, line)| !is_separator(line)) {
            let begins = (title != Title::AfterBlank || at == 0 || is_separator(lines[at - 1]))
                && title.continues(lines.get(at + 1).unwrap_or(&""));
            match title.of(line).filter(|_| begins) {
                Some(title) => read.entries.push(SampledEntry::new(title)),
                None => match read.entries.last_mut() {
                    Some(entry) => entry.add(line),
                    None => read.before += 1,
                },
            }
            read.inside += usize::from(!read.entries.is_empty());
        }
        if !sample.whole {
            read.entries.pop();
        }
        read
    }

    /// Returns the notation if these are entries of one kind: nearly all have fields, and they share most of them.
    fn recognise(&self, title: Title) -> Option<Entries> {
        let count = self.entries.len();
        let with =
            |is: &dyn Fn(&SampledEntry<'_>) -> bool| self.entries.iter().filter(|entry| is(entry)).count();
        let is_of_one_kind = count >= MIN_ENTRIES
            && self.before <= self.inside
            && with(&|entry| !entry.keys.is_empty()) * 10 >= count * 8
            && with(&|entry| entry.has_key_twice()) * 10 <= count
            && self.shares_fields();
        let field_lines: usize = self.entries.iter().map(|entry| entry.field_lines).sum();
        let indented: usize = self.entries.iter().map(|entry| entry.indented).sum();
        let is_indented = indented * 10 >= field_lines * 9;
        let is_set_apart = is_indented || title != Title::Unindented;
        // Titles with a mark have been tried with it.
        let is_marked = !title.is_marked() && with(&|entry| Title::has_mark(entry.title)) * 2 > count;
        let title_key = self.title_key();
        // YAML is read as such, or as lines where it is too large for that.
        let is_yaml = with(&|entry| match title {
            Title::Bullet => entry.title.starts_with(&title_key),
            Title::Unindented => {
                entry.title.ends_with(':')
                    || bullet(entry.title).is_some_and(|item| item.starts_with(&title_key))
            }
            _ => false,
        }) * 10
            >= count * 9;
        (is_of_one_kind && is_set_apart && !is_marked && !is_yaml).then(|| Entries {
            title,
            indented: is_indented,
            title_key,
            text_key: self.free_key("text"),
        })
    }

    /// Returns whether the entries have two fields in common, or one and little else.
    fn shares_fields(&self) -> bool {
        let count = self.entries.len();
        let mut keys: Vec<&str> =
            self.entries.iter().take(3).flat_map(|entry| entry.keys.iter().copied()).collect();
        keys.sort_unstable();
        keys.dedup();
        let holders = |key: &str| self.entries.iter().filter(|entry| entry.keys.contains(&key)).count();
        let of_titles = usize::from(self.shared_title_key().is_some());
        let most = of_titles + keys.iter().filter(|key| holders(key) * 10 >= count * 6).count();
        let all = keys.iter().any(|key| holders(key) * 10 >= count * 9);
        let others: usize = self.entries.iter().map(|entry| entry.other_lines).sum();
        most >= 2 || all && others <= 2 * count
    }

    /// Returns the name of the member that holds the title: the key before it, if nearly all titles have the same.
    fn title_key(&self) -> String {
        self.shared_title_key().map_or_else(|| self.free_key("title"), str::to_owned)
    }

    fn shared_title_key(&self) -> Option<&'h str> {
        let key_of = |entry: &SampledEntry<'h>| match fields(entry.title).as_slice() {
            [(key, _)] => Some(*key),
            _ => None,
        };
        let first = self.entries.first().and_then(key_of);
        let same = self.entries.iter().filter(|entry| key_of(entry) == first).count();
        first.filter(|_| same * 10 >= self.entries.len() * 9)
    }

    /// Returns a name that no field of the sample has.
    fn free_key(&self, name: &str) -> String {
        let mut name = name.to_owned();
        while self.entries.iter().any(|entry| entry.keys.contains(&name.as_str())) {
            name.push('_');
        }
        name
    }
}

impl<'h> SampledEntry<'h> {
    fn new(title: &'h str) -> Self {
        Self { title, keys: Vec::new(), field_lines: 0, indented: 0, other_lines: 0 }
    }

    fn add(&mut self, line: &'h str) {
        let pairs = fields(line);
        if pairs.is_empty() {
            self.other_lines += 1;
            return;
        }
        self.field_lines += 1;
        self.indented += usize::from(is_indented(line));
        self.keys.extend(pairs.into_iter().map(|(key, _)| key));
    }

    fn has_key_twice(&self) -> bool {
        (1..self.keys.len()).any(|at| self.keys[..at].contains(&self.keys[at]))
    }
}

#[cfg(test)]
mod tests;
