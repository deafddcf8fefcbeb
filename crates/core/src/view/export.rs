//! Writes a whole view to a file: as CSV, JSON or JSON lines, or as the text or the bytes themselves.
//!
//! A file has no budget, so nothing here builds it in memory: records, lines, rows and bytes are written as they are read.
//! Only a value at a path, and the data that jq and SQL load, are held in memory whole. Values are exact: only what the
//! format requires is escaped.

mod cells;
mod rows;

use std::io::{self, Write};
use std::ops::{ControlFlow, Range};

use super::dataset::Dataset;
use super::engine::{EngineEvent, EngineProgram, Engines, ResultWindow};
use super::error::ViewError;
use super::records::{default_size, expand, unknown_field};
use super::{Query, View, is_picture, main_value, picture, within};
use crate::json::{Dialect, string};
use crate::outline::{Outline, RecordsOutline};
use crate::payload::Payload;
use crate::records::Notation;
use crate::source::{Source, Span};
use crate::text::Text;
use rows::{RowText, RowWriter};

/// How a view is written to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    /// A header row and one row per record.
    Csv,
    /// One JSON value.
    Json,
    /// One JSON value per line.
    JsonLines,
    /// The decoded text, or the bytes of a picture.
    Text,
    /// The stored bytes.
    Bytes,
}

impl ExportFormat {
    /// Returns the format of a file, by the ending of its name: `.csv`, `.json`, `.jsonl` or `.ndjson`; the stored bytes for
    /// `.bin`, `.raw` and a name without an ending; the text for every other ending.
    ///
    /// ```
    /// # use tidegate_core::view::ExportFormat;
    /// assert_eq!(ExportFormat::of_file("issues.CSV"), ExportFormat::Csv);
    /// assert_eq!(ExportFormat::of_file("build.log"), ExportFormat::Text);
    /// assert_eq!(ExportFormat::of_file("issues"), ExportFormat::Bytes);
    /// ```
    pub fn of_file(name: &str) -> Self {
        let ending = name.trim_start_matches('.').rsplit_once('.').map_or("", |(_, ending)| ending);
        match ending.to_ascii_lowercase().as_str() {
            "csv" => Self::Csv,
            "json" => Self::Json,
            "jsonl" | "ndjson" => Self::JsonLines,
            "" | "bin" | "raw" => Self::Bytes,
            _ => Self::Text,
        }
    }
}

/// A view to write, with everything it depends on.
#[derive(Clone, Copy)]
pub struct ExportRequest<'r> {
    /// The result.
    pub source: &'r dyn Source,
    /// The outline that was stored with it.
    pub outline: &'r Outline,
    /// The view; `Summary` means the whole result.
    pub query: &'r Query,
    /// How it is written.
    pub format: ExportFormat,
    /// The engines behind jq, sql and grep.
    pub engines: &'r dyn Engines,
}

/// What was written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exported {
    /// Bytes of the file.
    pub bytes: u64,
    /// Records, rows or lines; `None` where the file has none.
    pub rows: Option<u64>,
    /// The columns of a table.
    pub columns: Vec<String>,
    /// What a reader of the file must know.
    pub notes: Vec<String>,
}

/// Why a view was not written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The view makes no sense, or the result cannot be read.
    #[error(transparent)]
    View(#[from] ViewError),
    /// The file cannot be written.
    #[error("cannot write the file")]
    Write(#[source] io::Error),
}

/// Writes a view whole.
///
/// # Errors
///
/// A view that makes no sense for this result, a result that cannot be read, or a file that cannot be written.
pub fn export(request: &ExportRequest<'_>, out: &mut dyn Write) -> Result<Exported, ExportError> {
    let mut output = Output { out, bytes: 0, has_failed: false };
    match request.write(&mut output) {
        Ok(exported) => Ok(Exported { bytes: output.bytes, ..exported }),
        Err(ViewError::Source(error)) if output.has_failed => Err(ExportError::Write(error)),
        Err(error) => Err(ExportError::View(error)),
    }
}

/// The file. It counts its bytes and remembers whether writing failed, since reading and writing return the same error type.
struct Output<'o> {
    out: &'o mut dyn Write,
    bytes: u64,
    has_failed: bool,
}

