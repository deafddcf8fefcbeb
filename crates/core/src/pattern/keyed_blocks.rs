//! Blocks of `Key: value` or `Key = value` lines: a commit log, the status of packages, rows printed one below the other.
//!
//! Where blank lines or lines of dashes separate the blocks and nearly every line has a key, each of them is a record
//! with whatever keys it has. Else a block begins with the first key that repeats, and a line without one of the usual
//! keys continues the value before it.

use std::borrow::Cow;
use std::io;

use serde::{Deserialize, Serialize};

use super::{LineNotation, Member, PatternReader, RecordContent, RecordLines};
use crate::sample::Sample;
use crate::trim::{trim, trim_end};

/// The blocks of one text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct KeyedBlocks {
    mark: Mark,
    form: BlockForm,
}

/// What is between a key and its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Mark {
    Colon,
    Equals,
    Bar,
    /// A colon after a key to the right, between lines that number the rows.
    Row,
}

/// Where blocks begin and end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum BlockForm {
    /// Blank lines or lines of dashes are between them; any key may occur.
    Separated,
    /// They begin with the first of these keys.
    Begun(Vec<String>),
}

/// The member that holds an indented text after the keys of a block.
const MESSAGE_KEY: &str = "message";
/// The minimum number of blocks in the sample.
const MIN_BLOCKS: usize = 3;

impl LineNotation for KeyedBlocks {
    fn recognise(sample: &Sample<'_>) -> Option<Self> {
        let is_numbered = sample.lines.iter().filter(|line| is_row_number(line)).count() >= MIN_BLOCKS;
        let marks = if is_numbered { &[Mark::Bar, Mark::Row][..] } else { &[Mark::Colon, Mark::Equals] };
        marks.iter().copied().find_map(|mark| {
            let separated = mark.is_separated(sample).then_some(BlockForm::Separated);
            let form = separated.or_else(|| mark.keys_of_begun(sample).map(BlockForm::Begun))?;
            Some(Self { mark, form })
        })
    }

    fn name(&self) -> &'static str {
        "records"
    }

    fn noun(&self) -> &'static str {
        "record"
    }

    fn next(&self, reader: &mut PatternReader<'_>) -> io::Result<Option<(u64, RecordLines)>> {
        match &self.form {
            BlockForm::Begun(keys) => {
                reader.next_block(|line| self.mark.split(line).is_some_and(|(key, _)| key == keys[0]))
            }
            BlockForm::Separated => reader.next_stanza(is_separator, |line| {
                // A title may end with a colon, too.
                self.mark.split(line).is_some_and(|(_, value)| !value.is_empty())
            }),
        }
    }

    fn content<'r>(&'r self, record: &'r RecordLines) -> Option<RecordContent<'r>> {
        Some(RecordContent::Members(self.members(record)))
    }

    fn has_other_lines(&self) -> bool {
        false
    }

    fn is_searched_by_line(&self) -> bool {
        false
    }
}

impl KeyedBlocks {
    /// Returns the members of a block; a line without a key continues the value before it.
    fn members<'r>(&'r self, record: &'r RecordLines) -> Vec<Member<'r>> {
        let mut members: Vec<Member<'r>> = Vec::new();
        let mut after_blank = false;
        for line in &record.lines {
            let keyed = self.mark.split(line).filter(|(key, _)| match &self.form {
                BlockForm::Begun(keys) => keys.iter().any(|known| known == key),
                BlockForm::Separated => true,
            });
            // An indented text after a blank line is the message of the block, as in a commit log.
            let is_message = after_blank && line.starts_with([' ', '\t']);
            after_blank = trim(line).is_empty();
            match keyed {
                Some((key, value)) if !members.iter().any(|(known, _)| known == key) => {
                    members.push((key.into(), unquoted(value).into()));
                }
                _ if is_message && !members.iter().any(|(known, _)| known == MESSAGE_KEY) => {
                    members.push((MESSAGE_KEY.into(), line.trim().into()));
                }
                _ => {
                    let Some((key, value)) = members.last_mut() else { continue };
                    let text =
                        if *key == MESSAGE_KEY || value.is_empty() { line.trim() } else { line.trim_end() };
                    if !value.is_empty() {
                        value.to_mut().push('\n');
                    }
                    value.to_mut().push_str(text);
                }
            }
        }
        for (_, value) in &mut members {
            if let Cow::Owned(value) = value {
                value.truncate(trim_end(value).len());
            }
        }
        members
    }
}

