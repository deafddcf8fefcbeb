//! What a scan looks for. Each rule says what is wrong with it and what to do instead.

mod bugfix;
mod functions;
mod refactor;

use serde::{Deserialize, Serialize};
use tidegate_sdk::contract::Severity;

use crate::finding::{Finding, Kind};
use crate::source::{Language, lines};

/// A line above so many characters is long.
pub(crate) const LINE_CHARS: usize = 120;
/// A function above so many lines is long.
pub(crate) const FUNCTION_LINES: usize = 60;
/// More braces inside one another than this are deep.
pub(crate) const NESTING: usize = 5;
/// A file above so many lines is large.
pub(crate) const FILE_LINES: usize = 500;
/// A function with more parameters than this has many.
pub(crate) const PARAMETERS: usize = 6;

/// A rule.
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
    /// All of them.
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

    /// Returns its name.
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

    /// Returns which scan has it.
    pub(crate) fn kind(self) -> Kind {
        match self {
            Self::LongFunction | Self::DeepNesting | Self::LargeFile | Self::ManyParameters => Kind::Refactor,
            _ => Kind::Bugfix,
        }
    }

    /// Returns what to do about it.
    pub(crate) fn advice(self) -> &'static str {
        match self {
            Self::Unfinished => "write what is missing, or return an error that says it is not supported",
            Self::Panic => "return an error, unless an invariant makes it impossible; then say which",
            Self::Fixme => "mend it, or open an issue and name it here",
            Self::Todo => "do it, or open an issue and name it here",
            Self::Unwrap => "pass the error on with `?`, or give a default",
            Self::LongLine => "break the line where its meaning does",
            Self::LongFunction => "give its parts a name each",
            Self::DeepNesting => "return early, or give the inner part a name",
            Self::LargeFile => "look for a seam and make two files of it",
            Self::ManyParameters => "put what belongs together into a type",
        }
    }

    /// Returns what it looks for, in words.
    pub(crate) fn looks_for(self) -> String {
        match self {
            Self::Unfinished => "todo!, unimplemented!, NotImplementedError".into(),
            Self::Panic => "panic!, unreachable!, panic, fatalError".into(),
            Self::Fixme => "FIXME, XXX, HACK in comments".into(),
            Self::Todo => "TODO in comments".into(),
            Self::Unwrap => ".unwrap() and .expect(...)".into(),
            Self::LongLine => format!("lines above {LINE_CHARS} characters"),
            Self::LongFunction => format!("functions above {FUNCTION_LINES} lines"),
            Self::DeepNesting => format!("more than {NESTING} braces inside one another"),
            Self::LargeFile => format!("files above {FILE_LINES} lines"),
            Self::ManyParameters => format!("functions with more than {PARAMETERS} parameters"),
        }
    }
}

/// Returns what the rules of a kind find in a file.
pub(crate) fn check(kind: Kind, path: &str, text: &str, language: Language) -> Vec<Finding> {
    let lines = lines(text, language, path);
    match kind {
        Kind::Bugfix => lines.iter().flat_map(|line| bugfix::check(path, line, language)).collect(),
        Kind::Refactor => refactor::check(path, &lines, language),
    }
}

/// What a test may do is not as bad as elsewhere.
fn eased(severity: Severity, in_test: bool) -> Severity {
    if in_test { Severity::Low } else { severity }
}
