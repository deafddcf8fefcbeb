//! The rules of the scans: what each looks for, and what to do about a finding.

mod bugfix;
mod functions;
mod refactor;

use serde::{Deserialize, Serialize};
use tidegate_sdk::contract::Severity;

use crate::finding::{Finding, Kind};
use crate::source::{Language, lines};

/// Characters of a line; a longer line is a finding.
pub(crate) const MAX_LINE_CHARS: usize = 120;
/// Lines of a function; a longer function is a finding.
pub(crate) const MAX_FUNCTION_LINES: usize = 60;
/// Levels of nested braces in a function; deeper nesting is a finding.
pub(crate) const MAX_NESTING: usize = 5;
/// Lines of a file; a longer file is a finding.
pub(crate) const MAX_FILE_LINES: usize = 500;
/// Parameters of a function; more are a finding.
pub(crate) const MAX_PARAMETERS: usize = 6;

/// A rule of a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Rule {
    Unfinished,
    Panic,
    Fixme,
    Todo,
    Unwrap,
    LongLine,
    LongFunction,
    DeepNesting,
    LargeFile,
    ManyParameters,
}

impl Rule {
    /// All rules.
    pub(crate) const ALL: [Self; 10] = [
        Self::Unfinished,
        Self::Panic,
        Self::Fixme,
        Self::Todo,
        Self::Unwrap,
        Self::LongLine,
        Self::LongFunction,
        Self::DeepNesting,
        Self::LargeFile,
        Self::ManyParameters,
    ];

    /// Returns the name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Unfinished => "unfinished",
            Self::Panic => "panic",
            Self::Fixme => "fixme",
            Self::Todo => "todo",
            Self::Unwrap => "unwrap",
            Self::LongLine => "long-line",
            Self::LongFunction => "long-function",
            Self::DeepNesting => "deep-nesting",
            Self::LargeFile => "large-file",
            Self::ManyParameters => "many-parameters",
        }
    }

    /// Returns the kind of scan that checks the rule.
    pub(crate) fn kind(self) -> Kind {
        match self {
            Self::LongFunction | Self::DeepNesting | Self::LargeFile | Self::ManyParameters => Kind::Refactor,
            _ => Kind::Bugfix,
        }
    }

    /// Returns what to do about a finding.
    pub(crate) fn advice(self) -> &'static str {
        match self {
            Self::Unfinished => "implement it, or return an error that says it is not supported",
            Self::Panic => "return an error, or state the invariant that makes it impossible",
            Self::Fixme => "fix it, or open an issue and reference it here",
            Self::Todo => "do it, or open an issue and reference it here",
            Self::Unwrap => "propagate the error with `?`, or use a default",
            Self::LongLine => "break the line",
            Self::LongFunction => "extract parts of it into functions",
            Self::DeepNesting => "return early, or extract the inner part into a function",
            Self::LargeFile => "split it into several files",
            Self::ManyParameters => "group related parameters into a type",
        }
    }

    /// Returns what the rule looks for.
    pub(crate) fn description(self) -> String {
        match self {
            Self::Unfinished => "todo!, unimplemented!, NotImplementedError".into(),
            Self::Panic => "panic!, unreachable!, panic, fatalError".into(),
            Self::Fixme => "FIXME, XXX, HACK in comments".into(),
            Self::Todo => "TODO in comments".into(),
            Self::Unwrap => ".unwrap() and .expect(...)".into(),
            Self::LongLine => format!("lines over {MAX_LINE_CHARS} characters"),
            Self::LongFunction => format!("functions over {MAX_FUNCTION_LINES} lines"),
            Self::DeepNesting => format!("more than {MAX_NESTING} levels of nested braces"),
            Self::LargeFile => format!("files over {MAX_FILE_LINES} lines"),
            Self::ManyParameters => format!("functions with more than {MAX_PARAMETERS} parameters"),
        }
    }
}

/// Returns the findings of a kind in a file.
pub(crate) fn check(kind: Kind, path: &str, text: &str, language: Language) -> Vec<Finding> {
    let lines = lines(text, language, path);
    match kind {
        Kind::Bugfix => lines.iter().flat_map(|line| bugfix::check(path, line, language)).collect(),
        Kind::Refactor => refactor::check(path, &lines, language),
    }
}

/// Returns the severity of a finding: low in tests.
fn severity_in_tests(severity: Severity, in_test: bool) -> Severity {
    if in_test { Severity::Low } else { severity }
}
