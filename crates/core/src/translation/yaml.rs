//! YAML as tools write it: mappings, sequences, several documents, block and quoted scalars, flow collections, anchors.
//!
//! A text that is not certainly YAML is not translated: anything this reader does not know (complex keys, tabs as
//! indentation, directives other than the version) makes it a text, as does a text of which the main part is not
//! `key: value`. Scalars have the types of the JSON schema of YAML 1.2, and numbers stay as written; what JSON cannot
//! write as a number is a string. The translation is written while the text is read; open collections are a list, not calls,
//! so that reading can go on with the next window.

mod documents;
mod flow;
mod lines;
mod recognise;
mod scalar;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;

use documents::Documents;
use lines::{Line, Lines};
pub(super) use recognise::recognise;

use super::window::{Window, scan};
use super::{Begun, JsonWriter, MAX_DEPTH, MAX_JSON_BYTES, Step};
use crate::json::string;
use crate::marks::find_pair;
use crate::pattern::OtherLines;
use crate::text::Text;
use crate::trim::{trim_end, trim_start};

/// Returns where a mark of two ASCII characters is in a text.
fn find_mark(text: &str, mark: [u8; 2]) -> Option<usize> {
    find_pair(text.as_bytes(), mark)
}

/// Splits a line into its key, as written, and its value.
fn split_key(text: &str) -> Option<(&str, &str)> {
    let end = match text.chars().next()? {
        '\t' => return None,
        quote @ ('"' | '\'') => {
            let close = scalar::quoted_end(text, quote)?;
            let after = text[close..].trim_start();
            after.starts_with(':').then(|| text.len() - after.len())?
        }
        _ => {
            let plain = find_mark(text, *b": ").or_else(|| text.strip_suffix(':').map(str::len))?;
            find_mark(text, *b" #").is_none_or(|comment| plain < comment).then_some(plain)?
        }
    };
    let (key, value) = (trim_end(&text[..end]), &text[end + 1..]);
    (value.is_empty() || value.starts_with(' ')).then(|| (key, trim_start(value)))
}

pub(super) fn begin(text: &Text<'_>, start: u64) -> io::Result<Option<Begun>> {
    let mut documents = Documents::default();
    scan(text, start, |window| {
        let lines = window.lines();
        documents.add(lines);
        Some(lines.len())
    })?;
    let writer = YamlWriter {
        are_several: documents.count > 1,
        has_anchors: documents.has_anchors,
        count: 0,
        is_in_document: false,
        is_begun: false,
        open: Vec::new(),
    };
    Ok((documents.count > 0).then(|| (Box::new(writer) as Box<_>, OtherLines::default())))
}

/// Returns whether a line says nothing: it is blank or a comment.
fn is_skipped(text: &str) -> bool {
    text.is_empty() || text.starts_with('#')
}

/// Writes documents as JSON, window by window.
#[derive(Clone)]
struct YamlWriter {
    are_several: bool,
    /// Whether values are referred to elsewhere, so that all of the text must be at hand.
    has_anchors: bool,
    /// How many documents were begun.
    count: usize,
    is_in_document: bool,
    is_begun: bool,
    open: Vec<Level>,
}

impl JsonWriter for YamlWriter {
    fn write(&mut self, window: &Window<'_>, json: &mut String) -> Option<Step> {
        let text = window.lines();
        if (text.is_empty() || self.has_anchors) && !window.is_end {
            return Some(Step::NeedsMore);
        }
        if !std::mem::replace(&mut self.is_begun, true) && self.are_several {
            json.push('[');
        }
        let mut start = 0;
        while start < text.len() {
            let lines = Lines::of_document(text, start, window.is_end)?;
            let mut reader = DocumentReader {
                lines,
                at: 0,
                out: std::mem::take(json),
                anchors: BTreeMap::new(),
                open: std::mem::take(&mut self.open),
                has_anchors: self.has_anchors,
            };
            let read = self.read_document(&mut reader);
            if reader.lines.are_too_few() {
                return Some(Step::NeedsMore);
            }
            read?;
            (self.open, *json) = (reader.open, reader.out);
            match reader.lines.next_document(reader.at) {
                Some(next) => (start, self.is_in_document) = (next, false),
                None => {
                    start = reader.lines.offset(reader.at);
                    break;
                }
            }
        }
        if !window.is_end {
            return Some(if start > 0 { Step::Used(start) } else { Step::NeedsMore });
        }
        json.push_str(if self.are_several { "]" } else { "" });
        Some(Step::End)
    }
}

