//! The second pass over an XML text: every element is written as JSON while it is read.
//!
//! The translation is at most a few times as long as the text, because every name and value is written once.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::form::Forms;
use super::reader::{Event, Reader};
use crate::json::string;

/// Writes elements as JSON.
struct Writer<'f, 'x> {
    forms: &'f Forms<'x>,
    open: Vec<OpenElement>,
    out: String,
}

/// An element that is being written.
#[derive(Default)]
struct OpenElement {
    form: usize,
    /// Whether a member was written; an element without members is its text.
    is_object: bool,
    /// The child that was written last.
    last_child: Option<usize>,
    /// The values of each child, if children of one name are apart and have to be brought together.
    scattered: BTreeMap<usize, String>,
    /// The output before this element, if the parent's children are scattered.
    before: Option<String>,
}

/// Writes a text whose forms are known as JSON; `None` if it is not well formed.
pub(super) fn write(text: &str, forms: &Forms<'_>) -> Option<String> {
    let mut writer = Writer { forms, open: Vec::new(), out: String::from("{") };
    let mut reader = Reader::new(text);
    loop {
        match reader.next()? {
            Event::Open(name) => writer.open(name, &reader.attributes)?,
            Event::Close(text) => writer.close(&text)?,
            Event::End => break,
        }
    }
    writer.out.push('}');
    Some(writer.out)
}

impl Writer<'_, '_> {
    fn open(&mut self, name: &str, attributes: &[(&str, Cow<'_, str>)]) -> Option<()> {
        let element = match self.open.len() {
            0 => {
                self.key(name);
                OpenElement::default()
            }
            _ => self.begin_child(name)?,
        };
        let form = self.forms.get(element.form);
        self.open.push(element);
        for (name, value) in attributes {
            match form.has_child(name) {
                true => self.member(&format!("@{name}"))?,
                false => self.member(name)?,
            }
            form.column(name)?.write(value, &mut self.out);
        }
        Some(())
    }

    /// Writes what is before the value of a child.
    fn begin_child(&mut self, name: &str) -> Option<OpenElement> {
        let parent = self.open.last_mut()?;
        let form = self.forms.get(parent.form);
        let child = form.child(name, parent.last_child)?;
        let last = parent.last_child.replace(child);
        let mut element = OpenElement { form: form.children[child].form, ..OpenElement::default() };
        if form.is_scattered {
            element.before = Some(std::mem::take(&mut self.out));
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
    fn close(&mut self, text: &str) -> Option<()> {
        let element = self.open.last_mut()?;
        let form = self.forms.get(element.form);
        if form.is_scattered {
            for (child, values) in std::mem::take(&mut element.scattered) {
                let child = &form.children[child];
                let (start, end) = if child.is_list { ("[", "]") } else { ("", "") };
                self.member(child.name)?;
                self.out.extend([start, values.as_str(), end]);
            }
        } else if element.last_child.is_some_and(|last| form.children[last].is_list) {
            self.out.push(']');
        }
        let is_object = self.open.last()?.is_object;
        if is_object && !text.is_empty() {
            let is_taken = form.has_child("text") || form.column("text").is_some();
            self.member(if is_taken { "#text" } else { "text" })?;
        }
        if !is_object || !text.is_empty() {
            form.text.write(text, &mut self.out);
        }
        if is_object {
            self.out.push('}');
        }
        if let Some(before) = self.open.pop()?.before {
            let value = std::mem::replace(&mut self.out, before);
            let parent = self.open.last_mut()?;
            let values = parent.scattered.entry(parent.last_child?).or_default();
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
