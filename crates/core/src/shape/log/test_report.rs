//! Gathers what a test runner reports: how many tests passed, failed and were skipped, the failures by name with their
//! reason, and the slowest tests.
//!
//! Most runners report a failed test twice: when it ends, and in a section with its reason. Both are one failure here,
//! known by its name.

use std::cmp::Reverse;

use super::outcome::{self, Outcome, TestLine, totals};
use super::place;
use crate::shape::draft::Draft;
use crate::{visible, write};

/// What a test runner reports.
#[derive(Debug, Default)]
pub(crate) struct TestReport {
    /// How many lines report a test with each word of outcome, in order of appearance.
    outcomes: Vec<(String, Outcome, u64)>,
    totals: Vec<Totals>,
    failures: Vec<Failure>,
    /// The failure whose details the lines read now may be.
    open: Option<usize>,
    /// The failures of sections that begin with a number: some runners number a failed test when it ends, too.
    numbered: Vec<(u32, usize)>,
    /// Whether the next line is the reason of the open failure.
    reason_follows: bool,
    /// What was printed since the last test ended: some runners write the reason of a failure before its name.
    pending: Option<(String, String)>,
    /// The lines and names of the first skipped tests.
    skipped: Vec<(u64, String)>,
    /// Seconds, name and line of the slowest tests, slowest first.
    slowest: Vec<(f64, String, u64)>,
}

/// Lines of totals with the same label and the same words, added up.
#[derive(Debug)]
struct Totals {
    label: String,
    sums: Vec<(String, u64)>,
    lines: u64,
    /// The last of them and its number.
    last: (u64, String),
    /// Whether the last one states the sum of those before it.
    grand: bool,
}

#[derive(Debug)]
struct Failure {
    name: String,
    /// A line that names it.
    line: u64,
    reason: String,
    /// How sure the reason is: a line that only looks like one gives way to one that is marked.
    is_sure: bool,
    /// The first line of its section, shown if no reason is found.
    first_detail: String,
    place: String,
}

const MAX_FAILURES: usize = 512;
const MAX_TOTALS: usize = 12;
const MAX_OUTCOME_WORDS: usize = 16;
const MAX_SLOWEST: usize = 5;
/// The maximum number of skipped tests that are named; of many, only the number is useful.
const MAX_NAMED_SKIPPED: usize = 5;
/// The number of seconds from which a test is slow enough to be named.
const MIN_SLOW_SECONDS: f64 = 0.01;
const MAX_REASON_CHARACTERS: usize = 160;
const MAX_NAME_CHARACTERS: usize = 300;

impl TestReport {
    /// Reads a line without colours that is not blank; returns whether it is part of what a test runner reports.
    pub(crate) fn add(&mut self, number: u64, line: &str) -> bool {
        let trimmed = line.trim();
        if outcome::may_report(trimmed) {
            let counted = totals(trimmed);
            if !counted.is_empty() {
                self.add_totals(number, trimmed, counted);
                return true;
            }
            if let Some(test) = TestLine::parse(trimmed) {
                self.add_test(number, &test);
                return true;
            }
        }
        if let Some((count, name)) = numbered_section(trimmed) {
            self.open_numbered(number, count, name);
        } else if let Some(name) = section_name(trimmed) {
            self.open = self.failure(number, name);
        } else if let Some(inside) = decorated(trimmed) {
            // A heading of the report itself.
            self.open = None;
            return !inside.is_empty();
        } else if self.open.is_some() {
            self.add_detail(trimmed);
        } else if let Some(place) = place::leading(trimmed)
            && let Some((reason, _)) = reason(trimmed)
        {
            self.pending = Some((visible::cut(reason, MAX_REASON_CHARACTERS), place.to_string()));
        }
        self.open.is_some()
    }

    /// Returns whether a line without colours reports a test.
    pub(crate) fn is_test_line(line: &str) -> bool {
        let line = line.trim();
        outcome::may_report(line) && TestLine::parse(line).is_some()
    }

