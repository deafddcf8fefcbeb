//! Views of a value inside a result, as if that value were the result.
//!
//! A path addresses any value, and a path goes through strings: a string that is JSON, CSV or another text is opened as a
//! result of its own, with its own outline. So `path` with `lines`, `grep`, `sql` or another view reads that value alone,
//! and a string that is most of a result is what pages, lines and queries without a path read.

use super::answer::ViewRequest;
use super::dataset::Dataset;
use super::error::ViewError;
use super::path::{self, Target};
use super::{Query, View};
use crate::hints::Hints;
use crate::outline::Outline;
use crate::payload::Payload;
use crate::plain_name;
use crate::records::Notation;

/// The minimum number of bytes of a string that is shown as a text rather than as a JSON string.
const MIN_TEXT_BYTES: usize = 1024;

/// A value that was opened as a result of its own.
pub struct OpenedValue {
    pub(crate) bytes: Vec<u8>,
    pub(crate) outline: Outline,
}

impl OpenedValue {
    /// Returns the value as data.
    pub fn dataset(&self) -> Dataset<'_> {
        Dataset::new(&self.bytes, &self.outline)
    }

    pub(super) fn new(bytes: Vec<u8>, scope: String) -> Result<Self, ViewError> {
        let source = bytes.as_slice();
        let outline = Outline::read_within(&Payload::plain(&source), &Hints::default(), scope)?;
        Ok(Self { bytes, outline })
    }
}

/// Opens the value at a path, through strings where the path leads into them.
pub(crate) fn open(dataset: &Dataset<'_>, path: &str) -> Result<OpenedValue, ViewError> {
    let scope = dataset.outline.path_prefix();
    match path::target(dataset, path)? {
        Target::String(text) => OpenedValue::new(text, joined(scope, path)),
        Target::Other(at) => OpenedValue::new(path::json_at(dataset, path, at)?, joined(scope, path)),
        Target::Inside { string, path, rest } => {
            let outer = OpenedValue::new(string, joined(scope, &path))?;
            let source = outer.bytes.as_slice();
            open(&Dataset::new(&source, &outer.outline), &rest)
        }
    }
}

/// Returns the absolute path of a path inside a scope.
fn joined(scope: &str, path: &str) -> String {
    match (scope, path.trim_end_matches('/')) {
        ("", "") => "/".to_owned(),
        ("", _) => path.to_owned(),
        (scope, path) => format!("{scope}{path}"),
    }
}

/// Opens the string that is most of a result, if it is what a view without a path reads.
///
/// # Errors
///
/// The source cannot be read.
pub fn main_value(dataset: &Dataset<'_>, view: &View) -> Result<Option<OpenedValue>, ViewError> {
    let Some(main) = dataset.outline.main_text.as_deref() else { return Ok(None) };
    if reads_main(dataset, main, view)? { open(dataset, main).map(Some) } else { Ok(None) }
}

/// Returns whether a view without a path reads the string that is most of a result.
fn reads_main(dataset: &Dataset<'_>, main: &str, view: &View) -> Result<bool, ViewError> {
    match view {
        View::Page { .. } | View::Lines { .. } | View::Sql(_) => Ok(true),
        // A program for an object that holds a text is written for the object.
        View::Jq(_) => Ok(open(dataset, main)?.outline.data.is_some()),
        _ => Ok(false),
    }
}

/// Returns the query inside a value that answers a query; `None` if the query is answered from the result as a whole.
pub(super) fn route(dataset: &Dataset<'_>, asked: &ViewRequest<'_>) -> Result<Option<Query>, ViewError> {
    let query = asked.query;
    if let View::Path(path) = &query.view {
        return if query.position == 0 { route_path(dataset, query, path) } else { Ok(None) };
    }
    let Some(main) = dataset.outline.main_text.as_deref() else { return Ok(None) };
    let is_inside = match &query.view {
        View::Full => dataset.text.max_len() > 8 * asked.budget.tokens.0,
        view => reads_main(dataset, main, view)?,
    };
    let within = View::Within { path: main.to_owned(), view: Box::new(query.view.clone()) };
    Ok(is_inside.then(|| Query { view: within, ..query.clone() }))
}

fn route_path(dataset: &Dataset<'_>, query: &Query, path: &str) -> Result<Option<Query>, ViewError> {
    let within = |path: String, view: View| {
        Some(Query { view: View::Within { path, view: Box::new(view) }, ..query.clone() })
    };
    // Cells and lines are not texts of their own.
    let has_strings = |notation: &Notation| matches!(notation, Notation::Json(_) | Notation::JsonLines(_));
    let data = dataset.outline.data.as_ref();
    if !path.trim().starts_with("//") && data.is_some_and(|data| !has_strings(&data.notation)) {
        return Ok(None);
    }
    let target = match path::target(dataset, path) {
        Ok(target) => target,
        // A block of the result may be asked for as `/content/1`, since no data has that path.
        Err(error) => {
            let is_member =
                ["/content", "/structuredContent"].iter().any(|member| path.trim().starts_with(member));
            let in_result = format!("/{}", path.trim());
            return match is_member && path::target(dataset, &in_result).is_ok() {
                true => Ok(Some(Query { view: View::Path(in_result), ..query.clone() })),
                // The view itself says what is wrong, or reads a path with `*`.
                false if matches!(error, ViewError::Source(_)) => Err(error),
                false => Ok(None),
            };
        }
    };
    Ok(match target {
        Target::Inside { path, rest, .. } => within(path, View::Path(rest)),
        Target::String(text) if text.len() >= MIN_TEXT_BYTES => {
            let opened = OpenedValue::new(text, path.to_owned())?;
            if opened.outline.is_json() {
                within(path.to_owned(), View::Path("/".into()))
            } else if opened.bytes.contains(&b'\n') {
                within(path.to_owned(), View::Lines { from: 1, to: None })
            } else {
                None
            }
        }
        Target::String(_) | Target::Other(_) => None,
    })
}

impl Outline {
    /// Returns a query about this value as a query about the whole result.
    pub(super) fn about_whole(&self, query: Query) -> Query {
        match self.scope.is_empty() {
            true => query,
            false => {
                let view = View::Within { path: self.scope.clone(), view: Box::new(query.view) };
                Query { view, ..query }
            }
        }
    }

    /// Returns words that name the value in an answer; `None` if it is the whole result.
    pub(super) fn scope_note(&self) -> Option<String> {
        let place = || match plain_name::is_plain_path(&self.scope) {
            true => format!("the value at \"{}\"", self.scope),
            false => "the value at the path that was asked for".into(),
        };
        (!self.scope.is_empty()).then(|| format!("This is {}.", place()))
    }
}
