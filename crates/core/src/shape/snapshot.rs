//! Accessibility snapshots of web pages: an indented tree of roles, names and references. Shown by its roles, its
//! headings and the elements that can be used, each with its reference.

use std::io;

use super::draft::Draft;
use super::lined::LineFacts;
use super::log::push_list;
use super::outline::Outline;
use super::words::Words;
use crate::kind::is_snapshot_line;
use crate::profile::tally::Tally;
use crate::text::Text;
use crate::visible;

/// What is known of a snapshot.
#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    pub(crate) facts: LineFacts,
    roles: Tally,
    /// Lines before the tree: address and title.
    lead: Vec<String>,
    headings: Outline,
    /// Links, buttons, fields.
    controls: Outline,
    words: Words,
}

/// Roles that a user can act on.
const CONTROLS: &[&str] = &[
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

impl Snapshot {
    pub(crate) fn read(text: &Text<'_>) -> io::Result<Self> {
        let mut snapshot = Self::default();
        let mut room = 10_000;
        let facts = LineFacts::gather(text, |number, line| {
            let text = String::from_utf8_lossy(&line.bytes[..line.bytes.len().min(1000)]);
            snapshot.words.add(&text, number, false);
            snapshot.add(number, text.trim(), &mut room);
        })?;
        snapshot.facts = facts;
        Ok(snapshot)
    }

    fn add(&mut self, number: u64, line: &str, room: &mut usize) {
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
        self.roles.add(role.as_bytes(), false, number, room);
        let element = element(rest);
        if role == "heading" {
            let level = attribute(rest, "level=").and_then(|level| level.parse().ok()).unwrap_or(2);
            self.headings.push(number, level, element.strip_prefix("heading ").unwrap_or(&element));
        } else if let Some(at) = CONTROLS.iter().position(|known| *known == role) {
            self.controls.push(number, if at + 1 == CONTROLS.len() { 2 } else { 1 }, &element);
        }
    }

    pub(crate) fn compose(&self, text: &Text<'_>, draft: &mut Draft<'_>, section: usize) -> io::Result<()> {
        let all = draft.room.left();
        let room = &mut draft.room;
        room.within(all / 8, |room| self.lead.iter().all(|line| room.push(section, line.clone())));
        let roles = Words::standing_out(&self.roles, 1, 24);
        room.within(all / 6, |room| push_list(room, section, "roles", &roles));
        let levels = self.headings.levels();
        if levels.len() > 1 {
            let levels: Vec<String> =
                levels.iter().map(|(level, count)| format!("level {level}={count}")).collect();
            push_list(room, section, &format!("{} headings", self.headings.total), &levels);
        }
        push_list(room, section, "codes", &Words::standing_out(&self.words.codes, 1, 8));
        draft.within(all / 10, |draft| self.facts.write_tail(text, draft, section + 3, 4))?;
        draft.within(all * 3 / 10, |draft| self.controls.write(draft, section + 2, "controls"));
        self.headings.write(draft, section + 1, "headings");
        Ok(())
    }
}

/// An element without what is not needed to name or use it.
fn element(rest: &str) -> String {
    let text = rest.replace(" [cursor=pointer]", "").replace(" [active]", "");
    let text = text.strip_suffix(':').unwrap_or(&text);
    visible::cut(text, 110)
}

fn attribute<'l>(line: &'l str, name: &str) -> Option<&'l str> {
    let start = line.find(name)? + name.len();
    line[start..].split([']', ' ', ',']).next()
}