    /// Returns whether lines have the section of a failed test with its reason.
    pub(crate) fn is_failure<'l>(lines: impl Iterator<Item = &'l str>) -> bool {
        let mut is_open = false;
        for line in lines {
            let line = visible::strip_colours(line);
            is_open |= line.starts_with(['_', '-', '=', '─']) && section_name(line.trim()).is_some();
            if is_open && reason(line.trim()).is_some() {
                return true;
            }
        }
        false
    }

    /// Returns whether the text is the output of a test runner.
    pub(crate) fn is_found(&self) -> bool {
        let passed: u64 = self.count(Outcome::Passed);
        let counts_tests = |totals: &Totals| totals.sums.iter().any(|(word, _)| outcome::counts_tests(word));
        let is_total = |totals: &Totals| totals.sums.len() >= 2 && counts_tests(totals);
        passed >= 3 || self.totals.iter().any(is_total) || passed > 0 && !self.failures.is_empty()
    }

    fn count(&self, outcome: Outcome) -> u64 {
        self.outcomes.iter().filter(|(_, known, _)| *known == outcome).map(|(_, _, count)| count).sum()
    }

    fn add_test(&mut self, number: u64, test: &TestLine<'_>) {
        let mut repeated = false;
        self.open = None;
        if test.outcome == Outcome::Failed {
            let known = self.failures.len();
            self.open = self.failure(number, test.name);
            repeated = self.failures.len() == known && self.open.is_some();
            let pending = self.pending.take();
            if let Some(failure) = self.open.map(|at| &mut self.failures[at])
                && !failure.is_sure
            {
                if !test.reason.is_empty() {
                    failure.reason = visible::cut(test.reason, MAX_REASON_CHARACTERS);
                    failure.is_sure = true;
                } else if let Some((reason, place)) = pending {
                    (failure.reason, failure.place) = (reason, place);
                }
            }
        }
        self.pending = None;
        if test.outcome == Outcome::Skipped && self.skipped.len() <= MAX_NAMED_SKIPPED {
            let reason = if test.reason.is_empty() { String::new() } else { format!(" ({})", test.reason) };
            let name = visible::cut(&format!("{}{reason}", test.name), MAX_REASON_CHARACTERS);
            self.skipped.push((number, name));
        }
        if let Some(seconds) = test.duration.filter(|seconds| *seconds >= MIN_SLOW_SECONDS && !repeated) {
            let at = self.slowest.partition_point(|(known, _, _)| *known >= seconds);
            if at < MAX_SLOWEST {
                self.slowest.insert(at, (seconds, visible::cut(test.name, 100), number));
                self.slowest.truncate(MAX_SLOWEST);
            }
        }
        if repeated {
            return;
        }
        if let Some((_, _, count)) = self.outcomes.iter_mut().find(|(word, _, _)| word == test.word) {
            *count += 1;
        } else if self.outcomes.len() < MAX_OUTCOME_WORDS {
            self.outcomes.push((test.word.to_owned(), test.outcome, 1));
        }
    }

    /// Adds numbers to those of earlier lines with the same words: some runners write totals for each part.
    fn add_totals(&mut self, number: u64, line: &str, counted: Vec<(String, u64)>) {
        self.open = None;
        let last = (number, visible::cut(line.trim_matches(['=', ' ', '-']), 200));
        let label = totals_label(line);
        let same = |totals: &&mut Totals| {
            totals.label == label
                && totals.sums.iter().map(|(word, _)| word).eq(counted.iter().map(|(word, _)| word))
        };
        let Some(known) = self.totals.iter_mut().find(same) else {
            if self.totals.len() < MAX_TOTALS {
                self.totals.push(Totals {
                    label: label.to_owned(),
                    sums: counted,
                    lines: 1,
                    last,
                    grand: false,
                });
            }
            return;
        };
        known.grand = known.sums == counted && last.1.len() < known.last.1.len();
        if !known.grand {
            known
                .sums
                .iter_mut()
                .zip(&counted)
                .for_each(|((_, sum), (_, count))| *sum = sum.saturating_add(*count));
            known.lines += 1;
        }
        known.last = last;
    }

    fn open_numbered(&mut self, line: u64, count: u32, name: &str) {
        self.open = match self.numbered.iter().find(|(known, _)| *known == count) {
            Some((_, at)) => Some(*at),
            None => self.failure(line, name),
        };
        if let Some(at) = self.open.filter(|_| self.numbered.len() < MAX_FAILURES) {
            self.numbered.push((count, at));
        }
    }

    /// Returns the failure of a test, which is added if it is not known.
    fn failure(&mut self, line: u64, name: &str) -> Option<usize> {
        let name = visible::cut(name.trim(), MAX_NAME_CHARACTERS);
        let is_same = |known: &Failure| is_same_test(&known.name, &name);
        if let Some(at) = self.failures.iter().position(is_same) {
            return Some(at);
        }
        if self.failures.len() == MAX_FAILURES {
            return None;
        }
        self.failures.push(Failure {
            name,
            line,
            reason: String::new(),
            is_sure: false,
            first_detail: String::new(),
            place: String::new(),
        });
        Some(self.failures.len() - 1)
    }

    /// Reads a line below the name of a failed test.
    fn add_detail(&mut self, line: &str) {
        let Some(failure) = self.open.and_then(|at| self.failures.get_mut(at)) else { return };
        if failure.first_detail.is_empty() && line.chars().any(char::is_alphanumeric) {
            failure.first_detail = visible::cut(line, MAX_REASON_CHARACTERS);
        }
        if failure.place.is_empty()
            && let Some(place) = place_of_detail(line)
            && !is_library(place.path)
        {
            failure.place = place.to_string();
        }
        if failure.is_sure {
            return;
        }
        let found = match std::mem::take(&mut self.reason_follows) {
            true => Some((line, true)),
            false => reason(line),
        };
        if let Some((reason, is_sure)) = found
            && (is_sure || failure.reason.is_empty())
        {
            failure.reason = visible::cut(reason, MAX_REASON_CHARACTERS);
            failure.is_sure = is_sure;
        }
        self.reason_follows = line.contains("panicked at") && line.ends_with(':') || line == "Error Message:";
    }

    /// Writes counts, totals and failures; returns what was written.
    pub(crate) fn write(&self, draft: &mut Draft<'_>, section: usize) -> Vec<&'static str> {
        let mut below = Vec::new();
        if !self.outcomes.is_empty() {
            let counts: Vec<String> = self.outcomes.iter().map(|outcome| self.counted(outcome)).collect();
            below.extend(draft.writer.push_list(section, "tests", &counts).then_some("tests"));
        }
        for totals in &self.totals {
            if let Some(line) = totals.text() {
                draft.writer.push(section, line);
            }
            if draft.writer.push(section, format!("L{} {}", totals.last.0, totals.last.1)) {
                draft.lines.insert(totals.last.0);
            }
        }
        below.extend(self.write_failures(draft, section + 1).then_some("failed tests"));
        if self.skipped.len() <= MAX_NAMED_SKIPPED {
            let skipped: Vec<String> =
                self.skipped.iter().map(|(line, name)| format!("L{line} {name}")).collect();
            draft.writer.push_list(section + 1, "skipped", &skipped);
        }
        if self.slowest.len() == MAX_SLOWEST {
            let slowest: Vec<String> = self
                .slowest
                .iter()
                .map(|(seconds, name, _)| format!("{name} {}s", write::float(*seconds)))
                .collect();
            draft.writer.push_list(section + 1, "slowest", &slowest);
        }
        below
    }

    /// Returns `FAILED=13`; a failed test is counted once only as far as its name is held.
    fn counted(&self, (word, outcome, count): &(String, Outcome, u64)) -> String {
        let exact = *outcome != Outcome::Failed || self.failures.len() < MAX_FAILURES;
        format!("{word}={}{count}", write::estimate_mark(exact))
    }

    /// Writes each reason once, with the tests that failed for it; returns whether any was written.
    fn write_failures(&self, draft: &mut Draft<'_>, section: usize) -> bool {
        if self.failures.is_empty() || !draft.writer.push(section, "failed tests:") {
            return false;
        }
        let folder = common_folder(self.failures.iter().map(|failure| failure.name.as_str()));
        let mut groups: Vec<(&str, Vec<&Failure>)> = Vec::new();
        for failure in &self.failures {
            match groups.iter_mut().find(|(reason, _)| *reason == failure.reason_text()) {
                Some((_, members)) => members.push(failure),
                None => groups.push((failure.reason_text(), vec![failure])),
            }
        }
        groups.sort_by_key(|(_, members)| Reverse(members.len().min(2)));
        let mut shown = 0;
        for (reason, members) in groups {
            let names: Vec<String> = members.iter().map(|failure| failure.named(folder)).collect();
            let title = match (reason.is_empty(), members.len()) {
                (true, _) => "no reason found".to_owned(),
                (false, 1) => reason.to_owned(),
                (false, count) => format!("{count} times {reason}"),
            };
            for fits in [names.len(), names.len().min(8), 1] {
                let more =
                    if fits < names.len() { format!(" +{} more", names.len() - fits) } else { String::new() };
                if draft.writer.push(section, format!("{title}: {}{more}", names[..fits].join(", "))) {
                    shown += fits;
                    draft.lines.extend(members[..fits].iter().map(|failure| failure.line));
                    break;
                }
            }
        }
        if shown == 0 {
            draft.writer.pop(section);
            return false;
        }
        let all = self.failures.len();
        let count = match (shown == all, all == MAX_FAILURES) {
            (true, false) => format!("all {all} names"),
            (false, false) => format!("{shown} of {all} names"),
            (_, true) => format!("{shown} of the first {all} names"),
        };
        let note = if folder.is_empty() { String::new() } else { format!(" (without {folder})") };
        draft.writer.replace_first(section, format!("failed tests, {count}{note}:"));
        true
    }
}

