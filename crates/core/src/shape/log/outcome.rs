//! Reads the outcome of one test, or the totals of many, from one line of a test runner.
//!
//! Runners agree on more than they differ in: a line has a word or a mark of outcome at its beginning or at its end, a
//! name beside it, and perhaps a duration. A line of totals has numbers beside such words.
//!
//! ```text
//! a.py::test_b PASSED [ 10%]      test a::b ... ok        --- FAIL: TestB (0.01s)     ok 3 - name # SKIP why
//! ✓ name (5 ms)                   [  FAILED  ] A.b        PASS [   0.012s] crate a::b     Failed Name [10 ms]
//! ```

/// How a test ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Passed,
    Failed,
    Skipped,
}

/// Words of outcome in lower case.
const OUTCOME_WORDS: &[(&str, Outcome)] = &[
    ("ok", Outcome::Passed),
    ("pass", Outcome::Passed),
    ("passed", Outcome::Passed),
    ("passing", Outcome::Passed),
    ("passes", Outcome::Passed),
    ("succeeded", Outcome::Passed),
    ("xpass", Outcome::Passed),
    ("xpassed", Outcome::Passed),
    ("fail", Outcome::Failed),
    ("failed", Outcome::Failed),
    ("failing", Outcome::Failed),
    ("failure", Outcome::Failed),
    ("failures", Outcome::Failed),
    ("error", Outcome::Failed),
    ("errors", Outcome::Failed),
    ("errored", Outcome::Failed),
    ("timeout", Outcome::Failed),
    ("unexpected", Outcome::Failed),
    ("skip", Outcome::Skipped),
    ("skipped", Outcome::Skipped),
    ("skips", Outcome::Skipped),
    ("ignored", Outcome::Skipped),
    ("pending", Outcome::Skipped),
    ("disabled", Outcome::Skipped),
    ("todo", Outcome::Skipped),
    ("xfail", Outcome::Skipped),
    ("xfailed", Outcome::Skipped),
    ("deselected", Outcome::Skipped),
    ("incomplete", Outcome::Skipped),
];

/// Marks of outcome at the beginning of a line.
const OUTCOME_MARKS: &[(&str, Outcome)] =
    &[("✓✔√✅", Outcome::Passed), ("✗✘✕✖×❌⨯", Outcome::Failed), ("○◌⊘", Outcome::Skipped)];

/// Words for tests.
const COUNTED_TESTS: &[&str] =
    &["test", "tests", "example", "examples", "spec", "specs", "scenario", "scenarios", "run"];

/// What is counted in a line of totals beside outcomes.
const COUNTED_THINGS: &[&str] = &[
    "test",
    "tests",
    "example",
    "examples",
    "spec",
    "specs",
    "scenario",
    "scenarios",
    "assertion",
    "assertions",
    "run",
    "total",
    "warning",
    "warnings",
    "completed",
    "checks",
    "subtests",
    "steps",
    "suites",
    "files",
];

/// Units of durations, with their seconds.
const DURATION_UNITS: &[(&str, f64)] = &[
    ("seconds", 1.0),
    ("second", 1.0),
    ("secs", 1.0),
    ("sec", 1.0),
    ("min", 60.0),
    ("ms", 1e-3),
    ("µs", 1e-6),
    ("us", 1e-6),
    ("ns", 1e-9),
    ("s", 1.0),
    ("m", 60.0),
];

/// A line that reports one test.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TestLine<'l> {
    pub(crate) outcome: Outcome,
    /// The word or mark of the outcome as written.
    pub(crate) word: &'l str,
    pub(crate) name: &'l str,
    /// In seconds.
    pub(crate) duration: Option<f64>,
    /// Why the test failed or was skipped, where the line says so.
    pub(crate) reason: &'l str,
}

/// The first letters of the words of outcome and of what is counted beside them, as bits.
const FIRST_LETTERS: u32 = {
    let mut letters = 0;
    let mut at = 0;
    while at < OUTCOME_WORDS.len() {
        letters |= 1 << (OUTCOME_WORDS[at].0.as_bytes()[0] - b'a');
        at += 1;
    }
    letters | 1 << (b'r' - b'a')
};

