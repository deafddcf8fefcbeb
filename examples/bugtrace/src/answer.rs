//! The answer of a tool in two styles: following the response contract, or plain.
//!
//! A tool returns an [`Answer`] or a [`Failure`]. In the contract style an answer is a summary with a few items or figures
//! within the byte budget of the tool's category, and the rest becomes an artifact. In the plain style it is all the data.

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Map, Value};
use tidegate_sdk::contract::{Category, Contract, Item, Response, ResponseLimits};
use tidegate_sdk::{Artifacts, contract};

/// Characters of a string: 500 with the truncation mark after it.
const MAX_STRING_CHARS: usize = 497;
/// Levels of nesting below the outermost value; four with it.
const MAX_DEPTH: usize = 3;

/// The answer of a tool.
pub(crate) struct Answer {
    summary: String,
    excerpt: Excerpt,
    full: FullData,
}

/// The part of an answer that the contract shows.
enum Excerpt {
    /// The first items, with the total count and the cursor of the next page.
    Items { count: u64, items: Vec<Item>, next_cursor: Option<NextCursor> },
    /// A few figures.
    Figures(Map<String, Value>),
}

/// Returns the cursor of the next page for the number of items shown; `None` on the last page.
type NextCursor = Box<dyn Fn(usize) -> Option<String>>;

/// The complete data behind an answer.
struct FullData {
    /// The domain of the artifact.
    domain: &'static str,
    /// The reference, if the data is stored already.
    reference: Option<String>,
    /// The data; `None` means what is stored under the reference.
    data: Option<Value>,
}

/// Why a tool failed, and what it would have accepted.
#[derive(Debug)]
pub(crate) struct Failure {
    summary: String,
    accepted: Vec<Item>,
}

/// Whether answers follow the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AnswerStyle {
    /// A summary, a few items, a reference.
    Contract,
    /// All the data.
    Plain,
}

impl Answer {
    /// Returns an answer with the first items of `count`.
    pub(crate) fn items(summary: impl Into<String>, count: u64, items: Vec<Item>) -> Self {
        Self {
            summary: summary.into(),
            excerpt: Excerpt::Items { count, items, next_cursor: None },
            full: FullData::none(),
        }
    }

    /// Returns an answer with a few figures; they are all the data unless more is added.
    pub(crate) fn figures(summary: impl Into<String>, figures: Value) -> Self {
        let figures = match figures {
            Value::Object(figures) => figures,
            other => Map::from_iter([("value".to_owned(), other)]),
        };
        Self { summary: summary.into(), excerpt: Excerpt::Figures(figures), full: FullData::none() }
    }

    /// Adds the cursor of the next page, as a function of the number of items shown.
    pub(crate) fn next_cursor(mut self, cursor: impl Fn(usize) -> Option<String> + 'static) -> Self {
        if let Excerpt::Items { next_cursor, .. } = &mut self.excerpt {
            *next_cursor = Some(Box::new(cursor));
        }
        self
    }

    /// Adds the complete data, which becomes an artifact if it exceeds the budget of the answer.
    pub(crate) fn full_data(mut self, domain: &'static str, data: Value) -> Self {
        self.full = FullData { domain, reference: None, data: Some(data) };
        self
    }

    /// Adds the reference of data that is stored already; `data` is the part the caller asked for.
    pub(crate) fn stored(mut self, reference: &str, data: Option<Value>) -> Self {
        self.full = FullData { domain: "", reference: Some(reference.to_owned()), data };
        self
    }

    /// Returns the answer as a tool result.
    pub(crate) fn into_result(
        self,
        tool: &str,
        style: AnswerStyle,
        artifacts: &Artifacts,
    ) -> Result<CallToolResult, Failure> {
        let text = match style {
            AnswerStyle::Contract => self.contract(tool, artifacts)?,
            AnswerStyle::Plain => self.plain(artifacts)?,
        };
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]))
    }

    fn contract(self, tool: &str, artifacts: &Artifacts) -> Result<String, Failure> {
        let limits = limits(tool);
        match self.excerpt {
            Excerpt::Items { count, items, next_cursor } => {
                let reference = self.full.reference(&limits, artifacts)?;
                let mut answer = Contract::success(&self.summary).count(count).items(items);
                if let Some(reference) = reference {
                    answer = answer.artifact_ref(reference);
                }
                let next_cursor = next_cursor.unwrap_or_else(|| Box::new(|_| None));
                let answer =
                    answer.max_bytes(limits.max_bytes).fit(next_cursor).map_err(Failure::internal)?;
                serde_json::to_string(&answer).map_err(Failure::internal)
            }
            Excerpt::Figures(mut figures) => {
                figures.insert("success".to_owned(), true.into());
                let figures = Value::Object(figures);
                let answer = Response::new(&self.summary, &figures).limits(limits);
                let mut wrapped = answer.wrap().map_err(Failure::internal)?;
                let mut reference = self.full.reference(&limits, artifacts)?;
                if reference.is_none() && is_truncated(&figures, wrapped.to_value()) {
                    reference = Some(self.full.store(figures.clone(), artifacts)?);
                }
                if let Some(reference) = reference {
                    wrapped = answer.artifact(reference).wrap().map_err(Failure::internal)?;
                }
                Ok(wrapped.compact())
            }
        }
    }

    fn plain(self, artifacts: &Artifacts) -> Result<String, Failure> {
        let data = match (self.full.data, self.full.reference, self.excerpt) {
            (Some(data), ..) => data,
            (None, Some(reference), _) => artifacts.retrieve(&reference).map_err(Failure::internal)?,
            (None, None, Excerpt::Figures(figures)) => Value::Object(figures),
            (None, None, Excerpt::Items { items, .. }) => {
                serde_json::to_value(items).map_err(Failure::internal)?
            }
        };
        serde_json::to_string_pretty(&data).map_err(Failure::internal)
    }
}

