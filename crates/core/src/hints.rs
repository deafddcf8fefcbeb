//! What somebody who knows a tool says about its results, where recognising them is not enough.

/// Hints about a result. One that turns out not to be true is passed over.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hints {
    /// What the text is: one of [`Hints::KINDS`].
    pub kind: Option<String>,
    /// Where the records are: `.items`, `/data/items` or `$.items`.
    pub rows: Option<String>,
    /// The fields that rows are shown with.
    pub fields: Vec<String>,
}

impl Hints {
    /// What a text can be said to be.
    pub const KINDS: [&'static str; 9] =
        ["json", "csv", "log", "diff", "html", "snapshot", "markdown", "code", "text"];

    /// Returns the path of the records as names joined by dots, as paths are written here.
    pub(crate) fn rows_path(&self) -> Option<String> {
        let written = self.rows.as_deref()?;
        Some(written.trim_start_matches('$').trim_start_matches(['.', '/']).replace('/', "."))
    }
}
