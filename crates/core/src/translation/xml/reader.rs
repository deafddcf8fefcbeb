//! The elements of an XML text, one event after the other. A text that is not well formed ends the reading.
//!
//! The reader is written here because it must refuse what is not well formed at the cost of one pass and know nothing
//! of external entities. It holds the elements that are open, never the whole text.

use std::borrow::Cow;

use crate::translation::MAX_DEPTH;
use crate::trim::{trim, trim_end, trim_start};

/// The maximum number of bytes between `&` and `;`.
const MAX_REFERENCE_BYTES: usize = 12;

/// What comes next in a text.
pub(super) enum Event<'w> {
    /// An element begins.
    Open(StartTag<'w>),
    /// The innermost open element ends; its text is [`ElementReader::text`].
    Close,
    /// The root element has ended, and nothing else follows.
    End,
}

/// Why there is no event.
pub(super) enum NoEvent {
    /// The window ends before what comes next does.
    NeedsMore,
    /// The text is not well formed.
    Malformed,
}

/// The tag with which an element begins.
pub(super) struct StartTag<'w> {
    pub(super) name: &'w str,
    attributes: &'w str,
}

/// Reads elements, window by window.
#[derive(Clone, Default)]
pub(super) struct ElementReader {
    /// The names of the open elements, one after the other, and where each begins.
    names: String,
    /// The texts of the open elements, without those of their child elements, and where each begins.
    texts: String,
    open: Vec<OpenElement>,
    has_root: bool,
    /// Whether the element that has just begun is an empty one.
    is_empty: bool,
    /// Whether the innermost open element has just ended.
    has_ended: bool,
}

/// Where the name and the text of an open element begin.
#[derive(Clone, Copy)]
struct OpenElement {
    name: usize,
    text: usize,
}

impl ElementReader {
    /// Returns the next event of a text whose next bytes are `rest`, and takes what was read from `rest`.
    pub(super) fn next<'w>(&mut self, rest: &mut &'w str, is_end: bool) -> Result<Event<'w>, NoEvent> {
        self.drop_ended();
        if std::mem::take(&mut self.is_empty) {
            self.has_ended = true;
            return Ok(Event::Close);
        }
        loop {
            let Some(markup) = memchr::memchr(b'<', rest.as_bytes()) else {
                return self.end(rest, is_end);
            };
            let end = markup + Markup::end(&rest[markup..], is_end)?;
            self.add_text(&rest[..markup]).ok_or(NoEvent::Malformed)?;
            let tag = &rest[markup..end];
            *rest = &rest[end..];
            if let Some(name) = tag.strip_prefix("</") {
                return self.end_tag(trim_end(&name[..name.len() - 1])).ok_or(NoEvent::Malformed);
            }
            if !self.skip_other_markup(tag).ok_or(NoEvent::Malformed)? {
                return self.start_tag(tag).map(Event::Open).ok_or(NoEvent::Malformed);
            }
        }
    }

    /// Returns the text of the element that has just ended.
    pub(super) fn text(&self) -> &str {
        self.open.last().map_or("", |element| trim_end(&self.texts[element.text..]))
    }

    fn drop_ended(&mut self) {
        if std::mem::take(&mut self.has_ended)
            && let Some(element) = self.open.pop()
        {
            self.names.truncate(element.name);
            self.texts.truncate(element.text);
        }
    }

    /// Reads what follows the last markup.
    fn end<'w>(&mut self, rest: &mut &'w str, is_end: bool) -> Result<Event<'w>, NoEvent> {
        if !is_end {
            return Err(NoEvent::NeedsMore);
        }
        self.add_text(std::mem::take(rest)).ok_or(NoEvent::Malformed)?;
        match self.open.is_empty() && self.has_root {
            true => Ok(Event::End),
            false => Err(NoEvent::Malformed),
        }
    }

    fn add_text(&mut self, text: &str) -> Option<()> {
        let trimmed = trim(text);
        if trimmed.is_empty() {
            return Some(());
        }
        let element = self.open.last()?;
        if self.texts.len() > element.text {
            self.texts.push(' ');
        }
        unescape(trimmed, &mut self.texts);
        Some(())
    }

    /// Reads markup that is neither a start tag nor an end tag; returns whether it is such.
    fn skip_other_markup(&mut self, tag: &str) -> Option<bool> {
        if !matches!(tag.as_bytes().get(1), Some(b'!' | b'?')) {
            return Some(false);
        }
        if let Some(data) = tag.strip_prefix("<![CDATA[") {
            self.open.last()?;
            self.texts.push_str(data.strip_suffix("]]>")?);
        } else if let Some(declaration) = tag.strip_prefix("<!").filter(|rest| !rest.starts_with("--")) {
            // A document type, which may define elements but no entities.
            (!declaration.contains("<!ENTITY") && self.open.is_empty()).then_some(())?;
        } else if !tag.starts_with("<!--") && !tag.starts_with("<?") {
            return Some(false);
        }
        Some(true)
    }

    fn end_tag<'w>(&mut self, name: &str) -> Option<Event<'w>> {
        let opened = &self.names[self.open.last()?.name..];
        self.has_ended = true;
        (opened == name).then_some(Event::Close)
    }

    /// Reads a start tag, or the tag of an empty element.
    fn start_tag<'w>(&mut self, tag: &'w str) -> Option<StartTag<'w>> {
        let inside = &tag[1..tag.len() - 1];
        let (inside, is_empty) = match inside.strip_suffix('/') {
            Some(inside) => (inside, true),
            None => (inside, false),
        };
        let (name, attributes) = split_name(inside)?;
        if self.open.len() >= MAX_DEPTH || (self.open.is_empty() && self.has_root) {
            return None;
        }
        self.open.push(OpenElement { name: self.names.len(), text: self.texts.len() });
        self.names.push_str(name);
        (self.is_empty, self.has_root) = (is_empty, true);
        Some(StartTag { name, attributes })
    }
}

