//! Finds the headings of documents: marked with `#`, underlined, numbered, or in capitals above indented text.
//!
//! A line that begins with `#` is a heading only if such lines are not comments, which the text as a whole shows.

/// Returns the level of a Markdown heading.
pub(crate) fn heading_level(line: &str) -> Option<u8> {
    let level = line.bytes().take_while(|&byte| byte == b'#').count();
    ((1..=6).contains(&level) && line.as_bytes().get(level) == Some(&b' ')).then_some(level as u8)
}

/// Words that begin a numbered heading of prose.
const DIVISION_WORDS: &[&str] =
    &["chapter", "section", "part", "book", "act", "scene", "article", "appendix", "volume", "letter"];

/// Returns the level and the text of a Markdown heading.
pub(crate) fn marked_heading(line: &str) -> Option<(u8, &str)> {
    let level = heading_level(line)?;
    Some((level, line[usize::from(level)..].trim()))
}

/// Returns the level and the text of a line that is a heading without a mark: `CHAPTER 4`, `1.2. Title`.
fn numbered_heading(line: &str, previous_blank: bool) -> Option<(u8, &str)> {
    let trimmed = line.trim();
    if trimmed.is_empty() || trimmed.len() > 100 || !previous_blank {
        return None;
    }
    let mut words = trimmed.split_whitespace();
    let (first, second) = (words.next()?, words.next());
    let divided = DIVISION_WORDS.contains(&first.to_lowercase().as_str())
        && second.is_some_and(|number| {
            let number = number.trim_end_matches(['.', ':', '—', '-']);
            !number.is_empty()
                && (number.bytes().all(|byte| byte.is_ascii_digit())
                    || number.bytes().all(|byte| b"IVXLCDM".contains(&byte)))
        });
    if divided && first.chars().next().is_some_and(char::is_uppercase) {
        return Some((1, trimmed));
    }
    // `1.2. Title`
    let number = first.trim_end_matches('.');
    let numbered = number.contains('.') || first.ends_with('.');
    let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if numbered
        && digits
        && second.is_some_and(|word| word.starts_with(char::is_uppercase))
        && !trimmed.ends_with(['.', ',', ';'])
    {
        return Some((1 + number.matches('.').count() as u8, trimmed));
    }
    None
}

/// Returns whether lines that begin with `#` are comments rather than headings: in scripts, configurations and data.
///
/// A heading stands apart from the lines above it. Where all have one level, it stands apart from those below it, too.
pub(crate) fn marks_are_comments(head: &str) -> bool {
    if head.starts_with("#!") {
        return true;
    }
    let lines: Vec<&str> = head.lines().collect();
    let (mut count, mut after_blank, mut before_blank, mut fenced) = (0_u32, 0_u32, 0_u32, false);
    let mut levels = 0_u8;
    for (at, line) in lines.iter().enumerate() {
        fenced ^= is_fence(line);
        let Some(level) = heading_level(line).filter(|_| !fenced) else { continue };
        count += 1;
        levels |= 1 << level;
        let is_blank = |line: Option<&&str>| line.is_none_or(|line| line.trim().is_empty());
        after_blank += u32::from(at == 0 || is_blank(lines.get(at - 1)));
        before_blank += u32::from(is_blank(lines.get(at + 1)));
    }
    let is_apart = |blank: u32| blank * 2 >= count;
    let one_level = levels.count_ones() == 1;
    count >= 2 && (!is_apart(after_blank) || one_level && count >= 3 && !is_apart(before_blank))
}

fn is_fence(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("```") || line.starts_with("~~~")
}

/// Which lines of a document may be headings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeadingStyle {
    /// Marked and underlined ones.
    Marked,
    /// Those and numbered ones.
    Any,
    /// Any but those marked with `#`, which are comments.
    Unmarked,
}

/// A heading.
#[derive(Debug)]
pub(crate) struct Heading {
    pub(crate) line: u64,
    pub(crate) level: u8,
    pub(crate) text: String,
}

/// Finds headings line by line.
#[derive(Debug)]
pub(crate) struct HeadingReader {
    style: HeadingStyle,
    fenced: bool,
    previous_blank: bool,
    /// The last line, if the next one may show that it is a heading.
    candidate: Option<(u64, String)>,
}

/// The maximum number of characters of a heading.
const MAX_HEADING_CHARACTERS: usize = 100;

impl HeadingReader {
    pub(crate) fn new(style: HeadingStyle) -> Self {
        Self { style, fenced: false, previous_blank: true, candidate: None }
    }

    /// Returns whether the last line was inside or at the edge of a block of code.
    pub(crate) fn is_code(&self) -> bool {
        self.fenced
    }

