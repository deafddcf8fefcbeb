//! YAML as tools write it: mappings, sequences, several documents, block and quoted scalars, flow collections, anchors.
//!
//! A text that is not certainly YAML is not translated: anything this reader does not know (complex keys, tabs as
//! indentation, directives other than the version) makes it a text, as does a text of which the main part is not
//! `key: value`. Scalars have the types of the JSON schema of YAML 1.2, and numbers stay as written; what JSON cannot
//! write as a number is a string. The translation is written while the text is read; open collections are a list, not calls,
//! so that reading can go on with the next window.

mod flow;
mod lines;
mod scalar;

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;

use lines::{DocumentLine, Line, Lines};

use super::window::{Window, scan};
use super::{Begun, JsonWriter, MAX_DEPTH, MAX_JSON_BYTES, Step};
use crate::json::string;
use crate::pattern::OtherLines;
use crate::sample::Sample;
use crate::text::Text;

pub(super) fn recognise(sample: &Sample<'_>) -> bool {
    let mut keys = Keys::default();
    for line in &sample.lines {
        keys.add(line);
    }
    keys.are_yaml()
}

/// What the lines of a sample look like.
#[derive(Default)]
struct Keys<'y> {
    lines: usize,
    /// Lines of `key: value` or `- key: value`.
    keyed: usize,
    /// Of these, keys that are words without spaces.
    plain: usize,
    /// Lines that are indented or begin a sequence.
    nested: usize,
    /// Whether a key at the left margin occurs twice in one document.
    repeated: bool,
    top: Vec<&'y str>,
    /// The indentation of the key of a block scalar, whose lines do not count.
    block: Option<usize>,
}

impl<'y> Keys<'y> {
    fn add(&mut self, line: &'y str) {
        let indentation = line.len() - line.trim_start().len();
        if self.block.is_some_and(|block| indentation > block) || line.trim_start().starts_with('#') {
            return;
        }
        self.block = None;
        if line.starts_with("---") || line.starts_with("...") {
            self.top.clear();
            return;
        }
        self.lines += 1;
        let text = line.trim().trim_start_matches("- ");
        self.nested += usize::from(indentation > 0 || text.len() < line.trim().len());
        let Some((key, value)) = split_key(text) else { return };
        self.keyed += 1;
        self.plain += usize::from(!key.contains(' '));
        if indentation == 0 && text.len() == line.trim_end().len() {
            self.repeated |= self.top.contains(&key);
            self.top.push(key);
        }
        if value.starts_with(['|', '>']) {
            self.block = Some(indentation);
        }
    }

    fn are_yaml(&self) -> bool {
        !self.repeated
            && self.keyed >= 4
            && self.nested * 4 >= self.lines
            && self.keyed * 10 >= self.lines * 4
            && self.plain * 10 >= self.keyed * 8
    }
}