impl Write for Output<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes).inspect_err(|_| self.has_failed = true)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// How many bytes of the source are copied at a time.
const COPIED_BYTES: u64 = 256 * 1024;

impl ExportRequest<'_> {
    fn write(&self, out: &mut Output<'_>) -> Result<Exported, ViewError> {
        let dataset = &Dataset::new(self.source, self.outline);
        let is_picture = is_picture(self.source, &self.query.view)?;
        match &self.query.view {
            View::Path(_) if is_picture => self.picture(out),
            View::Path(path) => self.value(dataset, path, out),
            View::Within { path, view } => {
                let opened = within::open(dataset, path)?;
                self.inside(&opened, (**view).clone(), out)
            }
            View::Summary | View::Full => self.whole(dataset, out),
            View::Range { from, to } => self.range(*from, *to, out),
            view => match EngineProgram::of_view(view) {
                Some(program @ (EngineProgram::Grep { .. } | EngineProgram::Count(_))) => {
                    let found = self.engines.run(dataset, program, EVERYTHING)?;
                    self.texts(&found.results, found.notes, out)
                }
                _ => match main_value(dataset, view)? {
                    Some(opened) => self.inside(&opened, view.clone(), out),
                    None => self.part(dataset, out),
                },
            },
        }
    }

    /// Writes a view of a value inside the result.
    fn inside(
        &self,
        opened: &within::OpenedValue,
        view: View,
        out: &mut Output<'_>,
    ) -> Result<Exported, ViewError> {
        let query = Query { view, ..self.query.clone() };
        ExportRequest { source: &opened.bytes, outline: &opened.outline, query: &query, ..*self }.write(out)
    }

    /// Writes a part of the data.
    fn part(&self, dataset: &Dataset<'_>, out: &mut Output<'_>) -> Result<Exported, ViewError> {
        match &self.query.view {
            View::Page { number, size } => {
                let Some(main) = dataset.main() else {
                    return Err(ViewError::bad("there are no records here to make pages of; use lines"));
                };
                let (size, count) = (size.unwrap_or_else(|| default_size(main)), main.count());
                let start = (number - 1).saturating_mul(size);
                if start >= count {
                    return Err(ViewError::bad(format!(
                        "page {number} is beyond the end: {count} records make {} pages of {size}",
                        count.div_ceil(size)
                    )));
                }
                self.records(dataset, start..start.saturating_add(size).min(count), out)
            }
            View::Lines { from, to } => self.lines(dataset, *from, *to, out),
            View::Jq(program) => self.program(dataset, EngineProgram::Jq(program), out),
            View::Sql(query) => self.program(dataset, EngineProgram::Sql(query), out),
            _ => Err(ViewError::bad("this view cannot be written to a file")),
        }
    }

    /// Writes all of the result.
    fn whole(&self, dataset: &Dataset<'_>, out: &mut Output<'_>) -> Result<Exported, ViewError> {
        let has_fields = !self.query.fields.is_empty();
        match self.format {
            ExportFormat::Bytes if !has_fields => self.range(0, None, out),
            ExportFormat::Text if !has_fields => self.text(dataset, out),
            ExportFormat::Json if !has_fields => json(dataset, out),
            _ => match main_value(dataset, &View::Page { number: 1, size: None })? {
                Some(opened) => self.inside(&opened, View::Full, out),
                None => self.all_records(dataset, out),
            },
        }
    }

    fn all_records(&self, dataset: &Dataset<'_>, out: &mut Output<'_>) -> Result<Exported, ViewError> {
        match dataset.main() {
            Some(main) => self.records(dataset, 0..main.count(), out),
            None if self.format == ExportFormat::JsonLines && dataset.outline.data.is_none() => {
                self.lines(dataset, 1, None, out)
            }
            None => Err(ViewError::bad(format!(
                "the result has no records to make rows of; it is {}. Write it to a .txt or .json file",
                dataset.kind()
            ))),
        }
    }

    /// Writes records, or some fields of them.
    fn records(
        &self,
        dataset: &Dataset<'_>,
        range: Range<u64>,
        out: &mut Output<'_>,
    ) -> Result<Exported, ViewError> {
        let fields = expand(dataset, &self.query.fields);
        let mut writer = RowWriter::new(self.format, out);
        if fields.is_empty() {
            if self.format == ExportFormat::Csv {
                let mut columns = cells::Columns::new(dataset.is_keyed());
                each_record(dataset, &range, &mut |_, json| columns.add(json))?;
                writer.set_columns(columns.into_names());
            }
            each_record(dataset, &range, &mut |key, json| writer.push(&RowText::Record { key, json }))?;
        } else {
            let mut projection = cells::Projection::new(&fields, dataset.is_keyed());
            writer.set_columns(projection.columns());
            each_record(dataset, &range, &mut |key, json| {
                writer.push(&RowText::Cells(&projection.cells(key, json)))
            })?;
            let unknown =
                projection.unseen().filter(|field| !dataset.has_field(field)).map(str::to_owned).next();
            if let Some(field) = unknown {
                return Err(unknown_field(dataset, &field));
            }
        }
        let mut exported = writer.finish()?;
        exported.notes.extend(dataset.beside_records());
        exported.notes.extend(dataset.around_data()?);
        exported.notes.extend(dataset.beside_text());
        Ok(exported)
    }

    /// Writes every result of a program.
    fn program(
        &self,
        dataset: &Dataset<'_>,
        program: EngineProgram<'_>,
        out: &mut Output<'_>,
    ) -> Result<Exported, ViewError> {
        let mut writer = RowWriter::new(self.format, out);
        if self.format == ExportFormat::Csv && matches!(program, EngineProgram::Jq(_)) {
            // A header needs the columns of all results, so the program runs twice.
            let mut columns = cells::Columns::new(false);
            self.engines.each(dataset, program, &mut |event| match event {
                EngineEvent::Value(json) => columns.add(json),
                _ => Ok(()),
            })?;
            writer.set_columns(columns.into_names());
        }
        let notes = self.engines.each(dataset, program, &mut |event| match event {
            EngineEvent::Columns(names) => {
                writer.set_columns(names.to_vec());
                Ok(())
            }
            EngineEvent::Row(cells) => writer.push(&RowText::Cells(cells)),
            EngineEvent::Value(json) => writer.push(&RowText::Record { key: None, json }),
        })?;
        let exported = writer.finish()?;
        Ok(Exported { notes, ..exported })
    }

    /// Writes texts, such as what grep found, one per row.
    fn texts(
        &self,
        texts: &[String],
        notes: Vec<String>,
        out: &mut Output<'_>,
    ) -> Result<Exported, ViewError> {
        let mut writer = RowWriter::new(self.format, out);
        writer.set_columns(vec![String::new()]);
        for text in texts {
            writer.push(&RowText::Record { key: None, json: &json_string(text) })?;
        }
        Ok(Exported { notes, ..writer.finish()? })
    }

    fn lines(
        &self,
        dataset: &Dataset<'_>,
        from: u64,
        to: Option<u64>,
        out: &mut Output<'_>,
    ) -> Result<Exported, ViewError> {
        let total = dataset.line_count()?;
        if from > total {
            return Err(ViewError::bad(format!("line {from} is beyond the end: the text has {total} lines")));
        }
        let last = to.unwrap_or(total).min(total);
        let (mut number, mut lines) = dataset.lines_from(from)?;
        if matches!(self.format, ExportFormat::Text | ExportFormat::Bytes) {
            while number < from && lines.next()?.is_some() {
                number += 1;
            }
            let start = lines.position();
            while number <= last && lines.next()?.is_some() {
                number += 1;
            }
            copy_text(&dataset.text, start..lines.position(), out)?;
            return Ok(Exported { rows: Some(last + 1 - from), ..Exported::default() });
        }
        let mut writer = RowWriter::new(self.format, out);
        writer.set_columns(vec![String::new()]);
        while let Some(line) = lines.next_whole(u64::MAX)?.filter(|_| number <= last) {
            if number >= from {
                writer.push(&RowText::Record { key: None, json: &json_string(&line.text) })?;
            }
            number += 1;
        }
        writer.finish().map_err(ViewError::from)
    }

    fn range(&self, from: u64, to: Option<u64>, out: &mut Output<'_>) -> Result<Exported, ViewError> {
        if !matches!(self.format, ExportFormat::Text | ExportFormat::Bytes) {
            return Err(ViewError::bad(
                "range reads bytes; write them to a file with another ending, such as .bin",
            ));
        }
        let length = self.source.len();
        if from > 0 && from >= length {
            return Err(ViewError::bad(format!(
                "byte {from} is beyond the end: the result has {length} bytes"
            )));
        }
        let end = to.map_or(length, |to| to.saturating_add(1).min(length));
        let mut start = from;
        while start < end {
            let part = Span { start, end: (start + COPIED_BYTES).min(end) };
            out.write_all(&part.read(self.source)?)?;
            start = part.end;
        }
        Ok(Exported::default())
    }

    /// Writes the decoded text, or the picture if the result is only a picture.
    fn text(&self, dataset: &Dataset<'_>, out: &mut Output<'_>) -> Result<Exported, ViewError> {
        if dataset.text_bytes()? > 0 {
            copy_text(&dataset.text, 0..u64::MAX, out)?;
            let notes = dataset.beside_text().into_iter().collect();
            return Ok(Exported { rows: Some(dataset.line_count()?), notes, ..Exported::default() });
        }
        let payload = Payload::read_result(self.source).map_err(io::Error::other)?;
        match payload.block_count {
            1 => self.block(&payload, 0, out),
            count => Err(ViewError::bad(format!(
                "the result has no text, but {count} blocks; name one with path, such as /content/0"
            ))),
        }
    }

    fn picture(&self, out: &mut Output<'_>) -> Result<Exported, ViewError> {
        let payload = Payload::read_result(self.source).map_err(io::Error::other)?;
        self.block(&payload, picture::block_number(&self.query.view).unwrap_or(0), out)
    }

    fn block(
        &self,
        payload: &Payload<'_>,
        number: usize,
        out: &mut Output<'_>,
    ) -> Result<Exported, ViewError> {
        out.write_all(&payload.block_content(number)?.unwrap_or_default())?;
        Ok(Exported::default())
    }

    /// Writes the value at a path; a string that is data is written as that data.
    fn value(&self, dataset: &Dataset<'_>, path: &str, out: &mut Output<'_>) -> Result<Exported, ViewError> {
        if path.contains('*') {
            return Err(ViewError::bad(
                "a path with * is not one value; write it as jq, such as .items[].name",
            ));
        }
        let opened = match within::open(dataset, path) {
            // A path that is not in the data may name a block of the result, such as `/content/1`.
            Err(error) => within::open(dataset, &format!("/{}", path.trim())).map_err(|_| error)?,
            opened => opened?,
        };
        match self.format {
            ExportFormat::Text | ExportFormat::Bytes => out.write_all(&opened.bytes)?,
            ExportFormat::Json if crate::json::strict::is_value(&String::from_utf8_lossy(&opened.bytes)) => {
                out.write_all(&opened.bytes)?;
                out.write_all(b"\n")?;
            }
            ExportFormat::Json if opened.outline.data.is_none() => {
                out.write_all(json_string(&String::from_utf8_lossy(&opened.bytes)).as_bytes())?;
                out.write_all(b"\n")?;
            }
            _ => return self.inside(&opened, View::Full, out),
        }
        Ok(Exported::default())
    }
}

