//! What a tool has to say, in two lengths: everything, and what the response contract lets through.
//!
//! A tool makes an [`Answer`] or a [`Refusal`]. Behind the contract an answer is a summary with a few items or figures
//! within the bytes of the tool's category, and the rest is an artifact; plain, it is everything as it is.

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Map, Value};
use tidegate_sdk::contract::{Category, Contract, Item, Response, ResponseLimits};
use tidegate_sdk::{Artifacts, contract};

/// Characters of a string, so that it has at most 500 with the mark of a cut behind it.
const STRING_CHARS: usize = 497;
/// Levels below the outermost: with it there are four.
const DEPTH: usize = 3;

/// What a tool answers.
pub(crate) struct Answer {
    summary: String,
    short: Short,
    whole: Whole,
}

/// What is shown of it.
enum Short {
    /// A few items of many, with the way to the next ones.
    Items { count: u64, items: Vec<Item>, next: Option<Next> },
    /// A few figures.
    Figures(Map<String, Value>),
}

/// Makes the cursor behind the first so many items that are shown; none where nothing follows.
type Next = Box<dyn Fn(usize) -> Option<String>>;

/// All of it.
struct Whole {
    /// What kind of thing it is.
    domain: &'static str,
    /// Where it is kept already.
    kept: Option<String>,
    /// The data; what is kept, if that is all.
    data: Option<Value>,
}

/// Why a tool did nothing, and what it would have accepted.
#[derive(Debug)]
pub(crate) struct Refusal {
    summary: String,
    accepted: Vec<Item>,
}

/// Whether answers keep to the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// A summary, some items, a reference.
    Contract,
    /// Everything.
    Plain,
}

impl Answer {
    /// Some items of so many.
    pub(crate) fn items(summary: impl Into<String>, count: u64, items: Vec<Item>) -> Self {
        Self {
            summary: summary.into(),
            short: Short::Items { count, items, next: None },
            whole: Whole::nothing(),
        }
    }

    /// A few figures, which are all there is unless something is said of the whole.
    pub(crate) fn figures(summary: impl Into<String>, figures: Value) -> Self {
        let figures = match figures {
            Value::Object(figures) => figures,
            other => Map::from_iter([("value".to_owned(), other)]),
        };
        Self { summary: summary.into(), short: Short::Figures(figures), whole: Whole::nothing() }
    }

    /// How to go on behind the items.
    pub(crate) fn next(mut self, cursor: impl Fn(usize) -> Option<String> + 'static) -> Self {
        if let Short::Items { next, .. } = &mut self.short {
            *next = Some(Box::new(cursor));
        }
        self
    }

    /// All of it, which becomes an artifact if it is more than the answer may have.
    pub(crate) fn whole(mut self, domain: &'static str, data: Value) -> Self {
        self.whole = Whole { domain, kept: None, data: Some(data) };
        self
    }

    /// All of it is kept already; `data` is what a caller asked for of it.
    pub(crate) fn kept(mut self, reference: &str, data: Option<Value>) -> Self {
        self.whole = Whole { domain: "", kept: Some(reference.to_owned()), data };
        self
    }

    /// The result of a tool.
    pub(crate) fn told(
        self,
        tool: &str,
        form: Form,
        artifacts: &Artifacts,
    ) -> Result<CallToolResult, Refusal> {
        let text = match form {
            Form::Contract => self.contract(tool, artifacts)?,
            Form::Plain => self.plain(artifacts)?,
        };
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]))
    }

    fn contract(self, tool: &str, artifacts: &Artifacts) -> Result<String, Refusal> {
        let limits = limits(tool);
        match self.short {
            Short::Items { count, items, next } => {
                let reference = self.whole.reference(&limits, artifacts)?;
                let mut answer = Contract::success(&self.summary).count(count).items(items);
                if let Some(reference) = reference {
                    answer = answer.artifact_ref(reference);
                }
                let next = next.unwrap_or_else(|| Box::new(|_| None));
                let answer = answer.max_bytes(limits.max_bytes).fit(next).map_err(Refusal::internal)?;
                serde_json::to_string(&answer).map_err(Refusal::internal)
            }
            Short::Figures(mut figures) => {
                figures.insert("success".to_owned(), true.into());
                let figures = Value::Object(figures);
                let answer = Response::new(&self.summary, &figures).limits(limits);
                let mut wrapped = answer.wrap().map_err(Refusal::internal)?;
                let mut reference = self.whole.reference(&limits, artifacts)?;
                if reference.is_none() && is_cut(&figures, wrapped.to_value()) {
                    reference = Some(self.whole.store(figures.clone(), artifacts)?);
                }
                if let Some(reference) = reference {
                    wrapped = answer.artifact(reference).wrap().map_err(Refusal::internal)?;
                }
                Ok(wrapped.compact())
            }
        }
    }

    fn plain(self, artifacts: &Artifacts) -> Result<String, Refusal> {
        let data = match (self.whole.data, self.whole.kept, self.short) {
            (Some(data), ..) => data,
            (None, Some(reference), _) => artifacts.retrieve(&reference).map_err(Refusal::internal)?,
            (None, None, Short::Figures(figures)) => Value::Object(figures),
            (None, None, Short::Items { items, .. }) => {
                serde_json::to_value(items).map_err(Refusal::internal)?
            }
        };
        serde_json::to_string_pretty(&data).map_err(Refusal::internal)
    }
}

