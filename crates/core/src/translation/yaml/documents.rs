//! The first pass over a YAML text: how many documents it has, and whether values are referred to elsewhere.

use super::is_skipped;
use super::lines::DocumentLine;
use crate::trim::trim_end;

/// The documents of a text.
#[derive(Default)]
pub(super) struct Documents {
    /// How many of them are not blank.
    pub(super) count: usize,
    pub(super) has_anchors: bool,
    is_in_document: bool,
}

impl Documents {
    /// Adds complete lines.
    pub(super) fn add(&mut self, lines: &str) {
        let mut rest = lines;
        while !rest.is_empty() {
            let end = memchr::memchr(b'\n', rest.as_bytes()).map_or(rest.len(), |at| at + 1);
            self.add_line(trim_end(&rest[..end]));
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