impl Mark {
    /// Returns whether blocks of keyed lines are separated by blank lines or lines of dashes.
    fn is_separated(self, sample: &Sample<'_>) -> bool {
        let (mut blocks, mut lines, mut keyed) = (Vec::new(), 0, 0);
        let mut open: Vec<&str> = Vec::new();
        let end = if sample.whole { sample.head.len() } else { sample.head.rfind('\n').unwrap_or(0) };
        for line in sample.head[..end].lines().chain([""]) {
            if is_separator(line) {
                if !open.is_empty() {
                    blocks.push(std::mem::take(&mut open));
                }
                continue;
            }
            lines += 1;
            match self.split(line) {
                Some((key, value)) => {
                    keyed += usize::from(!value.ends_with([';', '{', ',']));
                    open.push(key);
                }
                // A line that is indented continues a value.
                None => keyed += usize::from(line.starts_with([' ', '\t']) && !open.is_empty()),
            }
        }
        // Blocks are records of one kind if they share a key, and none has a key twice.
        let shared = blocks.first().is_some_and(|first| {
            first
                .iter()
                .any(|key| blocks.iter().filter(|block| block.contains(key)).count() * 10 >= blocks.len() * 8)
        });
        let repeats = |block: &Vec<&str>| (1..block.len()).any(|at| block[..at].contains(&block[at]));
        let many = blocks.iter().filter(|block| block.len() >= 2).count();
        blocks.len() >= MIN_BLOCKS
            && shared
            && many * 10 >= blocks.len() * 8
            && keyed * 100 >= lines * 95
            && blocks.iter().filter(|block| repeats(block)).count() * 20 <= blocks.len()
    }

    /// Returns the usual keys of blocks that begin with the same key, that one first.
    fn keys_of_begun(self, sample: &Sample<'_>) -> Option<Vec<String>> {
        let pairs = sample.lines.iter().filter_map(|line| self.split(line));
        // Lines of code end like that.
        let pairs = pairs.filter(|(_, value)| !value.ends_with([';', '{', ',']));
        let keyed: Vec<&str> = pairs.map(|(key, _)| key).collect();
        let count = |key: &str| keyed.iter().filter(|other| **other == key).count();
        let first = keyed.iter().find(|key| count(key) >= MIN_BLOCKS)?;
        let blocks = count(first);
        let mut keys: Vec<String> = vec![(*first).to_owned()];
        for key in &keyed {
            let often = count(key);
            if often >= MIN_BLOCKS && often <= blocks * 2 && !keys.iter().any(|known| known == key) {
                keys.push((*key).to_owned());
            }
        }
        let used = keyed.iter().filter(|key| keys.iter().any(|known| known == *key)).count();
        (keys.len() >= 2 && used * 4 >= sample.lines.len()).then_some(keys)
    }

    /// Splits a line into its key and its value; also `commit <hash>` as git prints it.
    fn split(self, line: &str) -> Option<(&str, &str)> {
        if self == Self::Colon
            && let Some(commit) = line.strip_prefix("commit ")
        {
            // Names of branches and tags may follow the hash.
            let hash = commit.split_whitespace().next().unwrap_or("");
            if hash.len() >= 7 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return Some(("commit", commit.trim()));
            }
        }
        // Rows below each other have their keys to the right.
        let line = if self == Self::Colon { line } else { line.trim_start() };
        let mark = match self {
            Self::Colon | Self::Row => b':',
            Self::Equals => b'=',
            Self::Bar => b'|',
        };
        let end = memchr::memchr(mark, line.as_bytes())?;
        let (key, value) = (trim_end(&line[..end]), &line[end + 1..]);
        let named = key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && key.len() <= 40
            && key
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b' ' | b'_' | b'-' | b'.' | b'/'))
            && key.split(' ').count() <= 3;
        let spaced = self == Self::Equals || value.is_empty() || value.starts_with([' ', '\t']);
        (named && spaced && !value.starts_with('=')).then(|| (key, trim(value)))
    }
}

/// Returns whether a line separates blocks: it is blank, of dashes, or numbers a row.
fn is_separator(line: &str) -> bool {
    let line = trim(line);
    let drawn = |byte: u8| matches!(byte, b'-' | b'*' | b'=' | b'+');
    line.is_empty() || line.len() >= 3 && line.bytes().all(drawn) || is_row_number(line)
}

