//! The elements of an XML text, one event after the other. A text that is not well formed ends the reading.
//!
//! The reader is written here because it must refuse what is not well formed at the cost of one pass and know nothing
//! of external entities. It holds the elements that are open, never the whole text.

use std::borrow::Cow;

use crate::translation::MAX_DEPTH;

/// The maximum number of bytes between `&` and `;`.
const MAX_REFERENCE_BYTES: usize = 12;

/// What comes next in a text.
pub(super) enum Event<'x> {
    /// An element begins; its attributes are in [`Reader::attributes`].
    Open(&'x str),
    /// The innermost open element ends. This is its text, without that of its child elements.
    Close(Cow<'x, str>),
    /// The root element has ended, and nothing else follows.
    End,
}

/// Reads elements.
pub(super) struct Reader<'x> {
    rest: &'x str,
    open: Vec<(&'x str, Cow<'x, str>)>,
    has_root: bool,
    /// Whether the element that has just begun is an empty one.
    is_empty: bool,
    /// The attributes of the element that has just begun.
    pub(super) attributes: Vec<(&'x str, Cow<'x, str>)>,
}

impl<'x> Reader<'x> {
    pub(super) fn new(text: &'x str) -> Self {
        Self { rest: text.trim(), open: Vec::new(), has_root: false, is_empty: false, attributes: Vec::new() }
    }

    /// Returns the next event; `None` if the text is not well formed.
    pub(super) fn next(&mut self) -> Option<Event<'x>> {
        if std::mem::take(&mut self.is_empty) {
            return Some(Event::Close(self.open.pop()?.1));
        }
        while !self.rest.is_empty() {
            let end = memchr::memchr(b'<', self.rest.as_bytes()).unwrap_or(self.rest.len());
            let (text, rest) = self.rest.split_at(end);
            self.rest = rest;
            self.add_text(text)?;
            if let Some(rest) = rest.strip_prefix("</") {
                let (name, rest) = rest.split_once('>')?;
                self.rest = rest;
                return self.end_tag(name.trim_end()).map(Event::Close);
            }
            if !rest.is_empty() && !self.skip_other_markup()? {
                return self.start_tag().map(Event::Open);
            }
        }
        (self.open.is_empty() && self.has_root).then_some(Event::End)
    }

    fn add_text(&mut self, text: &'x str) -> Option<()> {
        let trimmed = text.trim();
        if trimmed.is_empty() {
            return Some(());
        }
        let (_, whole) = self.open.last_mut()?;
        let text = unescaped(trimmed);
        if whole.is_empty() {
            *whole = text;
        } else {
            let whole = whole.to_mut();
            whole.push(' ');
            whole.push_str(&text);
        }
        Some(())
    }

    /// Reads markup that is neither a start tag nor an end tag; returns whether there was any.
    fn skip_other_markup(&mut self) -> Option<bool> {
        self.rest = if let Some(rest) = self.rest.strip_prefix("<![CDATA[") {
            let (text, rest) = rest.split_once("]]>")?;
            self.open.last_mut()?.1.to_mut().push_str(text);
            rest
        } else if let Some(rest) = self.rest.strip_prefix("<!--") {
            rest.split_once("-->")?.1
        } else if let Some(rest) = self.rest.strip_prefix("<?") {
            rest.split_once("?>")?.1
        } else if let Some(rest) = self.rest.strip_prefix("<!") {
            // A document type, which may define elements but no entities.
            let simple = rest.split_once('>')?;
            let (declaration, rest) = if simple.0.contains('[') { rest.split_once("]>")? } else { simple };
            (!declaration.contains("<!ENTITY") && self.open.is_empty()).then_some(())?;
            rest
        } else {
            return Some(false);
        };
        Some(true)
    }

    fn end_tag(&mut self, name: &str) -> Option<Cow<'x, str>> {
        let (opened, mut text) = self.open.pop()?;
        if let Cow::Owned(text) = &mut text {
            text.truncate(text.trim_end().len());
        }
        (opened == name).then_some(text)
    }

    /// Reads a start tag, or the tag of an empty element.
    fn start_tag(&mut self) -> Option<&'x str> {
        let inside = &self.rest[1..];
        let end = inside.find(|c: char| c.is_whitespace() || matches!(c, '>' | '/'))?;
        let (name, mut rest) = inside.split_at(end);
        let is_name = name.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':'));
        if !is_name || self.open.len() >= MAX_DEPTH || (self.open.is_empty() && self.has_root) {
            return None;
        }
        self.attributes.clear();
        self.is_empty = loop {
            rest = rest.trim_start();
            if let Some(after) = rest.strip_prefix("/>") {
                rest = after;
                break true;
            }
            if let Some(after) = rest.strip_prefix('>') {
                rest = after;
                break false;
            }
            rest = self.attribute(rest)?;
        };
        self.rest = rest;
        self.has_root = true;
        self.open.push((name, "".into()));
        Some(name)
    }

    /// Reads one attribute and returns what follows it.
    fn attribute(&mut self, rest: &'x str) -> Option<&'x str> {
        let (name, after) = rest.split_once('=')?;
        let after = after.trim_start();
        let quote = after.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let (value, after) = after[1..].split_once(quote)?;
        let name = name.trim_end();
        (!name.is_empty() && !name.contains(|c: char| c.is_whitespace() || "<>\"'/".contains(c)))
            .then_some(())?;
        self.attributes.push((name, unescaped(value)));
        Some(after)
    }
}

/// Returns a text without its references to characters; one that is not known stays as it is.
fn unescaped(text: &str) -> Cow<'_, str> {
    if memchr::memchr(b'&', text.as_bytes()).is_none() {
        return text.into();
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('&') {
        out.push_str(&rest[..start]);
        let reference = &rest[start + 1..];
        // No name is long, and a text of ampersands must not be searched to its end for each.
        let end = reference.bytes().take(MAX_REFERENCE_BYTES).position(|byte| byte == b';');
        let known = end.and_then(|end| Some((character(&reference[..end])?, &reference[end + 1..])));
        rest = match known {
            Some((c, after)) => {
                out.push(c);
                after
            }
            None => {
                out.push('&');
                reference
            }
        };
    }
    out.push_str(rest);
    out.into()
}

fn character(name: &str) -> Option<char> {
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        "nbsp" => Some('\u{a0}'),
        _ => {
            let digits = name.strip_prefix('#')?;
            let code = match digits.strip_prefix(['x', 'X']) {
                Some(digits) => u32::from_str_radix(digits, 16).ok()?,
                None => digits.parse().ok()?,
            };
            char::from_u32(code)
        }
    }
}