/// Returns whether a line may report a test or totals: a quick look at the words of any line of any log.
pub(crate) fn may_report(line: &str) -> bool {
    if line.chars().next().is_some_and(|mark| OUTCOME_MARKS.iter().any(|(marks, _)| marks.contains(mark))) {
        return true;
    }
    let bytes = line.as_bytes();
    let mut before = b' ';
    for (at, &byte) in bytes.iter().enumerate().take(1000) {
        let begins = byte.is_ascii_alphabetic() && !before.is_ascii_alphabetic();
        before = byte;
        let letter = byte | 0x20;
        if !begins || !letter.is_ascii_lowercase() || FIRST_LETTERS >> (letter - b'a') & 1 == 0 {
            continue;
        }
        let rest = &bytes[at..];
        let length = rest.iter().position(|byte| !byte.is_ascii_alphabetic()).unwrap_or(rest.len());
        let is_known =
            |word: &str| word.len() == length && rest[..length].eq_ignore_ascii_case(word.as_bytes());
        if OUTCOME_WORDS.iter().any(|(word, _)| is_known(word)) || is_known("ran") {
            return true;
        }
    }
    false
}

/// Returns the outcome that a word names.
pub(crate) fn outcome(word: &str) -> Option<Outcome> {
    OUTCOME_WORDS.iter().find(|(known, _)| known.eq_ignore_ascii_case(word)).map(|(_, outcome)| *outcome)
}

fn is_capitals(word: &str) -> bool {
    word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_uppercase())
}

impl<'l> TestLine<'l> {
    /// Reads a line without indentation and colours; `None` if it reports no test.
    pub(crate) fn parse(line: &'l str) -> Option<Self> {
        let found = Self::of_mark(line)
            .or_else(|| Self::of_numbered(line))
            .or_else(|| Self::of_beginning(line))
            .or_else(|| Self::of_dots(line))
            .or_else(|| Self::of_end(line))?;
        let named = found.name.chars().any(char::is_alphabetic)
            && found.name.len() <= 300
            // `[  PASSED  ] 10 tests.` is a total.
            && !(found.name.starts_with(|c: char| c.is_ascii_digit()) && found.name.contains(" test"));
        named.then_some(found)
    }

    /// `✓ name (5 ms)`
    fn of_mark(line: &'l str) -> Option<Self> {
        let mark = line.chars().next().filter(|mark| !mark.is_ascii())?;
        let (_, outcome) = OUTCOME_MARKS.iter().find(|(marks, _)| marks.contains(mark))?;
        let (word, rest) = line.split_at(mark.len_utf8());
        let (name, duration) = trailing_duration(rest.trim_start_matches('\u{fe0f}').trim());
        Some(Self { outcome: *outcome, word, name, duration, reason: "" })
    }

    /// `ok 3 - name # SKIP why`, `not ok 4 name`
    fn of_numbered(line: &'l str) -> Option<Self> {
        let (word, rest) = ["not ok ", "ok "]
            .iter()
            .find_map(|word| line.strip_prefix(word).map(|rest| (word.trim(), rest)))?;
        let after = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        if after.len() == rest.len() || !(after.is_empty() || after.starts_with(' ')) {
            return None;
        }
        let after = after.trim().trim_start_matches("- ");
        let (name, directive) = after.split_once(" # ").unwrap_or((after, ""));
        let skipped = ["skip", "todo"]
            .iter()
            .any(|word| directive.get(..4).is_some_and(|start| start.eq_ignore_ascii_case(word)));
        let outcome = match word {
            _ if skipped => Outcome::Skipped,
            "ok" => Outcome::Passed,
            _ => Outcome::Failed,
        };
        let word = if skipped { &directive[..4] } else { &line[..word.len()] };
        let reason = if skipped { directive[4..].trim() } else { "" };
        Some(Self { outcome, word, name: name.trim(), duration: None, reason })
    }

