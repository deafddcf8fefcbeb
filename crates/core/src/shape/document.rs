//! The strategy for documents: prose, Markdown and source code.
//!
//! An overview shows their headings or definitions, their beginning and their end, and their most frequent words.

mod headings;
mod sentences;

use std::io;

use super::draft::{Draft, share_of_rest};
use super::key_lines::KeyLines;
use super::line_facts::LineFacts;
use super::log;
use super::strategy::{Content, STRATEGY_SECTION, Strategy, TextKind};
use super::symbols;
use super::word_counts::WordCounts;
use crate::profile::value_counts::{ValueCount, ValueCounts};
use crate::sample::Sample;
use crate::text::Text;
use crate::{visible, write};
use headings::{HeadingReader, HeadingStyle, heading_level, marks_are_comments};
use sentences::Sentences;

/// A text without anything visible.
pub(crate) const EMPTY: TextKind = TextKind {
    name: "empty",
    recognise: |sample| sample.whole && sample.trimmed().is_empty(),
    read: |text, sample| Ok(Content::text(DocumentText::read(text, sample, "empty")?)),
};

/// Source code.
pub(crate) const CODE: TextKind = TextKind {
    name: "code",
    recognise: |sample| {
        let code = sample.share(is_code_line);
        code > 0.25 && code >= markdown_share(sample) && !sample.begins_like_json()
    },
    read: |text, sample| {
        let code = DocumentText::read(text, sample, "code")?;
        // Repetitive lines without definitions and constants are a report that looks like code.
        let is_report = code.headings.total == 0 && code.constants.total == 0 && log::is_repetitive(sample);
        Ok(if is_report { None } else { Content::text(code) })
    },
};

/// Markdown.
pub(crate) const MARKDOWN: TextKind = TextKind {
    name: "markdown",
    recognise: |sample| markdown_share(sample) > 0.08,
    read: |text, sample| Ok(Content::text(DocumentText::read(text, sample, "markdown")?)),
};

/// Any text.
pub(crate) const PROSE: TextKind = TextKind {
    name: "prose",
    recognise: |_| true,
    read: |text, sample| Ok(Content::text(DocumentText::read(text, sample, "prose")?)),
};

/// Words that begin a line of code.
const CODE_WORDS: &[&str] = &[
    "import ",
    "from ",
    "return ",
    "#include",
    "use ",
    "package ",
    "let ",
    "const ",
    "var ",
    "fn ",
    "func ",
    "function ",
    "public ",
    "private ",
];
/// Words that begin a line of code which ends with a colon.
const BLOCK_WORDS: &[&str] = &["def ", "class ", "if ", "for ", "while ", "else", "try"];

fn is_code_line(line: &str) -> bool {
    let line = line.trim();
    let begins = |words: &[&str]| words.iter().any(|word| line.starts_with(word));
    line.ends_with(['{', '}', ';'])
        || begins(&["//", "/*", "* "])
        || (line.ends_with(':') && begins(BLOCK_WORDS))
        || begins(CODE_WORDS)
}

/// Returns the share of lines with Markdown markup.
fn markdown_share(sample: &Sample<'_>) -> f64 {
    let comments = marks_are_comments(sample.head);
    sample.share(|line| !comments && heading_level(line).is_some() || is_markdown_line(line))
}

fn is_markdown_line(line: &str) -> bool {
    line.starts_with("```")
        || line.starts_with("| ")
        || (line.contains("](") && line.contains('['))
        || line.trim_start().starts_with("- **")
}

/// A document that has been read.
#[derive(Debug, Default)]
pub(crate) struct DocumentText {
    facts: LineFacts,
    /// Its headings, or the definitions of code.
    headings: KeyLines,
    /// The constants of code: `LIMIT = 200`.
    constants: KeyLines,
    /// How often each kind of definition occurs.
    definitions: ValueCounts,
    /// The modules that code imports.
    imports: ValueCounts,
    /// Lines of code with `TODO` and the like.
    to_do: KeyLines,
    /// Lines that name a value: `- Duration: 12 ms`.
    values: KeyLines,
    /// The first lines of paragraphs.
    paragraphs: KeyLines,
    /// The sentences of a text whose lines are too long to be read as lines.
    sentences: Option<Sentences>,
    links: u64,
    /// The number of lines that begin or end a block of code.
    fences: u64,
    words: WordCounts,
    /// What the frame calls the text.
    kind: &'static str,
    code: bool,
}