/// Splits the inside of a start tag into the name and the attributes; `None` if it does not begin with a name.
fn split_name(inside: &str) -> Option<(&str, &str)> {
    let simple = simple_name_bytes(inside);
    let is_simple = matches!(inside.as_bytes().get(simple), None | Some(b' ' | b'\t' | b'\n' | b'\r' | b'/'));
    let end = match is_simple {
        true => simple,
        false => inside.find(|c: char| c.is_whitespace() || c == '/').unwrap_or(inside.len()),
    };
    let (name, attributes) = inside.split_at(end);
    let is_name = name.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && (is_simple || name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':')));
    is_name.then_some((name, attributes))
}

/// Returns how many bytes at the beginning of a text are ASCII characters of a name.
fn simple_name_bytes(text: &str) -> usize {
    let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b':');
    text.bytes().position(|byte| !is_of_name(byte)).unwrap_or(text.len())
}

impl<'w> StartTag<'w> {
    /// Returns the names and values of the attributes; `None` in place of one that is malformed.
    pub(super) fn attributes(&self) -> impl Iterator<Item = Option<(&'w str, Cow<'w, str>)>> + use<'w> {
        let mut rest = self.attributes.trim();
        std::iter::from_fn(move || {
            let next = (!rest.is_empty()).then(|| attribute(&mut rest))?;
            if next.is_none() {
                rest = "";
            }
            Some(next)
        })
    }
}

/// Takes one attribute from the beginning of a text.
fn attribute<'w>(rest: &mut &'w str) -> Option<(&'w str, Cow<'w, str>)> {
    let simple = simple_name_bytes(rest);
    let is_simple = simple > 0 && rest.as_bytes().get(simple) == Some(&b'=');
    let end = if is_simple { simple } else { memchr::memchr(b'=', rest.as_bytes())? };
    let name = trim_end(&rest[..end]);
    let after = trim_start(&rest[end + 1..]);
    let quote = *after.as_bytes().first().filter(|byte| matches!(byte, b'"' | b'\''))?;
    let inside = &after[1..];
    let close = memchr::memchr(quote, inside.as_bytes())?;
    let is_name =
        |name: &str| !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || "<>\"'/".contains(c));
    (is_simple || is_name(name)).then_some(())?;
    *rest = trim_start(&inside[close + 1..]);
    Some((name, unescaped(&inside[..close])))
}

/// The kinds of markup, by what ends them.
struct Markup;

impl Markup {
    /// The number of bytes that tell which kind it is.
    const KIND_BYTES: usize = "<![CDATA[".len();

    /// Returns the length of the markup that a text begins with.
    fn end(text: &str, is_end: bool) -> Result<usize, NoEvent> {
        let missing = if is_end { NoEvent::Malformed } else { NoEvent::NeedsMore };
        if text.len() < Self::KIND_BYTES && !is_end {
            return Err(missing);
        }
        let after =
            |mark: &str| memchr::memmem::find(text.as_bytes(), mark.as_bytes()).map(|at| at + mark.len());
        let end = match text.as_bytes().get(1) {
            Some(b'/') => memchr::memchr(b'>', text.as_bytes()).map(|at| at + 1),
            Some(b'?') => after("?>"),
            Some(b'!') if text.starts_with("<![CDATA[") => after("]]>"),
            Some(b'!') if text.starts_with("<!--") => after("-->"),
            Some(b'!') => {
                after(">").and_then(|end| if text[..end].contains('[') { after("]>") } else { Some(end) })
            }
            _ => tag_end(text),
        };
        end.ok_or(missing)
    }
}

/// Returns the length of the tag that a text begins with, in whose attributes there may be a `>`.
fn tag_end(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 1;
    loop {
        at += memchr::memchr3(b'>', b'"', b'\'', &bytes[at..])?;
        if bytes[at] == b'>' {
            return Some(at + 1);
        }
        at += 2 + memchr::memchr(bytes[at], &bytes[at + 1..])?;
    }
}

/// Returns a text without its references to characters; one that is not known stays as it is.
fn unescaped(text: &str) -> Cow<'_, str> {
    if memchr::memchr(b'&', text.as_bytes()).is_none() {
        return text.into();
    }
    let mut out = String::with_capacity(text.len());
    unescape(text, &mut out);
    out.into()
}

/// Appends a text without its references to characters.
fn unescape(text: &str, out: &mut String) {
    let mut rest = text;
    while let Some(start) = memchr::memchr(b'&', rest.as_bytes()) {
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
