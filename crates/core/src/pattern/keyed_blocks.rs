//! Blocks of `Key: value` lines, such as a commit log: each block begins with the same key.
//!
//! A line without a known key continues the value before it.

use std::borrow::Cow;
use std::io;

use serde::{Deserialize, Serialize};

use super::{LineNotation, Member, PatternReader, RecordContent, RecordLines};
use crate::sample::Sample;

/// The keys of the blocks of one text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct KeyedBlocks {
    /// The key that begins a block.
    first: String,
    /// All keys, in order.
    keys: Vec<String>,
}

/// The minimum number of blocks in the sample.
const MIN_BLOCKS: usize = 3;

impl LineNotation for KeyedBlocks {
    fn recognise(sample: &Sample<'_>) -> Option<Self> {
        let head = sample.head;
        let keyed: Vec<&str> = head.lines().filter_map(|line| split(line).map(|(key, _)| key)).collect();
        let all_lines = head.lines().filter(|line| !line.trim().is_empty()).count();
        // A block begins with the first key that repeats.
        let first =
            keyed.iter().find(|key| keyed.iter().filter(|other| other == key).count() >= MIN_BLOCKS)?;
        let blocks = keyed.iter().filter(|key| key == &first).count();
        let mut keys: Vec<String> = Vec::new();
        for key in &keyed {
            let often = keyed.iter().filter(|other| other == &key).count();
            if often * 10 >= blocks * 6 && often <= blocks * 2 && !keys.iter().any(|known| known == key) {
                keys.push((*key).to_owned());
            }
        }
        let used: usize = keyed.iter().filter(|key| keys.iter().any(|known| known == *key)).count();
        (keys.len() >= 2 && used * 4 >= all_lines).then(|| Self { first: (*first).to_owned(), keys })
    }

    fn name(&self) -> &'static str {
        "records"
    }

    fn noun(&self) -> &'static str {
        "record"
    }

    fn next(&self, reader: &mut PatternReader<'_>) -> io::Result<Option<(u64, RecordLines)>> {
        reader.next_block(|line| split(line).is_some_and(|(key, _)| key == self.first))
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
        for line in &record.lines {
            let keyed = split(line).and_then(|(key, value)| {
                Some((self.keys.iter().find(|known| *known == key)?.as_str(), value))
            });
            match keyed {
                Some((key, value)) if !members.iter().any(|(known, _)| known == key) => {
                    members.push((key.into(), unquoted(value).into()));
                }
                _ => {
                    if let Some((_, value)) = members.last_mut() {
                        value.to_mut().push('\n');
                        value.to_mut().push_str(line.trim_end());
                    }
                }
            }
        }
        for (_, value) in &mut members {
            if let Cow::Owned(value) = value {
                value.truncate(value.trim_end().len());
            }
        }
        members
    }
}

fn unquoted(value: &str) -> &str {
    let inside = value.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
    inside.or_else(|| value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'))).unwrap_or(value)
}

/// Splits a line of the form `Key: value`, or `commit <hash>` as git prints it.
fn split(line: &str) -> Option<(&str, &str)> {
    if let Some(commit) = line.strip_prefix("commit ") {
        // Names of branches and tags may follow the hash.
        let hash = commit.split_whitespace().next().unwrap_or("");
        if hash.len() >= 7 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Some(("commit", commit.trim()));
        }
    }
    let (key, value) = line.split_once(':')?;
    let named = key.starts_with(|c: char| c.is_ascii_alphabetic())
        && key.len() <= 32
        && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b' ' | b'_' | b'-' | b'.'))
        && key.split(' ').count() <= 3;
    (named && (value.is_empty() || value.starts_with(' ') || value.starts_with('\t')))
        .then(|| (key, value.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_log() {
        let log = "History:\nCommit: a1\nAuthor: X\nDate: 2024-01-01\nMessage: one\n\nmore: of it\n\nCommit: b2\nAuthor: Y\nDate: 2024-01-02\nMessage: two\n\nCommit: c3\nAuthor: X\nDate: 2024-01-03\nMessage: three\n";
        let blocks = KeyedBlocks::recognise(&Sample::of(log)).unwrap();
        assert_eq!(blocks.keys, ["Commit", "Author", "Date", "Message"]);
        let raw = RecordLines {
            lines: log.lines().skip(1).take(7).map(String::from).collect(),
            ..RecordLines::default()
        };
        assert_eq!(blocks.members(&raw)[3], ("Message".into(), "one\n\nmore: of it".into()));
        assert!(KeyedBlocks::recognise(&Sample::of("Dear all:\nplease note: this\nis prose.\n")).is_none());
    }
}
