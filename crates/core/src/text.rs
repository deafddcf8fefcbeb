//! A text inside a result: spans of the source that are plain bytes or the insides of JSON strings, read as one.
//!
//! MCP delivers most data as JSON inside a JSON string, so the text that matters is escaped once more; and some
//! servers send one block per entry. A [`Text`] hides both: callers read decoded bytes with a line feed between
//! blocks, front to back through a `Feed`, and every offset in the engine is an offset in this decoded text. A feed
//! leaves checkpoints behind (decoded offset, raw offset), so that any decoded range can be read again at the cost of
//! one block.
//!
//! Decoding loses nothing that can be shown: a lone surrogate has no UTF-8 form and stays as its escape.

mod feed;
mod index;

use std::cell::{OnceCell, RefCell};
use std::io;
use std::ops::{Deref, Range};
use std::rc::Rc;

pub(crate) use feed::Feed;
pub(crate) use index::{Checkpoint, TextIndex};

use crate::hash;
use crate::json::string;
use crate::source::{Source, Span};
use crate::translation::{self, TranslatedJson, TranslatedSource, Translation};
use feed::{BLOCK_BYTES, DecodedBlock};

/// A text inside a source.
pub struct Text<'a> {
    source: TextSource<'a>,
    parts: Vec<Span>,
    escaped: bool,
    index: RefCell<TextIndex>,
    /// The block of the last jump: records that are read one after the other are often in the same block.
    last: RefCell<Option<DecodedBlock>>,
    /// How the text is translated to JSON, once it has been.
    translated: OnceCell<(Translation, Rc<TranslatedJson>)>,
}

/// Where the bytes of a text are.
enum TextSource<'a> {
    Borrowed(&'a dyn Source),
    /// They are written when they are read.
    Translated(TranslatedSource<'a>),
}

impl TextSource<'_> {
    fn get(&self) -> &dyn Source {
        match self {
            Self::Borrowed(source) => *source,
            Self::Translated(source) => source,
        }
    }
}

/// The text that offsets of data are in: a text as it was sent, or its translation to JSON.
pub(crate) enum DataText<'t> {
    Original(&'t Text<'t>),
    Translation(Box<Text<'t>>),
}

impl<'t> Deref for DataText<'t> {
    type Target = Text<'t>;

    fn deref(&self) -> &Text<'t> {
        match self {
            Self::Original(text) => text,
            Self::Translation(text) => text,
        }
    }
}

/// The decoded bytes of a text as a source, for a text inside it.
pub(crate) struct DecodedSource<'t> {
    text: &'t Text<'t>,
    length: u64,
}

impl<'t> DecodedSource<'t> {
    /// Returns the decoded bytes of a text as a source.
    pub(crate) fn new(text: &'t Text<'t>) -> io::Result<Self> {
        Ok(Self { text, length: text.length()? })
    }
}

impl Source for DecodedSource<'_> {
    fn len(&self) -> u64 {
        self.length
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.text.read(offset..offset + buffer.len() as u64)?;
        buffer[..bytes.len()].copy_from_slice(&bytes);
        Ok(bytes.len())
    }
}

impl<'a> Text<'a> {
    /// Returns a text whose bytes are in the source as they are.
    pub fn plain(source: &'a dyn Source, span: Span) -> Self {
        Self::new(source, vec![span], false, TextIndex::default())
    }

    /// Returns the insides of JSON strings, without their quotes, as one text with a line feed between them.
    pub fn escaped(source: &'a dyn Source, parts: Vec<Span>) -> Self {
        let plain = parts.len() == 1
            && source.as_slice().is_some_and(|bytes| {
                let range = parts[0].start as usize..parts[0].end as usize;
                memchr::memchr(b'\\', &bytes[range]).is_none()
            });
        Self::new(source, parts, !plain, TextIndex::default())
    }

