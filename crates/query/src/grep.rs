//! The view `grep`: everything in a result that a regular expression matches.
//!
//! Everything is searched: the records of the main list, every other key and value, the lines of the text, and what stands
//! beside the text, such as a `structuredContent` that differs from it. Strings are decoded, so an expression never has to
//! know about JSON escapes. A match inside a record or a value is shown with its path, any other with its line; each is
//! counted once, in the order of the text. A value of several lines is a text: each line that matches counts, and is shown
//! with the path of the value and its number in it. In a string that is itself JSON, each value that matches counts.
//! Only records that are shown whole count once, whatever they hold.
//! An expression without capitals also matches capitals.
//!
//! A large record is shown by what identifies it and by the parts that match, any other value alone. Where there are only
//! a few matches, the record or the object around the value is shown whole, since readers mostly look for what is beside the
//! match.

mod diff_file;
mod expression;
mod large;
mod line_search;
mod shown;
mod tally;
mod words;

use std::collections::VecDeque;
use std::ops::{ControlFlow, Range};
use std::time::Instant;

use tidegate_core::view::{
    Dataset, EngineOutput, RecordText, ResultWindow, Total, Unit, UnitContent, ViewError, is_inner_json,
    record_values, shown_pointer,
};

use crate::Host;
use crate::limits::Limits;
use expression::Expression;
use large::LargeRecords;
use line_search::LineSearch;
use shown::{MAX_WHOLE_RECORD_BYTES, one_line_record, piece, shown_record};
use tally::Tally;

/// Units between checks of the time.
const UNITS_PER_CHECK: u64 = 256;
/// The maximum number of records that come first because a whole value matches.
const MAX_EXACT: usize = 40;

/// An expression with everything its answer depends on.
pub(crate) struct Asked<'a> {
    pub(crate) limits: &'a Limits,
    pub(crate) data: &'a Dataset<'a>,
    pub(crate) pattern: &'a str,
    /// Lines or records shown before and after a matching one.
    pub(crate) context: u64,
    /// Whether matches are only counted.
    pub(crate) count: bool,
    pub(crate) window: ResultWindow,
    pub(crate) host: Host,
}

pub(crate) fn run(asked: &Asked<'_>, loaded: &mut dyn FnMut()) -> Result<EngineOutput, ViewError> {
    let data = asked.data;
    let text = data.decoded_text()?;
    let expression = Expression::new(asked.pattern, &text, asked.host)?;
    loaded();
    let mut search = Search::new(asked, &expression, &text);
    data.units(&text, &mut |unit| search.unit(unit))?;
    let mut left_out = 0;
    if search.lines_before(u64::MAX).is_continue() && search.stopped.is_none() {
        // What is beside the text has other offsets.
        search.walked = 0..0;
        left_out = data.units_beside(&mut |unit| search.unit(unit))?;
    }
    let is_nothing = search.hit_count() == 0 && search.stopped.is_none();
    let mut found = search.found(data.line_count()?, left_out);
    found.notes.extend(is_nothing.then(|| words::note(asked.pattern, &text)).flatten());
    Ok(found)
}

/// Numbers of records, of other values, and of lines.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Counts {
    records: u64,
    values: u64,
    lines: u64,
}

/// Where the last match was put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LastMatch {
    Left,
    Kept,
    Exact,
}

struct Search<'s> {
    limits: &'s Limits,
    /// The path of the value that is searched; empty for a whole result.
    scope: &'s str,
    /// Lines or records shown around a match.
    context: u64,
    /// The records before this one that may be shown with it.
    before: VecDeque<String>,
    /// How many of the next records are shown with the last match, and where that is.
    after: u64,
    last_match: LastMatch,
    /// The matches by place, where they are only counted.
    tally: Option<Tally>,
    window: ResultWindow,
    expression: &'s Expression,
    text: &'s [u8],
    /// The range of the text that is read as JSON.
    walked: Range<u64>,
    lines: LineSearch<'s>,
    started: Instant,
    seen: Counts,
    hits: Counts,
    /// Keys and values that match, several of which may be in one record.
    matching_values: u64,
    /// Matches in order, from a little before the first wanted one.
    results: Vec<String>,
    bytes: usize,
    /// Records in which a whole value matches: they come first.
    exact: Vec<String>,
    /// The first large records that match.
    large: LargeRecords,
    /// The limit that ended the search.
    stopped: Option<String>,
}

