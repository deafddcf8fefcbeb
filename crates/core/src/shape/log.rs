//! The strategy for logs, output of test runners and compilers, and listings: lines that repeat a few patterns.
//!
//! Several readers look at each line: one for tests, one for messages of compilers, one for stack traces, one for times
//! and levels. An overview shows what they found, then severe lines with their numbers, each repeated line once with
//! its count, and the beginning and the end. Where most lines have the same fields, it shows their statistics, too.

mod diagnostics;
mod levels;
mod outcome;
mod place;
mod stack_traces;
mod templates;
mod test_report;

use std::io;

use super::draft::Draft;
use super::line_facts::{LineFacts, shown};
use super::severity::{is_loud, severity};
use super::strategy::{Content, STRATEGY_SECTION, Strategy, TextKind};
use super::word_counts::WordCounts;
use super::{main_table, rows};
use crate::data::Data;
use crate::pattern::{LineFields, Pattern};
use crate::sample::Sample;
use crate::text::Text;
use crate::visible;
use diagnostics::Diagnostics;
use levels::{Level, LogLevels};
use stack_traces::StackTraces;
use templates::{LineTemplates, LogLine, ShownBy};
use test_report::TestReport;

/// Output of a test runner or a compiler, or a stack trace.
pub(crate) const REPORT: TextKind = TextKind { name: "log", recognise: is_report, read };

/// Lines of a log.
pub(crate) const KIND: TextKind = TextKind { name: "log", recognise: is_log, read };

/// Lines with the same fields, with the same number of words, as in a listing, or with the same few patterns.
pub(crate) const LISTING: TextKind = TextKind {
    name: "log",
    recognise: |sample| is_even(sample) || LineFields::of(sample).is_some() || is_repetitive(sample),
    read,
};

/// Returns whether most lines have patterns that repeat, so that each pattern with its count tells more than samples.
pub(super) fn is_repetitive(sample: &Sample<'_>) -> bool {
    let lines = sample.lines.iter().filter(|line| !is_sentence(line));
    let mut patterns: Vec<u64> = lines.map(|line| templates::pattern_hash(line.trim())).collect();
    patterns.sort_unstable();
    let repeated = patterns.chunk_by(|one, two| one == two).filter(|same| same.len() >= 3);
    sample.lines.len() >= MIN_REPETITIVE_LINES
        && repeated.map(<[u64]>::len).sum::<usize>() * 10 >= sample.lines.len() * 7
}

/// Returns whether a line is a sentence or a part of one: nearly all of its words are nothing but letters.
fn is_sentence(line: &str) -> bool {
    let is_word = |word: &&str| {
        word.trim_matches(|c: char| c.is_ascii_punctuation()).chars().all(|c| c.is_alphabetic() || c == '\'')
    };
    let count = line.split_whitespace().count();
    count > 6 && line.split_whitespace().filter(is_word).count() * 10 >= count * 9
}

/// The minimum number of lines that may be called repetitive.
const MIN_REPETITIVE_LINES: usize = 40;

/// Reads a log; where nearly all of its lines have the same fields and none reports a failure, it is read as data.
fn read<'t>(text: &'t Text<'t>, sample: &Sample<'_>) -> io::Result<Option<Content<'t>>> {
    let fields = LineFields::of(sample).map(Pattern::Fields);
    let columns = fields.map(|pattern| Data::pattern(text, pattern)).transpose()?;
    let log = LogText::read(text)?;
    Ok(match columns {
        Some(data) if data.regular_records() * 100 >= log.facts.lines * 97 && !log.reports_failures() => {
            Content::data(data)
        }
        columns => Content::text(LogText { columns, ..log }),
    })
}

/// Words that occur in lines of a log.
const LOG_WORDS: &[&str] = &[
    "ERROR", "WARN", "INFO", "DEBUG", "TRACE", "FATAL", "error:", "error[", "warning:", "PASSED", "FAILED",
    "SKIPPED", "note: ", "[error]", "[warn]", "[info]",
];

/// Returns whether a line is one of a test runner, a compiler or a stack trace.
fn is_report_line(line: &str) -> bool {
    let line = visible::strip_colours(line);
    TestReport::is_test_line(&line) || Diagnostics::is_message(&line) || StackTraces::is_frame(&line)
}

/// Returns whether enough lines are those of a test runner, a compiler or a stack trace, which have marks of their own.
fn is_report(sample: &Sample<'_>) -> bool {
    sample.lines.len() >= 3 && sample.share(is_report_line) > 0.3
        || TestReport::is_failure(sample.lines.iter().copied())
}

