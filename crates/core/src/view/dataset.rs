//! A kept result as data: its text, its records as JSON, and its lines. This is what the engines read.

use std::io;
use std::ops::ControlFlow;

use crate::json::{Dialect, compact};
use crate::lines::Lines;
use crate::outline::{Outline, RecordsOutline};
use crate::records::{JsonRecord, Notation, Records};
use crate::source::Source;
use crate::surroundings::Surroundings;
use crate::text::{DataText, Text};

/// A kept result as data.
pub struct Dataset<'a> {
    pub(crate) source: &'a dyn Source,
    pub(crate) outline: &'a Outline,
    pub(crate) text: Text<'a>,
}

/// One record as JSON.
#[derive(Debug, Clone, Copy)]
pub struct RecordText<'r> {
    /// Its number, from 0.
    pub number: u64,
    /// Its key, where the records are members of an object.
    pub key: Option<&'r str>,
    /// Its JSON, without white space.
    pub json: &'r str,
    /// Whether that is all of it.
    pub whole: bool,
}

/// One line.
#[derive(Debug, Clone, Copy)]
pub struct LineText<'l> {
    /// Its number, from 1.
    pub number: u64,
    /// Its text; of a very long line the beginning.
    pub text: &'l str,
}

/// The maximum number of parts beside the text that a view names.
const MAX_NAMED_PARTS: usize = 3;

impl<'a> Dataset<'a> {
    /// Opens a result with its outline.
    pub fn new(source: &'a dyn Source, outline: &'a Outline) -> Self {
        let text = Text::indexed(source, outline.parts.clone(), outline.escaped, outline.text.clone());
        Self { source, outline, text }
    }

