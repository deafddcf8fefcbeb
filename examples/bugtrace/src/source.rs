//! Splits the lines of a source file into code and comments.
//!
//! One pass over the characters separates code, comments and strings, so that `.unwrap()` or a brace inside a string or
//! comment does not count. It knows only as much of each language as the rules need.

use std::path::Path;

/// The supported languages, grouped by the syntax of comments and strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    /// Rust: nested block comments, raw strings, lifetimes.
    Rust,
    /// C-like languages, with `//` and `/* */`.
    Braces,
    /// JavaScript and TypeScript: strings in any of three quotes.
    Script,
    /// Python, Ruby and shell: comments after `#`.
    Hash,
}

/// The languages by file extension.
pub(crate) const EXTENSIONS: [(&str, Language); 20] = [
    ("rs", Language::Rust),
    ("c", Language::Braces),
    ("cc", Language::Braces),
    ("cpp", Language::Braces),
    ("cs", Language::Braces),
    ("go", Language::Braces),
    ("h", Language::Braces),
    ("hpp", Language::Braces),
    ("java", Language::Braces),
    ("kt", Language::Braces),
    ("swift", Language::Braces),
    ("js", Language::Script),
    ("jsx", Language::Script),
    ("mjs", Language::Script),
    ("ts", Language::Script),
    ("tsx", Language::Script),
    ("py", Language::Hash),
    ("rb", Language::Hash),
    ("sh", Language::Hash),
    ("bash", Language::Hash),
];

impl Language {
    /// Returns the language of a file, if it is supported.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?;
        EXTENSIONS.iter().find(|(other, _)| *other == extension).map(|(_, language)| *language)
    }
}

/// A line of a source file.
#[derive(Debug)]
pub(crate) struct Line<'s> {
    /// The line number, from 1.
    pub(crate) number: usize,
    /// The whole line.
    pub(crate) text: &'s str,
    /// The code, without comments and the contents of strings.
    pub(crate) code: String,
    /// The text of comments.
    pub(crate) comment: String,
    /// Whether the line belongs to tests, where panics are fine.
    pub(crate) in_test: bool,
}

/// The lexical context of a character.
#[derive(Clone, Copy, PartialEq)]
enum Context {
    Code,
    LineComment,
    BlockComment(usize),
    /// A string that ends with this quote. The number is 0, or for a raw string one more than its number of `#`.
    StringLiteral(char, usize),
    /// A string that ends with three quotes.
    TripleQuoted(char),
}

/// Returns the lines of a file.
pub(crate) fn lines<'s>(text: &'s str, language: Language, path: &str) -> Vec<Line<'s>> {
    let mut context = Context::Code;
    let mut in_test = path.split('/').any(|part| matches!(part, "tests" | "test" | "tests.rs"));
    let mut found = Vec::new();
    for (index, text) in text.lines().enumerate() {
        in_test |= text.trim_start().starts_with("#[cfg(test)]");
        let mut splitter = LineSplitter { language, context, code: String::new(), comment: String::new() };
        splitter.split(text);
        context = splitter.context_of_next_line();
        let LineSplitter { code, comment, .. } = splitter;
        found.push(Line { number: index + 1, text, code, comment, in_test });
    }
    found
}

/// Splits one line into code and comment.
struct LineSplitter {
    language: Language,
    context: Context,
    code: String,
    comment: String,
}

impl LineSplitter {
    fn split(&mut self, line: &str) {
        let mut rest = line;
        while let Some(next) = rest.chars().next() {
            let taken = match self.context {
                Context::Code => self.code(rest, next),
                Context::LineComment => self.comment(rest),
                Context::BlockComment(depth) => self.block(rest, next, depth),
                Context::StringLiteral(quote, hashes) => self.string(rest, next, quote, hashes),
                Context::TripleQuoted(quote) => self.triple_quoted(rest, next, quote),
            };
            rest = rest.get(taken..).unwrap_or_default();
        }
    }

    /// Returns the context at the start of the next line; in most languages a string ends with its line.
    fn context_of_next_line(&self) -> Context {
        match self.context {
            Context::LineComment => Context::Code,
            Context::StringLiteral('"', _) if self.language == Language::Rust => self.context,
            Context::StringLiteral('`', _) => self.context,
            Context::StringLiteral(..) => Context::Code,
            other => other,
        }
    }

    fn code(&mut self, rest: &str, next: char) -> usize {
        let hash = self.language == Language::Hash;
        if (hash && next == '#') || (!hash && rest.starts_with("//")) {
            self.context = Context::LineComment;
            return 0;
        }
        if !hash && rest.starts_with("/*") {
            self.context = Context::BlockComment(1);
            return 2;
        }
        if let Some((context, taken)) = self.string_start(rest, next) {
            self.context = context;
            self.code.push('"');
            return taken;
        }
        self.code.push(next);
        next.len_utf8()
    }

