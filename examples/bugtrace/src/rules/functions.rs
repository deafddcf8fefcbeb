//! Finds the functions of a file with their length, nesting depth and number of parameters.
//!
//! Works for languages with braces and a keyword before the name of a function. It is a single pass with a stack, so
//! malformed files, such as thousands of unclosed braces, cost no more than others.

use crate::source::{Language, Line, is_word};

/// A function in a source file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Function {
    pub(crate) name: String,
    /// The line of the keyword.
    pub(crate) line: usize,
    pub(crate) lines: usize,
    pub(crate) parameters: usize,
    /// The deepest nesting of braces in the body, without those of inner functions.
    pub(crate) depth: usize,
}

/// The signature of a function, up to its body.
struct Head {
    name: String,
    line: usize,
    part: Part,
    /// Open brackets of any kind inside the current part.
    level: usize,
    parameters: usize,
    /// The last word of the current parameter.
    parameter: Option<String>,
}

/// The part of a signature being read.
#[derive(PartialEq)]
enum Part {
    Name,
    Generics,
    Parameters,
    ReturnType,
}

/// A function whose body is open.
struct Body {
    function: Function,
    /// Braces open outside the function.
    outside: usize,
}

#[derive(Default)]
struct FunctionFinder {
    depth: usize,
    head: Option<Head>,
    bodies: Vec<Body>,
    found: Vec<Function>,
}