    fn new(source: &'a dyn Source, parts: Vec<Span>, escaped: bool, index: TextIndex) -> Self {
        Self::over(TextSource::Borrowed(source), parts, escaped, index)
    }

    /// Returns the JSON that this text is translated to, as a text.
    pub(crate) fn in_json<'s>(&'s self, json: &Rc<TranslatedJson>) -> Text<'s> {
        let source = TranslatedSource::new(self, Rc::clone(json));
        // Its length is not known before its end has been read.
        let whole = Span { start: 0, end: u64::MAX };
        Text::over(TextSource::Translated(source), vec![whole], false, TextIndex::default())
    }

    fn over(source: TextSource<'a>, parts: Vec<Span>, escaped: bool, index: TextIndex) -> Self {
        Self {
            source,
            parts,
            escaped,
            index: RefCell::new(index),
            last: RefCell::default(),
            translated: OnceCell::new(),
        }
    }

    /// Returns how the text is translated to JSON; `None` if it is too large or not in that notation.
    ///
    /// A text that turns out not to be in the notation after all fails when its JSON is read.
    pub(crate) fn translated(&self, translation: Translation) -> io::Result<Option<Rc<TranslatedJson>>> {
        if let Some((_, json)) = self.translated.get().filter(|(kept, _)| *kept == translation) {
            return Ok(Some(Rc::clone(json)));
        }
        if self.max_len() > translation::MAX_TEXT_BYTES {
            return Ok(None);
        }
        Ok(translation.begin(self)?.map(Rc::new))
    }

    /// Keeps how the text is translated, which [`translated`](Self::translated) then returns again.
    pub(crate) fn keep_translation(&self, translation: Translation, json: &Rc<TranslatedJson>) {
        let _ = self.translated.set((translation, Rc::clone(json)));
    }

    /// Returns a text whose index was kept.
    pub(crate) fn indexed(source: &'a dyn Source, parts: Vec<Span>, escaped: bool, index: TextIndex) -> Self {
        Self::new(source, parts, escaped, index)
    }

    /// Returns the spans of the text, whether they are escaped, and the complete index; reads the text where needed.
    pub(crate) fn index(&self) -> io::Result<(Vec<Span>, bool, TextIndex)> {
        self.complete_index()?;
        Ok((self.parts.clone(), self.escaped, self.index.borrow().clone()))
    }

    /// Reads the text if its index is not complete yet.
    fn complete_index(&self) -> io::Result<()> {
        if self.index.borrow().length.is_none() {
            let mut feed = self.feed();
            let mut block = Vec::new();
            while feed.fill(&mut block)? {
                block.clear();
            }
        }
        Ok(())
    }

    /// Returns how many line feeds the text has.
    pub(crate) fn line_feeds(&self) -> io::Result<u64> {
        self.complete_index()?;
        Ok(self.index.borrow().lines)
    }

    /// Returns how many lines the text has; a line feed at the end does not start another line.
    pub(crate) fn line_count(&self) -> io::Result<u64> {
        self.complete_index()?;
        let (length, feeds) = {
            let index = self.index.borrow();
            (index.length.unwrap_or_default(), index.lines)
        };
        Ok(if length == 0 { 0 } else { feeds + u64::from(!self.ends_with_line_feed()?) })
    }

    /// Returns the number, from 1, of the line that holds a decoded offset.
    pub(crate) fn line_at(&self, offset: u64) -> io::Result<u64> {
        let nearest = {
            let checkpoints = &self.index.borrow().checkpoints;
            let after = checkpoints.partition_point(|checkpoint| checkpoint.decoded <= offset);
            after.checked_sub(1).map(|at| checkpoints[at])
        };
        let mut feed = Feed::at(self, nearest.unwrap_or_else(|| self.begin()));
        let mut feeds = nearest.map_or(0, |checkpoint| checkpoint.lines);
        let mut block = Vec::new();
        loop {
            let start = feed.position();
            block.clear();
            if start >= offset || !feed.fill(&mut block)? {
                return Ok(feeds + 1);
            }
            let here = (block.len() as u64).min(offset - start) as usize;
            feeds += memchr::memchr_iter(b'\n', &block[..here]).count() as u64;
        }
    }

    /// Returns the offset at which the line begins that holds a decoded offset.
    pub(crate) fn line_start(&self, offset: u64) -> io::Result<u64> {
        const STEP_BYTES: u64 = 512;
        let mut end = offset;
        while end > 0 {
            let start = end.saturating_sub(STEP_BYTES);
            if let Some(at) = memchr::memrchr(b'\n', &self.read(start..end)?) {
                return Ok(start + at as u64 + 1);
            }
            end = start;
        }
        Ok(0)
    }

    /// Returns the offset of the first byte of a range that is not white space.
    pub(crate) fn first_visible(&self, range: Range<u64>) -> io::Result<Option<u64>> {
        let mut feed = self.feed_from(range.start)?;
        let mut block = Vec::new();
        loop {
            let start = feed.position();
            block.clear();
            if start >= range.end || !feed.fill(&mut block)? {
                return Ok(None);
            }
            let here = (block.len() as u64).min(range.end - start) as usize;
            if let Some(at) = block[..here].iter().position(|byte| !byte.is_ascii_whitespace()) {
                return Ok(Some(start + at as u64));
            }
        }
    }

    /// Returns the decoded length; reads the text if it is not known yet.
    pub(crate) fn length(&self) -> io::Result<u64> {
        let known = self.index.borrow().length;
        if let Some(length) = known.or_else(|| self.known_length()) {
            return Ok(length);
        }
        self.complete_index()?;
        Ok(self.index.borrow().length.unwrap_or_default())
    }

    /// Returns the last checkpoint at or before the beginning of line `line` (from 0).
    pub(crate) fn before_line(&self, line: u64) -> Option<Checkpoint> {
        let index = self.index.borrow();
        let after = index
            .checkpoints
            .partition_point(|checkpoint| checkpoint.lines < line || checkpoint.decoded == 0);
        after.checked_sub(1).map(|at| index.checkpoints[at])
    }

    /// Returns the decoded length if no pass is needed for it.
    fn known_length(&self) -> Option<u64> {
        match &self.source {
            TextSource::Translated(source) => source.known_length(),
            TextSource::Borrowed(_) => (!self.escaped).then(|| self.max_len()),
        }
    }

    /// Returns an upper bound of the decoded length.
    pub fn max_len(&self) -> u64 {
        if let TextSource::Translated(source) = &self.source {
            return source.len();
        }
        let between = self.parts.len().saturating_sub(1) as u64;
        self.parts.iter().map(|part| part.len()).sum::<u64>() + between
    }

    fn begin(&self) -> Checkpoint {
        Checkpoint { decoded: 0, part: 0, raw: self.parts.first().map_or(0, |part| part.start), lines: 0 }
    }

    /// Returns a feed of the decoded bytes from the beginning.
    pub(crate) fn feed(&self) -> Feed<'_> {
        Feed::at(self, self.begin())
    }

    /// Returns a feed whose first byte is the decoded offset `start`.
    pub(crate) fn feed_from(&self, start: u64) -> io::Result<Feed<'_>> {
        let begin = self.begin();
        if !self.escaped {
            let raw = self.parts.first().map_or(0, |part| (part.start + start).min(part.end));
            return Ok(Feed::at(self, Checkpoint { decoded: start, raw, ..begin }).without_checkpoints());
        }
        let nearest = {
            let checkpoints = &self.index.borrow().checkpoints;
            let after = checkpoints.partition_point(|checkpoint| checkpoint.decoded <= start);
            if after == 0 { begin } else { checkpoints[after - 1] }
        };
        let mut feed = Feed::at(self, nearest);
        feed.skip_to(start)?;
        Ok(feed)
    }

    /// Reads a range of the decoded text, cut at its end.
    pub(crate) fn read(&self, range: Range<u64>) -> io::Result<Vec<u8>> {
        self.read_into(range, Vec::new())
    }

    /// Reads a range of the decoded text that is known to be there, so that memory is taken once.
    pub(crate) fn read_known(&self, range: Range<u64>) -> io::Result<Vec<u8>> {
        let length = usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(0);
        self.read_into(range, Vec::with_capacity(length + BLOCK_BYTES))
    }

    fn read_into(&self, range: Range<u64>, mut bytes: Vec<u8>) -> io::Result<Vec<u8>> {
        let want = usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(0);
        let mut feed = self.feed_from(range.start)?;
        bytes.reserve(want.min(4 * BLOCK_BYTES));
        while bytes.len() < want && feed.fill(&mut bytes)? {}
        bytes.truncate(want);
        Ok(bytes)
    }

    /// Returns the whole decoded text; for texts known to be small.
    ///
    /// # Errors
    ///
    /// Returns an error if the source cannot be read.
    pub fn to_bytes(&self) -> io::Result<Vec<u8>> {
        self.read_all()
    }

    /// Reads the whole decoded text; for texts known to be small.
    pub(crate) fn read_all(&self) -> io::Result<Vec<u8>> {
        self.read(0..self.max_len())
    }

    /// Returns a hash of the decoded text.
    pub(crate) fn hash(&self) -> io::Result<u64> {
        let (mut feed, mut block, mut state) = (self.feed(), Vec::new(), 0);
        let mut pending = Vec::new();
        while feed.fill(&mut block)? {
            pending.append(&mut block);
            let whole = pending.len() - pending.len() % BLOCK_BYTES;
            for chunk in pending[..whole].chunks_exact(BLOCK_BYTES) {
                state = hash::mix(state ^ hash::bytes(chunk));
            }
            pending.drain(..whole);
        }
        Ok(hash::mix(state ^ hash::bytes(&pending)))
    }

    /// Reads raw bytes at a raw distance from the beginning and decodes them by themselves, as a sample.
    pub(crate) fn sample(&self, mut distance: u64, length: u64) -> io::Result<Vec<u8>> {
        for part in &self.parts {
            if distance < part.len() {
                let start = part.start + distance;
                let raw = Span { start, end: part.end.min(start + length) }.read(self.source.get())?;
                return Ok(if self.escaped { string::decode(&raw) } else { raw });
            }
            distance -= part.len();
        }
        Ok(Vec::new())
    }

    /// Returns whether the text ends with a line feed.
    pub(crate) fn ends_with_line_feed(&self) -> io::Result<bool> {
        // The raw bytes do not tell: `\\n` may be an escaped backslash and a letter, and the last block may be empty.
        let length = self.length()?;
        Ok(length > 0 && self.read(length - 1..length)? == b"\n")
    }
}

