//! Long strings inside JSON, which are texts of their own: a diff, a log, a page, or more JSON.
//!
//! Tools often wrap what they have to say: `{"diff": "..."}`, `{"files": [{"path": ..., "content": ...}]}`. Such a
//! string is recognised, shaped and searched like a text, and its path addresses it. Where one string is most of the
//! data, it is the result in all but name: see [`main`].

use std::collections::BTreeSet;
use std::io;

use crate::data::Data;
use crate::hash;
use crate::json::value::read_text;
use crate::json::{Event, ScanError, Scanner, StringToken, string};
use crate::records::Notation;
use crate::source::Span;
use crate::surroundings::Surroundings;

/// The minimum number of bytes of a string that counts as a text.
const MIN_TEXT_BYTES: u64 = 1024;
/// The minimum share of the data, in percent, of all long strings together.
const MIN_SHARE_PERCENT: u64 = 25;
/// The share of the data, in percent, from which on one string is the result.
const MAIN_SHARE_PERCENT: u64 = 75;
/// The same for a string in one of several records, which is the result only if the others hardly count.
const MAIN_RECORD_SHARE_PERCENT: u64 = 92;
/// The number of strings that are kept, the longest ones.
const MAX_TEXTS: usize = 8;
/// The maximum number of bytes of a value that can name a text.
const MAX_NAME_BYTES: usize = 120;
/// The maximum number of bytes of a path that addresses a text.
const MAX_PATH_BYTES: usize = 900;
/// How much of a string is examined to tell a text from encoded data.
const EXAMINED_BYTES: usize = 512;

/// A long string inside JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InnerText {
    /// Its path, as a JSON Pointer.
    pub(crate) path: String,
    /// A short value beside it, which is likely to name it: a file's path, a title.
    pub(crate) name: Option<String>,
    /// The inside of the string, in the decoded text that holds it.
    pub(crate) inside: Span,
    /// Whether it is in a list of several elements.
    in_list: bool,
    /// The object that holds it.
    holder: u64,
}

/// Returns the string that is most of the data.
pub(crate) fn main(data: &Data<'_>) -> io::Result<Option<InnerText>> {
    Ok(main_of(data, &find(data)?)?.cloned())
}

/// Returns the one of the strings that were found in the data that is most of it; `None` if there is text around the
/// data, which the string cannot stand for.
pub(crate) fn main_of<'f>(data: &Data<'_>, found: &'f [InnerText]) -> io::Result<Option<&'f InnerText>> {
    let bytes = data.range.end - data.range.start;
    let Some(longest) = found.first().filter(|text| {
        let needed = if text.in_list { MAIN_RECORD_SHARE_PERCENT } else { MAIN_SHARE_PERCENT };
        text.inside.len() * 100 >= bytes * needed
    }) else {
        return Ok(None);
    };
    let around = Surroundings::of(&data.text, data.range.clone())?;
    Ok((around.before.is_none() && around.after.is_none()).then_some(longest))
}

/// Finds the longest strings that are texts, longest first; none if they are a small part of the data.
pub(crate) fn find(data: &Data<'_>) -> io::Result<Vec<InnerText>> {
    let (dialect, is_lines) = match data.notation {
        Notation::Json(dialect) => (dialect, false),
        Notation::JsonLines(dialect) => (dialect, true),
        _ => return Ok(Vec::new()),
    };
    if !may_have_texts(data) {
        return Ok(Vec::new());
    }
    let mut walk = Walk::default();
    let mut scanner = Scanner::at(&data.text, data.range.start, dialect)?;
    match walk.run(&mut scanner, is_lines) {
        Ok(()) | Err(ScanError::Syntax { .. }) => {}
        Err(ScanError::Source(error)) => return Err(error),
    }
    while !walk.levels.is_empty() {
        walk.close();
    }
    walk.texts.sort_by_key(|text| (std::cmp::Reverse(text.inside.len()), text.inside.start));
    Ok(walk.texts)
}

