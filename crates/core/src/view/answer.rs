//! From a query to the text of its answer, within the budget.
//!
//! An engine runs once for each query. What it found, or the dataset itself, is then written into a [`SectionWriter`], and the
//! writing is repeated with less room until the answer with its frame fits: what the frame says depends on what
//! found a place, so its cost is known only afterwards.

use std::io;

use super::cursor;
use super::dataset::Dataset;
use super::engine::{EngineOutput, EngineProgram, Engines, ResultWindow, Total};
use super::error::ViewError;
use super::{Query, View, path, picture, records, texts, within};
use crate::budget::Budget;
use crate::envelope::{self, Handle};
use crate::hints::Hints;
use crate::measure::{Cost, Meter};
use crate::outline::Outline;
use crate::payload::Payload;
use crate::quantity::{Bytes, Tokens};
use crate::shape::{Fill, Prepared, Request, SectionWriter};
use crate::source::Source;
use crate::{plain_name, write};

/// A query to a kept result, with everything its answer depends on.
#[derive(Clone, Copy)]
pub struct ViewRequest<'r> {
    /// The result.
    pub source: &'r dyn Source,
    /// The outline that was stored with it.
    pub outline: &'r Outline,
    /// What the tool's policy says about its results; only the summary depends on it.
    pub hints: &'r Hints,
    /// The tool that it came from.
    pub tool: &'r str,
    /// Its name.
    pub handle: Handle<'r>,
    /// The part that the caller asks for.
    pub query: &'r Query,
    /// What the answer may cost.
    pub budget: Budget,
    /// How tokens are counted.
    pub meter: Meter,
    /// The engines behind jq, sql and grep.
    pub engines: &'r dyn Engines,
    /// The MAC that makes a cursor this artifact's own.
    pub seal: &'r dyn Fn(&[u8]) -> [u8; cursor::SEAL_BYTES],
}

/// The answer to a query.
#[derive(Debug, Clone)]
pub struct Answer {
    /// What the model reads.
    pub text: String,
    /// The part alone, without its frame.
    pub body: String,
    /// How many rows, lines or bytes are shown, as the view counts.
    pub shown: u64,
    /// How many there are, where that is known.
    pub of: Option<u64>,
    /// The query for the next part.
    pub next: Option<Query>,
    /// What the text costs, and the picture with it.
    pub cost: Cost,
    /// The image block, as JSON, where a picture was asked for.
    pub picture: Option<String>,
}

/// A part that is being written: of which result, for which query, and where to.
pub(crate) struct PartWriter<'v, 'w> {
    pub(crate) dataset: &'v Dataset<'v>,
    pub(crate) query: &'v Query,
    pub(crate) writer: &'v mut SectionWriter<'w>,
}

/// The part that a view wrote.
pub(crate) struct Part {
    /// A description of the part: `rows 1-20 of 430`.
    pub(crate) what: String,
    pub(crate) shown: u64,
    pub(crate) of: Option<u64>,
    pub(crate) next: Option<Query>,
    pub(crate) notes: Vec<String>,
}

/// The tokens first set aside for the frame.
const FRAME_TOKENS: u64 = 90;
/// The bytes first set aside for the frame.
const FRAME_BYTES: u64 = 400;

/// Answers a query. A budget below the least that an answer needs is raised to it, and the answer says so.
///
/// # Errors
///
/// A query that makes no sense for this result, or a result that cannot be read.
pub fn answer(asked: &ViewRequest<'_>) -> Result<Answer, ViewError> {
    let least = Budget::MIN_TOKENS;
    let is_least = asked.budget.tokens <= least;
    let budget = Budget { tokens: asked.budget.tokens.max(least), ..asked.budget };
    let asked = &ViewRequest { budget, ..*asked };
    if asked.query.view == View::Summary {
        return summary(asked);
    }
    let dataset = Dataset::new(asked.source, asked.outline);
    if let View::Within { path, view } = &asked.query.view {
        let opened = within::open(&dataset, path)?;
        let query = Query { view: (**view).clone(), ..asked.query.clone() };
        let source = &opened.bytes;
        return answer(&ViewRequest { source, outline: &opened.outline, query: &query, ..*asked });
    }
    if let Some(picture) = picture::answer(&dataset, asked)? {
        return Ok(picture);
    }
    if let Some(query) = within::route(&dataset, asked)? {
        return answer(&ViewRequest { query: &query, ..*asked });
    }
    let found = asked.run_engine(&dataset)?;
    let (mut tokens, mut bytes) = (
        asked.budget.tokens.0.saturating_sub(FRAME_TOKENS),
        asked.budget.bytes.0.saturating_sub(FRAME_BYTES),
    );
    loop {
        let mut writer = SectionWriter::new(&asked.meter, tokens, bytes);
        let mut part = match &found {
            Some(found) => asked.found(found, &mut writer)?,
            None => asked.part(&dataset, &mut writer)?,
        };
        if is_least {
            part.notes.push(format!("max_tokens counts as {least}, the least for an answer."));
        }
        let answer = asked.finish(part, writer.into_text());
        let over = |cost: &Cost| (cost.tokens - asked.budget.tokens, cost.bytes - asked.budget.bytes);
        let (Tokens(more_tokens), Bytes(more_bytes)) = over(&answer.cost);
        if (more_tokens, more_bytes) == (0, 0) {
            return Ok(answer);
        }
        let before = (tokens, bytes);
        tokens = tokens.saturating_sub(if more_tokens > 0 { more_tokens + 4 } else { 0 });
        bytes = bytes.saturating_sub(if more_bytes > 0 { more_bytes + 16 } else { 0 });
        if (tokens, bytes) == before {
            // The frame alone is over the budget: it repeats the query, so the query is too long.
            return Err(no_room());
        }
    }
}

