//! Reads a text whose lines are too long to be held as a run of sentences: prose on one line, or a few.
//!
//! The text is read a second time, in parts that end at white space, so that words are counted over all of it.

use std::io;

use crate::shape::draft::Draft;
use crate::shape::key_lines::KeyLines;
use crate::shape::word_counts::WordCounts;
use crate::text::Text;

/// The sentences of a text.
#[derive(Debug, Default)]
pub(crate) struct Sentences {
    sentences: KeyLines,
    /// The beginning of a sentence that is not complete.
    open: String,
}

/// The number of bytes read before they are split.
const PART_BYTES: usize = 64 * 1024;
/// The maximum number of bytes kept of one sentence.
const MAX_SENTENCE_BYTES: usize = 1000;

impl Sentences {
    /// Reads a text; counts its words into `words`, which are emptied before.
    pub(crate) fn read(text: &Text<'_>, words: &mut WordCounts) -> io::Result<Self> {
        *words = WordCounts::default();
        let mut sentences = Self::default();
        let mut feed = text.feed();
        let mut buffer = Vec::new();
        while feed.fill(&mut buffer)? {
            if buffer.len() < PART_BYTES {
                continue;
            }
            let end = buffer.iter().rposition(u8::is_ascii_whitespace).map_or(buffer.len(), |at| at + 1);
            sentences.add_part(&String::from_utf8_lossy(&buffer[..end]), words);
            buffer.drain(..end);
        }
        sentences.add_part(&String::from_utf8_lossy(&buffer), words);
        sentences.close();
        Ok(sentences)
    }

    fn add_part(&mut self, part: &str, words: &mut WordCounts) {
        words.add_part(part);
        for word in part.split_whitespace() {
            if self.open.len() < MAX_SENTENCE_BYTES {
                self.open.push_str(word);
                self.open.push(' ');
            }
            if word.trim_end_matches(['"', '\'', ')', '”']).ends_with(['.', '!', '?', '。']) && word.len() > 3
            {
                self.close();
            }
        }
    }

    fn close(&mut self) {
        let sentence = std::mem::take(&mut self.open);
        if sentence.len() > 20 {
            self.sentences.push(0, 1, sentence.trim_end());
        }
    }

    /// Writes as many sentences as fit, evenly spaced; returns whether any was written.
    pub(crate) fn write(&self, draft: &mut Draft<'_>, section: usize) -> bool {
        self.sentences.write(draft, section, "sentences")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Span;

    #[test]
    fn words_of_a_long_line_are_counted_over_all_of_it() {
        let line = "The energy of this world is not lost. Where does it go from here? ".repeat(3000);
        let source = line.as_bytes();
        let text = Text::plain(&source, Span::whole(&source));
        let mut words = WordCounts::default();
        let sentences = Sentences::read(&text, &mut words).unwrap();
        assert_eq!((words.total, sentences.sentences.total), (14 * 3000, 6000));
        let energy = words.all.ranked().into_iter().find(|entry| entry.text() == "energy").unwrap().count;
        assert_eq!(energy, 3000);
    }
}
