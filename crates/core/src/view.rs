//! Views: the part of a kept result that a query asks for, within a budget.
//!
//! `follow-up -> view -> measure -> respond`: a [`Query`] names one view and a position in it; the answer holds what
//! fits from there on, says how much there is, and carries the query for the next part. Everything is a function of the
//! result and the query; the engines behind `jq`, `sql` and `grep` are passed in.
//!
//! Views are exact: records are JSON as the upstream wrote it, white space aside, or separated values from which the
//! same values can be read back; `range` returns the bytes themselves. So all pages together hold every record once, and
//! all ranges together every byte.

mod answer;
pub mod arguments;
pub mod cursor;
mod dataset;
mod engine;
mod error;
mod export;
mod flatten;
mod named;
mod nearest;
mod path;
mod picture;
mod place;
mod records;
mod segment;
mod texts;
mod units;
mod value;
mod within;

pub use answer::{Answer, ViewRequest, answer};
pub use dataset::{Dataset, LineText, RecordText};
pub use engine::{
    EngineEvent, EngineOutput, EngineProgram, EngineSink, Engines, NoEngines, QueryLanguages, ResultWindow,
    Total,
};
pub use error::ViewError;
pub use export::{ExportError, ExportFormat, ExportRequest, Exported, export};
pub use flatten::{Scalar, flatten, visible_json, visible_text};
pub use named::named_results;
pub use nearest::nearest;
pub use picture::is_picture;
pub use place::{Place, shown_pointer};
pub use segment::read_key;
pub use units::{Unit, UnitContent, VisitUnit, decoded, is_inner_json, record_values, value_from};
pub use value::{ValueError, ValueRequest, value};
pub(crate) use within::open as open_within;
pub use within::{OpenedValue, main_value};

use serde::{Deserialize, Serialize};

/// One way to read a part of a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum View {
    /// The overview again.
    Summary,
    /// Records, by pages of fixed boundaries.
    Page {
        /// The number of the page, from 1.
        number: u64,
        /// Records on one page; a size chosen for the artifact if not given.
        size: Option<u64>,
    },
    /// The value at a JSON Pointer or a simple JSONPath.
    Path(String),
    /// The results of a jq program.
    Jq(String),
    /// The rows of a query over the table `t` of the records.
    Sql(String),
    /// Everything that a regular expression matches: records, values and lines.
    Grep {
        /// The expression.
        pattern: String,
        /// Lines shown before and after a match.
        context: u64,
    },
    /// Lines of the text, both ends included, from 1.
    Lines {
        /// The first line.
        from: u64,
        /// The last line; the end of the text if not given.
        to: Option<u64>,
    },
    /// Bytes of the original result, both ends included, from 0.
    Range {
        /// The first byte.
        from: u64,
        /// The last byte; the end of the result if not given.
        to: Option<u64>,
    },
    /// All of the result, as far as the caller's cap allows.
    Full,
    /// A view of the value at a path, as if that value were the result.
    Within {
        /// The path of the value.
        path: String,
        /// The view of it.
        view: Box<View>,
    },
    /// How often a regular expression matches, by place.
    Count(String),
}

impl View {
    /// Returns the name of the view, as in the arguments that ask for it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Summary => "summary",
            Self::Page { .. } => "page",
            Self::Path(_) => "path",
            Self::Jq(_) => "jq",
            Self::Sql(_) => "sql",
            Self::Grep { .. } => "grep",
            Self::Lines { .. } => "lines",
            Self::Range { .. } => "range",
            Self::Full => "full",
            Self::Within { view, .. } => view.name(),
            Self::Count(_) => "grep",
        }
    }
}

/// A view, the fields it is narrowed to, and the position in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Query {
    /// The part that the caller asks for.
    pub view: View,
    /// Only these fields of the records; all if empty.
    pub fields: Vec<String>,
    /// The position to read from: a record, a result, or a byte, as the view counts.
    pub position: u64,
}

impl Query {
    /// Returns a query that reads a view from its beginning.
    pub fn new(view: View) -> Self {
        Self { view, fields: Vec::new(), position: 0 }
    }

    /// Returns the query that continues at a position.
    pub(crate) fn at(&self, position: u64) -> Self {
        Self { position, ..self.clone() }
    }
}
