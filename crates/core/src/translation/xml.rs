//! XML that holds data: repeated elements become lists, attributes and elements with nothing but text become members.
//!
//! The rules are those that most converters share: the root is an object with one member, its element; an element that
//! occurs more than once in some parent is a list in every parent of that name, so that all records have the same form;
//! an element with attributes and text has its text in `text`. An attribute that has the name of a child element gets
//! an `@` before its name. A text whose markup is not well formed, or in which words and elements alternate as in a
//! document or a drawing, is not translated.
//!
//! The reader is written here because it must refuse what is not well formed at the cost of one pass and know nothing
//! of external entities.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::typed::Column;
use super::{MAX_DEPTH, MAX_JSON_BYTES};
use crate::json::string;
use crate::sample::Sample;

/// An element and its children, in the order of the text.
struct Element<'x> {
    name: &'x str,
    attributes: Vec<(&'x str, Cow<'x, str>)>,
    /// The numbers of its child elements.
    children: Vec<u32>,
    text: Cow<'x, str>,
}

pub(super) fn recognise(sample: &Sample<'_>) -> bool {
    let head = sample.trimmed();
    let named =
        head.strip_prefix('<').is_some_and(|rest| rest.starts_with(|c: char| c.is_alphabetic() || c == '_'));
    (head.starts_with("<?xml") || head.starts_with("<!--") || head.starts_with("<!DOCTYPE") || named)
        && (head.contains("</") || head.contains("/>"))
}

pub(super) fn translate(text: &str) -> Option<String> {
    let elements = Reader { rest: text.trim(), elements: Vec::new() }.read()?;
    let root = elements.first()?;
    let is_drawing = matches!(root.name, "svg" | "html");
    let mixed =
        elements.iter().filter(|element| !element.children.is_empty() && !element.text.is_empty()).count();
    if is_drawing || elements.len() < 3 || mixed * 10 > elements.len() {
        return None;
    }
    let mut writer = Writer::new(&elements);
    writer.out.push('{');
    string::write(root.name, &mut writer.out);
    writer.out.push(':');
    writer.element(0, 0)?;
    writer.out.push('}');
    Some(writer.out)
}

/// Reads elements.
struct Reader<'x> {
    rest: &'x str,
    elements: Vec<Element<'x>>,
}

impl<'x> Reader<'x> {
    /// Reads the only root element and what may be around it.
    fn read(mut self) -> Option<Vec<Element<'x>>> {
        let mut open: Vec<u32> = Vec::new();
        while !self.rest.is_empty() {
            let end = memchr::memchr(b'<', self.rest.as_bytes()).unwrap_or(self.rest.len());
            let (text, rest) = self.rest.split_at(end);
            self.rest = rest;
            self.add_text(text, &open)?;
            if self.rest.is_empty() {
                break;
            }
            if let Some(rest) = self.rest.strip_prefix("<![CDATA[") {
                let (text, rest) = rest.split_once("]]>")?;
                let element = &mut self.elements[*open.last()? as usize];
                element.text.to_mut().push_str(text);
                self.rest = rest;
            } else if let Some(rest) = self.rest.strip_prefix("<!--") {
                self.rest = rest.split_once("-->")?.1;
            } else if let Some(rest) = self.rest.strip_prefix("<?") {
                self.rest = rest.split_once("?>")?.1;
            } else if let Some(rest) = self.rest.strip_prefix("<!") {
                // A document type, which may define elements but no entities.
                let simple = rest.split_once('>')?;
                let (declaration, rest) =
                    if simple.0.contains('[') { rest.split_once("]>")? } else { simple };
                (!declaration.contains("<!ENTITY") && open.is_empty()).then_some(())?;
                self.rest = rest;
            } else if let Some(rest) = self.rest.strip_prefix("</") {
                let (name, rest) = rest.split_once('>')?;
                let closed = &mut self.elements[open.pop()? as usize];
                (closed.name == name.trim_end()).then_some(())?;
                if let Cow::Owned(text) = &mut closed.text {
                    text.truncate(text.trim_end().len());
                }
                self.rest = rest;
            } else {
                self.start_tag(&mut open)?;
            }
        }
        (open.is_empty() && !self.elements.is_empty()).then_some(self.elements)
    }

    fn add_text(&mut self, text: &'x str, open: &[u32]) -> Option<()> {
        let trimmed = text.trim();
        if trimmed.is_empty() {
            return Some(());
        }
        let element = &mut self.elements[*open.last()? as usize];
        let text = unescaped(trimmed);
        if element.text.is_empty() {
            element.text = text;
        } else {
            let whole = element.text.to_mut();
            whole.push(' ');
            whole.push_str(&text);
        }
        Some(())
    }

    /// Reads a start tag, or the tag of an empty element.
    fn start_tag(&mut self, open: &mut Vec<u32>) -> Option<()> {
        let inside = &self.rest[1..];
        let end = inside.find(|c: char| c.is_whitespace() || matches!(c, '>' | '/'))?;
        let (name, mut rest) = inside.split_at(end);
        let is_name = name.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':'));
        if !is_name || open.len() >= MAX_DEPTH || (open.is_empty() && !self.elements.is_empty()) {
            return None;
        }
        let mut attributes = Vec::new();
        let is_empty = loop {
            rest = rest.trim_start();
            if let Some(after) = rest.strip_prefix("/>") {
                rest = after;
                break true;
            }
            if let Some(after) = rest.strip_prefix('>') {
                rest = after;
                break false;
            }
            let (name, after) = rest.split_once('=')?;
            let after = after.trim_start();
            let quote = after.chars().next().filter(|c| matches!(c, '"' | '\''))?;
            let (value, after) = after[1..].split_once(quote)?;
            let name = name.trim_end();
            (!name.is_empty() && !name.contains(|c: char| c.is_whitespace() || "<>\"'/".contains(c)))
                .then_some(())?;
            attributes.push((name, unescaped(value)));
            rest = after;
        };
        self.rest = rest;
        let number = u32::try_from(self.elements.len()).ok()?;
        if let Some(parent) = open.last() {
            self.elements[*parent as usize].children.push(number);
        }
        self.elements.push(Element { name, attributes, children: Vec::new(), text: "".into() });
        if !is_empty {
            open.push(number);
        }
        Some(())
    }
}

