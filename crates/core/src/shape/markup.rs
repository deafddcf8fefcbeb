//! HTML pages: title, headings, how many of each element, and the words without the markup.

use std::io;

use super::outline::Outline;
use super::room::Room;
use crate::profile::tally::Tally;
use crate::text::Text;
use crate::visible;

/// What is known of a page.
#[derive(Debug, Default)]
pub(crate) struct Page {
    title: String,
    headings: Outline,
    elements: Tally,
    links: u64,
    /// The beginning and the end of the words.
    head: String,
    tail: String,
    characters: u64,
}

/// Characters of text kept from the beginning and from the end.
const KEPT: usize = 6000;

/// Where in the markup the reader is.
enum State {
    Words,
    Tag,
    Comment,
    /// Inside an element whose content is not text for a reader, until it is closed.
    Hidden(&'static str),
}

/// Reads a page byte by byte.
struct Reader {
    page: Page,
    state: State,
    tag: Vec<u8>,
    words: Vec<u8>,
    heading: Option<(u8, String)>,
    in_title: bool,
    room: usize,
}

impl Page {
    pub(crate) fn read(text: &Text<'_>) -> io::Result<Self> {
        let mut reader = Reader {
            page: Self::default(),
            state: State::Words,
            tag: Vec::new(),
            words: Vec::new(),
            heading: None,
            in_title: false,
            room: 5000,
        };
        let mut feed = text.feed();
        let mut block = Vec::new();
        while feed.fill(&mut block)? {
            block.iter().for_each(|&byte| reader.byte(byte));
            block.clear();
        }
        reader.flush();
        Ok(reader.page)
    }

    /// Returns what the page is, in a few words.
    pub(crate) fn what(&self) -> String {
        match self.title.is_empty() {
            true => "an HTML page".into(),
            false => format!("an HTML page titled \"{}\"", visible::cut(&self.title, 80).replace('"', "'")),
        }
    }

    pub(crate) fn compose(&self, room: &mut Room<'_>, section: usize) {
        let all = room.left();
        if !self.title.is_empty() {
            room.push(section, format!("title: {}", visible::cut(&self.title, 200)));
        }
        room.push(
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
        room.within(all / 5, |room| super::log::push_list(room, section, "elements", &elements));
        room.within(all / 2, |room| self.headings.write_to(room, section + 1, "headings"));
        let left = room.left();
        room.within(left / 3, |room| write_words(room, section + 3, "end of the text", &self.tail, true));
        write_words(room, section + 2, "beginning of the text", &self.head, false);
    }
}

/// Pushes as many words as fit, from the beginning or from the end.
fn write_words(room: &mut Room<'_>, section: usize, title: &str, words: &str, from_end: bool) {
    let words: Vec<&str> = words.split_whitespace().collect();
    let mut count = words.len();
    while count > 3 {
        let part = if from_end { words[words.len() - count..].join(" ") } else { words[..count].join(" ") };
        let mark = if from_end { ("… ", "") } else { ("", " …") };
        if room.push(section, format!("{title}: {}{}{}", mark.0, visible::text(&part), mark.1)) {
            return;
        }
        count = count * 4 / 5;
    }
}

impl Reader {
    fn byte(&mut self, byte: u8) {
        match self.state {
            State::Words => match byte {
                b'<' => {
                    self.state = State::Tag;
                    self.tag.clear();
                }
                _ => self.words.push(byte),
            },
            State::Tag => match byte {
                b'>' => self.end_tag(),
                _ => {
                    if self.tag.len() < 4096 {
                        self.tag.push(byte);
                    }
                    if self.tag == b"!--" {
                        self.state = State::Comment;
                        self.tag.clear();
                    }
                }
            },
            State::Comment => {
                self.tag.push(byte);
                if self.tag.ends_with(b"-->") {
                    self.state = State::Words;
                }
                if self.tag.len() > 64 {
                    self.tag.drain(..32);
                }
            }
            State::Hidden(name) => {
                self.tag.push(byte.to_ascii_lowercase());
                if byte == b'>' && self.tag.ends_with(format!("</{name}>").as_bytes()) {
                    self.state = State::Words;
                }
                if self.tag.len() > 64 {
                    self.tag.drain(..32);
                }
            }
        }
    }

    fn end_tag(&mut self) {
        self.flush();
        self.state = State::Words;
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
        self.page.elements.add(name.as_bytes(), false, 0, &mut self.room);
        if name == "a" && tag.to_lowercase().contains("href") {
            self.page.links += 1;
        }
        if let Some(hidden) =
            ["script", "style", "svg", "template"].into_iter().find(|hidden| *hidden == name)
            && !tag.ends_with('/')
        {
            self.state = State::Hidden(hidden);
            self.tag.clear();
        }
    }

    /// Takes in the words since the last tag.
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
        if page.head.len() < KEPT {
            page.head.push_str(&text);
            page.head.push(' ');
        }
        page.tail.push_str(&text);
        page.tail.push(' ');
        if page.tail.len() > 3 * KEPT {
            let cut = page.tail.len() - KEPT;
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
