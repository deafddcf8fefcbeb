//! From a query to the text of its answer, within the budget.

use std::io;

use super::cursor;
use super::dataset::Dataset;
use super::engine::{Engines, Found, Total, Window};
use super::error::ViewError;
use super::{Query, View, path, records, texts};
use crate::budget::Budget;
use crate::envelope::{self, Handle};
use crate::measure::{Cost, Meter};
use crate::outline::Outline;
use crate::payload::Payload;
use crate::quantity::{Bytes, Tokens};
use crate::shape::{Prepared, Request, Room};
use crate::source::Source;
use crate::write;

/// What is asked for, and of what.
pub struct Asked<'r> {
    /// The result.
    pub source: &'r dyn Source,
    /// What was kept beside it.
    pub outline: &'r Outline,
    /// The tool it came from.
    pub tool: &'r str,
    /// Its name.
    pub handle: Handle<'r>,
    /// Which part.
    pub query: &'r Query,
    /// What the answer may cost.
    pub budget: Budget,
    /// How tokens are counted.
    pub meter: Meter,
    /// The engines behind jq, sql and grep.
    pub engines: &'r dyn Engines,
    /// The MAC that makes a cursor this artifact's own.
    pub seal: &'r dyn Fn(&[u8]) -> [u8; cursor::SEAL],
}

/// A part, as text.
#[derive(Debug, Clone)]
pub struct Answer {
    /// What the model reads.
    pub text: String,
    /// The part alone, without its frame.
    pub body: String,
    /// How many of what the view counts are shown.
    pub shown: u64,
    /// How many there are, where that is known.
    pub of: Option<u64>,
    /// The query that reads on.
    pub next: Option<Query>,
    /// What the text costs.
    pub cost: Cost,
}

/// What one view wrote into the room.
pub(crate) struct Part {
    /// What it is, in a few words: `rows 1-20 of 430`.
    pub(crate) what: String,
    pub(crate) shown: u64,
    pub(crate) of: Option<u64>,
    pub(crate) next: Option<Query>,
    pub(crate) notes: Vec<String>,
}

/// Tokens and bytes set aside for the frame at first.
const FRAME_TOKENS: u64 = 90;
const FRAME_BYTES: u64 = 400;

/// Answers a query.
///
/// # Errors
///
/// A query that makes no sense for this result, or a result that cannot be read.
pub fn answer(asked: &Asked<'_>) -> Result<Answer, ViewError> {
    if asked.query.view == View::Summary {
        return summary(asked);
    }
    let dataset = Dataset::new(asked.source, asked.outline);
    let (mut tokens, mut bytes) = (
        asked.budget.tokens.0.saturating_sub(FRAME_TOKENS),
        asked.budget.bytes.0.saturating_sub(FRAME_BYTES),
    );
    loop {
        let mut room = Room::new(&asked.meter, tokens, bytes);
        let part = asked.part(&dataset, &mut room)?;
        let answer = asked.finish(part, room.into_text());
        let over = |cost: &Cost| (cost.tokens - asked.budget.tokens, cost.bytes - asked.budget.bytes);
        let (Tokens(more_tokens), Bytes(more_bytes)) = over(&answer.cost);
        if (more_tokens, more_bytes) == (0, 0) {
            return Ok(answer);
        }
        let before = (tokens, bytes);
        tokens = tokens.saturating_sub(if more_tokens > 0 { more_tokens + 4 } else { 0 });
        bytes = bytes.saturating_sub(if more_bytes > 0 { more_bytes + 16 } else { 0 });
        if (tokens, bytes) == before {
            // What stands around the part is too much by itself: it repeats the question, so that is too long.
            return Err(no_room());
        }
    }
}

/// Says that the budget has no room for anything of what is asked for.
pub(super) fn no_room() -> ViewError {
    ViewError::bad("there is no room for an answer; name fewer fields, or set a higher max_tokens")
}

fn summary(asked: &Asked<'_>) -> Result<Answer, ViewError> {
    let payload =
        Payload::read_result(asked.source).map_err(|error| ViewError::Source(io::Error::other(error)))?;
    let text = payload.joined_text();
    let prepared = Prepared::new(&payload, text.as_ref())?;
    let request = Request {
        tool: asked.tool,
        arguments: None,
        handle: asked.handle,
        budget: asked.budget,
        meter: asked.meter,
    };
    let shaped = prepared.overview(&request)?;
    Ok(Answer {
        body: shaped.text.clone(),
        text: shaped.text,
        shown: 0,
        of: None,
        next: None,
        cost: shaped.shaped,
    })
}

