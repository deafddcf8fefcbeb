//! The strategy for accessibility snapshots of pages and windows: indented trees of roles, names and references.
//!
//! An overview shows the title, the roles, the headings, the elements that a user can act on, each with its reference
//! and state, and the longest texts.

mod element;

use std::io;

use super::draft::{Draft, share_of_rest};
use super::key_lines::KeyLines;
use super::line_facts::LineFacts;
use super::strategy::{Content, STRATEGY_SECTION, Strategy, TextKind};
use super::word_counts::WordCounts;
use crate::profile::value_counts::ValueCounts;
use crate::text::Text;
use crate::{visible, write};
use element::Element;

/// Returns what a call uses to name the element on a line of a snapshot, as written: `ref=e3`, `uid=1_2`, `[14]`.
pub(crate) fn element_reference(line: &str) -> Option<&str> {
    Element::parse(line)?.reference
}

/// An accessibility tree: lines of role, name and reference.
pub(crate) const KIND: TextKind = TextKind {
    name: "snapshot",
    recognise: |sample| share_of_elements(sample.lines.iter().copied()) > 0.5,
    read: |text, _| Ok(Content::text(SnapshotText::read(text)?)),
};

/// A snapshot that has been read.
#[derive(Debug, Default)]
pub(crate) struct SnapshotText {
    facts: LineFacts,
    roles: ValueCounts,
    /// The indentations that occur, ascending: as many as the tree has levels.
    indentations: Vec<usize>,
    /// Lines before the tree: address and title.
    lead: Vec<String>,
    headings: KeyLines,
    /// Fields, buttons, links.
    controls: KeyLines,
    /// A link whose address may be on the next line.
    open_link: Option<String>,
    /// The pages that links lead to.
    targets: ValueCounts,
    texts: LongestTexts,
    words: WordCounts,
}

/// The maximum number of roles, and of addresses, that are counted.
const MAX_COUNTED_VALUES: usize = 10_000;
/// The maximum number of lines kept before the tree begins.
const MAX_LEAD_LINES: usize = 12;
/// The maximum number of indentations told apart.
const MAX_INDENTATIONS: usize = 256;

/// Roles that a user can act on, with the level at which an overview shows them; links are many.
const CONTROL_ROLES: &[(&[&str], u8)] = &[
    (
        &[
            "textbox",
            "searchbox",
            "combobox",
            "checkbox",
            "radio",
            "switch",
            "slider",
            "spinbutton",
            "listbox",
        ],
        1,
    ),
    (&["input", "select", "textarea", "textfield", "searchfield", "radiobutton", "popupbutton"], 1),
    (&["dialog", "alertdialog", "alert"], 1),
    (
        &[
            "button",
            "pushbutton",
            "menubutton",
            "tab",
            "pagetab",
            "menuitem",
            "menuitemcheckbox",
            "menuitemradio",
        ],
        1,
    ),
    (&["link", "a"], 2),
    (&["option", "treeitem"], 3),
];

/// Attributes that say nothing about an element that a reader needs.
const IDLE_ATTRIBUTES: &[&str] =
    &["cursor", "active", "focusable", "clickable", "visible", "keyshortcuts", "level", "nth", "class", "id"];

/// Attributes that say where a link leads.
const ADDRESS_ATTRIBUTES: &[&str] = &["url", "href", "/url"];

/// Returns the share of the lines of a sample that are elements, if they are a tree rather than a list of fields.
fn share_of_elements<'l>(lines: impl Iterator<Item = &'l str>) -> f64 {
    let (mut count, mut found, mut referenced) = (0_u32, 0_u32, 0_u32);
    let mut roles: Vec<String> = Vec::new();
    for line in lines {
        count += 1;
        let Some(element) = Element::parse(line) else {
            // The address below a link belongs to its element.
            found += u32::from(line.trim_start().starts_with("- /"));
            continue;
        };
        found += 1;
        referenced += u32::from(element.reference.is_some());
        if !roles.contains(&element.role) {
            roles.push(element.role);
        }
    }
    let is_tree = roles.len() >= 3 || referenced * 4 >= found.max(1);
    if is_tree { f64::from(found) / f64::from(count.max(1)) } else { 0.0 }
}

