//! Finds in one line of source code, whatever the language, what it defines, imports, names or leaves to be done.

use crate::visible;

/// Words before a definition that say nothing about its kind.
const MODIFIERS: &[&str] = &[
    "abstract",
    "async",
    "case",
    "companion",
    "const",
    "data",
    "declare",
    "default",
    "export",
    "extern",
    "final",
    "global",
    "inline",
    "internal",
    "local",
    "native",
    "open",
    "operator",
    "override",
    "partial",
    "private",
    "protected",
    "pub",
    "pub(crate)",
    "pub(super)",
    "public",
    "readonly",
    "sealed",
    "static",
    "suspend",
    "synchronized",
    "unsafe",
    "virtual",
];

/// Words that begin a definition.
const DEFINITION_KEYWORDS: &[&str] = &[
    "CREATE",
    "class",
    "def",
    "defmacro",
    "defmodule",
    "defp",
    "enum",
    "extension",
    "fn",
    "fun",
    "func",
    "function",
    "impl",
    "interface",
    "macro_rules!",
    "message",
    "mod",
    "module",
    "namespace",
    "object",
    "procedure",
    "protocol",
    "record",
    "service",
    "struct",
    "sub",
    "trait",
    "type",
    "typedef",
    "union",
];

/// Words that begin a statement which looks like the head of a function.
const STATEMENT_WORDS: &[&str] = &[
    "if", "for", "while", "switch", "return", "else", "catch", "do", "match", "with", "elif", "when",
    "until", "case", "foreach", "using", "lock", "new", "throw", "await", "yield", "assert", "not", "and",
    "or", "in", "super", "this",
];

/// Returns whether a kind of definition is one of types or modules rather than of functions.
pub(crate) fn is_type(keyword: &str) -> bool {
    !matches!(
        keyword,
        "assigned function"
            | "method"
            | "def"
            | "defmacro"
            | "defp"
            | "fn"
            | "fun"
            | "func"
            | "function"
            | "procedure"
            | "sub"
    )
}

/// Returns the kind and the text of a line that begins a definition.
pub(crate) fn definition(line: &str) -> Option<(&'static str, &str)> {
    let trimmed = line.trim();
    if trimmed.len() > 400 || trimmed.starts_with(['/', '#', '*', '"', '\'', '}', ')']) {
        return None;
    }
    keyword_definition(trimmed).or_else(|| assigned_function(trimmed)).or_else(|| {
        let indentation = line.len() - line.trim_start().len();
        (indentation <= 4).then(|| bare_function(trimmed)).flatten()
    })
}

/// Reads `pub async fn run(...)`, `export default class Foo {`, `func (t *T) Run() {`.
fn keyword_definition(trimmed: &str) -> Option<(&'static str, &str)> {
    let mut rest = trimmed;
    for _ in 0..5 {
        let (word, after) = rest.split_once(' ')?;
        let known = DEFINITION_KEYWORDS
            .iter()
            .find(|known| **known == word || word == "function*" && **known == "function");
        if let Some(keyword) = known {
            let name = after.trim_start();
            // The receiver of a Go method.
            let receiver = *keyword == "func" && name.starts_with('(');
            let named =
                receiver || name.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '$' || c == '<');
            let ends = |endings: &[char]| trimmed.ends_with(endings);
            let shaped = match *keyword {
                "function" | "fn" | "func" | "fun" | "sub" | "procedure" => {
                    name.contains('(') || ends(&['{', ';'])
                }
                "def" | "defp" | "defmacro" | "defmodule" => {
                    name.contains('(') || ends(&[':', '=']) || !name.contains(' ') || trimmed.ends_with(" do")
                }
                _ => ends(&['{', ':', ';', ')', ',', '(']) || !name.contains(' ') || name.contains(" = "),
            };
            return (named && shaped).then(|| (*keyword, trimmed.trim_end_matches([' ', '{'])));
        }
        if !MODIFIERS.contains(&word) {
            return None;
        }
        rest = after.trim_start();
    }
    None
}

