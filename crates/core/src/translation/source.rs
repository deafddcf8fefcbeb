//! The JSON of a translated text as a source of bytes that are written when they are read.
//!
//! Neither the text nor its JSON is in memory as a whole. A [`JsonWriter`] turns the text into JSON one step after
//! another; clones of it are kept as checkpoints, so that any part of the JSON is written again at the cost of a step.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;

use super::window::TextWindow;
use super::{JsonWriter, MAX_JSON_BYTES, Step};
use crate::pattern::OtherLines;
use crate::source::Source;
use crate::text::Text;

/// Bytes of the text that a step is given at first.
pub(super) const STEP_BYTES: usize = 4 * 1024;
/// The maximum number of checkpoints; when they are reached, every second one is dropped.
const MAX_CHECKPOINTS: usize = 512;
/// The minimum number of bytes of JSON between checkpoints, at first.
const CHECKPOINT_DISTANCE: u64 = 16 * 1024;

/// The JSON of a text, without the text.
pub(crate) struct TranslatedJson {
    /// The lines that are not part of the data.
    pub(crate) others: OtherLines,
    state: RefCell<TranslationProgress>,
}

/// How far a translation has come.
struct TranslationProgress {
    position: Position,
    checkpoints: Vec<Checkpoint>,
    /// The minimum number of bytes of JSON between checkpoints.
    distance: u64,
    /// The number of bytes of the JSON, once its end was written.
    length: Option<u64>,
    /// Whether the text is not in the notation after all.
    has_failed: bool,
    /// Bytes of the text that a step is given at first.
    step_bytes: usize,
}

/// A place from which the translation can go on.
struct Checkpoint {
    writer: Box<dyn JsonWriter>,
    /// The offset of the JSON that comes next, and that of the text which it comes from.
    json: u64,
    text: u64,
}

/// The step that was written last.
struct Position {
    writer: Box<dyn JsonWriter>,
    window: TextWindow,
    /// The JSON of the step, and its offset.
    json: String,
    json_at: u64,
    has_ended: bool,
}

impl Position {
    fn json_end(&self) -> u64 {
        self.json_at + self.json.len() as u64
    }
}

impl TranslatedJson {
    /// Returns the JSON that a writer writes from an offset of a text on.
    pub(super) fn new(
        writer: Box<dyn JsonWriter>,
        others: OtherLines,
        start: u64,
        step_bytes: usize,
    ) -> Self {
        let first = Checkpoint { writer: writer.boxed_clone(), json: 0, text: start };
        let window = TextWindow::from(start);
        let position = Position { writer, window, json: String::new(), json_at: 0, has_ended: false };
        let (checkpoints, distance) = (vec![first], CHECKPOINT_DISTANCE);
        let state = TranslationProgress {
            position,
            checkpoints,
            distance,
            length: None,
            has_failed: false,
            step_bytes,
        };
        Self { others, state: RefCell::new(state) }
    }

    /// Returns whether the text was found not to be in the notation.
    pub(crate) fn has_failed(&self) -> bool {
        self.state.borrow().has_failed
    }

    /// Appends up to `max_bytes` of the JSON at an offset; returns how many, zero only at the end.
    fn read(&self, text: &Text<'_>, at: u64, max_bytes: usize, out: &mut Vec<u8>) -> io::Result<usize> {
        let mut state = self.state.borrow_mut();
        state.move_to(text, at)?;
        if state.has_failed {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the text is not in its notation"));
        }
        let Position { json, json_at, .. } = &state.position;
        let start = usize::try_from(at.saturating_sub(*json_at)).map_or(json.len(), |at| at.min(json.len()));
        let bytes = &json.as_bytes()[start..];
        let bytes = &bytes[..bytes.len().min(max_bytes)];
        out.extend_from_slice(bytes);
        Ok(bytes.len())
    }
}