impl Asked<'_> {
    fn part(&self, dataset: &Dataset<'_>, room: &mut Room<'_>) -> Result<Part, ViewError> {
        let window = Window {
            skip: self.query.position,
            bytes: usize::try_from(self.budget.bytes.0).unwrap_or(usize::MAX),
        };
        match &self.query.view {
            View::Summary => Err(ViewError::bad("a summary is no part")),
            View::Page { number, size } => records::page(dataset, self.query, *number, *size, room),
            View::Path(path) => path::view(dataset, self.query, path, room),
            View::Lines { from, to } => texts::lines(dataset, self.query, *from, *to, room),
            View::Range { from, to } => texts::range(dataset, self.query, *from, *to, room),
            View::Full => self.full(dataset, room),
            View::Jq(program) => self.found(self.engines.jq(dataset, program, window)?, "jq", room),
            View::Sql(query) => self.found(self.engines.sql(dataset, query, window)?, "sql", room),
            View::Grep { pattern, context } => {
                self.found(self.engines.grep(dataset, pattern, *context, window)?, "grep", room)
            }
        }
    }

    /// Writes the results of an engine, as many as fit.
    fn found(&self, found: Found, name: &str, room: &mut Room<'_>) -> Result<Part, ViewError> {
        let skip = self.query.position;
        if let Some(header) = found.header.filter(|_| !found.results.is_empty()) {
            room.push(0, header);
        }
        let mut shown = 0;
        for result in &found.results {
            let cut = shown == 0 && !room.fits(result);
            if cut {
                if texts::push_cut(room, result) == 0 {
                    return Err(no_room());
                }
            } else if !room.push(0, result.clone()) {
                break;
            }
            shown += 1;
            if cut {
                break;
            }
        }
        let (total, more) = match found.total {
            Total::Exactly(total) => (write::grouped(total), skip + shown < total),
            Total::AtLeast(total) => (format!("at least {}", write::grouped(total)), true),
        };
        let what = match (shown, found.total) {
            (0, Total::Exactly(0)) => format!("{name} found no {}", found.what),
            _ => {
                format!("{name} {} {}-{} of {total}", found.what, (skip + 1).min(skip + shown), skip + shown)
            }
        };
        let of = match found.total {
            Total::Exactly(total) => Some(total),
            Total::AtLeast(_) => None,
        };
        let next = (more && shown > 0).then(|| self.query.at(skip + shown));
        Ok(Part { what, shown, of, next, notes: found.notes })
    }

    /// All of the text if it fits, else its pages.
    fn full(&self, dataset: &Dataset<'_>, room: &mut Room<'_>) -> Result<Part, ViewError> {
        if self.query.position == 0 && dataset.text.max_len() <= 8 * room.left() {
            let text = String::from_utf8_lossy(&dataset.text.to_bytes()?).into_owned();
            let lines = dataset.line_count()?;
            if room.push(0, crate::visible::text(&text)) {
                let what = format!("all of it, {}", write::plural(lines, "line"));
                return Ok(Part { what, shown: lines, of: Some(lines), next: None, notes: Vec::new() });
            }
        }
        let mut part = match dataset.main() {
            Some(_) => {
                let query = Query { view: View::Page { number: 1, size: None }, ..self.query.clone() };
                records::page(dataset, &query, 1, None, room)?
            }
            None => {
                let query = Query { view: View::Lines { from: 1, to: None }, ..self.query.clone() };
                texts::lines(dataset, &query, 1, None, room)?
            }
        };
        part.notes.insert(0, "It does not fit in full; this is its beginning.".into());
        Ok(part)
    }

    fn finish(&self, part: Part, body: String) -> Answer {
        let next = part.next.as_ref().map(|next| self.next_arguments(next));
        let text = envelope::part_text(self.handle, &part.what, &part.notes, &body, next.as_deref());
        let result = crate::json::string::written_len(&text) as u64 + RESULT_BYTES;
        let cost = Cost {
            tokens: self.meter.count(&text),
            estimated: self.meter.is_estimate(),
            bytes: Bytes(result),
        };
        Answer { text, body, shown: part.shown, of: part.of, next: part.next, cost }
    }

    /// The arguments that read on: a page number where that says it, else a cursor.
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
            _ => format!("\"cursor\":\"{}\"", cursor::encode(next, |bytes| (self.seal)(bytes))),
        }
    }
}

/// Bytes of the JSON around the text of an answer.
const RESULT_BYTES: u64 = 64;