/// A window with all results of an engine.
const EVERYTHING: ResultWindow = ResultWindow { skip: 0, bytes: usize::MAX };

impl Dataset<'_> {
    /// Returns whether some record has a field, or members below it.
    fn has_field(&self, field: &str) -> bool {
        let is_below = |name: &str| name.strip_prefix(field).is_some_and(|rest| rest.starts_with(['.', '[']));
        self.fields().iter().any(|name| name == field || is_below(name))
    }
}

/// Writes the data as one JSON value: as it was written, or the list of its records or lines.
fn json(dataset: &Dataset<'_>, out: &mut Output<'_>) -> Result<Exported, ViewError> {
    let rows = dataset.main().map(RecordsOutline::count);
    let mut notes: Vec<String> = dataset.around_data()?.into_iter().collect();
    notes.extend(dataset.beside_text());
    let exported = Exported { rows, notes, ..Exported::default() };
    match dataset.outline.data.as_ref().map(|data| (&data.notation, data.start..data.end)) {
        Some((Notation::Json(Dialect::Json), range)) => {
            copy_text(&*dataset.data_text()?, range, out)?;
            out.write_all(b"\n")?;
            Ok(exported)
        }
        Some((Notation::Json(_), _)) => {
            out.write_all(&dataset.to_json(usize::MAX)?.unwrap_or_default())?;
            Ok(exported)
        }
        Some(_) => {
            let mut writer = RowWriter::new(ExportFormat::Json, out);
            let mut failed = None;
            dataset.written_records(|record| {
                match writer.push(&RowText::Record { key: None, json: &record.json }) {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(error) => {
                        failed = Some(error);
                        ControlFlow::Break(())
                    }
                }
            })?;
            failed.map_or(Ok(()), Err)?;
            writer.finish()?;
            Ok(exported)
        }
        None => {
            let mut writer = RowWriter::new(ExportFormat::Json, out);
            let (_, mut lines) = dataset.lines_from(1)?;
            while let Some(line) = lines.next_whole(u64::MAX)? {
                writer.push(&RowText::Record { key: None, json: &json_string(&line.text) })?;
            }
            let rows = writer.finish()?.rows;
            Ok(Exported { rows, ..exported })
        }
    }
}

