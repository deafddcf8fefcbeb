//! What may fail, or was left undone: single lines.

use tidegate_sdk::contract::Severity;

use super::{LINE_CHARS, Rule, eased};
use crate::finding::Finding;
use crate::source::{Language, Line, is_word};

/// What stands in code, by language; `None` for all.
const CODE: [(Option<Language>, &str, Rule, Severity); 10] = [
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

/// What stands in comments, as whole words.
const COMMENTS: [(&str, Rule, Severity); 4] = [
    ("FIXME", Rule::Fixme, Severity::High),
    ("XXX", Rule::Fixme, Severity::High),
    ("HACK", Rule::Fixme, Severity::High),
    ("TODO", Rule::Todo, Severity::Medium),
];

pub(super) fn check(path: &str, line: &Line<'_>, language: Language) -> Vec<Finding> {
    let finding = |rule, severity, message: String| {
        Finding::new(rule, eased(severity, line.in_test), path, line.number, message, line.text)
    };
    let in_code =
        CODE.iter().filter(|(of, words, ..)| of.is_none_or(|of| of == language) && stands(&line.code, words));
    let mut found: Vec<Finding> =
        in_code.map(|(_, words, rule, severity)| finding(*rule, *severity, format!("`{words}`"))).collect();
    let in_comment = COMMENTS.iter().filter(|(word, ..)| stands(&line.comment, word));
    found.extend(in_comment.map(|(word, rule, severity)| finding(*rule, *severity, (*word).to_owned())));
    let characters = line.text.chars().count();
    if characters > LINE_CHARS {
        found.push(finding(Rule::LongLine, Severity::Low, format!("{characters} characters")));
    }
    found
}

/// Whether words stand in a text and not inside longer ones.
fn stands(text: &str, words: &str) -> bool {
    let bounded = |at: usize| {
        let before = text[..at].chars().next_back();
        let after = text[at + words.len()..].chars().next();
        let begins = !words.starts_with(is_word) || !before.is_some_and(is_word);
        let ends = !words.ends_with(is_word) || !after.is_some_and(is_word);
        begins && ends
    };
    text.match_indices(words).any(|(at, _)| bounded(at))
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

    fn is(line: usize, rule: &str, severity: &str) -> (usize, String, String) {
        (line, rule.to_owned(), severity.to_owned())
    }

    #[test]
    fn code_and_comments_are_looked_through() {
        let text = "a.unwrap(); // TODO: b\nlet s = \"panic!(\"; // no .unwrap() here\nif x { panic!(\"y\") }\ntodo!()\n/* FIXME */";
        assert_eq!(
            found(text, Language::Rust),
            [
                is(1, "unwrap", "medium"),
                is(1, "todo", "medium"),
                is(3, "panic", "high"),
                is(4, "unfinished", "critical"),
                is(5, "fixme", "high"),
            ]
        );
    }

    #[test]
    fn parts_of_words_and_other_languages_are_not_meant() {
        assert!(found("// TODOS\nmy_panic!(x); self.expected(1);", Language::Rust).is_empty());
        assert!(found("a.unwrap()", Language::Script).is_empty());
        assert_eq!(found("raise NotImplementedError", Language::Hash), [is(1, "unfinished", "critical")]);
    }

    #[test]
    fn tests_may_fail_at_once_and_long_lines_are_counted_in_characters() {
        assert_eq!(found("#[cfg(test)]\nx.unwrap()", Language::Rust), [is(2, "unwrap", "low")]);
        assert!(found(&"é".repeat(120), Language::Rust).is_empty());
        assert_eq!(found(&"é".repeat(121), Language::Rust), [is(1, "long-line", "low")]);
    }
}