impl FullData {
    fn none() -> Self {
        Self { domain: "", reference: None, data: None }
    }

    /// Returns the reference of the data; stores the data first if it is too large for the answer.
    fn reference(&self, limits: &ResponseLimits, artifacts: &Artifacts) -> Result<Option<String>, Failure> {
        let is_large = |data: &&Value| Response::new("", data).limits(*limits).needs_artifact();
        match (&self.reference, self.data.as_ref().filter(is_large)) {
            (Some(reference), _) => Ok(Some(reference.clone())),
            (None, None) => Ok(None),
            (None, Some(data)) => self.store(data.clone(), artifacts).map(Some),
        }
    }

    fn store(&self, figures: Value, artifacts: &Artifacts) -> Result<String, Failure> {
        let domain = if self.domain.is_empty() { "answer" } else { self.domain };
        let stored = artifacts.store(domain, self.data.as_ref().unwrap_or(&figures));
        Ok(stored.map_err(Failure::internal)?.reference().to_owned())
    }
}

impl Failure {
    /// Returns a failure with a summary, which is truncated to 100 characters; use [`quote`] for values in it.
    pub(crate) fn new(summary: impl Into<String>) -> Self {
        Self { summary: summary.into(), accepted: Vec::new() }
    }

    /// Adds what the tool would have accepted.
    pub(crate) fn with_accepted(self, accepted: impl IntoIterator<Item = Item>) -> Self {
        Self { accepted: accepted.into_iter().collect(), ..self }
    }

    /// Returns a failure for an internal error.
    pub(crate) fn internal(error: impl std::fmt::Display) -> Self {
        Self::new(format!("internal error: {error}"))
    }

    /// Returns the failure as a tool error.
    pub(crate) fn into_result(self, tool: &str, style: AnswerStyle) -> CallToolResult {
        let Self { summary, accepted } = self;
        let text = match style {
            AnswerStyle::Plain => summary,
            AnswerStyle::Contract => {
                let failure = Contract::failure(&summary).max_bytes(limits(tool).max_bytes);
                let answer = failure.clone().items(accepted).fit(|_| None).or_else(|_| failure.build());
                answer.ok().and_then(|answer| serde_json::to_string(&answer).ok()).unwrap_or(summary)
            }
        };
        CallToolResult::error(vec![ContentBlock::text(text)])
    }
}

/// Returns the limits of a tool's answers; a tool without a category has the default byte limit.
pub(crate) fn limits(tool: &str) -> ResponseLimits {
    let limits = Category::of_tool(tool).map_or_else(ResponseLimits::default, ResponseLimits::from);
    ResponseLimits { max_string_length: MAX_STRING_CHARS, max_json_depth: MAX_DEPTH, ..limits }
}

/// Returns whether the answer shows the figures truncated.
fn is_truncated(figures: &Value, mut shown: Value) -> bool {
    if let Some(shown) = shown.as_object_mut() {
        shown.remove("summary");
    }
    shown != *figures
}

/// Returns whether a value fits the limits without truncation.
pub(crate) fn fits_untruncated(value: &Value, limits: &ResponseLimits) -> bool {
    contract::truncate(value, limits) == *value
}

/// Returns the beginning of a caller's text in quotes, short enough to leave room for the rest of a summary.
pub(crate) fn quote(text: &str) -> String {
    const MAX_QUOTE_CHARS: usize = 24;
    // Escape before counting, since escaping can make many characters of one.
    let visible: String = text.escape_debug().take(MAX_QUOTE_CHARS + 1).collect();
    match visible.char_indices().nth(MAX_QUOTE_CHARS) {
        None => format!("\"{visible}\""),
        Some((end, _)) => format!("\"{}...\"", &visible[..end]),
    }
}