/// Calls `visit` for the records of a range, until it returns an error.
fn each_record(
    dataset: &Dataset<'_>,
    range: &Range<u64>,
    visit: &mut dyn FnMut(Option<&str>, &str) -> io::Result<()>,
) -> io::Result<()> {
    let mut failed = None;
    dataset.json_records(range.start, usize::MAX, |record| {
        if record.number >= range.end {
            return ControlFlow::Break(());
        }
        match visit(record.key.as_deref(), &record.json) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                failed = Some(error);
                ControlFlow::Break(())
            }
        }
    })?;
    failed.map_or(Ok(()), Err)
}

/// Copies a range of a decoded text, up to the end of the text.
fn copy_text(text: &Text<'_>, range: Range<u64>, out: &mut Output<'_>) -> io::Result<()> {
    let mut feed = text.feed_from(range.start)?;
    let mut left = range.end.saturating_sub(range.start);
    let mut block = Vec::new();
    while left > 0 {
        block.clear();
        let has_more = feed.fill(&mut block)?;
        let count = (block.len() as u64).min(left);
        out.write_all(&block[..usize::try_from(count).unwrap_or(block.len())])?;
        left -= count;
        if !has_more {
            break;
        }
    }
    Ok(())
}

pub(super) fn json_string(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    string::write(text, &mut out);
    out
}