impl YamlWriter {
    /// Reads the lines that there are of a document.
    fn read_document(&mut self, reader: &mut DocumentReader<'_>) -> Option<()> {
        if !self.is_in_document {
            if reader.skip_blank_at_hand().is_none() {
                return Some(());
            }
            self.is_in_document = true;
            reader.out.push_str(if self.count > 0 { "," } else { "" });
            self.count += 1;
            let before = reader.out.len();
            reader.node(0, 0)?;
            // A document is a mapping or a sequence, unless it is one of several.
            (self.are_several || reader.out[before..].starts_with(['[', '{'])).then_some(())?;
        }
        while !reader.open.is_empty() && reader.is_certain() {
            reader.go_on()?;
        }
        // All of the document must have been read.
        (!reader.open.is_empty() || reader.skip_blank_at_hand().is_none()).then_some(())
    }
}

/// A collection that is open, or what is written after a value.
#[derive(Clone)]
enum Level {
    Sequence {
        indentation: usize,
        depth: usize,
        is_first: bool,
    },
    Mapping {
        indentation: usize,
        depth: usize,
        is_first: bool,
        /// Only where there are anchors.
        merge: Option<Box<Merge>>,
    },
    /// After a value with a tag, which is the value of a member.
    Tag,
    /// After a value with an anchor, which begins at an offset of the output.
    Anchor(String, usize),
}

/// What a mapping takes over from others.
#[derive(Clone, Default)]
struct Merge {
    /// Where the mappings are whose members are added.
    ranges: Vec<Range<usize>>,
    /// The keys that are known by then.
    keys: Vec<String>,
}

/// Reads lines of one document and writes them as JSON. Every method returns `None` if the text is not YAML that it knows.
struct DocumentReader<'y> {
    lines: Lines<'y>,
    at: usize,
    out: String,
    /// Where the values with anchors are in the output.
    anchors: BTreeMap<String, Range<usize>>,
    open: Vec<Level>,
    has_anchors: bool,
}

impl<'y> DocumentReader<'y> {
    /// Returns whether enough lines are at hand for the next entry, unless it is a long one.
    fn is_certain(&self) -> bool {
        self.lines.are_enough(self.at)
    }

    /// Reads the next entry of the innermost open collection, or ends it.
    fn go_on(&mut self) -> Option<()> {
        match self.open.last()? {
            Level::Sequence { .. } => self.sequence_entry(),
            Level::Mapping { .. } => self.mapping_entry(),
            Level::Tag => {
                self.out.push('}');
                self.open.pop().map(drop)
            }
            Level::Anchor(..) => {
                if let Some(Level::Anchor(name, start)) = self.open.pop() {
                    self.anchors.insert(name, start..self.out.len());
                }
                Some(())
            }
        }
    }