/// Returns the error for a budget that has no room for any part of the answer.
pub(super) fn no_room() -> ViewError {
    ViewError::bad("there is no room for an answer; name fewer fields, or set a higher max_tokens")
}

fn summary(asked: &ViewRequest<'_>) -> Result<Answer, ViewError> {
    let payload = match asked.outline.scope.is_empty() {
        true => {
            Payload::read_result(asked.source).map_err(|error| ViewError::Source(io::Error::other(error)))?
        }
        false => Payload::plain(asked.source),
    };
    let text = payload.joined_text();
    let prepared = Prepared::with_hints(&payload, text.as_ref(), asked.hints)?.within(&asked.outline.scope);
    let request = Request {
        tool: asked.tool,
        arguments: None,
        handle: asked.handle,
        budget: asked.budget,
        meter: asked.meter,
        fill: Fill::Useful,
    };
    let shaped = prepared.overview(&request)?;
    Ok(Answer {
        body: shaped.text.clone(),
        text: shaped.text,
        shown: 0,
        of: None,
        next: None,
        cost: shaped.shaped,
        picture: None,
    })
}

impl ViewRequest<'_> {
    /// Runs the engine behind a view that computes; `None` for the other views.
    fn run_engine(&self, dataset: &Dataset<'_>) -> Result<Option<EngineOutput>, ViewError> {
        let window = ResultWindow {
            skip: self.query.position,
            bytes: usize::try_from(self.budget.bytes.0).unwrap_or(usize::MAX),
        };
        let program = EngineProgram::of_view(&self.query.view);
        program.map(|program| self.engines.run(dataset, program, window)).transpose()
    }

    /// Writes a view that needs no engine, as much of it as fits.
    fn part(&self, dataset: &Dataset<'_>, writer: &mut SectionWriter<'_>) -> Result<Part, ViewError> {
        match &self.query.view {
            View::Page { number, size } => {
                let part = PartWriter { dataset, query: self.query, writer };
                with_beside(dataset, records::page(part, *number, *size))
            }
            View::Path(path) => path::view(dataset, self.query, path, writer),
            View::Lines { from, to } => {
                let part = PartWriter { dataset, query: self.query, writer };
                with_beside(dataset, texts::lines(part, *from, *to))
            }
            View::Range { from, to } => {
                texts::range(PartWriter { dataset, query: self.query, writer }, *from, *to)
            }
            View::Full => with_beside(dataset, self.full(dataset, writer)),
            View::Summary
            | View::Jq(_)
            | View::Sql(_)
            | View::Grep { .. }
            | View::Count(_)
            | View::Within { .. } => Err(ViewError::bad("this view is not written from the records")),
        }
    }

    /// Writes the results of an engine, as many as fit.
    fn found(&self, found: &EngineOutput, writer: &mut SectionWriter<'_>) -> Result<Part, ViewError> {
        let (skip, name) = (self.query.position, self.query.view.name());
        let mut notes = found.notes.clone();
        if let Some(header) = found.header.as_ref().filter(|_| !found.results.is_empty())
            && !writer.push(0, header.clone())
        {
            notes.push("There is no room for the names of the columns.".into());
        }
        let mut shown = 0;
        for result in &found.results {
            let cut = shown == 0 && !writer.fits(result);
            if cut {
                notes.push(
                    "It is cut, since it is longer than the answer may be; ask for a part of it.".into(),
                );
                if texts::push_cut(writer, result) == 0 {
                    return Err(no_room());
                }
            } else if !writer.push(0, result.clone()) {
                break;
            }
            shown += 1;
            if cut {
                break;
            }
        }
        let (total, more, of) = match found.total {
            Total::Exactly(total) => (write::grouped(total), skip + shown < total, Some(total)),
            Total::AtLeast(total) => (format!("at least {}", write::grouped(total)), true, None),
        };
        let what = match (shown, found.total) {
            (0, Total::Exactly(0)) => format!("{name} found no {}", found.what),
            (0, Total::AtLeast(0)) => format!("{name} found no {} before it was stopped", found.what),
            _ => {
                format!("{name} {} {}-{} of {total}", found.what, (skip + 1).min(skip + shown), skip + shown)
            }
        };
        let next = (more && shown > 0).then(|| self.query.at(skip + shown));
        Ok(Part { what, shown, of, next, notes })
    }

    /// Writes all of the text if it fits, else its first page.
    fn full(&self, dataset: &Dataset<'_>, writer: &mut SectionWriter<'_>) -> Result<Part, ViewError> {
        if self.query.position == 0 && dataset.text.max_len() <= 8 * writer.left() {
            let text = String::from_utf8_lossy(&dataset.text.to_bytes()?).into_owned();
            let lines = dataset.line_count()?;
            if writer.push(0, crate::visible::text(&text)) {
                let all = if dataset.outline.beside.is_empty() { "it" } else { "its text" };
                let what = format!("all of {all}, {}", write::plural(lines, "line"));
                let colours = crate::visible::has_colours(text.as_bytes());
                let notes = colours.then(texts::colours_note).into_iter().collect();
                return Ok(Part { what, shown: lines, of: Some(lines), next: None, notes });
            }
        }
        let mut part = match dataset.main() {
            Some(_) => {
                let query = Query { view: View::Page { number: 1, size: None }, ..self.query.clone() };
                records::page(PartWriter { dataset, query: &query, writer }, 1, None)?
            }
            None => {
                let query = Query { view: View::Lines { from: 1, to: None }, ..self.query.clone() };
                texts::lines(PartWriter { dataset, query: &query, writer }, 1, None)?
            }
        };
        part.notes.insert(0, "It does not fit in full; this is its beginning.".into());
        Ok(part)
    }

    fn finish(&self, mut part: Part, body: String) -> Answer {
        part.next = part.next.map(|next| self.outline.about_whole(next));
        if let Some(note) = self.outline.scope_note() {
            part.notes.insert(0, note);
        }
        let next = part.next.as_ref().map(|next| self.next_arguments(next));
        let text = envelope::part_text(self.handle, &part.what, &part.notes, &body, next.as_deref());
        let result = crate::json::string::written_len(&text) as u64 + RESULT_BYTES;
        let cost = Cost {
            tokens: self.meter.count(&text),
            estimated: self.meter.is_estimate(),
            bytes: Bytes(result),
        };
        Answer { text, body, shown: part.shown, of: part.of, next: part.next, cost, picture: None }
    }

    /// Returns the arguments for the next part: a page number where that is enough, else a cursor.
    fn next_arguments(&self, next: &Query) -> String {
        match next {
            Query { view: View::Page { number, size }, fields, position: 0 } if fields.is_empty() => {
                match size {
                    Some(size) => format!("\"page\":{number},\"page_size\":{size}"),
                    None => format!("\"page\":{number}"),
                }
            }
            Query { view: View::Lines { from, to: Some(to) }, position: 0, .. } => {
                format!("\"lines\":\"{from}-{to}\"")
            }
            Query { view: View::Within { path, view }, fields, position: 0 }
                if fields.is_empty() && plain_name::is_plain_path(path) =>
            {
                match **view {
                    View::Lines { from, to: Some(to) } => {
                        format!("\"path\":\"{path}\",\"lines\":\"{from}-{to}\"")
                    }
                    View::Page { number, size: None } => format!("\"path\":\"{path}\",\"page\":{number}"),
                    _ => self.cursor(next),
                }
            }
            _ => self.cursor(next),
        }
    }

    fn cursor(&self, next: &Query) -> String {
        format!("\"cursor\":\"{}\"", cursor::encode(next, |bytes| (self.seal)(bytes)))
    }
}

/// Adds to a part of the text what the result has beside its text.
fn with_beside(dataset: &Dataset<'_>, part: Result<Part, ViewError>) -> Result<Part, ViewError> {
    let mut part = part?;
    part.notes.extend(dataset.beside_text());
    Ok(part)
}

/// Bytes of the JSON around the text of an answer.
pub(super) const RESULT_BYTES: u64 = 64;
