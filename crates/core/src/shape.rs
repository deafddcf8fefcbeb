//! From a payload to the answer that fits: as it is, all of it in less space, or an overview.
//!
//! The steps are tried cheapest first. An overview is composed by one strategy per kind of content; each writes
//! into a `SectionWriter` what answers most questions first, and the frame is put around it at the end. The
//! composition is repeated with a smaller budget until the whole fits, so that the budget holds exactly: what the
//! frame says depends on what is shown, so its cost is known only afterwards.
//!
//! Everything here is a function of the payload and the request: the same input gives the same bytes.

mod additive;
mod blob;
mod by_group;
mod cell_grid;
mod compact;
mod data;
mod data_kinds;
mod diff;
mod document;
mod draft;
mod drawn_tree;
mod earlier;
mod example;
mod field;
mod field_lines;
mod grid;
mod html;
mod key_lines;
mod layout;
mod line_facts;
mod line_writer;
mod log;
mod lossless;
mod mixed;
mod next_steps;
mod parts;
mod pick_rows;
mod recognised;
mod row_series;
mod rows;
mod section_writer;
mod series;
mod severity;
mod sheets;
mod snapshot;
mod statistics;
mod strategy;
mod symbols;
mod table;
mod tree;
mod uncovered;
mod value_list;
mod word_counts;

use std::cell::OnceCell;
use std::io;

pub use draft::LeftOut;
pub use earlier::{Comparison, Earlier};

use crate::arguments;
use crate::budget::Budget;
use crate::data::Data;
use crate::envelope::{self, CallFacts, Frame, Handle};
use crate::hints::Hints;
use crate::measure::{self, Cost, Fit, Meter};
use crate::outline::Outline;
use crate::payload::Payload;
use crate::plain_name;
use crate::quantity::{Bytes, Tokens};
use crate::source::Span;
use crate::text::Text;
pub(crate) use blob::describe as describe_data;
pub(crate) use data::overview_of;
use draft::Draft;
use lossless::WholeText;
pub(crate) use lossless::{cell as quoted_cell, exact_cell};
use parts::Parts;
use recognised::RecognisedText;
pub(crate) use section_writer::SectionWriter;
pub(crate) use snapshot::element_reference;
pub(crate) use table::{Table, field_value};

/// A request for an overview.
#[derive(Debug, Clone, Copy)]
pub struct Request<'r> {
    /// The tool that was called.
    pub tool: &'r str,
    /// The arguments it was called with, as JSON.
    pub arguments: Option<&'r str>,
    /// The name under which the complete result is kept.
    pub handle: Handle<'r>,
    /// What the answer may cost.
    pub budget: Budget,
    /// How tokens are counted.
    pub meter: Meter,
    /// How much of the budget an overview uses.
    pub fill: Fill,
}

/// How much of its budget an overview uses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Fill {
    /// As much as tells something: composing ends when the next line tells little for what it costs.
    #[default]
    Useful,
    /// All of it.
    Whole,
    /// Only what describes the whole: no example rows. For a reader who has seen them.
    Statistics,
}

/// Which step gave the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The result unchanged, byte for byte.
    Pass,
    /// All of it, in less space.
    Lossless,
    /// A part of it, with what was left out announced.
    Overview,
}

/// The answer.
#[derive(Debug, Clone)]
pub struct Shaped {
    /// Which step gave it.
    pub step: Step,
    /// The serialized `CallToolResult`; `None` for [`Step::Pass`], where the original bytes are the answer.
    pub result: Option<Vec<u8>>,
    /// What the model reads of it; empty for [`Step::Pass`].
    pub text: String,
    /// What the whole result costs.
    pub raw: Cost,
    /// What the answer costs.
    pub shaped: Cost,
    /// What the content was recognised as.
    pub kind: &'static str,
    /// The strategy that composed the answer.
    pub strategy: &'static str,
    /// What is not shown in full.
    pub left_out: Vec<LeftOut>,
}

/// Shapes a result to its budget.
///
/// # Errors
///
/// The source cannot be read.
pub fn shape(payload: &Payload<'_>, request: &Request<'_>) -> io::Result<Shaped> {
    match passes(payload, request)? {
        Some(shaped) => Ok(shaped),
        None => Prepared::new(payload, payload.joined_text().as_ref())?.shape(request),
    }
}

/// Returns a result that fits as it is; `None` if it does not.
fn passes(payload: &Payload<'_>, request: &Request<'_>) -> io::Result<Option<Shaped>> {
    match measure::fits(payload, &request.budget, &request.meter)? {
        Fit::Fits(tokens) => pass(payload, request, tokens).map(Some),
        Fit::Over => Ok(None),
    }
}

