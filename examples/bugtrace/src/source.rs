//! A source file, line by line, with its code and its comments apart.
//!
//! One pass over the characters tells code, comments and strings from one another, so that a `.unwrap()` in a string
//! or a comment is no finding and a brace in one opens nothing. It knows what the rules need of a language and no more.

use std::path::Path;

/// The languages that are scanned, by what their comments and strings look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    /// Rust: nested block comments, raw strings, lifetimes.
    Rust,
    /// Languages like C, with `//` and `/* */`.
    Braces,
    /// JavaScript and TypeScript: strings in any of three quotes.
    Script,
    /// Python and shell: comments behind `#`.
    Hash,
}

/// The languages by extension.
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
    /// Returns the language of a file, if it is one that is scanned.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?;
        EXTENSIONS.iter().find(|(known, _)| *known == extension).map(|(_, language)| *language)
    }
}

/// One line of a file.
#[derive(Debug)]
pub(crate) struct Line<'s> {
    /// From one.
    pub(crate) number: usize,
    /// The whole line.
    pub(crate) text: &'s str,
    /// What is neither comment nor inside a string.
    pub(crate) code: String,
    /// What is comment.
    pub(crate) comment: String,
    /// Whether it belongs to tests, where failing at once is right.
    pub(crate) in_test: bool,
}

/// Where a reader stands between two characters.
#[derive(Clone, Copy, PartialEq)]
enum State {
    Code,
    LineComment,
    BlockComment(usize),
    /// Inside a string that ends with this quote, and so many `#` behind it.
    Text(char, usize),
    /// Inside a string that ends with three quotes.
    Tripled(char),
}

/// Returns the lines of a file.
pub(crate) fn lines<'s>(text: &'s str, language: Language, path: &str) -> Vec<Line<'s>> {
    let mut state = State::Code;
    let mut in_test = path.split('/').any(|part| matches!(part, "tests" | "test" | "tests.rs"));
    let mut found = Vec::new();
    for (index, text) in text.lines().enumerate() {
        in_test |= text.trim_start().starts_with("#[cfg(test)]");
        let mut reader = Reader { language, state, code: String::new(), comment: String::new() };
        reader.read(text);
        state = reader.at_end();
        found.push(Line { number: index + 1, text, code: reader.code, comment: reader.comment, in_test });
    }
    found
}

struct Reader {
    language: Language,
    state: State,
    code: String,
    comment: String,
}

impl Reader {
    fn read(&mut self, line: &str) {
        let mut rest = line;
        while let Some(next) = rest.chars().next() {
            let taken = match self.state {
                State::Code => self.code(rest, next),
                State::LineComment => self.comment(rest),
                State::BlockComment(depth) => self.block(rest, next, depth),
                State::Text(quote, hashes) => self.text(rest, next, quote, hashes),
                State::Tripled(quote) => self.tripled(rest, next, quote),
            };
            rest = rest.get(taken..).unwrap_or_default();
        }
    }

    /// What goes on in the next line; a string of most languages does not.
    fn at_end(&self) -> State {
        match self.state {
            State::LineComment => State::Code,
            State::Text('"', _) if self.language == Language::Rust => self.state,
            State::Text('`', _) => self.state,
            State::Text(..) => State::Code,
            other => other,
        }
    }

    fn code(&mut self, rest: &str, next: char) -> usize {
        let hash = self.language == Language::Hash;
        if (hash && next == '#') || (!hash && rest.starts_with("//")) {
            self.state = State::LineComment;
            return 0;
        }
        if !hash && rest.starts_with("/*") {
            self.state = State::BlockComment(1);
            return 2;
        }
        if let Some((state, taken)) = self.opened(rest, next) {
            self.state = state;
            self.code.push('"');
            return taken;
        }
        self.code.push(next);
        next.len_utf8()
    }

