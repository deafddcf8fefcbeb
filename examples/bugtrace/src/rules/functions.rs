//! The functions of a file: how long, how deep, how many parameters. For languages that have braces and a word before
//! the name of a function.
//!
//! One pass with a stack, whatever the file looks like: an unclosed brace or a thousand of them cost no more.

use crate::source::{Language, Line, is_word};

/// A function that was found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Function {
    pub(crate) name: String,
    /// The line of its name.
    pub(crate) line: usize,
    pub(crate) lines: usize,
    pub(crate) parameters: usize,
    /// Braces inside its body, at the deepest; those of a function inside it are that one's.
    pub(crate) depth: usize,
}

/// A function whose body is not reached yet.
struct Head {
    name: String,
    line: usize,
    part: Part,
    /// Open brackets of any kind inside the part.
    level: usize,
    parameters: usize,
    /// The last word of the parameter that is being read.
    parameter: Option<String>,
}

#[derive(PartialEq)]
enum Part {
    Name,
    Generics,
    Parameters,
    Result,
}

/// A function whose body is open.
struct Body {
    function: Function,
    /// Braces that are open outside.
    outside: usize,
}

#[derive(Default)]
struct Finder {
    depth: usize,
    head: Option<Head>,
    bodies: Vec<Body>,
    found: Vec<Function>,
}

/// Returns the functions of a file in the order in which they end.
pub(crate) fn functions(lines: &[Line<'_>], language: Language) -> Vec<Function> {
    if language == Language::Hash {
        return Vec::new();
    }
    let mut finder = Finder::default();
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
                finder.sign(next, last, line.number);
            }
            last = next;
        }
    }
    finder.found
}

impl Finder {
    fn word(&mut self, word: &str, line: usize, language: Language) {
        let announces = match language {
            Language::Rust => word == "fn",
            Language::Script => word == "function",
            _ => matches!(word, "func" | "fun"),
        };
        match &mut self.head {
            Some(head) if head.part == Part::Name && head.name.is_empty() && head.level == 0 => {
                head.name = word.to_owned();
            }
            Some(head) if head.part == Part::Parameters => head.parameter = Some(word.to_owned()),
            _ if announces => {
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

    fn sign(&mut self, next: char, last: char, line: usize) {
        if let Some(mut head) = self.head.take() {
            match head.sign(next, last) {
                Step::On => self.head = Some(head),
                Step::Drop => {}
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

/// What a character makes of the head of a function.
enum Step {
    On,
    Drop,
    Body,
}

impl Head {
    fn sign(&mut self, next: char, last: char) -> Step {
        match self.part {
            Part::Name => self.in_name(next),
            Part::Generics => {
                self.nest(next, last);
                if self.level == 0 {
                    self.part = Part::Name;
                }
                Step::On
            }
            Part::Parameters => self.in_parameters(next, last),
            Part::Result => match next {
                '{' if self.level == 0 => Step::Body,
                ';' | '}' if self.level == 0 => Step::Drop,
                _ => {
                    // Arrows and comparisons make `<` and `>` useless here; only what could hide a `;` counts.
                    match next {
                        '(' | '[' => self.level += 1,
                        ')' | ']' => self.level = self.level.saturating_sub(1),
                        _ => {}
                    }
                    Step::On
                }
            },
        }
    }

    fn in_name(&mut self, next: char) -> Step {
        match next {
            // The receiver of a method in Go stands before the name.
            ')' if self.level > 0 => self.level -= 1,
            _ if self.level > 0 => {}
            '(' if self.name.is_empty() => self.level = 1,
            '(' => self.part = Part::Parameters,
            '<' if !self.name.is_empty() => {
                self.part = Part::Generics;
                self.level = 1;
            }
            '{' | '}' | ';' | ',' | '=' => return Step::Drop,
            _ => {}
        }
        Step::On
    }

    fn in_parameters(&mut self, next: char, last: char) -> Step {
        match next {
            ')' if self.level == 0 => {
                self.end_parameter();
                self.part = Part::Result;
            }
            ',' if self.level == 0 => self.end_parameter(),
            _ => self.nest(next, last),
        }
        Step::On
    }

    fn nest(&mut self, next: char, last: char) {
        match next {
            '(' | '[' | '{' | '<' => self.level += 1,
            '>' if matches!(last, '-' | '=') => {}
            ')' | ']' | '}' | '>' => self.level = self.level.saturating_sub(1),
            _ => {}
        }
    }

    /// What a method is called on is no parameter.
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
    fn what_is_broken_ends() {
        let open = "fn a( {".repeat(20_000);
        assert!(found(&open, Language::Rust).is_empty());
        assert!(found(&"}".repeat(20_000), Language::Rust).is_empty());
        assert_eq!(found("} fn a() { }", Language::Rust).len(), 1);
    }
}