/// The longest texts of a tree.
#[derive(Debug, Default)]
struct LongestTexts {
    /// Line number and text, longest first.
    texts: Vec<(u64, String)>,
}

/// The maximum number of long texts kept.
const MAX_LONG_TEXTS: usize = 24;
/// The number of characters from which on a text is worth showing by itself.
const MIN_TEXT_CHARACTERS: usize = 60;

impl LongestTexts {
    fn add(&mut self, number: u64, text: &str) {
        let shortest = self.texts.last().map_or(0, |(_, text)| text.len());
        let full = self.texts.len() == MAX_LONG_TEXTS;
        if text.len() < MIN_TEXT_CHARACTERS || full && text.len() <= shortest {
            return;
        }
        let at = self.texts.partition_point(|(_, known)| known.len() >= text.len());
        self.texts.insert(at, (number, visible::cut(text, 400)));
        self.texts.truncate(MAX_LONG_TEXTS);
    }

    /// Writes as many texts as fit, in the order of the page.
    fn write(&self, draft: &mut Draft<'_>, section: usize) -> bool {
        if self.texts.is_empty() || !draft.writer.push(section, "longest texts:") {
            return false;
        }
        let lines = self.texts.iter().map(|(number, text)| (*number, format!("L{number} {text}")));
        let mut kept: Vec<(u64, String)> = lines.filter(|(_, line)| draft.writer.reserve(line)).collect();
        kept.sort();
        if kept.is_empty() {
            draft.writer.pop(section);
        }
        for (number, line) in &kept {
            draft.lines.insert(*number);
            draft.writer.place(section, line.clone());
        }
        !kept.is_empty()
    }
}

impl Strategy for SnapshotText {
    fn name(&self) -> &'static str {
        "snapshot"
    }

    fn compose(&self, text: &Text<'_>, _arguments: &[String], draft: &mut Draft<'_>) -> io::Result<()> {
        let below = self.write(text, draft)?;
        self.facts.describe(draft, "accessibility snapshot", &below);
        Ok(())
    }
}

impl SnapshotText {
    pub(crate) fn read(text: &Text<'_>) -> io::Result<Self> {
        let mut snapshot = Self::default();
        let mut capacity = MAX_COUNTED_VALUES;
        let facts = LineFacts::gather(text, |number, line| {
            let text = line.text();
            snapshot.words.add(&text, number, false);
            snapshot.add(number, &text, &mut capacity);
        })?;
        snapshot.close_link(None);
        snapshot.facts = facts;
        Ok(snapshot)
    }

    fn add(&mut self, number: u64, line: &str, capacity: &mut usize) {
        let Some(element) = Element::parse(line) else {
            self.add_other(number, line.trim(), capacity);
            return;
        };
        self.close_link(None);
        if let Err(at) = self.indentations.binary_search(&element.indentation)
            && self.indentations.len() < MAX_INDENTATIONS
        {
            self.indentations.insert(at, element.indentation);
        }
        let role = if element.role == "statictext" { "text" } else { &element.role };
        self.roles.add(role.as_bytes(), number, capacity);
        if matches!(role, "rootwebarea" | "webarea" | "document" | "window")
            && !element.name.is_empty()
            && self.lead.len() < MAX_LEAD_LINES
        {
            let address = address(&element).map(|address| format!(", url: {address}")).unwrap_or_default();
            self.lead.push(visible::cut(&format!("title: {}{address}", element.name), 300));
        }
        let level = CONTROL_ROLES.iter().find(|(roles, _)| roles.contains(&role)).map(|(_, level)| *level);
        if let Some(level) = element.heading_level() {
            let reference = element.reference.map(|reference| format!(" {reference}")).unwrap_or_default();
            self.headings.push(number, level, &format!("{}{reference}", element.name));
        } else if role == "link" || role == "a" {
            self.open_link = Some(control(&element));
            if let Some(address) = address(&element) {
                self.close_link(Some((address, number, capacity)));
            }
        } else if let Some(level) = level {
            self.controls.push(0, level, &control(&element));
        } else if element.name.len() >= MIN_TEXT_CHARACTERS {
            self.texts.add(number, &element.name);
        }
    }

