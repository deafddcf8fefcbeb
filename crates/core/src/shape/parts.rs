//! The texts of a result that are shaped one by one: blocks of different kinds, and long strings inside JSON.
//!
//! Most results are one text, and its strategy composes the overview. A string that is most of its JSON is shaped as if
//! it were the result, with the members around it in a few lines. Otherwise the budget is shared: first the whole, then
//! each text under its path, by the strategy of its own kind.

use std::io;

use super::draft::{Draft, LeftOut};
use super::recognised::{self, RecognisedText};
use super::tree;
use crate::data::Data;
use crate::hints::Hints;
use crate::inner_texts::{self, InnerText};
use crate::payload::{Block, BlockKind, Payload};
use crate::sample::{SAMPLE_BYTES, Sample};
use crate::source::Span;
use crate::text::{DecodedSource, Text};
use crate::view::shown_pointer;
use crate::{plain_name, visible, write};

/// How deep a main text is looked for in a main text.
const MAX_DEPTH: usize = 4;
/// The maximum number of texts that are shaped beside the whole.
const MAX_PARTS: usize = 4;
/// The minimum share of a text, in percent of the whole, that is shaped by itself.
const MIN_PART_PERCENT: u64 = 8;
/// The minimum number of bytes of a block that is shaped by itself.
const MIN_BLOCK_BYTES: u64 = 1024;
/// The maximum number of blocks that are shaped one by one.
const MAX_BLOCKS: usize = 6;
/// The number of bytes from which on a JSON object is likely to be more than one record.
const MIN_OBJECT_BYTES: u64 = 4096;
/// The section of the first part; every section of a strategy comes before it.
const PARTS_SECTION: usize = 100;
/// The tokens a part needs to say anything.
const MIN_PART_TOKENS: u64 = 90;

/// A text with its place in the result.
struct Part<'t> {
    /// The path that addresses it.
    path: String,
    /// What names it: a file's path, the address of a resource.
    name: Option<String>,
    bytes: u64,
    recognised: RecognisedText<'t>,
}

/// The texts of a result, recognised.
pub(crate) struct Parts<'t> {
    /// The text that is shaped as the result.
    pub(crate) main: &'t RecognisedText<'t>,
    /// The data that holds the main text as a string, and the path of that string.
    around: Option<(&'t Data<'t>, String)>,
    /// Whether the parts are the whole, so that `main`, which joins them, is not composed.
    is_apart: bool,
    parts: Vec<Part<'t>>,
    /// The small blocks beside blocks that are shaped one by one: their paths and beginnings, and whether that is all.
    small: Vec<(String, bool)>,
}