/// Returns where a mark of two ASCII characters is in a text. Lines are short, so that preparing a search would cost more.
fn find_mark(text: &str, [first, second]: [u8; 2]) -> Option<usize> {
    let bytes = text.as_bytes();
    memchr::memchr_iter(first, bytes).find(|at| bytes.get(at + 1) == Some(&second))
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
    let (key, value) = (text[..end].trim_end(), &text[end + 1..]);
    (value.is_empty() || value.starts_with(' ')).then(|| (key, value.trim_start()))
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
            let mut reader = Reader {
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
    fn read_document(&mut self, reader: &mut Reader<'_>) -> Option<()> {
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

/// The documents of a text.
#[derive(Default)]
struct Documents {
    /// How many of them are not blank.
    count: usize,
    has_anchors: bool,
    is_in_document: bool,
}

impl Documents {
    /// Adds complete lines.
    fn add(&mut self, lines: &str) {
        let mut rest = lines;
        while !rest.is_empty() {
            let end = memchr::memchr(b'\n', rest.as_bytes()).map_or(rest.len(), |at| at + 1);
            self.add_line(rest[..end].trim_end());
            rest = &rest[end..];
            if self.is_in_document {
                // Only the line that begins the next document matters.
                rest = &rest[next_document(rest)..];
            }
        }
        self.has_anchors |= memchr::memchr2_iter(b'&', b'*', lines.as_bytes()).any(|at| {
            let line = memchr::memrchr(b'\n', &lines.as_bytes()[..at]).map_or(0, |end| end + 1);
            let before = lines[line..at].trim_end();
            before.is_empty() || before.ends_with([':', '-', '[', ',', '{']) || before.contains('!')
        });
    }

    fn add_line(&mut self, line: &str) {
        let text = match DocumentLine::of(line) {
            DocumentLine::Content => line.trim_start_matches(' '),
            DocumentLine::Begins(rest) => {
                self.is_in_document = false;
                rest
            }
        };
        if !self.is_in_document && !is_skipped(text) {
            (self.count, self.is_in_document) = (self.count + 1, true);
        }
    }
}

/// Returns the offset of the first line that may begin a document; the end if there is none.
fn next_document(lines: &str) -> usize {
    let may_begin = |line: &[u8]| [&b"---"[..], b"...", b"%YAML"].iter().any(|mark| line.starts_with(mark));
    let bytes = lines.as_bytes();
    if may_begin(bytes) {
        return 0;
    }
    let mut ends = memchr::memchr_iter(b'\n', bytes).map(|end| end + 1);
    ends.find(|start| may_begin(&bytes[*start..])).unwrap_or(bytes.len())
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
        /// The mappings whose members are added, and the keys that are known by then; only where there are anchors.
        merged: Vec<Range<usize>>,
        keys: Vec<String>,
    },
    /// After a value with a tag, which is the value of a member.
    Tag,
    /// After a value with an anchor, which begins at an offset of the output.
    Anchor(String, usize),
}

/// Reads lines of one document and writes them as JSON. Every method returns `None` if the text is not YAML that it knows.
struct Reader<'y> {
    lines: Lines<'y>,
    at: usize,
    out: String,
    /// Where the values with anchors are in the output.
    anchors: BTreeMap<String, Range<usize>>,
    open: Vec<Level>,
    has_anchors: bool,
}

impl<'y> Reader<'y> {
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
            let (merged, keys) = (Vec::new(), Vec::new());
            self.open.push(Level::Mapping { indentation, depth, is_first: true, merged, keys });
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
        let text = rest.trim_start();
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
        let Some(Level::Mapping { indentation, depth, is_first, merged, keys }) = self.open.last_mut() else {
            return None;
        };
        let (indentation, depth) = (*indentation, *depth);
        let entry = line.filter(|line| line.indentation == indentation).and_then(|line| split_key(line.text));
        let Some((key, value)) = entry else {
            let (merged, mut keys) = (std::mem::take(merged), std::mem::take(keys));
            for range in merged {
                self.merge(range, &mut keys)?;
            }
            self.out.push('}');
            self.open.pop();
            return line.is_none_or(|line| line.indentation < indentation).then_some(());
        };
        if key == "<<" && value.starts_with('*') {
            merged.push(self.anchors.get(value[1..].trim())?.clone());
            self.at += 1;
            return Some(());
        }
        let key = scalar::key(key)?;
        if !std::mem::take(is_first) {
            self.out.push(',');
        }
        string::write(&key, &mut self.out);
        if self.has_anchors {
            keys.push(key);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::translation::{Translation, tests};

    fn translate(text: &str) -> Option<String> {
        tests::translate(Translation::Yaml, text).map(|(json, _)| json)
    }

    #[test]
    fn mappings_and_sequences() {
        for (yaml, json) in [
            (
                "a: 1\nb:\n  c: x\n  d:\n  - 1\n  - two\ne:\n- f: 1\n  g: 2\n- f: 3\n",
                r#"{"a":1,"b":{"c":"x","d":[1,"two"]},"e":[{"f":1,"g":2},{"f":3}]}"#,
            ),
            (
                "- a: 1\n  b:\n    c: 2\n-\n  a: 3\n- - x\n  - y\n- z\n",
                r#"[{"a":1,"b":{"c":2}},{"a":3},["x","y"],"z"]"#,
            ),
            ("---\na: 1\n---\na: 2\n...\n", r#"[{"a":1},{"a":2}]"#),
            ("# c\na: b # not\nc: d#e\nf: \"#g\" # h\n", r##"{"a":"b","c":"d#e","f":"#g"}"##),
            (
                "a:\nb: ~\nc: null\nd: true\ne: False\nf: yes\n",
                r#"{"a":null,"b":null,"c":null,"d":true,"e":false,"f":"yes"}"#,
            ),
            (
                "a: 1.50\nb: 0755\nc: 1e3\nd: 0x1F\ne: 1.2.3\nf: 2024-01-02\ng: -7\nh: '7'\ni: 12:30\n",
                r#"{"a":1.50,"b":"0755","c":1e3,"d":"0x1F","e":"1.2.3","f":"2024-01-02","g":-7,"h":"7","i":"12:30"}"#,
            ),
            (
                "on:\n  push:\n    branches: [main, 'rel/**']\nenv: {A: 1, \"B\": [x, {y: z}], C: }\n",
                r#"{"on":{"push":{"branches":["main","rel/**"]}},"env":{"A":1,"B":["x",{"y":"z"}],"C":null}}"#,
            ),
            ("a: [1,\n  2, # two\n  3]\nb: 4\n", r#"{"a":[1,2,3],"b":4}"#),
            (
                "\"a b\": 1\n'c: d': 2\n/x/{y}: 3\nhttp://a/b: 4\n",
                r#"{"a b":1,"c: d":2,"/x/{y}":3,"http://a/b":4}"#,
            ),
        ] {
            assert_eq!(translate(yaml).as_deref(), Some(json), "{yaml}");
        }
    }

    #[test]
    fn scalars_of_several_lines() {
        for (yaml, json) in [
            ("a: |\n  one\n    two\n\n  three\nb: 1\n", r#"{"a":"one\n  two\n\nthree\n","b":1}"#),
            (
                "a: |-\n  one\n  # two\nb: >\n  one\n  two\n\n  three\n",
                r##"{"a":"one\n# two","b":"one two\nthree\n"}"##,
            ),
            ("a: |+\n  one\n\nb: 1\n", r#"{"a":"one\n\n","b":1}"#),
            (
                "a: one\n  two\n  three # no\nb: \"x\n  y\\n\\\n  z\"\nc: 'it''s\n\n  so'\n",
                r#"{"a":"one two three","b":"x y\nz","c":"it's\nso"}"#,
            ),
            ("run: |\n  key: value\n  - x\nz: 1\n", r#"{"run":"key: value\n- x\n","z":1}"#),
            ("- run: |\n    a\n    b\n  if: x\n", r#"[{"run":"a\nb\n","if":"x"}]"#),
        ] {
            assert_eq!(translate(yaml).as_deref(), Some(json), "{yaml}");
        }
    }

    #[test]
    fn anchors_and_tags() {
        assert_eq!(
            translate("x: &base\n  a: 1\n  b: 2\ny:\n  <<: *base\n  b: 3\nz: *base\nw: &s text\nv: *s\n")
                .as_deref(),
            Some(r#"{"x":{"a":1,"b":2},"y":{"b":3,"a":1},"z":{"a":1,"b":2},"w":"text","v":"text"}"#)
        );
        assert_eq!(
            translate("a: !Ref name\nb: !!str 12\nc: !GetAtt\n  - x\n").as_deref(),
            Some(r#"{"a":{"!Ref":"name"},"b":"12","c":{"!GetAtt":["x"]}}"#)
        );
        let bomb: String =
            (1..40).map(|n| format!("a{n}: &a{n} [{}]\n", format!("*a{}, ", n - 1).repeat(9))).collect();
        assert_eq!(translate(&format!("a0: &a0 xxxxxxxx\n{bomb}")), None);
    }

    #[test]
    fn what_is_not_certain_stays_text() {
        for yaml in [
            "a: 1\n  b: 2\n",
            "a: b: c\n",
            "a: 1\n b: 2\n",
            "? a\n: b\n",
            "a:\n\tb: 1\n",
            "a: [1, 2\nb: 3\n",
            "a: \"x\nb: 1\n",
            "a: *unknown\n",
            "just a sentence\nand another\n",
            "a: 1\nnot a key\n",
            "a: @x\n",
        ] {
            assert_eq!(translate(yaml), None, "{yaml}");
        }
    }

    #[test]
    fn recognition() {
        let is_yaml = |text: &str| recognise(&Sample::of(text));
        assert!(is_yaml(
            "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\nspec:\n  containers:\n  - name: b\n"
        ));
        assert!(is_yaml(
            "name: CI\non: [push]\njobs:\n  a:\n    runs-on: x\n    steps:\n    - run: |\n        some text\n        more of it\n"
        ));
        for text in [
            "Dear all:\nplease note: this\nis prose.\nRegards: me\nP.S.: x\n",
            "User: hi\nBot: hello\nUser: bye\nBot: bye\n",
            "class A:\n    def f(self):\n        return 1\n    def g(self):\n        return 2\n",
            "- one\n- two\n- three\n- four\n",
            "# Title\n\n- First point: it is so.\n- Second long point: it is not.\n- A third point here: maybe.\n- And some other point: no.\n",
            "2024-01-01 10:00:00 INFO a: b\n2024-01-01 10:00:00 INFO c: d\n",
        ] {
            assert!(!is_yaml(text), "{text}");
        }
    }
}