    /// Adds a line that is not an element: what is before the tree, the address of a link, text of an element.
    fn add_other(&mut self, number: u64, line: &str, capacity: &mut usize) {
        if let Some((_, address)) = line.strip_prefix("- /").and_then(|rest| rest.split_once(": ")) {
            self.close_link(Some((address, number, capacity)));
        } else if self.roles.total() == 0 {
            if self.lead.len() < MAX_LEAD_LINES && !line.is_empty() && !line.starts_with("```") {
                self.lead.push(visible::cut(line, 200));
            }
        } else {
            self.texts.add(number, line);
        }
    }

    /// Adds the link that was read last, with its address.
    fn close_link(&mut self, address: Option<(&str, u64, &mut usize)>) {
        let Some(link) = self.open_link.take() else { return };
        let link = match address {
            Some((address, number, capacity)) => {
                let page = address.split(['#', '?']).next().unwrap_or(address);
                if !page.is_empty() {
                    self.targets.add(page.as_bytes(), number, capacity);
                }
                format!("{link} -> {}", visible::cut(address, 100))
            }
            None => link,
        };
        self.controls.push(0, 2, &link);
    }

    /// Writes what the tree tells; returns what that is.
    fn write(&self, text: &Text<'_>, draft: &mut Draft<'_>) -> io::Result<Vec<&'static str>> {
        let section = STRATEGY_SECTION;
        let all = draft.writer.left();
        let writer = &mut draft.writer;
        let mut below = Vec::new();
        writer.within(all / 6, |writer| self.lead.iter().all(|line| writer.push(section, line.clone())));
        let size = write::plural(self.roles.total(), "element");
        writer.push(
            section,
            format!("{size}, {} deep", write::plural(self.indentations.len() as u64, "level")),
        );
        if writer.within(all / 6, |writer| WordCounts::write(&self.roles, 1, 24, "roles", writer, section)) {
            below.push("roles");
        }
        self.headings.write_levels(writer, section);
        writer
            .within(all / 12, |writer| WordCounts::write(&self.words.codes, 1, 8, "codes", writer, section));
        writer.within(all / 10, |writer| WordCounts::write(&self.targets, 2, 8, "links to", writer, section));
        draft.within(all / 10, |draft| self.facts.writer(text).write_tail(draft, section + 4, 4))?;
        if draft.within(all / 3, |draft| self.controls.write(draft, section + 2, "controls")) {
            below.insert(0, "controls");
        }
        if draft.within(all / 2, |draft| self.headings.write(draft, section + 1, "headings")) {
            below.insert(0, "headings");
        }
        let share = share_of_rest(draft);
        if draft.within(share, |draft| self.texts.write(draft, section + 3)) {
            below.push("longest texts");
        }
        Ok(below)
    }
}

/// Returns where an element leads.
fn address<'l>(element: &Element<'l>) -> Option<&'l str> {
    ADDRESS_ATTRIBUTES.iter().find_map(|name| element.attribute(name)).filter(|address| !address.is_empty())
}

/// Returns what a user needs of an element to recognise it and to act on it.
fn control(element: &Element<'_>) -> String {
    let mut out = format!("{} \"{}\"", element.role, visible::cut(&element.name, 80));
    if let Some(reference) = element.reference {
        out.push(' ');
        out.push_str(reference);
    }
    for (key, value) in &element.attributes {
        if IDLE_ATTRIBUTES.contains(key) || ADDRESS_ATTRIBUTES.contains(key) || *key == "description" {
            continue;
        }
        out.push_str(&if value.is_empty() {
            format!(" {key}")
        } else {
            format!(" {key}={}", visible::cut(value, 40))
        });
    }
    out
}