/// Reads `const run = async (x) => {`, `exports.run = function (x) {`, `run <- function(x) {`.
fn assigned_function(trimmed: &str) -> Option<(&'static str, &str)> {
    let (left, right) = trimmed.split_once(" = ").or_else(|| trimmed.split_once(" <- "))?;
    let right = right.trim_start().trim_start_matches("async ");
    let arrow = right.ends_with("=> {") || right.ends_with("=>") || right.ends_with("=> (");
    let is_function = right.starts_with("function")
        || right.starts_with("lambda ")
        || arrow && right.starts_with(|c: char| c == '(' || c.is_alphabetic());
    let named = left.split_whitespace().count() <= 3 && !left.contains(['(', '{', '[']);
    (is_function && named).then(|| ("assigned function", trimmed.trim_end_matches([' ', '{'])))
}

/// Reads `public int run(String x) {`, `static void run(int x)`, `run() {`.
fn bare_function(trimmed: &str) -> Option<(&'static str, &str)> {
    let (head, after) = trimmed.split_once('(')?;
    let name_start = head.rfind([' ', '*', '&', ':', '.']).map_or(0, |at| at + 1);
    let name = &head[name_start..];
    let is_name = !name.is_empty()
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_' || c == '~' || c == '$')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'~'));
    let words: Vec<&str> = head.split_whitespace().collect();
    let statement = words.iter().any(|word| STATEMENT_WORDS.contains(word));
    let clean = !head.contains(['=', '"', '\'', ',', ';', '[']);
    // The parentheses of a definition hold names and types, those of a call perhaps a function.
    let opens = trimmed.ends_with('{')
        && after.contains(')')
        && !after.contains(['(', '"', '\''])
        && !after.contains("=>");
    let typed = words.len() >= 2 && after.ends_with(')') && head.len() == head.trim_start().len();
    (is_name && clean && !statement && (opens || typed && words.len() <= 6 && is_typed(&words)))
        .then(|| ("method", trimmed.trim_end_matches([' ', '{'])))
}

/// Returns whether the words before a parenthesis are a type and a name rather than prose.
fn is_typed(words: &[&str]) -> bool {
    const TYPES: &[&str] = &[
        "void",
        "int",
        "char",
        "bool",
        "boolean",
        "long",
        "double",
        "float",
        "static",
        "public",
        "private",
        "protected",
        "unsigned",
        "size_t",
    ];
    words.iter().any(|word| TYPES.contains(word))
}

/// Returns `NAME = value` for a line that names a short literal value in capitals.
pub(crate) fn constant(line: &str) -> Option<String> {
    let trimmed = line.trim();
    if let Some(defined) = trimmed.strip_prefix("#define ") {
        let (name, value) = defined.split_once(' ')?;
        let value = value.trim();
        return (is_constant_name(name) && is_literal(value))
            .then(|| format!("{name} = {}", visible::line(value)));
    }
    let (left, right) = trimmed.split_once('=')?;
    let name = left.trim().split([' ', ':']).rfind(|word| !word.is_empty() && is_constant_name(word))?;
    let value = right.trim().trim_end_matches([';', ',']).trim();
    is_literal(value).then(|| format!("{name} = {}", visible::line(value)))
}

fn is_literal(value: &str) -> bool {
    value.len() <= 80
        && value.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '"' | '\'' | '`' | '-'))
}

fn is_constant_name(word: &str) -> bool {
    word.len() >= 3
        && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
        && word.starts_with(|c: char| c.is_ascii_uppercase())
}