    /// Returns the bytes of the result.
    pub fn source(&self) -> &'a dyn Source {
        self.source
    }

    /// Returns the outline of the result.
    pub fn outline(&self) -> &'a Outline {
        self.outline
    }

    /// Returns the whole decoded text.
    ///
    /// # Errors
    ///
    /// The source cannot be read.
    pub fn decoded_text(&self) -> io::Result<Vec<u8>> {
        self.text.to_bytes()
    }

    /// Returns what the text was recognised as.
    pub fn kind(&self) -> &str {
        self.outline.kind()
    }

    /// Returns the paths of the fields of the records.
    pub fn fields(&self) -> &[String] {
        self.outline.data.as_ref().map_or(&[], |data| &data.fields)
    }

    /// Returns the path of the main list, empty where the whole is the list.
    pub fn records_path(&self) -> &str {
        self.main().map_or("", |records| &records.path)
    }

    /// Returns how many records the main list has.
    pub fn record_count(&self) -> u64 {
        self.main().map_or(0, RecordsOutline::count)
    }

    /// Returns whether the records are members of an object rather than elements of a list.
    pub fn is_keyed(&self) -> bool {
        self.main().is_some_and(|records| records.keyed)
    }

    /// Returns how many lines the text has.
    ///
    /// # Errors
    ///
    /// The source cannot be read.
    pub fn line_count(&self) -> io::Result<u64> {
        self.text.line_count()
    }

    /// Returns the first characters of the text.
    ///
    /// # Errors
    ///
    /// The source cannot be read.
    pub fn beginning(&self, characters: usize) -> io::Result<String> {
        let bytes = self.text.read(0..4 * characters as u64)?;
        Ok(String::from_utf8_lossy(&bytes).chars().take(characters).collect())
    }

    /// Returns how many bytes the text has.
    ///
    /// # Errors
    ///
    /// The source cannot be read.
    pub fn text_bytes(&self) -> io::Result<u64> {
        self.text.length()
    }

    /// Returns whether there is text before or after the data, such as words about it.
    ///
    /// # Errors
    ///
    /// The source cannot be read.
    pub fn is_surrounded(&self) -> io::Result<bool> {
        Ok(self.around_data()?.is_some())
    }

    /// Returns where there is text before or after the data, in words; `None` if there is none.
    pub(crate) fn around_data(&self) -> io::Result<Option<String>> {
        match &self.outline.data {
            Some(data) if data.translation.is_some() => {
                let lines = crate::write::plural(data.other_lines, "other line");
                Ok((data.other_lines > 0)
                    .then(|| format!("The text has {lines} beside the data: \"lines\":\"1-40\".")))
            }
            Some(data) => Ok(Surroundings::of(&self.text, data.start..data.end)?.note()),
            None => Ok(None),
        }
    }

    /// Returns the text that the offsets of the data are in.
    pub(crate) fn data_text(&self) -> io::Result<DataText<'_>> {
        let translation = self.outline.data.as_ref().and_then(|data| data.translation);
        let Some(translation) = translation else { return Ok(DataText::Original(&self.text)) };
        let json = self.text.translated(translation)?;
        let json = json.ok_or_else(|| io::Error::other("the outline is of another text"))?;
        self.text.keep_translation(translation, &json);
        Ok(DataText::Translation(Box::new(self.text.in_json(&json))))
    }

    /// Returns what the result has beside its text, in words; `None` if there is nothing.
    pub(crate) fn beside_text(&self) -> Option<String> {
        let parts = &self.outline.beside;
        let shown = parts.iter().take(MAX_NAMED_PARTS).map(|part| {
            format!("{} (\"range\":\"{}-{}\")", part.what, part.span.start, part.span.end.saturating_sub(1))
        });
        let shown: Vec<String> = shown.collect();
        let more = match parts.len() - shown.len() {
            0 => String::new(),
            more => format!(" and {more} more parts"),
        };
        (!parts.is_empty()).then(|| format!("Beside this text: {}{more}.", shown.join(", ")))
    }

    /// Returns how many values are beside the main list, in words; `None` if there are none.
    pub(crate) fn beside_records(&self) -> Option<String> {
        let beside = self.main().map_or(0, |main| main.beside);
        let values = crate::write::plural(beside, "value");
        (beside > 0).then(|| format!("{values} beside this list: \"path\":\"/\"."))
    }

    /// Returns whether records rather than lines are the unit to search in.
    pub fn is_records(&self) -> bool {
        let data = self.outline.data.as_ref().filter(|data| data.translation.is_none());
        match data.map(|data| &data.notation) {
            Some(Notation::Pattern(pattern)) => !pattern.is_searched_by_line(),
            Some(_) => self.main().is_some(),
            None => false,
        }
    }

    /// Returns whether the notation has no types, so that text which looks like a number is meant as one.
    pub fn is_textual(&self) -> bool {
        self.outline.data.as_ref().is_some_and(|data| data.notation.is_textual())
            || self.main().and_then(|main| main.form.as_ref()).is_some_and(|form| form.untyped)
    }

    /// Returns the JSON Pointer of a record, by its key or its position in the list; that of the table where the record
    /// consists of elements of several lists.
    pub fn pointer(&self, record: &RecordText<'_>) -> String {
        self.record_pointer(record.number, record.key)
    }

    pub(crate) fn record_pointer(&self, number: u64, key: Option<&str>) -> String {
        let main = self.main();
        if main.is_some_and(RecordsOutline::is_joined) {
            return super::segment::pointer_of(self.records_path());
        }
        let position = (number + main.map_or(0, RecordsOutline::header_rows)).to_string();
        super::segment::pointer(self.records_path(), key.unwrap_or(&position))
    }

    pub(crate) fn main(&self) -> Option<&RecordsOutline> {
        self.outline.data.as_ref()?.records.as_ref()
    }

    /// Returns access to the main list.
    pub(crate) fn main_records(&self) -> io::Result<Option<Records<'_>>> {
        let Some(data) = &self.outline.data else { return Ok(None) };
        let Some(main) = &data.records else { return Ok(None) };
        Ok(Some(Records {
            text: self.data_text()?,
            notation: &data.notation,
            index: &main.index,
            keyed: main.keyed,
            form: main.form.as_ref(),
        }))
    }

    /// Reads the records as JSON from number `from` on, until `visit` breaks; of one record at most about `most`
    /// bytes are kept.
    ///
    /// # Errors
    ///
    /// The source cannot be read.
    pub fn records(
        &self,
        from: u64,
        most: usize,
        visit: &mut dyn FnMut(RecordText<'_>) -> ControlFlow<()>,
    ) -> io::Result<()> {
        self.json_records(from, most, |record| {
            let JsonRecord { number, key, json, whole, .. } = &record;
            visit(RecordText { number: *number, key: key.as_deref(), json, whole: *whole })
        })
    }

    pub(crate) fn json_records(
        &self,
        from: u64,
        most: usize,
        visit: impl FnMut(JsonRecord) -> ControlFlow<()>,
    ) -> io::Result<()> {
        match self.main_records()? {
            Some(records) => records.each_json(from, most, visit),
            None => Ok(()),
        }
    }

    /// Reads the lines of the text from number `from` (from 1) on, until `visit` breaks.
    ///
    /// # Errors
    ///
    /// The source cannot be read.
    pub fn lines(&self, from: u64, visit: &mut dyn FnMut(LineText<'_>) -> ControlFlow<()>) -> io::Result<()> {
        let (mut number, mut lines) = self.lines_from(from)?;
        while let Some(line) = lines.next()? {
            if number >= from && visit(LineText { number, text: &line.text() }).is_break() {
                break;
            }
            number += 1;
        }
        Ok(())
    }

    /// Starts to read lines at or before line `from`, and returns the number of the first of them.
    pub(crate) fn lines_from(&self, from: u64) -> io::Result<(u64, Lines<'_>)> {
        match self.text.before_line(from.saturating_sub(1)) {
            None => Ok((1, Lines::new(&self.text))),
            Some(checkpoint) if checkpoint.decoded == 0 => Ok((1, Lines::new(&self.text))),
            Some(checkpoint) => {
                // The checkpoint is somewhere inside a line; the rest of that line is skipped.
                let mut lines = Lines::from(&self.text, checkpoint.decoded)?;
                lines.next()?;
                Ok((checkpoint.lines + 2, lines))
            }
        }
    }

    /// Returns the data as one JSON value: the value itself, or the list of the records where it is in another
    /// notation, or the list of lines where it is not data. `None` if that is more than `most` bytes.
    ///
    /// # Errors
    ///
    /// The source cannot be read.
    pub fn to_json(&self, most: usize) -> io::Result<Option<Vec<u8>>> {
        if self.text.max_len() > most as u64 {
            return Ok(None);
        }
        let json = match self.outline.data.as_ref() {
            Some(data) if data.notation == Notation::Json(Dialect::Json) => {
                Some(self.data_text()?.read(data.start..data.end)?)
            }
            Some(data) if data.notation == Notation::Json(Dialect::Python) => {
                self.literal_to_json(data.start)?
            }
            Some(_) => Some(self.records_to_json()?),
            None => Some(self.lines_to_json()?),
        };
        Ok(json.map(without_lone_surrogates))
    }

    fn literal_to_json(&self, start: u64) -> io::Result<Option<Vec<u8>>> {
        let mut scanner = crate::json::Scanner::at(&self.text, start, Dialect::Python)?;
        let compact = compact::value(&mut scanner, Dialect::Python, usize::MAX);
        Ok(compact.ok().filter(|compact| compact.whole).map(|compact| compact.text.into_bytes()))
    }

    /// Reads the records as they are written: lists stay lists, and a header row is one of them.
    pub(crate) fn written_records(&self, visit: impl FnMut(JsonRecord) -> ControlFlow<()>) -> io::Result<()> {
        match self.main_records()? {
            Some(records) => Records { form: None, ..records }.each_json(0, usize::MAX, visit),
            None => Ok(()),
        }
    }

    fn records_to_json(&self) -> io::Result<Vec<u8>> {
        let mut out = b"[".to_vec();
        self.written_records(|record| {
            if out.len() > 1 {
                out.push(b',');
            }
            out.extend_from_slice(record.json.as_bytes());
            ControlFlow::Continue(())
        })?;
        out.push(b']');
        Ok(out)
    }

    fn lines_to_json(&self) -> io::Result<Vec<u8>> {
        let text = self.text.to_bytes()?;
        let text = text.strip_suffix(b"\n").unwrap_or(&text);
        let mut out = String::from("[");
        let lines = text.split(|byte| *byte == b'\n').filter(|_| !text.is_empty());
        for line in lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line)) {
            if out.len() > 1 {
                out.push(',');
            }
            crate::json::string::write(&String::from_utf8_lossy(line), &mut out);
        }
        out.push(']');
        Ok(out.into_bytes())
    }

    /// Returns what [`to_json`](Self::to_json) reads, in words; `None` if that is simply all of the text.
    ///
    /// # Errors
    ///
    /// The source cannot be read.
    pub fn json_subject(&self) -> io::Result<Option<String>> {
        let Some(data) = &self.outline.data else {
            return Ok(Some(format!("the list of the {} lines of the text", self.line_count()?)));
        };
        let is_surrounded = self.is_surrounded()?;
        Ok(match &data.notation {
            Notation::Json(_) if is_surrounded && data.translation.is_some() => {
                Some("the data of the text as JSON, without its other lines".to_owned())
            }
            Notation::Json(_) if is_surrounded => Some(format!(
                "the JSON in bytes {} to {} of the text, without the text around it",
                data.start, data.end
            )),
            Notation::Json(_) => None,
            _ if is_surrounded || self.outline.parts.len() > 1 => {
                Some(format!("the list of the {} records, without the text around them", self.record_count()))
            }
            _ => None,
        })
    }
}