    /// `PASS [ 0.012s] name`, `--- FAIL: name (0.01s)`, `FAILED name - reason`, `(pass) name`, `Passed name [5 ms]`
    fn of_beginning(line: &'l str) -> Option<Self> {
        let start = line.find(|c: char| c.is_ascii_alphabetic()).filter(|start| *start <= 12)?;
        let before = &line[..start];
        if !before.chars().all(|c| matches!(c, '-' | ' ' | '[' | '(' | '*' | '=' | '|')) {
            return None;
        }
        let length = line[start..].find(|c: char| !c.is_ascii_alphabetic())?;
        let word = &line[start..start + length];
        let outcome = outcome(word)?;
        let after = &line[start + length..];
        let bracketed = before.ends_with(['[', '(', ' '])
            && !before.trim().is_empty()
            && after.trim_start().starts_with([']', ')']);
        let rest = after.trim_start_matches([' ', '\t', ']', ')', ':', '|']);
        let (rest, leading) = leading_duration(rest);
        let (body, duration) = trailing_duration(rest.trim());
        let (name, reason) = body.split_once(" - ").unwrap_or((body, ""));
        let duration = duration.or(leading);
        let lower = || name.to_ascii_lowercase();
        let looks_like_test = || name.contains("::") || lower().contains("test") || lower().contains("spec");
        let accepted = match word {
            "ERROR" | "error" | "Error" | "TIMEOUT" => looks_like_test(),
            "ok" => {
                after.starts_with(['\t', ' '])
                    && (duration.is_some() || name.ends_with("(cached)"))
                    && after.starts_with("\t") | after.starts_with("  ")
            }
            _ if bracketed => true,
            _ if is_capitals(word) => {
                !rest.starts_with(['(', '=', ',', '.', '!'])
                    && (!name.contains(' ')
                        || duration.is_some()
                        || looks_like_test()
                        || name.contains(" > "))
            }
            _ => {
                word.starts_with(|c: char| c.is_ascii_uppercase())
                    && duration.is_some()
                    && after.starts_with(' ')
            }
        };
        accepted.then(|| Self { outcome, word, name: name.trim(), duration, reason: reason.trim() })
    }

    /// `test name ... ok`, `test_x (a.B) ... skipped 'why'`
    fn of_dots(line: &'l str) -> Option<Self> {
        let (name, after) = line.rsplit_once(" ... ")?;
        let length = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let outcome = outcome(&after[..length])?;
        let (reason, duration) = trailing_duration(after[length..].trim_start_matches([' ', ',', ':']));
        let name = name.strip_prefix("test ").unwrap_or(name);
        Some(Self { outcome, word: &after[..length], name: name.trim(), duration, reason })
    }

    /// `name PASSED [ 10%]`, `1/9 Test #1: name ....   Passed    0.01 sec`, `Test Case 'name' passed (0.1 seconds).`
    fn of_end(line: &'l str) -> Option<Self> {
        let rest = line.trim_end_matches(['|', ' ', '.']);
        let (rest, has_share) = match rest.strip_suffix("%]").and_then(|rest| rest.rsplit_once('[')) {
            Some((before, _)) => (before.trim_end(), true),
            None => (rest, false),
        };
        let (rest, duration) = trailing_duration(rest);
        // `SKIPPED (no disk)`
        let ends_with_outcome = |before: &str| before.rsplit(' ').next().and_then(outcome).is_some();
        let (rest, reason) = match rest.strip_suffix(')').and_then(|inside| inside.split_once(" (")) {
            Some((before, reason)) if has_share && ends_with_outcome(before) => (before, reason),
            _ => (rest, ""),
        };
        let start = rest.trim_end_matches(|c: char| c.is_ascii_alphabetic()).len();
        let word = &rest[start..];
        let outcome = outcome(word)?;
        let before = &rest[..start];
        let name = before.trim_end_matches(['.', ' ', '*', '|']);
        let dotted = before.trim_end_matches([' ', '*']).ends_with("..");
        let quoted = name.ends_with('\'') && duration.is_some();
        let accepted =
            is_capitals(word) && before.ends_with([' ', '|']) && !name.ends_with(':') || dotted || quoted;
        // A capital word at the end of a sentence is not an outcome: names have few words.
        let short = name.split_whitespace().count() <= 12;
        (accepted && short && !name.is_empty()).then_some(Self { outcome, word, name, duration, reason })
    }
}