impl<'s> Search<'s> {
    fn new(asked: &Asked<'s>, expression: &'s Expression, text: &'s [u8]) -> Self {
        Self {
            limits: asked.limits,
            scope: asked.data.outline().scope(),
            context: asked.context,
            before: VecDeque::new(),
            after: 0,
            last_match: LastMatch::Left,
            tally: asked.count.then(Tally::default),
            window: asked.window,
            expression,
            text,
            walked: asked.data.walked_range(),
            lines: LineSearch::new(expression, text, asked.data.walked_range(), asked.context)
                .in_diff(asked.data.kind() == "diff"),
            started: Instant::now(),
            seen: Counts::default(),
            hits: Counts::default(),
            matching_values: 0,
            results: Vec::new(),
            bytes: 0,
            exact: Vec::new(),
            large: LargeRecords::default(),
            stopped: None,
        }
    }

    fn hit_count(&self) -> u64 {
        self.hits.records + self.hits.values + self.hits.lines
    }

    /// Breaks where a limit is reached.
    fn check_limits(&mut self) -> ControlFlow<()> {
        let steps = self.seen.records + self.seen.values + self.hits.values + self.hits.lines;
        if steps.is_multiple_of(UNITS_PER_CHECK) && self.started.elapsed() > self.limits.time {
            self.stopped = Some(self.limits.out_of_time("grep"));
        } else if self.hit_count() >= self.limits.rows {
            self.stopped = Some(self.limits.out_of_rows("grep"));
        }
        if self.stopped.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Returns the first match, exact ones aside, that may be wanted.
    fn first(&self) -> u64 {
        self.window.skip.saturating_sub(MAX_EXACT as u64)
    }

    /// Counts a match that is not an exact one, and keeps it if it may be wanted.
    fn keep(&mut self, before: u64, show: impl FnOnce(&mut Self) -> String) {
        self.last_match = LastMatch::Left;
        if self.tally.is_some() || before < self.first() || self.bytes > self.window.bytes {
            return;
        }
        let result = show(self);
        // Matches that may still be skipped do not count as bytes.
        if before >= self.window.skip {
            self.bytes += result.len();
        }
        self.results.push(result);
        self.last_match = LastMatch::Kept;
    }

    /// Counts a match by its place, where matches are only counted.
    fn tally(&mut self, place: impl FnOnce() -> String) {
        if let Some(tally) = &mut self.tally {
            tally.add(&place());
        }
    }

    /// Returns how many matches that are not exact ones were found.
    fn others(&self) -> u64 {
        self.hit_count() - self.exact.len() as u64
    }

    fn unit(&mut self, unit: &Unit<'_>) -> ControlFlow<()> {
        self.check_limits()?;
        self.lines_before(unit.range.start)?;
        let found = match &unit.content {
            UnitContent::Record(record) => self.record(unit, record),
            UnitContent::Value { key, text } => self.value(unit, *key, *text),
        };
        if found {
            // What matches in here is shown with it.
            self.lines.skip_to(unit.range.end);
        }
        ControlFlow::Continue(())
    }

    /// Shows the matches before an offset that are in no unit that was shown.
    fn lines_before(&mut self, offset: u64) -> ControlFlow<()> {
        while self.lines.peek().is_some_and(|start| (start as u64) < offset) {
            self.check_limits()?;
            let before = self.others();
            self.hits.lines += 1;
            let found = self.lines.take();
            let scope = self.scope;
            self.tally(|| if scope.is_empty() { "lines".to_owned() } else { scope.to_owned() });
            self.keep(before, |search| match scope {
                "" => search.lines.shown(&found),
                scope => format!("{} {}", shown_pointer(scope), search.lines.shown(&found)),
            });
        }
        ControlFlow::Continue(())
    }

    fn record(&mut self, unit: &Unit<'_>, record: &RecordText<'_>) -> bool {
        self.seen.records += 1;
        if record.key.is_none() && self.expression.misses_json(record.json) {
            self.show_around(unit, record);
            return false;
        }
        let is_whole = record.json.len() <= MAX_WHOLE_RECORD_BYTES;
        let (mut values, mut is_exact, mut texts) = (0, false, Vec::new());
        record_values(record.json, &mut |inner| {
            if let UnitContent::Value { key, text } = &inner.content {
                values += u64::from(key.is_some_and(|key| self.expression.is_match(key)));
                if let Some(text) = text.filter(|text| !is_whole && is_text(text)) {
                    texts.push((unit.place.below(&inner.place), text.to_owned()));
                } else if let Some((text, found)) =
                    text.and_then(|text| Some((text, self.expression.find(text)?)))
                {
                    is_exact |= found.len() == text.len() && !text.is_empty();
                    values += 1;
                }
            }
            ControlFlow::Continue(())
        });
        let by_key = record.key.and_then(|key| Some(self.expression.find(key)?.len() == key.len()));
        is_exact |= by_key == Some(true);
        let in_texts = texts.iter().any(|(_, text)| self.is_in_text(text));
        let as_written = || !in_texts && self.expression.is_match_as_written(record.json);
        let is_found = values > 0 || by_key.is_some() || as_written();
        if is_found {
            let has_long_text = texts.iter().any(|(_, text)| text.len() > MAX_WHOLE_RECORD_BYTES);
            self.record_found(unit, record, values, is_exact, has_long_text);
        }
        for (pointer, text) in texts.iter().filter(|_| in_texts) {
            self.text(pointer, text);
        }
        if !is_found && !in_texts {
            self.show_around(unit, record);
        }
        is_found || in_texts
    }

    fn record_found(
        &mut self,
        unit: &Unit<'_>,
        record: &RecordText<'_>,
        values: u64,
        is_exact: bool,
        has_long_text: bool,
    ) {
        let before = self.others();
        self.hits.records += 1;
        self.matching_values += values.max(1);
        self.tally(|| unit.place.parent());
        let mut lines: Vec<String> = self.before.drain(..).collect();
        let mut show = |search: &Self| {
            lines.push(shown_record(search.expression, &unit.place, record, values));
            lines.join("\n")
        };
        let is_exact = is_exact && self.exact.len() < MAX_EXACT && self.tally.is_none();
        if !has_long_text && self.tally.is_none() {
            self.large.keep(self.expression, &unit.place, record, values, is_exact);
        }
        if is_exact {
            let shown = show(self);
            self.exact.push(shown);
            self.last_match = LastMatch::Exact;
        } else {
            self.keep(before, |search| show(search));
        }
        self.after = self.context;
    }

    /// Shows a record that does not match with the match before or after it.
    fn show_around(&mut self, unit: &Unit<'_>, record: &RecordText<'_>) {
        if self.context == 0 || self.tally.is_some() {
            return;
        }
        let line = one_line_record(&unit.place, record);
        let last = match self.last_match {
            _ if self.after == 0 => None,
            LastMatch::Left => None,
            LastMatch::Kept => self.results.last_mut(),
            LastMatch::Exact => self.exact.last_mut(),
        };
        self.after = self.after.saturating_sub(1);
        if let Some(last) = last {
            last.push('\n');
            last.push_str(&line);
            return;
        }
        self.before.push_back(line);
        if self.before.len() as u64 > self.context {
            self.before.pop_front();
        }
    }

    fn value(&mut self, unit: &Unit<'_>, key: Option<&str>, text: Option<&str>) -> bool {
        self.seen.values += 1;
        if let Some(text) = text.filter(|text| is_text(text))
            && self.text(&unit.place.pointer(), text)
        {
            return true;
        }
        let by_key = key.is_some_and(|key| self.expression.is_match(key));
        let found = text.and_then(|text| self.expression.find(text));
        if !by_key && found.is_none() {
            return false;
        }
        let before = self.others();
        self.hits.values += 1;
        self.matching_values += u64::from(by_key) + u64::from(found.is_some());
        self.tally(|| unit.place.pattern());
        let mark = if found.is_none() { " (key)" } else { "" };
        let show = || {
            let text = text.map(|text| format!(" {}", piece(text.as_bytes(), found.clone().unwrap_or(0..0))));
            format!("{}{mark}{}", shown_pointer(&unit.place.pointer()), text.unwrap_or_default())
        };
        if self.walked.contains(&unit.range.start) && self.tally.is_none() {
            self.large.keep_object(self.text, &unit.place, show);
        }
        self.keep(before, |_| show());
        true
    }

    /// Returns whether anything in a text matches, also in the strings of JSON in it.
    fn is_in_text(&self, text: &str) -> bool {
        let mut is_found = self.expression.is_match(text);
        if !is_found && is_inner_json(text) {
            record_values(text, &mut |inner| {
                if let UnitContent::Value { text: Some(text), .. } = &inner.content {
                    is_found |= self.is_in_text(text);
                }
                if is_found { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
        }
        is_found
    }

    /// Shows what matches in a text: the values of JSON, or else the lines, or else the text once.
    fn text(&mut self, pointer: &str, text: &str) -> bool {
        if is_inner_json(text) && self.values_of_text(pointer, text) {
            return true;
        }
        if text.contains('\n') {
            return self.lines_of_value(pointer, text);
        }
        let Some(found) = self.expression.find(text) else { return false };
        self.value_found(pointer, "", Some(text), Some(found));
        true
    }

    /// Shows the matching keys and values of a text that is JSON, each with its path through the text.
    fn values_of_text(&mut self, pointer: &str, text: &str) -> bool {
        let mut matching: Vec<(String, Option<String>, bool)> = Vec::new();
        record_values(text, &mut |inner| {
            let UnitContent::Value { key, text } = &inner.content else { return ControlFlow::Continue(()) };
            let is_key = key.is_some_and(|key| self.expression.is_match(key));
            if is_key || text.is_some_and(|text| self.is_in_text(text)) {
                let below = inner.place.pointer();
                let below = if below == "/" { "" } else { &below };
                let path = format!("{}{below}", pointer.trim_end_matches('/'));
                matching.push((path, text.map(str::to_owned), is_key));
            }
            ControlFlow::Continue(())
        });
        for (path, text, is_key) in &matching {
            let text = text.as_deref();
            if text.is_some_and(|text| is_text(text) && self.text(path, text)) {
                continue;
            }
            let found = text.and_then(|text| self.expression.find(text));
            self.value_found(path, if *is_key && found.is_none() { " (key)" } else { "" }, text, found);
        }
        !matching.is_empty()
    }

    /// Counts a value that matches, and shows it.
    fn value_found(&mut self, pointer: &str, mark: &str, text: Option<&str>, found: Option<Range<usize>>) {
        let before = self.others();
        self.hits.values += 1;
        self.matching_values += 1;
        self.tally(|| pointer.to_owned());
        self.keep(before, |_| {
            let text = text.map(|text| format!(" {}", piece(text.as_bytes(), found.unwrap_or(0..0))));
            format!("{}{mark}{}", shown_pointer(pointer), text.unwrap_or_default())
        });
    }

    /// Shows the matching lines of a value that has several, each with the path and its number in the value.
    fn lines_of_value(&mut self, pointer: &str, text: &str) -> bool {
        let mut lines = LineSearch::new(self.expression, text.as_bytes(), 0..0, self.context)
            .in_diff(diff_file::is_diff(text));
        let mut is_found = false;
        while lines.peek().is_some() && self.check_limits().is_continue() {
            let line = lines.take();
            let before = self.others();
            self.hits.values += 1;
            self.matching_values += 1;
            self.tally(|| pointer.to_owned());
            self.keep(before, |_| format!("{} {}", shown_pointer(pointer), lines.shown(&line)));
            is_found = true;
        }
        is_found
    }

    fn found(mut self, line_count: u64, base64_bytes: u64) -> EngineOutput {
        let count = self.hit_count();
        if self.stopped.is_none() {
            self.large.show_whole(count, &mut self.exact, &mut self.results);
        }
        let total = if self.stopped.is_some() { Total::AtLeast(count) } else { Total::Exactly(count) };
        let notes = self.notes(line_count, base64_bytes);
        if let Some(tally) = self.tally {
            return tally.found(total, notes, self.window.skip);
        }
        let what = match self.hits {
            Counts { values: 0, lines: 0, records: 1.. } => "matching records",
            Counts { values: 0, records: 0, lines: 1.. } => "matching lines",
            _ => "matches",
        };
        // The results begin at `first`, and the exact matches come before all of them.
        let passed = usize::try_from(self.window.skip).unwrap_or(usize::MAX);
        let begin = usize::try_from(self.first()).unwrap_or(usize::MAX);
        let exact = self.exact.len();
        let results = self
            .exact
            .into_iter()
            .skip(passed)
            .chain(self.results.into_iter().skip((passed.saturating_sub(exact)).saturating_sub(begin)));
        EngineOutput { header: None, results: results.collect(), total, what: what.into(), notes }
    }

    fn notes(&self, line_count: u64, base64_bytes: u64) -> Vec<String> {
        let mut notes = Vec::new();
        let Counts { records, values, .. } = self.seen;
        match &self.stopped {
            Some(limit) => notes.push(format!(
                "{limit}. The search read {records} records and {values} other values, and did not reach the end."
            )),
            None if self.hit_count() == 0 => {
                let rest = if base64_bytes == 0 { "; that is all of it" } else { "" };
                let counts = match (records, values) {
                    (0, 0) => counted(line_count, "line"),
                    _ => format!(
                        "{}, {}, {}",
                        counted(records, "record"),
                        counted(values, "other value"),
                        counted(line_count, "line")
                    ),
                };
                notes.push(format!("Searched: {counts}{rest}."));
            }
            None => {}
        }
        match (self.hits.records + self.hits.values > 0, self.hits.lines > 0) {
            _ if self.tally.is_some() => {}
            (true, true) => notes.push("Each begins with its path, or with the number of its line.".into()),
            (true, false) => notes.push("Each begins with its path.".into()),
            _ => {}
        }
        if self.matching_values > self.hits.records + self.hits.values {
            notes.push(format!("{} keys and values match in all.", self.matching_values));
        }
        if !self.exact.is_empty() && !self.results.is_empty() {
            notes.push("Those with exactly that value come first.".into());
        }
        if base64_bytes > 0 {
            notes.push(format!("{base64_bytes} bytes of base64 data were not searched."));
        }
        notes
    }
}

/// Returns whether a value is a text of its own: of several lines, or JSON.
fn is_text(text: &str) -> bool {
    text.contains('\n') || is_inner_json(text)
}

fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}