/// Replaces lone surrogates, which strict parsers refuse, with the six characters of their escape, as they are shown
/// everywhere else.
fn without_lone_surrogates(json: Vec<u8>) -> Vec<u8> {
    let surrogate = |at: usize| -> Option<u16> {
        let digits = json.get(at + 2..at + 6).filter(|_| json[at..].starts_with(b"\\u"))?;
        let unit = u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
        (0xd800..0xe000).contains(&unit).then_some(unit)
    };
    let mut out = Vec::new();
    let (mut at, mut copied) = (0, 0);
    while let Some(found) = memchr::memchr(b'\\', &json[at..]) {
        at += found;
        match surrogate(at) {
            Some(high) if high < 0xdc00 && surrogate(at + 6).is_some_and(|low| low >= 0xdc00) => at += 12,
            Some(_) => {
                out.extend_from_slice(&json[copied..at]);
                out.push(b'\\');
                copied = at;
                at += 6;
            }
            None => at += 2,
        }
        at = at.min(json.len());
    }
    if copied == 0 && out.is_empty() {
        return json;
    }
    out.extend_from_slice(&json[copied..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lone_surrogates_become_text() {
        for (json, strict) in [
            (r#"["\ud834\udd1e","a"]"#, r#"["\ud834\udd1e","a"]"#),
            (r#"["\ud800"]"#, r#"["\\ud800"]"#),
            (r#"["x\udc00\ud800y\\ud800"]"#, r#"["x\\udc00\\ud800y\\ud800"]"#),
        ] {
            let out = without_lone_surrogates(json.as_bytes().to_vec());
            assert_eq!(String::from_utf8(out).unwrap(), strict);
        }
    }
}