/// Returns whether enough lines are those of a log.
fn is_log(sample: &Sample<'_>) -> bool {
    sample.share(is_log_line) > 0.3
        || sample.share(|line| is_log_line(line) || is_report_line(line)) > 0.3
        || sample.share(|line| TestReport::is_test_line(&visible::strip_colours(line))) > 0.1
}

fn is_log_line(line: &str) -> bool {
    let line = visible::strip_colours(line);
    let line = line.trim_start();
    // The left margin of compiler messages.
    let margin = line.starts_with("--> ")
        || line.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start().starts_with("| ")
        || line == "|"
        || line.starts_with("= note");
    margin
        || starts_with_time(line)
        || LOG_WORDS.iter().any(|level| line.contains(level))
        || line.contains("] \"GET ")
        || line.contains("] \"HEAD ")
        || line.contains("] \"POST ")
}

/// Returns whether a line begins with a date or a time of day, perhaps in brackets.
fn starts_with_time(line: &str) -> bool {
    let line = line.trim_start_matches(['[', '(', '<']).as_bytes();
    let digits = |range: std::ops::Range<usize>| {
        line.get(range).is_some_and(|part| part.iter().all(u8::is_ascii_digit))
    };
    let is = |at: usize, byte: u8| line.get(at) == Some(&byte);
    (digits(0..4) && is(4, b'-') && digits(5..7))
        || (digits(0..2) && is(2, b':') && digits(3..5) && is(5, b':'))
        || (digits(0..4) && is(4, b'/') && digits(5..7))
        || (line.len() > 15 && MONTHS.iter().any(|month| line.starts_with(month.as_bytes())) && digits(7..9))
}

/// The names of months that begin a time as syslog writes it.
const MONTHS: &[&str] =
    &["Jan ", "Feb ", "Mar ", "Apr ", "May ", "Jun ", "Jul ", "Aug ", "Sep ", "Oct ", "Nov ", "Dec "];

/// Returns whether most lines have the same number of words, as in a listing.
fn is_even(sample: &Sample<'_>) -> bool {
    if sample.lines.len() < 8 {
        return false;
    }
    let fields = |line: &str| line.split_whitespace().count();
    let lines_with = |count: usize| sample.lines.iter().filter(|line| fields(line) == count).count();
    let usual = (1..=12).max_by_key(|&count| lines_with(count)).unwrap_or(1);
    sample.share(|line| fields(line) == usual) > 0.7
}

/// A log that has been read.
#[derive(Default)]
pub(crate) struct LogText<'t> {
    facts: LineFacts,
    words: WordCounts,
    templates: LineTemplates,
    tests: TestReport,
    diagnostics: Diagnostics,
    traces: StackTraces,
    levels: LogLevels,
    /// The lines that share one form, as records.
    columns: Option<Data<'t>>,
}

/// The section of the statistics of columns, before those of the log itself.
const COLUMNS_SECTION: usize = 5;
/// The maximum number of lines shown from the beginning.
const MAX_HEAD_LINES: u64 = 40;

/// The maximum number of lines shown from the beginning where tests or messages say what the text is about.
const MAX_HEAD_LINES_OF_REPORT: u64 = 8;

impl Strategy for LogText<'_> {
    fn name(&self) -> &'static str {
        "log"
    }

    fn compose(&self, text: &Text<'_>, _arguments: &[String], draft: &mut Draft<'_>) -> io::Result<()> {
        let is_reported = self.tests.is_found() || self.diagnostics.is_found();
        if let Some(table) = self.columns.as_ref().and_then(main_table).filter(|_| !is_reported) {
            let share = draft.writer.left() / 2;
            draft.writer.within(share, |writer| rows::write_fields(&table, writer, COLUMNS_SECTION))?;
        }
        let below = self.write(text, draft)?;
        self.facts.describe(draft, "log", &below);
        Ok(())
    }
}