/// Returns the module that a line imports.
pub(crate) fn import(line: &str) -> Option<&str> {
    if line.starts_with([' ', '\t']) || line.len() > 300 {
        return None;
    }
    let quoted = |text: &str| {
        let quote = text.find(['"', '\'', '<'])?;
        let inside = &text[quote + 1..];
        Some(inside.find(['"', '\'', '>'])?).map(|end| (quote + 1, quote + 1 + end))
    };
    let word = |text: &'static str| line.strip_prefix(text).map(str::trim_start);
    if let Some(rest) = word("#include ").or(line.strip_prefix("#include")) {
        return quoted(rest).map(|(start, end)| &rest[start..end]);
    }
    if let Some((_, rest)) = line.split_once("require(").filter(|(before, _)| before.contains('=')) {
        return quoted(rest).map(|(start, end)| &rest[start..end]);
    }
    if let Some(rest) = word("import ") {
        // `import x from 'y'`
        if let Some((start, end)) = quoted(rest) {
            return Some(&rest[start..end]);
        }
        return module(rest.trim_start_matches("static "));
    }
    if let Some(rest) = word("from ") {
        return rest.contains(" import").then(|| module(rest)).flatten();
    }
    let rest = word("use ").or(word("pub use ")).or(word("using "))?;
    rest.ends_with(';').then(|| module(rest.trim_end_matches(';'))).flatten()
}

fn module(text: &str) -> Option<&str> {
    let end = text.find([' ', ';', ',', '{', '(']).unwrap_or(text.len());
    let name = text[..end].trim_end_matches([':', '.']);
    (!name.is_empty()).then_some(name)
}

/// Returns whether a line says that something is left to be done.
pub(crate) fn is_to_do(line: &str) -> bool {
    ["TODO", "FIXME", "XXX", "HACK"].iter().any(|mark| {
        line.find(mark).is_some_and(|at| {
            let letter = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
            let bytes = line.as_bytes();
            let before = at.checked_sub(1).and_then(|at| bytes.get(at));
            !letter(before) && !letter(bytes.get(at + mark.len()))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_of_many_languages() {
        for (line, kind, text) in [
            ("  function baseClone(value, bitmask) {", "function", "function baseClone(value, bitmask)"),
            ("pub async fn run(self) -> u8 {", "fn", "pub async fn run(self) -> u8"),
            ("export default class Foo {", "class", "export default class Foo"),
            ("func (t *Tree) Walk(f func(int)) error {", "func", "func (t *Tree) Walk(f func(int)) error"),
            ("export const load = async (id) => {", "assigned function", "export const load = async (id) =>"),
            ("mean <- function(x) {", "assigned function", "mean <- function(x)"),
            (
                "    public static void main(String[] args) {",
                "method",
                "public static void main(String[] args)",
            ),
            ("static int count(struct list *l)", "method", "static int count(struct list *l)"),
            ("start_server() {", "method", "start_server()"),
            ("  def total", "def", "def total"),
            ("defmodule App.Main do", "defmodule", "defmodule App.Main do"),
            ("fun greet(name: String) = println(name)", "fun", "fun greet(name: String) = println(name)"),
            ("    def area(self):", "def", "def area(self):"),
        ] {
            assert_eq!(definition(line), Some((kind, text)), "{line}");
        }
        for line in [
            "class of its own kind it was",
            "return function(x) {",
            "    if (x) {",
            "} else if (y) {",
            "for (int i = 0; i < 3; i++) {",
            "call(a, b);",
            "each(list, function(value) {",
            "// fn old() {",
            "The end (of it)",
        ] {
            assert_eq!(definition(line), None, "{line}");
        }
    }

    #[test]
    fn values_imports_and_tasks() {
        assert_eq!(constant("  var LARGE_ARRAY_SIZE = 200;").unwrap(), "LARGE_ARRAY_SIZE = 200");
        assert_eq!(constant("const X_Y: u8 = 3;").unwrap(), "X_Y = 3");
        assert_eq!(constant("#define MAX_LINES 80").unwrap(), "MAX_LINES = 80");
        for (line, name) in [
            ("import os.path as p", "os.path"),
            ("from a.b import c", "a.b"),
            ("use std::{fmt, io};", "std"),
            ("#include <stdio.h>", "stdio.h"),
            ("import { x } from './y.js';", "./y.js"),
            ("const fs = require('fs');", "fs"),
            ("using System.Linq;", "System.Linq"),
        ] {
            assert_eq!(import(line), Some(name), "{line}");
        }
        assert_eq!(import("from here on it goes"), None);
        assert!(is_to_do("// TODO(me): later") && !is_to_do("TODOS"));
    }
}
