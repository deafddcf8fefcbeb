//! Rules for single lines: possible bugs and unfinished code.

use tidegate_sdk::contract::Severity;

use super::{MAX_LINE_CHARS, Rule, severity_in_tests};
use crate::finding::Finding;
use crate::source::{Language, Line, is_word};

/// Patterns in code by language; `None` means every language.
const CODE_PATTERNS: [(Option<Language>, &str, Rule, Severity); 10] = [
    (Some(Language::Rust), "todo!(", Rule::Unfinished, Severity::Critical),
    (Some(Language::Rust), "unimplemented!(", Rule::Unfinished, Severity::Critical),
    (Some(Language::Hash), "raise NotImplementedError", Rule::Unfinished, Severity::Critical),
    (Some(Language::Rust), "panic!(", Rule::Panic, Severity::High),
    (Some(Language::Rust), "unreachable!(", Rule::Panic, Severity::High),
    (Some(Language::Braces), "panic(", Rule::Panic, Severity::High),
    (Some(Language::Braces), "fatalError(", Rule::Panic, Severity::High),
    (Some(Language::Rust), ".unwrap()", Rule::Unwrap, Severity::Medium),
    (Some(Language::Rust), ".expect(", Rule::Unwrap, Severity::Medium),
    (None, "debugger;", Rule::Unfinished, Severity::High),
];

/// Words in comments.
const COMMENT_WORDS: [(&str, Rule, Severity); 4] = [
    ("FIXME", Rule::Fixme, Severity::High),
    ("XXX", Rule::Fixme, Severity::High),
    ("HACK", Rule::Fixme, Severity::High),
    ("TODO", Rule::Todo, Severity::Medium),
];

pub(super) fn check(path: &str, line: &Line<'_>, language: Language) -> Vec<Finding> {
    let finding = |rule, severity, message: String| {
        Finding::new(rule, severity_in_tests(severity, line.in_test), path, line.number, message, line.text)
    };
    let in_code = CODE_PATTERNS
        .iter()
        .filter(|(of, pattern, ..)| of.is_none_or(|of| of == language) && contains_word(&line.code, pattern));
    let mut found: Vec<Finding> = in_code
        .map(|(_, pattern, rule, severity)| finding(*rule, *severity, format!("`{pattern}`")))
        .collect();
    let in_comment = COMMENT_WORDS.iter().filter(|(word, ..)| contains_word(&line.comment, word));
    found.extend(in_comment.map(|(word, rule, severity)| finding(*rule, *severity, (*word).to_owned())));
    let characters = line.text.chars().count();
    if characters > MAX_LINE_CHARS {
        found.push(finding(Rule::LongLine, Severity::Low, format!("{characters} characters")));
    }
    found
}

/// Returns whether a text contains a pattern that is not part of a longer word.
fn contains_word(text: &str, pattern: &str) -> bool {
    let is_bounded = |start: usize| {
        let before = text[..start].chars().next_back();
        let after = text[start + pattern.len()..].chars().next();
        let starts = !pattern.starts_with(is_word) || !before.is_some_and(is_word);
        let ends = !pattern.ends_with(is_word) || !after.is_some_and(is_word);
        starts && ends
    };
    text.match_indices(pattern).any(|(start, _)| is_bounded(start))
}

#[cfg(test)]
mod tests {
    use crate::finding::Kind;
    use crate::rules::check;
    use crate::source::Language;

    fn found(text: &str, language: Language) -> Vec<(usize, String, String)> {
        let findings = check(Kind::Bugfix, "src/a.rs", text, language);
        findings.into_iter().map(|f| (f.line, f.rule.name().to_owned(), f.severity.to_string())).collect()
    }

    fn expected(line: usize, rule: &str, severity: &str) -> (usize, String, String) {
        (line, rule.to_owned(), severity.to_owned())
    }

    #[test]
    fn code_and_comments_are_searched() {
        let text = "a.unwrap(); // TODO: b\nlet s = \"panic!(\"; // no .unwrap() here\nif x { panic!(\"y\") }\ntodo!()\n/* FIXME */";
        assert_eq!(
            found(text, Language::Rust),
            [
                expected(1, "unwrap", "medium"),
                expected(1, "todo", "medium"),
                expected(3, "panic", "high"),
                expected(4, "unfinished", "critical"),
                expected(5, "fixme", "high"),
            ]
        );
    }

    #[test]
    fn parts_of_words_and_other_languages_do_not_match() {
        assert!(found("// TODOS\nmy_panic!(x); self.expected(1);", Language::Rust).is_empty());
        assert!(found("a.unwrap()", Language::Script).is_empty());
        assert_eq!(
            found("raise NotImplementedError", Language::Hash),
            [expected(1, "unfinished", "critical")]
        );
    }

    #[test]
    fn findings_in_tests_are_low_and_long_lines_are_counted_in_characters() {
        assert_eq!(found("#[cfg(test)]\nx.unwrap()", Language::Rust), [expected(2, "unwrap", "low")]);
        assert!(found(&"é".repeat(120), Language::Rust).is_empty());
        assert_eq!(found(&"é".repeat(121), Language::Rust), [expected(1, "long-line", "low")]);
    }
}