impl LogText<'_> {
    fn read(text: &Text<'_>) -> io::Result<Self> {
        let mut log = Self::default();
        let facts = LineFacts::gather(text, |number, line| {
            let text = line.text();
            let text = visible::strip_colours(&text);
            log.add(number, &text, || elided(&shown(line, 4000)));
        })?;
        log.traces.finish();
        log.facts = facts;
        Ok(log)
    }

    fn add(&mut self, number: u64, line: &str, example: impl FnOnce() -> String) {
        let text = line.trim();
        self.words.add(line, number, false);
        if text.is_empty() {
            return;
        }
        let level = self.levels.add(number, line);
        // Each reader follows the lines by itself: what one shows, another may need to find its end.
        let is_traced = self.traces.add(number, line);
        let is_test = self.tests.add(number, line);
        let is_message = self.diagnostics.add(number, line);
        let shown_by = match (is_test, is_message, is_traced) {
            (true, ..) => ShownBy::Tests,
            (_, true, _) => ShownBy::Diagnostics,
            (.., true) => ShownBy::StackTraces,
            _ => ShownBy::Templates,
        };
        let is_plain = level == Some(Level::Plain) && !is_loud(text);
        let severity = if is_plain { 0 } else { severity(text) };
        self.templates.add(&LogLine { number, text, severity, shown_by }, example);
    }

    /// Returns whether some line reports a failure.
    fn reports_failures(&self) -> bool {
        self.templates.is_severe()
            || self.tests.is_found()
            || self.diagnostics.is_found()
            || self.traces.is_found()
    }

    /// Writes what the log tells; returns what that is.
    fn write(&self, text: &Text<'_>, draft: &mut Draft<'_>) -> io::Result<Vec<&'static str>> {
        let section = STRATEGY_SECTION;
        let all = draft.writer.left();
        let mut below = Vec::new();
        let mut elsewhere = Vec::new();
        let is_report = self.tests.is_found() || self.diagnostics.is_found();
        // Columns tell the time by themselves.
        self.levels.write(draft, section, self.columns.is_none() || is_report);
        if self.tests.is_found() {
            elsewhere.push(ShownBy::Tests);
            below.extend(draft.within(all * 3 / 5, |draft| self.tests.write(draft, section + 1)));
        }
        if self.diagnostics.is_found() {
            elsewhere.push(ShownBy::Diagnostics);
            below.extend(draft.within(all / 2, |draft| self.diagnostics.write(draft, section + 3)));
        }
        if draft.within(all / 3, |draft| self.traces.write(draft, section + 5)) {
            elsewhere.push(ShownBy::StackTraces);
            below.push("stack traces");
        }
        if !self.tests.is_found() && !self.levels.cover(&self.words.capitals) {
            draft.writer.within(all / 12, |writer| {
                WordCounts::write(&self.words.capitals, 1, 16, "lines with", writer, section)
            });
        }
        if !self.levels.are_found() {
            draft.writer.within(all / 12, |writer| self.words.write_beginnings(writer, section));
        }
        let left = draft.writer.left();
        let (head_lines, tail_lines) = match (is_report, draft.writer.fills()) {
            (true, _) => (MAX_HEAD_LINES_OF_REPORT, 6),
            (false, true) => (MAX_HEAD_LINES, 12),
            (false, false) => (12, 6),
        };
        let thrown = self.traces.lines();
        draft.within(all / 5, |draft| self.facts.writer(text).write_tail(draft, section + 10, tail_lines))?;
        let severe = draft
            .writer
            .within(left / 2, |writer| self.templates.write_severe(writer, section + 6, &elsewhere, &thrown));
        let repeated = draft
            .writer
            .within(left / 6, |writer| self.templates.write_repeated(writer, section + 7, &elsewhere));
        below.extend((!severe.is_empty()).then_some("errors"));
        below.extend((!repeated.is_empty()).then_some("repeated lines"));
        draft.lines.extend(severe.into_iter().chain(repeated));
        let is_shown = |line: u64| line <= head_lines || draft.lines.contains(&line);
        let once = self.templates.once(self.facts.lines, is_shown);
        let once =
            draft.writer.within(left / 8, |writer| once.write_to(writer, section + 8, "lines unlike others"));
        below.extend((!once.is_empty()).then_some("lines unlike others"));
        draft.lines.extend(once);
        if self.facts.writer(text).write_head(draft, section + 9, head_lines)? {
            below.push("head");
        }
        Ok(below)
    }
}

/// Returns a long line without its middle, since its end often matters more.
fn elided(line: &str) -> String {
    const HEAD_CHARACTERS: usize = 70;
    const TAIL_CHARACTERS: usize = 110;
    let line = line.trim();
    let count = line.chars().count();
    if count <= HEAD_CHARACTERS + TAIL_CHARACTERS + 10 {
        return line.to_owned();
    }
    let head: String = line.chars().take(HEAD_CHARACTERS).collect();
    let tail: String = line.chars().skip(count - TAIL_CHARACTERS).collect();
    format!("{head}…{tail}")
}