impl TranslationProgress {
    /// Writes the step with the JSON at an offset, unless it was written last.
    fn move_to(&mut self, text: &Text<'_>, at: u64) -> io::Result<()> {
        let after = self.checkpoints.partition_point(|checkpoint| checkpoint.json <= at);
        let nearest = &self.checkpoints[after.saturating_sub(1)];
        // The text behind the last step is often in the window already.
        if at < self.position.json_at || nearest.json > self.position.json_end() {
            self.position = Position {
                writer: nearest.writer.boxed_clone(),
                window: TextWindow::from(nearest.text),
                json: String::new(),
                json_at: nearest.json,
                has_ended: false,
            };
        }
        while self.position.json_end() <= at && !self.position.has_ended && !self.has_failed {
            self.step(text)?;
        }
        Ok(())
    }

    /// Writes the next step, in place of the last one.
    fn step(&mut self, text: &Text<'_>) -> io::Result<()> {
        let position = &mut self.position;
        (position.json_at, position.json) =
            (position.json_end(), cleared(std::mem::take(&mut position.json)));
        let before = position.writer.boxed_clone();
        let start = position.window.position();
        let mut want = self.step_bytes;
        let used = loop {
            let window = position.window.fill(text, want)?;
            match position.writer.write(&window, &mut position.json) {
                Some(Step::NeedsMore) if !window.is_end => {
                    position.writer = before.boxed_clone();
                    position.json.clear();
                    want *= 2;
                }
                Some(Step::Used(bytes)) => break Some(window.source_bytes(bytes)),
                Some(Step::End) => {
                    position.has_ended = true;
                    break Some(0);
                }
                Some(Step::NeedsMore) | None => break None,
            }
        };
        let Some(used) = used.filter(|_| position.json_end() <= MAX_JSON_BYTES as u64) else {
            self.has_failed = true;
            return Ok(());
        };
        position.window.consume(used);
        if position.has_ended {
            self.length = Some(position.json_end());
        }
        self.add_checkpoint(before, start);
        Ok(())
    }

    /// Keeps the writer as it was before the last step, unless there is a checkpoint close before it.
    fn add_checkpoint(&mut self, writer: Box<dyn JsonWriter>, text: u64) {
        let json = self.position.json_at;
        let is_close = self.checkpoints.last().is_some_and(|last| json < last.json + self.distance);
        if is_close || !writer.is_small() {
            return;
        }
        if self.checkpoints.len() == MAX_CHECKPOINTS {
            let mut number = 0;
            self.checkpoints.retain(|_| {
                number += 1;
                number % 2 == 1
            });
            self.distance *= 2;
        }
        self.checkpoints.push(Checkpoint { writer, json, text });
    }
}

fn cleared(mut text: String) -> String {
    text.clear();
    text
}

/// The JSON of a text as a source.
pub(crate) struct TranslatedSource<'t> {
    text: &'t Text<'t>,
    json: Rc<TranslatedJson>,
}

impl<'t> TranslatedSource<'t> {
    pub(crate) fn new(text: &'t Text<'t>, json: Rc<TranslatedJson>) -> Self {
        Self { text, json }
    }

    /// Returns the number of bytes, once the end has been read.
    pub(crate) fn known_length(&self) -> Option<u64> {
        self.json.state.borrow().length
    }

    /// Appends up to `max_bytes` of the JSON at an offset; returns how many, zero only at the end.
    pub(crate) fn read_block(&self, at: u64, max_bytes: usize, out: &mut Vec<u8>) -> io::Result<usize> {
        self.json.read(self.text, at, max_bytes, out)
    }
}

impl Source for TranslatedSource<'_> {
    /// Returns the number of bytes; an upper bound until the end has been read.
    fn len(&self) -> u64 {
        self.known_length().unwrap_or(MAX_JSON_BYTES as u64)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut bytes = Vec::new();
        let count = self.read_block(offset, buffer.len(), &mut bytes)?;
        buffer[..count].copy_from_slice(&bytes);
        Ok(count)
    }
}