/// The maximum number of kinds of definitions, and of imported modules, that are counted.
const MAX_COUNTED_VALUES: usize = 10_000;

impl Strategy for DocumentText {
    fn name(&self) -> &'static str {
        "text"
    }

    fn compose(&self, text: &Text<'_>, _arguments: &[String], draft: &mut Draft<'_>) -> io::Result<()> {
        let below = match self.facts.writer(text).write_all(draft, STRATEGY_SECTION)? {
            true => vec!["all of the text"],
            false => self.write(text, draft)?,
        };
        self.facts.describe(draft, self.kind, &below);
        Ok(())
    }
}

impl DocumentText {
    /// Reads a text of a kind.
    fn read(text: &Text<'_>, sample: &Sample<'_>, kind: &'static str) -> io::Result<Self> {
        let shown_kind = if kind == "prose" { "text" } else { kind };
        let mut document = Self { kind: shown_kind, code: kind == "code", ..Self::default() };
        let style = match kind {
            "markdown" => HeadingStyle::Marked,
            _ if marks_are_comments(sample.head) => HeadingStyle::Unmarked,
            _ => HeadingStyle::Any,
        };
        let mut headings = HeadingReader::new(style);
        let mut capacity = MAX_COUNTED_VALUES;
        let facts = LineFacts::gather(text, |number, line| {
            let text = line.text();
            let text = visible::strip_colours(&text);
            match document.code {
                true => document.add_code(number, &text, &mut capacity),
                false => document.add_line(number, &text, &mut headings),
            }
        })?;
        document.facts = facts;
        if document.facts.has_cut_lines() && !document.code {
            document.sentences = Some(Sentences::read(text, &mut document.words)?);
            document.facts.all_was_searched();
        }
        Ok(document)
    }

    fn add_line(&mut self, number: u64, line: &str, headings: &mut HeadingReader) {
        self.words.add(line, number, true);
        self.links += line.matches("](").count() as u64;
        self.fences +=
            u64::from(line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~"));
        let begins = headings.is_after_blank();
        let (late, own) = headings.add(number, line);
        let is_heading = own.is_some();
        for heading in late.into_iter().chain(own) {
            self.headings.push(heading.line, heading.level, &heading.text);
        }
        let line = line.trim();
        if is_heading || headings.is_code() || !line.chars().any(char::is_alphanumeric) {
            return;
        }
        if is_value(line) {
            self.values.push(number, 1, line);
        }
        // The first line after a heading is shown with it, the first of any paragraph is a sample.
        self.headings.lead(line);
        if begins && line.len() > 20 {
            self.paragraphs.push(number, 1, line);
        }
    }

    fn add_code(&mut self, number: u64, line: &str, capacity: &mut usize) {
        let indentation = line.len() - line.trim_start().len();
        if let Some((keyword, text)) = symbols::definition(line) {
            self.definitions.add(keyword.as_bytes(), number, capacity);
            // Definitions at the margin are the outline; indented ones rank lower.
            let level = 1 + u8::from(indentation > 0) + u8::from(indentation > 4);
            self.headings.push(number, level, text);
        } else if let Some(module) = symbols::import(line) {
            self.imports.add(module.as_bytes(), number, capacity);
        } else if indentation <= 4
            && let Some(constant) = symbols::constant(line)
        {
            self.constants.push(number, 1, &constant);
        }
        if symbols::is_to_do(line) {
            self.to_do.push(number, 1, line.trim());
        }
        self.words.add(line, number, false);
    }

    /// Writes the parts of the overview that fit, and returns their names.
    fn write(&self, text: &Text<'_>, draft: &mut Draft<'_>) -> io::Result<Vec<&'static str>> {
        let section = STRATEGY_SECTION;
        let all = draft.writer.left();
        let mut below = Vec::new();
        self.write_facts(draft, section, all);
        let tail =
            draft.within(all / 7, |draft| self.facts.writer(text).write_tail(draft, section + 6, 8))?;
        let head =
            draft.within(all / 5, |draft| self.facts.writer(text).write_head(draft, section + 1, 16))?;
        let constants =
            draft.within(all / 6, |draft| self.constants.write(draft, section + 2, "named values"));
        let to_do = draft.within(all / 8, |draft| self.to_do.write(draft, section + 5, "to do"));
        // A text that names a value now and then is not a list of values.
        let values = self.values.total * 8 >= self.facts.lines
            && draft.within(all / 3, |draft| self.values.write(draft, section + 5, "values"));
        let title = if self.code { "definitions" } else { "headings" };
        let headings = self.headings.write(draft, section + 3, title);
        let share = share_of_rest(draft);
        let paragraphs = draft.writer.left() > 60
            && draft.within(share, |draft| match &self.sentences {
                Some(sentences) => sentences.write(draft, section + 4),
                None => self.paragraphs.write(draft, section + 4, "beginnings of paragraphs"),
            });
        if draft.writer.fills() {
            self.facts.writer(text).write_more(draft, section + 2)?;
        }
        let sample = if self.sentences.is_some() { "sentences" } else { "beginnings of paragraphs" };
        let written = [
            (headings, title),
            (constants, "named values"),
            (head, "head"),
            (paragraphs, sample),
            (to_do, "to do"),
            (values, "values"),
            (tail, "tail"),
        ];
        below.extend(written.into_iter().filter(|(written, _)| *written).map(|(_, what)| what));
        Ok(below)
    }