/// Recognises the texts of a result and passes them to `compose`.
pub(crate) fn with_parts<T>(
    payload: &Payload<'_>,
    joined: &RecognisedText<'_>,
    compose: &mut dyn FnMut(&Parts<'_>) -> io::Result<T>,
) -> io::Result<T> {
    let blocks = blocks_apart(payload)?;
    let texts: Vec<Text<'_>> = blocks.iter().filter_map(|(_, block)| payload.text_of(block)).collect();
    let structured = structured_apart(payload);
    if texts.is_empty() && structured.is_none() {
        return with_inner(joined, None, MAX_DEPTH, compose);
    }
    let mut parts = Vec::new();
    for ((number, block), text) in blocks.iter().zip(&texts) {
        let (path, name) = match &block.kind {
            BlockKind::Resource { uri, .. } => {
                (format!("//content/{number}/resource/text"), Some(uri.clone()))
            }
            _ => (format!("//content/{number}/text"), None),
        };
        parts.push(Part::read(path, name, text)?);
    }
    if let Some(text) = &structured {
        parts.push(Part::read("//structuredContent".into(), None, text)?);
    }
    let is_apart = !texts.is_empty();
    let small = if is_apart { small_blocks(payload, &blocks)? } else { Vec::new() };
    compose(&Parts { main: joined, around: None, is_apart, parts, small })
}

/// Passes on a text with the long strings in it; a string that is most of it takes its place.
fn with_inner<T>(
    recognised: &RecognisedText<'_>,
    around: Option<(&Data<'_>, String)>,
    depth: usize,
    compose: &mut dyn FnMut(&Parts<'_>) -> io::Result<T>,
) -> io::Result<T> {
    let alone = |compose: &mut dyn FnMut(&Parts<'_>) -> io::Result<T>, around| {
        compose(&Parts { main: recognised, around, is_apart: false, parts: Vec::new(), small: Vec::new() })
    };
    let Some(data) = recognised.data().filter(|_| depth > 0) else { return alone(compose, around) };
    let found = inner_texts::find(data)?;
    if found.is_empty() {
        return alone(compose, around);
    }
    let decoded = DecodedSource::new(data.text)?;
    if let Some(main) = inner_texts::main(data)? {
        let text = Text::escaped(&decoded, vec![main.inside]);
        let inner = RecognisedText::read(&text, &Hints::default())?;
        let path = around.as_ref().map_or_else(String::new, |(_, path)| path.clone()) + &main.path;
        let outermost = around.map_or(data, |(outermost, _)| outermost);
        return with_inner(&inner, Some((outermost, path)), depth - 1, compose);
    }
    let enough = (data.range.end - data.range.start) * MIN_PART_PERCENT / 100;
    let found: Vec<InnerText> =
        found.into_iter().filter(|text| text.inside.len() >= enough).take(MAX_PARTS).collect();
    let texts: Vec<Text<'_>> = found.iter().map(|text| Text::escaped(&decoded, vec![text.inside])).collect();
    let parts = found
        .iter()
        .zip(&texts)
        .map(|(found, text)| Part::read(found.path.clone(), found.name.clone(), text));
    let parts = parts.collect::<io::Result<Vec<_>>>()?;
    compose(&Parts { main: recognised, around, is_apart: false, parts, small: Vec::new() })
}

impl<'t> Part<'t> {
    fn read(path: String, name: Option<String>, text: &'t Text<'t>) -> io::Result<Self> {
        let recognised = RecognisedText::read(text, &Hints::default())?;
        Ok(Self { path, name, bytes: text.max_len(), recognised })
    }

    /// Writes the part into a section, with at most `share` tokens.
    fn compose(
        &self,
        arguments: &[String],
        draft: &mut Draft<'_>,
        section: usize,
        share: u64,
    ) -> io::Result<()> {
        let held = draft.writer.hold_back(share);
        let mut own = Draft::new(draft.writer.split_off());
        let is_shown = share >= MIN_PART_TOKENS && own.writer.push(0, self.heading());
        if is_shown {
            self.recognised.compose(arguments, &mut own)?;
        }
        draft.writer.take_back(section, own.writer);
        draft.writer.give_back(held);
        if is_shown {
            let left_out = own.left_out.into_iter();
            draft.left_out.extend(left_out.map(|left| LeftOut { path: self.path.clone(), ..left }));
        } else {
            draft.leave_out(LeftOut::new(&self.path, "bytes", 0, self.bytes));
        }
        Ok(())
    }

    fn heading(&self) -> String {
        let name =
            self.name.as_ref().map_or_else(String::new, |name| format!(" ({})", visible::cut(name, 120)));
        let (kind, size) = (self.recognised.kind(), write::size(self.bytes));
        format!("at {}{name}, {kind}, {size}:", shown_pointer(&self.path))
    }
}

/// The number of records from which on they are many.
const MANY_RECORDS: u64 = 20;

impl Parts<'_> {
    fn has_many_records(&self) -> bool {
        let main = self.main.data().and_then(super::main_table);
        main.is_some_and(|table| table.count >= MANY_RECORDS)
    }

    /// Fills a draft with an overview of all texts.
    pub(crate) fn compose(&self, arguments: &[String], draft: &mut Draft<'_>) -> io::Result<()> {
        if let Some((data, path)) = &self.around {
            return self.compose_main(data, path, arguments, draft);
        }
        let total: u64 = self.parts.iter().map(|part| part.bytes).sum();
        if !self.is_apart {
            let share = match self.parts.is_empty() {
                true => draft.writer.left(),
                // Among many records a few long strings are examples.
                false if self.has_many_records() => draft.writer.left() * 3 / 4,
                // The strings are counted in the whole, too.
                false => draft.writer.left() * 2 / 5,
            };
            draft.within(share, |draft| self.main.compose(arguments, draft))?;
        }
        self.write_small(draft);
        let weight = |part: &Part<'_>| (part.bytes as f64).powf(0.7);
        for (number, part) in self.parts.iter().enumerate() {
            let rest: f64 = self.parts[number..].iter().map(weight).sum();
            let share = (draft.writer.left() as f64 * weight(part) / rest) as u64;
            part.compose(arguments, draft, PARTS_SECTION + number, share)?;
        }
        if self.is_apart {
            draft.frame.what = write::plural(self.parts.len() as u64, "text");
            draft.frame.below = "an overview of each, under its path".into();
            let largest = self.parts.iter().max_by_key(|part| part.bytes);
            let next = largest.map(|part| format!("\"path\":\"{}\"", part.path));
            draft.frame.next = next.into_iter().chain(["\"grep\":\"text\"".to_owned()]).collect();
        } else if total > 0
            && let Some(part) = self.parts.iter().find(|part| plain_name::is_plain_path(&part.path))
        {
            let at = draft.frame.next.len().min(1);
            draft.frame.next.insert(at, format!("\"path\":\"{}\"", part.path));
        }
        Ok(())
    }

    /// Writes the small blocks, as many as fit an eighth of the budget.
    fn write_small(&self, draft: &mut Draft<'_>) {
        let share = draft.writer.left() / 8;
        let shown = draft.writer.within(share, |writer| {
            let placed = |(line, is_whole): &(String, bool)| {
                writer.push(SMALL_SECTION, line.clone()).then_some(*is_whole)
            };
            self.small.iter().map_while(placed).filter(|is_whole| *is_whole).count() as u64
        });
        draft.leave_out(LeftOut::new("", "small texts", shown, self.small.len() as u64));
    }

    /// Composes an overview of a string that is most of the data around it.
    fn compose_main(
        &self,
        around: &Data<'_>,
        path: &str,
        arguments: &[String],
        draft: &mut Draft<'_>,
    ) -> io::Result<()> {
        let heading =
            format!("{} of the text at {}; around it:", write::size(self.main.bytes()), shown_pointer(path));
        draft.writer.push(AROUND_SECTION, heading);
        let share = draft.writer.left() / 5;
        let shown = draft.writer.within(share, |writer| tree::compose(around, writer, AROUND_SECTION))?;
        self.main.compose(arguments, draft)?;
        let place =
            if plain_name::is_plain_path(path) { format!("the string at {path}") } else { "a string".into() };
        draft.frame.what = format!("{} in {place}", draft.frame.what);
        let values: u64 = around.profile.nodes().map(|(_, node)| node.types.scalars()).sum();
        draft.leave_out(LeftOut::new("", "values around it", shown, values.saturating_sub(1)));
        Ok(())
    }
}

/// The section of what stands around the main text, before those of its strategy.
const AROUND_SECTION: usize = 1;

/// The section of small blocks.
const SMALL_SECTION: usize = 1;
/// The maximum number of characters shown of a small block.
const MAX_SMALL_CHARACTERS: usize = 300;

/// Returns the text blocks that are not shaped one by one, each as a line, and whether that is all of it.
fn small_blocks(payload: &Payload<'_>, large: &[(usize, &Block)]) -> io::Result<Vec<(String, bool)>> {
    let mut small = Vec::new();
    for (number, block) in payload.blocks.iter().enumerate() {
        let is_large = large.iter().any(|(other, _)| *other == number);
        let Some(text) = payload.text_of(block).filter(|_| !is_large) else { continue };
        let bytes = text.read(0..4 * MAX_SMALL_CHARACTERS as u64)?;
        let words = visible::cut(String::from_utf8_lossy(&bytes).trim(), MAX_SMALL_CHARACTERS);
        let is_whole = !words.contains('…') && bytes.len() < 4 * MAX_SMALL_CHARACTERS;
        small.push((format!("/content/{number}: {words}"), is_whole));
    }
    Ok(small)
}

/// Returns `structuredContent` where it is neither the main text nor said by the texts.
pub(super) fn structured_apart<'p>(payload: &Payload<'p>) -> Option<Text<'p>> {
    let is_beside = !payload.is_structured()
        && !payload.structured_repeats_text
        && payload.blocks.iter().any(|block| block.text_span().is_some());
    payload.structured_text().filter(|text| is_beside && text.max_len() >= MIN_BLOCK_BYTES)
}

