//! The strategy for HTML pages: an overview shows the title, the headings, counts of elements, and the beginning and
//! the end of the text without the markup.
//!
//! The page is read byte by byte in one pass, without a tree; broken markup is read as far as it goes.

use std::io;

use super::draft::Draft;
use super::key_lines::KeyLines;
use super::line_facts::LineFacts;
use super::section_writer::SectionWriter;
use super::strategy::{Content, STRATEGY_SECTION, Strategy, TextKind};
use crate::profile::value_counts::ValueCounts;
use crate::sample::Sample;
use crate::text::Text;
use crate::visible;

/// An HTML page.
pub(crate) const KIND: TextKind =
    TextKind { name: "html", recognise: is_html, read: |text, _| Ok(Content::text(HtmlText::read(text)?)) };

fn is_html(sample: &Sample<'_>) -> bool {
    let head = sample.trimmed().chars().take(4000).collect::<String>().to_lowercase();
    head.contains("<!doctype html")
        || head.contains("<html")
        || (head.starts_with('<') && head.contains("</") && head.contains("<body"))
}

/// A page that has been read.
#[derive(Debug, Default)]
pub(crate) struct HtmlText {
    facts: LineFacts,
    title: String,
    headings: KeyLines,
    elements: ValueCounts,
    links: u64,
    /// The beginning and the end of the text.
    head: String,
    tail: String,
    characters: u64,
}

/// The number of bytes of text kept from the beginning and from the end.
const MAX_KEPT_TEXT_BYTES: usize = 6000;

/// The maximum number of element names that are counted.
const MAX_ELEMENT_NAMES: usize = 5000;

/// What the reader is inside of.
enum MarkupState {
    Text,
    Tag,
    Comment,
    /// An element whose content is not shown, such as a script, until it is closed.
    Hidden(&'static str),
}

/// Reads a page byte by byte.
struct HtmlReader {
    page: HtmlText,
    state: MarkupState,
    tag: Vec<u8>,
    words: Vec<u8>,
    heading: Option<(u8, String)>,
    in_title: bool,
    element_capacity: usize,
}

impl Strategy for HtmlText {
    fn name(&self) -> &'static str {
        "html"
    }

    fn compose(&self, _text: &Text<'_>, _arguments: &[String], draft: &mut Draft<'_>) -> io::Result<()> {
        let below = self.write(&mut draft.writer);
        self.facts.describe(draft, "HTML", &below);
        draft.frame.what = "an HTML page".into();
        Ok(())
    }
}

impl HtmlText {
    pub(crate) fn read(text: &Text<'_>) -> io::Result<Self> {
        let mut reader = HtmlReader {
            page: Self::default(),
            state: MarkupState::Text,
            tag: Vec::new(),
            words: Vec::new(),
            heading: None,
            in_title: false,
            element_capacity: MAX_ELEMENT_NAMES,
        };
        let mut feed = text.feed();
        let mut block = Vec::new();
        while feed.fill(&mut block)? {
            block.iter().for_each(|&byte| reader.byte(byte));
            block.clear();
        }
        reader.flush();
        Ok(Self { facts: LineFacts::gather(text, |_, _| {})?, ..reader.page })
    }

    /// Describes the page in a few words; returns what is written.
    fn write(&self, writer: &mut SectionWriter<'_>) -> Vec<&'static str> {
        let section = STRATEGY_SECTION;
        let all = writer.left();
        let mut below = Vec::new();
        if !self.title.is_empty() {
            writer.push(section, format!("title: {}", visible::cut(&self.title, 200)));
        }
        writer.push(
            section,
            format!(
                "links: {} a[href]; {} characters of text",
                self.links,
                crate::write::grouped(self.characters)
            ),
        );
        let elements: Vec<String> = self
            .elements
            .ranked()
            .iter()
            .map(|entry| format!("{}={}", entry.text(), entry.count))
            .take(40)
            .collect();
        let mut announce = |written: bool, what| below.extend(written.then_some(what));
        announce(
            writer.within(all / 5, |writer| writer.push_list(section, "elements", &elements)),
            "elements",
        );
        let headings =
            writer.within(all / 2, |writer| self.headings.write_to(writer, section + 1, "headings"));
        announce(!headings.is_empty(), "headings");
        let left = writer.left();
        let end = |writer: &mut SectionWriter<'_>| {
            write_words(writer, section + 3, "end of the text", &self.tail, true)
        };
        announce(writer.within(left / 3, end), "end of the text");
        let beginning = write_words(writer, section + 2, "beginning of the text", &self.head, false);
        announce(beginning, "beginning of the text");
        below
    }
}