    /// Writes sizes, counts, and frequent words.
    fn write_facts(&self, draft: &mut Draft<'_>, section: usize, all: u64) {
        let writer = &mut draft.writer;
        let words = &self.words;
        let size = match self.code {
            true => self.facts.summary(),
            false => format!("{}, {} words", self.facts.summary(), write::grouped(words.total)),
        };
        writer.push(section, size);
        WordCounts::write(&self.definitions, 1, 12, "definitions", writer, section);
        let imports: Vec<String> = self.imports.entries().iter().map(ValueCount::text).collect();
        writer.within(all / 10, |writer| writer.push_list(section, "imports", &imports));
        if !self.code {
            self.headings.write_levels(writer, section);
        }
        writer.within(all / 10, |writer| WordCounts::write(&words.codes, 1, 8, "codes", writer, section));
        if !self.code {
            writer.within(all / 12, |writer| {
                WordCounts::write(&words.capitals, 3, 8, "lines with", writer, section)
            });
        }
        if self.kind == "text" {
            writer.within(all / 12, |writer| words.write_beginnings(writer, section));
        }
        writer.within(all / 10, |writer| {
            WordCounts::write(&words.all, 5, 12, "frequent words", writer, section)
        });
        let counts = [("links", self.links), ("code blocks", self.fences.div_ceil(2))];
        let counts = counts.into_iter().filter(|(_, count)| *count > 0);
        let counts: Vec<String> = counts.map(|(what, count)| format!("{what}: {count}")).collect();
        if !counts.is_empty() {
            writer.push(section, counts.join(", "));
        }
    }
}

/// Returns whether a line names a value: a short name, a colon, and a short text that is not a sentence.
fn is_value(line: &str) -> bool {
    let line = line.trim_start_matches(['-', '*', '•', ' ']);
    let Some((name, value)) = line.split_once(": ") else { return false };
    let is_name = name.len() <= 40
        && name.starts_with(|c: char| c.is_alphabetic() || matches!(c, '`' | '_'))
        && name.split_whitespace().count() <= 5;
    let is_short =
        value.len() <= 100 && (!value.ends_with('.') || value.bytes().any(|byte| byte.is_ascii_digit()));
    is_name && is_short && !value.trim().is_empty()
}