/// A result that has been read and recognised: what an overview and an outline are both made from.
pub struct Prepared<'p> {
    payload: &'p Payload<'p>,
    text: Option<&'p Text<'p>>,
    recognised: Option<RecognisedText<'p>>,
    /// The cost of the whole result, counted once for one meter.
    cost: OnceCell<(Meter, Cost)>,
    /// The path of the value that this is, where it is a value inside another result.
    scope: String,
}

impl<'p> Prepared<'p> {
    /// Returns the result.
    pub fn payload(&self) -> &'p Payload<'p> {
        self.payload
    }

    /// Reads the text of a result; `text` is that of [`Payload::joined_text`].
    ///
    /// # Errors
    ///
    /// The source cannot be read.
    pub fn new(payload: &'p Payload<'p>, text: Option<&'p Text<'p>>) -> io::Result<Self> {
        Self::with_hints(payload, text, &Hints::default())
    }

    /// Reads the text of a result about which something is known.
    ///
    /// # Errors
    ///
    /// The source cannot be read.
    pub fn with_hints(
        payload: &'p Payload<'p>,
        text: Option<&'p Text<'p>>,
        hints: &Hints,
    ) -> io::Result<Self> {
        let recognised = text.map(|text| RecognisedText::read(text, hints)).transpose()?;
        Ok(Self { payload, text, recognised, cost: OnceCell::new(), scope: String::new() })
    }

    /// Returns this as a value inside another result, whose calls that read on name its path.
    pub(crate) fn within(self, scope: &str) -> Self {
        Self { scope: scope.to_owned(), ..self }
    }

    /// Returns a result without reading its text, which can then be read by line and by byte: for a text on which
    /// [`Prepared::with_hints`] failed.
    pub fn unread(payload: &'p Payload<'p>, text: Option<&'p Text<'p>>) -> Self {
        Self { payload, text, recognised: None, cost: OnceCell::new(), scope: String::new() }
    }

    /// Returns the cost of the whole result. It is counted on the first call only, unless another meter is passed.
    ///
    /// # Errors
    ///
    /// The source cannot be read.
    pub fn cost(&self, meter: &Meter) -> io::Result<Cost> {
        if let Some((counted_with, cost)) = self.cost.get()
            && counted_with == meter
        {
            return Ok(*cost);
        }
        let cost = measure::cost(self.payload, meter)?;
        let _ = self.cost.set((*meter, cost));
        Ok(cost)
    }

    /// Returns the calls that read on with the path of the value in them; only the first one where it cannot be said.
    fn scoped(&self, steps: Vec<String>) -> Vec<String> {
        if self.scope.is_empty() {
            return steps;
        }
        let path = plain_name::is_plain_path(&self.scope).then(|| format!("\"path\":\"{}\"", self.scope));
        let step = steps.into_iter().find(|step| !step.starts_with("\"path\""));
        match (path, step) {
            (Some(path), Some(step)) => vec![format!("{path},{step}")],
            (Some(path), None) => vec![path],
            (None, _) => vec!["\"grep\":\"text\"".into()],
        }
    }

    /// Makes the outline that is kept beside the result.
    ///
    /// # Errors
    ///
    /// The source cannot be read.
    pub fn outline(&self) -> io::Result<Outline> {
        let (kind, data) =
            self.recognised.as_ref().map_or(("", None), |recognised| (recognised.kind(), recognised.data()));
        Outline::new(self.payload, kind, self.text, data)
    }

    /// Lets a result pass that fits as it is, and shapes any other.
    ///
    /// # Errors
    ///
    /// The source cannot be read.
    pub fn fit(&self, request: &Request<'_>) -> io::Result<Shaped> {
        passes(self.payload, request)?.map_or_else(|| self.shape(request), Ok)
    }

    /// Says all of it in less space, or makes an overview; for a result that does not fit as it is.
    ///
    /// # Errors
    ///
    /// The source cannot be read.
    pub fn shape(&self, request: &Request<'_>) -> io::Result<Shaped> {
        let raw = self.cost(&request.meter)?;
        let shaper = Shaper { prepared: self, payload: self.payload, request, raw, earlier: None };
        match shaper.lossless()? {
            Some(shaped) => Ok(shaped),
            None => shaper.overview(),
        }
    }

    /// Makes an overview that begins with what changed since an earlier result of the same call.
    ///
    /// # Errors
    ///
    /// The source cannot be read.
    pub fn shape_since(&self, request: &Request<'_>, earlier: &Earlier) -> io::Result<Shaped> {
        let raw = self.cost(&request.meter)?;
        let (budget, fill) = (earlier.budget(request.budget), earlier.fill(request.fill));
        let request_since = Request { budget, fill, ..*request };
        let shaper = Shaper {
            prepared: self,
            payload: self.payload,
            request: &request_since,
            raw,
            earlier: Some(earlier),
        };
        let shaped = shaper.overview()?;
        // The smallest budgets have no room for more words.
        let fits = Shaper { request, earlier: None, ..shaper }.over(&shaped) == 0;
        if fits { Ok(shaped) } else { self.shape(request) }
    }