impl Totals {
    /// Returns the sums of several lines; the line itself says what one line says.
    fn text(&self) -> Option<String> {
        let sums: Vec<String> = self.sums.iter().map(|(word, sum)| format!("{word}={sum}")).collect();
        (self.lines > 1 && !self.grand).then(|| {
            format!("totals, {} added up: {}; the last:", write::plural(self.lines, "line"), sums.join(" "))
        })
    }
}

impl Failure {
    fn reason_text(&self) -> &str {
        if self.reason.is_empty() { &self.first_detail } else { &self.reason }
    }

    /// Returns `L12 name (src/a.rs:7)`.
    fn named(&self, folder: &str) -> String {
        let name = self.name.strip_prefix(folder).unwrap_or(&self.name);
        let place = if self.place.is_empty() { String::new() } else { format!(" ({})", self.place) };
        format!("L{} {name}{place}", self.line)
    }
}

/// Returns the word that distinguishes lines of totals, such as `Tests:` and `Test Suites:`; not a level or an outcome.
fn totals_label(line: &str) -> &str {
    let is_label = |word: &&str| {
        !matches!(*word, "INFO" | "ERROR" | "WARNING" | "WARN") && outcome::outcome(word).is_none()
    };
    let mut words = line.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty());
    words.next().filter(is_label).or_else(|| words.next().filter(is_label)).unwrap_or("")
}

