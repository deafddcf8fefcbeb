//! The strategy for documents: prose, Markdown and source code.
//!
//! An overview shows their headings or definitions, their beginning and their end, and words that stand out.

use std::io;

use super::draft::Draft;
use super::key_lines::KeyLines;
use super::line_facts::LineFacts;
use super::strategy::{Content, STRATEGY_SECTION, Strategy, TextKind};
use super::word_counts::WordCounts;
use crate::profile::value_counts::ValueCounts;
use crate::text::Text;
use crate::visible;

/// A text without anything visible.
pub(crate) const EMPTY: TextKind = TextKind {
    name: "empty",
    recognise: |sample| sample.whole && sample.trimmed().is_empty(),
    read: |text, _| Ok(Content::text(DocumentText::read(text, "empty")?)),
};

/// Source code.
pub(crate) const CODE: TextKind = TextKind {
    name: "code",
    recognise: |sample| {
        let code = sample.share(is_code_line);
        code > 0.25 && code >= sample.share(is_markdown_line) && !sample.begins_like_json()
    },
    read: |text, _| Ok(Content::text(DocumentText::read(text, "code")?)),
};

/// Markdown.
pub(crate) const MARKDOWN: TextKind = TextKind {
    name: "markdown",
    recognise: |sample| sample.share(is_markdown_line) > 0.08,
    read: |text, _| Ok(Content::text(DocumentText::read(text, "markdown")?)),
};

/// Any text.
pub(crate) const PROSE: TextKind = TextKind {
    name: "prose",
    recognise: |_| true,
    read: |text, _| Ok(Content::text(DocumentText::read(text, "prose")?)),
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

fn is_markdown_line(line: &str) -> bool {
    heading_level(line).is_some()
        || line.starts_with("```")
        || line.starts_with("| ")
        || (line.contains("](") && line.contains('['))
        || line.trim_start().starts_with("- **")
}

/// Returns the level of a Markdown heading.
fn heading_level(line: &str) -> Option<u8> {
    let level = line.bytes().take_while(|&byte| byte == b'#').count();
    ((1..=6).contains(&level) && line.as_bytes().get(level) == Some(&b' ')).then_some(level as u8)
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
    /// The first lines of paragraphs.
    paragraphs: KeyLines,
    links: u64,
    words: WordCounts,
    /// What the frame calls the text.
    kind: &'static str,
    code: bool,
}

impl Strategy for DocumentText {
    fn name(&self) -> &'static str {
        "text"
    }

    fn compose(&self, text: &Text<'_>, _arguments: &[String], draft: &mut Draft<'_>) -> io::Result<()> {
        let below = if self.facts.writer(text).write_all(draft, STRATEGY_SECTION)? {
            "all of the text"
        } else {
            self.write(text, draft)?;
            "outline, beginning, end"
        };
        self.facts.describe(draft, self.kind, below);
        Ok(())
    }
}

impl DocumentText {
    /// Reads a text of a kind.
    fn read(text: &Text<'_>, kind: &'static str) -> io::Result<Self> {
        let shown_kind = if kind == "prose" { "text" } else { kind };
        let mut document = Self { kind: shown_kind, code: kind == "code", ..Self::default() };
        let marked_only = kind == "markdown";
        let (mut fenced, mut previous_blank, mut capacity) = (false, true, MAX_DEFINITION_KINDS);
        let facts = LineFacts::gather(text, |number, line| {
            let text = line.text();
            let text = visible::strip_colours(&text);
            if document.code {
                document.add_code(number, &text, &mut capacity);
                return;
            }
            document.words.add(&text, number, true);
            document.links += text.matches("](").count() as u64;
            if text.trim_start().starts_with("```") {
                fenced = !fenced;
            } else if !fenced {
                let found = if marked_only { marked_heading(&text) } else { heading(&text, previous_blank) };
                match found {
                    Some((level, heading)) => document.headings.push(number, level, heading),
                    None => document.add_paragraph(number, &text, previous_blank),
                }
            }
            previous_blank = text.trim().is_empty();
        })?;
        document.facts = facts;
        Ok(document)
    }

    /// Adds a line of a paragraph: the first after a heading leads it, the first of any paragraph is a sample.
    fn add_paragraph(&mut self, number: u64, line: &str, begins: bool) {
        let line = line.trim();
        if line.is_empty() {
            return;
        }
        self.headings.lead(line);
        if begins && line.len() > 20 {
            self.paragraphs.push(number, 1, line);
        }
    }

    fn add_code(&mut self, number: u64, line: &str, capacity: &mut usize) {
        let indentation = line.len() - line.trim_start().len();
        if let Some((keyword, text)) = definition(line) {
            self.definitions.add(keyword.as_bytes(), number, capacity);
            self.headings.push(number, 1 + u8::from(indentation > 4), text);
        } else if indentation <= 4
            && let Some(constant) = constant(line)
        {
            self.constants.push(number, 1, &constant);
        }
        self.words.add(line, number, false);
    }

    fn write(&self, text: &Text<'_>, draft: &mut Draft<'_>) -> io::Result<()> {
        let section = STRATEGY_SECTION;
        let all = draft.writer.left();
        self.write_facts(draft, section, all);
        draft.within(all / 7, |draft| self.facts.writer(text).write_tail(draft, section + 5, 8))?;
        draft.within(all / 5, |draft| self.facts.writer(text).write_head(draft, section + 1, 16))?;
        draft.within(all / 6, |draft| self.constants.write(draft, section + 2, "named values"));
        let title = if self.code { "definitions" } else { "headings" };
        self.headings.write(draft, section + 3, title);
        if draft.writer.left() > 60 {
            self.paragraphs.write(draft, section + 4, "beginnings of paragraphs");
        }
        self.facts.writer(text).write_more(draft, section + 2)
    }

