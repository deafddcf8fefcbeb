//! Hints about a tool's results, for results that are not recognised correctly.
//!
//! A policy gives them; the shaping engine follows each hint that matches the result, and ignores the others.

/// Hints about a result. A hint that does not match the result is ignored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hints {
    /// What the text is: one of [`Hints::KINDS`].
    pub kind: Option<String>,
    /// The path of the records: `.items`, `/data/items` or `$.items`.
    pub rows: Option<String>,
    /// The fields to show of each row.
    pub fields: Vec<String>,
}

impl Hints {
    /// The values that `kind` may have.
    pub const KINDS: [&'static str; 9] =
        ["json", "csv", "log", "diff", "html", "snapshot", "markdown", "code", "text"];

    /// Returns the path of the records as names joined by dots, as the engine writes paths.
    pub(crate) fn rows_path(&self) -> Option<String> {
        let written = self.rows.as_deref()?;
        Some(written.trim_start_matches('$').trim_start_matches(['.', '/']).replace('/', "."))
    }
}