    /// Makes an overview, even of a result that would fit.
    ///
    /// # Errors
    ///
    /// The source cannot be read.
    pub fn overview(&self, request: &Request<'_>) -> io::Result<Shaped> {
        let raw = self.cost(&request.meter)?;
        Shaper { prepared: self, payload: self.payload, request, raw, earlier: None }.overview()
    }
}

/// Returns the main list of records in data.
pub(crate) fn main_table<'d>(data: &'d Data<'d>) -> Option<Table<'d>> {
    table::tables(data).into_iter().next()
}

fn pass(payload: &Payload<'_>, request: &Request<'_>, tokens: Option<Tokens>) -> io::Result<Shaped> {
    let raw = match tokens {
        Some(tokens) => {
            Cost { tokens, estimated: request.meter.is_estimate(), bytes: measure::bytes(payload) }
        }
        None => measure::cost(payload, &request.meter)?,
    };
    Ok(Shaped {
        step: Step::Pass,
        result: None,
        text: String::new(),
        raw,
        shaped: raw,
        kind: "",
        strategy: "pass",
        left_out: Vec::new(),
    })
}

/// Tokens set aside for the frame at first; the exact cost is known once it is written.
const FRAME_TOKENS: u64 = 110;
/// Bytes set aside for the frame and the JSON around the text.
const FRAME_BYTES: u64 = 640;

/// The maximum number of things left out that the frame lists; it says how many more there are.
const MAX_LEFT_OUT: usize = 4;

/// Budgets below this get the shortest frame.
const SHORT_FRAME_BELOW: Tokens = Tokens(700);

/// One result on its way to an answer.
struct Shaper<'s> {
    prepared: &'s Prepared<'s>,
    payload: &'s Payload<'s>,
    request: &'s Request<'s>,
    raw: Cost,
    /// An earlier result of the same call.
    earlier: Option<&'s Earlier>,
}