/// Returns the blocks that are shaped one by one, with their numbers; none if all texts are read as one.
///
/// A server that sends one block per entry means one list. Several blocks of some size are several texts if their kinds
/// differ, if they have names of their own, or if each is a list or a large object.
fn blocks_apart<'p>(payload: &'p Payload<'_>) -> io::Result<Vec<(usize, &'p Block)>> {
    let texts = || {
        payload
            .blocks
            .iter()
            .enumerate()
            .filter_map(|(number, block)| Some((number, block, block.text_span()?)))
    };
    let total: u64 = texts().map(|(_, _, span)| span.len()).sum();
    let is_large = |span: Span| span.len() >= MIN_BLOCK_BYTES && span.len() * 100 >= total * MIN_PART_PERCENT;
    let large: Vec<(usize, &Block)> =
        texts().filter(|(_, _, span)| is_large(*span)).map(|(number, block, _)| (number, block)).collect();
    if payload.is_structured() || !(2..=MAX_BLOCKS).contains(&large.len()) {
        return Ok(Vec::new());
    }
    let mut kinds = Vec::new();
    for text in large.iter().filter_map(|(_, block)| payload.text_of(block)) {
        kinds.push(BlockForm::of(&text)?);
    }
    let is_named = large.iter().any(|(_, block)| matches!(block.kind, BlockKind::Resource { .. }));
    let differ = kinds.iter().any(|form| form.kind != kinds[0].kind);
    let is_apart = is_named || differ || kinds.iter().all(|form| form.is_collection);
    Ok(if is_apart { large } else { Vec::new() })
}

/// What a block looks like by its beginning.
struct BlockForm {
    kind: &'static str,
    /// Whether it is likely to hold records, rather than to be one.
    is_collection: bool,
}

impl BlockForm {
    fn of(text: &Text<'_>) -> io::Result<Self> {
        let bytes = text.read(0..SAMPLE_BYTES)?;
        let head = String::from_utf8_lossy(&bytes);
        let sample = Sample::new(&bytes, &head, (bytes.len() as u64) < SAMPLE_BYTES);
        let kind = recognised::likely_kind(&sample);
        let is_collection = match kind {
            "json" => sample.trimmed().starts_with('[') || text.max_len() >= MIN_OBJECT_BYTES,
            "csv" | "records" => true,
            _ => false,
        };
        Ok(Self { kind, is_collection })
    }
}
