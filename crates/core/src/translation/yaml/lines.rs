//! The lines of a YAML document, as offsets: a text of short lines must not take several times its size.

use super::is_skipped;

/// One line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'y> {
    pub(super) indentation: usize,
    /// The line without its indentation and the spaces after it.
    pub(super) text: &'y str,
    /// The line as it is written.
    pub(super) raw: &'y str,
}

impl<'y> Line<'y> {
    fn of(raw: &'y str) -> Self {
        let line = raw.trim_end();
        let text = line.trim_start_matches(' ');
        Self { indentation: line.len() - text.len(), text, raw }
    }
}

/// The lines of one document.
pub(super) struct Lines<'y> {
    text: &'y str,
    /// Where each line begins and how long it is.
    ranges: Vec<(u32, u32)>,
    /// The line that is read as another one: after a `-`, the rest of the line is a line of its own.
    replaced: Option<(usize, Line<'y>)>,
}

impl<'y> Lines<'y> {
    /// Returns the documents of a text that are not blank; `None` if the text is too long.
    pub(super) fn of_documents(text: &'y str) -> Option<Vec<Self>> {
        let mut documents = vec![Self::new(text)];
        let mut start = 0;
        for whole in text.split_inclusive('\n') {
            let raw = whole.strip_suffix('\n').unwrap_or(whole);
            let raw = raw.strip_suffix('\r').unwrap_or(raw);
            let line = raw.trim_end();
            let begins = line.strip_prefix("---").filter(|rest| rest.is_empty() || rest.starts_with(' '));
            if let Some(rest) = begins {
                documents.push(Self::new(text));
                let rest = rest.trim_start();
                if !is_skipped(rest) {
                    documents.last_mut()?.push(start + line.len() - rest.len(), rest.len())?;
                }
            } else if line == "..." || line.starts_with("%YAML") {
                documents.push(Self::new(text));
            } else {
                documents.last_mut()?.push(start, raw.len())?;
            }
            start += whole.len();
        }
        documents.retain(|lines| lines.from(0).any(|line| !is_skipped(line.text)));
        Some(documents)
    }

    fn new(text: &'y str) -> Self {
        Self { text, ranges: Vec::new(), replaced: None }
    }

    fn push(&mut self, start: usize, length: usize) -> Option<()> {
        self.ranges.push((u32::try_from(start).ok()?, u32::try_from(length).ok()?));
        Some(())
    }

    /// Returns the line with a number, from 0.
    pub(super) fn get(&self, at: usize) -> Option<Line<'y>> {
        if let Some((_, line)) = self.replaced.filter(|(replaced, _)| *replaced == at) {
            return Some(line);
        }
        let (start, length) = *self.ranges.get(at)?;
        Some(Line::of(&self.text[start as usize..][..length as usize]))
    }

    /// Returns the lines from a number on.
    pub(super) fn from(&self, at: usize) -> impl Iterator<Item = Line<'y>> {
        (at..).map_while(|at| self.get(at))
    }

    /// Reads a line as another one from now on; lines before it have been read.
    pub(super) fn replace(&mut self, at: usize, line: Line<'y>) {
        self.replaced = Some((at, line));
    }
}
