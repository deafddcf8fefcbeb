//! A regular expression, compiled for texts of either kind of line end.

use std::ops::Range;

use regex::bytes::{Regex, RegexBuilder};
use tidegate_core::view::{ViewError, decoded};

use crate::Host;

/// A compiled expression.
pub(super) struct Expression {
    plain: Regex,
    /// The same with `$` before a carriage return too, for texts that have some.
    before_carriage_return: Option<Regex>,
    /// Whether it may look at what is around a match, such as the beginning of a line.
    looks_around: bool,
}

impl Expression {
    pub(super) fn new(pattern: &str, text: &[u8], host: Host) -> Result<Self, ViewError> {
        let plain = compile(pattern, false, host)?;
        let needed = pattern.contains('$') && text.windows(2).any(|pair| pair == b"\r\n");
        let before_carriage_return = needed.then(|| compile(pattern, true, host)).transpose()?;
        let assertions = ["^", "$", "\\b", "\\B", "\\A", "\\z", "\\<", "\\>"];
        let looks_around = assertions.iter().any(|assertion| pattern.contains(assertion));
        Ok(Self { plain, before_carriage_return, looks_around })
    }

    pub(super) fn is_match(&self, text: &str) -> bool {
        self.find(text).is_some()
    }

    /// Returns whether a text matches as it is written.
    pub(super) fn is_match_as_written(&self, text: &str) -> bool {
        self.first(|regex| regex.is_match(text.as_bytes()).then_some(0..0)).is_some()
    }

    /// Returns whether no key and no string of a JSON text matches, where that is known without decoding them: what
    /// matches a string without escapes also matches the JSON around it.
    pub(super) fn misses_json(&self, json: &str) -> bool {
        !self.looks_around && !json.contains('\\') && !self.is_match_as_written(json)
    }

    /// Returns the first match in a text, or the first quoted string in it whose decoded form matches.
    pub(super) fn find(&self, text: &str) -> Option<Range<usize>> {
        self.find_at(text.as_bytes(), 0).or_else(|| self.find_quoted(text.as_bytes(), 0))
    }

    /// Returns the first string in double quotes, at or after an offset, whose decoded form matches.
    ///
    /// Text that is not read as data may hold JSON, too, and an expression should not have to know about its escapes.
    pub(super) fn find_quoted(&self, text: &[u8], mut at: usize) -> Option<Range<usize>> {
        while let Some(string) = next_quoted(text, at) {
            let inside = &text[string.start + 1..string.end - 1];
            let is_found = match inside.contains(&b'\\') {
                true => self.find_at(decoded(inside).as_bytes(), 0).is_some(),
                false => self.find_at(inside, 0).is_some(),
            };
            if is_found {
                return Some(string);
            }
            at = string.end;
        }
        None
    }

    /// Returns the first match that begins at or after an offset.
    fn find_at(&self, text: &[u8], at: usize) -> Option<Range<usize>> {
        self.first(|regex| Some(regex.find_at(text, at)?.range()))
    }

    /// Returns the beginning of the first match that begins at or after an offset.
    ///
    /// Data is often one line of megabytes. A greedy match would reach to its end each time; here the search ends where
    /// the first match can end.
    pub(super) fn find_beginning(&self, text: &[u8], at: usize) -> Option<Range<usize>> {
        self.first(|regex| {
            let end = regex.shortest_match_at(text, at)?;
            // An expression may look beyond its end, and then matches in the whole text only.
            let found = regex.find_at(&text[..end], at).or_else(|| regex.find_at(text, at));
            found.map(|found| found.range())
        })
    }

    fn first(&self, find: impl Fn(&Regex) -> Option<Range<usize>>) -> Option<Range<usize>> {
        let all = std::iter::once(&self.plain).chain(&self.before_carriage_return);
        all.filter_map(find).min_by_key(|range| range.start)
    }
}

/// Returns the next string in double quotes on one line, quotes included.
fn next_quoted(text: &[u8], mut at: usize) -> Option<Range<usize>> {
    loop {
        let start = at + text.get(at..)?.iter().position(|&byte| byte == b'"')?;
        let mut end = start + 1;
        loop {
            match text.get(end) {
                Some(b'"') => return Some(start..end + 1),
                Some(b'\\') => end += 2,
                // A quote that is not closed on its line is not a string.
                Some(b'\n') | None => break,
                Some(_) => end += 1,
            }
        }
        at = end;
    }
}

/// The maximum number of bytes of a compiled expression: in a process of its own, and in one that cannot be killed.
const MAX_COMPILED_BYTES: [usize; 2] = [4 << 20, 256 << 10];

fn compile(pattern: &str, crlf: bool, host: Host) -> Result<Regex, ViewError> {
    let any_case = !pattern.chars().any(char::is_uppercase);
    let most = MAX_COMPILED_BYTES[usize::from(host == Host::Caller)];
    let built = RegexBuilder::new(pattern)
        .case_insensitive(any_case)
        // The whole text is searched at once, but `^` and `$` of an expression mean lines.
        .multi_line(true)
        .crlf(crlf)
        .size_limit(most)
        .dfa_size_limit(most)
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

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn the_beginning_of_a_greedy_match_is_found_without_its_end() {
        let text = "{\"id\":4,\"name\":\"something\"},".repeat(100_000);
        let expression = Expression::new("4.*something", text.as_bytes(), Host::Worker).unwrap();
        let (started, mut at, mut count) = (Instant::now(), 0, 0);
        while let Some(found) = expression.find_beginning(text.as_bytes(), at) {
            (at, count) = (found.end, count + 1);
        }
        assert_eq!(count, 100_000);
        // Each would take milliseconds if it read to the end.
        assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    }

    #[test]
    fn expressions_that_look_beyond_their_end() {
        for (pattern, text, start) in
            [("o\\B", "o foo", 3), ("x$", "xx\nx", 1), ("foo\\b", "foot foo", 5), ("a|ab", "zab", 1)]
        {
            let expression = Expression::new(pattern, text.as_bytes(), Host::Worker).unwrap();
            let found = expression.find_beginning(text.as_bytes(), 0).map(|found| found.start);
            assert_eq!(found, Some(start), "{pattern}");
        }
    }
}
