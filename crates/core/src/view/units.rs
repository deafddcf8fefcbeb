//! Everything in a result that a search looks at: the records of the main list, every other key and value, and what
//! the result holds beside its text.
//!
//! A JSON text is walked once, front to back. Strings and keys are decoded, so an expression never has to know about
//! escapes. Each unit knows its range in the text: matches outside of all ranges belong to lines, and nothing is left
//! out. What the text does not hold, such as a `structuredContent` that differs from it, is walked in the result itself.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::ops::{ControlFlow, Range};

use super::dataset::{Dataset, RecordText};
use super::place::{Open, Place, Step};
use crate::json::{Dialect, Event, ScanError, Scanner, compact, strict, string};
use crate::payload::{Block, BlockKind, Form, Payload};
use crate::records::{JsonRecord, Notation};
use crate::source::Span;
use crate::text::Text;

/// A part of a result that a search looks at as one.
#[derive(Debug, Clone)]
pub struct Unit<'u> {
    /// Where it is.
    pub place: Place<'u>,
    /// Its range in the decoded text; empty for a unit beside the text.
    pub range: Range<u64>,
    /// What it is.
    pub content: UnitContent<'u>,
}

/// What a unit is.
#[derive(Debug, Clone, Copy)]
pub enum UnitContent<'u> {
    /// A record of the main list.
    Record(RecordText<'u>),
    /// A value outside of the main list.
    Value {
        /// Its key, decoded, if it is a member of an object.
        key: Option<&'u str>,
        /// The value, decoded; `None` for an object or a list, whose members follow.
        text: Option<&'u str>,
    },
}

/// Visits units; breaking ends the walk.
pub type VisitUnit<'v> = dyn FnMut(&Unit<'_>) -> ControlFlow<()> + 'v;