    /// The string that begins here, if one does, and the bytes of what opens it.
    fn opened(&self, rest: &str, next: char) -> Option<(State, usize)> {
        let tripled = |quote: &str| self.language == Language::Hash && rest.starts_with(quote);
        match next {
            '"' | '\'' if tripled("\"\"\"") || tripled("'''") => Some((State::Tripled(next), 3)),
            '"' => Some((State::Text('"', 0), 1)),
            'r' if self.language == Language::Rust && !self.code.ends_with(is_word) => raw(rest),
            '\'' if matches!(self.language, Language::Hash | Language::Script) => {
                Some((State::Text('\'', 0), 1))
            }
            '\'' => is_character(rest).then_some((State::Text('\'', 0), 1)),
            '`' if self.language == Language::Script => Some((State::Text('`', 0), 1)),
            _ => None,
        }
    }

    fn comment(&mut self, rest: &str) -> usize {
        self.comment.push_str(rest);
        rest.len()
    }

    fn block(&mut self, rest: &str, next: char, depth: usize) -> usize {
        if rest.starts_with("*/") {
            self.state = if depth == 1 { State::Code } else { State::BlockComment(depth - 1) };
            return 2;
        }
        if self.language == Language::Rust && rest.starts_with("/*") {
            self.state = State::BlockComment(depth + 1);
            return 2;
        }
        self.comment.push(next);
        next.len_utf8()
    }

    fn text(&mut self, rest: &str, next: char, quote: char, hashes: usize) -> usize {
        let is_raw = hashes > 0;
        if next == '\\' && !is_raw {
            return 1 + rest[1..].chars().next().map_or(0, char::len_utf8);
        }
        // A raw string is kept with one more than its number of `#`, so that `r"..."` is one too.
        let closing = rest[next.len_utf8()..].bytes().take_while(|byte| *byte == b'#').count();
        if next == quote && (!is_raw || closing + 1 >= hashes) {
            self.state = State::Code;
            self.code.push('"');
            return next.len_utf8() + hashes.saturating_sub(1);
        }
        next.len_utf8()
    }

    fn tripled(&mut self, rest: &str, next: char, quote: char) -> usize {
        if rest.chars().take(3).filter(|found| *found == quote).count() == 3 {
            self.state = State::Code;
            self.code.push('"');
            return 3;
        }
        next.len_utf8()
    }
}

/// A raw string of Rust: `r"` or `r#"`.
fn raw(rest: &str) -> Option<(State, usize)> {
    let hashes = rest[1..].bytes().take_while(|byte| *byte == b'#').count();
    let opens = rest[1 + hashes..].starts_with('"');
    opens.then_some((State::Text('"', hashes + 1), hashes + 2))
}

/// Whether a quote begins a character and not a lifetime.
fn is_character(rest: &str) -> bool {
    let mut after = rest.chars().skip(1);
    let first = after.next();
    first == Some('\\') || (first.is_some_and(|first| first != '\'') && after.next() == Some('\''))
}

/// Whether a character can be part of a name.
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
    fn strings_and_comments_are_no_code() {
        let text = "let a = \"x { // y\"; // TODO {\nlet b = '{'; /* {\n{ */ let c: &'a str = r#\"\"{\"#;";
        assert_eq!(
            code(text, Language::Rust),
            ["let a = \"\"; ", "let b = \"\"; ", " let c: &'a str = \"\";"]
        );
        let found = lines(text, Language::Rust, "src/a");
        assert_eq!((found[0].comment.as_str(), found[1].comment.as_str()), ("// TODO {", " {"));
    }

    #[test]
    fn strings_go_on_where_the_language_lets_them() {
        assert_eq!(code("\"a\n{\" b", Language::Rust), ["\"", "\" b"]);
        assert_eq!(code("\"a\n{ b", Language::Braces), ["\"", "{ b"]);
        assert_eq!(code("x = '''a\n# b'''\ny # c", Language::Hash), ["x = \"", "\"", "y "]);
        assert_eq!(code("`a ${\n{`; '\\''", Language::Script), ["\"", "\"; \"\""]);
        assert_eq!(code("r\"\\\" + 1", Language::Rust), ["\"\" + 1"]);
    }

    #[test]
    fn tests_are_known() {
        let found = lines("fn a() {}\n#[cfg(test)]\nmod tests {}", Language::Rust, "src/a.rs");
        assert_eq!(found.iter().map(|line| line.in_test).collect::<Vec<_>>(), [false, true, true]);
        assert!(lines("x", Language::Rust, "crates/a/tests/it/main.rs")[0].in_test);
    }
}