/// Returns a text without its references to characters; one that is not known stays as it is.
fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return text.into();
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('&') {
        out.push_str(&rest[..start]);
        let reference = &rest[start + 1..];
        let known = reference.split_once(';').and_then(|(name, after)| Some((character(name)?, after)));
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

/// Writes elements as JSON.
struct Writer<'e, 'x> {
    elements: &'e [Element<'x>],
    /// The elements that are lists, by the names of their parents and their own.
    lists: BTreeSet<(&'x str, &'x str)>,
    /// How the values of an attribute or element are written, by the name of the element and that of the attribute.
    columns: BTreeMap<(&'x str, &'x str), Column>,
    out: String,
}

impl<'e, 'x> Writer<'e, 'x> {
    fn new(elements: &'e [Element<'x>]) -> Self {
        let mut lists = BTreeSet::new();
        let mut columns: BTreeMap<(&'x str, &'x str), Column> = BTreeMap::new();
        for element in elements {
            let mut seen = BTreeSet::new();
            for child in &element.children {
                let name = elements[*child as usize].name;
                if !seen.insert(name) {
                    lists.insert((element.name, name));
                }
            }
            for (name, value) in &element.attributes {
                columns.entry((element.name, name)).or_default().add(value);
            }
            if !element.text.is_empty() {
                columns.entry((element.name, "")).or_default().add(&element.text);
            }
        }
        Self { elements, lists, columns, out: String::new() }
    }

    /// Writes the value of an element; `None` if it is nested too deeply or the whole becomes too long.
    fn element(&mut self, number: u32, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH || self.out.len() > MAX_JSON_BYTES {
            return None;
        }
        let elements = self.elements;
        let element = &elements[number as usize];
        if element.attributes.is_empty() && element.children.is_empty() {
            self.value(element.name, "", &element.text);
            return Some(());
        }
        self.out.push('{');
        let names: Vec<&str> = element.children.iter().map(|child| elements[*child as usize].name).collect();
        for (name, value) in &element.attributes {
            let shown =
                if names.contains(name) { Cow::Owned(format!("@{name}")) } else { Cow::Borrowed(*name) };
            self.key(&shown);
            self.value(element.name, name, value);
        }
        if !element.text.is_empty() {
            let taken = names.contains(&"text") || element.attributes.iter().any(|(name, _)| *name == "text");
            self.key(if taken { "#text" } else { "text" });
            self.value(element.name, "", &element.text);
        }
        self.children(element, &names, depth)?;
        self.out.push('}');
        Some(())
    }

    /// Writes the child elements of an element as members.
    fn children(&mut self, element: &Element<'x>, names: &[&'x str], depth: usize) -> Option<()> {
        let mut written: BTreeSet<&str> = BTreeSet::new();
        for (at, name) in names.iter().enumerate() {
            if !written.insert(name) {
                continue;
            }
            self.key(name);
            if !self.lists.contains(&(element.name, *name)) {
                self.element(element.children[at], depth + 1)?;
                continue;
            }
            self.out.push('[');
            let same = names.iter().zip(&element.children).skip(at).filter(|(other, _)| *other == name);
            for (_, child) in same {
                if !self.out.ends_with('[') {
                    self.out.push(',');
                }
                self.element(*child, depth + 1)?;
            }
            self.out.push(']');
        }
        Some(())
    }

    fn key(&mut self, name: &str) {
        if !self.out.ends_with('{') {
            self.out.push(',');
        }
        string::write(name, &mut self.out);
        self.out.push(':');
    }

    fn value(&mut self, element: &'x str, attribute: &'x str, value: &str) {
        match self.columns.get(&(element, attribute)) {
            Some(column) => column.write(value, &mut self.out),
            None => self.out.push_str("null"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_of_tests() {
        let report = r#"<?xml version="1.0" encoding="UTF-8"?>
            <testsuites tests="3"><testsuite name="a &amp; b" time="1.50">
              <testcase name="one" time="0.25"/>
              <testcase name="two" time="1.25"><failure message="left &lt; right">at x:1
at y:2</failure></testcase>
            </testsuite><testsuite name="c" time="0.00"><testcase name="three" time="0.00"/></testsuite></testsuites>"#;
        assert_eq!(
            translate(report).unwrap(),
            r#"{"testsuites":{"tests":3,"testsuite":[{"name":"a & b","time":1.50,"testcase":[{"name":"one","time":0.25},{"name":"two","time":1.25,"failure":{"message":"left < right","text":"at x:1\nat y:2"}}]},{"name":"c","time":0.00,"testcase":[{"name":"three","time":0.00}]}]}}"#
        );
    }

    #[test]
    fn a_feed_and_a_project() {
        let feed = "<rss version='2.0'><channel><title>T</title><item><title>a</title><guid isPermaLink=\"false\">1</guid></item><item><title><![CDATA[b <i>]]></title><guid isPermaLink=\"false\">2</guid></item></channel></rss>";
        assert_eq!(
            translate(feed).unwrap(),
            r#"{"rss":{"version":2.0,"channel":{"title":"T","item":[{"title":"a","guid":{"isPermaLink":"false","text":1}},{"title":"b <i>","guid":{"isPermaLink":"false","text":2}}]}}}"#
        );
        let project = "<project><dependencies><dependency><version>1.1</version></dependency><dependency><version>1.10</version></dependency></dependencies></project>";
        assert_eq!(
            translate(project).unwrap(),
            r#"{"project":{"dependencies":{"dependency":[{"version":"1.1"},{"version":"1.10"}]}}}"#
        );
    }

    #[test]
    fn names_that_clash() {
        assert_eq!(
            translate("<a text='t' b='1'>x<b>2</b><c/></a>").map(|_| ()),
            None,
            "words and elements alternate"
        );
        assert_eq!(
            translate("<r><a b='1'><b>2</b></a><a text='t'>x</a></r>").unwrap(),
            r##"{"r":{"a":[{"@b":1,"b":2},{"text":"t","#text":"x"}]}}"##
        );
    }

    #[test]
    fn other_texts_are_not_translated() {
        for text in [
            "<svg><path d='M0'/><path d='M1'/><path d='M2'/></svg>",
            "<a><b></a></b>",
            "<a><b>1</b><b>2</b>",
            "<a><b>1</b></a><a><b>1</b></a>",
            "<a>x <b>y</b> z <b>w</b></a>",
            "<a b=1><c/><c/></a>",
            "<!DOCTYPE a [<!ENTITY x \"y\">]><a><b>&x;</b><b/></a>",
            "x < y and y > z",
            "<T>(a: T) => a",
        ] {
            assert_eq!(translate(text), None, "{text}");
        }
    }
}
