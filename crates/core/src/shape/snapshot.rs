//! The strategy for accessibility snapshots of web pages: indented trees of roles, names and references.
//!
//! An overview shows the roles, the headings and the elements that a user can act on, each with its reference.

use std::io;

use super::draft::Draft;
use super::key_lines::KeyLines;
use super::line_facts::LineFacts;
use super::strategy::{Content, STRATEGY_SECTION, Strategy, TextKind};
use super::word_counts::WordCounts;
use crate::profile::value_counts::ValueCounts;
use crate::text::Text;
use crate::visible;

/// An accessibility tree: indented lines of role, name and reference.
pub(crate) const KIND: TextKind = TextKind {
    name: "snapshot",
    recognise: |sample| sample.share(is_snapshot_line) > 0.5,
    read: |text, _| Ok(Content::text(SnapshotText::read(text)?)),
};

/// Returns whether a line is `- role "name" [ref=e12]` or the like.
fn is_snapshot_line(line: &str) -> bool {
    let Some(rest) = line.trim_start().strip_prefix("- ") else {
        return line.trim_start().starts_with("uid=");
    };
    let role: &str = rest.split([' ', ':', '"', '[']).next().unwrap_or("");
    let is_role = !role.is_empty() && role.chars().all(|c| c.is_ascii_lowercase() || c == '/');
    is_role
        && (rest.contains("[ref=")
            || rest.contains(" \"")
            || rest.contains(": ")
            || rest.ends_with(':')
            || rest == role)
}

/// A snapshot that has been read.
#[derive(Debug, Default)]
pub(crate) struct SnapshotText {
    facts: LineFacts,
    roles: ValueCounts,
    /// Lines before the tree: address and title.
    lead: Vec<String>,
    headings: KeyLines,
    /// Links, buttons, fields.
    controls: KeyLines,
    words: WordCounts,
}

/// The maximum number of roles that are counted.
const MAX_ROLES: usize = 10_000;

/// Roles that a user can act on; links, which are many, come last.
const CONTROL_ROLES: &[&str] = &[
    "button",
    "textbox",
    "searchbox",
    "combobox",
    "checkbox",
    "radio",
    "switch",
    "slider",
    "tab",
    "menuitem",
    "option",
    "dialog",
    "alert",
    "link",
];

impl Strategy for SnapshotText {
    fn name(&self) -> &'static str {
        "snapshot"
    }

    fn compose(&self, text: &Text<'_>, _arguments: &[String], draft: &mut Draft<'_>) -> io::Result<()> {
        self.write(text, draft)?;
        self.facts.describe(draft, "accessibility snapshot", "roles, headings, controls");
        Ok(())
    }
}

impl SnapshotText {
    pub(crate) fn read(text: &Text<'_>) -> io::Result<Self> {
        let mut snapshot = Self::default();
        let mut capacity = MAX_ROLES;
        let facts = LineFacts::gather(text, |number, line| {
            let text = line.text();
            snapshot.words.add(&text, number, false);
            snapshot.add(number, text.trim(), &mut capacity);
        })?;
        snapshot.facts = facts;
        Ok(snapshot)
    }

    fn add(&mut self, number: u64, line: &str, capacity: &mut usize) {
        let begun = self.roles.total() > 0;
        if !begun && (!is_snapshot_line(line) || line.starts_with("- Page")) {
            if self.lead.len() < 12 && !line.is_empty() {
                self.lead.push(visible::cut(line, 200));
            }
            return;
        }
        let Some(rest) = line.strip_prefix("- ") else { return };
        let role: &str = rest.split([' ', ':', '"', '[']).next().unwrap_or("");
        if role.is_empty() || role.starts_with('/') {
            return;
        }
        self.roles.add(role.as_bytes(), number, capacity);
        let element = element(rest);
        if role == "heading" {
            let level = attribute(rest, "level=").and_then(|level| level.parse().ok()).unwrap_or(2);
            self.headings.push(number, level, element.strip_prefix("heading ").unwrap_or(&element));
        } else if let Some(at) = CONTROL_ROLES.iter().position(|known| *known == role) {
            self.controls.push(number, if at + 1 == CONTROL_ROLES.len() { 2 } else { 1 }, &element);
        }
    }

    fn write(&self, text: &Text<'_>, draft: &mut Draft<'_>) -> io::Result<()> {
        let section = STRATEGY_SECTION;
        let all = draft.writer.left();
        let writer = &mut draft.writer;
        writer.within(all / 8, |writer| self.lead.iter().all(|line| writer.push(section, line.clone())));
        writer.within(all / 6, |writer| WordCounts::write(&self.roles, 1, 24, "roles", writer, section));
        self.headings.write_levels(writer, section);
        WordCounts::write(&self.words.codes, 1, 8, "codes", writer, section);
        draft.within(all / 10, |draft| self.facts.writer(text).write_tail(draft, section + 3, 4))?;
        draft.within(all * 3 / 10, |draft| self.controls.write(draft, section + 2, "controls"));
        self.headings.write(draft, section + 1, "headings");
        Ok(())
    }
}

/// Returns an element without attributes that are not needed to name or use it.
fn element(rest: &str) -> String {
    let text = rest.replace(" [cursor=pointer]", "").replace(" [active]", "");
    let text = text.strip_suffix(':').unwrap_or(&text);
    visible::cut(text, 110)
}

fn attribute<'l>(line: &'l str, name: &str) -> Option<&'l str> {
    let start = line.find(name)? + name.len();
    line[start..].split([']', ' ', ',']).next()
}
