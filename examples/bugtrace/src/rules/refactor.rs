//! Rules for functions and files that are hard to read.

use tidegate_sdk::contract::Severity;

use super::functions::{Function, functions};
use super::{MAX_FILE_LINES, MAX_FUNCTION_LINES, MAX_NESTING, MAX_PARAMETERS, Rule, severity_in_tests};
use crate::finding::Finding;
use crate::source::{Language, Line};

pub(super) fn check(path: &str, lines: &[Line<'_>], language: Language) -> Vec<Finding> {
    let mut found = Vec::new();
    if let Some(first) = lines.first()
        && let Some(severity) = severity_above(lines.len(), MAX_FILE_LINES)
    {
        let message = format!("{} lines", lines.len());
        let severity = severity_in_tests(severity, first.in_test);
        found.push(Finding::new(Rule::LargeFile, severity, path, 1, message, first.text));
    }
    for function in functions(lines, language) {
        found.extend(check_function(path, &lines[function.line - 1], &function));
    }
    found
}

fn check_function(path: &str, line: &Line<'_>, function: &Function) -> Vec<Finding> {
    let Function { name, lines, parameters, depth, .. } = function;
    let measured = [
        (Rule::LongFunction, *lines, MAX_FUNCTION_LINES, "lines"),
        (Rule::DeepNesting, *depth, MAX_NESTING, "levels"),
        (Rule::ManyParameters, *parameters, MAX_PARAMETERS, "parameters"),
    ];
    let over = measured.into_iter().filter_map(|(rule, size, max, unit)| {
        let severity = severity_in_tests(severity_above(size, max)?, line.in_test);
        let message = format!("{name}: {size} {unit}, at most {max}");
        Some(Finding::new(rule, severity, path, line.number, message, line.text))
    });
    over.collect()
}

/// Returns the severity of exceeding a maximum: high above twice, critical above five times.
fn severity_above(size: usize, max: usize) -> Option<Severity> {
    match size {
        _ if size <= max => None,
        _ if size > max * 5 => Some(Severity::Critical),
        _ if size > max * 2 => Some(Severity::High),
        _ => Some(Severity::Medium),
    }
}

#[cfg(test)]
mod tests {
    use crate::finding::Kind;
    use crate::rules::check;
    use crate::source::Language;

    fn found(text: &str) -> Vec<(String, String, String)> {
        let findings = check(Kind::Refactor, "src/a.rs", text, Language::Rust);
        findings.into_iter().map(|f| (f.rule.name().into(), f.severity.to_string(), f.message)).collect()
    }

    #[test]
    fn functions_and_files_are_measured() {
        let long = format!("fn long() {{\n{}}}\n", "x;\n".repeat(130));
        assert_eq!(
            found(&long),
            [("long-function".into(), "high".into(), "long: 132 lines, at most 60".into())]
        );
        let deep = format!("fn deep() {{ {} {} }}", "if x {".repeat(6), "}".repeat(6));
        assert_eq!(
            found(&deep),
            [("deep-nesting".into(), "medium".into(), "deep: 6 levels, at most 5".into())]
        );
        let many = "fn many(a: u8, b: u8, c: u8, d: u8, e: u8, f: u8, g: u8) {}";
        assert_eq!(
            found(many),
            [("many-parameters".into(), "medium".into(), "many: 7 parameters, at most 6".into())]
        );
        assert_eq!(
            found(&"x\n".repeat(2501)),
            [("large-file".into(), "critical".into(), "2501 lines".into())]
        );
        assert!(found(&"x\n".repeat(500)).is_empty());
    }
}