/// Returns whether a line numbers a row: `-[ RECORD 1 ]---` or `*** 1. row ***`.
fn is_row_number(line: &str) -> bool {
    let line = trim(line);
    if !line.starts_with(['-', '*']) {
        return false;
    }
    let words = line.trim_matches(['-', '*', '[', ']', ' ', '+']);
    let of_record = line.starts_with("-[") && words.starts_with("RECORD ");
    of_record || line.starts_with("***") && words.ends_with(". row")
}

fn unquoted(value: &str) -> &str {
    let inside = value.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
    inside.or_else(|| value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'))).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Span;
    use crate::text::Text;

    /// Returns the records of a text as JSON, one on each line.
    fn records(text: &str) -> String {
        let Some(blocks) = KeyedBlocks::recognise(&Sample::of(text)) else { return "none".into() };
        let pattern = super::super::Pattern::Blocks(blocks);
        let source = text.as_bytes();
        let text = Text::plain(&source, Span::whole(&source));
        let mut reader = pattern.reader(crate::lines::Lines::new(&text));
        let mut all = Vec::new();
        while let Some((_, json, _)) = reader.next_json().unwrap() {
            all.push(json);
        }
        all.join("\n")
    }

    #[test]
    fn a_commit_log_is_read_as_records() {
        let log = "History:\nCommit: a1\nAuthor: X\nDate: 2024-01-01\nMessage: one\n\nmore: of it\n\nCommit: b2\nAuthor: Y\nDate: 2024-01-02\nMessage: two\n\nCommit: c3\nAuthor: X\nDate: 2024-01-03\nMessage: three\n";
        assert!(records(log).starts_with(
            r#"{"Commit":"a1","Author":"X","Date":"2024-01-01","Message":"one\n\nmore: of it"}"#
        ));
    }

    #[test]
    fn a_message_after_the_keys() {
        let commit = |hash: &str, merge: &str| {
            format!(
                "commit {hash}\n{merge}Author: X <x@y>\nDate:   Mon Nov 16 10:51:49 2026\n\n    one: two\n\n    three\n\n"
            )
        };
        let log = format!("{}{}{}", commit("aaaaaa1", ""), commit("bbbbbb2", ""), commit("cccccc3", ""));
        assert_eq!(
            records(&log).lines().next().unwrap(),
            r#"{"commit":"aaaaaa1","Author":"X <x@y>","Date":"Mon Nov 16 10:51:49 2026","message":"one: two\n\nthree"}"#
        );
    }

    #[test]
    fn separated_blocks() {
        let status = "Package: a\nStatus: ok\nDescription: first\n and more\n\nPackage: b\nVersion: 1.0\n\nPackage: c\nDepends:\n x,\n y\n";
        assert_eq!(
            records(status),
            "{\"Package\":\"a\",\"Status\":\"ok\",\"Description\":\"first\\n and more\"}\n{\"Package\":\"b\",\"Version\":\"1.0\"}\n{\"Package\":\"c\",\"Depends\":\"x,\\n y\"}"
        );
        let expected =
            "{\"id\":\"1\",\"name\":\"a\"}\n{\"id\":\"2\",\"name\":\"b\"}\n{\"id\":\"3\",\"name\":\"c\"}";
        for text in [
            "id = 1\nname = a\n\nid = 2\nname = b\n\nid = 3\nname = c\n",
            "id=1\nname=a\n---\nid=2\nname=b\n---\nid=3\nname=c\n",
            "  id = 1\nname = a\n\n  id = 2\nname = b\n\n  id = 3\nname = c\n",
            "*** 1. row ***\n  id: 1\nname: a\n*** 2. row ***\n  id: 2\nname: b\n*** 3. row ***\n  id: 3\nname: c\n",
            "-[ RECORD 1 ]\nid   | 1\nname | a\n-[ RECORD 2 ]\nid   | 2\nname | b\n-[ RECORD 3 ]\nid   | 3\nname | c\n",
        ] {
            assert_eq!(records(text), expected, "{text}");
        }
    }

    #[test]
    fn other_texts_are_not_blocks() {
        for text in [
            "Dear all:\nplease note: this\nis prose.\n",
            "a: {\n  b: 1;\n}\n\nc: {\n  d: 2;\n}\n\ne: {\n  f: 3;\n}\n",
            "One line: x\n\nAnother: y\n\nA third: z\n",
        ] {
            assert_eq!(records(text), "none", "{text}");
        }
    }
}