/// Returns whether long strings are a large part of the data, as its profile tells without another pass.
fn may_have_texts(data: &Data<'_>) -> bool {
    let is_long = |max: u64| max >= MIN_TEXT_BYTES;
    let long = data.profile.nodes().filter_map(|(_, node)| {
        let lengths = node.lengths.as_ref().filter(|lengths| is_long(lengths.max))?;
        Some(lengths.total)
    });
    long.sum::<u64>() * 100 >= (data.range.end - data.range.start) * MIN_SHARE_PERCENT
}

/// An open container.
#[derive(Default)]
struct Level {
    is_object: bool,
    /// How many elements were seen.
    count: u64,
    /// The step into the value that comes next; `None` if no path leads there.
    step: Option<String>,
    /// Hashes of the keys seen: only the first of equal keys can be reached by a path.
    keys: BTreeSet<u64>,
    /// The first short string in it.
    name: Option<String>,
    /// Identifies the container.
    id: u64,
}

/// A walk over JSON that notes its long strings.
#[derive(Default)]
struct Walk {
    levels: Vec<Level>,
    opened: u64,
    texts: Vec<InnerText>,
}

impl Walk {
    fn run(&mut self, scanner: &mut Scanner<'_>, is_lines: bool) -> Result<(), ScanError> {
        if is_lines {
            self.open(false);
        }
        loop {
            let (at, event) = scanner.next_at()?;
            match event {
                Event::StartObject => self.open(true),
                Event::StartArray => self.open(false),
                Event::EndObject | Event::EndArray => self.close(),
                Event::Key(token) => self.key(&token),
                Event::String(token) => self.string(at, &token),
                Event::Number(_) | Event::Bool(_) | Event::Null => self.begin_value(),
                Event::End => {
                    if !is_lines || !scanner.begin_next()? {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Counts the element that begins, where the innermost container is a list.
    fn begin_value(&mut self) {
        if let Some(level) = self.levels.last_mut().filter(|level| !level.is_object) {
            level.step = Some(level.count.to_string());
            level.count += 1;
        }
    }

    fn open(&mut self, is_object: bool) {
        self.begin_value();
        self.opened += 1;
        self.levels.push(Level { is_object, id: self.opened, ..Level::default() });
    }

    fn close(&mut self) {
        let Some(level) = self.levels.pop() else { return };
        for text in self.texts.iter_mut().filter(|text| text.holder == level.id) {
            text.name = level.name.clone();
        }
        if !level.is_object && level.count > 1 {
            // Containers are numbered in the order in which they open, so these are in this one.
            self.texts.iter_mut().filter(|text| text.holder >= level.id).for_each(|text| text.in_list = true);
        }
    }

    fn key(&mut self, token: &StringToken<'_>) {
        let is_first = self.levels.len() == 1;
        let Some(level) = self.levels.last_mut() else { return };
        let key = read_text(token, MAX_PATH_BYTES);
        let is_new = level.keys.insert(hash::bytes(key.text.as_bytes()));
        // A path that begins with an empty key would begin at the whole result.
        let is_named = is_new && key.left_out == 0 && !(key.text.is_empty() && is_first);
        level.step = is_named.then(|| key.text.replace('~', "~0").replace('/', "~1"));
    }

    fn string(&mut self, at: u64, token: &StringToken<'_>) {
        self.begin_value();
        let holder = self.levels.last().map_or(0, |level| level.id);
        if token.length < MIN_TEXT_BYTES {
            if let Some(level) =
                self.levels.last_mut().filter(|level| level.is_object && level.name.is_none())
                && (1..=MAX_NAME_BYTES as u64).contains(&token.length)
            {
                level.name = Some(string::decode_text(token.raw));
            }
            return;
        }
        let shortest = self.texts.iter().map(|text| text.inside.len()).min().unwrap_or(0);
        if self.texts.len() == MAX_TEXTS && token.length <= shortest {
            return;
        }
        let head = &token.raw[..token.raw.len().min(EXAMINED_BYTES)];
        let Some(path) = self.path_of(self.levels.len()).filter(|_| is_text(head)) else { return };
        if self.texts.len() == MAX_TEXTS {
            let at = self.texts.iter().position(|text| text.inside.len() == shortest);
            at.map(|at| self.texts.remove(at));
        }
        let inside = Span { start: at + 1, end: at + 1 + token.length };
        self.texts.push(InnerText { path, name: None, inside, in_list: false, holder });
    }

    /// Returns the pointer made of the steps of the outermost `depth` containers; `None` if no path leads there.
    fn path_of(&self, depth: usize) -> Option<String> {
        let mut path = String::new();
        for level in &self.levels[..depth] {
            path.push('/');
            path.push_str(level.step.as_ref()?);
        }
        Some(if path.is_empty() { "/".to_owned() } else { path }).filter(|path| path.len() <= MAX_PATH_BYTES)
    }
}

/// Returns whether a string begins like a text or like JSON, rather than like base64 or another code.
fn is_text(head: &[u8]) -> bool {
    let decoded = string::decode_text(head);
    decoded.trim_start().starts_with(['{', '[']) || decoded.chars().skip(1).any(char::is_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Dialect;
    use crate::text::Text;

    fn found(json: &str) -> Vec<(String, Option<String>, u64)> {
        let source = json.as_bytes();
        let text = Text::plain(&source, Span::whole(&source));
        let data = Data::json(&text, 0, Dialect::Json).unwrap().unwrap();
        find(&data).unwrap().into_iter().map(|text| (text.path, text.name, text.inside.len())).collect()
    }

    fn main_path(json: &str) -> Option<String> {
        let source = json.as_bytes();
        let text = Text::plain(&source, Span::whole(&source));
        let data = Data::json(&text, 0, Dialect::Json).unwrap().unwrap();
        main(&data).unwrap().map(|text| text.path)
    }

    #[test]
    fn long_strings_with_their_paths_and_names() {
        let (long, longer) = ("one two\\n".repeat(300), "three four\\n".repeat(300));
        let json = format!(
            r#"{{"files":[{{"path":"a.rs","content":"{long}"}},{{"content":"{longer}","name":"b/c"}}],"a/b":"{long}"}}"#
        );
        assert_eq!(
            found(&json),
            [
                ("/files/1/content".to_owned(), Some("b/c".to_owned()), 3600),
                ("/files/0/content".to_owned(), Some("a.rs".to_owned()), 2700),
                ("/a~1b".to_owned(), None, 2700),
            ]
        );
        assert_eq!(main_path(&json), None);
    }

    #[test]
    fn a_string_that_is_most_of_the_data_is_the_main_text() {
        let long = "one two\\n".repeat(300);
        assert_eq!(main_path(&format!(r#"{{"ok":true,"diff":"{long}"}}"#)).as_deref(), Some("/diff"));
        assert_eq!(main_path(&format!(r#"[{{"text":"{long}"}}]"#)).as_deref(), Some("/0/text"));
        // One of several records is the result only if it is nearly all of it.
        let record = format!(r#"{{"text":"{long}"}}"#);
        let other = format!(r#"{{"text":"{}"}}"#, "x ".repeat(300));
        assert_eq!(main_path(&format!("[{record},{other}]")), None);
    }

    #[test]
    fn encoded_data_and_strings_without_a_path_are_not_texts() {
        let long = "one two\\n".repeat(300);
        assert!(found(&format!(r#"{{"data":"{}"}}"#, "QUJD".repeat(900))).is_empty());
        assert!(found(&format!(r#"{{"":"{long}"}}"#)).is_empty());
        assert_eq!(found(&format!(r#"{{"a":"x","a":"{long}"}}"#)), []);
        assert!(found(r#"{"a":"short"}"#).is_empty());
    }
}