impl Dataset<'_> {
    /// Visits the units of the decoded text, in order, until `visit` breaks.
    ///
    /// # Errors
    ///
    /// The source cannot be read.
    pub fn units(&self, text: &[u8], visit: &mut VisitUnit<'_>) -> io::Result<()> {
        let blocks = self.json_blocks(text)?;
        let start = self.outline.data.as_ref().map_or(u64::MAX, |data| data.start);
        let (before, others) = blocks.split_at(blocks.partition_point(|block| block.range.start < start));
        before.iter().try_for_each(|block| block.units(text, visit))?;
        let others = self.units_of_data(text, others, visit)?;
        others.iter().try_for_each(|block| block.units(text, visit))
    }

    /// Returns the blocks beside the data that are JSON as a whole, where the text is made of several blocks.
    fn json_blocks(&self, text: &[u8]) -> io::Result<Vec<JsonBlock>> {
        if self.outline.parts.len() < 2 {
            return Ok(Vec::new());
        }
        // If records are lines or cells, a block of JSON only looks like records.
        let data = match &self.outline.data {
            Some(data) if is_json(&data.notation) => data.start..data.end,
            _ => 0..0,
        };
        let payload = Payload::read_result(self.source).map_err(io::Error::other)?;
        let (mut blocks, mut start) = (Vec::new(), 0);
        for (number, block) in payload.blocks.iter().enumerate() {
            let is_told = !payload.repeated_blocks().contains(&number);
            let Some(own) = payload.text_of(block).filter(|_| is_told) else { continue };
            let range = start..start + own.length()?;
            // A line feed follows each block.
            start = range.end + 1;
            let is_data = range.start < data.end && data.start < range.end;
            let inside = text.get(range.start as usize..range.end as usize).unwrap_or_default();
            let is_json = || std::str::from_utf8(inside).is_ok_and(strict::is_container);
            if !is_data && is_json() {
                let member =
                    if matches!(block.kind, BlockKind::Resource { .. }) { "resource/text" } else { "text" };
                blocks.push(JsonBlock { root: format!("//content/{number}/{member}"), range });
            }
        }
        Ok(blocks)
    }

    /// Visits the units of the data, and with them the blocks that look like its records; returns the other blocks.
    fn units_of_data<'b>(
        &self,
        text: &[u8],
        mut blocks: &'b [JsonBlock],
        visit: &mut VisitUnit<'_>,
    ) -> io::Result<&'b [JsonBlock]> {
        let Some(data) = &self.outline.data else { return Ok(blocks) };
        let mut block_end = 0;
        let plain = Text::plain(&text, Span::whole(&text));
        match &data.notation {
            // A translated text is searched by its lines.
            _ if data.translation.is_some() => {}
            Notation::Json(dialect) => {
                let first_record = data.records.as_ref().and_then(|records| records.index.before(0));
                let scanner = Scanner::at(&plain, data.start, *dialect)?;
                let walk = UnitWalk {
                    first_record: first_record.map(|(_, at)| at),
                    ..UnitWalk::new(self.outline.path_prefix(), scanner, *dialect)
                };
                walk.run(&|_, _| Look::ALL, visit)?;
            }
            // The records of these are the lines, which are searched anyway.
            Notation::Pattern(pattern) if pattern.is_searched_by_line() => {}
            _ => self.written_records(|record| {
                let JsonRecord { number, key, json, whole, range, .. } = &record;
                while let Some((block, rest)) =
                    blocks.split_first().filter(|(block, _)| block.range.start <= range.start)
                {
                    // The text is in memory, so it can be read.
                    block.units(text, visit).unwrap_or_default();
                    (block_end, blocks) = (block.range.end, rest);
                }
                if range.start < block_end {
                    return ControlFlow::Continue(());
                }
                let opens = [Open::at_index(*number)];
                let record = RecordText { number: *number, key: key.as_deref(), json, whole: *whole };
                let content = UnitContent::Record(record);
                visit(&Unit {
                    place: Place { root: self.outline.path_prefix(), opens: &opens },
                    range: range.clone(),
                    content,
                })
            })?,
        }
        Ok(blocks)
    }

    /// Returns the range of the decoded text whose strings [`units`](Self::units) decodes; empty if there is none.
    pub fn walked_range(&self) -> Range<u64> {
        match &self.outline.data {
            Some(data) if data.translation.is_some() => 0..0,
            Some(data) if matches!(data.notation, Notation::Json(_) | Notation::JsonLines(_)) => {
                data.start..data.end
            }
            _ => 0..0,
        }
    }

    /// Visits what the result holds beside its text, until `visit` breaks; returns how many bytes of base64 data were
    /// left out.
    ///
    /// # Errors
    ///
    /// The source cannot be read.
    pub fn units_beside(&self, visit: &mut VisitUnit<'_>) -> io::Result<u64> {
        let payload = Payload::read_result(self.source).map_err(io::Error::other)?;
        if payload.form == Form::Plain || !self.outline.scope.is_empty() {
            return Ok(0);
        }
        let mut in_text: BTreeSet<u64> = self.outline.parts.iter().map(|part| part.start).collect();
        if !payload.is_structured() {
            // A text that repeats an earlier block is searched there.
            let repeated = payload.repeated_blocks().iter().map(|number| &payload.blocks[*number]);
            in_text.extend(repeated.filter_map(Block::text_span).map(|span| span.start));
        }
        let is_in_text = |start: u64| in_text.contains(&start);
        let base64: Vec<Span> = payload.blocks.iter().filter_map(Block::data_span).collect();
        let base64_starts: BTreeSet<u64> = base64.iter().map(|span| span.start).collect();
        let is_base64 = |start: u64| base64_starts.contains(&start);
        let structured = payload.structured.filter(|_| !payload.structured_repeats_text);
        let searched = structured.is_some_and(|span| !is_in_text(span.start));
        let look = |opens: &[Open], start: u64| match opens {
            [Open { step: Step::Key { name, .. }, .. }, rest @ ..] => match name.as_str() {
                "content" => {
                    let is_type =
                        matches!(rest, [_, Open { step: Step::Key { name, .. }, .. }] if name == "type");
                    let value = !is_type && !is_in_text(start + 1) && !is_base64(start + 1);
                    Look { key: !is_prescribed(rest), value }
                }
                "structuredContent" if rest.is_empty() => Look { key: false, value: searched },
                "isError" => Look::NOTHING,
                _ => Look::ALL,
            },
            _ => Look::ALL,
        };
        let text = Text::plain(self.source, payload.span);
        let scanner = Scanner::new(&text, Dialect::Json);
        UnitWalk { is_beside: true, ..UnitWalk::new("/", scanner, Dialect::Json) }.run(&look, visit)?;
        Ok(base64.into_iter().map(Span::len).sum())
    }
}