/// Splits a duration from the end of a text: `name (5 ms)`, `name 0.01 sec`, `name [1.2s]`.
pub(crate) fn trailing_duration(text: &str) -> (&str, Option<f64>) {
    let trimmed = text.trim_end_matches(['.', ' ']);
    let (inside, open) = match trimmed.as_bytes().last() {
        Some(b')') => (&trimmed[..trimmed.len() - 1], Some('(')),
        Some(b']') => (&trimmed[..trimmed.len() - 1], Some('[')),
        _ => (trimmed, None),
    };
    let Some((start, seconds)) = duration_at_end(inside) else { return (text, None) };
    let before = &inside[..start];
    let before = match open {
        Some(open) => match before.trim_end().strip_suffix(open) {
            Some(before) => before,
            None => return (text, None),
        },
        None if before.ends_with([' ', '\t']) => before,
        None => return (text, None),
    };
    (before.trim_end(), Some(seconds))
}

/// Returns where a duration at the end of a text begins, and its seconds.
fn duration_at_end(text: &str) -> Option<(usize, f64)> {
    let (unit, seconds) = DURATION_UNITS.iter().find(|(unit, _)| {
        text.strip_suffix(unit)
            .is_some_and(|before| before.trim_end().ends_with(|c: char| c.is_ascii_digit()))
    })?;
    let number = text.strip_suffix(unit)?.trim_end();
    let start = number
        .rfind(|c: char| !(c.is_ascii_digit() || c == '.'))
        .map_or(0, |at| at + number[at..].chars().next().map_or(1, char::len_utf8));
    Some((start, number[start..].parse::<f64>().ok()? * seconds))
}

/// Splits a duration in brackets, and a count such as `(1/9)`, from the beginning of a text.
fn leading_duration(text: &str) -> (&str, Option<f64>) {
    let Some((inside, rest)) = text.strip_prefix('[').and_then(|text| text.split_once(']')) else {
        return (text, None);
    };
    let Some((_, seconds)) = duration_at_end(inside) else { return (text, None) };
    let rest = rest.trim_start();
    let rest = match rest.strip_prefix('(').and_then(|counted| counted.split_once(')')) {
        Some((count, after)) if count.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'/' | b' ')) => {
            after.trim_start()
        }
        _ => rest,
    };
    (rest, Some(seconds))
}

/// Returns the numbers of a line of totals with what they count, in lower case; empty if the line has no totals.
///
/// `13 failed, 135 passed in 5s`, `Tests run: 5, Failures: 1`, `FAILED (failures=1)`, `# pass 9`
pub(crate) fn totals(line: &str) -> Vec<(String, u64)> {
    if line.len() > 300 || !line.bytes().any(|byte| byte.is_ascii_digit()) {
        return Vec::new();
    }
    let tokens: Vec<(&str, &str)> = tokens(line);
    let mut found: Vec<(String, u64)> = Vec::new();
    let mut outcomes = 0;
    let mut at = 0;
    while at < tokens.len() {
        let counted = counted_at(&tokens, at);
        at += 1;
        let Some((word, number, taken)) = counted else { continue };
        at += taken - 1;
        outcomes += u32::from(outcome(&word).is_some());
        if !found.iter().any(|(known, _)| *known == word) {
            found.push((word, number));
        }
    }
    let few_words = tokens.len() <= 9;
    let ran = tokens.first().is_some_and(|(word, _)| matches!(*word, "Ran" | "OK"));
    let is_total = outcomes > 0 && (found.len() >= 2 || few_words) || ran;
    if is_total { found } else { Vec::new() }
}

/// Returns whether a word of totals counts tests rather than failures of any kind.
pub(crate) fn counts_tests(word: &str) -> bool {
    outcome(word) == Some(Outcome::Passed) || COUNTED_TESTS.contains(&word)
}

/// Returns the words and numbers of a line, each with what is before it.
fn tokens(line: &str) -> Vec<(&str, &str)> {
    let is_part = |c: char| c.is_alphanumeric() || c == '.' || c == '%' || c == '_';
    let mut out = Vec::new();
    let mut rest = line;
    while let Some(start) = rest.find(|c: char| c.is_alphanumeric()) {
        let token = &rest[start..];
        let end = token.find(|c: char| !is_part(c)).unwrap_or(token.len());
        out.push((token[..end].trim_end_matches('.'), &rest[..start]));
        rest = &token[end..];
        if out.len() == 40 {
            break;
        }
    }
    out
}