#[cfg(test)]
mod tests {
    use super::index::MAX_CHECKPOINTS;
    use super::*;

    /// A source that is not in memory.
    struct ShortReadSource(Vec<u8>);

    impl Source for ShortReadSource {
        fn len(&self) -> u64 {
            self.0.len() as u64
        }

        fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
            // Short reads are legal.
            let half = buffer.len().div_ceil(2);
            self.0.as_slice().read_at(offset, &mut buffer[..half])
        }
    }

    #[test]
    fn any_range_of_an_escaped_text_reads_the_same() {
        let decoded: String = (0..20_000).map(|n| format!("{n}: \"q\" \\ é 𝄞\n")).collect();
        let mut raw = String::new();
        string::write_inside(&decoded.replace('𝄞', "\u{1}"), &mut raw);
        let raw = raw.replace("\\u0001", "\\ud834\\udd1e").into_bytes();
        let elsewhere = ShortReadSource(raw.clone());
        let slice = raw.as_slice();
        for source in [&slice as &dyn Source, &elsewhere] {
            let text = Text::escaped(source, vec![Span::whole(source)]);
            assert_eq!(text.read_all().unwrap(), decoded.as_bytes());
            for start in (0..decoded.len() as u64).step_by(7919) {
                let end = (start as usize + 50).min(decoded.len());
                assert_eq!(text.read(start..start + 50).unwrap(), &decoded.as_bytes()[start as usize..end]);
            }
        }
    }

    #[test]
    fn a_pass_from_the_beginning_adds_checkpoints() {
        let raw = r"a line\n".repeat(50_000).into_bytes();
        let source = raw.as_slice();
        let text = Text::escaped(&source, vec![Span::whole(&source)]);
        let mut feed = text.feed_from(0).unwrap();
        let mut block = Vec::new();
        while feed.fill(&mut block).unwrap() {}
        let index = text.index.borrow();
        assert!(index.checkpoints.len() >= raw.len() / BLOCK_BYTES / 2, "{}", index.checkpoints.len());
        assert_eq!((index.length, index.lines), (Some(50_000 * 7), 50_000));
    }

    #[test]
    fn the_number_of_checkpoints_is_bounded() {
        let line = r"a line of some length, so that there are fewer of them\n";
        let raw = line.repeat(2 * MAX_CHECKPOINTS * BLOCK_BYTES / line.len()).into_bytes();
        let text = Text::escaped(&raw, vec![Span::whole(&raw)]);
        let (_, _, index) = text.index().unwrap();
        assert!(index.checkpoints.len() <= MAX_CHECKPOINTS, "{}", index.checkpoints.len());
        let decoded = line.len() as u64 - 1;
        for row in (0..index.lines).step_by(100_003) {
            let read = text.read(row * decoded..row * decoded + decoded).unwrap();
            assert_eq!(read, line.replace(r"\n", "\n").as_bytes());
        }
    }

    #[test]
    fn blocks_are_joined_by_line_feeds() {
        let source: &[u8] = br#"["one\n","two","","four"]"#;
        let spans = [(2, 7), (10, 13), (16, 16), (19, 23)].map(|(start, end)| Span { start, end });
        let text = Text::escaped(&source, spans.to_vec());
        assert_eq!(text.read_all().unwrap(), b"one\n\ntwo\n\nfour");
        assert_eq!(text.read(5..8).unwrap(), b"two");
        assert_eq!(text.read(9..100).unwrap(), b"\nfour");
    }

    #[test]
    fn a_jump_into_a_lone_surrogate_lands_exactly() {
        let source: &[u8] = br"ab\ud800cd";
        let text = Text::escaped(&source, vec![Span::whole(&source)]);
        assert_eq!(text.read_all().unwrap(), br"ab\ud800cd");
        assert_eq!(text.read(4..8).unwrap(), b"d800");
    }

    #[test]
    fn lines_are_counted_in_the_decoded_text() {
        for (blocks, count) in [
            (vec![r"a\nb"], 2),
            (vec![r"a\nb\n"], 2),
            (vec![r"a\nb\\n"], 2),
            (vec![r"a\n", r"b"], 3),
            (vec![r"a\u000ab\u000a"], 2),
            (vec!["a", ""], 1),
            (vec!["", "", ""], 2),
            (vec!["a", "b", ""], 2),
            (vec![""], 0),
        ] {
            let (mut source, mut spans) = (Vec::new(), Vec::new());
            for block in &blocks {
                let start = source.len() as u64;
                source.extend_from_slice(block.as_bytes());
                spans.push(Span { start, end: source.len() as u64 });
                source.push(b'"');
            }
            let text = Text::escaped(&source, spans);
            let mut lines = crate::lines::Lines::new(&text);
            let mut read = 0;
            while let Some(line) = lines.next().unwrap() {
                read += 1;
                assert_eq!(text.line_at(line.at).unwrap(), read, "{blocks:?}");
            }
            assert_eq!((text.line_count().unwrap(), read), (count, count), "{blocks:?}");
        }
    }
}