/// Visits every key and value of a record with its place in the record, as [`UnitContent::Value`].
///
/// Broken JSON is visited up to the break.
pub fn record_values(json: &str, visit: &mut VisitUnit<'_>) {
    let source = json.as_bytes();
    let text = Text::plain(&source, Span::whole(&source));
    let walk = UnitWalk::new("", Scanner::new(&text, Dialect::Json), Dialect::Json);
    // Bytes in memory can be read.
    walk.run(&|_, _| Look::ALL, visit).unwrap_or_default();
}

/// The minimum number of bytes of a string in which JSON is looked for.
const MIN_INNER_JSON_BYTES: usize = 1024;

/// Returns whether a string is itself JSON, and long enough to be data rather than a quoted word.
pub fn is_inner_json(text: &str) -> bool {
    text.len() >= MIN_INNER_JSON_BYTES && strict::is_container(text)
}

/// Returns the value that begins at an offset of a JSON text, without white space; `None` if it has more than
/// `max_bytes` or is broken.
pub fn value_from(json: &str, start: u64, max_bytes: usize) -> Option<String> {
    let source = json.as_bytes();
    let text = Text::plain(&source, Span::whole(&source));
    let mut scanner = Scanner::at(&text, start, Dialect::Json).ok()?;
    let compact = compact::value(&mut scanner, Dialect::Json, max_bytes).ok()?;
    (compact.whole && compact.text.len() <= max_bytes).then_some(compact.text)
}

/// Returns the inside of a JSON string, decoded.
pub fn decoded(inside: &[u8]) -> String {
    string::decode_text(inside)
}

/// Returns whether records are JSON as it was written.
fn is_json(notation: &Notation) -> bool {
    match notation {
        Notation::Json(_) | Notation::JsonLines(_) => true,
        Notation::Table(_) => false,
        Notation::Pattern(pattern) => !pattern.is_searched_by_line() && !pattern.is_textual(),
    }
}

/// A block that is JSON as a whole, beside the data.
struct JsonBlock {
    /// The path of its text.
    root: String,
    /// Its range in the decoded text.
    range: Range<u64>,
}

impl JsonBlock {
    fn units(&self, text: &[u8], visit: &mut VisitUnit<'_>) -> io::Result<()> {
        let plain = Text::plain(&text, Span::whole(&text));
        let scanner = Scanner::at(&plain, self.range.start, Dialect::Json)?;
        UnitWalk::new(&self.root, scanner, Dialect::Json).run(&|_, _| Look::ALL, visit)
    }
}

/// Which parts of a member are searched.
#[derive(Debug, Clone, Copy)]
struct Look {
    key: bool,
    value: bool,
}

impl Look {
    const ALL: Self = Self { key: true, value: true };
    const NOTHING: Self = Self { key: false, value: false };
}

/// Returns whether a member of `content` has a name that the protocol prescribes, which is not content.
fn is_prescribed(below: &[Open]) -> bool {
    let is_resource = |open: &Open| matches!(&open.step, Step::Key { name, .. } if name == "resource");
    // An element of the list, then a member of the block, then one of the resource in it.
    below.len() <= if below.get(1).is_some_and(is_resource) { 3 } else { 2 }
}

