//! The first pass over an XML text: what all elements of one name have in common.
//!
//! An element that occurs more than once in some parent is a list in every parent of that name, and a column of numbers
//! is known only when all its values are. So the forms of all elements are collected before the first one is written.

use std::collections::BTreeMap;

use super::reader::{ElementReader, Event, NoEvent, StartTag};
use crate::translation::typed::Column;
use crate::translation::window::Window;

/// The forms of all elements; the first is that of the root.
#[derive(Default)]
pub(super) struct Forms {
    forms: Vec<ElementForm>,
    by_name: BTreeMap<Box<str>, usize>,
}

/// What the elements of one name have in common.
pub(super) struct ElementForm {
    pub(super) name: Box<str>,
    pub(super) children: Vec<ChildForm>,
    child_by_name: BTreeMap<Box<str>, usize>,
    attributes: Vec<(Box<str>, Column)>,
    pub(super) text: Column,
    /// Whether children of one name are apart in some element, with others between them.
    pub(super) is_scattered: bool,
}

/// A child element of the elements of one name.
pub(super) struct ChildForm {
    pub(super) name: Box<str>,
    /// The number of its own form.
    pub(super) form: usize,
    /// Whether it occurs more than once in some parent.
    pub(super) is_list: bool,
    /// The number of the parent in which it was seen last.
    last_parent: u64,
}

/// Reads the forms of a text, window by window.
#[derive(Default)]
pub(super) struct FormReader {
    forms: Forms,
    reader: ElementReader,
    open: Vec<OpenElement>,
    elements: u64,
    /// The elements that have both child elements and text.
    mixed: u64,
}

/// An element that is open in the first pass.
struct OpenElement {
    form: usize,
    number: u64,
    /// The child that came last.
    last_child: Option<usize>,
    /// What `last_parent` was before this element changed it, if an element of the same form is open around it.
    restore: Vec<(usize, u64)>,
}

impl FormReader {
    /// Reads a window; returns how many bytes were used, `None` if the text is not well formed.
    pub(super) fn read(&mut self, window: &Window<'_>) -> Option<usize> {
        let mut rest = &*window.text;
        loop {
            match self.reader.next(&mut rest, window.is_end) {
                Ok(Event::Open(tag)) => self.open(&tag)?,
                Ok(Event::Close) => self.close()?,
                Ok(Event::End) | Err(NoEvent::NeedsMore) => return Some(window.text.len() - rest.len()),
                Err(NoEvent::Malformed) => return None,
            }
        }
    }

    /// Returns the forms of a text that was read to its end; `None` if it is not data.
    pub(super) fn forms(self) -> Option<Forms> {
        let is_drawing = matches!(&*self.forms.forms.first()?.name, "svg" | "html");
        let is_data = !is_drawing && self.elements >= 3 && self.mixed * 10 <= self.elements;
        is_data.then_some(self.forms)
    }

    fn open(&mut self, tag: &StartTag<'_>) -> Option<()> {
        self.elements += 1;
        let form = match self.open.len() {
            0 => self.forms.numbered(tag.name),
            _ => self.forms.child_of(&mut self.open, tag.name),
        };
        for attribute in tag.attributes() {
            let (name, value) = attribute?;
            self.forms.forms[form].attribute(name).add(&value);
        }
        let number = self.elements;
        self.open.push(OpenElement { form, number, last_child: None, restore: Vec::new() });
        Some(())
    }

    fn close(&mut self) -> Option<()> {
        let closed = self.open.pop()?;
        let form = &mut self.forms.forms[closed.form];
        let text = self.reader.text();
        if !text.is_empty() {
            form.text.add(text);
            self.mixed += u64::from(closed.last_child.is_some());
        }
        for (child, last_parent) in closed.restore.into_iter().rev() {
            form.children[child].last_parent = last_parent;
        }
        Some(())
    }
}

impl Forms {
    /// Returns the form with a number.
    pub(super) fn get(&self, form: usize) -> &ElementForm {
        &self.forms[form]
    }

    fn numbered(&mut self, name: &str) -> usize {
        if let Some(form) = self.by_name.get(name) {
            return *form;
        }
        self.forms.push(ElementForm::new(name));
        self.by_name.insert(name.into(), self.forms.len() - 1);
        self.forms.len() - 1
    }

    /// Notes that the innermost open element has a child, and returns the form of that child.
    fn child_of(&mut self, open: &mut [OpenElement], name: &str) -> usize {
        let (parent, around) = open.split_last_mut().expect("an element is open");
        let child = match self.forms[parent.form].child(name, parent.last_child) {
            Some(child) => child,
            None => {
                let form = self.numbered(name);
                self.forms[parent.form].add_child(name, form)
            }
        };
        let form = &mut self.forms[parent.form];
        let seen = &mut form.children[child];
        if seen.last_parent == parent.number {
            seen.is_list = true;
            form.is_scattered |= parent.last_child != Some(child);
        } else {
            if around.iter().any(|element| element.form == parent.form) {
                parent.restore.push((child, seen.last_parent));
            }
            seen.last_parent = parent.number;
        }
        parent.last_child = Some(child);
        form.children[child].form
    }
}

impl ElementForm {
    fn new(name: &str) -> Self {
        Self {
            name: name.into(),
            children: Vec::new(),
            child_by_name: BTreeMap::new(),
            attributes: Vec::new(),
            text: Column::default(),
            is_scattered: false,
        }
    }

    /// Returns the number of a child. Records have their members in one order, so that the child after the last one, or
    /// the last one again, is the likely one.
    pub(super) fn child(&self, name: &str, last: Option<usize>) -> Option<usize> {
        let likely = [last.map_or(0, |last| last + 1), last.unwrap_or_default()];
        likely
            .into_iter()
            .find(|child| self.children.get(*child).is_some_and(|child| *child.name == *name))
            .or_else(|| self.child_by_name.get(name).copied())
    }

    fn add_child(&mut self, name: &str, form: usize) -> usize {
        let child = self.children.len();
        self.children.push(ChildForm { name: name.into(), form, is_list: false, last_parent: 0 });
        self.child_by_name.insert(name.into(), child);
        child
    }

    fn attribute(&mut self, name: &str) -> &mut Column {
        let at = self.attributes.iter().position(|(known, _)| **known == *name).unwrap_or_else(|| {
            self.attributes.push((name.into(), Column::default()));
            self.attributes.len() - 1
        });
        &mut self.attributes[at].1
    }

    /// Returns the column of an attribute, if an element has it.
    pub(super) fn column(&self, attribute: &str) -> Option<&Column> {
        self.attributes.iter().find(|(name, _)| **name == *attribute).map(|(_, column)| column)
    }

    /// Returns whether an element has a child of that name.
    pub(super) fn has_child(&self, name: &str) -> bool {
        self.child_by_name.contains_key(name)
    }
}