    /// Returns the context of the string that starts here, if any, and the bytes of its opening quote.
    fn string_start(&self, rest: &str, next: char) -> Option<(Context, usize)> {
        let is_triple = |quote: &str| self.language == Language::Hash && rest.starts_with(quote);
        match next {
            '"' | '\'' if is_triple("\"\"\"") || is_triple("'''") => Some((Context::TripleQuoted(next), 3)),
            '"' => Some((Context::StringLiteral('"', 0), 1)),
            'r' if self.language == Language::Rust && !self.code.ends_with(is_word) => raw_string_start(rest),
            '\'' if matches!(self.language, Language::Hash | Language::Script) => {
                Some((Context::StringLiteral('\'', 0), 1))
            }
            '\'' => is_char_literal(rest).then_some((Context::StringLiteral('\'', 0), 1)),
            '`' if self.language == Language::Script => Some((Context::StringLiteral('`', 0), 1)),
            _ => None,
        }
    }

    fn comment(&mut self, rest: &str) -> usize {
        self.comment.push_str(rest);
        rest.len()
    }

    fn block(&mut self, rest: &str, next: char, depth: usize) -> usize {
        if rest.starts_with("*/") {
            self.context = if depth == 1 { Context::Code } else { Context::BlockComment(depth - 1) };
            return 2;
        }
        if self.language == Language::Rust && rest.starts_with("/*") {
            self.context = Context::BlockComment(depth + 1);
            return 2;
        }
        self.comment.push(next);
        next.len_utf8()
    }

    fn string(&mut self, rest: &str, next: char, quote: char, hashes: usize) -> usize {
        let is_raw = hashes > 0;
        if next == '\\' && !is_raw {
            return 1 + rest[1..].chars().next().map_or(0, char::len_utf8);
        }
        let closing = rest[next.len_utf8()..].bytes().take_while(|byte| *byte == b'#').count();
        if next == quote && (!is_raw || closing + 1 >= hashes) {
            self.context = Context::Code;
            self.code.push('"');
            return next.len_utf8() + hashes.saturating_sub(1);
        }
        next.len_utf8()
    }

    fn triple_quoted(&mut self, rest: &str, next: char, quote: char) -> usize {
        if rest.chars().take(3).filter(|found| *found == quote).count() == 3 {
            self.context = Context::Code;
            self.code.push('"');
            return 3;
        }
        next.len_utf8()
    }
}

/// Returns the context of a raw string of Rust, `r"` or `r#"`, and the bytes of its opening.
fn raw_string_start(rest: &str) -> Option<(Context, usize)> {
    let hashes = rest[1..].bytes().take_while(|byte| *byte == b'#').count();
    let opens = rest[1 + hashes..].starts_with('"');
    opens.then_some((Context::StringLiteral('"', hashes + 1), hashes + 2))
}

/// Returns whether a single quote starts a character literal and not a lifetime.
fn is_char_literal(rest: &str) -> bool {
    let mut after = rest.chars().skip(1);
    let first = after.next();
    first == Some('\\') || (first.is_some_and(|first| first != '\'') && after.next() == Some('\''))
}

/// Returns whether a character can be part of a name.
pub(crate) fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str, language: Language) -> Vec<String> {
        lines(text, language, "src/a").into_iter().map(|line| line.code).collect()
    }

    #[test]
    fn strings_and_comments_are_not_code() {
        let text = "let a = \"x { // y\"; // TODO {\nlet b = '{'; /* {\n{ */ let c: &'a str = r#\"\"{\"#;";
        assert_eq!(
            code(text, Language::Rust),
            ["let a = \"\"; ", "let b = \"\"; ", " let c: &'a str = \"\";"]
        );
        let found = lines(text, Language::Rust, "src/a");
        assert_eq!((found[0].comment.as_str(), found[1].comment.as_str()), ("// TODO {", " {"));
    }

    #[test]
    fn strings_span_lines_where_the_language_allows() {
        assert_eq!(code("\"a\n{\" b", Language::Rust), ["\"", "\" b"]);
        assert_eq!(code("\"a\n{ b", Language::Braces), ["\"", "{ b"]);
        assert_eq!(code("x = '''a\n# b'''\ny # c", Language::Hash), ["x = \"", "\"", "y "]);
        assert_eq!(code("`a ${\n{`; '\\''", Language::Script), ["\"", "\"; \"\""]);
        assert_eq!(code("r\"\\\" + 1", Language::Rust), ["\"\" + 1"]);
    }

    #[test]
    fn lines_of_tests_are_marked() {
        let found = lines("fn a() {}\n#[cfg(test)]\nmod tests {}", Language::Rust, "src/a.rs");
        assert_eq!(found.iter().map(|line| line.in_test).collect::<Vec<_>>(), [false, true, true]);
        assert!(lines("x", Language::Rust, "crates/a/tests/it/main.rs")[0].in_test);
    }
}