impl Whole {
    fn nothing() -> Self {
        Self { domain: "", kept: None, data: None }
    }

    /// Where it can be read; stores it if it would not fit.
    fn reference(&self, limits: &ResponseLimits, artifacts: &Artifacts) -> Result<Option<String>, Refusal> {
        let large = |data: &&Value| Response::new("", data).limits(*limits).needs_artifact();
        match (&self.kept, self.data.as_ref().filter(large)) {
            (Some(kept), _) => Ok(Some(kept.clone())),
            (None, None) => Ok(None),
            (None, Some(data)) => self.store(data.clone(), artifacts).map(Some),
        }
    }

    fn store(&self, shown: Value, artifacts: &Artifacts) -> Result<String, Refusal> {
        let domain = if self.domain.is_empty() { "answer" } else { self.domain };
        let stored = artifacts.store(domain, self.data.as_ref().unwrap_or(&shown));
        Ok(stored.map_err(Refusal::internal)?.reference().to_owned())
    }
}

impl Refusal {
    /// Says why; the first 100 characters are kept, so what was given stands in it by [`shown`].
    pub(crate) fn new(summary: impl Into<String>) -> Self {
        Self { summary: summary.into(), accepted: Vec::new() }
    }

    /// Says what would have been accepted.
    pub(crate) fn accepting(self, accepted: impl IntoIterator<Item = Item>) -> Self {
        Self { accepted: accepted.into_iter().collect(), ..self }
    }

    /// Something of ours failed.
    pub(crate) fn internal(error: impl std::fmt::Display) -> Self {
        Self::new(format!("this could not be done: {error}"))
    }

    /// The error of a tool, in the form of the contract.
    pub(crate) fn told(self, tool: &str, form: Form) -> CallToolResult {
        let Self { summary, accepted } = self;
        let text = match form {
            Form::Plain => summary,
            Form::Contract => {
                let refused = Contract::failure(&summary).max_bytes(limits(tool).max_bytes);
                let answer = refused.clone().items(accepted).fit(|_| None).or_else(|_| refused.build());
                answer.ok().and_then(|answer| serde_json::to_string(&answer).ok()).unwrap_or(summary)
            }
        };
        CallToolResult::error(vec![ContentBlock::text(text)])
    }
}

/// What an answer of a tool may have; a tool of no category has the usual limits.
pub(crate) fn limits(tool: &str) -> ResponseLimits {
    let usual = Category::of_tool(tool).map_or_else(ResponseLimits::default, ResponseLimits::from);
    ResponseLimits { max_string_length: STRING_CHARS, max_json_depth: DEPTH, ..usual }
}

/// Whether some of the figures are not shown as they are.
fn is_cut(figures: &Value, mut shown: Value) -> bool {
    if let Some(shown) = shown.as_object_mut() {
        shown.remove("summary");
    }
    shown != *figures
}

/// Whether a value can be shown as it is.
pub(crate) fn is_shown_whole(value: &Value, limits: &ResponseLimits) -> bool {
    contract::truncate(value, limits) == *value
}

/// What a caller wrote, in quotes and so short that the rest of a summary is seen.
pub(crate) fn shown(text: &str) -> String {
    const MOST: usize = 24;
    // Escaped first: one odd character is many when it is escaped.
    let visible: String = text.escape_debug().take(MOST + 1).collect();
    match visible.char_indices().nth(MOST) {
        None => format!("\"{visible}\""),
        Some((end, _)) => format!("\"{}...\"", &visible[..end]),
    }
}