    /// Returns whether the line before the next one is blank.
    pub(crate) fn is_after_blank(&self) -> bool {
        self.previous_blank
    }

    /// Reads a line; returns the heading that the line before turns out to be, and the one that the line is.
    pub(crate) fn add(&mut self, number: u64, line: &str) -> (Option<Heading>, Option<Heading>) {
        let late = self.candidate.take().and_then(|(at, text)| confirmed(at, text, line));
        let previous_blank = std::mem::replace(&mut self.previous_blank, line.trim().is_empty());
        if is_fence(line) {
            self.fenced = !self.fenced;
            return (late, None);
        }
        if self.fenced {
            return (late, None);
        }
        let marked = || marked_heading(line).filter(|_| self.style != HeadingStyle::Unmarked);
        let numbered =
            || numbered_heading(line, previous_blank).filter(|_| self.style != HeadingStyle::Marked);
        let own = marked().or_else(numbered);
        let own = own.map(|(level, text)| Heading { line: number, level, text: text.to_owned() });
        let is_short = !line.trim().is_empty() && line.len() <= MAX_HEADING_CHARACTERS;
        if own.is_none() && is_short && previous_blank && !line.starts_with([' ', '\t']) {
            self.candidate = Some((number, line.trim().to_owned()));
        }
        (late, own)
    }
}

/// Returns a heading if the line below it underlines it, or is indented below capitals.
fn confirmed(line: u64, text: String, below: &str) -> Option<Heading> {
    let below_trimmed = below.trim();
    let mark = below_trimmed.chars().next()?;
    let level = "=-~^".find(mark).map(|at| at as u8 + 1);
    let underlined =
        below_trimmed.chars().all(|c| c == mark) && below_trimmed.len() >= text.chars().count().max(3);
    if let Some(level) = level.filter(|_| underlined) {
        return Some(Heading { line, level, text });
    }
    let capitals =
        text.chars().any(char::is_alphabetic) && text.chars().all(|c| c.is_uppercase() || !c.is_alphabetic());
    let indented = below.starts_with([' ', '\t']);
    (capitals && indented && text.len() >= 3 && text.len() <= 60).then_some(Heading { line, level: 1, text })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_of_prose() {
        assert_eq!(numbered_heading("CHAPTER 42. The Whiteness of The Whale.", true).unwrap().0, 1);
        assert_eq!(marked_heading("## 1.2. Pages"), Some((2, "1.2. Pages")));
        assert_eq!(numbered_heading("4.1. WAL File Format", true), Some((2, "4.1. WAL File Format")));
        assert_eq!(numbered_heading("1.5 million people came here.", true), None);
        assert_eq!(numbered_heading("chapter and verse were read", true), None);
    }

    fn headings(text: &str, style: HeadingStyle) -> Vec<(u64, u8, String)> {
        let mut reader = HeadingReader::new(style);
        let mut found = Vec::new();
        for (at, line) in text.lines().enumerate() {
            let (late, own) = reader.add(at as u64 + 1, line);
            found.extend(
                late.into_iter().chain(own).map(|heading| (heading.line, heading.level, heading.text)),
            );
        }
        found
    }

    #[test]
    fn headings_of_every_style() {
        let markdown = "Title\n=====\n\ntext\n\n## Part\n```\n# a comment\n```\n\nOther\n-----\n";
        let expected = [(1, 1, "Title"), (6, 2, "Part"), (11, 2, "Other")];
        assert_eq!(
            headings(markdown, HeadingStyle::Marked),
            expected.map(|(line, level, text)| (line, level, text.into()))
        );
        let manual = "NAME\n     ls - list\n\nOPTIONS\n     -a  all\n\nEND OF STORY\n\nx\n";
        assert_eq!(headings(manual, HeadingStyle::Any), [(1, 1, "NAME".into()), (4, 1, "OPTIONS".into())]);
        let script = "# set up\nx=1\n# tear down\n";
        assert_eq!(headings(script, HeadingStyle::Unmarked), []);
        assert_eq!(headings("a,b\n---,---\n1,2\n", HeadingStyle::Any), []);
    }

    #[test]
    fn comments_are_not_headings() {
        for (text, expected) in [
            ("#!/bin/sh\n# set up\n\nx=1\n", true),
            ("# one\n# two\n1 a\n# three\n2 b\n", true),
            ("# the port\nport = 1\n\n# the host\nhost = a\n\n# the path\npath = b\n", true),
            ("# Title\n\ntext\n\n# Next\n\ntext\n\n# Last\n\nx\n", false),
            ("# Title\n\n## 1.0\n- a\n\n## 0.9\n- b\n", false),
        ] {
            assert_eq!(marks_are_comments(text), expected, "{text}");
        }
    }
}