/// Returns whether two names are those of one test: a section may name it without its file, or with its class.
fn is_same_test(one: &str, other: &str) -> bool {
    if one.contains("::") && other.contains("::") {
        return one == other;
    }
    let (long, short) = if one.len() >= other.len() { (one, other) } else { (other, one) };
    let last = |name: &'_ str| name.rsplit(['.', ':']).next().map(str::to_owned);
    long == short
        || long.strip_suffix(short).is_some_and(|before| before.ends_with([':', '.', '/', '>', '›', ' ']))
        || long.strip_prefix(short).is_some_and(|after| after.starts_with([' ', '(']))
        || long.contains("::") && !short.contains([':', ' ', '/']) && last(long) == last(short)
}

/// Returns the folder that all names begin with, if it is long enough to be worth leaving out.
fn common_folder<'n>(mut names: impl Iterator<Item = &'n str>) -> &'n str {
    let Some(first) = names.next() else { return "" };
    let (mut common, mut count) = (first, 1);
    for name in names {
        count += 1;
        let length = common
            .char_indices()
            .zip(name.chars())
            .find(|((_, one), other)| one != other)
            .map_or(common.len().min(name.len()), |((at, _), _)| at);
        common = &common[..length];
    }
    let end = common.rfind('/').map_or(0, |at| at + 1);
    if count >= 3 && end >= 8 { &common[..end] } else { "" }
}

/// Returns whether a path belongs to a library or to the runner rather than to the tested code.
pub(crate) fn is_library(path: &str) -> bool {
    [
        "site-packages",
        "dist-packages",
        "/lib/python",
        "node_modules",
        "node:",
        "/rustc/",
        ".cargo/registry",
        "/usr/local/go/",
        "/usr/lib/",
        "<frozen",
        "internal/",
    ]
    .iter()
    .any(|part| path.contains(part))
}

