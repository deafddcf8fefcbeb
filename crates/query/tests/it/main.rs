//! The engines on real data: exact answers, and an end to everything that would not end by itself.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by failing")]

mod bombs;
mod everything;
mod exact;
mod frame;
mod limits;
mod lists;
mod messages;
mod notations;
mod several;
mod table;
mod texts;

use std::time::Duration;

use tidegate_core::Tokens;
use tidegate_core::budget::Budget;
use tidegate_core::envelope::Handle;
use tidegate_core::hints::Hints;
use tidegate_core::measure::Meter;
use tidegate_core::outline::Outline;
use tidegate_core::payload::Payload;
use tidegate_core::view::{
    Answer, Dataset, EngineOutput, EngineProgram, Engines, Query, RecordText, ResultWindow, View, ViewError,
    ViewRequest, answer,
};
use tidegate_query::{Limits, Queries, Worker};
use tidegate_testkit::make;

/// A text as a kept result, and the engines over it.
pub(crate) struct Kept {
    result: Vec<u8>,
    outline: Outline,
    engines: Queries,
}

/// A page as a caller gets it.
pub(crate) struct Page {
    pub(crate) text: String,
}

impl Page {
    /// Returns the rows between the fences.
    pub(crate) fn rows(&self) -> String {
        let lines = self.text.lines().skip_while(|line| !line.starts_with("~~")).skip(1);
        lines.take_while(|line| !line.starts_with("~~")).collect::<Vec<_>>().join("\n")
    }
}

/// Which engine.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Engine {
    Jq,
    Sql,
    Grep,
}

impl Engine {
    /// Returns the program that runs a query in this engine.
    pub(crate) fn program(self, query: &str) -> EngineProgram<'_> {
        match self {
            Self::Jq => EngineProgram::Jq(query),
            Self::Sql => EngineProgram::Sql(query),
            Self::Grep => EngineProgram::Grep { pattern: query, context: 0 },
        }
    }
}

impl Kept {
    pub(crate) fn new(text: &str) -> Self {
        Self::with_limits(text, Limits { time: Duration::from_secs(20), ..Limits::default() })
    }

    pub(crate) fn with_limits(text: &str, limits: Limits) -> Self {
        let worker = Worker::new(env!("CARGO_BIN_EXE_query-worker").into());
        Self::of_result(make::text_result(text), Queries::new(limits, worker))
    }

    /// Runs SQL and grep in this process, as happens without a worker.
    pub(crate) fn in_process(result: Vec<u8>, limits: Limits) -> Self {
        Self::of_result(result, Queries::new(limits, Worker::new("/nonexistent".into())))
    }

    pub(crate) fn of_result(result: Vec<u8>, engines: Queries) -> Self {
        let outline = Outline::read(&Payload::read_result(&result.as_slice()).unwrap()).unwrap();
        Self { result, outline, engines }
    }

    /// Answers a view as a caller gets it.
    pub(crate) fn view(&self, view: View) -> Result<Answer, ViewError> {
        self.query(&Query::new(view))
    }

    pub(crate) fn query(&self, query: &Query) -> Result<Answer, ViewError> {
        let source = self.result.as_slice();
        answer(&ViewRequest {
            source: &source,
            outline: &self.outline,
            hints: &Hints::default(),
            tool: "list_things",
            handle: Handle::kept("list_things-3f9c2kq7m0xw", "kept 24 h"),
            query,
            budget: Budget::of_tokens(Tokens(20_000)),
            meter: Meter::default(),
            engines: &self.engines,
            seal: &|_| [7; 12],
        })
    }

    /// Answers the first page of some fields.
    pub(crate) fn page(&self, fields: &[&str], size: u64) -> Page {
        let view = View::Page { number: 1, size: Some(size) };
        let fields = fields.iter().map(ToString::to_string).collect();
        let query = Query { fields, ..Query::new(view) };
        let text = self.query(&query).unwrap_or_else(|error| panic!("{error}")).text;
        Page { text }
    }

    pub(crate) fn ask(&self, engine: Engine, query: &str) -> Result<EngineOutput, ViewError> {
        self.window(engine, query, ResultWindow { skip: 0, bytes: 10_000_000 })
    }

    pub(crate) fn window(
        &self,
        engine: Engine,
        query: &str,
        window: ResultWindow,
    ) -> Result<EngineOutput, ViewError> {
        let source = self.result.as_slice();
        let data = Dataset::new(&source, &self.outline);
        self.engines.run(&data, engine.program(query), window)
    }

    /// Returns the path of a record.
    pub(crate) fn pointer(&self, number: u64, key: Option<&str>) -> String {
        let source = self.result.as_slice();
        let record = RecordText { number, key, json: "", whole: true };
        Dataset::new(&source, &self.outline).pointer(&record)
    }

    /// Returns the whole decoded text of the result.
    pub(crate) fn text(&self) -> String {
        let source = self.result.as_slice();
        String::from_utf8(Dataset::new(&source, &self.outline).decoded_text().unwrap()).unwrap()
    }

    pub(crate) fn results(&self, engine: Engine, query: &str) -> Vec<String> {
        self.ask(engine, query).unwrap_or_else(|error| panic!("{query}: {error}")).results
    }

    pub(crate) fn error(&self, engine: Engine, query: &str) -> String {
        self.ask(engine, query).err().unwrap_or_else(|| panic!("{query} gives no error")).to_string()
    }
}