/// Reads `13 failed`, `2 tests failed`, `Failures: 1`, `failures=1` or `pass 9` at a token; returns how many tokens it takes.
fn counted_at(tokens: &[(&str, &str)], at: usize) -> Option<(String, u64, usize)> {
    let word = |at: usize| tokens.get(at).map(|(word, _)| word.to_ascii_lowercase()).unwrap_or_default();
    let between = |at: usize| tokens.get(at).map_or("", |(_, before)| *before);
    let is_counted = |word: &str| outcome(word).is_some() || COUNTED_THINGS.contains(&word);
    let number = |at: usize| word(at).parse::<u64>().ok();
    // Whether a word names the number after it.
    let is_key = |at: usize| matches!(between(at + 1).trim(), ":" | "=") && number(at + 1).is_some();
    if let Some(count) = number(at) {
        let (next, after) = (word(at + 1), word(at + 2));
        if between(at + 1) != " " || !is_counted(&next) || is_key(at + 1) {
            return None;
        }
        // `2 tests failed`
        let joined =
            COUNTED_THINGS.contains(&next.as_str()) && outcome(&after).is_some() && between(at + 2) == " ";
        return Some(if joined { (after, count, 3) } else { (next, count, 2) });
    }
    let name = word(at);
    let count = number(at + 1).filter(|_| is_counted(&name))?;
    let alone = tokens.len() <= 3 && between(at + 1).trim().is_empty();
    // In `tests run: 98 passed` the number belongs to what follows it.
    let belongs_to_next = between(at + 2) == " " && is_counted(&word(at + 2)) && !is_key(at + 2);
    ((is_key(at) || alone) && !belongs_to_next).then_some((name, count, 2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use Outcome::{Failed, Passed, Skipped};

    #[test]
    fn lines_of_many_runners() {
        for (line, outcome, name, seconds, reason) in [
            ("a/b.py::test_c PASSED [ 10%]", Passed, "a/b.py::test_c", None, ""),
            ("a/b.py::test_c SKIPPED (no disk) [ 10%]", Skipped, "a/b.py::test_c", None, "no disk"),
            ("FAILED a.py::test_b - ValueError: no", Failed, "a.py::test_b", None, "ValueError: no"),
            ("test a::b ... ok", Passed, "a::b", None, ""),
            ("test a::b - should panic ... FAILED", Failed, "a::b - should panic", None, ""),
            ("test a::c ... ignored, needs a disk", Skipped, "a::c", None, "needs a disk"),
            ("PASS [   0.012s] (  1/100) core shape::x", Passed, "core shape::x", Some(0.012), ""),
            ("✓ adds numbers (5 ms)", Passed, "adds numbers", Some(0.005), ""),
            ("✕ subtracts", Failed, "subtracts", None, ""),
            ("○ skipped later", Skipped, "skipped later", None, ""),
            ("FAIL src/a.test.js (5.2 s)", Failed, "src/a.test.js", Some(5.2), ""),
            ("FAIL  src/a.test.ts > suite > adds", Failed, "src/a.test.ts > suite > adds", None, ""),
            ("--- FAIL: TestB (0.01s)", Failed, "TestB", Some(0.01), ""),
            ("ok  \texample.com/a\t0.5s", Passed, "example.com/a", None, ""),
            ("com.example.ATest > works() PASSED", Passed, "com.example.ATest > works()", None, ""),
            ("test_x (a.B.test_x) ... skipped 'no disk'", Skipped, "test_x (a.B.test_x)", None, "'no disk'"),
            ("FAIL: test_x (a.B)", Failed, "test_x (a.B)", None, ""),
            ("ERROR: test_y (a.B)", Failed, "test_y (a.B)", None, ""),
            ("1/9 Test  #1: fast ......   Passed    0.25 sec", Passed, "1/9 Test  #1: fast", Some(0.25), ""),
            ("2/9 Test  #2: slow ......***Failed    0.50 sec", Failed, "2/9 Test  #2: slow", Some(0.5), ""),
            ("ok 1 - opens", Passed, "opens", None, ""),
            ("not ok 2 - closes", Failed, "closes", None, ""),
            ("ok 3 - waits # SKIP no clock", Skipped, "waits", None, "no clock"),
            ("[       OK ] A.b (1 ms)", Passed, "A.b", Some(0.001), ""),
            ("[  FAILED  ] A.c (0 ms)", Failed, "A.c", Some(0.0), ""),
            ("Passed Name.Of.Test [5 ms]", Passed, "Name.Of.Test", Some(0.005), ""),
            ("(pass) adds [0.50ms]", Passed, "adds", Some(0.0005), ""),
            ("Test Case '-[A b]' passed (0.5 seconds).", Passed, "Test Case '-[A b]'", Some(0.5), ""),
            ("t/a.t .. ok", Passed, "t/a.t", None, ""),
        ] {
            let found = TestLine::parse(line).unwrap_or_else(|| panic!("{line}"));
            assert_eq!((found.outcome, found.name, found.reason), (outcome, name, reason), "{line}");
            match (line.contains('\t'), found.duration, seconds) {
                (true, ..) => {}
                (_, Some(found), Some(seconds)) => assert!((found - seconds).abs() < 1e-9, "{line}"),
                (_, found, seconds) => assert_eq!(found, seconds, "{line}"),
            }
        }
    }

    #[test]
    fn other_lines_report_no_test() {
        for line in [
            "FAILED to connect to the database after three attempts",
            "ERROR cannot open file",
            "[ERROR] disk full",
            "everything is ok",
            "the connection failed",
            "[  PASSED  ] 10 tests.",
            "FAILED (failures=1)",
            "FAIL",
            "OK",
            "2024-01-01 ERROR x",
            "",
        ] {
            assert_eq!(TestLine::parse(line), None, "{line}");
        }
    }

    #[test]
    fn totals_of_many_runners() {
        for (line, expected) in [
            ("=== 13 failed, 135 passed, 2 warnings in 55.07s ===", "failed 13 passed 135 warnings 2"),
            (
                "test result: ok. 2 passed; 0 failed; 1 ignored; finished in 0.00s",
                "passed 2 failed 0 ignored 1",
            ),
            (
                "Summary [ 1.2s] 100 tests run: 98 passed, 2 failed, 3 skipped",
                "tests 100 passed 98 failed 2 skipped 3",
            ),
            (
                "Tests:       1 failed, 2 skipped, 100 passed, 103 total",
                "failed 1 skipped 2 passed 100 total 103",
            ),
            ("Tests  1 failed | 10 passed (11)", "failed 1 passed 10"),
            ("10 passing (50ms)", "passing 10"),
            ("# pass 9", "pass 9"),
            (
                "[INFO] Tests run: 5, Failures: 0, Errors: 1, Skipped: 0",
                "run 5 failures 0 errors 1 skipped 0",
            ),
            ("Ran 10 tests in 0.5s", "tests 10"),
            ("FAILED (failures=1, errors=2)", "failures 1 errors 2"),
            ("90% tests passed, 1 tests failed out of 10", "failed 1"),
            ("OK (10 tests, 20 assertions)", "tests 10 assertions 20"),
            ("10 examples, 1 failure, 2 pending", "examples 10 failure 1 pending 2"),
            ("Failed!  - Failed:     1, Passed:     9, Total:    10", "failed 1 passed 9 total 10"),
            ("Executed 10 tests, with 1 failure (0 unexpected) in 0.5", "tests 10 failure 1 unexpected 0"),
            ("10 tests completed, 1 failed", "tests 10 failed 1"),
            ("listening on port 8080", ""),
            ("error 404 on page 3 of the long list of things we saw", ""),
        ] {
            let found: Vec<String> =
                totals(line).iter().map(|(word, number)| format!("{word} {number}")).collect();
            let found = found.join(" ").replace("completed 10", "tests 10");
            assert_eq!(found, expected, "{line}");
        }
    }
}
