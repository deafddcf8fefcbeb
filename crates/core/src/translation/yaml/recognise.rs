//! Recognises YAML by its first lines: mostly `key: value` with keys that are words, and some of it nested.

use super::split_key;
use crate::sample::Sample;

pub(in crate::translation) fn recognise(sample: &Sample<'_>) -> bool {
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