/// Returns the number and the name of `1) A b`.
fn numbered_section(line: &str) -> Option<(u32, &str)> {
    let (number, name) = line.split_once(") ")?;
    let is_number = (1..=4).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { Some((number.parse().ok()?, name)) } else { None }
}

/// Returns the name of the test that a section is about: `____ test_x ____`, `---- a::b stdout ----`, `● A › b`.
fn section_name(line: &str) -> Option<&str> {
    if let Some(name) = line.strip_prefix("● ") {
        return Some(name);
    }
    let inside = decorated(line)?;
    let inside = ["ERROR at setup of ", "ERROR at teardown of ", "STDERR:", "STDOUT:", "FAIL:"]
        .iter()
        .find_map(|prefix| inside.strip_prefix(prefix))
        .unwrap_or(inside)
        .trim();
    let name = inside.trim_end_matches(" stdout").trim_end_matches(" stderr");
    let lower = name.to_ascii_lowercase();
    let is_sentence = lower.starts_with("test ") || lower.contains(" test ") || lower.contains("tests");
    let is_test = name.len() < inside.len() || name.contains("::") || lower.contains("test") && !is_sentence;
    is_test.then_some(name)
}

/// Returns what is between two rows of the same mark: `==== FAILURES ====`.
fn decorated(line: &str) -> Option<&str> {
    let mark = line.chars().next().filter(|c| matches!(c, '_' | '-' | '=' | '*' | '─' | '━'))?;
    let is_row = |mut marks: std::iter::Take<std::str::Chars<'_>>| marks.all(|c| c == mark);
    let ends = line.chars().rev().take(3).all(|c| c == mark);
    // Around a long name there may be room for one mark only.
    let is_narrow = mark == '_' && line.starts_with("_ ") && line.ends_with(" _");
    (is_row(line.chars().take(3)) && ends || is_narrow).then(|| line.trim_matches(mark).trim())
}

/// Returns the place that a line below a failed test names, where such lines name it.
fn place_of_detail(line: &str) -> Option<place::SourceLocation<'_>> {
    let rest = line.trim_start_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '/' | '.'));
    let is_frame =
        ["at ", "File "].iter().any(|word| rest.starts_with(word)) || line.contains("panicked at ");
    place::leading(rest).or_else(|| is_frame.then(|| place::find(line)).flatten())
}

/// Words that begin a line with a reason.
const REASON_BEGINNINGS: &[&str] = &[
    "expected",
    "assert",
    "failed asserting",
    "failure/error:",
    "error:",
    "actual",
    "got:",
    "want",
    "→ ",
    "reason:",
];

/// Returns the reason that a line below a failed test states, and whether it is marked as one.
fn reason(line: &str) -> Option<(&str, bool)> {
    if let Some(reason) = line.strip_prefix("E ") {
        return Some((reason.trim(), true));
    }
    if let Some((_, message)) = line.split_once("panicked at '") {
        return Some((message, true));
    }
    let lower = line.get(..24).unwrap_or(line).to_lowercase();
    if REASON_BEGINNINGS.iter().any(|beginning| lower.starts_with(beginning)) {
        // Without a colon it may be a line of the source.
        return Some((line, line.contains(": ") && !lower.starts_with("assert")));
    }
    // `a_test.go:12: want 1, got 2`, but not the frame `a.py:12: in run`
    if let Some(place) = place::leading(line)
        && let Some(message) = line[place.end..].strip_prefix(": ")
        && !message.starts_with("in ")
    {
        return Some((message, false));
    }
    // `ValueError: no`, `java.lang.IllegalStateException: no`, `AssertionError [ERR_ASSERTION]: no`
    let (kind, _) = line.split_once(':')?;
    let kind = kind.strip_suffix(']').and_then(|kind| kind.split_once(" [")).map_or(kind, |(kind, _)| kind);
    let named =
        ["Error", "Exception", "Failure", "Failed", "Panic"].iter().any(|ending| kind.ends_with(ending));
    (named && !kind.contains(' ')).then_some((line, true))
}
