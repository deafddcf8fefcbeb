//! The view `grep`: lines or records that a regular expression matches.
//!
//! In records the decoded values are searched, so that an expression never has to know about JSON escapes. A small
//! record is shown whole; of a large one the matching values are shown with the path that leads to them. An expression
//! without capitals also matches capitals.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::time::Instant;

use regex::{Regex, RegexBuilder};
use tidegate_core::view::{
    Dataset, EngineOutput, RecordText, ResultWindow, Total, ViewError, scalars, visible_text,
};

use crate::limits::Limits;

/// The most bytes of a compiled expression.
const MAX_COMPILED_BYTES: usize = 4 << 20;
/// The most bytes of a record that is shown whole.
const MAX_WHOLE_RECORD_BYTES: usize = 700;
/// Bytes shown before a match in a long text; twice as many are shown after it.
const CONTEXT_BYTES: usize = 120;
/// The most matching values shown of a large record.
const MAX_SHOWN_VALUES: usize = 6;
/// Lines or records between checks of the time.
const ITEMS_PER_CHECK: u64 = 256;

pub(crate) fn run(
    limits: &Limits,
    data: &Dataset<'_>,
    pattern: &str,
    context: u64,
    window: ResultWindow,
) -> Result<EngineOutput, ViewError> {
    let regex = compile(pattern)?;
    let mut search = Search::new(limits, window);
    if data.is_records() {
        data.records(0, usize::MAX, &mut |record| search.record(&regex, data, &record))?;
    } else {
        let mut around = LineContext::new(context);
        data.lines(1, &mut |line| search.line(&regex, line.number, line.text, &mut around))?;
        search.end_lines(&mut around);
    }
    Ok(search.found(data))
}

fn compile(pattern: &str) -> Result<Regex, ViewError> {
    let any_case = !pattern.chars().any(char::is_uppercase);
    let built = RegexBuilder::new(pattern)
        .case_insensitive(any_case)
        .size_limit(MAX_COMPILED_BYTES)
        .dfa_size_limit(MAX_COMPILED_BYTES)
        .build();
    built.map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => ViewError::Engine(
            "the expression is too large; use smaller repetitions or a plainer expression".into(),
        ),
        error => {
            let text = error.to_string();
            let reason = text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
            ViewError::Engine(format!(
                "{pattern:?} is not a regular expression: {reason}; to look for it as it stands, write {:?}",
                regex::escape(pattern)
            ))
        }
    })
}

/// The context of matching lines: lines before a match that may still be shown, and lines after it that are.
struct LineContext {
    lines: u64,
    before: VecDeque<String>,
    after_left: u64,
    /// The match whose lines are being collected, and how many matches came before it.
    open: Option<(String, u64)>,
}

impl LineContext {
    fn new(lines: u64) -> Self {
        Self { lines, before: VecDeque::new(), after_left: 0, open: None }
    }
}

struct Search<'l> {
    limits: &'l Limits,
    window: ResultWindow,
    started: Instant,
    seen: u64,
    matches: u64,
    /// Matches in order, from a little before the first wanted one.
    results: Vec<String>,
    bytes: usize,
    /// Records in which a whole value matches: they come first.
    exact: Vec<String>,
    stopped: bool,
}

/// The most records that come first because a whole value matches.
const MAX_EXACT: usize = 40;

impl<'l> Search<'l> {
    fn new(limits: &'l Limits, window: ResultWindow) -> Self {
        Self {
            limits,
            window,
            started: Instant::now(),
            seen: 0,
            matches: 0,
            results: Vec::new(),
            bytes: 0,
            exact: Vec::new(),
            stopped: false,
        }
    }