/// Writes as many words as fit, from the beginning or from the end; returns whether any were written.
fn write_words(
    writer: &mut SectionWriter<'_>,
    section: usize,
    title: &str,
    words: &str,
    from_end: bool,
) -> bool {
    let words: Vec<&str> = words.split_whitespace().collect();
    let mut count = words.len();
    while count > 3 {
        let part = if from_end { words[words.len() - count..].join(" ") } else { words[..count].join(" ") };
        let mark = if from_end { ("… ", "") } else { ("", " …") };
        if writer.push(section, format!("{title}: {}{}{}", mark.0, visible::text(&part), mark.1)) {
            return true;
        }
        count = count * 4 / 5;
    }
    false
}

impl HtmlReader {
    fn byte(&mut self, byte: u8) {
        match self.state {
            MarkupState::Text => match byte {
                b'<' => {
                    self.state = MarkupState::Tag;
                    self.tag.clear();
                }
                _ => self.words.push(byte),
            },
            MarkupState::Tag => match byte {
                b'>' => self.end_tag(),
                _ => {
                    if self.tag.len() < 4096 {
                        self.tag.push(byte);
                    }
                    if self.tag == b"!--" {
                        self.state = MarkupState::Comment;
                        self.tag.clear();
                    }
                }
            },
            MarkupState::Comment => {
                self.tag.push(byte);
                if self.tag.ends_with(b"-->") {
                    self.state = MarkupState::Text;
                }
                if self.tag.len() > 64 {
                    self.tag.drain(..32);
                }
            }
            MarkupState::Hidden(name) => {
                self.tag.push(byte.to_ascii_lowercase());
                if byte == b'>' && self.tag.ends_with(format!("</{name}>").as_bytes()) {
                    self.state = MarkupState::Text;
                }
                if self.tag.len() > 64 {
                    self.tag.drain(..32);
                }
            }
        }
    }

    fn end_tag(&mut self) {
        self.flush();
        self.state = MarkupState::Text;
        let tag = String::from_utf8_lossy(&self.tag).into_owned();
        let closing = tag.starts_with('/');
        let name: String = tag
            .trim_start_matches('/')
            .chars()
            .take_while(|c| c.is_ascii_alphanumeric() || *c == '-')
            .collect::<String>()
            .to_lowercase();
        if name.is_empty() {
            return;
        }
        let level = name
            .strip_prefix('h')
            .and_then(|level| level.parse::<u8>().ok())
            .filter(|level| (1..=6).contains(level));
        match (closing, level) {
            (true, Some(_)) => {
                if let Some((level, text)) = self.heading.take() {
                    self.page.headings.push(0, level, &format!("h{level} {}", visible::line(&text)));
                }
            }
            (false, Some(level)) => self.heading = Some((level, String::new())),
            _ => {}
        }
        if name == "title" {
            self.in_title = !closing && self.page.title.is_empty();
        }
        if closing {
            return;
        }
        self.page.elements.add(name.as_bytes(), 0, &mut self.element_capacity);
        if name == "a" && tag.to_lowercase().contains("href") {
            self.page.links += 1;
        }
        if let Some(hidden) =
            ["script", "style", "svg", "template"].into_iter().find(|hidden| *hidden == name)
            && !tag.ends_with('/')
        {
            self.state = MarkupState::Hidden(hidden);
            self.tag.clear();
        }
    }

    /// Adds the text since the last tag to the page.
    fn flush(&mut self) {
        let text = unescape(&String::from_utf8_lossy(&self.words));
        self.words.clear();
        if text.trim().is_empty() {
            return;
        }
        if self.in_title {
            self.page.title.push_str(text.trim());
            return;
        }
        if let Some((_, heading)) = &mut self.heading {
            heading.push_str(&text);
        }
        let page = &mut self.page;
        page.characters += text.trim().chars().count() as u64;
        if page.head.len() < MAX_KEPT_TEXT_BYTES {
            page.head.push_str(&text);
            page.head.push(' ');
        }
        page.tail.push_str(&text);
        page.tail.push(' ');
        if page.tail.len() > 3 * MAX_KEPT_TEXT_BYTES {
            let cut = page.tail.len() - MAX_KEPT_TEXT_BYTES;
            let at = (cut..).find(|&at| page.tail.is_char_boundary(at)).unwrap_or(0);
            page.tail.drain(..at);
        }
    }
}

fn unescape(text: &str) -> String {
    if !text.contains('&') {
        return text.to_owned();
    }
    text.replace("&nbsp;", " ")
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&#39;", "'")
        .replace("&amp;", "&")
}