/// A walk over a JSON text that visits its units.
struct UnitWalk<'w> {
    root: &'w str,
    /// Whether the walk is over what is beside the text.
    is_beside: bool,
    scanner: Scanner<'w>,
    dialect: Dialect,
    /// The offset of the first record of the main list, or of its key.
    first_record: Option<u64>,
    opens: Vec<Open>,
    /// Hashes of the keys of each open object: only the first of equal keys can be reached by a path.
    keys: Vec<BTreeSet<u64>>,
}

impl<'w> UnitWalk<'w> {
    fn new(root: &'w str, mut scanner: Scanner<'w>, dialect: Dialect) -> Self {
        scanner.keep_strings(usize::MAX);
        Self {
            root,
            is_beside: false,
            scanner,
            dialect,
            first_record: None,
            opens: Vec::new(),
            keys: Vec::new(),
        }
    }

    fn run(mut self, look: &dyn Fn(&[Open], u64) -> Look, visit: &mut VisitUnit<'_>) -> io::Result<()> {
        match self.walk(look, visit) {
            // What follows a break is searched by line.
            Ok(_) | Err(ScanError::Syntax { .. }) => Ok(()),
            Err(ScanError::Source(error)) => Err(error),
        }
    }

    fn walk(
        &mut self,
        look: &dyn Fn(&[Open], u64) -> Look,
        visit: &mut VisitUnit<'_>,
    ) -> Result<ControlFlow<()>, ScanError> {
        let start = self.scanner.value_start()?;
        if self.value(start, None, Look::ALL, visit)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
        while !self.opens.is_empty() {
            let Some((begin, key)) = self.next_member()? else {
                self.opens.pop();
                self.keys.pop();
                continue;
            };
            let is_main = match self.opens.last_mut() {
                Some(open) => {
                    open.main |= self.first_record == Some(begin);
                    open.main
                }
                None => false,
            };
            let flow = if is_main {
                self.record(begin, key.as_deref(), visit)?
            } else {
                let start = self.scanner.value_start()?;
                let look = look(&self.opens, start);
                self.value(begin, key.as_deref(), look, visit)?
            };
            if flow.is_break() {
                return Ok(flow);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Steps to the next member of the innermost container; returns where it begins and its key.
    fn next_member(&mut self) -> Result<Option<(u64, Option<String>)>, ScanError> {
        let Some(open) = self.opens.last_mut() else { return Ok(None) };
        if !open.object {
            if self.scanner.has_element()? != Some(true) {
                self.scanner.next()?;
                return Ok(None);
            }
            open.step = Step::Index(open.count);
            open.count += 1;
            return Ok(Some((self.scanner.value_start()?, None)));
        }
        let (begin, event) = self.scanner.next_at()?;
        let Event::Key(token) = event else { return Ok(None) };
        let name = string::decode_text(token.raw);
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        let repeated = self.keys.last_mut().is_some_and(|keys| !keys.insert(hasher.finish()));
        open.step = Step::Key { name: name.clone(), repeated };
        open.count += 1;
        Ok(Some((begin, Some(name))))
    }

    fn record(
        &mut self,
        begin: u64,
        key: Option<&str>,
        visit: &mut VisitUnit<'_>,
    ) -> Result<ControlFlow<()>, ScanError> {
        let number = self.opens.last().map_or(0, |open| open.count.saturating_sub(1));
        let compact = compact::value(&mut self.scanner, self.dialect, usize::MAX)?;
        let record = RecordText { number, key, json: &compact.text, whole: compact.whole };
        Ok(self.visit(begin, UnitContent::Record(record), visit))
    }

    fn value(
        &mut self,
        begin: u64,
        key: Option<&str>,
        look: Look,
        visit: &mut VisitUnit<'_>,
    ) -> Result<ControlFlow<()>, ScanError> {
        let outside = self.scanner.depth();
        let key = key.filter(|_| look.key);
        let (start, event) = self.scanner.next_at()?;
        let text = match event {
            Event::StartObject | Event::StartArray if look.value => {
                let object = matches!(event, Event::StartObject);
                let flow = match key {
                    Some(_) => self.visit(begin, UnitContent::Value { key, text: None }, visit),
                    None => ControlFlow::Continue(()),
                };
                self.opens.push(Open::new(object, start));
                self.keys.push(BTreeSet::new());
                return Ok(flow);
            }
            Event::String(token) if look.value => Some(string::decode_text(token.raw)),
            Event::Number(raw) if look.value => Some(String::from_utf8_lossy(raw).into_owned()),
            Event::Bool(value) if look.value => Some(value.to_string()),
            Event::Null if look.value => Some("null".to_owned()),
            _ => None,
        };
        self.scanner.skip_to_depth(outside)?;
        if key.is_none() && text.is_none() {
            return Ok(ControlFlow::Continue(()));
        }
        Ok(self.visit(begin, UnitContent::Value { key, text: text.as_deref() }, visit))
    }

    fn visit(&self, begin: u64, content: UnitContent<'_>, visit: &mut VisitUnit<'_>) -> ControlFlow<()> {
        let place = Place { root: self.root, opens: &self.opens };
        // A unit beside the text has no range in it.
        let range = if self.is_beside { 0..0 } else { begin..self.scanner.position() };
        visit(&Unit { place, range, content })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outline::Outline;

    fn units(result: &str) -> Vec<String> {
        let source = result.as_bytes();
        let outline = Outline::read(&Payload::read_result(&source).unwrap()).unwrap();
        let data = Dataset::new(&source, &outline);
        let mut all = Vec::new();
        let mut visit = |unit: &Unit<'_>| {
            let place = unit.place.pointer();
            all.push(match &unit.content {
                UnitContent::Record(record) => format!("{place} {}", record.json),
                UnitContent::Value { key, text } => format!("{place} {key:?} {text:?}"),
            });
            ControlFlow::Continue(())
        };
        data.units(&data.decoded_text().unwrap(), &mut visit).unwrap();
        data.units_beside(&mut visit).unwrap();
        all
    }

    #[test]
    fn records_and_everything_beside_them() {
        let json = r#"{\"warning\":\"a\\nb\",\"errors\":[{\"m\":1}],\"items\":[{\"id\":1},{\"id\":2},{\"id\":3}],\"items\":7}"#;
        let result = format!(
            r#"{{"content":[{{"type":"text","text":"{json}"}},{{"type":"image","data":"AAAA","mimeType":"image/png"}}],"structuredContent":{{"n":5}},"_meta":{{"k":"v"}}}}"#
        );
        assert_eq!(
            units(&result),
            [
                "/warning Some(\"warning\") Some(\"a\\nb\")",
                "/errors Some(\"errors\") None",
                "/errors/0/m Some(\"m\") Some(\"1\")",
                "/items Some(\"items\") None",
                "/items/0 {\"id\":1}",
                "/items/1 {\"id\":2}",
                "/items/2 {\"id\":3}",
                "/ Some(\"items\") Some(\"7\")",
                "//content/1/mimeType None Some(\"image/png\")",
                "//structuredContent/n Some(\"n\") Some(\"5\")",
                "//_meta Some(\"_meta\") None",
                "//_meta/k Some(\"k\") Some(\"v\")",
            ]
        );
    }

    #[test]
    fn members_of_an_object_are_records_with_their_keys() {
        let members: Vec<String> = (0..40).map(|n| format!(r#"\"r/{n}\":{{\"v\":{n}}}"#)).collect();
        let result = format!(r#"{{"content":[{{"type":"text","text":"{{{}}}"}}]}}"#, members.join(","));
        assert_eq!(units(&result)[39], "/r~139 {\"v\":39}");
    }
}