/// Returns the functions of a file, ordered by where they end.
pub(crate) fn functions(lines: &[Line<'_>], language: Language) -> Vec<Function> {
    if language == Language::Hash {
        return Vec::new();
    }
    let mut finder = FunctionFinder::default();
    for line in lines {
        let mut word = String::new();
        let mut last = ' ';
        for next in line.code.chars().chain(['\n']) {
            if is_word(next) {
                word.push(next);
            } else {
                if !word.is_empty() {
                    finder.word(&word, line.number, language);
                    word.clear();
                }
                finder.punctuation(next, last, line.number);
            }
            last = next;
        }
    }
    finder.found
}

impl FunctionFinder {
    fn word(&mut self, word: &str, line: usize, language: Language) {
        let is_keyword = match language {
            Language::Rust => word == "fn",
            Language::Script => word == "function",
            _ => matches!(word, "func" | "fun"),
        };
        match &mut self.head {
            Some(head) if head.part == Part::Name && head.name.is_empty() && head.level == 0 => {
                head.name = word.to_owned();
            }
            Some(head) if head.part == Part::Parameters => head.parameter = Some(word.to_owned()),
            _ if is_keyword => {
                self.head = Some(Head {
                    name: String::new(),
                    line,
                    part: Part::Name,
                    level: 0,
                    parameters: 0,
                    parameter: None,
                });
            }
            _ => {}
        }
    }

    fn punctuation(&mut self, next: char, last: char, line: usize) {
        if let Some(mut head) = self.head.take() {
            match head.punctuation(next, last) {
                Step::Continue => self.head = Some(head),
                Step::Discard => {}
                Step::Body => self.open(head),
            }
        }
        match next {
            '{' => {
                self.depth += 1;
                if let Some(body) = self.bodies.last_mut() {
                    let depth = self.depth - body.outside - 1;
                    body.function.depth = body.function.depth.max(depth);
                }
            }
            '}' => {
                self.depth = self.depth.saturating_sub(1);
                if self.bodies.last().is_some_and(|body| body.outside >= self.depth)
                    && let Some(Body { mut function, .. }) = self.bodies.pop()
                {
                    function.lines = line - function.line + 1;
                    self.found.push(function);
                }
            }
            _ => {}
        }
    }

    fn open(&mut self, head: Head) {
        let Head { name, line, parameters, .. } = head;
        let function = Function { name, line, lines: 0, parameters, depth: 0 };
        self.bodies.push(Body { function, outside: self.depth });
    }
}

/// What follows a character of a signature.
enum Step {
    /// The signature continues.
    Continue,
    /// It is not a function with a body.
    Discard,
    /// The body starts.
    Body,
}

impl Head {
    fn punctuation(&mut self, next: char, last: char) -> Step {
        match self.part {
            Part::Name => self.in_name(next),
            Part::Generics => {
                self.nest(next, last);
                if self.level == 0 {
                    self.part = Part::Name;
                }
                Step::Continue
            }
            Part::Parameters => self.in_parameters(next, last),
            Part::ReturnType => match next {
                '{' if self.level == 0 => Step::Body,
                ';' | '}' if self.level == 0 => Step::Discard,
                _ => {
                    // Arrows and comparisons make `<` and `>` ambiguous here; only brackets that can hide a `;` count.
                    match next {
                        '(' | '[' => self.level += 1,
                        ')' | ']' => self.level = self.level.saturating_sub(1),
                        _ => {}
                    }
                    Step::Continue
                }
            },
        }
    }

    fn in_name(&mut self, next: char) -> Step {
        match next {
            // In Go the receiver of a method precedes the name.
            ')' if self.level > 0 => self.level -= 1,
            _ if self.level > 0 => {}
            '(' if self.name.is_empty() => self.level = 1,
            '(' => self.part = Part::Parameters,
            '<' if !self.name.is_empty() => {
                self.part = Part::Generics;
                self.level = 1;
            }
            '{' | '}' | ';' | ',' | '=' => return Step::Discard,
            _ => {}
        }
        Step::Continue
    }

    fn in_parameters(&mut self, next: char, last: char) -> Step {
        match next {
            ')' if self.level == 0 => {
                self.end_parameter();
                self.part = Part::ReturnType;
            }
            ',' if self.level == 0 => self.end_parameter(),
            _ => self.nest(next, last),
        }
        Step::Continue
    }

    fn nest(&mut self, next: char, last: char) {
        match next {
            '(' | '[' | '{' | '<' => self.level += 1,
            '>' if matches!(last, '-' | '=') => {}
            ')' | ']' | '}' | '>' => self.level = self.level.saturating_sub(1),
            _ => {}
        }
    }

    /// Counts the current parameter, unless it is `self`.
    fn end_parameter(&mut self) {
        if self.parameter.take().is_some_and(|word| word != "self") {
            self.parameters += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::lines;

    fn found(text: &str, language: Language) -> Vec<(String, usize, usize, usize, usize)> {
        let functions = functions(&lines(text, language, "src/a"), language);
        functions.into_iter().map(|f| (f.name, f.line, f.lines, f.parameters, f.depth)).collect()
    }

    #[test]
    fn functions_of_rust() {
        let text = "fn a<F: Fn(u8) -> u8>(&self, b: Map<u8, u8>, c: [u8; 4],) -> [u8; 2]\nwhere F: X {\n  if x {\n    loop {}\n  }\n}\ntype T = fn(u8);\ntrait X { fn only(&self); }\nfn outer() { fn inner(x: u8) {} }";
        assert_eq!(
            found(text, Language::Rust),
            [("a".into(), 1, 6, 2, 2), ("inner".into(), 9, 1, 1, 0), ("outer".into(), 9, 1, 0, 0),]
        );
    }

    #[test]
    fn functions_of_other_languages() {
        let text = "func (s *Server) Serve(a int, b string) error {\n}\n";
        assert_eq!(found(text, Language::Braces), [("Serve".into(), 1, 2, 2, 0)]);
        let text = "function go(a, {b, c}, d = [1, 2]) {\n if (a) { return '{' }\n}";
        assert_eq!(found(text, Language::Script), [("go".into(), 1, 3, 3, 1)]);
        assert!(found("def a(b):\n  pass", Language::Hash).is_empty());
    }

    #[test]
    fn malformed_files_are_handled() {
        let open = "fn a( {".repeat(20_000);
        assert!(found(&open, Language::Rust).is_empty());
        assert!(found(&"}".repeat(20_000), Language::Rust).is_empty());
        assert_eq!(found("} fn a() { }", Language::Rust).len(), 1);
    }
}