    /// Counts an item, and breaks where a limit is reached.
    fn check_limits(&mut self) -> ControlFlow<()> {
        self.seen += 1;
        let over = self.seen.is_multiple_of(ITEMS_PER_CHECK) && self.started.elapsed() > self.limits.time;
        if over || self.matches >= self.limits.rows {
            self.stopped = true;
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    /// Returns the first match, exact ones aside, that may be wanted.
    fn first(&self) -> u64 {
        self.window.skip.saturating_sub(MAX_EXACT as u64)
    }

    /// Returns whether a match after `before` others may be wanted.
    fn wanted(&self, before: u64) -> bool {
        before >= self.first() && self.bytes <= self.window.bytes
    }

    /// Keeps a match that has `before` others before it. Matches that may still be skipped do not count as bytes.
    fn keep(&mut self, result: String, before: u64) {
        if before >= self.window.skip {
            self.bytes += result.len();
        }
        self.results.push(result);
    }

    fn record(&mut self, regex: &Regex, data: &Dataset<'_>, record: &RecordText<'_>) -> ControlFlow<()> {
        self.check_limits()?;
        let mut places: Vec<(String, String)> = Vec::new();
        let mut is_exact = false;
        scalars(record.json, &mut |path, text| {
            if let Some(found) = regex.find(text) {
                is_exact |= found.len() == text.len() && !text.is_empty();
                places.push((path.to_owned(), text.to_owned()));
            }
        });
        let by_key = record.key.and_then(|key| regex.find(key).map(|found| found.len() == key.len()));
        is_exact |= by_key == Some(true);
        if places.is_empty() && by_key.is_none() && !regex.is_match(record.json) {
            return ControlFlow::Continue(());
        }
        let others = self.matches - self.exact.len() as u64;
        self.matches += 1;
        let first = is_exact && self.exact.len() < MAX_EXACT;
        if first || self.wanted(others) {
            let shown = shown_record(regex, data, record, &places);
            if first {
                self.exact.push(shown);
            } else {
                self.keep(shown, others);
            }
        }
        ControlFlow::Continue(())
    }

    fn line(&mut self, regex: &Regex, number: u64, text: &str, around: &mut LineContext) -> ControlFlow<()> {
        self.check_limits()?;
        let Some(found) = regex.find(text) else {
            self.pass(number, text, around);
            return ControlFlow::Continue(());
        };
        self.end_lines(around);
        let before: Vec<String> = around.before.drain(..).collect();
        self.matches += 1;
        if self.wanted(self.matches - 1) {
            let mut result = before;
            result.push(format!("{number}: {}", piece(text, found.start(), found.end())));
            around.open = Some((result.join("\n"), self.matches - 1));
            around.after_left = around.lines;
        }
        ControlFlow::Continue(())
    }

    /// Handles a line without a match, which may be context of the match before it or after it.
    fn pass(&mut self, number: u64, text: &str, around: &mut LineContext) {
        if around.lines == 0 {
            return self.end_lines(around);
        }
        let line = format!("{number}- {}", piece(text, 0, 0));
        if around.after_left > 0 {
            around.after_left -= 1;
            if let Some((open, _)) = &mut around.open {
                open.push('\n');
                open.push_str(&line);
            }
            return;
        }
        self.end_lines(around);
        if around.before.len() as u64 == around.lines {
            around.before.pop_front();
        }
        around.before.push_back(line);
    }

    fn end_lines(&mut self, around: &mut LineContext) {
        if let Some((result, before)) = around.open.take() {
            self.keep(result, before);
        }
        around.after_left = 0;
    }

    fn found(self, data: &Dataset<'_>) -> EngineOutput {
        let unit = if data.is_records() { "records" } else { "lines" };
        let mut notes = Vec::new();
        if self.stopped {
            notes.push(format!("{}.", self.limits.out_of_time("grep")));
        } else if self.matches == 0 {
            notes.push(format!("{} {unit} were searched.", self.seen));
        }
        if data.is_records() && self.matches > 0 {
            notes.push("Each begins with its path.".into());
        }
        if !self.exact.is_empty() && !self.results.is_empty() {
            notes.push("Those in which a value is just that come first.".into());
        }
        let total = if self.stopped { Total::AtLeast(self.matches) } else { Total::Exactly(self.matches) };
        // The results begin at `first`, and the exact matches come before all of them.
        let passed = usize::try_from(self.window.skip).unwrap_or(usize::MAX);
        let begin = usize::try_from(self.first()).unwrap_or(usize::MAX);
        let exact = self.exact.len();
        let results = self
            .exact
            .into_iter()
            .skip(passed)
            .chain(self.results.into_iter().skip((passed.saturating_sub(exact)).saturating_sub(begin)));
        EngineOutput {
            header: None,
            results: results.collect(),
            total,
            what: format!("matching {unit}"),
            notes,
        }
    }
}

/// Returns a matching record: whole if it is small, else what identifies it and the objects in it that match.
fn shown_record(
    regex: &Regex,
    data: &Dataset<'_>,
    record: &RecordText<'_>,
    places: &[(String, String)],
) -> String {
    let pointer = data.pointer(record);
    if record.json.len() <= MAX_WHOLE_RECORD_BYTES {
        return format!("{pointer} {}", record.json);
    }
    let mut lines = vec![format!("{pointer} {}", identity(record, places))];
    let mut shown: Vec<String> = Vec::new();
    for (path, text) in places {
        let parent = parent_of(path);
        if shown.contains(&parent) {
            continue;
        }
        if shown.len() == MAX_SHOWN_VALUES {
            lines.push(format!("+{} more matching values", places.len() - MAX_SHOWN_VALUES));
            break;
        }
        let place = format!("{pointer}{parent}");
        let small = (!parent.is_empty())
            .then(|| value_at(record.json, &parent))
            .flatten()
            .filter(|json| json.len() <= MAX_WHOLE_RECORD_BYTES / 2);
        let name = path.rsplit('.').next().unwrap_or(path);
        lines.push(match small {
            Some(json) => format!("{place} {json}"),
            None => {
                let found = regex.find(text).map_or((0, 0), |found| (found.start(), found.end()));
                format!("{place} {name}={}", piece(text, found.0, found.1))
            }
        });
        shown.push(parent);
    }
    lines.join("\n")
}

/// Returns the first short values of a record, which identify it.
fn identity(record: &RecordText<'_>, places: &[(String, String)]) -> String {
    let mut names: Vec<String> =
        record.key.map(|key| format!("key={}", visible_text(key))).into_iter().collect();
    scalars(record.json, &mut |path, text| {
        let top = !path.contains(['[', '.']);
        if names.len() < 5 && top && text.len() <= 80 {
            names.push(format!("{path}={}", visible_text(text)));
        }
    });
    let size = record.json.len();
    format!("({size} bytes, {} matching values) {}", places.len(), names.join(" | "))
}

/// Returns the JSON Pointer, from the record, of the object or list that holds a path.
fn parent_of(path: &str) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        if let Some(index) = rest.strip_prefix('[') {
            let (index, after) = index.split_once(']').unwrap_or((index, ""));
            parts.push(index.to_owned());
            rest = after;
        } else if let Some(quoted) = rest.trim_start_matches('.').strip_prefix('"') {
            let (key, after) = quoted.split_once('"').unwrap_or((quoted, ""));
            parts.push(key.to_owned());
            rest = after;
        } else {
            let part = rest.trim_start_matches('.');
            let end = part.find(['.', '[']).unwrap_or(part.len());
            parts.push(part[..end].to_owned());
            rest = &part[end..];
        }
    }
    parts.pop();
    parts.iter().map(|part| format!("/{}", part.replace('~', "~0").replace('/', "~1"))).collect()
}

/// Returns the JSON at a pointer.
fn value_at(json: &str, pointer: &str) -> Option<String> {
    let value: serde_json::Value = serde_json::from_str(json).ok()?;
    value.pointer(pointer).map(ToString::to_string)
}

/// Returns the part of a long text around a match, on one line.
fn piece(text: &str, start: usize, end: usize) -> String {
    let boundary = |at: usize, up: bool| -> usize {
        let mut at = at.min(text.len());
        while !text.is_char_boundary(at) {
            at = if up { at + 1 } else { at - 1 };
        }
        at
    };
    let from = boundary(start.saturating_sub(CONTEXT_BYTES), false);
    let to = boundary(end.max(start) + CONTEXT_BYTES * 2, true);
    let head = if from > 0 { "…" } else { "" };
    let tail =
        if to < text.len() { format!("… ({} characters)", text.chars().count()) } else { String::new() };
    format!("{head}{}{tail}", visible_text(&text[from..to]).replace('\n', "\\n"))
}