    /// Skips blank lines and comments at hand, and returns the next line.
    fn skip_blank_at_hand(&mut self) -> Option<Line<'y>> {
        while self.at < self.lines.count() && is_skipped(self.lines.get(self.at)?.text) {
            self.at += 1;
        }
        (self.at < self.lines.count()).then(|| self.lines.get(self.at)).flatten()
    }

    /// Skips blank lines and comments, and returns the next line.
    fn skip_blank(&mut self) -> Option<Line<'y>> {
        loop {
            let line = self.lines.get(self.at)?;
            if !is_skipped(line.text) {
                return Some(line);
            }
            self.at += 1;
        }
    }

    /// Reads a node that begins on a line of its own, indented by at least `least`; nothing there is null.
    fn node(&mut self, least: usize, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH || self.out.len() > MAX_JSON_BYTES {
            return None;
        }
        let Some(line) = self.skip_blank().filter(|line| line.indentation >= least) else {
            self.out.push_str("null");
            return Some(());
        };
        if line.text.starts_with('\t') {
            return None;
        }
        let indentation = line.indentation;
        if line.text == "-" || line.text.starts_with("- ") {
            self.out.push('[');
            self.open.push(Level::Sequence { indentation, depth, is_first: true });
            Some(())
        } else if split_key(line.text).is_some() && !line.text.starts_with(['[', '{']) {
            self.out.push('{');
            let merge = self.has_anchors.then(Box::default);
            self.open.push(Level::Mapping { indentation, depth, is_first: true, merge });
            Some(())
        } else {
            // The value has no key, so its further lines may be indented like its first.
            self.at += 1;
            self.value(line.text, least, depth)
        }
    }

    fn sequence_entry(&mut self) -> Option<()> {
        let line = self.skip_blank();
        let Some(Level::Sequence { indentation, depth, is_first }) = self.open.last_mut() else {
            return None;
        };
        let (indentation, depth) = (*indentation, *depth);
        let entry = line.filter(|line| line.indentation == indentation).and_then(|line| {
            line.text.strip_prefix('-').filter(|rest| rest.is_empty() || rest.starts_with(' '))
        });
        let Some(rest) = entry else {
            self.out.push(']');
            self.open.pop();
            // A line that is indented more belongs to nothing.
            return line.is_none_or(|line| line.indentation <= indentation).then_some(());
        };
        if !std::mem::take(is_first) {
            self.out.push(',');
        }
        self.entry(rest, indentation, indentation + 1, depth)
    }

    /// Reads what follows a `-` or a key with its anchor or tag: on the same line, or on the next ones, which are
    /// indented by at least `least`.
    fn entry(&mut self, rest: &'y str, indentation: usize, least: usize, depth: usize) -> Option<()> {
        let text = trim_start(rest);
        if text.is_empty() || text.starts_with('#') {
            self.at += 1;
            return self.node(least, depth + 1);
        }
        let is_node = text == "-" || text.starts_with("- ") || split_key(text).is_some();
        if is_node && !text.starts_with(['[', '{', '&', '!', '|', '>', '*']) {
            // `- key: value` is a mapping that is indented up to its key.
            let line = self.lines.get(self.at)?;
            let column = line.indentation + line.text.len() - text.len();
            self.lines.replace(self.at, Line { indentation: column, text, raw: text });
            return self.node(column, depth + 1);
        }
        self.at += 1;
        self.value(text, indentation + 1, depth + 1)
    }

    fn mapping_entry(&mut self) -> Option<()> {
        let line = self.skip_blank();
        let Some(Level::Mapping { indentation, depth, is_first, merge }) = self.open.last_mut() else {
            return None;
        };
        let (indentation, depth) = (*indentation, *depth);
        let entry = line.filter(|line| line.indentation == indentation).and_then(|line| split_key(line.text));
        let Some((key, value)) = entry else {
            if let Some(Merge { ranges, mut keys }) = merge.take().map(|merge| *merge) {
                for range in ranges {
                    self.merge(range, &mut keys)?;
                }
            }
            self.out.push('}');
            self.open.pop();
            return line.is_none_or(|line| line.indentation < indentation).then_some(());
        };
        if key == "<<" && value.starts_with('*') {
            // Without anchors nothing can be referred to.
            merge.as_mut()?.ranges.push(self.anchors.get(value[1..].trim())?.clone());
            self.at += 1;
            return Some(());
        }
        let key = scalar::key(key)?;
        if !std::mem::take(is_first) {
            self.out.push(',');
        }
        string::write(&key, &mut self.out);
        if let Some(merge) = merge {
            merge.keys.push(key.into_owned());
        }
        self.out.push(':');
        self.member(value, indentation, depth)
    }

    /// Reads the value of a member, which may be a sequence that is indented like its key.
    fn member(&mut self, value: &'y str, indentation: usize, depth: usize) -> Option<()> {
        if !(value.is_empty() || value.starts_with('#')) {
            self.at += 1;
            return self.value(value, indentation + 1, depth + 1);
        }
        self.at += 1;
        let next = self.skip_blank();
        let is_sequence = next.is_some_and(|line| {
            line.indentation == indentation && (line.text == "-" || line.text.starts_with("- "))
        });
        self.node(if is_sequence { indentation } else { indentation + 1 }, depth + 1)
    }

    /// Reads a value whose first line is `text`, which has been passed, and whose further lines are indented by at least
    /// `least`.
    fn value(&mut self, text: &'y str, least: usize, depth: usize) -> Option<()> {
        match text.as_bytes()[0] {
            b'&' => {
                let (anchor, rest) = text[1..].split_once(' ').unwrap_or((&text[1..], ""));
                self.open.push(Level::Anchor(anchor.to_owned(), self.out.len()));
                self.after_property(rest.trim_start(), least, depth)
            }
            b'!' => self.tagged(text, least, depth),
            b'*' => {
                let value = self.anchors.get(scalar::without_comment(text)[1..].trim())?.clone();
                self.out.extend_from_within(value);
                (self.out.len() <= MAX_JSON_BYTES).then_some(())
            }
            b'|' | b'>' => self.block_scalar(text, least),
            b'[' | b'{' | b'"' | b'\'' => self.flow(text, least),
            b'%' | b'@' | b'`' | b',' | b']' | b'}' => None,
            b'?' if text == "?" || text.starts_with("? ") => None,
            _ => self.plain(text, least),
        }
    }

    /// Reads the value after an anchor or a tag.
    fn after_property(&mut self, rest: &'y str, least: usize, depth: usize) -> Option<()> {
        match rest.is_empty() || rest.starts_with('#') {
            true => self.node(least, depth + 1),
            false => self.value(rest, least, depth),
        }
    }

    /// Reads a value with a tag: one of the language says its type, any other becomes the key of the value.
    fn tagged(&mut self, text: &'y str, least: usize, depth: usize) -> Option<()> {
        let (tag, rest) = text.split_once(' ').unwrap_or((text, ""));
        let rest = rest.trim_start();
        if tag == "!!str" {
            let value = scalar::without_comment(rest);
            (!value.starts_with(['&', '*', '|', '>', '"', '\''])).then_some(())?;
            string::write(value, &mut self.out);
            return Some(());
        }
        if tag.starts_with("!!") {
            return self.after_property(rest, least, depth);
        }
        self.out.push('{');
        string::write(tag, &mut self.out);
        self.out.push(':');
        self.open.push(Level::Tag);
        self.after_property(rest, least, depth)
    }

    /// Writes the members of a mapping that was read before, except for keys that are known.
    fn merge(&mut self, range: Range<usize>, keys: &mut Vec<String>) -> Option<()> {
        let merged = self.out[range].to_owned();
        for (key, value) in flow::members(&merged)? {
            let name = string::decode_text(&key.as_bytes()[1..key.len() - 1]);
            if keys.contains(&name) {
                continue;
            }
            keys.push(name);
            self.separate();
            self.out.push_str(key);
            self.out.push(':');
            self.out.push_str(value);
        }
        Some(())
    }

    fn separate(&mut self) {
        if !self.out.ends_with('{') {
            self.out.push(',');
        }
    }
}
