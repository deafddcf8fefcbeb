//! The engines on real data: exact answers, and an end to everything that would not end by itself.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by failing")]

mod exact;
mod limits;
mod messages;

use std::time::Duration;

use tidegate_core::outline::Outline;
use tidegate_core::payload::Payload;
use tidegate_core::view::{Dataset, EngineOutput, Engines, ResultWindow, ViewError};
use tidegate_query::{Limits, Queries, Worker};
use tidegate_testkit::make;

/// A text as a kept result, and the engines over it.
pub(crate) struct Kept {
    result: Vec<u8>,
    outline: Outline,
    engines: Queries,
}

/// Which engine.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Engine {
    Jq,
    Sql,
    Grep,
}

impl Kept {
    pub(crate) fn new(text: &str) -> Self {
        Self::with_limits(text, Limits { time: Duration::from_secs(20), ..Limits::default() })
    }

    pub(crate) fn with_limits(text: &str, limits: Limits) -> Self {
        let result = make::text_result(text);
        let outline = Outline::read(&Payload::read(&result.as_slice()).unwrap()).unwrap();
        let worker = Worker::new(env!("CARGO_BIN_EXE_query-worker").into());
        Self { result, outline, engines: Queries::new(limits, worker) }
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
        match engine {
            Engine::Jq => self.engines.jq(&data, query, window),
            Engine::Sql => self.engines.sql(&data, query, window),
            Engine::Grep => self.engines.grep(&data, query, 0, window),
        }
    }

    pub(crate) fn results(&self, engine: Engine, query: &str) -> Vec<String> {
        self.ask(engine, query).unwrap_or_else(|error| panic!("{query}: {error}")).results
    }

    pub(crate) fn error(&self, engine: Engine, query: &str) -> String {
        self.ask(engine, query).err().unwrap_or_else(|| panic!("{query} gives no error")).to_string()
    }
}
