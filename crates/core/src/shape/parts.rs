//! The texts of a result that are shaped one by one: blocks of different kinds, and long strings inside JSON.
//!
//! Most results are one text, and its strategy composes the overview. A string that is most of its JSON is shaped as if
//! it were the result, with the members around it in a few lines. Otherwise the budget is shared: first the whole, then
//! each text under its path, by the strategy of its own kind.

use std::io;

use super::draft::{Draft, LeftOut};
use super::recognised::RecognisedText;
use super::tree;
use crate::data::Data;
use crate::hints::Hints;
use crate::inner_texts::{self, InnerText};
use crate::payload::{Block, BlockKind, Payload};
use crate::source::Span;
use crate::text::{DecodedSource, Text};
use crate::view::shown_pointer;
use crate::{plain_name, visible, write};

/// How deep a main text is looked for in a main text.
const MAX_DEPTH: usize = 4;
/// How deep texts are looked for in a block.
const PART_DEPTH: usize = 2;
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
    /// How deep texts are looked for in it.
    depth: usize,
}

/// Data that holds a text as a string.
#[derive(Clone)]
struct Around<'t> {
    data: &'t Data<'t>,
    /// The path of the text.
    path: String,
    /// The offset of the string in the data that leads to it.
    at: u64,
}

/// The texts of a result, recognised.
pub(crate) struct Parts<'t> {
    /// The text that is shaped as the result.
    pub(crate) main: &'t RecognisedText<'t>,
    /// What holds the main text as a string.
    around: Option<Around<'t>>,
    /// Whether the parts are the whole, so that `main`, which joins them, is not composed.
    pub(crate) is_apart: bool,
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
    let blocks = large_blocks(payload);
    let texts: Vec<Text<'_>> = blocks.iter().filter_map(|(_, block)| payload.text_of(block)).collect();
    let structured = structured_apart(payload);
    let mut parts = Vec::new();
    for ((number, block), text) in blocks.iter().zip(&texts) {
        let (path, name) = match &block.kind {
            BlockKind::Resource { uri, .. } => {
                (format!("//content/{number}/resource/text"), Some(uri.clone()))
            }
            _ => (format!("//content/{number}/text"), None),
        };
        parts.push(Part::read(path, name, text, PART_DEPTH)?);
    }
    let is_apart = are_apart(&blocks, &parts);
    if !is_apart {
        parts.clear();
    }
    if let Some(text) = &structured {
        parts.push(Part::read("//structuredContent".into(), None, text, PART_DEPTH)?);
    }
    if parts.is_empty() {
        return with_inner(joined, "", None, MAX_DEPTH, compose);
    }
    let small = if is_apart { small_blocks(payload, &blocks)? } else { Vec::new() };
    compose(&Parts { main: joined, around: None, is_apart, parts, small })
}

/// Passes on the text at a path with the long strings in it; a string that is most of it takes its place.
fn with_inner<T>(
    recognised: &RecognisedText<'_>,
    path: &str,
    around: Option<Around<'_>>,
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
    let decoded = DecodedSource::new(&data.text)?;
    if let Some(main) = inner_texts::main_of(data, &found)?.cloned() {
        let text = Text::escaped(&decoded, vec![main.inside]);
        let inner = RecognisedText::read(&text, &Hints::default())?;
        let path = joined_path(path, &main.path);
        let around = match around {
            None => Around { data, path: path.clone(), at: main.inside.start - 1 },
            Some(outermost) => Around { path: path.clone(), ..outermost },
        };
        return with_inner(&inner, &path, Some(around), depth - 1, compose);
    }
    let enough = (data.range.end - data.range.start) * MIN_PART_PERCENT / 100;
    let mut found: Vec<InnerText> =
        found.into_iter().filter(|text| text.inside.len() >= enough).take(MAX_PARTS).collect();
    found.sort_by_key(|text| text.inside.start);
    let texts: Vec<Text<'_>> = found.iter().map(|text| Text::escaped(&decoded, vec![text.inside])).collect();
    let parts = found
        .iter()
        .zip(&texts)
        .map(|(found, text)| Part::read(joined_path(path, &found.path), found.name.clone(), text, depth - 1));
    let parts = parts.collect::<io::Result<Vec<_>>>()?;
    compose(&Parts { main: recognised, around, is_apart: false, parts, small: Vec::new() })
}

