//! The second pass over an XML text: every element is written as JSON while it is read.
//!
//! The translation is at most a few times as long as the text, because every name and value is written once.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::form::Forms;
use super::reader::{ElementReader, Event, NoEvent, StartTag};
use crate::json::string;
use crate::translation::window::Window;
use crate::translation::{JsonWriter, Step};

/// Writes elements as JSON.
#[derive(Clone)]
pub(super) struct XmlWriter {
    forms: Rc<Forms>,
    reader: ElementReader,
    open: Vec<OpenElement>,
    out: String,
    is_begun: bool,
}

/// An element that is being written.
#[derive(Clone, Default)]
struct OpenElement {
    form: usize,
    /// Whether a member was written; an element without members is its text.
    is_object: bool,
    /// The child that was written last.
    last_child: Option<usize>,
    /// What is not yet in its place; none in most texts.
    held: Option<Box<HeldOutput>>,
}

/// Output that is not yet in its place.
#[derive(Clone, Default)]
struct HeldOutput {
    /// The values of each child, if children of one name are apart and have to be brought together.
    scattered: BTreeMap<usize, String>,
    /// The output before the element, if the parent's children are scattered.
    before: Option<String>,
}

impl JsonWriter for XmlWriter {
    fn write(&mut self, window: &Window<'_>, json: &mut String) -> Option<Step> {
        let is_held = self.is_held();
        if !is_held {
            std::mem::swap(&mut self.out, json);
        }
        if !std::mem::replace(&mut self.is_begun, true) {
            self.out.push('{');
        }
        let mut rest = &*window.text;
        let step = loop {
            match self.reader.next(&mut rest, window.is_end) {
                Ok(Event::Open(tag)) => self.open(&tag)?,
                Ok(Event::Close) => self.close()?,
                Ok(Event::End) => {
                    self.out.push('}');
                    break Step::End;
                }
                Err(NoEvent::NeedsMore) if rest.len() < window.text.len() => {
                    break Step::Used(window.text.len() - rest.len());
                }
                Err(NoEvent::NeedsMore) => return Some(Step::NeedsMore),
                Err(NoEvent::Malformed) => return None,
            }
        };
        if !self.is_held() {
            std::mem::swap(&mut self.out, json);
            self.out.clear();
        }
        Some(step)
    }

    fn is_small(&self) -> bool {
        !self.is_held()
    }
}

impl XmlWriter {
    pub(super) fn new(forms: Forms) -> Self {
        Self {
            forms: Rc::new(forms),
            reader: ElementReader::default(),
            open: Vec::new(),
            out: String::new(),
            is_begun: false,
        }
    }

    /// Returns whether what was written is not yet in its place.
    fn is_held(&self) -> bool {
        let mut held = self.open.iter().filter_map(|element| element.held.as_ref());
        held.any(|held| held.before.is_some() || !held.scattered.is_empty())
    }

    fn open(&mut self, tag: &StartTag<'_>) -> Option<()> {
        let element = match self.open.len() {
            0 => {
                self.key(tag.name);
                OpenElement::default()
            }
            _ => self.begin_child(tag.name)?,
        };
        let forms = Rc::clone(&self.forms);
        let form = forms.get(element.form);
        self.open.push(element);
        for attribute in tag.attributes() {
            let (name, value) = attribute?;
            match form.has_child(name) {
                true => self.member(&format!("@{name}"))?,
                false => self.member(name)?,
            }
            form.column(name)?.write(&value, &mut self.out);
        }
        Some(())
    }

    /// Writes what is before the value of a child.
    fn begin_child(&mut self, name: &str) -> Option<OpenElement> {
        let forms = Rc::clone(&self.forms);
        let parent = self.open.last_mut()?;
        let form = forms.get(parent.form);
        let child = form.child(name, parent.last_child)?;
        let last = parent.last_child.replace(child);
        let mut element = OpenElement { form: form.children[child].form, ..OpenElement::default() };
        if form.is_scattered {
            element.held.get_or_insert_default().before = Some(std::mem::take(&mut self.out));
        } else if last == Some(child) {
            self.out.push(',');
        } else {
            if last.is_some_and(|last| form.children[last].is_list) {
                self.out.push(']');
            }
            self.member(name)?;
            if form.children[child].is_list {
                self.out.push('[');
            }
        }
        Some(element)
    }

    /// Writes what is left of the innermost open element.
    fn close(&mut self) -> Option<()> {
        let forms = Rc::clone(&self.forms);
        let element = self.open.last_mut()?;
        let form = forms.get(element.form);
        if form.is_scattered {
            let held = element.held.as_mut();
            for (child, values) in held.map(|held| std::mem::take(&mut held.scattered)).unwrap_or_default() {
                let child = &form.children[child];
                let (start, end) = if child.is_list { ("[", "]") } else { ("", "") };
                self.member(&child.name)?;
                self.out.extend([start, values.as_str(), end]);
            }
        } else if element.last_child.is_some_and(|last| form.children[last].is_list) {
            self.out.push(']');
        }
        let is_object = self.open.last()?.is_object;
        let has_text = !self.reader.text().is_empty();
        if is_object && has_text {
            let is_taken = form.has_child("text") || form.column("text").is_some();
            self.member(if is_taken { "#text" } else { "text" })?;
        }
        if !is_object || has_text {
            form.text.write(self.reader.text(), &mut self.out);
        }
        if is_object {
            self.out.push('}');
        }
        if let Some(before) = self.open.pop()?.held.and_then(|held| held.before) {
            let value = std::mem::replace(&mut self.out, before);
            let parent = self.open.last_mut()?;
            let child = parent.last_child?;
            let values = parent.held.get_or_insert_default().scattered.entry(child).or_default();
            if !values.is_empty() {
                values.push(',');
            }
            values.push_str(&value);
        }
        Some(())
    }

    /// Writes the name of a member of the innermost open element.
    fn member(&mut self, name: &str) -> Option<()> {
        let is_further = std::mem::replace(&mut self.open.last_mut()?.is_object, true);
        self.out.push(if is_further { ',' } else { '{' });
        self.key(name);
        Some(())
    }

    fn key(&mut self, name: &str) {
        string::write(name, &mut self.out);
        self.out.push(':');
    }
}