impl Shaper<'_> {
    /// Tries to say all of it in less space.
    fn lossless(&self) -> io::Result<Option<Shaped>> {
        let max_bytes = self.request.budget.bytes.0 * 8;
        let whole = self.prepared.text.map(|text| WholeText::read(self.payload, text, max_bytes));
        let Some(whole) = whole.transpose()?.flatten() else { return Ok(None) };
        for form in whole.forms()? {
            let offers_shell = self.request.budget.tokens >= SHORT_FRAME_BELOW;
            let frame = Frame { what: "this".into(), below: form.how, offers_shell, ..Frame::default() };
            let shaped =
                self.finish(Step::Lossless, ("", "lossless"), Vec::new(), &[], &frame, &form.body)?;
            if self.over(&shaped) == 0 {
                return Ok(Some(shaped));
            }
        }
        Ok(None)
    }

    fn overview(&self) -> io::Result<Shaped> {
        match &self.prepared.recognised {
            Some(text) => parts::with_parts(self.payload, text, &mut |parts| self.overview_of(Some(parts))),
            None => self.overview_of(None),
        }
    }

    /// Composes an overview of the texts of the result, again with a smaller budget until it fits.
    fn overview_of(&self, parts: Option<&Parts<'_>>) -> io::Result<Shaped> {
        let budget = &self.request.budget;
        let arguments = arguments::values(self.request.arguments);
        let since_tokens = self.earlier.map_or(0, Earlier::frame_tokens);
        let mut tokens = budget.tokens.0.saturating_sub(FRAME_TOKENS + since_tokens);
        let mut bytes = budget.bytes.0.saturating_sub(FRAME_BYTES);
        loop {
            let mut draft =
                Draft::new(SectionWriter::new(&self.request.meter, tokens, bytes).filling(self.request.fill));
            if let Some(earlier) = self.earlier {
                earlier.write(self.request.handle, &mut draft);
            }
            mixed::compose(self.payload, budget, &mut draft)?;
            match parts {
                Some(parts) => {
                    if !parts.is_apart && !self.payload.is_structured() {
                        mixed::write_resources(self.payload, &mut draft)?;
                    }
                    parts.compose(&arguments, &mut draft)?;
                    mixed::offer_picture(self.payload, &mut draft);
                }
                None if self.prepared.text.is_some() => describe_unread_text(&mut draft),
                None => describe_blocks(self.payload, &mut draft),
            }
            draft.frame.notes.extend(self.limit_note());
            let shaped = self.finish_draft(parts.map(|parts| parts.main), draft)?;
            if self.over(&shaped) == 0 || (tokens == 0 && bytes == 0) {
                return Ok(shaped);
            }
            tokens = tokens.saturating_sub((shaped.shaped.tokens - budget.tokens).0 + 4);
            bytes = bytes.saturating_sub((shaped.shaped.bytes - budget.bytes).0 + 16);
        }
    }

    /// Returns a note if the main list is as long as a limit among the call's arguments.
    fn limit_note(&self) -> Option<String> {
        let table = main_table(self.prepared.recognised.as_ref()?.data()?)?;
        let limit =
            arguments::limits(self.request.arguments).into_iter().find(|limit| limit.value == table.count)?;
        let name = if plain_name::is_plain(&limit.name) { &limit.name } else { "limit" };
        Some(format!("As many {} as the call's {name}: there may be more.", table.nouns()))
    }

    fn finish_draft(&self, recognised: Option<&RecognisedText<'_>>, draft: Draft<'_>) -> io::Result<Shaped> {
        let Draft { writer, mut frame, mut left_out, blocks, .. } = draft;
        for member in envelope::dropped_members(self.payload) {
            left_out.push(LeftOut::new(&member.key, "bytes", 0, member.value.len()));
        }
        let beside = self.payload.beside_texts();
        if beside > 0 {
            left_out.push(LeftOut::new("content", "bytes beside the texts", 0, beside));
        }
        if left_out.is_empty() {
            // Everything found a place, but not as it was written.
            left_out.push(LeftOut::new("", "bytes", 0, self.raw.bytes.0));
        }
        let languages = self.request.handle.languages;
        frame.next.retain(|step| languages.can_answer(step));
        frame.notes.retain(|note| languages.sql || !note.starts_with(next_steps::SQL_NOTE));
        frame.left_out = left_out.iter().take(MAX_LEFT_OUT).map(LeftOut::text).collect();
        if left_out.len() > MAX_LEFT_OUT {
            frame.left_out.push(format!("and more in {} other places", left_out.len() - MAX_LEFT_OUT));
        }
        let is_short = self.request.budget.tokens < SHORT_FRAME_BELOW;
        frame.offers_shell = !is_short || self.request.fill == Fill::Statistics;
        if is_short {
            // A small budget is for the data, not for words about it.
            frame.next.truncate(2);
        }
        if !frame.offers_shell {
            frame.below.clear();
        }
        frame.next = self.prepared.scoped(frame.next);
        let names =
            recognised.map_or(("blob", "blob"), |recognised| (recognised.kind(), recognised.strategy()));
        self.finish(Step::Overview, names, left_out, &blocks, &frame, &writer.into_text())
    }

    fn finish(
        &self,
        step: Step,
        (kind, strategy): (&'static str, &'static str),
        left_out: Vec<LeftOut>,
        blocks: &[Span],
        frame: &Frame,
        body: &str,
    ) -> io::Result<Shaped> {
        let Self { payload, request, raw, .. } = self;
        let call = CallFacts {
            tool: request.tool,
            handle: request.handle,
            size: envelope::size(raw),
            failed: payload.is_error == Some(true),
        };
        let text = envelope::text(&call, frame, body);
        let result = envelope::result(payload, &text, blocks)?;
        let (picture_tokens, picture_bytes) = mixed::pictures(payload, blocks)?;
        let shaped = Cost {
            tokens: request.meter.count(&text) + picture_tokens,
            estimated: request.meter.is_estimate(),
            bytes: Bytes(result.len() as u64 - picture_bytes),
        };
        Ok(Shaped { step, result: Some(result), text, raw: *raw, shaped, kind, strategy, left_out })
    }

    /// By how much an answer is over its budget, in tokens or bytes.
    fn over(&self, shaped: &Shaped) -> u64 {
        let budget = &self.request.budget;
        (shaped.shaped.tokens - budget.tokens).0 + (shaped.shaped.bytes - budget.bytes).0
    }
}

/// A result whose text was not read.
fn describe_unread_text(draft: &mut Draft<'_>) {
    draft.frame.what = "a text that tidegate failed to summarize".into();
    draft.frame.below = "nothing of it".into();
    draft.frame.next =
        ["\"lines\":\"1-40\"", "\"grep\":\"text\"", "\"range\":\"0-1000\""].map(str::to_owned).into();
}

/// A result without any text.
fn describe_blocks(payload: &Payload<'_>, draft: &mut Draft<'_>) {
    draft.frame.what = crate::write::plural(payload.block_count, "block");
    draft.frame.below = "what the blocks are".into();
    let data = payload.blocks.iter().position(|block| block.data_span().is_some());
    draft.frame.next = vec![format!("\"path\":\"/content/{}\"", data.unwrap_or(0))];
}