    /// Writes sizes, counts, and words that stand out.
    fn write_facts(&self, draft: &mut Draft<'_>, section: usize, all: u64) {
        let writer = &mut draft.writer;
        writer.push(section, self.facts.summary());
        WordCounts::write(&self.definitions, 1, 12, "definitions", writer, section);
        if !self.code {
            self.headings.write_levels(writer, section);
        }
        let words = &self.words;
        writer.within(all / 10, |writer| WordCounts::write(&words.codes, 1, 8, "codes", writer, section));
        if !self.code {
            writer.within(all / 12, |writer| {
                WordCounts::write(&words.capitals, 3, 8, "lines with", writer, section)
            });
        }
        writer.within(all / 10, |writer| {
            WordCounts::write(&words.all, 5, 12, "frequent words", writer, section)
        });
        if self.links > 0 {
            writer.push(section, format!("links: {}", self.links));
        }
    }
}

/// The maximum number of kinds of definitions that are counted.
const MAX_DEFINITION_KINDS: usize = 10_000;

/// Words that begin a numbered heading of prose.
const DIVISION_WORDS: &[&str] =
    &["chapter", "section", "part", "book", "act", "scene", "article", "appendix", "volume", "letter"];

/// Returns the level and the text of a Markdown heading.
fn marked_heading(line: &str) -> Option<(u8, &str)> {
    let level = heading_level(line)?;
    Some((level, line[usize::from(level)..].trim()))
}

/// Returns the level and the text of a line that is a heading, marked or not.
fn heading(line: &str, previous_blank: bool) -> Option<(u8, &str)> {
    if let Some(marked) = marked_heading(line) {
        return Some(marked);
    }
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

/// Words before a definition that say nothing about its kind.
const MODIFIERS: &[&str] = &[
    "pub",
    "export",
    "default",
    "async",
    "static",
    "public",
    "private",
    "protected",
    "final",
    "abstract",
    "unsafe",
    "extern",
    "inline",
    "const",
    "override",
    "pub(crate)",
    "declare",
];

/// Words that begin a definition.
const DEFINITION_KEYWORDS: &[&str] = &[
    "function",
    "class",
    "def",
    "fn",
    "func",
    "struct",
    "enum",
    "trait",
    "impl",
    "interface",
    "type",
    "module",
    "mod",
    "namespace",
    "union",
    "object",
    "record",
    "protocol",
    "macro_rules!",
    "sub",
    "CREATE",
];

/// Returns the kind and the text of a line that begins a definition.
fn definition(line: &str) -> Option<(&'static str, &str)> {
    let trimmed = line.trim();
    let mut rest = trimmed;
    for _ in 0..4 {
        let (word, after) = rest.split_once(' ')?;
        if let Some(keyword) = DEFINITION_KEYWORDS
            .iter()
            .find(|known| **known == word || (word == "function*" && **known == "function"))
        {
            let name = after.trim_start();
            let named = name.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '$' || c == '<');
            let shaped = matches!(*keyword, "function" | "def" | "fn" | "func" | "sub")
                .then(|| name.contains('('))
                .unwrap_or_else(|| {
                    trimmed.ends_with(['{', ':', ';', ')', ',', '('])
                        || !name.contains(' ')
                        || name.contains(" = ")
                });
            return (named && shaped).then(|| (*keyword, trimmed.trim_end_matches([' ', '{'])));
        }
        if !MODIFIERS.contains(&word) {
            return None;
        }
        rest = after.trim_start();
    }
    None
}

/// Returns `NAME = value` for a line that names a short literal value in capitals.
fn constant(line: &str) -> Option<String> {
    let (left, right) = line.trim().split_once('=')?;
    let name = left.trim().split([' ', ':']).rfind(|word| !word.is_empty() && is_constant_name(word))?;
    let value = right.trim().trim_end_matches([';', ',']).trim();
    let literal =
        value.starts_with(['"', '\'', '`']) || value.starts_with(|c: char| c.is_ascii_digit() || c == '-');
    (literal && value.len() <= 80).then(|| format!("{name} = {}", visible::line(value)))
}

fn is_constant_name(word: &str) -> bool {
    word.len() >= 3
        && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
        && word.starts_with(|c: char| c.is_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_of_prose() {
        assert_eq!(heading("CHAPTER 42. The Whiteness of The Whale.", true).unwrap().0, 1);
        assert_eq!(heading("## 1.2. Pages", false), Some((2, "1.2. Pages")));
        assert_eq!(heading("4.1. WAL File Format", true), Some((2, "4.1. WAL File Format")));
        assert_eq!(heading("1.5 million people came here.", true), None);
        assert_eq!(heading("chapter and verse were read", true), None);
    }

    #[test]
    fn definitions_of_code() {
        assert_eq!(
            definition("  function baseClone(value, bitmask) {"),
            Some(("function", "function baseClone(value, bitmask)"))
        );
        assert_eq!(definition("pub async fn run(self) -> u8 {").unwrap().0, "fn");
        assert_eq!(definition("export default class Foo {").unwrap().0, "class");
        assert_eq!(definition("class of its own kind it was"), None);
        assert_eq!(definition("return function(x) {"), None);
        assert_eq!(constant("  var LARGE_ARRAY_SIZE = 200;").unwrap(), "LARGE_ARRAY_SIZE = 200");
        assert_eq!(constant("const X_Y: u8 = 3;").unwrap(), "X_Y = 3");
    }
}
