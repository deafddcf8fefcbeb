//! Finds the file that a line of a diff belongs to.

use std::ops::Range;

/// Returns whether a text is a diff from its first line on.
pub(super) fn is_diff(text: &str) -> bool {
    let is_begun = ["diff ", "--- ", "Index: "].iter().any(|begin| text.starts_with(begin));
    is_begun && text.contains("\n@@ ")
}

/// The file of the line that was read last. Lines are read in order.
#[derive(Debug)]
pub(super) struct DiffFile {
    /// Where the next line to read begins, and its number.
    at: usize,
    number: u64,
    /// The line before that, and the one before it.
    before: [Range<usize>; 2],
    /// The line that names the file, and its number.
    name: Option<(u64, Range<usize>)>,
}

impl Default for DiffFile {
    fn default() -> Self {
        Self { at: 0, number: 1, before: [0..0, 0..0], name: None }
    }
}

impl DiffFile {
    /// Returns the line that names the file of a line, and its number; `None` for a line that is not part of a hunk.
    pub(super) fn of(&mut self, text: &[u8], line: Range<usize>) -> Option<(u64, Range<usize>)> {
        while self.at < line.end.min(text.len()) {
            let feed = text[self.at..].iter().position(|&byte| byte == b'\n');
            let end = feed.map_or(text.len(), |feed| self.at + feed);
            let this = self.at..end;
            // The two lines before a first hunk name the file before and after the change.
            let [after, before] = self.before.clone();
            if text[this.clone()].starts_with(b"@@ ") && names_file(text, &before, &after) {
                let is_removed = text[after.clone()].starts_with(b"+++ /dev/null");
                self.name = Some(match is_removed {
                    true => (self.number - 2, before),
                    false => (self.number - 1, after.clone()),
                });
            }
            self.before = [this, after];
            (self.at, self.number) = (end + 1, self.number + 1);
        }
        let is_in_hunk = matches!(text.get(line.start), Some(b'+' | b'-' | b' ' | b'@'));
        let is_header = ["--- ", "+++ "].iter().any(|mark| text[line.clone()].starts_with(mark.as_bytes()));
        self.name.clone().filter(|_| is_in_hunk && !is_header)
    }
}

fn names_file(text: &[u8], before: &Range<usize>, after: &Range<usize>) -> bool {
    text[before.clone()].starts_with(b"--- ") && text[after.clone()].starts_with(b"+++ ")
}