/// Returns the path of a string in the text at a path.
fn joined_path(path: &str, inside: &str) -> String {
    if inside == "/" && !path.is_empty() {
        path.to_owned()
    } else {
        format!("{}{inside}", path.trim_end_matches('/'))
    }
}

impl<'t> Part<'t> {
    fn read(path: String, name: Option<String>, text: &'t Text<'t>, depth: usize) -> io::Result<Self> {
        let recognised = RecognisedText::read(text, &Hints::default())?;
        Ok(Self { path, name, bytes: text.max_len(), recognised, depth })
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
            with_inner(&self.recognised, &self.path, None, self.depth, &mut |parts| {
                parts.compose(arguments, &mut own)
            })?;
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
        if let Some(around) = &self.around {
            return self.compose_main(around, arguments, draft);
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
        Around { data: around, path, at }: &Around<'_>,
        arguments: &[String],
        draft: &mut Draft<'_>,
    ) -> io::Result<()> {
        let (kind, size) = (self.main.kind(), write::size(self.main.bytes()));
        let values: u64 = around.profile.nodes().map(|(_, node)| node.types.scalars()).sum();
        let beside = if values > 1 { "; beside it:" } else { "" };
        draft.writer.push(AROUND_SECTION, format!("at {}: {kind}, {size}{beside}", shown_pointer(path)));
        let share = draft.writer.left() / 5;
        let shown = draft
            .writer
            .within(share, |writer| tree::compose_around(around, Some(*at), writer, AROUND_SECTION))?;
        self.main.compose(arguments, draft)?;
        let place =
            if plain_name::is_plain_path(path) { format!("the string at {path}") } else { "a string".into() };
        draft.frame.what = format!("{} in {place}", draft.frame.what);
        draft.leave_out(LeftOut::new("", "values beside it", shown, values.saturating_sub(1)));
        Ok(())
    }
}

/// The section of what is around the main text, before those of its strategy.
const AROUND_SECTION: usize = 1;

/// The section of small blocks.
const SMALL_SECTION: usize = 1;
/// The maximum number of characters shown of a small block.
const MAX_SMALL_CHARACTERS: usize = 300;

/// Returns the text blocks that are not shaped one by one, each as a line, and whether that is all of it.
fn small_blocks(payload: &Payload<'_>, large: &[(usize, &Block)]) -> io::Result<Vec<(String, bool)>> {
    let mut small = Vec::new();
    for (number, block) in payload.blocks.iter().enumerate() {
        let is_said =
            large.iter().any(|(other, _)| *other == number) || payload.repeated_blocks().contains(&number);
        let Some(text) = payload.text_of(block).filter(|_| !is_said) else { continue };
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

/// Returns the text blocks of some size, with their numbers; none if there is one, or if there are many.
fn large_blocks<'p>(payload: &'p Payload<'_>) -> Vec<(usize, &'p Block)> {
    let repeated = payload.repeated_blocks();
    let is_told = |number: usize, block: &Block| block.text_span().is_some() && !repeated.contains(&number);
    let texts = || payload.blocks.iter().enumerate().filter(|(number, block)| is_told(*number, block));
    let length = |block: &Block| block.text_span().map_or(0, Span::len);
    let total: u64 = texts().map(|(_, block)| length(block)).sum();
    let is_large =
        |block: &Block| length(block) >= MIN_BLOCK_BYTES && length(block) * 100 >= total * MIN_PART_PERCENT;
    let large: Vec<(usize, &Block)> = texts().filter(|(_, block)| is_large(block)).collect();
    let is_few = !payload.is_structured() && (2..=MAX_BLOCKS).contains(&large.len());
    if is_few { large } else { Vec::new() }
}

/// Returns whether blocks are texts of their own rather than parts of one.
///
/// A server that sends one block per entry means one list. Several blocks of some size are several texts if their kinds
/// differ, if they have names of their own, or if each holds records.
fn are_apart(blocks: &[(usize, &Block)], parts: &[Part<'_>]) -> bool {
    let Some(first) = parts.first() else { return false };
    let is_collection = |part: &Part<'_>| match part.recognised.data() {
        Some(data) => {
            data.profile.node(data.profile.root()).types.arrays > 0 || part.bytes >= MIN_OBJECT_BYTES
        }
        None => false,
    };
    blocks.iter().any(|(_, block)| matches!(block.kind, BlockKind::Resource { .. }))
        || parts.iter().any(|part| part.recognised.kind() != first.recognised.kind())
        || parts.iter().all(is_collection)
}
